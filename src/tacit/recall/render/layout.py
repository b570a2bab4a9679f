"""Write a pack in a layout. In: a pack, a layout. Out: text.

Whatever the layout, the outermost lines stay the delimiters of `block.py`: by them capture knows our own words, and nothing
inside can close them.
"""

from __future__ import annotations

from collections.abc import Callable

from tacit.model.ids import SHORT_ID
from tacit.model.kinds import KindRegistry
from tacit.model.pack import Pack
from tacit.recall.stage import Clean, Layout

ID_TOKENS = 12
"""Most tokens of `id_suffix`."""


def id_suffix(memory_id: str) -> str:
    """What a line ends with where the reader may act on its memory."""
    return f" (id {memory_id[-SHORT_ID:]})"


def renderer(
    kinds: KindRegistry, clean: Clean, layout: Layout, *, with_ids: bool = False
) -> Callable[[Pack], str]:
    """Writes packs in `layout`, with `clean` applied to every line before it is escaped.

    Args:
        kinds: labels and prefixes.
        clean: takes secrets out of a text.
        layout: how lines and the block look.
        with_ids: whether the line of a memory ends with the ending of its id.
    """

    def render(pack: Pack) -> str:
        text = layout.block(pack, kinds, clean)
        if not (with_ids and text):
            return text
        suffixes: dict[str, list[str]] = {}
        for item in pack.items:
            line = layout.line_of(item, kinds, clean)
            suffixes.setdefault(line, []).append(id_suffix(item.candidate.memory.id))
        lines = text.split("\n")
        return "\n".join(line + suffixes[line].pop(0) if suffixes.get(line) else line for line in lines)

    return render
