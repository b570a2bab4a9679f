"""The `[MEMORY]` block of the `refresh` seed: sections fixed per epoch, and one section refreshed each turn.

The order of sections is the seed's (codexfi, context.ts). Each list is cut by the budget stage before it comes here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tacit.model.evidence import Candidate
from tacit.model.kinds import KindRegistry
from tacit.model.memory import day
from tacit.model.pack import Pack, PackItem, Surface
from tacit.recall.render import cleaned, needed_source, side_by_side
from tacit.safety.escape import escape_text

Clean = Callable[[str], str]
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


def sections_frame(surface: Surface) -> str:
    """Everything that can stand around the lines of the fixed sections."""
    del surface
    return "\n".join((OPEN, *(f"## {title}" for title, _ in SECTIONS), CLOSE))


def section_line(
    candidate: Candidate, text: str, kinds: KindRegistry, clean: Clean = lambda text: text
) -> str:
    """One memory as one line: what it says, and, where nobody confirmed it, who said it."""
    del kinds
    return f"- {escape_text(clean(text))}{_marked(candidate)}"


def sections_block(pack: Pack, kinds: KindRegistry, clean: Clean = lambda text: text) -> str:
    """The fixed sections alone as a block; the empty pack gives the empty text."""
    return memory_text(sections_text(cleaned(pack, clean).items, kinds), "")


def relevant_frame(surface: Surface) -> str:
    """What stands around the lines of the refreshed section alone."""
    del surface
    return "\n".join((OPEN, f"## {RELEVANT}", CLOSE))


def relevant_line(
    candidate: Candidate, text: str, kinds: KindRegistry, clean: Clean = lambda text: text
) -> str:
    """One memory with its similarity in percent and an absolute date before what it says."""
    del kinds
    share = f"{round(candidate.relevance * 100)}%, {day(candidate.memory.updated_at_ms, candidate.memory.validity.offset_ms)}"
    return f"- [{share}] {escape_text(clean(text))}{_marked(candidate)}"


def relevant_block(pack: Pack, kinds: KindRegistry, clean: Clean = lambda text: text) -> str:
    """The refreshed section alone as a block; the empty pack gives the empty text."""
    return memory_text("", relevant_text(cleaned(pack, clean).items, kinds))


def _marked(candidate: Candidate) -> str:
    source = needed_source(candidate)
    return f" ({escape_text(source)})" if source else ""


def sections_text(items: Sequence[PackItem], kinds: KindRegistry) -> str:
    """The fixed sections, without the frame; the newest digest only."""
    by_title: dict[str, list[PackItem]] = {}
    for item in items:
        by_title.setdefault(section_of(item.candidate.memory.kind), []).append(item)
    if "Last Session" in by_title:
        newest = max(
            by_title["Last Session"], key=lambda i: (i.candidate.memory.created_at_ms, i.candidate.memory.id)
        )
        by_title["Last Session"] = [newest]
    sections: list[str] = []
    for title, _ in SECTIONS:
        lines = [
            section_line(item.candidate, item.text, kinds) for item in side_by_side(by_title.get(title, []))
        ]
        if lines:
            sections.append("\n".join((f"## {title}", *lines)))
    return "\n".join(sections)


def relevant_text(items: Sequence[PackItem], kinds: KindRegistry) -> str:
    """The refreshed section, without the frame, the most similar first."""
    ranked = sorted(items, key=lambda i: (-i.candidate.relevance, i.candidate.memory.newest_first))
    lines = [relevant_line(item.candidate, item.text, kinds) for item in side_by_side(ranked)]
    return "\n".join((f"## {RELEVANT}", *lines)) if lines else ""


def memory_text(sections: str, relevant: str) -> str:
    """The whole block of both parts; the empty text when both are empty."""
    inner = "\n".join(part for part in (sections, relevant) if part)
    return f"{OPEN}\n{inner}\n{CLOSE}" if inner else ""
