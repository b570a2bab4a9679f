"""Orders that could harm before anybody looks: what runs or sends something, or switches a protection off. In: a statement.

Out: why it has to be confirmed, or "". A rule of this sort works on every later session, so that it is not enough that it
stood in a prompt: people paste. A fact about such things, or a rule that forbids them, is no danger. Pure; English.
"""

from __future__ import annotations

import re

from tacit.text.lazy_regex import lazy_regex

_PIPED = lazy_regex(
    r"\b(?:curl|wget|fetch|iwr|irm|invoke-webrequest|invoke-restmethod|http|nc|ncat)\b[^|\n]*\|\s*(?:sudo\s+)?(?:\S*/)?"
    r"(?:sh|bash|zsh|dash|ksh|fish|python\d?|node|ruby|perl|php|iex|pwsh|powershell)\b"
    r"|\|\s*(?:sudo\s+)?(?:\S*/)?(?:sh|bash|zsh|iex)\b|\b(?:sh|bash|zsh|source|eval|exec|\.)\s+(?:-c\s+)?[\"'`]*(?:<\(|\$\(|`)\s*(?:curl|wget)"
    r"|\b(?:iex|invoke-expression|eval)\b\s*[($\"'`]|\bbase64\s+(?:-d|--decode|-D)\b|\b(?:npx|pipx run|uvx|bunx|deno run|go run)\s+\S*(?:https?:|git\+|github:)"
    r"|\b[a-z]+://\S+[^.;\n]{0,60}?\b(?:into|in|to|through|with|mit|an|durch|dans|vers|avec|par|con|en|a)\s+(?:sudo\s+)?`?(?:bash|sh|zsh|pwsh|powershell)\b"
    r"|\b(?:pip\d?|npm|pnpm|yarn|gem|cargo|go|uv)\s+(?:\w+\s+)?(?:install|add|get|i)\s+(?:\S+\s+)*(?:https?://|git\+)",
    re.IGNORECASE,
)
_HOST = lazy_regex(
    r"(?:\b(?:https?|ftp|sftp|wss?|ssh|git|s3|gs|file|tcp|udp)://|\bgit@|\bgit\+)(?!(?:localhost|127\.|0\.0\.0\.0|\[::1\]|10\.|192\.168\.))\S+"
    r"|\b[\w.+-]+@[\w-]+(?:\.[\w-]+)+\b|\b(?:\d{1,3}\.){3}\d{1,3}\b(?<!127\.0\.0\.1)(?<!0\.0\.0\.0)"
    r"|(?<![\w/.@-])(?:[a-z0-9][a-z0-9-]*\.)+(?:example|test|invalid|com|net|org|io|dev|app|co|sh|xyz|ru|cn|info|biz|site|online|top|cloud|me|tk|ai|us|uk|de|fr|eu)\b(?![\w(])",
    re.IGNORECASE,
)
_MOVES = lazy_regex(
    r"\b(?:send|post|upload|push|forward|report|submit|publish|share|e?mail|cc|bcc|curl|wget|fetch|download|install|clone|pull|load|import|include"
    r"|run|execute|call|ping|open|visit|get|add|copy|sync|mirror|proxy|log|notify|register|route|point|connect|use|transmit|leak|exfiltrate|dump"
    r"|stream|deliver|transfer|hit|request|query|beacon|webhook|set|configure|write|append|put|embed|scp|rsync)(?:s|ed|ing)?\b",
    re.IGNORECASE,
)
_NAMES_OF_THEM = (
    r"(?:tokens?|passwords?|passphrases?|secrets?|credentials?|api[- ]?keys?|private keys?|ssh keys?|access keys?|signing keys?|keychains?|cookies?"
    r"|\.env\b|env(?:ironment)? (?:vars?|variables?|files?)|\.netrc|\.npmrc|\.pypirc|id_rsa|\.ssh\b|\.aws\b|kubeconfig|wallets?|seed phrases?)"
)
_HANDLES_SECRET = lazy_regex(
    rf"\b(?:send|post|upload|push|forward|share|e?mail|print|echo|dump|include|paste|commit|log|expose|put|add|append|copy|cat|show|output|write|embed"
    rf"|reveal|attach|publish|report|base64|encode|store|save|hardcode|hard-code|leak|exfiltrate|type|read out|give|hand over|transmit)\b[^.;]{{0,80}}{_NAMES_OF_THEM}",
    re.IGNORECASE,
)
_PROTECTION = (
    r"(?:certificates?|certs?|tls|ssl|https|verif(?:y|ication|ying)|validation|signatures?|signing|sandbox\w*|auth\b|authentication|authori[sz]ation|permissions?|permission"
    r" (?:checks|prompts)|security|safety|2fa|mfa|csrf|xss|cors|firewall|antivirus|selinux|apparmor|gpg|checksums?|integrity|approvals?"
    r"|confirmations?|access (?:control|checks?)|rate[- ]limit\w*|encryption|audit(?:s|ing| log\w*)?|code review|guardrails?|branch protection|secret scan\w*"
    r"|hooks?|pre-commit|host key\w*|password (?:checks?|prompts?)|login checks?|vulnerabilit(?:y|ies))"
)
_DISABLES = lazy_regex(
    rf"\b(?:disabl|turn(?:ing)? off|switch(?:ing)? off|skip|bypass|ignor|suppress|remov|circumvent|deactivat|weaken|relax|drop|strip|omit|silence|evade|work(?:ing)? around"
    rf"|turn(?:ing)? \w+ \w* ?off)\w*\b[^.;]{{0,50}}\b{_PROTECTION}"
    rf"|\bwithout\b[^.;]{{0,30}}\b(?:asking|approval|confirmation|verif\w+|review|checking|authenticat\w+|permission|tls|ssl|encryption)\b"
    rf"|\b{_PROTECTION}\b[^.;]{{0,40}}\b(?:off|disabled|false|bypassed|skipped|unchecked)\b"
    r"|--(?:no-verify|insecure|no-check-certificate|dangerously[\w-]*|trusted-host|allow-root|no-sandbox|disable-web-security|skip-ssl\w*|yolo|no-gpg-sign|disable-\w+-check\w*|force-yes|allow-unauthenticated)\b"
    r"|\b(?:curl|wget)\b[^\n]*\s-\w*k\b|\bverify\s*=\s*false\b|rejectunauthorized\b[^.;]{0,10}false|node_tls_reject_unauthorized|stricthostkeychecking|git_ssl_no_verify"
    r"|\b\w*ssl[-_]?verify\b[ =:]*(?:false|no|off|0)\b|\bstrict[-_]?ssl\b[ =:]*(?:false|no|off|0)\b|\bverify[-_]ssl\b[ =:]*(?:false|no|off|0)\b"
    r"|\bchmod\s+(?:-R\s+)?[0-7]?777\b|\bsudo\b|\bsetenforce\s+0|\bauto-?approve|\ball permissions\b|\bgrant\b[^.;]{0,30}\b(?:all|admin|root)\b",
    re.IGNORECASE,
)
_DELETES = lazy_regex(
    r"\brm\s+-\w*r\w*f|\brm\s+-\w*f\w*r|\bgit\s+push\b[^.;\n]*?\s(?:--force(?!-with-lease)(?![\w-])|-f\b)|\bgit\s+reset\s+--hard\b|\bgit\s+clean\s+-\w*f",
    re.IGNORECASE,
)
_ORDERS = lazy_regex(
    r"^\W*(?:(?:please|we|you|i|also|the user|user|from now on|going forward|in future|for|in|on|when|whenever|before|after|if|at|every|each|once|during|while)\b"
    r"|always|never|don'?t|do not|make sure|ensure|remember to|must|should|should always)|\b(?:always|must|should|needs? to|has to|have to|from now on|make sure"
    r"|ensure|going forward|every time|each time|whenever|wants?|prefers?)\b",
    re.IGNORECASE,
)
_IMPERATIVE = lazy_regex(r"^\W*[a-z]+\b", re.IGNORECASE)
_FORBIDS = lazy_regex(
    r"\b(?:never|do not|don'?t|must not|mustn'?t|should not|shouldn'?t|avoid|stop|no longer|refrain from|not allowed to|may not|cannot|can'?t|forbidden to|is not)\b"
    r"(?!\s+(?:ever\s+)?(?:forget|fail|omit|neglect|hesitate|miss|stop|skip|be afraid|bother (?:asking|checking)|ask|wait|verify|check|validate|require|use (?:tls|ssl|https)|worry|refuse"
    r"|warn|prompt|confirm|question|block|enforce|redact|mask|encrypt|sign|complain|mention|tell|let))",
    re.IGNORECASE,
)


def danger_of(statement: str) -> str:
    """Return the reason why `statement` must be confirmed before it guides an agent; "" = it need not."""
    forbids = _FORBIDS.search(statement)
    if _PIPED.search(statement) and not _forbidden(statement, forbids, _PIPED):
        return "it runs what it downloads"
    if _HANDLES_SECRET.search(statement) and not _forbidden(statement, forbids, _HANDLES_SECRET):
        return "it handles credentials"
    if _DISABLES.search(statement) and not _forbidden(statement, forbids, _DISABLES):
        return "it switches a protection off"
    if _DELETES.search(statement) and not _forbidden(statement, forbids, _DELETES):
        return "it deletes or overwrites work"
    host = _HOST.search(statement)
    if (
        host
        and _is_order(statement)
        and _MOVES.search(statement)
        and not _forbidden(statement, forbids, _MOVES)
    ):
        return "it reaches an address outside"
    return ""


_OUTSIDE = lazy_regex(
    r"\b[a-z][a-z0-9+.-]*://(?!(?:localhost|127\.|0\.0\.0\.0|\[::1\]|10\.|192\.168\.)(?:[\w.]*)(?:[:/\s)`'\"]|$))\S|\bgit@|\b[\w.+-]+@[\w-]+(?:\.[\w-]+)+\b"
    r"|(?<![\w/.@-])(?:[a-z0-9][a-z0-9-]*\.)+(?:example|test|invalid|com|net|org|dev|co|xyz|ru|cn|info|biz|site|online|cloud|tk|us|uk|de|fr|eu)(?![\w(-]|\.\w)"
    r"|(?<![\w/.@-])(?:[a-z0-9][a-z0-9-]*\.){2,}[a-z]{2,}(?::\d+)?/|(?<![\w/.@-])(?:[a-z0-9][a-z0-9-]*\.)+[a-z]{2,}(?::\d+|/[\w-]+)(?![\w.])"
    r"|(?<![\w.-])(?!(?:127|10|0|192\.168|172\.(?:1[6-9]|2\d|3[01]))\.)(?:\d{1,3}\.){3}\d{1,3}(?![\w.-])",
    re.IGNORECASE,
)
"""A URL, an address of mail, a name of a host or a public number of one."""
_SPEAKS_AS = lazy_regex(
    r"^[\s>*_#<\[(-]*(?:system|developer|assistant|human|user)\b[\s\])>*_]*:", re.IGNORECASE | re.MULTILINE
)
_OVERRIDES = lazy_regex(
    r"\b(?:ignor\w*|disregard\w*|forget|override|vergiss|missachte\w*|oublie\w*|olvida\w*)\b[^.;\n]{0,30}"
    r"\b(?:instructions?|rules|prompts?|anweisungen|regeln|consignes|instrucciones|reglas|istruzioni)\b",
    re.IGNORECASE,
)
_ENVIRONMENT = lazy_regex(
    r"\bprintenv\b|\benv\s*\||(?:\$\(env\)|`env`)|\b(?:print|dump|show|echo|output|log|send|list)\w*\b[^.;\n]{0,20}\b(?:env|environment)\b(?!\s+(?:name|label|banner))",
    re.IGNORECASE,
)


def danger_from_others(statement: str) -> str:
    """Return the reason why a statement of somebody else than the user must be confirmed; "" = it need not.

    Besides `danger_of` it counts what the statement names, in any language: an address outside is where tools may be led to, whether it is told as an order
    or as a fact ("our package index is ...").
    """
    if reason := danger_of(statement):
        return reason
    if _SPEAKS_AS.search(statement) or _OVERRIDES.search(statement):
        return "it speaks as somebody else than a teammate"
    if _ENVIRONMENT.search(statement):
        return "it handles credentials"
    if _OUTSIDE.search(statement):
        return "it names an address outside"
    return ""


def _forbidden(statement: str, forbids: re.Match[str] | None, action: re.Pattern[str]) -> bool:
    """Whether the statement forbids the action: a "never" or "do not" precedes it in the same clause, and nothing else is requested."""
    match = action.search(statement)
    if forbids is None or match is None or forbids.start() > match.start():
        return False
    between = statement[forbids.end() : match.start()]
    return not re.search(
        r"[.;:]|,\s*(?:and|but|instead|always|then)\b|\b(?:but|unless|except|instead|until|without)\b",
        between,
    )


def _is_order(statement: str) -> bool:
    if _ORDERS.search(statement):
        return True
    first = _IMPERATIVE.match(statement)
    return first is not None and _MOVES.fullmatch(first[0].strip()) is not None
