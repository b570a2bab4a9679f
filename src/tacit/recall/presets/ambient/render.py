"""The block of the `ambient` seed: what is pinned, then what is relevant to this message. Source: its "format" sections.

The first line inside the delimiters is the seed's own mark, by which a message list's blocks can be found as well.
"""

from __future__ import annotations

from collections.abc import Callable

from tacit.model.evidence import PINNED, Candidate
from tacit.model.kinds import KindRegistry
from tacit.model.pack import Pack, Surface
from tacit.recall.render.block import frame_text, source_of
from tacit.safety.escape import escape_text

MARK = "[Context from memory]"
PINNED_TITLE = "[Pinned context]"
RELEVANT_TITLE = "[Relevant to this message]"
KNOWN_TITLE = "[Known from earlier work]"
"""For surfaces that no message asks for."""


def ambient_line(
    candidate: Candidate, text: str, kinds: KindRegistry, clean: Callable[[str], str] = lambda text: text
) -> str:
    """One memory: `[Decision] We chose JWT. (importance: 0.8; user, 2026-11-20)`; kinds under their own names, as `Todo`."""
    del kinds
    memory = candidate.memory
    source = escape_text(clean(source_of(candidate)))
    kind = memory.kind.replace("_", " ").capitalize()
    return f"[{kind}] {escape_text(clean(text))} (importance: {memory.importance:.1f}; {source})"


def ambient_frame(surface: Surface) -> str:
    """Everything that can stand around the lines."""
    first, last = _delimiters(surface)
    return "\n".join((first, MARK, PINNED_TITLE, _title(surface), last))


def ambient_block(pack: Pack, kinds: KindRegistry, clean: Callable[[str], str] = lambda text: text) -> str:
    """Two sections; an empty one has no title."""
    if not pack.items:
        return ""
    first, last = _delimiters(pack.surface)
    parts: list[str] = []
    for title, pinned in ((PINNED_TITLE, True), (_title(pack.surface), False)):
        items = [i for i in pack.items if (PINNED in i.candidate.reasons) is pinned]
        if items:
            parts += [title, *(ambient_line(i.candidate, i.text, kinds, clean) for i in items)]
    return "\n".join((first, MARK, *parts, last))


def _title(surface: Surface) -> str:
    return KNOWN_TITLE if surface in (Surface.START, Surface.COMPACTION) else RELEVANT_TITLE


def _delimiters(surface: Surface) -> tuple[str, str]:
    opening, last = frame_text(surface)
    return opening.partition("\n")[0], last
