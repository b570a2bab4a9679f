"""The blocks of the `typed` seed: sections by type at the start, prefixed lines before a prompt. Sources: its 3.3.

Inside the usual delimiters, which stand for the seed's own (`<relevant_context>`). Dates are absolute and who said it
stays on the line; a shortened memory ends in an ellipsis.
"""

from __future__ import annotations

from collections.abc import Callable

from tacit.model.evidence import Candidate
from tacit.model.kinds import KindRegistry
from tacit.model.pack import Pack, PackItem, Surface
from tacit.recall.render.block import frame_text, source_of
from tacit.safety.escape import escape_text

TITLE = "## Project Context from Previous Sessions"
ABOUT = "The following context was automatically retrieved from your project's memory:"
INLINE = "Based on your project history:"
ELLIPSIS = " ..."
SECTIONS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("Preference", ("identity", "preference", "correction", "anti_pattern", "guideline")),
    ("Decision", ("decision",)),
    ("File Context", ("file_context",)),
    ("Error Pattern", ("error_pattern",)),
    ("Research", ("research",)),
)
OTHER = "Other"
_SECTIONED = (Surface.START, Surface.COMPACTION, Surface.SUBAGENT)


def typed_line(
    candidate: Candidate, text: str, kinds: KindRegistry, clean: Callable[[str], str] = lambda text: text
) -> str:
    """One memory: `- [DEC] Use PostgreSQL. (user, 2026-11-20)`."""
    prefix = kinds.of_stored(candidate.memory.kind).prefix
    shortened = text != candidate.memory.content and text == candidate.memory.content[: len(text)]
    mark = ELLIPSIS if shortened and text else ""
    return f"- [{prefix}] {escape_text(clean(text))}{mark} ({escape_text(clean(source_of(candidate)))})"


def typed_frame(surface: Surface) -> str:
    """Everything that can stand around the lines."""
    first, last = _delimiters(surface)
    titles = [f"### {title}" for title in (*(name for name, _ in SECTIONS), OTHER)]
    between = [TITLE, ABOUT, *titles, "---"] if surface in _SECTIONED else [INLINE]
    return "\n".join((first, *between, last))


def typed_block(pack: Pack, kinds: KindRegistry, clean: Callable[[str], str] = lambda text: text) -> str:
    """Sections in the seed's order, best first within each; or one list, best first."""
    if not pack.items:
        return ""
    first, last = _delimiters(pack.surface)
    if pack.surface not in _SECTIONED:
        ranked = sorted(pack.items, key=_rank)
        lines = [typed_line(item.candidate, item.text, kinds, clean) for item in ranked]
        return "\n".join((first, INLINE, *lines, last))
    by_title: dict[str, list[PackItem]] = {}
    for item in sorted(pack.items, key=_rank):
        by_title.setdefault(section_of(item.candidate.memory.kind), []).append(item)
    parts: list[str] = []
    for title in (*(name for name, _ in SECTIONS), OTHER):
        if title in by_title:
            parts.append(f"### {title}")
            parts += [typed_line(item.candidate, item.text, kinds, clean) for item in by_title[title]]
    return "\n".join((first, TITLE, ABOUT, *parts, "---", last))


def section_of(kind: str) -> str:
    """Title of the section for `kind`."""
    return next((title for title, kinds in SECTIONS if kind in kinds), OTHER)


def _rank(item: PackItem) -> tuple[float, float, str]:
    candidate = item.candidate
    return (-candidate.relevance, -candidate.fused, candidate.memory.id)


def _delimiters(surface: Surface) -> tuple[str, str]:
    opening, last = frame_text(surface)
    return opening.partition("\n")[0], last
