"""Secrets that stand behind a name: assignments, arguments of functions, options of programs, elements.

In: a text. Out: where the values are. Whatever the notation (`DB_PASS=x`, `"pw": "x"`, `define('DB_PASSWORD', 'x')`, `--password x`,
`<parol>x</parol>`, `-Dsonar.login=x`), a name whose parts say secret makes a secret of any literal behind it, however plain. References
(`$X`, `process.env.X`, `user_password`), placeholders and names of types are no literals. Never reads sentences.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from tacit.safety.secret_shapes import ORDINARY, REFERENCE, UUID, Finder, entropy, is_ordinary, is_placeholder
from tacit.text.lazy_regex import lazy_regex

_Promise = Literal["password", "token", "random", "nothing"]
"""What a name promises: any literal, a literal that is no plain word, a long random value."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_PASSWORDS = _words(
    "password passwd passphrase passcode passwort kennwort geheim contrasen contraseñ senha motdepasse motpasse secret segredo парол parol секрет"
    " wachtwoord haslo hasło lösenord losenord salasana jelszo 密码 密碼 口令 パスワード 비밀번호 requirepass"
)
"""A name that holds one of them, in any casing and however joined, is the name of a password."""
_PASSWORD_PARTS = _words(
    "pass pwd pw passw pswd psw mdp psk puk cred creds credential credentials clave heslo mima kouling miyao himitsu anshou bimil amho storepass"
    " keypass pgpassword"
)
_TOKEN_PARTS = _words(
    "token authtoken tokens jeton otp totp apikey seckey sk dsn токен klyuch 令牌 密钥 トークン 토큰"
)
_KEY_PARTS = _words("key chave cle clef schluessel schlüssel llave ключ キー 키")
_KEY_KINDS = _words(
    "api access private encryption encrypt signing sign signature master license licence app application client auth admin webhook storage ssh gpg"
    " session jwt hmac shared crypto cipher aes account service deploy push bot"
)
"""A key with one of them beside it opens something; a key alone may be that of a table."""
_RANDOM_PARTS = _words(
    "login auth cookie sid sess session sessionid jsessionid phpsessid webhook hook signature"
)
_NO_VALUE = _words(
    "file files path paths dir directory folder url uri link name names id ids ref arn length len size min max policy policies hash hashes hashed field"
    " fields type types kind count counts limit limits env environment var variable format regex pattern expiry expires expired expiration expire ttl"
    " timeout age lifetime reset hint hints label labels placeholder required enabled disabled column col status state strength rule rules change changed"
    " changes manager provider providers usage usages budget prompt prompts endpoint error errors message messages msg validator validation input inputs"
    " output algorithm algo alg text title description header headers prefix suffix used uses total cost price per rate window location source index"
    " position page class version date time created updated at by is has attempts form screen view modal dialog icon button visible hide show toggle"
    " check checks store stores storage method mode func function fn test tests handler service helper util utils module estimate estimated remaining"
    " left in out cache cached read write creation generator scope scopes mount engine selector"
)
"""As the last part of a name: it names something about a secret, not the secret."""

_OF_THE_TRADE = frozenset(word for word in ORDINARY | _NO_VALUE if len(word) > 2) | _words(
    "password passwd pass pwd secret token key cred credential credentials auth hashed plain raw encrypted db id ui"
)
"""Words of names in code. Words of two letters are left out: they are words of other languages as well."""

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
"""English words such as `deleted`."""
_LONG_RANDOM = lazy_regex(r"^(?=[^\d]*\d)(?=[^A-Za-z]*[A-Za-z])[A-Za-z0-9+_=-]{20,400}$")


def parts_of(name: str) -> list[str]:
    """The words of an identifier in lower case: `AwsSecret_key2` is aws, secret, key."""
    return [part for part in _BETWEEN.split(_CAMEL.sub("_", name).lower()) if part]


def promise_of(name: str) -> _Promise:
    """What stands behind a name of an identifier."""
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
    """Whether a value is a name in code: made of letters, and one of its words is of the trade."""
    if not _PLAIN_NAME.match(value):
        return False
    parts = parts_of(value)
    trade = any(part in _OF_THE_TRADE or _INFLECTED.match(part) for part in parts)
    return trade or (len(parts) == 1 and promise_of(value) != "nothing")


def _is_literal(value: str, promise: _Promise, *, quoted: bool, shell: bool, ends: bool = False) -> bool:
    """Judge a value; `ends` = the line ends behind it, and an identifier of several words stands before it; `shell` = the name and the sign are those of a shell, where whatever is no reference is literal."""
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
        return bool(_LONG_RANDOM.match(bare)) and not UUID.match(bare) and entropy(bare) > 3.0
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
    """Yield where the values behind secret names are."""
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
