"""The `[MEMORY]` block of the `refresh` seed: sections fixed per epoch, and one section refreshed each turn.

The order of sections is the seed's (codexfi, context.ts). Each list is cut by the budget stage before it comes here.
"""

from __future__ import annotations

from collections.abc import Sequence

from tacit.model.pack import PackItem
from tacit.recall.render.block import day, mark_of, source_of
from tacit.safety.escape import escape_text

SECTIONS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("Project Brief", ("identity", "goal")),
    ("Architecture", ("decision",)),
    ("Tech Context", ("fact", "file_context", "error_pattern")),
    ("Product Context", ("research", "observation", "event")),
    ("Progress & Status", ("todo", "outcome")),
    ("Last Session", ("digest",)),
    ("User Preferences", ("preference", "correction", "anti_pattern", "guideline")),
)
RELEVANT = "Relevant to Current Task"
OPEN, CLOSE = "[MEMORY]", "[/MEMORY]"


def section_of(kind: str) -> str:
    """Title of the section that memories of `kind` stand in; kinds of the user's own stand in Tech Context."""
    return next((title for title, kinds in SECTIONS if kind in kinds), "Tech Context")


def sections_text(items: Sequence[PackItem]) -> str:
    """The fixed sections, without the frame; the newest digest only."""
    by_title: dict[str, list[PackItem]] = {}
    for item in items:
        by_title.setdefault(section_of(item.candidate.memory.kind), []).append(item)
    if "Last Session" in by_title:
        newest = max(
            by_title["Last Session"], key=lambda i: (i.candidate.memory.created_at_ms, i.candidate.memory.id)
        )
        by_title["Last Session"] = [newest]
    parts: list[str] = []
    for title, _ in SECTIONS:
        lines = [f"- {escape_text(item.text)}{_marked(item)}" for item in by_title.get(title, [])]
        if lines:
            parts.append("\n".join((f"## {title}", *lines)))
    return "\n".join(parts)


def _marked(item: PackItem) -> str:
    """Who said it and that nobody confirmed it, where that is so."""
    return f" ({escape_text(source_of(item.candidate))})" if mark_of(item.candidate) else ""


def relevant_text(items: Sequence[PackItem]) -> str:
    """The refreshed section: similarity in percent and an absolute date before each line."""
    lines = [
        f"- [{round(item.candidate.relevance * 100)}%, {day(item.candidate.memory.updated_at_ms)}] {escape_text(item.text)}{_marked(item)}"
        for item in sorted(items, key=lambda i: (-i.candidate.relevance, i.candidate.memory.id))
    ]
    return "\n".join((f"## {RELEVANT}", *lines)) if lines else ""


def memory_text(sections: str, relevant: str) -> str:
    """The whole block; the empty text when both parts are empty."""
    inner = "\n".join(part for part in (sections, relevant) if part)
    return f"{OPEN}\n{inner}\n{CLOSE}" if inner else ""
