"""The agent's own task list. In: turns. Out: the list as it stands after them, what is open and what is done. Pure.

Some tools write the whole list at once, some change one entry. The texts are the agent's words, not the user's: what reads
like an order to fetch, run or obey something is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from tacit.capture.turn import ToolUse, Turn
from tacit.late_pattern import late_pattern

Task = tuple[str, str, str]
"""(number, text, status)."""

MAX_TASKS = 40
MAX_CHARS = 120
_OVER = frozenset({"completed", "done", "cancelled", "canceled", "deleted", "removed"})
_DONE = frozenset({"completed", "done"})
_ORDER = late_pattern(
    r"\b(?:curl|wget)\b|\bhttps?://|\|\s*(?:ba|z|da)?sh\b|\b(?:ignore|disregard|forget) (?:all|any|the|your|previous)\b"
    r"|\byou (?:must|should|are)\b|\b(?:system prompt|instructions?)\b",
    re.IGNORECASE,
)


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
        found = (
            (str(number), _short(text), status) for number, (text, status) in enumerate(use.todos, start=1)
        )
        return tuple(task for task in found if task[1])
    named = {task[0]: task for task in tasks}
    for number, text, status in use.tasks:
        name = number or str(len(named) + 1)
        old = named.get(name, (name, "", "pending"))
        named[name] = (name, _short(text) or old[1], status or old[2])
    return tuple(task for task in named.values() if task[1] and task[2] != "deleted")


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return "" if _ORDER.search(flat) else flat[:MAX_CHARS]
