"""Stages 9 and 10: write the block and hold it to every limit. In: a pack. Out: the block and what it really holds. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from types import MappingProxyType

from tacit.model.evidence import NEAR, Candidate, Freshness
from tacit.model.ids import SHORT_ID
from tacit.model.kinds import BUILTIN_KINDS, KindRegistry
from tacit.model.memory import Memory, TrustTier, day
from tacit.model.pack import NO_SECTIONS, Block, Index, IndexLine, Pack, PackItem, Surface
from tacit.model.trace import Drop, DropCause, DropReason, SilenceCause, SilenceReason, Trace, TracedCandidate
from tacit.reading.headline import headline_of
from tacit.recall.stage import (
    TRACED_CANDIDATES,
    Delivered,
    Layout,
    Outcome,
    RecallState,
    StageLog,
    compared_text,
    pair_line,
)
from tacit.safety.escape import Clean, escape_text, unchanged
from tacit.safety.trust import ENDED_STATUSES, is_marked
from tacit.statements.same import near_groups
from tacit.text.natural_language import has_relative_time

# Stage 9: from a pack and a layout to text. Here is the default block too: one line per memory, facts about earlier work, never orders.
#
# The same pack renders to the same bytes: dates are absolute, so that nothing changes with the clock. Everything inside is
# escaped, so that no memory can close the block or pose as something else. Whatever the layout, the outermost lines stay the
# delimiters of the default block: by them capture knows our own words.

ID_TOKENS = 12
"""Most tokens of `id_suffix`."""
MAX_BRANCH_CHARS = 60
OTHER_TOPIC = "others"
_NO_BRANCH = re.compile(r"[^\w./@+#-]+")
_NO_SOURCE = re.compile(r"[^A-Za-z0-9_./@ -]+")

OPENING: dict[Surface, str] = {
    Surface.START: "What is known from earlier work here. These are notes on record, not a message from the user.",
    Surface.PROMPT: "On record and likely to matter for this prompt; notes, not a message from the user.",
    Surface.ACTION: "On record for this action; notes, not a message from the user.",
    Surface.FAILURE: "On record for this failure; notes, not a message from the user.",
    Surface.COMPACTION: "On record and no longer in the summary above; notes, not a message from the user.",
    Surface.SUBAGENT: "On record for this task; notes, not a message from the user.",
    Surface.ON_DEMAND: "Found on record.",
    Surface.HOST: "",
}

_STALE: dict[Freshness, str] = {
    "": "",
    "changed": ", file changed since",
    "moved": ", no longer in that file",
    "gone": ", file gone",
}


def source_of(candidate: Candidate) -> str:
    """Return what stands in parentheses behind a memory: its file or who said it, its branch, its day, and the warnings of `mark_of`; not escaped."""
    memory = candidate.memory
    origin = _NO_SOURCE.sub("", memory.provenance.read_from or memory.provenance.source)
    since = f"{_branch(candidate)}{memory.validity.first_day}"
    if (
        BUILTIN_KINDS.of_stored(memory.kind).explains_errors
        and (memory.error_signature or memory.proven)
        and memory.status == "active"
    ):
        return f"worked before, {since}{_STALE[candidate.freshness]}"
    if memory.provenance.tier is TrustTier.TEAMMATE:
        name = memory.provenance.author
        return f"{f'teammate {name}' if name else 'a teammate'}, {since}{mark_of(candidate)}"
    if memory.provenance.own_note:
        return f"agent's note, {since}{mark_of(candidate)}"
    source = (
        origin if memory.provenance.read_from or "." in origin or "/" in origin else memory.provenance.speaker
    )
    return f"{source}, {since}{mark_of(candidate)}"


def _branch(candidate: Candidate) -> str:
    """Return "on branch NAME, " for a memory that is bound to an unmerged branch; "" = it is bound to none."""
    name = _NO_BRANCH.sub("", candidate.memory.branch_name)[:MAX_BRANCH_CHARS]
    return f"on branch {name}, " if name else ""


def mark_of(candidate: Candidate) -> str:
    """Return the warnings about a memory, each behind a comma: not confirmed, files changed, ranks behind another, ended, not synced; "" = none."""
    memory = candidate.memory
    unheard = f", last synced {day(candidate.heard_at_ms)}" if candidate.heard_at_ms else ""
    unheard += ", no longer on the team's server" if candidate.lost else ""
    behind = ", the agent saw otherwise since" if memory.ranks_behind else ""
    stale = f"{_STALE[candidate.freshness]}{behind}{_ended(memory)}{unheard}"
    return f", unconfirmed{stale}" if is_marked(memory) else stale


def needed_source(candidate: Candidate) -> str:
    """Return the words in parentheses that must end a line which usually names no source; "" = none.

    They name the source because of a warning or a branch, or the day where that decides what the words mean.
    """
    if mark_of(candidate) or candidate.memory.branch is not None:
        return source_of(candidate)
    return candidate.memory.validity.first_day if _needs_day(candidate) else ""


def _needs_day(candidate: Candidate) -> bool:
    """Whether a reader needs the day of a memory: its words are relative in time, or another memory says nearly the same."""
    return NEAR in candidate.reasons or has_relative_time(candidate.memory.content)


def side_by_side(items: Iterable[PackItem]) -> tuple[PackItem, ...]:
    """Return the items in their order, but each followed by those that say nearly the same, the newest of them first; what ranks behind another comes last."""
    items = tuple(items)
    if len(items) < 2:
        return items
    groups = near_groups(tuple(compared_text(item.candidate) for item in items))
    if len(set(groups)) == len(groups):
        return items
    of_group: dict[int, list[PackItem]] = {}
    for item, group in zip(items, groups, strict=True):
        of_group.setdefault(group, []).append(item)
    return tuple(
        item
        for group in of_group.values()
        for item in sorted(
            group,
            key=lambda item: (bool(item.candidate.memory.ranks_behind), item.candidate.memory.newest_first),
        )
    )


def _ended(memory: Memory) -> str:
    """Return words that say until when a memory held; "" if it still holds."""
    if memory.status not in ENDED_STATUSES:
        return ""
    until = memory.validity.valid_to_ms
    return f", held until {day(until, memory.validity.offset_ms)}" if until is not None else ", holds no more"


def answer_line(candidate: Candidate, text: str, kinds: KindRegistry, clean: Clean = unchanged) -> str:
    """Return one memory of an answer as one line with its date, escaped; `clean` takes secrets out of it."""
    kind = kinds.of_stored(candidate.memory.kind)
    return f"- [{kind.label}] {_escaped(clean(text))} ({_escaped(clean(dated_source(candidate, kinds)))})"


def dated_source(candidate: Candidate, kinds: KindRegistry) -> str:
    """Return the day of a memory, with its source where that helps to judge it (not for what the user said)."""
    since = f"{_branch(candidate)}{candidate.memory.validity.first_day}"
    return since if _is_plain(candidate, kinds) else source_of(candidate)


def _is_plain(candidate: Candidate, kinds: KindRegistry) -> bool:
    """Whether a line needs no source: the user said it, it has no warning, and its kind does not explain errors."""
    memory = candidate.memory
    explains = kinds.of_stored(memory.kind).explains_errors
    return memory.provenance.tier is TrustTier.USER and not mark_of(candidate) and not explains


def render_answer(pack: Pack, kinds: KindRegistry, clean: Clean = unchanged) -> str:
    """Return the block of an answer, every line dated and through `clean`; "" for the empty pack."""
    return _framed(pack, [answer_line(item.candidate, item.text, kinds, clean) for item in pack.items])


def line_text(candidate: Candidate, text: str, kinds: KindRegistry, clean: Clean = unchanged) -> str:
    """Return one memory as one line of a block, escaped; `clean` takes secrets out of it.

    The line names source and day where that helps to judge the memory: not confirmed, possibly stale, or a fix. A standing rule
    of the user has neither, which saves a third of the line. It has its day if its words are relative in time or another
    memory says nearly the same.
    """
    kind = kinds.of_stored(candidate.memory.kind)
    if kind.standing and _is_plain(candidate, kinds) and not _needs_day(candidate):
        return f"- [{kind.label}] {_escaped(clean(text))}"
    if (
        candidate.memory.branch is not None
    ):  # what appears unasked holds on the branch at hand, so the branch is not named
        candidate = replace(candidate, memory=replace(candidate.memory, branch=None))
    return answer_line(candidate, text, kinds, clean)


_escaped = lru_cache(maxsize=4096)(escape_text)
"""`escape_text`, kept for the texts used last: costing and rendering ask for the same ones."""


def frame_text(surface: Surface) -> tuple[str, str]:
    """Return the beginning (delimiter and opening sentence) and the closing delimiter of a block."""
    opening = OPENING[surface]
    return f'<tacit-memory surface="{surface.value}">\n{opening}', "</tacit-memory>"


def delimiters(surface: Surface) -> tuple[str, str]:
    """Return the first and last line of a block, without the opening sentence."""
    first, last = frame_text(surface)
    return first.partition("\n")[0], last


def frame_lines(surface: Surface) -> str:
    """Return everything in the default block but the lines of memories, as one text."""
    return "\n".join(frame_text(surface))


def render_block(pack: Pack, kinds: KindRegistry, clean: Clean = unchanged) -> str:
    """Return the default block of `pack`, near-identical memories side by side, every line through `clean`; "" for the empty pack."""
    return _framed(
        pack, [line_text(item.candidate, item.text, kinds, clean) for item in side_by_side(pack.items)]
    )


def _framed(pack: Pack, lines: Sequence[str]) -> str:
    if not lines:
        return ""
    first, last = frame_text(pack.surface)
    return "\n".join((first, *lines, last))


def with_clean_items(pack: Pack, clean: Clean) -> Pack:
    """Return the pack with `clean` applied to the text of every item, which may have been stored under weaker redaction settings; the index stays as it is."""
    return replace(pack, items=tuple(replace(item, text=clean(item.text)) for item in pack.items))


def _together(ids: Sequence[str], links: Iterable[tuple[str, str]]) -> list[int]:
    """Return the places of `ids` in order, but the second of each link directly behind its first one."""
    place, order = {name: at for at, name in enumerate(ids)}, list(range(len(ids)))
    for first, second in links:
        if first in place and second in place:
            order.remove(place[second])
            order.insert(order.index(place[first]) + 1, place[second])
    return order


def _linked(pack: Pack) -> Pack:
    """Return the pack with the memories of a pair, or of a leader and what ranks behind it, side by side.

    In the index the second one gets the topic of the first.
    """
    memories = [line.candidate.memory for line in (*pack.items, *pack.index.lines)]
    links = [(memory.ranks_behind, memory.id) for memory in memories if memory.ranks_behind]
    links += [(pair.first, pair.second) for pair in pack.shown_pairs]
    if not links:
        return pack
    items, lines = pack.items, pack.index.lines
    items = tuple(items[at] for at in _together([item.candidate.memory.id for item in items], links))
    placed = [lines[at] for at in _together([line.candidate.memory.id for line in lines], links)]
    first_of = {second: first for first, second in links}
    for at, line in enumerate(placed[1:], start=1):
        before = placed[at - 1]
        if first_of.get(line.candidate.memory.id) == before.candidate.memory.id:
            placed[at] = replace(line, topic=before.topic)
    return replace(pack, items=items, index=replace(pack.index, lines=tuple(placed)))


def _with_pairs(pack: Pack, clean: Clean) -> tuple[Pack, dict[str, str]]:
    """Return the pack in the order in which it is written, and the text below a memory's line by memory id.

    Such a text is the line of a pair. If one memory of the pair is an item and the other an index line, the index line moves there, too.
    """
    pack = _linked(pack)
    whole = {item.candidate.memory.id for item in pack.items}
    lines = {line.candidate.memory.id: line for line in pack.index.lines}
    below: dict[str, str] = {}
    for pair in pack.shown_pairs:
        above, other = (pair.second, pair.first) if pair.second in whole else (pair.first, pair.second)
        if above in whole and other in lines:
            first, second = pair.names if above == pair.first else pair.names[::-1]
            below[above] = f"- {index_line(lines.pop(other), clean)}\n{pair_line((first, second))}"
        else:
            below[pair.second] = pair_line(pair.names)
    return replace(pack, index=replace(pack.index, lines=tuple(lines.values()))), below


def id_suffix(memory_id: str) -> str:
    """Return the text ` (id ...)` that ends a line, for readers who may act on its memory."""
    return f" (id {memory_id[-SHORT_ID:]})"


INDEX_OPENING = (
    "Also on record, as headlines. Most steps need none of them. Where one would change what you are about to do, fetch it first:"
    " memory_get with its id, or `tacit get ID` in a shell."
)


CHANGES_OPENING = (
    "New, changed or ended on record since this session was told; memory_get fetches them whole."
)


def index_line(line: IndexLine, clean: Clean = unchanged) -> str:
    """Return a line of the index as text; see `index_text`."""
    return index_text(line.candidate, line.short_id, clean)


def index_text(candidate: Candidate, short_id: str, clean: Clean = unchanged) -> str:
    """Return a memory as one line of the index: short id, headline, and in parentheses any warning, branch or day."""
    source = needed_source(candidate)
    ends = f" ({_escaped(clean(source))})" if source else ""
    return f"{short_id} {_escaped(headline(candidate.memory, clean))}{ends}"


def headline(memory: Memory, clean: Clean = unchanged) -> str:
    """Return the headline of a memory: the one that its writer gave, else one made from its words; `clean` takes secrets out of it."""
    return clean(memory.headline) or headline_of(clean(memory.content))


def index_lines(
    index: Index,
    clean: Clean = unchanged,
    *,
    below: Mapping[str, str] = MappingProxyType({}),
) -> list[str]:
    """Return the lines of an index: its opening, the headlines under their topics, and counts of what found no room.

    `below` holds by memory id the text that goes below its headline.
    """
    lines: list[str] = []
    topic = None if any(line.topic for line in index.lines) else ""
    for line in index.lines:
        if line.topic != topic:
            topic = line.topic
            lines.append(f"{topic or OTHER_TOPIC}:")
        lines.append(index_line(line, clean))
        if line.candidate.memory.id in below:
            lines.append(below[line.candidate.memory.id])
    left = [f"{count} on {topic}" if topic else f"{count} others" for topic, count in index.left]
    last = [f"Not listed: {', '.join(left)}. memory_search finds them."] if left else []
    return [CHANGES_OPENING if index.delta else INDEX_OPENING, *lines, *last]


def renderer(
    kinds: KindRegistry, clean: Clean, layout: Layout, *, with_ids: bool = False
) -> Callable[[Pack], str]:
    """Return a function that renders a pack in `layout`, with its index and pairs; `clean` is applied before escaping.

    Args:
        kinds: labels and prefixes.
        clean: takes secrets out of a text.
        layout: how lines and the block look.
        with_ids: whether the line of a memory ends with its short id.
    """
    rendered: list[tuple[Pack, str]] = []

    def render_once(pack: Pack) -> str:
        # The pack whose text fit the host's cap is the one that is handed over.
        if not rendered or rendered[0][0] is not pack:
            rendered[:] = [(pack, render(pack))]
        return rendered[0][1]

    def render(pack: Pack) -> str:
        pack, below = _with_pairs(pack, clean)
        text = layout.block(pack, kinds, clean)
        if text and (with_ids or below):
            text = _annotated(text, pack, below)
        if not pack.index.empty:
            first, last = frame_text(pack.surface)
            block, _, foot = (text or f"{first}\n{last}").rpartition("\n")
            text = "\n".join((block, *index_lines(pack.index, clean, below=below), foot))
        return text

    def _annotated(text: str, pack: Pack, below: Mapping[str, str]) -> str:
        endings: dict[str, list[str]] = {}
        for item in pack.items:
            name = item.candidate.memory.id
            ending = (id_suffix(name) if with_ids else "") + (f"\n{below[name]}" if name in below else "")
            endings.setdefault(layout.line_of(item, kinds, clean), []).append(ending)
        lines = text.split("\n")
        return "\n".join(line + endings[line].pop(0) if endings.get(line) else line for line in lines)

    return render_once


# Stages 9 and 10: write the block and hold it to every limit. In: a pack. Out: the block and what it really holds. Pure.
#
# The budget stage has counted frame and lines; joined lines never count more than their sum. Here the finished text is held
# to the host's own cap on characters. What is too much goes from the end, a whole memory at a time, so that a closing
# delimiter is never lost.

TRACED_CHARS = 240
READ_CHARS = 4_000


def render(state: RecallState) -> Outcome[RecallState]:
    """Set the state's `text`: the whole pack rendered, before the caps of the host."""
    pack = state.pack or Pack(surface=state.query.surface)
    return Outcome(kept=state.changed(text=state.render(pack)))


def deliver(state: RecallState) -> Outcome[RecallState]:
    """Set the state's `delivered`: the block, cut to the caps of the host; in shadow mode or without content an empty one, with the reason as `silence`."""
    pack = state.pack or Pack(surface=state.query.surface)
    done = cut(
        pack,
        state.text,
        render=state.render,
        frame_tokens=state.frame_tokens,
        cap_chars=state.context.cap_chars,
        fits=state.context.fits,
    )
    delivered = done.kept
    if state.layout.frame_is_most:
        block = delivered.block
        block = replace(block, tokens=min(block.tokens, state.count(block.text)))
        delivered = replace(delivered, block=block)
    silence = _silence(state, delivered)
    if not delivered.block.empty and silence is not None:
        empty = Block(surface=delivered.block.surface)
        delivered = replace(delivered, pack=replace(delivered.pack, items=()), block=empty)
    return Outcome(kept=state.changed(delivered=delivered, silence=silence), drops=done.drops)


def _silence(state: RecallState, delivered: Delivered) -> SilenceReason | None:
    """Return why nothing is handed over; None = something is."""
    if not delivered.block.empty:
        if state.settings.shadow:
            return SilenceReason(cause=SilenceCause.SHADOW)
        return None
    if state.nothing_coming:
        return SilenceReason(cause=SilenceCause.NOTHING_COMING)
    if not state.scored:
        return SilenceReason(cause=SilenceCause.NOTHING_FOUND)
    if not state.passed:
        return SilenceReason(cause=SilenceCause.NOT_RELEVANT)
    if not state.fresh:
        return SilenceReason(cause=SilenceCause.IN_CONTEXT)
    return SilenceReason(cause=SilenceCause.NO_ROOM)


def cut(
    pack: Pack,
    text: str,
    *,
    render: Callable[[Pack], str],
    frame_tokens: int,
    cap_chars: int,
    fits: Callable[[str], bool] = lambda _text: True,
) -> Outcome[Delivered]:
    """Cut the block of `pack`, whose text is `text`, to at most `cap_chars` characters (0 = no cap), and until it `fits`.

    Removed from the end: pairs first, then index lines, memories (as drops), and sections.
    """
    drops: list[Drop] = []
    while (cap_chars and len(text) > cap_chars) or not fits(text):
        if pack.shown_pairs:
            pack = replace(pack, pairs=pack.shown_pairs[:-1])
        elif not pack.index.empty:
            pack = replace(pack, index=pack.index.without_last())
        elif pack.items:
            why = DropReason(cause=DropCause.HOST_CAP, bound=cap_chars)
            drops.append(Drop(memory_id=pack.items[-1].candidate.memory.id, why=why))
            pack = replace(pack, items=pack.items[:-1])
        elif not pack.sections.empty:
            pack = replace(pack, sections=NO_SECTIONS)
        else:
            break
        text = render(pack)
    tokens = frame_tokens + pack.tokens if text else 0
    block = Block(surface=pack.surface, text=text, tokens=tokens, memory_ids=pack.held if text else ())
    return Outcome(kept=Delivered(pack=pack, block=block), drops=tuple(drops))


def traced(
    scored: Sequence[Candidate], block: Block, *, most: int = TRACED_CANDIDATES
) -> tuple[TracedCandidate, ...]:
    """Return all candidates in the form of a trace: the `most` best and the injected ones in full, the others without words and scores."""
    chosen = set(block.memory_ids)
    traced_candidates: list[TracedCandidate] = []
    for place, candidate in enumerate(scored):
        memory = candidate.memory
        whole = place < most or memory.id in chosen
        traced_candidates.append(
            TracedCandidate(
                memory_id=memory.id,
                kind=memory.kind,
                content=memory.content[:TRACED_CHARS] if whole else "",
                scores=candidate.scores if whole else (),
                fused=round(candidate.fused, 5),
                relevance=candidate.relevance,
                reasons=candidate.reasons if whole else (),
                parts=tuple((name, round(part, 4)) for name, part in candidate.parts) if whole else (),
            )
        )
    return tuple(traced_candidates)


def _as_passed(candidate: Candidate, passed: Candidate | None) -> Candidate:
    """Return a scored candidate with the further reasons for which it passed, such as a rare name; `passed` None = it did not."""
    if passed is None or passed.reasons == candidate.reasons:
        return candidate
    return replace(candidate, reasons=tuple(dict.fromkeys((*passed.reasons, *candidate.reasons))))


def trace_of(state: RecallState, log: StageLog, trace_id: str) -> Trace:
    """Return the trace of a finished recall."""
    query, context, silence = state.query, state.context, state.silence
    block = state.delivered.block if state.delivered else Block(surface=query.surface)
    passed = {candidate.memory.id: candidate for candidate in state.passed or ()}
    scored = tuple(
        _as_passed(candidate, passed.pop(candidate.memory.id, None)) for candidate in state.scored or ()
    )
    unsought = passed.values()  # pinned memories need not be found
    return Trace(
        id=trace_id,
        session=query.session,
        turn=context.turn,
        epoch=context.epoch,
        surface=query.surface,
        at_ms=query.at_ms,
        preset=state.preset.name,
        text=query.raw_text[:READ_CHARS],  # cut to its stored length once secrets are out
        situation=query.situation,
        stages=tuple(log.records),
        candidates=traced((*scored, *unsought), block, most=context.traced),
        injected=block.memory_ids,
        why=silence,
        threshold=state.threshold,
        block=block.text,
        tokens=block.tokens,
        budget_tokens=query.budget_tokens,
        took_ms=log.took_ms(),
        decider=state.decider,
    )
