"""Orders that could harm before anybody looks: what runs or sends something, or goes without a check. In: a statement.

Out: why it has to be confirmed, or "". A rule of this sort works on every later session, so that it is not enough that it
stood in a prompt: people paste. Judged by what a statement names (commands, flags, settings, files of credentials, addresses), in whatever
language it does so; what it forbids is no danger. Pure.
"""

from __future__ import annotations

import re

from tacit.text.lazy_regex import lazy_regex

_PIPED = lazy_regex(
    r"\b(?:curl|wget|fetch|iwr|irm|invoke-webrequest|invoke-restmethod|http|nc|ncat)\b[^|\n]{0,400}\|\s*(?:sudo\s+)?(?:\S{0,200}/)?"
    r"(?:sh|bash|zsh|dash|ksh|fish|python\d?|node|ruby|perl|php|iex|pwsh|powershell)\b"
    r"|\|\s*(?:sudo\s+)?(?:\S{0,200}/)?(?:sh|bash|zsh|iex)\b|\b(?:sh|bash|zsh|source|eval|exec|\.)\s+(?:-c\s+)?[\"'`]*(?:<\(|\$\(|`)\s*(?:curl|wget)"
    r"|\b(?:iex|invoke-expression|eval)\b\s*[($\"'`]|\bbase64\s+(?:-d|--decode|-D)\b|\b(?:npx|pipx run|uvx|bunx|deno run|go run)\s+\S*(?:https?:|git\+|github:)"
    r"|\b[a-z]{1,30}://\S{1,2000}+[^.;\n]{0,60}?\b(?:into|in|to|through|with|mit|an|durch|dans|vers|avec|par|con|en|a)\s+(?:sudo\s+)?`?(?:bash|sh|zsh|pwsh|powershell)\b"
    r"|\b(?:pip\d?|npm|pnpm|yarn|gem|cargo|go|uv)\s+(?:\w+\s+)?(?:install|add|get|i)\s+(?:\S{1,200}\s+){0,20}(?:https?://|git\+)",
    re.IGNORECASE,
)
_UNCHECKED = lazy_regex(
    r"--(?:no-verify|insecure|no-check-certificate|dangerously[\w-]*|trusted-host|allow-root|no-sandbox|disable-web-security|skip-ssl\w*|yolo|no-gpg-sign|disable-\w+-check\w*|force-yes|allow-unauthenticated|skip-permissions\w*|auto-approve)\b"
    r"|\b(?:curl|wget)\b[^\n]*\s-\w*k\b|\bverify\s*=\s*false\b|rejectunauthorized\b[^.;]{0,10}false|node_tls_reject_unauthorized|stricthostkeychecking|git_ssl_no_verify"
    r"|\b(?:\w*ssl[-_]?verify|strict[-_]?ssl|verify[-_]ssl)\b[ =:]*(?:false|no|off|0)\b|\bchmod\s+(?:-R\s+)?[0-7]?777\b|\bsudo\b|\bsetenforce\s+0|\bauto-?approve",
    re.IGNORECASE,
)
_DELETES = lazy_regex(
    r"\brm\s+-\w*r\w*f|\brm\s+-\w*f\w*r|\bgit\s+push\b[^.;\n]*?\s(?:--force(?!-with-lease)(?![\w-])|-f\b)|\bgit\s+reset\s+--hard\b|\bgit\s+clean\s+-\w*f",
    re.IGNORECASE,
)
_CREDENTIALS = r"(?:\.env\b|\.netrc|\.npmrc|\.pypirc|id_rsa|\.ssh/|\.aws/|kubeconfig|\$\w{0,60}(?:token|secret|key|password)\w*+)"
_LEAKS = lazy_regex(
    rf"\bprintenv\b|\benv\s*\||\$\(env\)|`env`|\b(?:cat|echo|base64|scp|curl|wget|nc)\s[^.;\n]{{0,60}}?{_CREDENTIALS}"
    rf"|{_CREDENTIALS}[^\n]{{0,60}}?(?:[a-z]://|git@|[\w+-]@[\w-]{{1,63}}\.\w)",
    re.IGNORECASE,
)
_OUTSIDE = lazy_regex(
    r"\b[a-z][a-z0-9+.-]{0,30}://(?!(?:localhost|127\.|0\.0\.0\.0|\[::1\]|10\.|192\.168\.)(?:[\w.]*)(?:[:/\s)`'\"]|$))\S|\bgit@|\b[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]+)+\b"
    r"|(?<![\w/.@-])(?:[a-z0-9][a-z0-9-]*\.)+(?:example|test|invalid|com|net|org|dev|co|xyz|ru|cn|info|biz|site|online|cloud|tk|us|uk|de|fr|eu)(?![\w(-]|\.\w)"
    r"|(?<![\w/.@-])(?:[a-z0-9][a-z0-9-]*\.){2,}[a-z]{2,}(?::\d+)?/|(?<![\w/.@-])(?:[a-z0-9][a-z0-9-]*\.)+[a-z]{2,}(?::\d+|/[\w-]+)(?![\w.])"
    r"|(?<![\w.-])(?!(?:127|10|0|192\.168|172\.(?:1[6-9]|2\d|3[01]))\.)(?:\d{1,3}\.){3}\d{1,3}(?![\w.-])",
    re.IGNORECASE,
)
"""Matches addresses outside this machine: a URL, a mail address, the name of a host, or a public IP address."""
_NAMED = (
    (_PIPED, "it runs what it downloads"),
    (_UNCHECKED, "it switches a protection off"),
    (_DELETES, "it deletes or overwrites work"),
    (_LEAKS, "it handles credentials"),
)
_DENIES = lazy_regex(
    r"\b(?:never|not|don['\u2019]?t|no|avoid|stop|nie(?:mals)?|nicht|kein\w*|ohne|jamais|ne|n['\u2019]\w+|pas|sans|nunca|no|n\u00e3o|\u043d\u0435)\b|\u4e0d|\u52ff",
    re.IGNORECASE,
)
_AFTER_ALL = re.compile(
    r"[.;:]|,\s*\w+\s|\b(?:but|unless|except|instead|until|without|sondern|au\u00dfer|mais|sauf)\b",
    re.IGNORECASE,
)
_SPEAKS_AS = lazy_regex(
    r"^(?:[^\S\n]|[>*_#<\[(-])*+(?:system|developer|assistant|human|user)\b[\s\])>*_]*:",
    re.IGNORECASE | re.MULTILINE,
)
_OVERRIDES = lazy_regex(
    r"\b(?:ignor\w*|disregard\w*|forget|override|vergiss|missachte\w*|oublie\w*|olvida\w*)\b[^.;\n]{0,30}"
    r"\b(?:instructions?|rules|prompts?|anweisungen|regeln|consignes|instrucciones|reglas|istruzioni)\b",
    re.IGNORECASE,
)


def danger_of(statement: str) -> str:
    """Return why `statement` is dangerous and must be confirmed before it guides an agent; "" = it is not."""
    for pattern, reason in _NAMED:
        match = pattern.search(statement)
        if match and not _forbidden(statement[: match.start()]):
            return reason
    return ""


def danger_from_others(statement: str) -> str:
    """Return why a statement of somebody other than the user must be confirmed; "" = it need not.

    Besides `danger_of` it counts an address outside, where tools may be led to, whether it is told as an order
    or as a fact ("our package index is ...").
    """
    if reason := danger_of(statement):
        return reason
    if _SPEAKS_AS.search(statement) or _OVERRIDES.search(statement):
        return "it speaks as somebody else than a teammate"
    return "it names an address outside" if _OUTSIDE.search(statement) else ""


def _forbidden(before: str) -> bool:
    """Whether the text before a dangerous action forbids it ("never ..."), and does not ask for something else after that."""
    denials = list(_DENIES.finditer(before))
    return bool(denials) and not _AFTER_ALL.search(before[denials[-1].end() :])
