"""The agent's tasks: its task list, and the next steps it names. In: turns. Out: open tasks, finished tasks. Pure.

Some tools write the whole list at once, some change one entry. The texts are the agent's words, not the user's: what reads
like an order to fetch, run or obey something is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from tacit.hosts.transcripts import ToolUse, Turn
from tacit.state.captured import Task
from tacit.text.lazy_regex import lazy_regex

MAX_TASKS = 40
MAX_CHARS = 120
_OVER = frozenset({"completed", "done", "cancelled", "canceled", "deleted", "removed"})
_DONE = frozenset({"completed", "done"})
_ORDER = lazy_regex(
    r"\b(?:curl|wget)\b|\bhttps?://|\|\s*(?:ba|z|da)?sh\b|\b(?:ignore|disregard|forget) (?:all|any|the|your|previous)\b"
    r"|\byou (?:must|should|are)\b|\b(?:system prompt|instructions?)\b",
    re.IGNORECASE,
)


_NEXT_WORDS = (
    r"(?:(?:the |my |suggested |recommended |possible |remaining )?next(?: steps?| up)?|remaining(?: work| steps| items| tasks)?"
    r"|(?:still )?(?:to ?-?do|left to do|open(?: points| items| questions| tasks)?|outstanding))"
)
_BLOCK_WORDS = r"(?:(?:the |current |open )?block(?:ed|ers?|ing(?: issues?| points?)?)|blocked (?:on|by))"
_HEAD = lazy_regex(
    rf"^[ \t]*(?:#{{1,6}}[ \t]*|[-*][ \t]+)?(?:\*\*|__)?(?:(?P<next>{_NEXT_WORDS})|(?P<block>{_BLOCK_WORDS}))(?:\*\*|__)?[ \t]*(?::|\Z)(?:\*\*|__)?[ \t]*(?P<rest>.*)$",
    re.IGNORECASE,
)
_INLINE = lazy_regex(
    rf"(?:(?<=[.!;])|^)[ \t]+(?:(?P<next>{_NEXT_WORDS})|(?P<block>{_BLOCK_WORDS}))[ \t]*:[ \t]*",
    re.IGNORECASE,
)
"""The same behind a sentence: "Committed. Next: ...", "Next: write the docs. Blocked: ..."."""
_NEXT_SAID = lazy_regex(
    r"(?:(?<=[.!:] )|^)(?:the )?next (?:steps? (?:is|are|will be|would be)(?: to)?|(?:thing )?(?:I|we) (?:do|will|should|need to|have to|must|go on with|tackle|take)|I'll|we'll)"
    r"(?: be)?(?: to)? (?P<rest>[^.!?\n]+(?:\.\w[^.!?\n]*)*)|(?:(?<=[.!:] )|^)next,? (?:up,? )?(?:I|we)(?:'ll| will| do| should| need to| have to| must)? (?P<then>[^.!?\n]+(?:\.\w[^.!?\n]*)*)",
    re.IGNORECASE | re.MULTILINE,
)
_BLOCK_SAID = lazy_regex(
    r"(?:(?<=[.!:] )|^)(?:(?:but|and|so|now|right now|currently|still),? )*(?P<whole>(?:(?:we|I)(?:'re| are|'m| am)|(?:this|that|it|the (?:release|merge|deploy\w*|work|task|ticket|pr|rollout|migration))(?: is|'s))"
    r" (?:still |currently |now )?blocked (?:on|until|by|because|till)\b[^.!?\n]+(?:\.\w[^.!?\n]*)*)",
    re.IGNORECASE | re.MULTILINE,
)
_STEP = lazy_regex(r"^[ \t]*(?:[-*\u2022][ \t]+(?:\[ \][ \t]+)?|\d{1,2}[.)][ \t]+)(?P<text>\S.*)$")
_MARKS = lazy_regex(r"\*\*|__")
_NOTHING = lazy_regex(
    r"^(?:none|nothing|n/?a)\b.{0,20}$|^no (?:blockers?|open \w+|next steps?)\b.{0,20}$", re.IGNORECASE
)
MAX_STEPS = 5
_LEAST_WORDS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedOpen:
    """What a message names as next, and what it names as blocked; in order."""

    steps: tuple[str, ...] = ()
    blocked: tuple[str, ...] = ()


def named_open(text: str, *, by_user: bool = False) -> NamedOpen:
    """The open items that a message names.

    They stand behind "Next:", "Remaining:", "TODO:", "Blocked:" or the like, in the same line or as a list below it, or in a sentence ("The next step is to
    ...", "We are blocked on ..."). Of several lists of one sort the last counts. Questions are no items. Of the user only what blocks: for the rest see
    `open_loops`.
    """
    found: dict[str, list[str]] = {"next": [], "block": []}
    section = ""
    for line in text.split("\n"):
        head = _HEAD.match(line)
        step = _STEP.match(line) if section else None
        if head:
            section = "next" if head["next"] else "block"
            found[section] = _parted(head["rest"], section, found)
        elif step:
            found[section] += _parted(step["text"], section, found)
        elif line.strip():
            section = ""
            parts = list(_INLINE.finditer(line))
            if parts:
                kind = "next" if parts[0]["next"] else "block"
                found[kind] = _parted(line[parts[0].end() :], kind, found)
    if not found["next"]:
        found["next"] = [(said["rest"] or said["then"]) for said in _NEXT_SAID.finditer(text)]
    if not found["block"]:
        found["block"] = [said["whole"] for said in _BLOCK_SAID.finditer(text)]
    return NamedOpen(
        steps=() if by_user else _items(found["next"], _LEAST_WORDS), blocked=_items(found["block"], 2)
    )


def _parted(rest: str, section: str, found: dict[str, list[str]]) -> list[str]:
    """The items of one line; what it names of the other sort behind a sentence goes there."""
    marks = list(_INLINE.finditer(rest))
    ends = (*(mark.start() for mark in marks), len(rest))
    for mark, end in zip(marks, ends[1:], strict=True):
        other = "next" if mark["next"] else "block"
        if other != section:
            found[other].append(rest[mark.end() : end])
    own = rest[: ends[0]]
    return [own] if own.strip() else []


def _items(lines: Iterable[str], least_words: int) -> tuple[str, ...]:
    items = (_safe_text(_MARKS.sub("", line)).strip(" .") for line in lines)
    whole = (
        item
        for item in items
        if len(item.split()) >= least_words and not item.endswith("?") and not _NOTHING.match(item)
    )
    return tuple(dict.fromkeys(whole))[:MAX_STEPS]


def follow_tasks(before: tuple[Task, ...], turns: Iterable[Turn]) -> tuple[Task, ...]:
    """The list after `turns`; `before` as it was."""
    tasks = before
    for turn in turns:
        for use in turn.tools:
            if use.tool == "todo" and not use.failed:
                tasks = _after(tasks, use)
    return tasks[-MAX_TASKS:]


def open_tasks(tasks: Iterable[Task]) -> tuple[str, ...]:
    """Texts of what is not over, in order."""
    return tuple(text for _, text, status in tasks if status not in _OVER)


def done_tasks(tasks: Iterable[Task]) -> tuple[str, ...]:
    """Texts of what was done, in order."""
    return tuple(text for _, text, status in tasks if status in _DONE)


def touches_tasks(turns: Iterable[Turn]) -> bool:
    """Whether the list was written in `turns`."""
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
    return "" if _ORDER.search(flat) else flat[:MAX_CHARS]
