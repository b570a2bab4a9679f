"""The agent's tasks: its task list, and the next steps it names. In: turns. Out: open tasks, finished tasks. Pure.

Some tools write the whole list at once, some change one entry. The texts are the agent's words, not the user's: what reads
like an order to fetch, run or obey something is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from tacit.capture.turn import ToolUse, Turn
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


_NEXT = lazy_regex(
    r"^[ \t]*(?:#{1,6}[ \t]*|[-*][ \t]+)?(?:\*\*|__)?(?:(?:the |my |suggested |recommended |possible |remaining )?next(?: steps?| up)?|remaining(?: work| steps| items| tasks)?"
    r"|(?:still )?(?:to do|todo|left to do|open(?: points| items| questions| tasks)?|outstanding))(?:\*\*|__)?[ \t]*(?::|(?=\n)|\Z)(?:\*\*|__)?[ \t]*(?P<rest>.*)$",
    re.IGNORECASE | re.MULTILINE,
)
_NEXT_INLINE = lazy_regex(
    r"(?<=[.!])[ \t]+(?:next(?: steps?| up)?|remaining|still (?:open|to do)|left to do)[ \t]*:[ \t]*(?P<rest>\S.*)$",
    re.IGNORECASE | re.MULTILINE,
)
"""The same behind a sentence: "Committed. Next: ..."."""
_STEP = lazy_regex(r"^[ \t]*(?:[-*\u2022][ \t]+(?:\[ \][ \t]+)?|\d{1,2}[.)][ \t]+)(?P<text>\S.*)$")
_MARKS = lazy_regex(r"\*\*|__")
MAX_STEPS = 5
_LEAST_WORDS = 3


def named_steps(text: str) -> tuple[str, ...]:
    """The next steps that a message of the agent ends with, in order; () = it names none.

    They stand behind "Next:", "Remaining:" or the like, in the same line or as a list below it. Questions are no steps.
    """
    heads = list(_NEXT.finditer(text)) or list(_NEXT_INLINE.finditer(text))
    if not heads:
        return ()
    head = heads[-1]
    lines = [head["rest"]] if head["rest"].strip() else []
    for line in text[head.end() :].split("\n"):
        step = _STEP.match(line)
        if step:
            lines.append(step["text"])
        elif line.strip():
            break
    steps = (_safe_text(_MARKS.sub("", line)).strip(" .") for line in lines)
    whole_steps = (step for step in steps if len(step.split()) >= _LEAST_WORDS and not step.endswith("?"))
    return tuple(dict.fromkeys(whole_steps))[:MAX_STEPS]


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
