"""The ways to write a block, by name. A layout says how lines look, what else a block holds, and how it is put together.

In: a pack. Out: text. Whatever the layout, the outermost lines stay the delimiters of `block.py`: by them capture knows our
own words, and nothing inside can close them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from tacit.model.evidence import Candidate
from tacit.model.ids import SHORT_ID
from tacit.model.kinds import KindRegistry
from tacit.model.pack import Pack, Surface
from tacit.recall.render.ambient import ambient_block, ambient_frame, ambient_line
from tacit.recall.render.block import frame_text, line_text, render_block
from tacit.recall.render.multispace import multispace_block, multispace_frame, multispace_line
from tacit.recall.render.scoped import code_line, scoped_block, scoped_frame, scoped_line
from tacit.recall.render.typed import typed_block, typed_frame, typed_line

Clean = Callable[[str], str]


class _Line(Protocol):
    def __call__(self, candidate: Candidate, text: str, kinds: KindRegistry, clean: Clean = ...) -> str: ...


class _Block(Protocol):
    def __call__(self, pack: Pack, kinds: KindRegistry, clean: Clean = ...) -> str: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """One way to write a block.

    Attributes:
        frame: everything but the lines of memories that a block of that surface can hold; its tokens are reserved.
        line: one memory as one line.
        block: the whole text; the empty pack gives the empty text.
    """

    frame: Callable[[Surface], str]
    line: _Line
    block: _Block


LAYOUTS: dict[str, Layout] = {
    "lines": Layout(frame=lambda surface: "\n".join(frame_text(surface)), line=line_text, block=render_block),
    "typed": Layout(frame=typed_frame, line=typed_line, block=typed_block),
    "ambient": Layout(frame=ambient_frame, line=ambient_line, block=ambient_block),
    "multispace": Layout(frame=multispace_frame, line=multispace_line, block=multispace_block),
    "scoped": Layout(frame=scoped_frame, line=scoped_line, block=scoped_block),
}

ID_TOKENS = 12
"""Most tokens of `id_suffix`."""


def id_suffix(memory_id: str) -> str:
    """What a line ends with where the reader may act on its memory."""
    return f" (id {memory_id[-SHORT_ID:]})"


def rendering(
    kinds: KindRegistry, clean: Clean, layout: str = "lines", *, with_ids: bool = False
) -> Callable[[Pack], str]:
    """The layout called `layout`, with `clean` applied to every line before it is escaped.

    Args:
        kinds: labels and prefixes.
        clean: takes secrets out of a text.
        layout: name in `LAYOUTS`.
        with_ids: whether the line of a memory ends with the ending of its id.
    """
    chosen = LAYOUTS[layout]

    def render(pack: Pack) -> str:
        text = chosen.block(pack, kinds, clean)
        if not (with_ids and text):
            return text
        suffixes: dict[str, list[str]] = {}
        for item in pack.items:
            suffix = id_suffix(item.candidate.memory.id)
            for line in {chosen.line(item.candidate, item.text, kinds, clean), code_line(item.text, clean)}:
                suffixes.setdefault(line, []).append(suffix)
        lines = text.split("\n")
        return "\n".join(line + suffixes[line].pop(0) if suffixes.get(line) else line for line in lines)

    return render
