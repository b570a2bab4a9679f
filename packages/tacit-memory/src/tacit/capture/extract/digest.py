"""The digest of a session: a few deterministic lines that say only what is proven. In: what the session did. Out: text, "" when nothing is proven.

Lines in fixed order, each with its code: impl (files changed), dec (decided by the user), block (named as blocked by the user or the agent; a command that
was tried again and failed last), next (left to do: what the user named, then the agent's open tasks and the next steps it named last), done (commits,
checks that passed last), fix (verified fixes). What was done meanwhile is left to do no more. What was asked is no proof of anything. Never longer than `MAX_CHARS`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from tacit.capture.extract.tasks import done_tasks, follow_tasks, named_open, open_tasks
from tacit.hosts.transcripts import ToolUse, Turn
from tacit.reading.commands import command_actions, split_commands
from tacit.reading.digest_lines import finished
from tacit.safety.forgotten_words import PURGED
from tacit.state.captured import Failure, SessionWork
from tacit.text.lazy_regex import lazy_regex

MAX_CHARS = 1200
_MAX_LINE = 160
_MAX_LINES = {"impl": 2, "dec": 3, "block": 3, "next": 5, "done": 3, "fix": 3}
_MAX_FILES = 6
_MAX_COMMITS = 20
TRIED_AGAIN = 2
"""Failures of a command from which it "still fails": the first one may be all that was wanted."""
_UNBLOCKED = lazy_regex(r"\b(?:unblocked|no longer blocked|not blocked (?:any ?more|now))\b", re.IGNORECASE)
_CHECKS = frozenset({"run_tests", "run_lint_build"})


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
) -> SessionWork:
    """`work` with what `turns` add to it."""
    files = dict.fromkeys(work.files)
    commits, passed = dict.fromkeys(work.commits), dict.fromkeys(work.passed)
    steps, blocked = work.steps, work.blocked
    for turn in turns:
        named = named_open(turn.text, by_user=turn.role == "user")
        if turn.role == "assistant" and (named.steps or named.blocked):
            steps, blocked = named.steps, named.blocked
        elif turn.role == "user":
            steps = tuple(step for step in steps if not finished(step, (turn.text,)))
            blocked = tuple(dict.fromkeys((*blocked, *named.blocked)))
            blocked = () if _UNBLOCKED.search(turn.text) else blocked
        for use in turn.tools:
            if use.tool == "bash" and use.finished and _is_check(use.command):
                passed.pop(use.command, None)
                if not use.failed:
                    passed[use.command] = None
            if use.finished and not use.failed:
                if use.tool in ("edit", "write"):
                    files.update(dict.fromkeys(use.paths))
                elif use.commit or (use.tool == "bash" and "git commit" in split_commands(use.command)):
                    commits[_commit(use, len(commits))] = None
    return replace(
        work,
        files=tuple(files)[:50],
        decided=_joined(work.decided, decided),
        left=_joined(work.left, left_to_do),
        fixed=_joined(work.fixed, fixed),
        commits=tuple(commits)[-_MAX_COMMITS:],
        passed=tuple(passed)[-_MAX_LINES["done"] :],
        tasks=follow_tasks(work.tasks, turns),
        steps=steps,
        blocked=blocked,
    )


def write_digest(work: SessionWork, *, failures: Sequence[Failure] = ()) -> str:
    """The digest, or "" for a session in which nothing was changed, fixed, committed, or named as open: what was only decided is stored for itself."""
    waiting = tuple(dict.fromkeys((*open_tasks(work.tasks), *work.steps)))
    failing = [failure.command for failure in failures if failure.times >= TRIED_AGAIN]
    if not (work.files or work.left or work.fixed or work.commits or work.blocked or waiting or failing):
        return ""
    shown = list(work.files[:_MAX_FILES])
    more = len(work.files) - len(shown)
    files = ", ".join(shown) + (f" and {more} more" if more > 0 else "")
    reports = (*done_tasks(work.tasks), *work.commits, *work.fixed)
    left_to_do = tuple(text for text in work.left if not finished(text, reports))
    todo = tuple(text for text in waiting if not finished(text, (*left_to_do, *work.commits, *work.fixed)))
    blocked = tuple(text for text in work.blocked if not finished(text, reports))
    most = _MAX_LINES["next"]
    lines = (
        _Line(code="impl", texts=(f"changed {files}",) if files else ()),
        _Line(code="dec", texts=work.decided),
        _Line(code="block", texts=(*(f"`{command}` still fails" for command in failing), *blocked)),
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


def _is_check(command: str) -> bool:
    """Whether a command runs tests or another check, and its exit status is that of the check: behind a pipe or a semicolon it is another's."""
    checks = any(name in _CHECKS for simple in split_commands(command) for name, _ in command_actions(simple))
    return checks and not any(mark in command for mark in "|;\n")


def _done(work: SessionWork) -> tuple[str, ...]:
    """The checks that passed last, and the last commits by their subjects, or how many there were where git said none."""
    commits = [text.partition(" ") for text in work.commits]
    commit_lines = [f"{subject} ({commit})" for commit, _, subject in commits if subject]
    silent = len(work.commits) - len(commit_lines)
    plural = "commit" if silent == 1 else "commits"
    lines = [*([f"{silent} {plural}"] if silent else []), *commit_lines]
    return (*(f"`{command}` passed" for command in work.passed[-1:]), *lines)


def _commit(use: ToolUse, before: int) -> str:
    return use.commit or f"#{before + 1}"


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _MAX_LINE else flat[: _MAX_LINE - 3].rsplit(" ", 1)[0] + "..."


def _joined(old: tuple[str, ...], new: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*old, *(_short(text) for text in new))))[-20:]
