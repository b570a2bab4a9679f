"""Memories taken out of exports that were written before. In: an export's text, what is gone. Out: the text without it.

Other memories keep their words, also where they are the same: they are remembered. Notes that quote what is gone, and reasons, are
cleaned as in the store. Pure.
"""

from __future__ import annotations

from collections.abc import Callable

from tacit.app.transfer.markdown import markdown_without
from tacit.app.transfer.records import line_without
from tacit.app.transfer.signing import Signer
from tacit.model.changes import Removal


def without_records(
    text: str, clean: Callable[[str, str], str], gone: Removal, *, signer: Signer | None = None
) -> str:
    """`text` without the records of `gone`; the same text where it holds nothing of them.

    `signer` signs the lines again that this home had signed.
    """
    ids, notes = frozenset(gone.memories), frozenset(gone.notes)

    def cleaned(words: str) -> str:
        return clean(words, "")

    if not text.lstrip("\ufeff \r\n\t").startswith("{"):
        return markdown_without(text, cleaned, ids=ids, notes=notes)
    projects = frozenset(gone.projects)
    lines = (
        line_without(line, cleaned, ids=ids, projects=projects, notes=notes, signer=signer)
        for line in text.split("\n")
    )
    return "\n".join(line for line in lines if line is not None)
