"""The digest of a session: a few deterministic lines. In: what the session did. Out: text, "" when nothing is worth it.

Lines in fixed order, each with its code: impl (what was asked, files changed), dec (decided), block (still failing),
next (left to do: what the user named, then the agent's open tasks and the next steps it named last), done (commits, finished
tasks), fix (verified fixes). What was done meanwhile is left to do no more. The user's words, paths, commands, subjects of commits,
the agent's task list and its last next steps go in; what else the agent says does not. Never longer than `MAX_CHARS`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from tacit.capture.extract.tasks import done_tasks, follow_tasks, named_steps, open_tasks
from tacit.capture.prose import spoken_sentences
from tacit.capture.turn import ToolUse, Turn
from tacit.reading.commands import split_commands
from tacit.reading.digest_lines import finished
from tacit.reading.prompts.proposals import read_reply
from tacit.reading.situation import asks_question
from tacit.safety.forgotten_words import PURGED
from tacit.state.captured import SessionWork
from tacit.text.lazy_regex import lazy_regex

MAX_CHARS = 1200
_MAX_LINE = 160
_MAX_LINES = {"impl": 2, "dec": 3, "block": 2, "next": 5, "done": 3, "fix": 3}
_MAX_FILES = 6
_MAX_COMMITS = 20
CONVERSATION = 2
"""Prompts from which talk alone is worth a digest: it says what was asked."""
_ABOUT_BEFORE = lazy_regex(
    r"\b(?:where (?:did|were|are) (?:we|you|i)|(?:we|you|i) left off|pick(?:ing)? up where|what (?:did|were|have) (?:we|you|i)|last (?:time|session)|yesterday"
    r"|what(?:'?s| is) (?:still )?(?:open|left|next|missing|pending)|do you (?:remember|recall)|can you (?:hear|see) me|are you there"
    r"|continue (?:where|from|with (?:that|it)))\b",
    re.IGNORECASE,
)
"""Asks what was before, or whether anybody is there: no request of this session."""
_REFUSES = lazy_regex(r"^\W*(?:no|nope|don'?t|do not|not (?:yet|now)|stop|wait)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Line:
    code: str
    texts: tuple[str, ...] = field(default=())


def extend_work(
    work: SessionWork,
    turns: Sequence[Turn],
    *,
    decided: Sequence[str],
    left_to_do: Sequence[str],
    fixed: Sequence[str],
    stated: Sequence[str] = (),
) -> SessionWork:
    """`work` with what `turns` add to it. `stated`: sentences that are memories of their own, and no request."""
    files = dict.fromkeys(work.files)
    commits, request, steps = dict.fromkeys(work.commits), work.asked, work.steps
    for turn in turns:
        if turn.role == "user":
            request = request or _request(turn.text, stated)
        else:
            steps = named_steps(turn.text) or steps
        steps = tuple(step for step in steps if turn.role == "assistant" or not finished(step, (turn.text,)))
        for use in turn.tools:
            if use.finished and not use.failed:
                if use.tool in ("edit", "write"):
                    files.update(dict.fromkeys(use.paths))
                elif use.commit or (use.tool == "bash" and "git commit" in split_commands(use.command)):
                    commits[_commit(use, len(commits))] = None
    return replace(
        work,
        asked=request,
        files=tuple(files)[:50],
        decided=_joined(work.decided, decided),
        left=_joined(work.left, left_to_do),
        fixed=_joined(work.fixed, fixed),
        commits=tuple(commits)[-_MAX_COMMITS:],
        tasks=follow_tasks(work.tasks, turns),
        steps=steps,
        prompts=min(CONVERSATION, work.prompts + sum(turn.role == "user" for turn in turns)),
    )


def write_digest(work: SessionWork, *, failing: Sequence[str]) -> str:
    """The digest, or "" for a session that changed, decided and left nothing, and in which the user hardly spoke."""
    waiting = tuple(dict.fromkeys((*open_tasks(work.tasks), *work.steps)))
    talked = work.asked and work.prompts >= CONVERSATION
    if not (work.files or work.decided or work.left or work.fixed or waiting or talked):
        return ""
    shown = list(work.files[:_MAX_FILES])
    more = len(work.files) - len(shown)
    files = ", ".join(shown) + (f" and {more} more" if more > 0 else "")
    impl = [text for text in (work.asked, f"changed {files}" if files else "") if text]
    reports = (*done_tasks(work.tasks), *work.commits, *work.fixed)
    left_to_do = tuple(text for text in work.left if not finished(text, reports))
    todo = tuple(text for text in waiting if not finished(text, left_to_do))
    most = _MAX_LINES["next"]
    lines = (
        _Line(code="impl", texts=tuple(impl)),
        _Line(code="dec", texts=work.decided),
        _Line(code="block", texts=tuple(f"`{command}` still fails" for command in failing)),
        _Line(code="next", texts=(*left_to_do[-most:], *todo[: max(0, most - len(left_to_do))])),
        _Line(code="done", texts=_done(work)),
        _Line(code="fix", texts=work.fixed),
    )
    written: list[str] = []
    for line in lines:
        for text in [text for text in line.texts if PURGED not in text][-_MAX_LINES[line.code] :]:
            whole = f"{line.code}: {_short(text)}"
            if sum(map(len, written)) + len(written) + len(whole) <= MAX_CHARS:
                written.append(whole)
    return "\n".join(written)


def _done(work: SessionWork) -> tuple[str, ...]:
    """The last commits by their subjects; how many there were where git said none; what else the agent finished."""
    commits = [text.partition(" ") for text in work.commits]
    commit_lines = [f"{subject} ({commit})" for commit, _, subject in commits if subject]
    silent = len(work.commits) - len(commit_lines)
    plural = "commit" if silent == 1 else "commits"
    most = _MAX_LINES["done"]
    tasks = [text for text in done_tasks(work.tasks) if not finished(text, commit_lines)]
    lines = [*([f"{silent} {plural}"] if silent else []), *commit_lines[-most:]]
    return (*tasks[-max(0, most - len(lines)) :], *lines) if len(lines) < most else tuple(lines)


def _commit(use: ToolUse, before: int) -> str:
    return use.commit or f"#{before + 1}"


def _request(text: str, stated: Sequence[str]) -> str:
    """The first sentence that asks for work; a question, a refusal and small talk ask for none."""
    if read_reply(text).small_talk:
        return ""
    sentences = [s.text for s in spoken_sentences(text) if len(s.text.split()) >= 4]
    asking = (
        sentence for sentence in sentences if not any(span in sentence or sentence in span for span in stated)
    )
    requests = (
        sentence
        for sentence in asking
        if not (_ABOUT_BEFORE.search(sentence) or _REFUSES.search(sentence) or asks_question(sentence))
    )
    return next((_short(sentence) for sentence in requests), "")


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _MAX_LINE else flat[: _MAX_LINE - 3].rsplit(" ", 1)[0] + "..."


def _joined(old: tuple[str, ...], new: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*old, *(_short(text) for text in new))))[-20:]
