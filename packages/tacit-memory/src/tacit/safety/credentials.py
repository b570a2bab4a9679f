"""Secrets in a sentence that speaks of access: a value that looks like a credential and like no word, name or number of another sort.

In: a text. Out: where such values stand. The words of the sentence say what may stand in it (`credential_words`), the look of a value says
what it may be. Neither is enough alone: digits beside "PIN", random characters beside "token", letters with digits beside "password"
or "log in". Never takes plain words.

Secrets that stand behind a name: assignments, arguments of functions, options of programs, elements.

In: a text. Out: where the values are. Whatever the notation (`DB_PASS=x`, `"pw": "x"`, `define('DB_PASSWORD', 'x')`, `--password x`,
`<parol>x</parol>`, `-Dsonar.login=x`), a name whose parts say secret makes a secret of any literal behind it, however plain. References
(`$X`, `process.env.X`, `user_password`), placeholders and names of types are no literals. Never reads sentences.

Passwords of plain words: where the words around leave only the password itself to stand.

In: a text. Out: where they are. A plain word is taken only where a construction names a password and then states it: "das Passwort
lautet x", "la contraseña es literalmente x", "garde x comme mot de passe", the rest of a sentence behind the name of a passphrase,
the answer to a security question. What follows must end a clause there, and ordinary words of the trade stay.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from typing import Literal

from tacit.safety.credential_words import (
    ANSWER,
    AS,
    CODE,
    COPULA,
    HASH,
    KEY,
    KEYWORDS,
    LETTER,
    LOCK,
    LOGIN,
    NAME_KEYWORDS,
    NAMELY,
    NO_CODE,
    OPEN,
    PASSWORD,
    PERSON,
    PHRASE,
    QUESTION,
    SET,
    SYSTEM,
    TYPE,
    words_of,
)
from tacit.safety.secret_shapes import (
    ORDINARY,
    REFERENCE,
    TECHNICAL,
    UUID,
    Finder,
    entropy,
    is_ordinary,
    is_placeholder,
)
from tacit.text.lazy_regex import lazy_regex
from tacit.text.stop_words import FUNCTION_WORDS
from tacit.text.tokens import UNSPACED

_Promise = Literal["password", "token", "random", "nothing"]
"""What a name tells about its value: `password` = any literal is a secret; `token` = any literal that is no plain word; `random` = only a long random value; `nothing` = no secret."""


_PASSWORDS, _PASSWORD_PARTS, _TOKEN_PARTS = map(words_of, ("passwords", "password_parts", "token_parts"))
_KEY_PARTS, _KEY_KINDS, _RANDOM_PARTS = map(words_of, ("key_parts", "key_kinds", "random_parts"))
_NO_VALUE, _HARMLESS = map(words_of, ("no_value", "harmless"))
"""The lists of `credential_words.toml`, which says what each is for."""
_TRADE_TEXT = "password passwd pass pwd secret token key cred credential credentials auth hashed plain raw encrypted db id ui"
_OF_THE_TRADE = frozenset(word for word in ORDINARY | _NO_VALUE if len(word) > 2) | frozenset(
    _TRADE_TEXT.split()
)
"""Words of names in code. Those of two letters are left out: they are words of other languages, too."""

_SIGN = r"[^\S\n]{0,3}(?P<sign>===?|!==?|=>|:=|[:=\uff1a\uff1d]|,(?=[^\S\n]{0,3}[\"'`]))(?P<gap>[^\S\n]{0,3})"
_ASSIGNED = lazy_regex(
    rf"(?<![\w$@/\\:])(?:--?)?(?P<name>[^\W\d_][\w.-]{{1,80}}+|_[\w.-]{{1,80}}+)\\{{0,3}}[\"'`]?\]?{_SIGN}"
)
_OPTION = lazy_regex(r"(?<![\w-])--?(?P<name>[A-Za-z][\w.-]{1,60}+)[ \t]{1,3}(?![=:-])")
_DIRECTIVE = lazy_regex(r"(?<![\w.-])(?P<name>requirepass|masterauth|(?:add-)?authtoken)[ \t]{1,3}(?![=:])")
_ELEMENT = lazy_regex(
    r"<(?P<name>[^\W\d_][\w.:-]{1,60}+)>[^\S\n]{0,3}(?P<secret>[^<>\s$]{3,200})[^\S\n]{0,3}</(?P=name)>"
)
_QUOTED = lazy_regex(r"[@$bBrRfFuUL]?\\{0,3}(?P<quote>[\"'`])(?P<secret>[^\"'`\\\s]{3,200})\\{0,3}(?P=quote)")
_BARE = lazy_regex(
    r"(?P<secret>[^\s\"'`,;<>(){}\[\]|\\\u3001\u3002\uff0c\uff1b\uff08\uff09\u300c\u300d\u201c\u201d\u00ab\u00bb]{3,200}+)(?![(\[{<\"'`])"
)
_CAMEL = lazy_regex(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_BETWEEN = lazy_regex(r"[\W\d_]+")
_PLAIN_NAME = lazy_regex(r"^[A-Za-z]+(?:[._-][A-Za-z]+)*\d?$")
_INFLECTED = lazy_regex(r"^[a-z]{3,}(?:ed|tion|ment|able|ness)$")
"""Matches English words such as `deleted`."""
_LONG_RANDOM = lazy_regex(r"^(?=[^\d]*\d)(?=[^A-Za-z]*[A-Za-z])[A-Za-z0-9+_=-]{20,400}$")


def parts_of(name: str) -> list[str]:
    """Return the words of an identifier in lower case: `AwsSecret_key2` gives aws, secret, key."""
    return [part for part in _BETWEEN.split(_CAMEL.sub("_", name).lower()) if part]


def promise_of(name: str) -> _Promise:
    """Return which values after an identifier are secrets, judged by its name; see `_Promise`."""
    parts = parts_of(name)
    if not parts or (
        len(parts) > 1 and (parts[-1] in _NO_VALUE or parts[0] in ("is", "has", "max", "min", "no"))
    ):
        return "nothing"
    joined = "".join(parts)
    if any(word in joined for word in _PASSWORDS) or not _PASSWORD_PARTS.isdisjoint(parts):
        return "password"
    if not _TOKEN_PARTS.isdisjoint(parts) or not (
        _KEY_PARTS.isdisjoint(parts) or _KEY_KINDS.isdisjoint(parts)
    ):
        return "token"
    return "nothing" if _RANDOM_PARTS.isdisjoint(parts) else "random"


def reads_as_code(value: str) -> bool:
    """Whether a value is a name in code and no secret: it consists of letters, and one of its words is common in code."""
    if not _PLAIN_NAME.match(value):
        return False
    parts = parts_of(value)
    trade = any(part in _OF_THE_TRADE or _INFLECTED.match(part) for part in parts)
    return trade or (len(parts) == 1 and promise_of(value) != "nothing")


def _is_literal(value: str, promise: _Promise, *, quoted: bool, shell: bool, ends: bool = False) -> bool:
    """Whether a value after a secret name is the secret itself. `ends` = the line ends after it, and the name has several words; `shell` = the assignment is that of a shell, where all but references is literal."""
    if (
        is_placeholder(value)
        or value[0] in "$<%@&*+#/~.-\\"
        or any(mark in value for mark in ("${", "$(", "{{", "://"))
    ):
        return False
    bare = value.strip("\"'`\\.,;:!?*")
    if len(bare) < 4 or is_ordinary(bare) or reads_as_code(bare):
        return False
    if promise == "random":
        return bool(_LONG_RANDOM.match(bare)) and not UUID.fullmatch(bare) and entropy(bare) > 3.0
    if bare.isdigit():
        return promise == "password" and (quoted or shell) and len(set(bare)) > 1
    if REFERENCE.match(bare):
        return False
    if not bare.replace("_", "").replace("-", "").isalpha():
        return promise == "password" or quoted or shell or any(ch.isdigit() for ch in bare)
    if bare.isalpha():
        return promise == "password" and (quoted or shell or ends)
    return promise == "password" or bare.islower()


def _ends_line(text: str, end: int) -> bool:
    return end == len(text) or text[end] == "\n"


def find_assigned(text: str) -> Iterator[tuple[int, int]]:
    """Yield the places of the values that are assigned to secret names, as start and end."""
    for place in (_ASSIGNED, _OPTION, _DIRECTIVE):
        for match in place.finditer(text):
            promise = promise_of(match["name"])
            if promise == "nothing" or match["name"] == "PASS":  # `--- PASS: TestLogin`
                continue
            value = _QUOTED.match(text, match.end()) or _BARE.match(text, match.end())
            if value is None:
                continue
            shell = place is not _ASSIGNED or (
                match["sign"] == "=" and not match["gap"] and not match["name"].islower()
            )
            if _is_literal(
                value["secret"],
                promise,
                quoted=value.re is _QUOTED,
                shell=shell,
                ends=_ends_line(text, value.end()) and len(parts_of(match["name"])) > 1,
            ):
                yield value.span("secret")
    for match in _ELEMENT.finditer(text):
        promise = promise_of(match["name"])
        if promise != "nothing" and _is_literal(match["secret"], promise, quoted=True, shell=False):
            yield match.span("secret")


ASSIGNMENTS = Finder(
    kind="secret_assignment",
    keywords=tuple(sorted({*_PASSWORDS, *_PASSWORD_PARTS, *_TOKEN_PARTS, *_KEY_PARTS, *_RANDOM_PARTS})),
    find=find_assigned,
)


Look = Literal["random", "groups", "signs", "mixed", "joined", "none"]
"""What a value looks like; examples in this order: `9f3c1a7e5b2d4860`, `KQ7M-99TR-ZP3D`, `Zx!vogel`, `Perro1234`, `mariposa_azul`, anything else."""

_SENTENCE = lazy_regex(
    r"[^\n\u3002\uff01\uff1f]{1,600}?(?:[.!?\u2026](?=\s)|[\u3002\uff01\uff1f\n]|$)", re.MULTILINE
)
_VALUE = lazy_regex(
    rf"(?<![{LETTER}_.$/\\@%{{<=-])(?<!%\()(?<!base64,)(?=[{LETTER}]*[\d!#$%&*+?^~@_.-])[{LETTER}][{LETTER}!#$%&*+?^~@_.:-]{{3,120}}+={{0,2}}(?![/\\(\[{{=])"
)
_SPACED_DIGITS = lazy_regex(
    rf"(?<![{LETTER}_.,:+/-])(?<!\d )(?:\d{{3}} \d{{3}}|\d{{2}}[ -]\d{{2}}[ -]\d{{2}})(?![{LETTER}_:%/-]|[ .,-]\d)"
)
_PLAIN_DIGITS = lazy_regex(
    r"(?<![A-Za-z0-9_.,:+#=/\u2013\"$\u20ac\u00a3\uffe5-])\d{4,8}#?(?![A-Za-z0-9_%\u20ac\u00d7/:-]|[.,]\d|\s{0,3}[\u2192|\t])"
)
_LETTER_CODE = lazy_regex(
    rf"(?<![{LETTER}_.-])(?=[A-Z\u0410-\u042f]*\d)(?=\d*[A-Z\u0410-\u042f])(?![A-Z]+\d+(?![A-Z]))[A-Z\u0410-\u042f0-9]{{4,8}}(?![{LETTER}_.-])"
)
_GROUP_CODE = lazy_regex(
    r"(?<![\w./-])(?=[A-Za-z-]*\d)(?:(?![A-Z]?[a-z]+\d{0,3}(?![A-Za-z0-9]))[A-Za-z0-9]{4,8}(?:-(?!$)|(?![\w.-]))){2,6}"
)
_PAIR = lazy_regex(
    rf"(?<![{LETTER}_./\\@:-])[{LETTER}][{LETTER}_.@-]{{1,40}}\s?[/\uff0f]\s?(?P<secret>[{LETTER}][{LETTER}!#$%&*+=?^~_.-]{{3,60}})(?![{LETTER}/@(])"
)
_CANDIDATE = lazy_regex(rf"\d|[{LETTER}][!#$%*?^~@_.-][{LETTER}!]")
_NUMBERS = lazy_regex(rf"(?<![{LETTER}_.:-])[{LETTER}_.:-]*\d[{LETTER}_.:=-]*")
_PROSE = lazy_regex(r"[^\W\d_]|[ ,'\u3001\uff0c\u3002\uff1f]")
_ANSWER = 60
"""A sentence with fewer characters may be the answer to the one before it: `what is the password? > x`."""
_EDGE = ".:,;?!\u2026-=_&*~+^"
_GROUPS = lazy_regex(
    r"^(?:[A-Za-z0-9]{3,8}-){2,7}[A-Za-z0-9]{3,8}$|^(?=\S*\d)(?=\S*[a-z])[a-z0-9]{4,6}-(?=[a-z]*\d)[a-z0-9]{4,6}$"
)
_JOINED = lazy_regex(rf"^[{LETTER}]{{2,}}(?:[_.-][{LETTER}]{{1,}}){{1,5}}$")
_NO_COMPOUND = lazy_regex(
    r"^(?:(?=[^_]+_)(?:\w*[\u00c0-\u024f\u0400-\u04ff]\w*|[A-Z][a-z]+(?:_[A-Z]?[a-z]*)+)|[A-Z\u00c0-\u00de\u0410-\u042f]\w+-(?:\w+-)?[a-z\u0430-\u044f]\w*(?:-\w+)*)$"
)
"""Matches joined words that may be a password if they stand among words with blanks: `Facteur_Cheval`, `Bielefeld-gibts-nicht`; not names such as `user_id`."""
_HEX = lazy_regex(r"^[0-9a-fA-F]{16,}$")
_LONG = lazy_regex(r"^[A-Za-z0-9+/=_-]{20,400}$")
_OTHER = lazy_regex(  # what letters with digits also are: colors, dates, versions, tickets, hosts, files, sizes, products, units
    r"^(?:#[0-9a-f]{3,8}|u\+[0-9a-f]+|[0-9a-f]{6,12}|\d[A-Za-z]+|v?\d+(?:[.:_-]\d+)+\S{0,8}|(?-i:[A-Z]{2,12}-\d{1,7})|0x[0-9a-f]+|\d+[A-Za-z%\u20ac]{1,4}|(?-i:[A-Z]{1,6}\d{1,6}|[A-Z]{1,4}-?\d[\d.-]*|[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)|(?:\S*-)?20[0-3]\d-\d\d(?!\d{2}\b)\S*|(?:claude|gpt|gemini|llama)-\S+"
    r"|[\w.-]+\.(?:com|org|net|io|dev|app|de|fr|es|br|pt|ru|jp|cn|kr|eu|local|internal|lan|intra|example|exemplo|ejemplo|exemple|test|py|js|ts|tsx|jsx|go|rs|rb"
    r"|java|kt|sh|md|txt|json|ya?ml|toml|ini|conf|cfg|env|pem|key|crt|pub|xml|html?|css|png|jpe?g|svg|pdf|csv|sql|log|lock|zip|gz|tar|exe|dll|so|properties)(?::\d+)?"
    r"|[\w.+-]+@[\w-]+(?:\.[\w-]+)*|(?:windows|office|ubuntu|debian|macos|iphone|ipad|android|python|node|java|php|postgres\w*|mysql|redis|log4\w{1,20}|web|web3"
    r"|covid|gpt|claude|oauth|http|ipv|md|sha|base|utf|latin|iso|rfc|rtx|amd|arm|win|linux|vue|angular|react)[-_. ]?\d[\w.-]*|(?:es|ps|x|s|ec|k|v)\d{1,4}|[a-z]\d+-[a-z]\d+|[A-Z][a-z]+-\d{5,})$",
    re.IGNORECASE,
)
_CODE_NAME = lazy_regex(
    r"^(?:(?=[A-Za-z.]*[a-z][.]?[A-Z])[A-Za-z.]+[$#][A-Za-z]+|(?:[A-Z]+[a-z]+\d{0,2}){2,}[A-Z]*\d?|[A-Z]?[a-z]+(?:\d?[A-Z][a-z]*){2,}|(?:[A-Z][a-z]*+\d{0,2}){3,}[a-z]*|[\w-]+(?:\.[\w-]+){3,}"
    r"|[A-Za-z]{1,3}\d{1,2}[A-Za-z]{1,3}|CVE-\S+)$"
)
"""Matches names of classes, methods and packages, and words such as `i18n`."""
_NUMBERED = lazy_regex(r"^[A-Za-z]{1,3}#\d+$|^[A-Za-z-]+#[a-z]+$|^[A-Za-z.]+[#$][a-z]+[A-Z]|^[^#]*#[^#]*#")
"""Matches names with a number or a part after `#`, such as `task#001`."""
_ORDINAL = lazy_regex(r"^\d+[a-z]{1,2}$")
_HOST = lazy_regex(r"^([a-z]{2,12}(?:[-_.][a-z]{1,8})*)[-_]?\d{1,4}$")
"""Matches `srv01`, `replica-3`: the name of a machine or of a member of a series."""


class _Sentence:
    """A sentence with its neighbors on the line, which finds words near a place in it."""

    __slots__ = ("_places", "after", "before", "text")

    def __init__(self, text: str, before: str, after: str) -> None:
        """Take a sentence, and the sentences before and after it on its line."""
        self.text = text
        self.before = before
        self.after = after
        self._places: dict[int, list[tuple[int, int]]] = {}

    def near(self, words: re.Pattern[str], start: int, end: int, reach: tuple[int, int] = (120, 80)) -> bool:
        """Whether one of `words` is near a value: at most `reach[0]` characters before `start`, or `reach[1]` after `end`."""
        places = self._places.get(id(words))
        if places is None:
            places = self._places[id(words)] = [match.span() for match in words.finditer(self.text)]
        return any(
            start - reach[0] <= last <= start or end <= first <= end + reach[1] for first, last in places
        )

    def access(self, start: int, end: int) -> bool:
        """Whether the sentence speaks of logging in, near a value."""
        return self.near(LOGIN, start, end) or (self.near(SYSTEM, start, end) and self.near(TYPE, start, end))

    def code(self, start: int, end: int) -> bool:
        """Whether digits at this place are a code that opens something."""
        if self.near(NO_CODE, start, end, (24, 14)):
            return False
        if self.near(CODE, start, end, (60, 25)) or (
            len(self.text) < _ANSWER and CODE.search(self.before) and self.near(TYPE, start, end)
        ):
            return True
        combination = self.text[start:end].count("-") == 2
        return (
            self.near(LOCK, start, end, (80, 60))
            and (
                combination or self.near(TYPE, start, end, (40, 40)) or self.near(OPEN, start, end, (40, 40))
            )
            and not self.near(NO_CODE, start, end)
        )


def look_of(value: str) -> Look:
    """Classify what a value looks like, without the punctuation around it."""
    if (
        len(value) < 4
        or is_placeholder(value)
        or REFERENCE.match(value)
        or UUID.search(value)
        or _OTHER.match(value)
    ):
        return "none"
    letters, digits = any(ch.isalpha() for ch in value), any(ch.isdigit() for ch in value)
    if (
        letters
        and digits
        and (
            (_HEX.match(value) and len(set(value.lower())) > 7) or (_LONG.match(value) and _is_random(value))
        )
    ):
        return "random"
    if _GROUPS.match(value) and digits and (not value.islower() or len(set(value)) > 8):
        groups = value.split("-")
        odd = sum(not group.isalpha() or group.isupper() for group in groups)
        if odd >= len(groups) - 1 and (letters or len(groups) >= 4):
            return "groups"
    if TECHNICAL.match(value) or not letters:
        return "none"
    if _CODE_NAME.match(value):
        return "none"
    inner = value.strip("!?#*+~^&")
    if (
        any(ch in "!#$%*?^~@" for ch in inner)
        or (digits and any(ch in "&+" for ch in inner))
        or value.endswith(("!!", "#"))
    ):
        named = _NUMBERED.match(value) or is_ordinary(value.split("#", maxsplit=1)[0])
        return "none" if ":" in value or value.count("*") > 1 or named else "signs"
    if digits:
        return "mixed" if ":" not in value and not _counts(value) else "none"
    return "joined" if _JOINED.match(value) and not reads_as_code(value) else "none"


def _counts(value: str) -> bool:
    """Whether a value is a number with words, as in `8-line`, `Phase-2-scan`, `non-2xx`, or an abbreviation such as `C2PA`."""
    parts = [part for part in value.replace("_", "-").replace(".", "-").split("-") if part]
    words = [part.strip("0123456789").lower() for part in parts]
    single = any(part.isdigit() and len(part) < 2 for part in parts) and ("-" in value or value.islower())
    return (
        len(parts) > 1
        and (
            parts[0].isdigit()
            or single
            or any(word in ORDINARY and len(word) > 2 for word in words)
            or any(_ORDINAL.match(part) for part in parts)
        )
    ) or (value.isupper() and len(value) < 7)


def _is_random(value: str) -> bool:
    """Whether a value looks random: capitals, small letters and digits alternate often."""
    kinds = ["d" if ch.isdigit() else "u" if ch.isupper() else "l" if ch.isalpha() else "-" for ch in value]
    changes = sum(a != b for a, b in itertools.pairwise(kinds))
    return changes >= len(value) / 5 and entropy(value) > 3.2 and sum(ch.isdigit() for ch in value) >= 2


def _oddness(value: str) -> int:
    """Score how much a value of letters and digits looks like a password; 0 = like a name in a series, such as `node2`."""
    host = _HOST.match(value)
    if host and (is_ordinary(host[1]) or len(host[1]) < 5):
        return 0
    digits = sum(ch.isdigit() for ch in value)
    return (
        (
            2
            if digits > 2 or re.search(r"\d[-_.]?[^\W\d]", value) or any(ch.isupper() for ch in value[1:])
            else digits - 1
        )
        + value[0].isupper()
        + any(ch in "-_." for ch in value)
    )


def _accepts(sentence: _Sentence, look: Look, start: int, end: int) -> bool:
    """Whether a value with this look is a secret at this place of the sentence."""
    value, before = sentence.text[start:end], sentence.text[:start]
    behind = before[-40:].rstrip(" \u00a0\"'`\u201e\u201c\u00ab:=\uff1a(")
    if _ends_with(HASH, behind) or (
        look != "random" and _ends_with(PERSON, behind) and not _ends_with(PASSWORD, behind)
    ):
        return False
    if before.endswith("`") and not sentence.near(PASSWORD, start, end, (40, 0)):
        return False
    if look in {"random", "groups"}:
        named = any(sentence.near(words, start, end) for words in (PASSWORD, KEY, CODE))
        beside = sentence.before + sentence.after
        told = (look == "groups" or len(value) > 30) and any(
            words.search(beside) for words in (PASSWORD, KEY, CODE)
        )
        hashed = sentence.near(HASH, start, end, (60, 0)) or bool(HASH.search(sentence.before[-80:]))
        return (named or told) and not hashed
    foreign = not sentence.text.isascii() and bool(UNSPACED.search(sentence.text))
    if look == "joined":
        apart = _NO_COMPOUND.match(value) and before.strip() and (value.count("-") != 1)
        return (foreign or bool(apart)) and _is_passphrase(sentence, start, end)
    if sentence.near(PASSWORD, start, end, (30, 0)):
        return True
    odd = 2 if look == "signs" else _oddness(value)
    if sentence.near(PASSWORD, start, end) or (
        len(sentence.text) < _ANSWER and PASSWORD.search(sentence.before)
    ):
        return odd > 0
    if look == "signs" and any(ch.isdigit() for ch in value) and sentence.near(SYSTEM, start, end, (60, 40)):
        return True
    return odd > (0 if foreign else 1) and sentence.access(start, end)


def _is_passphrase(sentence: _Sentence, start: int, end: int) -> bool:
    """Whether words joined by signs (`blue-horse_7up`) are a password here, and no name.

    The sentence must name a password near them. Speaking of logging in is enough, unless they are small letters with
    hyphens.
    """
    value = sentence.text[start:end]
    if "-" in value and value.islower():
        return sentence.near(PASSWORD, start, end, (6, 6))
    return sentence.near(PASSWORD, start, end, (40, 30)) or sentence.access(start, end)


def _ends_with(words: re.Pattern[str], text: str) -> bool:
    return any(match.end() == len(text) for match in words.finditer(text))


def _is_prose(text: str) -> bool:
    """Whether a sentence is prose and not code or output: apart from words with digits, most of it is letters and blanks."""
    words = _NUMBERS.sub("", text)
    return len(_PROSE.findall(words)) >= 0.75 * len(words)


def _values(sentence: _Sentence) -> Iterator[tuple[int, int]]:
    text = sentence.text
    for match in _VALUE.finditer(text):
        start, end = match.start(), match.start() + len(_without_edge(match[0]))
        value = text[start:end]
        look = look_of(value)
        if look != "none" and _accepts(sentence, look, start, end):
            yield start, end
    for match in _PAIR.finditer(text):
        value, before = _without_edge(match["secret"]), text[max(0, match.start() - 24) : match.start()]
        if (
            "`" not in before
            and look_of(value) in ("joined", "mixed", "signs")
            and any(words.search(before) for words in (PASSWORD, LOGIN, SYSTEM))
        ):
            yield match.start("secret"), match.start("secret") + len(value)


def _without_edge(value: str) -> str:
    """Return a value without the punctuation at its end. `!` is kept after digits, and `!!` always."""
    bare = value.rstrip(_EDGE)
    rest = value[len(bare) :]
    kept = (
        rest[:1]
        if rest[:1] == "!" and any(ch.isdigit() for ch in bare)
        else "!!"
        if rest.startswith("!!")
        else ""
    )
    return bare + kept


def _codes(sentence: _Sentence) -> Iterator[tuple[int, int]]:
    """Yield the places of codes of digits: after a word for a code, or where something is unlocked."""
    for pattern in (_PLAIN_DIGITS, _SPACED_DIGITS, _LETTER_CODE, _GROUP_CODE):
        for match in pattern.finditer(sentence.text):
            digits = "".join(ch for ch in match[0] if ch.isdigit())
            year = (
                match[0] == digits
                and len(digits) == 4
                and digits[:2] in ("19", "20")
                and not LOCK.search(sentence.text)
            )
            if len(set(match[0])) > 1 and not year and sentence.code(*match.span()):
                yield match.span()


def find_credentials(text: str) -> Iterator[tuple[int, int]]:
    """Yield the places of passwords, keys and codes in sentences that speak of access, as start and end."""
    sentences = [*_SENTENCE.finditer(text)]
    for at, match in enumerate(sentences):
        if not (_CANDIDATE.search(match[0]) and _is_prose(match[0])):
            continue
        before = sentences[at - 1][0] if at else ""
        after = sentences[at + 1][0] if at + 1 < len(sentences) and not match[0].endswith("\n") else ""
        sentence = _Sentence(match[0], "" if before.endswith("\n") else before, after)
        for start, end in (*_values(sentence), *_codes(sentence)):
            yield match.start() + start, match.start() + end


CREDENTIALS = Finder(kind="spoken_secret", keywords=KEYWORDS, find=find_credentials)


_QUOTE = "[\"'`\u2018\u2019\u201c\u201d\u201e\u00ab\u00bb\u300c\u300d\u300e\u300f]"
_WORD = rf"[{LETTER}][{LETTER}_.@!#$%&*+~-]{{2,40}}"
_CLAUSE_END = rf"(?=[ \u00a0]?{_QUOTE}|[.,;:!?\u2026)]*(?:\s*$|[\n])|[.,;!?)](?:\s|$)|\s(?:geändert|gesetzt|umgestellt)\b|[^{LETTER}_\x00-\x7f])"
_STATED = lazy_regex(
    rf"[^\n.!?\u3002]{{0,60}}?(?:[\s,(]{{0,3}}(?:{NAMELY.pattern}))\s{{0,3}}{_QUOTE}?(?P<secret>{_WORD}){_CLAUSE_END}",
    re.IGNORECASE,
)
"""Matches a password after a word for it: `der Datenbank lautet x`."""
_GENITIVE = ("worts", "wortes", "words")
"""Endings of a genitive: what follows is about something else, as in `the reset of the passwords is done`."""
_OF = r"(?: (?:for|of|to|on|de|del|do|da|du|de la|des|vom|von|der|für|zum|от|для|к|на) [^\n.,:;!?]{1,30}?)?"
_EQUALS = lazy_regex(rf"{_OF} (?:{COPULA.pattern}) {_QUOTE}?(?P<secret>{_WORD}){_CLAUSE_END}", re.IGNORECASE)
"""Matches a password after a word for it and a word such as `is`: `a senha do banco é x`."""
_BESIDE = lazy_regex(
    rf"[^\S\n]{{0,2}}[:\uff0c\u3001]?[^\S\n]{{0,2}}(?:(?:a|auf|to|en|à|por|pra|на) )?{_QUOTE}?(?P<secret>[\u0410-\u042f][\u0430-\u044f\u0451]{{3,20}}|[{LETTER}]{{2,20}}(?:[_-][{LETTER}]{{1,20}}){{1,5}}){_QUOTE}?(?![{LETTER}_(\[=-])"
)
"""Matches joined words directly after a word for a password: `la clave Tamales_de_rajas`."""
_QUOTED_PHRASE = lazy_regex(
    rf"[^\S\n]{{0,2}}(?:{NAMELY.pattern}|ist|is|est|es|é|是|为)?[^\S\n]{{0,2}}:?[^\S\n]{{0,2}}[\u201c\u201e\u00ab\u300c\u300e]\s?"
    r"(?P<secret>[^\n\"\u201c\u201d\u00ab\u00bb\u300c\u300d\u300e\u300f]{4,80}?)\s?[\u201d\u201c\u00bb\u300d\u300f]",
    re.IGNORECASE,
)
"""Matches a passphrase in typographic quotes after a word for it."""
_CHOSEN = lazy_regex(
    rf"(?:{SET.pattern})\s{{1,3}}{_QUOTE}?(?P<secret>{_WORD}){_QUOTE}?\s{{0,3}}(?:{AS.pattern})\s{{0,3}}(?:[{LETTER}'\u2019]{{1,8}}\s){{0,2}}$",
    re.IGNORECASE,
)
"""Matches a password before the word for it: `garde toto comme mot de passe`."""
_PHRASE = lazy_regex(
    rf"[^\n.!?\u3002]{{0,60}}?(?:[\s,](?:is|ist|lautet|est|es|é|это)\s|\s?[:\u2014\uff1a]\s?|は|은 |는 |是)\s{{0,2}}{_QUOTE}?"
    rf"(?P<secret>[{LETTER}'\u2019-]{{2,24}}(?:[ ,]{{1,2}}[{LETTER}'\u2019-]{{1,24}}){{2,23}}){_CLAUSE_END}",
    re.IGNORECASE,
)
"""Matches the words of a passphrase after a word for it, up to the end of the clause."""
_ANSWERED = lazy_regex(
    rf"[^\n!?\u3002]{{0,60}}?(?:[\s,;]{{0,2}}(?:{ANSWER.pattern}))\s{{0,2}}{_QUOTE}?"
    rf"(?P<secret>[{LETTER}\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af][{LETTER}\u3040-\u3067\u3069-\u30ff\u3400-\u9fff\uac00-\ud7af-]{{2,24}}"
    rf"(?: [A-Z][{LETTER}]{{2,20}})?){_CLAUSE_END}",
    re.IGNORECASE,
)
"""Matches an answer or code word after the word for it, such as the answer to a security question."""
_BEFORE = 90
"""How many characters before a word for a password are searched."""


def _is_plain_secret(value: str) -> bool:
    """Whether a plain word after a word for a password is the password, and not a statement about it."""
    bare = value.strip("\"'`.,:;!?*()")
    lower = bare.lower()
    return not (
        len(bare) < 4
        or lower in _HARMLESS
        or lower in ORDINARY
        or (bare.islower() and is_ordinary(bare))
        or is_placeholder(bare)
        or REFERENCE.match(bare)
        or PASSWORD.fullmatch(lower)
    )


def _are_plain(phrase: str) -> bool:
    """Whether several words are a passphrase, and not a statement about one such as `required, at most 64 characters`."""
    words = [word.strip(",").lower() for word in phrase.split()]
    english = sum(word in FUNCTION_WORDS for word in words)
    return english == 0 and not (len(words[0]) > 2 and (words[0] in _HARMLESS or is_ordinary(words[0])))


def find_complements(text: str) -> Iterator[tuple[int, int]]:
    """Yield the places of passwords that consist of plain words, as start and end."""
    for names, places in ((PASSWORD, (_STATED, _EQUALS, _BESIDE)), (QUESTION, (_ANSWERED,))):
        for name in names.finditer(text):
            for place in places:
                match = place.match(text, name.end())
                if match is None or (place is _EQUALS and name[0].lower().endswith(_GENITIVE)):
                    continue
                value = match["secret"].rstrip(".,;:!?-")
                title = value.isalpha() and place is _BESIDE and not name[0].islower()
                if _is_plain_secret(value) and not reads_as_code(value) and not title:
                    yield match.start("secret"), match.start("secret") + len(value)
    for name in PASSWORD.finditer(text):
        start = max(0, name.start() - _BEFORE)
        chosen = _CHOSEN.search(text[start : name.start()])
        if chosen and _is_plain_secret(chosen["secret"]):
            yield start + chosen.start("secret"), start + chosen.end("secret")
    for names, places in ((PHRASE, (_PHRASE, _QUOTED_PHRASE)), (PASSWORD, (_QUOTED_PHRASE,))):
        for name in names.finditer(text):
            for match in filter(None, (place.match(text, name.end()) for place in places)):
                several = len(match["secret"].split()) > 2
                stands = _are_plain(match["secret"]) if several else _is_plain_secret(match["secret"])
                if stands and not PASSWORD.search(match["secret"]):
                    yield match.span("secret")


COMPLEMENTS = Finder(kind="spoken_secret", keywords=NAME_KEYWORDS, find=find_complements)
