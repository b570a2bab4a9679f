"""The language of a text, if the embedder was not trained on it. In: an embedder, a text. Out: the name of the language.

The vector of such a text does not represent its meaning: with the shipped model any two Chinese statements are closer than two English ones on the
same subject. So the vector is no evidence, and only words count. An embedder that does not declare its languages is expected to read all of them.
"""

from __future__ import annotations

from tacit.ports.models import Embedder
from tacit.text.natural_language import NAMES, natural_language_of


def unread_language(embedder: Embedder, text: str) -> str:
    """Return the name of the language of `text` ("Chinese") if `embedder` does not read it; "" = it does."""
    languages = languages_read(embedder)
    if languages is None:
        return ""
    code = natural_language_of(text)
    return "" if code in languages else NAMES[code]


def languages_read(embedder: Embedder) -> frozenset[str] | None:
    """Return the codes of the languages that an embedder, or the one behind a cache, reads; None = it does not declare them."""
    return getattr(getattr(embedder, "inner", embedder), "languages", None)
