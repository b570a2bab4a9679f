"""Secrets by their place: a word that announces one, in any of several languages, and a value where a value stands. Data only.

In: nothing. Out: `VALUE_SHAPES`; `redact` applies them after `secret_shapes`. A plain word counts as a secret only directly behind the name of
a password and a mark of assignment, and only where no sentence goes on behind it; elsewhere the value must look like none of the words
around it. Every pattern is bounded, so that its time grows with the length of the text.
"""

from __future__ import annotations

import re

from tacit.safety.credential_words import WORDS, Words
from tacit.safety.secret_shapes import (
    REFERENCE,
    TECHNICAL,
    SecretShape,
    entropy,
    is_ordinary,
    is_placeholder,
    shape,
)
from tacit.text.lazy_regex import lazy_regex
from tacit.text.tokens import LATIN_WORD

_NAME = r"(?:pass(?:word|wd|phrase|code)|passw|pwd|secret)"
_KEY_NAME = (
    r"(?:pass(?:word|wd|phrase|code)?|pwd|secret|token|api[_ -]?key|access[_ -]?key|private[_ -]?key|auth(?:[_-]?key)?|credentials?"
    r"|encryption[_ -]?key|signing[_ -]?key|client[_ -]?secret|dsn)"
)
_SET = r"[^\S\n]{0,3}(?::=|=>|[:=\uff1a\uff1d])[^\S\n]{0,3}"
_START = r"(?<![\w./-])(?=[\w.-]++(?: [kK]ey)?\\{0,4}[\"'`]?[^\S\n]{0,3}[:=\uff1a\uff1d])[\w.-]{0,80}?"
"""Matches the beginning of a name that a value may follow, with what may stand before the word that tells."""
_END = r"(?=[\"'`\\.,;:)\]}\u3002\uff0c]{0,3}(?:[ \t]{0,4}(?:$|\n|\r|#|//|--|&&|\|)|,\s|;\s)|[\"'`&;])"
"""Matches the end of a value: the end of the line, or of the value if nothing follows that continues a sentence."""
_BARE = r"[^\s\"'`,;<>(){}\[\]\\\u3001\u3002\uff08\uff09\uff0c\uff1b\u300c\u300d\u300e\u300f\u201c\u201d\u201e\u00ab\u00bb]"
_QUOTE = r"[\"'`\u2018\u2019\u201c\u201d\u201e\u00ab\u300c\u300e]"

_LIKE_CODE = lazy_regex(
    r"^(?:[a-z]+(?:[A-Z][a-z0-9]+)+|[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+|_?[a-z]+(?:_[a-z]+)+|[A-Z]+(?:_[A-Z]+)*|[a-z]+(?:-[a-z]+)+|[\w.-]+\(.*|\$.*|%.*%|\{.*|/[\w./-]*|~/.*|\.{1,2}/.*"
    r"|[\w.-]+\.(?:json|ya?ml|toml|env|pem|key|txt|py|ts|js|go|md|html|pdf|png)|\d+(?:[.,:/-]\d+)*\w{0,2}|https?:.*|\W+|(?:[A-Z][a-z]+)+|.*\]|[A-Za-z_]+=|\+.*|&\w+|\*+\w*)$"
)
_SHORT_NAME = lazy_regex(r"^[A-Za-z]{1,6}-?\d{1,3}(?:-\w+)?$")
"""Matches `AES-256`, `utf8`, `v2`."""
_SHORT_TERMS_TEXT = "k8s s3 ec2 md5 v1 v2 v3 h1 h2 h3 b64 2fa mfa oa2 1st 2nd 3rd 1x 2x"
_SHORT_TERMS = frozenset(_SHORT_TERMS_TEXT.split())
_PARTS = lazy_regex(r"[_\W]+")


def _stripped(value: str) -> str:
    return value.strip().strip("\"'`\\.,;:!?*()[]{}\u201c\u201d\u201e\u00ab\u00bb")


def _is_no_password(value: str) -> bool:
    """Whether a value directly after a word for a password is no password: words of prose, a name in code, a path, or a placeholder."""
    value = _stripped(value)
    if len(value) < 4 or is_ordinary(value) or _LIKE_CODE.match(value):
        return True
    words = [word for word in _PARTS.split(value) if word]
    return len(words) > 1 and all(word.isalpha() and is_ordinary(word) for word in words)


def _is_no_short_password(value: str) -> bool:
    """Whether a value of two or three characters after a word for a password is no password. It is one only if it has letters and digits."""
    value = _stripped(value)
    mixed = value.isalnum() and not value.isalpha() and not value.isdigit()
    return not mixed or value.lower() in _SHORT_TERMS


def _is_no_key(value: str) -> bool:
    """Whether a value after a word with several meanings (`token`, `key`) is no secret: among others, if it has only letters."""
    value = _stripped(value)
    return _is_no_password(value) or value.isalpha() or (value.isdigit() and len(value) < 9)


def _is_no_mixed_secret(value: str) -> bool:
    """Whether a value in a sentence is no secret. A secret has letters, and digits or signs that no word has."""
    value = _stripped(value)
    if _is_no_password(value) or len(value) < 5:
        return True
    letters, digits = any(ch.isalpha() for ch in value), any(ch.isdigit() for ch in value)
    signs = any(not ch.isalnum() and ch not in "-'./_\u2019" for ch in value)
    if any(rule.match(value) for rule in (TECHNICAL, REFERENCE, _SHORT_NAME)):
        return True
    return not (letters and (digits or signs))


def _is_no_foreign_secret(value: str) -> bool:
    """Whether Latin letters in a sentence of another script are no secret: an ordinary word, or a name in code."""
    value = _stripped(value)
    return len(value) < 4 or not value.isascii() or is_ordinary(value) or bool(_LIKE_CODE.match(value))


def _is_no_opaque(value: str) -> bool:
    return is_placeholder(value) or entropy(value) < 2.8 or _is_no_key(value)


_MNEMONIC_STOPS_TEXT = """
the and are was with from that this must should have has not for its when where which into then than them they your our words phrase
"""
_MNEMONIC_STOPS = frozenset(_MNEMONIC_STOPS_TEXT.split())
"""Words of sentences; a mnemonic phrase does not begin with them."""


def _is_no_mnemonic(value: str) -> bool:
    words = LATIN_WORD.findall(value)
    return len(words) < 12 or sum(word in _MNEMONIC_STOPS for word in words[:12]) > 0


def _is_no_pem(value: str) -> bool:
    return len(set(value)) < 16


_PASSWORDS = "pass pwd secret"
_KEYS = "pass pwd secret token key auth credential dsn"
_KEPT_ELSEWHERE = lazy_regex(
    r"\b(?:vault|1password|keychain|keepass|bitwarden|env|secrets?[ -]manager)\b", re.IGNORECASE
)
"""Matches the name of a place where secrets are kept."""


def _is_no_phrase(value: str) -> bool:
    """Whether the words after a word for a passphrase are none: too short, or the name of the place where it is kept."""
    return (
        len(value) < 8
        or is_placeholder(value)
        or bool(_KEPT_ELSEWHERE.search(value))
        or _is_no_password(value)
    )


_IDENTIFIER = lazy_regex(r"^(?:[a-z][a-z0-9]*(?:[_:][a-z0-9]+)+|X-[A-Za-z-]+\d?)$")
"""Matches the name of another sort of key: `user_id2`, `cache:42`, `X-Request-ID2`."""


def _is_no_labeled_secret(value: str) -> bool:
    """Whether a value directly after a name and a mark (such as `:`) is no secret."""
    return _is_no_password(value) or bool(_IDENTIFIER.match(_stripped(value)))


def _is_no_spoken_secret(value: str) -> bool:
    """Whether what a sentence gives as a password or key ("the password is ...") is no secret but an ordinary word, a placeholder or a name in code; for languages with blanks between words."""
    return _is_no_mixed_secret(value) or bool(_IDENTIFIER.match(_stripped(value)))


def _is_no_latin_secret(value: str) -> bool:
    """Whether Latin letters that a sentence gives as a password or key are no secret but an ordinary word, a placeholder or a name in code; for languages without blanks between words."""
    plain = _stripped(value)
    return _is_no_foreign_secret(value) or bool(TECHNICAL.match(plain)) or bool(_IDENTIFIER.match(plain))


_NOT_IN_ENGLISH = r"(?!\b(?i:the|to|at|of|for|from|into|version|build)\b)"
"""Refuses English words between a word for a code and its digits: "pin the server to port 5173"."""


def _is_no_code(value: str) -> bool:
    """Whether digits after a word for a code are no code: a year, or one repeated digit."""
    digits = [ch for ch in value if ch.isdigit()]
    return len(set(digits)) < 2 or (len(digits) == 4 and digits[0] in "12" and digits[1] in "09")


def _shapes_of(words: Words) -> tuple[SecretShape, ...]:
    """Make the shapes that find secrets in texts of one language."""
    keywords, names = words.names
    edge = r"(?<!\w)" if words.spaced else ""
    end = r"\b" if words.spaced else ""
    judge = _is_no_spoken_secret if words.spaced else _is_no_latin_secret
    # A plain word behind a verb must not end the search: "the password was reset, it is now x1!".
    value = (
        rf"(?=\S{{0,60}}[^\W_a-zA-Z\u00c0-\u024f\u0400-\u04ff]|\S{{0,60}}[!@#$%^&*?+=~]){_BARE}{{5,200}}"
        if words.spaced
        else "[!-~]{4,200}"
    )
    gap = r"[^\n.:=]{0,60}?" if words.spaced else r"[^\n!-~]{0,24}?(?:[!-~]{1,20}[^\n!-~]{1,12})?"
    more = r"(?:[ \t][\w'\u2019-]{1,20}){0,5}" if words.spaced else r"[^\n!-~\uff1a\uff1d]{0,24}?"
    verb = rf"(?<!\w){words.verb}{end}" if words.spaced else words.verb
    name = rf"(?i:{edge}{names}{end})"
    mark = r"(?:[:=\uff1a\uff1d]|->|=>|\u2192|\u2014|\u2013|\s-\s)"
    quote = rf"(?:{_QUOTE}{{1,2}}[ \u00a0\u202f]?)?"
    shapes = [
        # `das Passwort lautet x`, `Passwort für den Server: x`
        shape("spoken_secret", keywords, rf"{name}{gap}\s{{0,2}}(?i:{verb}|{mark})\s{{0,3}}{quote}(?P<secret>{value})", judge, reach=(0, 4)),
        # `Passwort: x` with a plain word
        shape("spoken_secret", keywords, rf"{name}{more}\s{{0,2}}{mark}\s{{0,3}}{quote}(?P<secret>{_BARE}{{5,200}}){_END}", _is_no_labeled_secret, reach=(0, 4)),
        # `mit dem Passwort x`
        shape("spoken_secret", keywords, rf"{name}\s{{0,3}}{quote}(?P<secret>{value})", _is_no_spoken_secret, reach=(0, 4)),
        # `das Token vom Server x`, of a long random value
        shape("spoken_secret", keywords, rf"{name}(?:[^\S\n][^\W\d]{{1,20}}){{1,4}}[^\S\n]{{1,3}}{quote}(?P<secret>(?=[A-Za-z0-9+/_=-]*[0-9])[A-Za-z0-9+/_=-]{{16,200}})(?![\w/.])", _is_no_opaque, reach=(0, 4)),
    ]  # fmt: skip
    if words.identifiers:
        keywords, names = words.identifiers
        shapes.append(shape("secret_assignment", keywords, rf"(?i:(?<![\w])[\w-]{{0,40}}?{names}[\w-]{{0,20}})[\"'`]?{_SET}[\"'`]?(?P<secret>{_BARE}{{5,200}})", _is_no_password, reach=(0, 4)))  # fmt: skip
    if words.codes:
        keywords, names = words.codes
        shapes.append(shape("one_time_code", keywords, rf"(?i:{edge}(?<![a-z]){names}(?![a-z]))(?:{_NOT_IN_ENGLISH}[^\n\d]){{0,40}}?(?P<secret>(?<![\w.,-])\d{{3}}[ -]\d{{3}}(?![\w-])|(?<![\d.,-])\d{{4,8}}(?![\d%]|[.,]\d))", _is_no_code, reach=(0, 4)))  # fmt: skip
    if words.phrases:
        keywords, names = words.phrases
        shapes.append(shape("spoken_secret", keywords, rf"(?i:{edge}{names})[^\n:=\uff1a]{{0,40}}?(?:[:=\uff1a]\s{{0,3}}|(?={_QUOTE}))(?P<secret>[^\n]{{8,120}}?)(?=[ \t]{{0,4}}(?:$|\n|\r))", _is_no_phrase, reach=(0, 4)))  # fmt: skip
    return tuple(shapes)


SPLIT_SHAPES: tuple[SecretShape, ...] = (
    shape(
        "secret_assignment", _KEYS,
        rf"(?i:{_START}{_KEY_NAME})[\"'`]?{_SET}(?P<secret>[\"'][^\"'\n]{{2,80}}[\"'](?:\s{{0,3}}[+.&\\]{{0,2}}\s{{0,8}}[\"'][^\"'\n]{{2,80}}[\"']){{1,8}})(?!\s{{0,3}}[:=])",
        _is_no_key, reach=(0, 16),
    ),
    shape(
        "secret_assignment", _KEYS,
        rf"(?i:{_START}{_KEY_NAME}){_SET}[\"']?(?P<secret>{_BARE}{{2,100}}\\\r?\n[ \t]{{0,12}}{_BARE}{{3,100}})",
        _is_no_key, reach=(0, 4),
    ),
    # A script that answers a prompt: `expect "password:" { send "x\r" }`.
    shape("cli_password", "send", r"(?i:\b(?:expect|pass\w{0,8}|pin|parol\w?|senha|clave)\b[^\n]{0,80}?\bsend(?:line|_user)?[ (]{1,3}(?:--[ ])?)[\"'](?P<secret>[^\s\"'$\\]{4,100})(?:\\[rn])?[\"']", is_placeholder, reach=(0, 0)),
)  # fmt: skip
"""Shapes that are tried before all others, which would find only a part: values in several pieces, and answers to a prompt."""

VALUE_SHAPES: tuple[SecretShape, ...] = (
    # `password = swordfish`, `db password: swordfish`, `"secret": "opensesame"`, also with the quotes of JSON within a text.
    shape(
        "secret_assignment", _PASSWORDS,
        rf"(?i:{_START}{_NAME}(?:[_-]?\d{{1,2}})?)\\{{0,4}}[\"'`]?{_SET}\\{{0,4}}[\"'`]?(?P<secret>{_BARE}{{4,200}}){_END}", _is_no_password,
        reach=(0, 4),
    ),
    # `password: x1`
    shape(
        "secret_assignment", "pass pwd",
        rf"(?i:{_START}(?:pass(?:word|wd|phrase|code)|passw|pwd))[\"'`]?{_SET}[\"'`]?(?P<secret>[A-Za-z0-9]{{2,3}}){_END}",
        _is_no_short_password, reach=(0, 4),
    ),
    shape(
        "secret_assignment", _KEYS,
        rf"(?i:{_START}{_KEY_NAME})\\{{0,4}}[\"'`]{_SET}\\{{0,4}}[\"'`](?P<secret>[^\"'`\\\s]{{6,400}})\\{{0,4}}[\"'`]",
        _is_no_key, reach=(0, 4),
    ),
    # Strings with a prefix (`@"..."`, `b'...'`, `L"..."`) and strings that are put together of pieces.
    shape(
        "secret_assignment", _KEYS,
        rf"(?i:{_START}{_KEY_NAME})[\"'`]?(?:\s{{0,2}}:\s{{0,2}}[&\w]{{1,20}}\s{{0,3}}=\s{{0,3}}[@$bBrRfFuUL]{{0,2}}|\s{{0,3}}[:=]{{1,2}}\s{{0,3}}[@$bBrRfFuUL]{{1,2}})[\"'](?P<secret>[^\"'\n]{{4,200}})[\"']", _is_no_password,
        reach=(0, 4),
    ),
    # YAML: the value on the next line.
    shape(
        "secret_assignment", _KEYS,
        rf"(?i:{_START}{_KEY_NAME})[\"']?:[ \t]{{0,4}}(?:[|>][+-]?\d?)?[ \t]{{0,4}}\r?\n[ \t]{{1,12}}[\"']?(?P<secret>[^\s\"':#-][^\s\"':]{{5,200}})[\"']?[ \t]{{0,4}}(?=\r?\n|$)",
        _is_no_key, reach=(0, 3),
    ),
    # Percent encoding: `password%3Dvalue`, `%22token%22%3A%22value%22`.
    shape(
        "secret_assignment", "%3d %3a",
        rf"(?i:{_KEY_NAME}(?:%22)?(?:%3a|%3d)(?:%20|%22){{0,3}}(?P<secret>(?:[^\s&\"'<>%]|%(?!22|26|2c|7d)[0-9a-f]{{2}}){{4,300}}))", _is_no_password,
    ),
    shape("auth_header", "bearer", r"(?i:\bbearer\s{1,3})(?P<secret>[A-Za-z0-9][A-Za-z0-9._~+/=-]{5,400})" + _END, _is_no_password, reach=(0, 3)),
    shape("registry_auth", "auth", r"(?i:\\{0,4}[\"']_?auth\\{0,4}[\"']\s{0,3}:\s{0,3}\\{0,4}[\"'])(?P<secret>[A-Za-z0-9+/=]{12,400})", _is_no_opaque, reach=(0, 4)),
    shape("cookie", "curl wget http cookie", r"(?i:\b(?:curl|wget|https?)\b[^\n]{0,300}?\s(?:-b|--cookie|--load-cookies=?|--header[= ][\"']?cookie:)[ =]{0,2})[\"']?(?P<secret>[\w.%-]{1,60}=[^\"'\n]{6,400}?)(?=[\"'\n]|\s-|$)", _is_no_password, reach=(0, 3), held="curl wget http"),
    shape("cli_password", "snowsql sqlcmd sqlplus ldap mongosh pg_ smb cqlsh clickhouse influx mosquitto xfreerdp rdesktop keytool kinit bcp isql sftp ftp vncpasswd net ansible rabbitmq nats etcdctl consul couchbase",
        r"(?i:\b(?:snowsql|sqlcmd|bcp|isql|mongosh|cqlsh|clickhouse-client|influx|mosquitto_\w{3}|xfreerdp|rdesktop|ldap\w{3,10}|smbclient|lftp|etcdctl|rabbitmqadmin|couchbase-cli)\b[^\n|;]{0,300}?\s(?:-p|-P|-w|-pw|/p:|--pass)[ =]{0,2})[\"']?(?P<secret>[^\s\"'$-][^\s\"']{3,200})", _is_no_password, reach=(0, 3),
        held="snowsql sqlcmd bcp isql mongosh cqlsh clickhouse influx mosquitto xfreerdp rdesktop ldap smbclient lftp etcdctl rabbitmq couchbase"),
    shape("cli_password", "zip", r"(?:\b(?:un)?zip\b[^\n|;]{0,80}?[ \t]-P[ =]?)[\"']?(?P<secret>[^\s\"'$-][^\s\"']{3,100})", is_placeholder, reach=(0, 0)),
    shape("cli_password", "keytool jarsigner", r"(?i:\b(?:keytool|jarsigner)\b[^\n|;]{0,300}?\s-(?:store|key|src|dest)\w{0,8}pass[ =]{1,2})[\"']?(?P<secret>[^\s\"'$]{4,200})", _is_no_password, reach=(0, 3)),
    shape("private_key", "mii mhc mhg mig mc4 b3blbnnzac", r"(?<![A-Za-z0-9+/=])(?P<secret>(?:MII(?:E[opvw]|J[QKpqR]|C[XWde]|B[UVPO]|G)|MHcCAQEE|MHgCAQ|MI(?:GHAgEA|GkAgEB|GTAgEA|HuAgEA)|MC4CAQAw|b3BlbnNzaC1rZXk)[A-Za-z0-9+/]{24,}={0,2}(?:\s{1,8}[A-Za-z0-9+/]{4,80}={0,2}(?=\s|$|-----)){0,80})", _is_no_pem),
    # The body alone, in lines of base 64, behind words that call it a key.
    shape("private_key", "private rsa ssh ed25519 signing", r"(?i:\b(?:private|rsa|ssh|ed25519|signing) key\b[^\n]{0,60}?[:\n]\n?[ \t]{0,8})(?P<secret>[A-Za-z0-9+/]{40,80}={0,2}(?:\n[ \t]{0,8}[A-Za-z0-9+/]{4,80}={0,2}(?=\s|$)){0,30})(?![\w.-])", _is_no_pem, reach=(0, 40)),
    shape("vault_text", "$ansible_vault", r"\$ANSIBLE_VAULT;[^\n]{1,60}(?P<secret>(?:\s{1,8}[0-9a-f]{16,100}){1,400})", _is_no_pem),
    shape("secret_assignment", ".key .pem .secret", r"(?i:[\w./-]{0,60}\.(?:key|pem|secret)[\"'`]?\s{0,3}(?:is|was|=|:|contains|holds|reads)\s{1,3})[\"'`]?(?P<secret>[A-Za-z0-9+/=_-]{16,400})(?![\w./])", _is_no_opaque, reach=(0, 3)),
    shape("mnemonic", "seed mnemonic recovery wallet backup", r"(?i:\b(?:seed|mnemonic|recovery|wallet|backup)\b[^\n]{0,60}?(?:\bis|:|=|\bphrase|\bwords|(?<=mnemonic))\s{0,4})[\"'`]?(?P<secret>(?:\d{1,2}[.):]?\s{0,2})?[a-z]{3,8}(?:[\s,]{1,4}(?:\d{1,2}[.):]?\s{0,2})?[a-z]{3,8}){11,23})\b", _is_no_mnemonic, reach=(0, 40)),
    # `with X as the password`, `X is the password`, `password for the box on the left, X`.
    shape("spoken_secret", _KEYS + " pin pw", rf"(?i:\b(?:with|use|using|enter|type|try|put|and|set|chose|choose|made|take|took|have|picked)\s{{1,3}}){_QUOTE}?(?P<secret>{_BARE}{{4,200}}){_QUOTE}?(?i:\s{{1,3}}(?:as|for)\s{{1,3}}(?:(?:the|its|their|our|my|your|a)\s{{1,3}})?(?:[\w-]{{1,30}}\s{{1,3}}){{0,2}}(?:password|passwd|passphrase|passcode|pin|token|secret|api[ -]?key|key|pw|pwd)\b)", _is_no_mixed_secret, reach=(6, 0)),
    shape("spoken_secret", _KEYS + " pw login cred", rf"(?:^|(?<=[\s\"'`(])){_QUOTE}?(?P<secret>{_BARE}{{5,200}}){_QUOTE}?(?i:\s{{1,3}}(?:is|was|=)\s{{1,3}}(?:the|its|their|our|my|your|a)\s{{1,3}}(?:[\w-]{{1,30}}\s{{1,3}}){{0,3}}(?:password|passwd|passphrase|passcode|token|secret|api[ -]?key|pw|pwd|login|credentials?|creds)\b)", _is_no_mixed_secret, reach=(6, 0)),
    shape("spoken_secret", "auth login cred", rf"(?i:\b(?:auth|login|creds?|credentials)\b[^\n:]{{0,20}}:\s{{1,3}}[\w.@-]{{2,30}}:)(?P<secret>{_BARE}{{5,200}})", _is_no_mixed_secret, reach=(0, 3)),
    shape("spoken_secret", "pass pwd pw token secret key", rf"(?i:\b(?:password|passwd|passphrase|passcode|pwd|pw|token|secret|api[ -]?key|(?-i:pass)(?=\s?[:=]))\b(?:[^\n.:=]{{0,60}}?\s{{0,2}}(?:\bis\b|\bwas\b|\bequals\b|\bbecomes\b|\bto\b|:(?=[\s\"'`])|=)|\s{{0,2}}(?:\u2014|\u2013|->|\u2192))\s{{0,3}}(?:now\s|still\s|again\s)?){_QUOTE}?(?P<secret>{_BARE}{{5,200}})", _is_no_mixed_secret, reach=(0, 3)),
    # `scott/tiger@10.0.0.1`, `scott/tiger@db:1521/orcl`, as Oracle and its relatives take it.
    shape("url_credentials", "@", r"(?<![\w/.@:-])[A-Za-z][\w.-]{1,30}/(?P<secret>[^\s/@:\"'<>]{4,60})@(?://)?(?:\d{1,3}(?:\.\d{1,3}){3}\b|[\w.-]{1,80}:\d{2,5}(?!\d))", is_placeholder, reach=(0, 0)),
    # `put X into AWS_SECRET_ACCESS_KEY`, in any language: the name of the variable is enough.
    shape("secret_assignment", _KEYS, r"(?<![\w/.+-])(?P<secret>(?=[A-Za-z0-9+/_=-]{0,200}[0-9])(?=[A-Za-z0-9+/_=-]{0,200}[A-Za-z])[A-Za-z0-9+/_=-]{16,200})[^\S\n]{1,3}[^\W\d_]{1,6}[^\S\n]{1,3}[A-Z]+(?:_[A-Z]+)*_(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|PWD)(?![\w])", _is_no_opaque, reach=(0, 0)),
    *(spoken for words in WORDS for spoken in _shapes_of(words)),
)  # fmt: skip
