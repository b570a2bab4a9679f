"""Decides whether two statements are the same. In: two texts. Out: yes or no.

"The same" means equal text, apart from the Unicode form, blanks, punctuation at the end, and the case of the first letter. Signs, operators,
units, paths, flags, emoji, negations and the case of every other letter count, in every language. Similarity never decides identity.
"""

from __future__ import annotations

import re
import unicodedata

_END = re.compile(r"(?P<last>[\w)\]}>\"'`”’»\u00ae-\U0010ffff])[.!\u3002\uff01\u0964]+$")
"""Punctuation that ends a sentence. Behind a blank or an operator it is a path or code: `pytest .`, `cd ..`."""


def same_statement(left: str, right: str) -> bool:
    """Tell whether two statements are the same: whether their canonical texts are equal."""
    return canonical_text(left) == canonical_text(right)


def canonical_text(text: str) -> str:
    """Return the text by which statements are compared, in Unicode form NFC, for use as a key.

    Blanks are folded, punctuation at the end goes, and a capital first letter becomes small unless another capital follows it
    (`Use` and `use` are equal, `CI` and `cI` are not).
    """
    folded = _END.sub(r"\g<last>", " ".join(unicodedata.normalize("NFC", text).split()))
    first, second = folded[:1], folded[1:2]
    return folded if second.isupper() else first.lower() + folded[1:]
