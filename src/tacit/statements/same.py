"""Decides whether two statements are the same. In: two texts. Out: yes or no.

"The same" means equal text, apart from the Unicode form, blanks, punctuation at the end, and the case of the first letter. Signs, operators,
units, paths, flags, emoji, negations and the case of every other letter count, in every language. Similarity never decides identity.
"""

from __future__ import annotations

from tacit.model.ids import canonical_text

__all__ = ["canonical_text", "same_statement"]


def same_statement(left: str, right: str) -> bool:
    """Tell whether two statements are the same: whether their canonical texts are equal."""
    return canonical_text(left) == canonical_text(right)
