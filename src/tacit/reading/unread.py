"""Which texts an embedder does not read: their language is none of those that it was made for. In: an embedder, texts. Out: names of languages.

A vector of such a text says nothing about its meaning: with the shipped model any two Chinese statements are closer than two English ones on the
same matter. So it is no evidence, and words decide alone. An embedder that does not say what it reads is taken to read everything.
"""

from __future__ import annotations

from tacit.ports.models import Embedder, LanguageBound
from tacit.text.natural_language import NAMES, natural_language_of


def unread_language(embedder: Embedder, text: str) -> str:
    """The name of the language of `text` where `embedder` does not read it ("Chinese"); "" = it does."""
    languages = languages_read(embedder)
    if languages is None:
        return ""
    code = natural_language_of(text)
    return "" if code in languages else NAMES[code]


def languages_read(embedder: Embedder) -> frozenset[str] | None:
    """The codes of the languages that an embedder reads (of the one behind a cache, where there is one); None = it does not say."""
    inner: object = getattr(embedder, "inner", embedder)
    return inner.languages if isinstance(inner, LanguageBound) else None
