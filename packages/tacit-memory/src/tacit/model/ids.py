"""Identifiers and content hashes. In: time, entropy, text. Out: short strings. Never reads a clock itself."""

from __future__ import annotations

import hashlib
import re
import sys
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable
from functools import lru_cache

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"  # Crockford base32, lower case: no i, l, o, u


def encode_base32(value: int, length: int) -> str:
    """Return `value` as exactly `length` Crockford base32 digits in lower case, most significant first; digits that do not fit are cut off at the front."""
    digits: list[str] = []
    for _ in range(length):
        value, digit = divmod(value, 32)
        digits.append(_ALPHABET[digit])
    return "".join(reversed(digits))


SHORT_ID = 7
"""Characters of an id's ending that are all random: they name one memory among many thousands."""


LEAST_ENDING = 4
"""The least number of characters of an ending that identifies an id."""
RARE = 4096
"""Short ids are so long that the chance that another memory of the store has the same ending is at most 1 in this number."""


def ids_abbreviated_by(wanted: str, ids: Iterable[str]) -> list[str]:
    """Return the ids that `wanted` abbreviates, in their order: those that begin with it, or else those that end with it, as short ids do.

    An ending has at least `LEAST_ENDING` characters. An empty `wanted` matches no id.
    """
    if not wanted:
        return []
    known = list(ids)
    matches = [name for name in known if name.startswith(wanted)]
    if not matches and len(wanted) >= LEAST_ENDING:
        matches = [name for name in known if name.endswith(wanted)]
    return matches


def short_ids(ids: Collection[str], *, among: int) -> dict[str, str]:
    """Return `{id: short id}`: the ending of each id, as short as is safe in a store of `among` memories. Where two of `ids` share it, the whole id.

    Ids end in random characters, so another memory of the store has the ending with a chance of at most 1 in `RARE`; a request for an ending that
    two memories have is told so. Endings get longer as the store grows, and earlier, shorter ones stay valid.
    """
    length = LEAST_ENDING
    while len(_ALPHABET) ** length < RARE * among:
        length += 1
    endings = Counter(name[-length:] for name in ids)
    return {name: name[-length:] if endings[name[-length:]] == 1 else name for name in ids}


def new_id(prefix: str, *, now_ms: int, entropy: bytes) -> str:
    """Return a new id that sorts by time, such as `mem_06f3k2v9qhz8w4t1`: nine base32 digits of time, seven random ones.

    Args:
        prefix: what the id names (`mem`, `trc`, ...).
        now_ms: milliseconds since the Unix epoch.
        entropy: at least five random bytes.
    """
    chance = int.from_bytes(entropy[:5], "big")
    return f"{prefix}_{encode_base32(now_ms, 9)}{encode_base32(chance, 8)[1:]}"


class _Turned(dict[int, int]):
    """A table for `str.translate` that reverses the order of all characters: code point -> `sys.maxunicode` - code point, filled on demand."""

    def __missing__(self, code: int) -> int:
        self[code] = sys.maxunicode - code
        return self[code]


_TURNED, _BEHIND_ALL = _Turned(), chr(sys.maxunicode)


@lru_cache(maxsize=8192)
def newest_id_first(name: str) -> str:
    """Return a sort key that puts ids in descending order: an id begins with its time, so the newest comes first."""
    return name.translate(_TURNED) + _BEHIND_ALL


def normalize_text(text: str) -> str:
    """Return the text in Unicode form NFC, case-folded ("ß" becomes "ss", so its length may change), with single spaces, to find a quotation in what was said. To compare statements, use `canonical_text`."""
    return " ".join(unicodedata.normalize("NFC", text).split()).casefold()


_END = re.compile(r"(?P<last>[^\x00-!#-&(*-/:-=?@\[\\^{|~-\u00a9\u00ab-\u00ad])[.!\u3002\uff01\u0964]+$")
"""Punctuation that ends a sentence, behind a letter, a digit, `_`, a closing bracket, a quotation mark, or any character from U+00AE on. Behind a blank or an operator it is a path or code: `pytest .`, `cd ..`. Written as what may not stand there, which compiles faster."""
_PLAIN_FIRST_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*(?=[\s,:;]|$)")
"""The first word, if it is no name in code: `Config.yaml` and `config.yaml`, `FooBar` and `fooBar` are different things."""


@lru_cache(maxsize=8192)
def canonical_text(text: str) -> str:
    """Return the form of a statement by which statements are compared: two with the same form count as the same.

    It is in Unicode form NFC, with single spaces and no punctuation at the end, and a capital that opens a plain word becomes small
    (`Use` and `use` are equal; `CI` and `cI`, `FooBar` and `fooBar` are not).
    """
    folded = _END.sub(r"\g<last>", " ".join(unicodedata.normalize("NFC", text).split()))
    first = _PLAIN_FIRST_WORD.match(folded)
    plain = first is not None and (first[0][1:].islower() or not first[0][1:])
    return folded[:1].lower() + folded[1:] if plain else folded


def content_hash(text: str) -> str:
    """Return a hash of the statement's `canonical_text`, 16 hexadecimal digits of SHA-256: equal for statements that are the same."""
    return hashlib.sha256(canonical_text(text).encode("utf-8", "surrogatepass")).hexdigest()[:16]
