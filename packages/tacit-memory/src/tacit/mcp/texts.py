"""Values of the engine as the short texts that an agent reads.

In: memories, changes, traces, counts. Out: text, escaped, within the tokens of whoever asks, with how much more there is.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from tacit.app.queries.agent_tools import AgentStats
from tacit.app.reasons import change_text, silence_text
from tacit.mcp.outputs import SHOWN_CANDIDATES, fates_of, marks_of
from tacit.model.change_reason import ChangeCause
from tacit.model.changes import Add, Change, Contradict, Merge, Rewrite, Skip, Supersede
from tacit.model.memory import Memory, day
from tacit.model.trace import Trace
from tacit.safety.escape import OPEN_TAG, escape_text

TAIL_TOKENS = 24
"""Tokens reserved for the line that says how many more memories there are."""
MORE_HINT = "ask more narrowly or raise max_tokens"
SHORTEST = 40
LINE_CHARS = 400
SILENCES = 3
NOTHING_FITS = "Nothing fits this question."
KINDS_SHOWN = 6


def framed(
    heading: str,
    lines: Sequence[str],
    *,
    max_tokens: int,
    more: int,
    count: Callable[[str], int],
    how: str = MORE_HINT,
) -> str:
    """Return a block with `heading` and as many of `lines` as fit into `max_tokens`, at least one. Say after it how many more there are, and how to get them."""
    head, foot = f'<{OPEN_TAG} surface="on_demand">\n{heading}', f"</{OPEN_TAG}>"
    remaining = max_tokens - TAIL_TOKENS - count(head) - count(foot)
    shown: list[str] = []
    for line in lines:
        cost = count(line) + 1
        if cost > remaining and shown:
            break
        remaining -= cost
        shown.append(line if remaining >= 0 else _shortened(line, remaining + cost, count))
    more += len(lines) - len(shown)
    return with_more("\n".join((head, *shown, foot)), more, how)


def with_more(text: str, more: int, how: str) -> str:
    """Return `text` with a line that says how many `more` there are, and `how` to get them; unchanged for 0."""
    return f"{text}\n({more} more; {how}.)" if more else text


def _shortened(line: str, tokens: int, count: Callable[[str], int]) -> str:
    while len(line) > SHORTEST and count(line) > tokens:
        line = line[: len(line) * 3 // 4].rstrip() + "..."
    return line


def memory_line(memory: Memory) -> str:
    """Return one memory as a line with its id, kind, words, day and remarks."""
    text = memory.content if len(memory.content) <= LINE_CHARS else f"{memory.content[:LINE_CHARS]}..."
    marks = "".join(f", {mark}" for mark in marks_of(memory))
    return f"- {memory.id} [{memory.kind}] {escape_text(text)} ({memory.validity.first_day}{marks})"


def outcome(change: Change) -> str:
    """Return in words what became of a statement, and whose word it counts as."""
    told = next((why for why in change.reason.further if why.cause in _JUDGED), None)
    words = change_text(told) if told is not None and told.terms else ""
    return f"{_outcome(change)} {escape_text(words[:1].upper() + words[1:])}." if words else _outcome(change)


def rival_line(memory: Memory) -> str:
    """Return a hint to the agent that the new memory may replace `memory`, and how to say so."""
    return (
        f"It may not hold beside {memory_line(memory)[2:]}: if it takes its place, call memory_add again with the same content and"
        f' replaces=["{memory.id}"].'
    )


def _outcome(change: Change) -> str:
    match change:
        case Add():
            return f"Stored as {_named(change.memory)}."
        case Supersede():
            return f"Stored as {_named(change.memory)}; it replaces {change.old_id}: {escape_text(change_text(change.reason))}."
        case Contradict():
            return f"Stored as {_named(change.memory)}; the user will be asked about it: {escape_text(change_text(change.reason))}."
        case Merge() if change.reason.cause is ChangeCause.CONFIRMED_BY_WORDS:
            return f"Confirmed: {_named(change.memory)} counts as the user's word now."
        case Merge():
            return f"Known already as {_named(change.memory)}."
        case Rewrite() if change.reason.cause is ChangeCause.SETTLED and change.memory.ranks_behind:
            return (
                f"{memory_line(change.memory)[2:]} stays and ranks behind {change.memory.ranks_behind}: only the user's own words end it"
                " (user_words, as typed in this session)."
            )
        case Rewrite() if change.reason.cause is ChangeCause.SETTLED and change.memory.status != "active":
            return f"Ended: {memory_line(change.memory)[2:]} {change.memory.validity.superseded_by} holds."
        case Rewrite():
            return f"Changed: {memory_line(change.memory)[2:]}"
        case Skip() if change.memory is not None:
            return f"Known already as {_named(change.memory)}."
        case Skip():
            return f"Not stored: {escape_text(change_text(change.reason))}."
        case _:
            return f"Changed: {escape_text(change_text(change.reason))}."


_JUDGED = (ChangeCause.QUOTED, ChangeCause.OWN_NOTE)


def _named(memory: Memory) -> str:
    waiting = (
        ", unconfirmed, found on demand only: the user can confirm it"
        if memory.status == "quarantined"
        else ""
    )
    if memory.provenance.own_note:
        waiting = ", your own note, unconfirmed"
    elif memory.provenance.vouched and not waiting:
        waiting = f", as the user's word: {escape_text(memory.content)}"
    branch = f", on branch {escape_text(memory.branch_name)} until it is merged" if memory.branch else ""
    return f"{memory.id} ({memory.kind}{branch}{waiting})"


def trace_lines(trace: Trace, memory_id: str = "") -> list[str]:
    """Return one recall as lines: what was injected or why nothing was, and its best candidates. With `memory_id`, of the candidates only that memory."""
    question = escape_text(trace.text[:120]) or "(no words)"
    result = (
        f"handed over {len(trace.injected)} memories, {trace.tokens} of {trace.budget_tokens} tokens"
        if trace.injected
        else f"silent: {escape_text(silence_text(trace)) or 'nothing fitted'}"
    )
    lines = [f"- turn {trace.turn}, {trace.surface.value}, {day(trace.at_ms)}, '{question}': {result}"]
    why = fates_of(trace)
    shown = [c for c in trace.candidates if not memory_id or c.memory_id == memory_id][:SHOWN_CANDIDATES]
    for candidate in shown:
        fate = why.get(candidate.memory_id, "not chosen")
        lines.append(
            f"  - {candidate.memory_id} [{candidate.kind}] relevance {candidate.relevance:.2f}"
            f" (threshold {trace.threshold:.2f}), {escape_text(fate)}: {escape_text(candidate.content[:120])}"
        )
    if memory_id and not shown and memory_id in why:
        lines.append(f"  - {memory_id}: {escape_text(why[memory_id])}")
    return lines


def nothing_text(record: AgentStats, *, kinds: Collection[str] = ()) -> str:
    """Say that nothing fits, and what is on record all the same, so that nobody takes silence for an empty memory.

    Args:
        record: what may be seen where the question was asked.
        kinds: the kinds that were asked for; empty = all.
    """
    told = [NOTHING_FITS]
    if record.kinds:
        wanted = [(kind, number) for kind, number in record.kinds if not kinds or kind in kinds]
        if kinds and not wanted:
            told.append(f"No {' or '.join(sorted(kinds))} is on record here.")
        listed = ", ".join(f"{number} {kind}" for kind, number in (wanted or record.kinds)[:KINDS_SHOWN])
        how = "" if kinds and wanted else "; `kind` of memory_context shows those of one"
        told.append(f"On record here: {listed}{how}.")
    elif not record.unconfirmed:
        told.append("No memory is on record here.")
    if record.unconfirmed:
        told.append(f"{record.unconfirmed} wait for the user to confirm them.")
    return " ".join(told)


def too_long_text(ids: Sequence[str]) -> str:
    """Say which memories fit the question but not the size of the answer, and how to get them."""
    shown = ", ".join(ids[:KINDS_SHOWN])
    return (
        f"On record, but too long for this answer: {shown}. memory_get gives them whole; or raise max_tokens."
    )


def stats_text(stats: AgentStats) -> str:
    """Return the counts of memories and of the session as a few lines."""
    kinds = ", ".join(f"{number} {kind}" for kind, number in stats.kinds[:8]) or "none"
    lines = [
        f"{stats.active} memories may be handed over here ({kinds}); {stats.unconfirmed} wait for the user."
    ]
    if stats.session:
        lines.append(
            f"This session: {stats.injected} blocks of {stats.tokens} tokens together, {stats.silent} times silent,"
            f" {stats.answers} answers on demand."
        )
        lines += [
            f"- silent {number} times: {escape_text(reason)}" for reason, number in stats.silences[:SILENCES]
        ]
    else:
        lines.append("No session is at work here.")
    if stats.refused:
        lines.append(stats.refused)
    return "\n".join(lines)
