"""Tokenizers: where a text is split into words. In: a text. Out: words. Pure.

There is one pattern for each purpose. They differ because results depend on where they split: the text index must split like FTS5,
fitted weights belong to the tokens that they were fitted on, and a path is one word here and several there.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from tacit.text.lazy_regex import lazy_regex
from tacit.text.natural_language import function_words_of
from tacit.text.stop_words import FUNCTION_WORDS

WORD = re.compile(r"[^\W_]+")
"""A run of letters and digits of any script; `_` separates. The default."""
CODE_WORD = re.compile(r"\w+")
"""The same with `_` inside, so that a name in code is one word."""
LATIN_WORD = re.compile(r"[a-z]+")
"""A run of lower-case ASCII letters; digits and all else separate. For lookups in lists of English words."""
ALPHANUMERIC = re.compile(r"[a-z0-9]+")
"""A run of lower-case ASCII letters and digits. The need model was fitted on these words."""
TEXT_WORD = lazy_regex(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)*")
"""A word of prose in any script, with its apostrophes and without digits."""
ENGLISH_WORD = re.compile(r"[a-z]+(?:'[a-z]+)?")
"""A lower-case English word, contractions whole."""
PHRASE_TOKEN = re.compile(r"[a-z]+(?:['’][a-z]+)*|\.?[a-z]+\.md|§|[?!.;:,\n()-]|\d+")
"""Words of the phrase tables and the marks between clauses, which end the reach of a denial."""
READER_TOKEN = re.compile(r"[a-z][a-z']*|[?!]|#?\d+|§")
"""Tokens of the fitted trigger maker; the weights belong to them."""
OBJECT_WORD = lazy_regex(r"[a-z][a-z0-9+#]*(?:[-_.][a-z0-9]+)*|#\d+")
"""A word or number that a prompt may be about: `c++`, `web-server`, `#12`. Stored triggers hold these."""
OBJECT_PART = re.compile(r"[a-z][a-z0-9]+|#?\d+")
"""A part of an object, where spellings of one thing meet. The match of triggers was fitted on these."""
PATH_WORD = lazy_regex(r"(?<![\w@./:-])[\w@./:-]*\w")
"""A word of any script; a path, an address or a symbol is one word."""
SOURCE_NAME = re.compile(r"[a-z_][a-z0-9_]*")
"""A lower-case identifier of source code."""
ERROR_WORD = lazy_regex(r"[a-z][a-z_-]*[a-z]|[a-z]")
"""A word of an error message without digits. Stored signatures are made of these."""
SIGNATURE_WORD = lazy_regex(r"[a-z][a-z0-9_-]+")
"""A word of a signature, where two signatures are compared; single letters say nothing."""

CODE_SPAN = lazy_regex(r"`([^`\n]+)`")
"""What stands between two backticks."""
SHORT_SPAN = lazy_regex(r"`([^`\n]{1,120})`")
"""The same, not longer than a command or a path."""
NAMED_SPAN = lazy_regex(r"`([^`\n]{3,80})`")
"""The same, as long as what tells one matter from another."""
HUMP = lazy_regex(r"(?<=[a-z0-9])(?=[A-Z])")
"""The place between two words of `camelCase`."""
UNSPACED = lazy_regex("[\u1100-\u11ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
"""A letter of Chinese, Japanese or Korean."""

QUERY_CHARS = 10_000
"""Characters at the beginning of a query that are read, so that a pasted log does not make a search slow."""
_INDEX_WORD = re.compile(r"[^\W_](?:[^\W_]|[\u0300-\u0362])*")  # with the combining marks that FTS5 keeps
_CHUNK = re.compile(r"[\w./\\:@#+-]+")
_QUOTED = re.compile(r"`([^`\n]{1,200})`")
_PART = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+|[^\W\d_a-zA-Z]+")
_CODE_SHAPE = re.compile(r"[_/\\]|\w\.\w|::|[a-z][A-Z]|[A-Z]{2}[a-z]|[^\W\d_]\d|\d[^\W\d_]|^--?\w")


_CLOSED_UP = lazy_regex("[\u1100-\u11ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
_WITHOUT_BLANKS = lazy_regex("[\u3040-\u30ff\u3400-\u9fff]+")
"""Chinese and Japanese; Korean has blanks."""
_GRAMMAR = lazy_regex("[\u3040-\u309f]|.*[的了吗呢吧们这那我你是也]")


def segmented(text: str) -> str:
    """Return `text` with each run of Chinese, Japanese and Korean characters split into overlapping bigrams.

    Source: Lucene's CJKAnalyzer. Bigrams found more here than the word boundaries of Unicode (UAX 29).
    """
    if text.isascii() or not _CLOSED_UP.search(text):
        return text
    return _CLOSED_UP.sub(lambda run: f" {_bigrams(run[0])} ", text)


def _bigrams(run: str) -> str:
    return " ".join(run[at : at + 2] for at in range(len(run) - 1)) or run


def count_words(text: str) -> float:
    """Count the words of `text`. In Chinese and Japanese, two characters count as one word."""
    if text.isascii() or not _CLOSED_UP.search(text):
        return len(text.split())
    words = len(_WITHOUT_BLANKS.sub(" ", text).split())
    return words + sum(len(run) for run in _WITHOUT_BLANKS.findall(text)) / 2


def is_closed_up(word: str) -> bool:
    """Whether `word` begins in a script that `segmented` splits (Chinese, Japanese, Korean): two characters of it mean as much as a word."""
    return _CLOSED_UP.match(word) is not None


def is_grammar(word: str) -> bool:
    """Whether `word`, a bigram, only has a grammatical function: it begins with hiragana, or contains a Chinese particle or pronoun.

    Characters that also stand in ordinary words, such as those of "request", "online" and "unify", are not among them.
    """
    return not word.isascii() and _GRAMMAR.match(word) is not None and is_closed_up(word)


def index_words(text: str) -> tuple[str, ...]:
    """Return the words of `text` in order, in their own case and `segmented`, split in the same places as the text index splits."""
    return tuple(_INDEX_WORD.findall(segmented(text)))


def query_words(text: str) -> tuple[str, ...]:
    """Return the words of a query to look up in the word index, in order, without function words and repeats; reads `QUERY_CHARS`."""
    left_out = function_words_of(text)
    words = (
        word
        for word in index_words(text[:QUERY_CHARS])
        if fold_word(word) not in FUNCTION_WORDS and word.lower() not in left_out and not is_grammar(word)
    )
    return tuple(dict.fromkeys(words))


def fold_word(word: str) -> str:
    """Return `word` in lower case without diacritics, as the full-text index compares words."""
    if word.isascii():
        return word.lower()
    decomposed = unicodedata.normalize("NFKD", word)
    return "".join(ch for ch in decomposed if not unicodedata.combining(ch)).lower()


def code_words(text: str, extra: Iterable[str] = ()) -> tuple[str, ...]:
    """Return, in lower case, the parts of everything in `text` that looks like code, and of each of `extra` (paths, symbols), with repeats.

    `getUserName` gives get, user, name and getusername, so that `get_user_name` and `getUserName` meet. Plain words
    outside back quotes give nothing.
    """
    quoted = _QUOTED.findall(text)
    chunks = [c.strip(".:-+@#") for c in _CHUNK.findall(text) if _CODE_SHAPE.search(c.rstrip(".:-+@#"))]
    words: list[str] = []
    for chunk in (*chunks, *quoted, *extra):
        words += _parts(chunk)
        for segment in re.split(r"[^\w]+", chunk):
            joined = segment.replace("_", "").lower()
            if joined and len(_PART.findall(segment)) > 1:
                words.append(joined)
    return tuple(words)


def _parts(chunk: str) -> list[str]:
    words: list[str] = []
    for run in _INDEX_WORD.findall(chunk):
        pieces = [piece.lower() for piece in _PART.findall(run)]
        words += [piece for piece in pieces if len(piece) > 1 or len(pieces) == 1]
    return words


def code_query_words(text: str) -> tuple[str, ...]:
    """Return the words of a query to look up in the code index: parts of code-like text, then plain words that are no function words; no repeats."""
    text = text[:QUERY_CHARS]
    plain = (word.lower() for word in _INDEX_WORD.findall(text))
    plain_words = (word for word in plain if word not in FUNCTION_WORDS and len(word) > 1)
    return tuple(dict.fromkeys((*code_words(text), *plain_words)))
