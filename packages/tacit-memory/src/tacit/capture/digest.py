"""The agent's tasks: its task list, and the next steps it names. In: turns. Out: open tasks, finished tasks. Pure.

Some tools write the whole list at once, some change one entry. The texts are the agent's words, not the user's: what reads
like an order to fetch, run or obey something is left out.

The digest of a session: a few deterministic lines that say only what is proven. In: what the session did. Out: text, "" when nothing is proven.

Lines in fixed order, each with its code: impl (files changed), dec (decided by the user), block (named as blocked by the user or the agent; a command that
was tried again and failed last), next (left to do: what the user named, then the agent's open tasks and the next steps it named last), done (commits,
checks that passed last), fix (verified fixes). What was done meanwhile is left to do no more. What was asked is no proof of anything. Never longer than `MAX_CHARS`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from tacit.frozen import frozen
from tacit.hosts.transcripts import ToolUse, Turn
from tacit.reading.commands import command_actions, split_commands
from tacit.reading.digest_lines import finished, still_open
from tacit.reading.prose import pasted_document, spoken_sentences
from tacit.reading.sentences import shorten_at_word
from tacit.safety.forgotten_words import PURGED
from tacit.state.captured import Failure, SessionWork, Task
from tacit.text.lazy_regex import lazy_regex, wording

_TASK_WORDS = wording("tasks")

MAX_TASKS = 40
MAX_TASK_CHARS = 120
_OVER = frozenset({"completed", "done", "cancelled", "canceled", "deleted", "removed"})
_DONE = frozenset({"completed", "done"})


_STEP = lazy_regex(r"^[ \t]*(?:[-*\u2022][ \t]+(?:\[ \][ \t]+)?|\d{1,2}[.)][ \t]+)(?P<text>\S.*)$")
_FENCED = lazy_regex(r"^[ \t]*(?P<fence>```+|~~~+).*?(?:^[ \t]*(?P=fence)|\Z)", re.MULTILINE | re.DOTALL)
MAX_STEPS = 5
_LEAST_WORDS = 3


@frozen
class NamedOpen:
    """The items that a message names as next steps, and those that it names as blocked, in order."""

    steps: tuple[str, ...] = ()
    blocked: tuple[str, ...] = ()


def named_open(text: str) -> NamedOpen:
    """Return the next steps and the blockers that a message names.

    Items follow "Next:", "Remaining:", "TODO:", "Blocked:" or the like, in the same line or as a list below,
    or stand in a sentence ("The next step is to ...", "We are blocked on ..."). The last list of each sort
    counts. Questions are not items, nor is what stands in a code block.
    """
    text = _FENCED.sub("", text)
    found: dict[str, list[str]] = {"next": [], "block": []}
    section = ""
    for line in text.split("\n"):
        head = _TASK_WORDS.head.match(line)
        step = _STEP.match(line) if section else None
        if head:
            section = "next" if head["next"] else "block"
            found[section] = _parted(head["rest"], section, found)
        elif step:
            found[section] += _parted(step["text"], section, found)
        elif line.strip():
            section = ""
            parts = list(_TASK_WORDS.inline.finditer(line))
            if parts:
                kind = "next" if parts[0]["next"] else "block"
                found[kind] = _parted(line[parts[0].end() :], kind, found)
    if not found["next"]:
        found["next"] = [said["rest"] for said in _TASK_WORDS.next_said.finditer(text)]
    if not found["block"]:
        found["block"] = [said["whole"] for said in _TASK_WORDS.block_said.finditer(text)]
    return NamedOpen(steps=_items(found["next"], _LEAST_WORDS), blocked=_items(found["block"], 2))


def named_by_user(text: str) -> NamedOpen:
    """Return the next steps and the blockers that the user names in their own words; nothing of what they pasted or quoted."""
    if pasted_document(text):
        return NamedOpen()
    own = (sentence for sentence in spoken_sentences(text) if sentence.own and not sentence.doubted)
    return named_open("\n".join(f"- {s.text}" if s.item else s.text for s in own))


def _parted(rest: str, section: str, found: dict[str, list[str]]) -> list[str]:
    """Return the item of the rest of a line; items of the other sort within it are appended to `found`."""
    marks = list(_TASK_WORDS.inline.finditer(rest))
    ends = (*(mark.start() for mark in marks), len(rest))
    for mark, end in zip(marks, ends[1:], strict=True):
        other = "next" if mark["next"] else "block"
        if other != section:
            found[other].append(rest[mark.end() : end])
    own = rest[: ends[0]]
    return [own] if own.strip() else []


def _items(lines: Iterable[str], least_words: int) -> tuple[str, ...]:
    items = (_safe_text(line.replace("**", "").replace("__", "")).strip(" .") for line in lines)
    whole = (
        item
        for item in items
        if len(item.split()) >= least_words and not item.endswith("?") and not _TASK_WORDS.nothing.match(item)
    )
    return tuple(dict.fromkeys(whole))[:MAX_STEPS]


def follow_tasks(before: tuple[Task, ...], turns: Iterable[Turn]) -> tuple[Task, ...]:
    """Return the agent's task list after `turns`; `before` = the list before them."""
    tasks = before
    for turn in turns:
        for use in turn.tools:
            if use.tool == "todo" and not use.failed:
                tasks = _after(tasks, use)
    return tasks[-MAX_TASKS:]


def open_tasks(tasks: Iterable[Task]) -> tuple[str, ...]:
    """Return the texts of the tasks that are not done or cancelled, in order."""
    return tuple(text for _, text, status in tasks if status not in _OVER)


def done_tasks(tasks: Iterable[Task]) -> tuple[str, ...]:
    """Return the texts of the tasks that were done, in order."""
    return tuple(text for _, text, status in tasks if status in _DONE)


def touches_tasks(turns: Iterable[Turn]) -> bool:
    """Whether the agent wrote its task list in `turns`."""
    return any(use.tool == "todo" and (use.todos or use.tasks) for turn in turns for use in turn.tools)


def _after(tasks: tuple[Task, ...], use: ToolUse) -> tuple[Task, ...]:
    if use.todos:
        place = (
            (str(number), _safe_text(text), status)
            for number, (text, status) in enumerate(use.todos, start=1)
        )
        return tuple(task for task in place if task[1])
    by_number = {task[0]: task for task in tasks}
    for number, text, status in use.tasks:
        name = number or str(len(by_number) + 1)
        old = by_number.get(name, (name, "", "pending"))
        by_number[name] = (name, _safe_text(text) or old[1], status or old[2])
    return tuple(task for task in by_number.values() if task[1] and task[2] != "deleted")


def _safe_text(text: str) -> str:
    flat = " ".join(text.split())
    return "" if _TASK_WORDS.order.search(flat) else flat[:MAX_TASK_CHARS]


MAX_CHARS = 1200
_MAX_LINE = 160
_MAX_LINES = {"impl": 2, "dec": 3, "block": 3, "next": 5, "done": 3, "fix": 3}
_MAX_FILES = 6
_MAX_COMMITS = 20
TRIED_AGAIN = 2
"""Number of failures from which the digest says that a command still fails; a single one may have been intended."""
_CHECKS = frozenset({"run_tests", "run_lint_build"})


def extend_work(
    work: SessionWork,
    turns: Sequence[Turn],
    *,
    decided: Sequence[str],
    left_to_do: Sequence[str],
    fixed: Sequence[str],
) -> SessionWork:
    """Return `work` extended by what was done and named as open in `turns`.

    `decided`, `left_to_do` and `fixed` = decisions, open tasks and fixes that were found in them, as texts.
    """
    files = dict.fromkeys(work.files)
    commits, passed = dict.fromkeys(work.commits), dict.fromkeys(work.passed)
    steps, blocked, stuck = work.steps, work.blocked, work.stuck
    for turn in turns:
        named = named_by_user(turn.text) if turn.role == "user" else named_open(turn.text)
        if turn.role == "assistant" and (named.steps or named.blocked):
            steps, blocked = named.steps, named.blocked
        elif turn.role == "user":
            steps = tuple(step for step in steps if not finished(step, (turn.text,)))
            stuck = tuple(dict.fromkeys((*stuck, *named.blocked)))
            if _TASK_WORDS.unblocked.search(turn.text):
                blocked, stuck = (), ()
        for use in turn.tools:
            if use.tool == "bash" and use.finished and _is_check(use.command):
                passed.pop(use.command, None)
                if not use.failed:
                    passed[use.command] = None
            if use.finished and not use.failed:
                if use.tool in ("edit", "write"):
                    files.update(dict.fromkeys(use.paths))
                elif use.commit or (use.tool == "bash" and "git commit" in split_commands(use.command)):
                    commits[use.commit or f"#{len(commits) + 1}"] = None
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
        stuck=stuck,
    )


def write_digest(work: SessionWork, *, failures: Sequence[Failure] = ()) -> str:
    """Return the digest text; "" = nothing was changed, fixed, committed, named as open, and nothing still fails.

    What was only decided is stored as a memory of its own.
    """
    waiting = tuple(dict.fromkeys((*open_tasks(work.tasks), *work.steps)))
    failing = [failure.command for failure in failures if failure.times >= TRIED_AGAIN]
    named_blockers = (*work.stuck, *work.blocked)
    if not (work.files or work.left or work.fixed or work.commits or named_blockers or waiting or failing):
        return ""
    shown = list(work.files[:_MAX_FILES])
    more = len(work.files) - len(shown)
    files = ", ".join(shown) + (f" and {more} more" if more > 0 else "")
    reports = (*done_tasks(work.tasks), *work.commits, *work.fixed)
    left_to_do = still_open(work.left, reports)
    todo = still_open(waiting, (*left_to_do, *work.commits, *work.fixed))
    named = (*work.left, *work.steps)
    # What was named with a blocker is done, and so is the blocker.
    over = bool(named) and not still_open(named, reports)
    blocked = () if over else still_open(named_blockers, reports)
    most = _MAX_LINES["next"]
    lines: dict[str, tuple[str, ...]] = {
        "impl": (f"changed {files}",) if files else (),
        "dec": work.decided,
        "block": (*(f"`{command}` still fails" for command in failing), *blocked),
        "next": (*left_to_do[-most:], *todo[: max(0, most - len(left_to_do))]),
        "done": _done(work),
        "fix": work.fixed,
    }
    written: list[str] = []
    for code, texts in lines.items():
        for text in [text for text in texts if PURGED not in text][-_MAX_LINES[code] :]:
            whole = f"{code}: {shorten_at_word(text, _MAX_LINE)}"
            if sum(map(len, written)) + len(written) + len(whole) <= MAX_CHARS:
                written.append(whole)
    return "\n".join(written)


def _is_check(command: str) -> bool:
    """Whether `command` is a test or lint run whose own exit status is seen: no pipe, semicolon or newline behind it."""
    checks = any(name in _CHECKS for simple in split_commands(command) for name, _ in command_actions(simple))
    return checks and not any(mark in command for mark in "|;\n")


def _done(work: SessionWork) -> tuple[str, ...]:
    """Return the digest's `done` lines: the last check that passed, and the commits, by subject or by number."""
    commits = [text.partition(" ") for text in work.commits]
    commit_lines = [f"{subject} ({commit})" for commit, _, subject in commits if subject]
    silent = len(work.commits) - len(commit_lines)
    plural = "commit" if silent == 1 else "commits"
    lines = [*([f"{silent} {plural}"] if silent else []), *commit_lines]
    return (*(f"`{command}` passed" for command in work.passed[-1:]), *lines)


def _joined(old: tuple[str, ...], new: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*old, *(shorten_at_word(text, _MAX_LINE) for text in new))))[-20:]
