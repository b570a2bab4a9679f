"""Take secrets and personal data out of text, before it is stored and again before it is rendered.

In: any text. Out: the text with every find replaced by `[redacted:kind]`, and the kinds found, never the values.
Never guesses from randomness alone: hashes, UUIDs and commit ids stay, unless a secret-like name stands beside them.
"""

from __future__ import annotations

import base64
import itertools
import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Protocol

import numpy as np
import numpy.typing as npt

from tacit.config.settings import PrivacySettings
from tacit.errors import InvalidSetting
from tacit.frozen import frozen
from tacit.model.scope import Scope
from tacit.safety.credentials import ASSIGNMENTS, COMPLEMENTS, CREDENTIALS
from tacit.safety.secret_shapes import ISSUER_SHAPES, SHAPES, Finder, SecretShape
from tacit.safety.value_shapes import SPLIT_SHAPES, VALUE_SHAPES
from tacit.text.lazy_regex import lazy_regex

PERSONAL = frozenset({"email", "phone", "private", "credit_card", "iban"})
"""Kinds of findings that are personal data, and no key to something."""

_Judge = Callable[[str], bool]
_ALL: tuple[SecretShape | Finder, ...] = (
    *SPLIT_SHAPES,
    *ISSUER_SHAPES,
    *SHAPES,
    *VALUE_SHAPES,
    ASSIGNMENTS,
    CREDENTIALS,
    COMPLEMENTS,
)


def _places_by_word() -> dict[str, tuple[int, ...]]:
    places: dict[str, dict[int, None]] = {}
    for place, shape in enumerate(_ALL):
        for word in shape.held:
            places.setdefault(word, {})
        for word in shape.keywords:
            places.setdefault(word, {})[place] = None
    return {word: tuple(positions) for word, positions in places.items()}


def _words_by_gram() -> dict[str, tuple[str, ...]]:
    words: dict[str, list[str]] = {}
    for word in _WITH_WORD:
        if len(word) >= 3:
            words.setdefault(word[:3], []).append(word)
    return {gram: tuple(words[gram]) for gram in sorted(words)}


_WITH_WORD = _places_by_word()
"""For each keyword, the positions in `_ALL` of the shapes that it may announce. Most texts hold few keywords."""
_SHORT = tuple(word for word in _WITH_WORD if len(word) < 3)
_BY_GRAM = _words_by_gram()
"""Keywords by their first three characters."""
SHORT = 256
"""A text with fewer characters is searched as a whole, not in pieces."""
_LONG = 600
"""In a text with at least this many characters, keywords are searched with numpy."""
_MOST_PASSES = 12
_UNSEEN = lazy_regex("[\u00ad\u200b-\u200f\u2060-\u2064\ufeff]")
_ENCODED = lazy_regex(r"(?<![A-Za-z0-9+/=_-])[A-Za-z0-9+/_-]{24,600}={0,2}(?![A-Za-z0-9+/=_-])")
"""Matches what may be a short text in base64."""
_MARK_WORDS = ("[redacted:",)
_BESIDE = (2, 2)
"""How many lines before and after a finding are searched again, because it may reveal another one there."""
DENY_PIECE_CHARS = 20_000
"""The user's own patterns are applied to pieces of at most this many characters, because their cost may grow with the square of the length."""
_MARK = lazy_regex(r"\[redacted:[a-z0-9_]+\]")
_PRIVATE = lazy_regex(r"<private>.*?(?:</private>|\Z)", re.DOTALL | re.IGNORECASE)
_EMAIL = lazy_regex(
    r"(?<![\w.+%/-])[A-Za-z0-9][\w.+%-]{0,63}@(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,62})\.)+[A-Za-z]{2,24}\b(?![\w-]*[:/@])"
)
_NO_PERSON = lazy_regex(
    r"^(?:git|noreply|no-reply|user(?:name)?|you|your[\w.-]*|me|foo|bar|test(?:er|user)?|example|name|someone|\w)@"
    r"|@(?:[\w-]+\.)*(?:example\.(?:com|org|net)|[\w-]+\.(?:invalid|test|example|local|localhost)"
    r"|users\.noreply\.github\.com|noreply\.github\.com)$"
    r"|\.(?:py|js|ts|tsx|md|json|ya?ml|go|rs|sh|png|jpe?g|svg|toml|lock)$",
    re.IGNORECASE,
)
_HOME = lazy_regex(
    r"(?<![\w.~-])(?:/(?:home|Users)/(?!(?:Shared|runner|you|user|username|me|node|app|ubuntu|debian|vscode|circleci|travis|jovyan|git|vagrant|ec2-user|pi|linuxbrew|runneradmin|deploy|www|web|service|name|youruser\w*|\.\.\.)(?![\w.-])|<|\$|\{)[A-Za-z0-9._-]+"
    r"|[A-Za-z]:\\{1,2}Users\\{1,2}(?!Public\b|Default\b|<|%)[A-Za-z0-9._ -]+?(?=\\|$|[\s\"'`]))"
)
_HOME_MARKS = ("/home/", "/Users/", ":\\")
"""A text in which `_HOME` can match contains one of these."""
_PHONE = lazy_regex(
    r"(?<![\w.+/-])(?:\+\d{1,3}[ .-]?(?:\(\d{1,4}\)[ .-]?)?\d{2,4}(?:[ .-]\d{2,4}){1,4}|(?:\+?1[ .-])?(?:\(\d{3}\) ?|\d{3}[-.])\d{3}[-.]\d{4})(?![\w-]|\.\d)"
)
_PHONE_WORDS = (
    "call", "phone", "tel", "telephone", "mobile", "cell", "whatsapp", "text", "reach", "dial", "fax", "contact",
)  # fmt: skip
_NEAR_PHONE = lazy_regex(
    rf"(?i:\b(?:{'|'.join(_PHONE_WORDS)})\b[^\n\d]{{0,40}}?)"
    r"(?P<secret>(?<![\w./-])\(?\d{3}\)?[ .-]?\d{3}[ .-]\d{4}(?![\w-])|(?<![\w./-])0\d{2,4}[ /.-]\d{3,4}[ .-]?\d{3,5}(?![\w-]))"
)
_CARD = lazy_regex(r"(?<![\w.-])(?:\d[ -]?){12,18}\d(?![\w-]|\.\d)")
_IBAN = lazy_regex(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,4})?\b")
_CARD_DIGITS = {2: (16,), 3: (14, 15, 16), 4: (13, 16, 19), 5: tuple(range(13, 20)), 6: tuple(range(13, 20))}
"""Valid lengths of card numbers by their first digit. They exclude times such as 20260101120000."""
_TEST_CARDS_TEXT = """
4242424242424242 4000056655665556 5555555555554444 2223003122003222 5200828282828210 5105105105105100
378282246310005 371449635398431 6011111111111117 6011000990139424 6011981111111113 3056930009020004
36227206271667 6555900000604105 3566002020360505 6200000000000005 4111111111111111 4012888888881881
4222222222222 30569309025904 38520000023237 3530111333300000 4000000000000002 4000000000009995
4917610000000000 6759649826438453 4000002500003155 4000000000003220 5454545454545454 4444333322221111
4000000000000077 4000000000000341 4000002760003184 6304000000000000 4988438843884305 2222400070000005
5577000055770004 370000000000002 6771798021000008 4917484589897107 4166676667666746 5136333333333335
"""
_TEST_CARDS = frozenset(_TEST_CARDS_TEXT.split())
_TEST_IBANS = frozenset({"GB82WEST12345698765432", "DE89370400440532013000", "FR1420041010050500013M02606"})


@frozen
class Finding:
    """A kind of secret that was found in a text, and how often; never the value."""

    kind: str
    count: int

    @property
    def secret(self) -> bool:
        """Whether this kind is a key, password or token, and not personal data."""
        return self.kind not in PERSONAL


@frozen
class Redaction:
    """The redacted text, and what was found in it, sorted by kind."""

    text: str
    findings: tuple[Finding, ...] = ()

    @property
    def has_secret(self) -> bool:
        """Whether a key, password or token was found (personal data alone does not count)."""
        return any(finding.secret for finding in self.findings)


class TextRedactor(Protocol):
    """Replaces secrets and personal data in texts, with the privacy settings of the scope that a text belongs to."""

    def redact(self, text: str) -> Redaction:
        """Return `text` with secrets and personal data replaced by marks, and what was found."""
        ...

    def at(self, scope: Scope) -> TextRedactor:
        """Return the redactor for texts of `scope`."""
        ...


class Redactor:
    """Replaces secrets and personal data in a text by marks such as `[redacted:email]`, under the user's privacy settings. Safe to call from several threads."""

    __slots__ = ("_allow", "_deny", "_settings")

    def __init__(self, settings: PrivacySettings) -> None:
        """Compile the user's own patterns.

        Raises:
            InvalidSetting: if a `deny` pattern is no regular expression, matches the empty text, or repeats a group
                that can itself be read in several ways (its time may grow without bound).
        """
        self._settings = settings
        self._allow = tuple(text for text in settings.allow if text)
        self._deny = tuple(_compiled(pattern) for pattern in settings.deny)

    def at(self, scope: Scope) -> Redactor:  # noqa: ARG002 - one redactor for all places
        """Return this redactor: its settings are the same for every scope."""
        return self

    def redact(self, text: str) -> Redaction:
        """Return `text` with secrets and personal data replaced by marks such as `[redacted:email]`, and what was found.

        If `redact` is off, only the user's `deny` patterns and <private> apply.
        """
        counts: Counter[str] = Counter()
        text = self._sub(_PRIVATE, text, "private", counts) if "<" in text else text
        if self._deny:
            text = "".join(self._denied(piece, counts) for piece in _pieces(text))
        if self._settings.redact:
            text = self._shortened(text)
            text = self._until_nothing_new(self._seen(text, counts), counts)
            text = _ENCODED.sub(lambda match: self._decoded(match[0], counts), text)
            if counts:
                text = self._shortened(text)  # a path that stood behind a secret begins where its mark ends
        findings = tuple(Finding(kind=kind, count=counts[kind]) for kind in sorted(counts))
        return Redaction(text=text, findings=findings)

    def _shortened(self, text: str) -> str:
        """Return `text` with `~` for the home folders in it."""
        if any(mark in text for mark in _HOME_MARKS):
            return _HOME.sub("~", text)
        return text

    def _seen(self, text: str, counts: Counter[str]) -> str:
        """Return `text` redacted without its invisible characters if that reveals secrets, and count them in `counts`; else return `text` unchanged."""
        if not _UNSEEN.search(text):
            return text
        bare, bare_counts = _UNSEEN.sub("", text), Counter[str]()
        cleaned = self._until_nothing_new(bare, bare_counts)
        if not bare_counts:
            return text
        counts.update(bare_counts)
        return cleaned

    def _decoded(self, run: str, counts: Counter[str]) -> str:
        """Return `run`, a text in base64; a mark instead of it if the decoded text contains a secret, which is then counted."""
        try:
            inner = base64.b64decode(
                run + "=" * (-len(run) % 4), altchars=b"-_" if "-" in run or "_" in run else None
            )
            decoded = inner.decode("ascii")
        except (ValueError, UnicodeDecodeError):
            return run
        if not (decoded.isprintable() and ("=" in decoded or ":" in decoded)):
            return run
        words = _shape_words_in(decoded.lower())
        if not words or self._allowed(run) or self._secrets(decoded, words, Counter()) == decoded:
            return run
        counts["encoded_secret"] += 1
        return _mark("encoded_secret")

    def _denied(self, text: str, counts: Counter[str]) -> str:
        for pattern in self._deny:
            text = self._sub(pattern, text, "denied", counts)
        return text

    def _until_nothing_new(self, text: str, counts: Counter[str]) -> str:
        """Redact `text`, then again near the findings, because one may reveal another; stop when nothing more is found, or after `_MOST_PASSES` passes."""
        pieces, words = [(True, text)], _shape_words_in(text.lower())
        for _ in range(_MOST_PASSES):
            before = counts.total()
            text = "".join(
                self._personal(self._secrets(piece, words, counts), counts) if near else piece
                for near, piece in pieces
            )
            if counts.total() == before:
                break
            pieces = pieces_near(text, _MARK_WORDS, _BESIDE)
            words |= _shape_words_in(" ".join(map(_mark, counts)))
        return text

    def _secrets(self, text: str, words: frozenset[str], counts: Counter[str]) -> str:
        for place in sorted({place for word in words for place in _WITH_WORD[word]}):
            shape = _ALL[place]
            text = self._near(shape, [word for word in shape.held if word in words], text, counts)
        return text

    def _near(
        self, shape: SecretShape | Finder, words: Sequence[str], text: str, counts: Counter[str]
    ) -> str:
        """Apply `shape` where it can match: within its reach around `words`, or everywhere if it has no reach or the text is short."""
        if shape.reach is None or len(text) < SHORT:
            return self._apply(shape, text, counts)
        pieces = pieces_near(text, words, shape.reach)
        return "".join(self._apply(shape, piece, counts) if near else piece for near, piece in pieces)

    def _personal(self, text: str, counts: Counter[str]) -> str:
        if "@" in text and self._settings.emails == "redact":
            text = self._sub(
                _EMAIL, text, "email", counts, innocent=lambda value: bool(_NO_PERSON.search(value))
            )
        if _PHONE.search(text):
            text = self._sub(_PHONE, text, "phone", counts, innocent=_is_no_phone)
        text = self._near(_SPOKEN_PHONE, _SPOKEN_PHONE.held, text, counts)
        if _CARD.search(text):
            text = self._sub(_CARD, text, "credit_card", counts, innocent=lambda value: not _is_card(value))
        if _IBAN.search(text):
            text = self._sub(_IBAN, text, "iban", counts, innocent=lambda value: not _is_iban(value))
        return text

    def _apply(self, shape: SecretShape | Finder, text: str, counts: Counter[str]) -> str:
        pieces: list[str] = []
        done = 0
        for start, end in shape.spans(text):
            value = text[start:end]
            if _MARK.search(value) or self._allowed(value):
                continue
            counts[shape.kind] += 1
            pieces += [text[done:start], _mark(shape.kind)]
            done = end
        return "".join((*pieces, text[done:])) if pieces else text

    def _sub(
        self,
        pattern: re.Pattern[str],
        text: str,
        kind: str,
        counts: Counter[str],
        innocent: _Judge = lambda _: False,
    ) -> str:
        def replace(match: re.Match[str]) -> str:
            if not match[0] or _MARK.fullmatch(match[0]) or self._allowed(match[0]) or innocent(match[0]):
                return match[0]
            counts[kind] += 1
            return _mark(kind)

        return pattern.sub(replace, text)

    def _allowed(self, value: str) -> bool:
        return any(value in text or text == value for text in self._allow)


def _mark(kind: str) -> str:
    """Return the mark that replaces a secret."""
    return f"[redacted:{kind}]"


def pieces_near(text: str, words: Sequence[str], reach: tuple[int, int]) -> list[tuple[bool, str]]:
    """Split `text` into pieces, in order, each with whether it is near one of `words` (lower case, found in any case).

    A costly pattern every match of which holds one of the words need only be tried near them.

    Args:
        text: any text; lines end with a newline.
        words: without newlines.
        reach: how many lines before and after a line that holds a word are looked at with it. Blank lines between them are not counted.
    """
    lower = text.lower()
    if len(text) < SHORT or len(lower) != len(text):  # some letters are two in lower case
        return [(True, text)]
    starts, written = _lines_of(text)
    before, after = reach
    near = bytearray(len(starts) - 1)
    for word in words:
        at = lower.find(word)
        while at >= 0:
            line = bisect_right(starts, at) - 1
            place = bisect_left(written, line)
            first = written[place - before] if place >= before else 0
            last = written[place + after] if place + after < len(written) else len(near) - 1
            near[first : last + 1] = b"\x01" * (last + 1 - first)
            at = lower.find(word, starts[line + 1])
    pieces: list[tuple[bool, str]] = []
    done = 0
    for run in re.finditer(b"\x01+", near):
        start, end = starts[run.start()], starts[run.end()] - 1
        pieces += [(False, text[done:start]), (True, text[start:end])]
        done = end
    return [*pieces, (False, text[done:])]


@lru_cache(maxsize=4)
def _lines_of(text: str) -> tuple[list[int], list[int]]:
    """Return the offsets at which lines begin, with one beyond the end, and the numbers of the lines that are not blank."""
    lines = text.split("\n")
    starts = list(itertools.accumulate((len(line) + 1 for line in lines), initial=0))
    return starts, [number for number, line in enumerate(lines) if line and not line.isspace()]


def _numbers(text: str) -> npt.NDArray[np.uint64]:
    """Return every three consecutive characters of `text` as one number."""
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32).astype(np.uint64)
    return codes[:-2] << np.uint64(42) | codes[1:-1] << np.uint64(21) | codes[2:]


_NUMBERS = np.concatenate([_numbers(gram) for gram in _BY_GRAM])
_WORDS = tuple(_BY_GRAM.values())


def _shape_words_in(lower: str) -> frozenset[str]:
    """Return the keywords of secret shapes that occur anywhere in a lower-case text, also inside words; only shapes with one of them are tried."""
    if len(lower) < _LONG:
        met = {lower[at : at + 3] for at in range(len(lower) - 2)} & _BY_GRAM.keys()
        likely = [word for gram in met for word in _BY_GRAM[gram]]
    else:
        numbers = _numbers(lower)
        places = np.minimum(np.searchsorted(_NUMBERS, numbers), len(_NUMBERS) - 1)
        places_met: list[int] = np.unique(places[_NUMBERS[places] == numbers]).tolist()
        likely = [word for at in places_met for word in _WORDS[at]]
    return frozenset(word for word in (*_SHORT, *likely) if word in lower)


def _compiled(pattern: str) -> re.Pattern[str]:
    try:
        compiled = re.compile(pattern)
    except re.error as error:
        raise InvalidSetting(
            f"privacy.deny holds {pattern!r}, which is not a regular expression: {error}.",
            hint="Correct the pattern or remove it from the list.",
        ) from None
    if compiled.match(""):
        raise InvalidSetting(
            f"privacy.deny holds {pattern!r}, which matches the empty text and so everything.",
            hint="Make the pattern match at least one character.",
        )
    if _may_run_away(pattern):
        raise InvalidSetting(
            f"privacy.deny holds {pattern!r}, which repeats a group that holds a repeat or a choice; "
            "searching a text for it may never end.",
            hint="Write it without a repeat around another repeat or a choice, e.g. `\\w+` for `(\\w+)+`.",
        )
    return compiled


_TOKEN = lazy_regex(
    r"\\.|\[\^?\]?(?:\\.|[^\]\\]){0,400}\]|\(|\)[*+]|\)\{\d*,\d*\}|\)|[*+|]|\{\d*,\d*\}", re.DOTALL
)


def _may_run_away(pattern: str) -> bool:
    """Whether `pattern` repeats a group that contains a repeat or a choice, at any depth. Its matching time may then grow without bound."""
    open_groups = [False]
    for match in _TOKEN.finditer(pattern):
        symbol = match[0]
        if symbol == "(":
            open_groups.append(False)
        elif symbol[0] == ")" and len(open_groups) > 1:
            loose = open_groups.pop()
            if loose and len(symbol) > 1:
                return True
            open_groups[-1] = open_groups[-1] or loose or len(symbol) > 1
        elif symbol[0] in "*+|{":
            open_groups[-1] = True
    return False


def _pieces(text: str) -> list[str]:
    pieces: list[str] = []
    while len(text) > DENY_PIECE_CHARS:
        cut = max(text.rfind(" ", 0, DENY_PIECE_CHARS), text.rfind("\n", 0, DENY_PIECE_CHARS)) + 1
        cut = cut or DENY_PIECE_CHARS
        pieces.append(text[:cut])
        text = text[cut:]
    return [*pieces, text]


def _is_no_phone(text: str) -> bool:
    """Whether digits are no phone number: too few or too many (E.164 allows 15), or a pattern such as 000-000-0000."""
    digits = [ch for ch in text if ch.isdigit()]
    return not 9 <= len(digits) <= 15 or len(set(digits)) < 4


_SPOKEN_PHONE = SecretShape(
    kind="phone", keywords=_PHONE_WORDS, pattern=_NEAR_PHONE, innocent=_is_no_phone, reach=(0, 0)
)


def _is_card(text: str) -> bool:
    """Whether digits are a card number: a valid first digit, length and Luhn check (ISO/IEC 7812-1). Published test cards do not count."""
    digits = [int(ch) for ch in text if ch.isdigit()]
    joined = "".join(map(str, digits))
    if not digits or len(digits) not in _CARD_DIGITS.get(digits[0], ()) or joined in _TEST_CARDS:
        return False
    if len(set(digits)) < 4:
        return False
    total = sum(
        digit if i % 2 == 0 else (digit * 2 - 9 if digit > 4 else digit * 2)
        for i, digit in enumerate(reversed(digits))
    )
    return total % 10 == 0


def _is_iban(text: str) -> bool:
    """Whether a text is an IBAN: its check digits are right (ISO 13616, mod 97), and it is no published example."""
    compact = text.replace(" ", "")
    if not 15 <= len(compact) <= 34 or compact in _TEST_IBANS:
        return False
    number = "".join(str(int(ch, 36)) for ch in compact[4:] + compact[:4])
    return int(number) % 97 == 1
