"""The rule pack: what secrets look like. Data only; `redact` applies it in this order.

In: nothing. Out: `SHAPES`. A shape has a kind, words of which one must be in the (lower-case) text before its
pattern is tried, the pattern (group `secret` = the part that goes, else all of it) and a judge of innocent values.

Tokens by who issues them, and opaque values beside a vendor's name. Data only; `redact` applies it before `SHAPES`.

In: nothing. Out: `ISSUER_SHAPES`. The prefixes, lengths and alphabets are those that the issuers publish; where a form has no
mark of its own (hexadecimal digits, a UUID), the vendor's name must stand before it.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator

from tacit.frozen import frozen
from tacit.text.lazy_regex import lazy_regex

_PLACEHOLDER = lazy_regex(
    r"""^(?:
      [x*.\-_#?0]{3,}+ | \W++ | (.)\1++ | <[^>]*>? | \$[({]?\w+.*| \{\{?.*\}?\} | %\(.* | %\w+%? | \[[^\]]*\]? | @\w+ | \#\{.*
    | (?:your|my|the|some|a|an|any|new|old|dummy|fake|mock|sample|example|placeholder|test(?:ing)?|demo|insert|enter|replace|put|todo)
        (?:[\s_\-.].*|\d*)?
    | .*(?:change[_-]?me|changeit|example|placeholder|redacted|dummy|fake[_-]|[_-]fake|xxx|\*\*\*|\.\.\.|_here\b|-here\b|your[_-]).*
    | (?:none|null|nil|undefined|true|false|empty|string|str|int|bool|bytes|any|text|password|passwd|pass|secret|token|api[_-]?key|key|value
        |foo|bar|baz|qux|foobar|username|user|admin|root|default|required|optional|env|unset|hidden|masked|is|not|to|in|for|and|or
        |with|of|from|on|at|by|was|are|has|must|should|via|when|will|can|as|it|be|been|using|used|only|missing|invalid|expired|wrong|incorrect
        |stored|set|sent|passed|kept|lives?|comes?|goes|read|loaded|generated|rotated|hashed|encrypted|never|always|also|then|now|here|there)
    | (?:process\.env|os\.environ|os\.getenv|env|config|settings|self|this|req(?:uest)?|args|options|opts|params|secrets|vars|import\.meta|System)\b[.(\[].*
    | \w+\(.*
    )[\s.,;:'"`)]*$""",
    re.IGNORECASE | re.VERBOSE | re.DOTALL,
)
_CODE_NAME = lazy_regex(
    r"^(?:[A-Za-z]?[a-z]{2,}(?:[A-Z][a-z]{2,})+|[a-z]+(?:[A-Z][a-z]+)+|[A-Za-z_]+(?:\.[A-Za-z_]+)+(?:\(\))?|[A-Z]+(?:_[A-Z]+)+|[a-z]+(?:_[a-z]+)+|[a-z]+(?:-[a-z]+){1,2})[,;)]*$"
)
REFERENCE = lazy_regex(  # says where a secret is kept, or counts tokens, rather than being one
    r"^(?:(?:\.{0,2}|~)/[\w./-]+|[A-Za-z]:\\.*|https?://[^@]*|arn:.*|(?:vault|op|secret|secrets|ssm|file|env|gcp|aws|keychain|keyring|kv)[:/].*|projects/.*|\d{1,9}(?:\.\d+)*[kKmM]?|[\w-]+\.(?:json|ya?ml|toml|env|pem|key|txt|py|ts|js|go|md)"
    r"|sha\d{1,3}[:-].*|[\w.-]+/[\w.-]+(?:/[\w.-]+)*)$"
)
_CALL = lazy_regex(r"^[A-Za-z_]\w*(?:\.\w+)+\(|^[a-z_]+\[\w")
"""Matches code that calls or looks up something: `match.group(1)`, `tokens[0]`."""
_NEXT_NAME = lazy_regex(r"^[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+=")
"""Matches the next line of settings, which follows a name without a value."""
UUID = lazy_regex(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.IGNORECASE)


TECHNICAL = lazy_regex(  # words of the trade that hold digits: `AES-256`, `base64url`, `32-byte`, `90-day`
    r"^(?:(?:aes|sha|rsa|hmac|oauth|base|utf|argon|md|pbkdf|ed|ipv|http|https|tls|v|ver|k8s|s3|ec2|es|hs|rs|ps|jwt|bcrypt|scrypt|pkcs|x|p|web3|auth|log4j|i18n|rfc|iso|nist|python|node|php|java|es)[-_. ]?\d[\w-]*"
    r"|\d+[-–]?(?:bytes?|chars?|characters?|bits?|digits?|days?|hours?|hrs?|min\w*|sec\w*|weeks?|months?|years?|times?|[smhdwky]|ms|kb|mb|fa|factor|st|nd|rd|th)\b.*|\d+(?:[.:/-]\d+)*[a-z]{0,2})$",
    re.IGNORECASE,
)


def entropy(text: str) -> float:
    """Return the Shannon entropy of the characters of `text`, in bits per character."""
    total = len(text)
    return -sum(n / total * math.log2(n / total) for n in Counter(text).values()) if total else 0.0


def is_placeholder(value: str) -> bool:
    """Whether `value` stands for a secret without being one (`changeme`, `${VAR}`, `<token>`, `xxx`)."""
    return bool(_PLACEHOLDER.match(value.strip().strip("\"'`")))


_STATES = lazy_regex(
    r"^(?:[a-z]{2,}(?:ed|ing|tion|sion|ment|ness|able|ible|ity|ance|ence|ally|ful|less|ism|ology|ure|ory|ings|tions|ers|ies)|un[a-z]{3,}"
    r"|[a-z]{2,}(?:ung|keit|heit|lich|isch|ieren|iert|ción|miento|ado|ada|ement|toire|eur|euse))$",
    re.IGNORECASE,
)
_STAND_IN = lazy_regex(
    r"^(?:your|my|the|some|any|test|dummy|fake|sample|new|old|db|app|user)[\w-]*(?:pass(?:word|wd)?|pwd|secret|token|key|name)$", re.IGNORECASE
)  # fmt: skip
ORDINARY = frozenset(
    ["about", "above", "access", "account", "accounts", "actual", "after", "again", "agent", "alias", "aliases", "all", "always", "and", "any", "anything", "apis", "app", "apps", "argument", "arguments", "array", "async", "auto", "aws", "azure", "back", "base", "basic", "bearer", "because", "before", "below", "best", "better", "beyond", "both", "bool", "boolean", "browser", "bucket", "buckets", "build", "builder", "bug", "but", "byte", "bytes", "cache", "call", "callback", "can", "case", "chain", "change", "changes", "char", "chars", "check", "class", "claim", "claims", "clear", "cli", "client", "clients", "cloud", "code", "codes", "column", "common", "complex", "config", "configs", "console", "constant", "context", "cookie", "cookies", "copy", "core", "count", "create", "credential", "credentials", "custom", "daily", "data", "database", "date", "dates", "db", "debug", "default", "defaults", "delete", "detail", "details", "dev", "device", "dialog", "dict", "digest", "disabled", "docs", "document", "done", "double", "each", "edit", "email", "empty", "enabled", "encoded", "end", "endpoint", "enter", "entry", "enum", "env", "error", "errors", "event", "events", "every", "example", "examples", "expiry", "expired", "export", "extra", "fail", "false", "feature", "field", "fields", "file", "files", "first", "fix", "flag", "flags", "float", "flow", "folder", "font", "for", "form", "format", "forms", "forgot", "free", "from", "full", "func", "function", "generic", "get", "global", "group", "groups", "guide", "handle", "handler", "hash", "hashes", "header", "headers", "help", "here", "hidden", "high", "hint", "hints", "history", "host", "how", "html", "http", "https", "icon", "ignore", "import", "in", "index", "info", "init", "inline", "input", "inputs", "int", "integer", "internal", "internals", "into", "is", "issue", "it", "item", "items", "its", "json", "jwt", "keep", "key", "keys", "kind", "kubernetes", "label", "labels", "last", "later", "latest", "layer", "lazy", "length", "level", "library", "limit", "limits", "line", "link", "list", "lists", "literal", "load", "local", "lock", "log", "login", "logs", "long", "loop", "lost", "low", "mail", "main", "make", "manager", "map", "mask", "match", "max", "maybe", "memory", "menu", "message", "meta", "method", "min", "minimum", "mode", "model", "module", "more", "most", "must", "name", "names", "need", "new", "next", "no", "node", "none", "normal", "not", "note", "notes", "nothing", "now", "null", "number", "object", "oauth", "off", "often", "old", "on", "once", "one", "only", "open", "option", "optional", "options", "or", "order", "other", "our", "out", "output", "over", "owner", "page", "pages", "panel", "param", "params", "parent", "parse", "part", "path", "paths", "per", "phrase", "phrases", "place", "plain", "plaintext", "policies", "policy", "pool", "port", "post", "prefix", "print", "private", "process", "profile", "prompt", "prompts", "proper", "props", "proxy", "public", "push", "query", "queue", "random", "range", "rate", "raw", "read", "ready", "real", "reason", "record", "redis", "ref", "refresh", "regex", "region", "release", "reload", "remote", "remove", "repo", "request", "require", "reset", "resource", "response", "rest", "result", "results", "retry", "return", "review", "role", "roles", "root", "rotate", "rotates", "rotation", "row", "rule", "rules", "run", "safe", "salt", "same", "santa", "sauce", "save", "schema", "scheme", "scope", "scopes", "score", "screen", "script", "search", "section", "security", "see", "select", "self", "send", "server", "service", "services", "session", "sessions", "set", "sets", "setting", "settings", "setup", "shape", "share", "short", "should", "show", "sign", "signin", "signup", "simple", "single", "size", "skip", "some", "source", "sources", "space", "spec", "split", "ssl", "ssh", "stage", "staging", "standard", "start", "state", "state", "static", "status", "step", "still", "storage", "store", "stores", "str", "strategy", "stream", "strength", "string", "strings", "strong", "style", "suite", "support", "sync", "system", "table", "tables", "tag", "task", "team", "temp", "template", "test", "tests", "text", "the", "their", "them", "then", "there", "they", "thing", "this", "tier", "time", "timeout", "times", "title", "to", "today", "todo", "token", "tokens", "tool", "tools", "topic", "true", "turn", "two", "type", "types", "typed", "ui", "undefined", "unique", "unit", "unknown", "unless", "until", "up", "update", "upload", "url", "urls", "usage", "use", "used", "user", "username", "users", "uses", "using", "utils", "uuid", "valid", "value", "values", "var", "variable", "variables", "vault", "version", "via", "view", "visible", "void", "volume", "wait", "warn", "weak", "web", "weekly", "what", "when", "where", "which", "while", "who", "why", "widget", "width", "will", "window", "with", "within", "without", "word", "words", "work", "worker", "write", "wrong", "xml", "yaml", "yes", "yet", "you", "your", "zero", "zone", "agility", "angular", "bcrypt", "argon", "argon2", "scrypt", "sha256", "md5", "erforderlich", "leer", "optional", "pflichtfeld", "vergessen", "ändern", "obligatoire", "requis", "oublié", "vide", "facultatif", "obligatorio", "requerido", "vacío", "olvidada", "opcional", "patience", "recipe", "weapon", "ingredient", "garden", "service", "society", "police", "agent", "agents", "handshake", "life", "success", "happiness", "keeping", "meeting"]
)  # fmt: skip


def is_ordinary(word: str) -> bool:
    """Whether `word` is a word of everyday technical prose, or a placeholder."""
    return (
        word.lower() in ORDINARY
        or any(rule.match(word) for rule in (_STATES, _STAND_IN))
        or is_placeholder(word)
    )


def _never(_: str) -> bool:
    return False


def _not_secret_like(value: str) -> bool:
    """Whether a value after a secret-like name is no secret: a placeholder, a reference, a name in code, or a plain word."""
    value = value.strip().strip("\"'`,;")
    if (
        len(value) < 6
        or is_placeholder(value)
        or _NEXT_NAME.match(value)
        or _CODE_NAME.match(value)
        or REFERENCE.match(value)
    ):
        return True
    return value.isascii() and value.isalpha() and (value.islower() or value.istitle() or value.isupper())


def _not_prose_secret(value: str) -> bool:
    """Whether a value in a sentence such as `the password is ...` is no secret: it needs letters with digits, or a rare sign."""
    value = value.strip().rstrip(".,;:!?").strip("\"'`*_()")
    if (
        len(value) < 6
        or any(rule.match(value) for rule in (_CODE_NAME, TECHNICAL, REFERENCE, _CALL))
        or is_placeholder(value)
    ):
        return True
    return not (any(ch.isdigit() for ch in value) and any(ch.isalpha() for ch in value)) and not re.search(
        r"[^\w\s.,;:'\"()/-]", value
    )


def _low_entropy(value: str) -> bool:
    """Whether a bare value beside a secret-like name is no secret: a placeholder, a UUID, several words, or low entropy."""
    words = [segment for segment in re.split(r"[_/.+=-]", value) if len(segment) >= 3 and segment.isalpha()]
    return is_placeholder(value) or bool(UUID.fullmatch(value)) or len(words) >= 3 or entropy(value) < 3.2


@frozen
class SecretShape:
    """A kind of secret that a pattern finds.

    Attributes:
        innocent: whether a matched value is no secret.
        reach: for a costly pattern whose every match holds one of `held`: how many lines that are not blank a match spans
            at most before and after that word's own; it is tried there alone. None = tried on the whole text.
        held: in lower case; by default the keywords. Other words may be needed to tell a secret by than to find where it may be.
    """

    kind: str
    keywords: tuple[str, ...]
    pattern: re.Pattern[str]
    innocent: Callable[[str], bool] = _never
    reach: tuple[int, int] | None = None
    held: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.held:
            object.__setattr__(self, "held", self.keywords)

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield the places of secrets of this kind in `text`, in order, as start and end."""
        named = "secret" in self.pattern.groupindex
        for match in self.pattern.finditer(text):
            group = "secret" if named and match["secret"] is not None else 0
            if match[group] and not self.innocent(match[group]):
                yield match.span(group)


@frozen
class Finder:
    """A kind of secret that takes more than a pattern to find: a function finds it.

    Attributes:
        find: yields start and end of the values; each line is searched on its own.
        keywords: one of them is on every line with a find, in lower case.
    """

    kind: str
    keywords: tuple[str, ...]
    find: Callable[[str], Iterable[tuple[int, int]]]
    reach: tuple[int, int] | None = (0, 0)

    @property
    def held(self) -> tuple[str, ...]:
        """Return the keywords. `find` is applied only near them."""
        return self.keywords

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield the places of secrets of this kind in `text`, in order and without overlaps, as start and end."""
        done = 0
        for start, end in sorted(self.find(text)):
            if start >= done:
                yield start, end
                done = end


def shape(
    kind: str,
    keywords: str,
    pattern: str,
    innocent: Callable[[str], bool] = is_placeholder,
    flags: int = 0,
    *,
    reach: tuple[int, int] | None = None,
    held: str = "",
) -> SecretShape:
    """Make a `SecretShape`. `keywords` and `held` are separated by blanks."""
    return SecretShape(
        kind=kind,
        keywords=tuple(keywords.split()),
        pattern=lazy_regex(pattern, flags),
        innocent=innocent,
        reach=reach,
        held=tuple(held.split()),
    )


_NAME = (
    r"(?:[\w.-]*(?:pass(?:word|wd|phrase|code)|(?<=[_.-])pass|(?<![\w.-])pass(?=\s{0,40}=)|pwd|secret|token|api[_-]?key|apikey|app(?:lication)?[_-]?key|auth[_-]?key|access[_-]?key"
    r"|private[_-]?key|client[_-]?secret|credentials?|encryption[_-]?key|signing[_-]?key|webhook[_-]?secret|dsn)(?:[_-]?(?:key|value|id|prod|dev|test|live|staging|\d+))?)"
)
_SET = r"(?<![\w./-])(?=[\w.-]++[\"'`]?\s*+[:=,])"  # a name that a value may follow; where none does, nothing else is tried
_NAME_WORDS = "pass pwd secret token key credential dsn"
_B = r"(?<![A-Za-z0-9_])"  # a token starts here
_E = r"(?![A-Za-z0-9_-])"  # and ends here

SHAPES: tuple[SecretShape, ...] = (
    shape(
        "private_key", "-----begin",
        r"-----BEGIN (?:[A-Z0-9 ]+ )?PRIVATE KEY(?: BLOCK)?-----(?=(?:\s|\\[nr]|[\w-]+: [^\n]*\n|[\"'+,])*[A-Za-z0-9+/=]{16}).*?(?:-----END (?:[A-Z0-9 ]+ )?PRIVATE KEY(?: BLOCK)?-----|\Z)",
        _never, re.DOTALL,
    ),
    shape("putty_key", "putty-user-key-file", r"PuTTY-User-Key-File-\d:.*?(?:Private-MAC: ?\w+|\Z)", _never, re.DOTALL),
    shape("age_key", "age-secret-key-", r"AGE-SECRET-KEY-1[0-9A-Z]{20,}", flags=re.IGNORECASE),
    shape("url_credentials", "://", r"(?<![A-Za-z0-9+.-])[A-Za-z][A-Za-z0-9+.-]{0,60}://[^\s/:@\"'<>]*:(?P<secret>[^\s/@\"'<>]{3,4000}|[^\s@\"'<>]{3,4000}(?=@[\w.-]))@"),
    shape("url_token", "://", r"https?://(?P<secret>[A-Za-z0-9_-]{20,})@"),
    shape("aws_access_key", "akia asia abia acca agpa aida aroa", rf"{_B}(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{{16}}{_E}"),
    shape("aws_secret_key", "aws", r"(?i:aws[\w .-]{0,30}?(?:secret|key|sk)[\w .\"'-]{0,20}?)\s{0,40}[:=]?\s{0,40}[\"'`]?(?P<secret>(?=[A-Za-z0-9/+]*[0-9])(?=[A-Za-z0-9/+]*[A-Z])[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])"),
    shape("github_token", "ghp_ gho_ ghu_ ghs_ ghr_", rf"{_B}gh[pousr]_[A-Za-z0-9]{{20,255}}"),
    shape("github_token", "github_pat_", rf"{_B}github_pat_[A-Za-z0-9_]{{20,255}}"),
    shape("gitlab_token", "glpat- gldt- glrt- glcbt- glptt- glft- glsoat- gloas- glagent-", rf"{_B}gl(?:pat|dt|rt|cbt|ptt|ft|soat|oas|agent)-[A-Za-z0-9_.-]{{16,}}"),
    shape("slack_token", "xox xapp-", rf"{_B}(?:xox[abeoprs]|xoxe\.xox[bp]|xapp)-[A-Za-z0-9-]{{10,}}"),
    shape("slack_webhook", "hooks.slack.com", r"hooks\.slack\.com/(?:services|workflows|triggers)/(?P<secret>[A-Za-z0-9/_+-]{20,})"),
    shape("discord_webhook", "/api/webhooks/", r"discord(?:app)?\.com/api(?:/v\d+)?/webhooks/\d+/(?P<secret>[\w-]{30,})"),
    shape("stripe_key", "sk_live_ sk_test_ rk_live_ rk_test_ pk_live_ whsec_", rf"{_B}(?:(?:sk|rk)_(?:live|test)|pk_live)_[A-Za-z0-9]{{10,}}|{_B}whsec_[A-Za-z0-9+/=]{{16,}}"),
    shape("google_api_key", "aiza", rf"{_B}AIza[A-Za-z0-9_-]{{30,}}"),
    shape("google_oauth", "gocspx- ya29. 1//0", rf"{_B}(?:GOCSPX-[A-Za-z0-9_-]{{20,}}|ya29\.[A-Za-z0-9_.-]{{20,}}|1//0[A-Za-z0-9_-]{{30,}})"),
    shape("anthropic_key", "sk-ant-", rf"{_B}sk-ant-[A-Za-z0-9_-]{{16,}}"),
    shape("openrouter_key", "sk-or-", rf"{_B}sk-or-[A-Za-z0-9_-]{{16,}}"),
    shape("openai_key", "sk- sess-", rf"{_B}(?:sk-(?:proj|svcacct|admin|None)-[A-Za-z0-9_-]{{16,}}|sk-[A-Za-z0-9]{{20,}}|sess-[A-Za-z0-9]{{30,}})"),
    shape("huggingface_token", "hf_ api_org_", rf"{_B}(?:hf|api_org)_[A-Za-z0-9]{{20,}}"),
    shape("groq_key", "gsk_ xai- pplx- r8_ nvapi- fw_ csk- tvly-", rf"{_B}(?:gsk_|xai-|pplx-|r8_|nvapi-|fw_|csk-|tvly-)[A-Za-z0-9_-]{{20,}}"),
    shape("npm_token", "npm_ _authtoken", rf"{_B}npm_[A-Za-z0-9]{{20,}}|_authToken\s{{0,40}}=\s{{0,40}}(?P<secret>[^\s\"'$]{{8,}})"),
    shape("pypi_token", "pypi-", rf"{_B}pypi-[A-Za-z0-9_-]{{16,}}"),
    shape("package_token", "rubygems_ dckr_pat_ dckr_oat_ cio oy2", rf"{_B}(?:rubygems_[a-f0-9]{{40,}}|dckr_[po]at_[A-Za-z0-9_-]{{20,}}|cio[A-Za-z0-9]{{32}}|oy2[a-z0-9]{{43}}){_E}"),
    shape("azure_key", "accountkey sharedaccesskey", r"(?i:AccountKey|SharedAccessKey)\s{0,40}=\s{0,40}(?P<secret>[A-Za-z0-9+/=]{20,})"),
    shape("azure_sas", "sig=", r"[?&;]?\bsig=(?P<secret>[A-Za-z0-9%+/=_-]{20,})"),
    shape("azure_secret", "8q~ 7q~", r"[A-Za-z0-9_~.-]{3}[78]Q~[A-Za-z0-9_~.-]{31,34}"),
    shape("sendgrid_key", "sg.", rf"{_B}SG\.[A-Za-z0-9_-]{{10,}}\.[A-Za-z0-9_-]{{10,}}"),
    shape("mail_key", "key- xkeysib- mailgun -us", rf"{_B}(?:key-[a-f0-9]{{32}}|xkeysib-[a-f0-9]{{40,}}(?:-[A-Za-z0-9]+)?|[a-f0-9]{{32}}-us\d{{1,2}}){_E}"),
    shape("twilio_key", "twilio sk ac auth", rf"{_B}SK[a-f0-9]{{32}}{_E}|(?i:twilio)[^\n]{{0,40}}?(?P<secret>(?<![0-9A-Za-z])[a-f0-9]{{32}}){_E}"),
    shape("telegram_token", ":a", r"(?<![\w-])(?:bot)?(?P<secret>\d{8,10}:AA[A-Za-z0-9_-]{32,33})(?![\w-])", reach=(0, 0)),
    shape("discord_token", ".", r"(?<![\w.-])[MNO][A-Za-z\d_-]{22,27}\.[A-Za-z\d_-]{6}\.[A-Za-z\d_-]{27,}(?![\w-])"),
    shape("jwt", "eyj", r"(?<![\w-])eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_-]*)?"),
    shape("digitalocean_token", "dop_v1_ doo_v1_ dor_v1_", rf"{_B}do[opr]_v1_[a-f0-9]{{32,}}"),
    shape("shopify_token", "shpat_ shpss_ shpca_ shppa_", rf"{_B}shp(?:at|ss|ca|pa)_[A-Fa-f0-9]{{20,}}"),
    shape("vault_token", "hvs. hvb. hvr. s.", rf"{_B}hv[sbr]\.[A-Za-z0-9_-]{{20,}}"),
    shape("service_token", "lin_api_ figd_ ntn_ secret_ glsa_ pul- dapi phc_ phx_ pscale_ sntry sbp_ sb_secret_ fo1_ rnd_ dp. eaac nrak- nfp_ atatt3 at3 patk exavault", rf"{_B}(?:lin_(?:api|oauth)_[A-Za-z0-9]{{20,}}|figd_[\w-]{{20,}}|ntn_[A-Za-z0-9]{{30,}}|secret_[A-Za-z0-9]{{32,}}|glsa_[A-Za-z0-9_]{{20,}}|pul-[a-f0-9]{{40}}|dapi[a-f0-9]{{32}}(?:-\d)?|ph[cx]_[A-Za-z0-9]{{30,}}|pscale_(?:tkn|oauth|pw)_[\w.=-]{{20,}}|sntry[su]_[A-Za-z0-9+/=_]{{20,}}|sb(?:p|_secret)_[A-Za-z0-9_]{{20,}}|fo1_[\w-]{{20,}}|rnd_[A-Za-z0-9]{{20,}}|dp\.(?:pt|st|ct|sa)\.[A-Za-z0-9.]{{20,}}|EAAC[A-Za-z0-9]{{20,}}|NRAK-[A-Z0-9]{{20,}}|nfp_[A-Za-z0-9]{{30,}}|ATATT3[A-Za-z0-9_=-]{{20,}}){_E}"),
    shape("auth_header", "authorization bearer basic", r"(?i:authorization[\"']?\s{0,40}[:=]\s{0,40}[\"']?\s{0,40}(?:bearer|basic|token|digest|apikey)?\s{1,40}|\b(?:bearer|basic)\s{1,40})(?P<secret>(?=[A-Za-z0-9._~+/=-]*[0-9A-Z])[A-Za-z0-9._~+/=-]{12,})"),
    shape("api_header", "x- api-key apikey", r"(?i:\bx-[\w-]{0,60}(?:key|token|secret|auth)[\w-]{0,60}[\"']?\s{0,40}:\s{0,40}[\"']?)(?P<secret>[^\s\"',;]{8,})", _not_secret_like),
    shape("cookie", "cookie", r"(?i:(?:set-)?cookie:\s{0,40}[\w.-]+=)(?P<secret>[^\s;\"']{16,})"),
    shape("cli_password", "-u --user", r"(?:^|(?<=[\s;&|]))(?:-u|--user|--proxy-user)[ =]?[\"']?[\w.@+-]+:(?P<secret>[^\s\"'@]{3,})"),
    shape("cli_password", "mysql mariadb sshpass mongo redis-cli psql 7z zip openssl docker", r"(?:\b(?:mysql\w*|mariadb\w*)\b[^\n|;]*?\s-p|\bsshpass\s{1,40}-p\s{0,40}|\bredis-cli\b[^\n|;]*?\s-a\s{0,40}|\bmongo\w*\b[^\n|;]*?\s-p\s{1,40}|\bdocker login\b[^\n|;]*?\s-p\s{1,40}|\b7z\b[^\n|;]*?\s-p)[\"']?(?P<secret>[^\s\"'-][^\s\"']{2,})"),
    shape("cli_password", "--pass --token --secret --api --auth --key", r"--(?:[\w-]{0,60}(?:password|passwd|passphrase|pass|token|secret|api-?key|auth-?key|access-?key))[ =][\"']?(?P<secret>[^\s\"'-][^\s\"']{5,})", _not_secret_like),
    shape("cli_password", "pass:", r"\bpass:(?P<secret>[^\s\"']{4,})", _not_secret_like, reach=(0, 0)),
    shape("cookie", "cookie", r"(?i:(?:session|sess|sid|auth|token|csrf|xsrf|jwt)[\w.-]{0,60}=)(?P<secret>[^\s;,\"']{16,})"),
    shape("spoken_secret", "passphrase password", r"(?i:\bpass(?:phrase|word)(?:'s)?(?:\s{0,40}|\b[^\"'`\n]{0,60}?(?:is|was|:|=|to|of|use|with|now)\s{0,40}))[\"'`](?P<secret>[^\"'`\s]+(?: [^\"'`\s]+){2,}|[a-z]+(?:-[a-z0-9]+){3,})[\"'`]", is_placeholder, reach=(0, 2)),
    shape("secret_assignment", "variable", r"variable\s{1,40}\"[^\"]{0,100}(?i:password|passwd|secret|token|key|credential)[^\"]{0,100}\"\s{0,40}\{[^}]{0,2000}?\bdefault\s{0,40}=\s{0,40}\"(?P<secret>[^\"\n]{6,})\"", _not_secret_like),
    shape("spoken_secret", "login log sign cred account user admin pass root", r"(?:(?<=[\s\"'`(:])|^)[\w.@+-]{2,}\s?/\s?(?P<secret>(?=[^\s/]*\d)(?=[^\s/]*[a-z])(?=[^\s/]*[A-Z])(?=[^\s/]*[!@#$%^&*?+=~])[^\s\"'`/<>]{8,})(?=[\s\"'`.,;)]|$)", _not_prose_secret),
    shape("secret_assignment", _NAME_WORDS, rf"{_SET}(?i:{_NAME})[\"'`]\s{{0,40}},\s{{0,40}}[\"'`](?P<secret>[^\"'`\s]{{8,}})[\"'`]", _not_secret_like, reach=(0, 2)),
    shape("secret_assignment", _NAME_WORDS, rf"(?i:\bname\b[\"']?\s{{0,40}}[:=]\s{{0,40}}[\"']?{_NAME}[\"']?\s{{0,40}},?\s{{0,40}}\n?\s{{0,40}}[\"']?value\b)[\"']?\s{{0,40}}[:=]\s{{0,40}}[\"']?(?P<secret>[^\s\"'`,]{{6,}})", _not_secret_like, reach=(2, 4)),
    shape("monitoring_key", "datadog relic algolia mailchimp pagerduty segment amplitude mixpanel honeycomb dd_ dd-", r"(?i:\b(?:datadog|dd[_-]|new ?relic|algolia|mailchimp|pagerduty|segment|amplitude|mixpanel|honeycomb)[^\n]{0,80}?\b(?:key|app|api|token)s?\b[^\n]{0,60}?)(?<![\w-])(?P<secret>[0-9a-f]{32}|[0-9a-f]{40})(?![\w-])"),
    shape("netrc", "machine", r"\bmachine\s{1,40}\S+\s{1,40}login\s{1,40}\S+\s{1,40}password\s{1,40}(?P<secret>\S{3,})"),
    shape("secret_assignment", _NAME_WORDS, rf"{_SET}(?i:{_NAME})[\"'`]?\s{{0,40}}(?::=|=>|[:=])\s{{0,40}}(?P<quote>[\"'`])(?P<secret>(?:(?!(?P=quote))[^\n]){{6,}})(?P=quote)", _not_secret_like, reach=(0, 2)),
    shape("secret_assignment", _NAME_WORDS, rf"{_SET}(?i:{_NAME})[\"'`]?\s{{0,40}}(?::=|=>|=|:(?=\s))\s{{0,40}}(?P<secret>[^\s\"'`,;<>(){{}}\[\]]{{6,}}+)(?![(\[])", _not_secret_like, reach=(0, 2)),
    shape("spoken_secret", "pass pin pwd secret token key credential", r"(?i:\b(?:password|passwd|passphrase|passcode|pwd|secret|token|api[ -]?key|credentials?|login)\b(?:\s{1,40}(?:for|of|to|on|in)\s{1,40}(?:(?:the|our|my)\s{1,40})?[\w.@/-]+(?:\s{1,40}[\w.@/-]+){0,4}?)?\s{1,40}(?:is(?: now| currently| still)?|was|=|to|are|will be|set to|of|as)\s{0,40}:?\s{0,40})(?P<secret>[\"'`][^\"'`\n]{4,}[\"'`]|[^\s\"'`<>]{6,})", _not_prose_secret, reach=(0, 12), held="pass pwd secret token key credential login"),
    shape("spoken_secret", "pass pwd", r"(?i:\b(?:password|passwd|pwd|passphrase)(?:'s)?\s{0,40}[:,]?\s{1,40}(?:for [\w.@-]+\s{1,40})?)(?P<secret>(?=\S*\d)(?=\S*[A-Za-z])[^\s\"'`<>]{6,}|[\"'`](?=[^\"'`\n]*\d)[^\"'`\n]{6,}[\"'`])", _not_prose_secret, reach=(0, 3)),
    shape("high_entropy", _NAME_WORDS, r"(?i:(?<![\w-])[\w-]{0,80}?(?:secret|token|api[ _-]?key|app(?:lication)?[ _-]?key|access[ _-]?key|private[ _-]?key|signing[ _-]?key|encryption[ _-]?key|credential|password)s?\b)[^\n]{0,24}?(?<![\w/.+-])(?P<secret>(?=[A-Za-z0-9+/_=-]*[0-9])(?=[A-Za-z0-9+/_=-]*[A-Za-z])[A-Za-z0-9+/_=-]{24,})(?![\w/.])", _low_entropy, reach=(0, 0)),
)  # fmt: skip


_HEX_UUID = r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}"

# (words of which one must be in the lower-case text, the form)
_FORMS: tuple[tuple[str, str], ...] = (
    ("a3-", r"A3-[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3}"),
    ("ops_", r"ops_[A-Za-z0-9+/]{40,}={0,3}"),
    ("p8e-", r"p8e-[A-Za-z0-9]{32}"),
    ("ltai", r"LTAI[A-Za-z0-9]{12,24}"),
    ("akcp cmvmd", r"(?:AKCp[A-Za-z0-9]{60,}|cmVmd[A-Za-z0-9]{50,})"),
    ("absk", r"ABSK[A-Za-z0-9+/]{60,}={0,2}"),
    ("clojars_", r"CLOJARS_[A-Za-z0-9]{40,}"),
    ("v1.0-", r"v1\.0-[a-f0-9]{24}-[a-f0-9]{100,}"),
    ("duffel_", r"duffel_(?:test|live)_[\w=-]{30,}"),
    ("dt0", r"dt0[a-z]\d{2}\.[A-Z0-9]{8,24}\.[A-Z0-9]{64}"),
    ("ezak eztk", r"EZ[AT]K[A-Za-z0-9]{40,}"),
    ("eaa", r"EAA[A-Za-z0-9][A-Za-z0-9_-]{50,}"),
    ("flwseck flwpubk", r"FLW(?:SECK|PUBK)(?:_TEST)?-[a-f0-9]{12,}(?:-X)?"),
    ("fm1r_ fm1a_ fm2_", r"fm(?:1[ra]|2)_[A-Za-z0-9+/=_-]{40,}"),
    ("fio-u-", r"fio-u-[\w=-]{40,}"),
    ("glc_ eyjrijoi", r"(?:glc_[A-Za-z0-9+/=]{30,}|eyJrIjoi[A-Za-z0-9+/=_-]{40,})"),
    ("pat. sat.", r"[ps]at\.[A-Za-z0-9_-]{22}\.[a-f0-9A-Z]{24}\.[A-Za-z0-9]{20}"),
    (".atlasv1.", r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{40,}"),
    ("hrku-", r"HRKU-[A-Za-z0-9_-]{20,}"),
    ("ico-", r"ico-[A-Za-z0-9]{32}"),
    ("k.eyj", r"[sp]k\.eyJ[A-Za-z0-9_-]{30,}\.[A-Za-z0-9_-]{20,}"),
    ("_mmk", r"[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk"),
    ("webhook.office.com", r"webhook\.office\.com/webhookb2/(?P<a>[\w@./-]{60,})"),
    ("nrak- nraa- nrra- nrii- nriq- nrbr- nrjs- nrsp-", r"NR(?:AK|AA|RA|II|IQ|BR|JS|SP)-[A-Za-z0-9_-]{20,}"),
    ("sha256~", r"sha256~[\w-]{43}"),
    ("pmak-", r"PMAK-[a-f0-9]{24}-[a-f0-9]{34}"),
    ("pnu_ rdme_ sgp_ tfp_", r"(?:pnu_[A-Za-z0-9]{36}|rdme_[a-z0-9]{60,}|sgp_(?:[a-f0-9]{16}_|local_)?[a-f0-9]{40}|tfp_[\w.=-]{50,})"),
    ("tk-us-", r"tk-us-[\w-]{40,}"),
    ("sm_", r"sm_(?:aat|pat|sat)_[A-Za-z0-9]{16,}"),
    ("shippo_", r"shippo_(?:live|test)_[a-f0-9]{40}"),
    ("sq0", r"sq0[a-z]{3}-[\w-]{20,}"),
    ("aqvn t1.", r"(?:AQVN[A-Za-z0-9_-]{30,}|t1\.[A-Z0-9a-z_-]+[=]{0,2}\.[A-Z0-9a-z_-]{86}={0,2})"),
    ("lsv2_ -lf-", rf"(?:lsv2_(?:pt|sk)_[a-f0-9]{{32}}_[a-f0-9]{{10}}|[sp]k-lf-{_HEX_UUID})"),
    ("pcsk_ jina_ tgp_v1_ napi_", r"(?:pcsk_[A-Za-z0-9_]{40,}|jina_[A-Za-z0-9]{40,}|tgp_v1_[\w-]{40,}|napi_[a-z0-9]{40,})"),
    ("pa- fc- al-", r"(?:pa-[A-Za-z0-9_-]{40,48}|fc-[a-f0-9]{32}|al-[A-Za-z0-9_-]{40,48})"),
    ("re_", r"re_[A-Za-z0-9]{6,12}_[A-Za-z0-9]{20,}"),
    ("ccipat_ bkua_", r"(?:CCIPAT_[A-Za-z0-9]{16,}_[a-f0-9]{40}|bkua_[a-f0-9]{40})"),
    ("sqp_ squ_ sqa_", r"sq[pua]_[a-f0-9]{40}"),
    ("cfpat- cfpat_", r"CFPAT[-_][\w-]{40,}"),
    ("pat", r"pat[A-Za-z0-9]{14}\.[a-f0-9]{64}"),
    ("pat-", rf"pat-[a-z]{{2}}\d-{_HEX_UUID}"),
    ("access-sandbox- access-production- access-development-", rf"access-(?:sandbox|development|production)-{_HEX_UUID}"),
    ("access_token$", r"access_token\$(?:production|sandbox)\$[a-z0-9]{16}\$[a-f0-9]{32}"),
    ("rzp_", r"rzp_(?:live|test)_[A-Za-z0-9]{14,}"),
    ("tskey-", r"tskey-[a-z]+-[A-Za-z0-9]{8,}(?:-[A-Za-z0-9]{16,})?"),
    ("sdk- mob- api-", rf"(?:sdk|mob|api)-{_HEX_UUID}"),
    ("hcaik_ hcxik_ hcamk_", r"hc[ax][a-z]k_[a-z0-9]{40,}"),
    ("aaaaaaaa", r"A{16,}[A-Za-z0-9%]{40,}"),
    (":apa91b", r"AAAA[A-Za-z0-9_-]{7}:APA91b[A-Za-z0-9_-]{100,}"),
    ("atbb atctt3", r"(?:ATBB[A-Za-z0-9]{32}|ATCTT3[A-Za-z0-9_=-]{40,})"),
    ("vercel_blob_rw_ vcp_ vca_", r"(?:vercel_blob_rw_[A-Za-z0-9_]{30,}|vc[pa]_[A-Za-z0-9]{20,})"),
    ("oauth:", r"oauth:[a-z0-9]{30}"),
    ("xprv tprv", r"[xt]prv[1-9A-HJ-NP-Za-km-z]{100,}"),
    ("gr1348941 glffct- glimt-", r"(?:GR1348941[\w-]{20,}|gl(?:ffct|imt)-[\w-]{20,})"),
    ("azdo", r"[A-Za-z0-9]{70,80}AZDO[A-Za-z0-9]{4}"),
    ("$2", r"\$2[abxy]\$\d{2}\$[./A-Za-z0-9]{53}"),
    ("$1$ $5$ $6$ $apr1$ $y$", r"\$(?:1|5|6|apr1|y)\$(?:rounds=\d+\$)?[./A-Za-z0-9$]{1,40}\$[./A-Za-z0-9]{20,}"),
    ("$argon2 $scrypt$ $pbkdf2", r"\$(?:argon2(?:id|[id])|scrypt|pbkdf2[\w-]*)\$[\w=,.$+/-]{30,}"),
    ("xoxe-", r"xoxe-\d-[A-Za-z0-9]{100,}"),
    ("mfa.", r"mfa\.[\w-]{80,}"),
    ("amzn", r"amzn\.mws\." + _HEX_UUID),
    ("sl.", r"sl\.(?:u\.)?[A-Za-z0-9_-]{100,}"),
    ("shpua_ shpit_", r"shp(?:ua|it)_[a-fA-F0-9]{32}"),
    ("sk_ secret-", r"(?:sk_[a-f0-9]{40,}|secret-[A-Za-z0-9]{40,})"),
)  # fmt: skip

_VENDOR_WORDS = (
    "adafruit airtable algolia alibaba amplitude asana assemblyai atlassian auth0 backblaze bamboo bitbucket bitly bittrex braintree brave"
    " buildkite bugsnag cloudflare codecov cohere coinbase confluence confluent contentful coveralls datadog deepgram deepseek"
    " digicert digitalocean docusign dropbox dynatrace elastic elevenlabs etsy fastly finnhub freshdesk giphy gitea gitter gocardless"
    " grafana groq hashicorp heroku honeycomb hubspot intercom jfrog jira jumpcloud kraken kucoin launchdarkly linkedin lob looker"
    " mailchimp mailgun mapbox mattermost messagebird mistral mixpanel netlify new_relic newrelic nylas okta openai opsgenie pagerduty"
    " paypal pendo pinecone plaid postmark pusher rapidapi replicate rollbar segment sendbird sendgrid sentry serper shodan snyk sonar"
    " sonarqube splunk spotify squarespace stability stytch sumologic telnyx tenable travis trello twilio twitch twitter typesense"
    " unsplash upstash vonage wandb weatherapi workos yandex zapier zendesk zoom"
)  # fmt: skip
_VENDORS = tuple(_VENDOR_WORDS.split())

_SHOWN = lazy_regex(
    r"example|x{6,}|\*{3,}|\.{3,}|your[_-]?|1234567890abcdef|0123456789abcdef|abcdefghijklmnop", re.IGNORECASE
)
_LINK = r"(?:[\"'`]?\s{0,3}(?:=>|:=|[:=>,])\s{0,3}|[\"'`]?\s{1,40}(?:is|was|to|login)\s{1,40}|\s{1,40})"
_NAMED = r"(?:key|token|secret|auth|login|password|credential|pat|dsn|server|api)s?"

# What stands between a host and the host's path: `vendor.com/...` is an address, not a name of a value.
_VENDOR = rf"(?<![\w./@-])(?:[\w-]{{0,30}}[_-])?(?:{'|'.join(_VENDORS)})(?!\.\w)"


def _for_show(value: str) -> bool:
    """Whether a token is an example in documentation: it says so, or has few different characters."""
    return bool(_SHOWN.search(value)) or len(set(value)) < 8


def _no_token(value: str) -> bool:
    """Whether a value is no token: a placeholder, words, fewer than two digits, or low entropy."""
    value = value.strip("\"'`.,;")
    digits = sum(ch.isdigit() for ch in value)
    words = [segment for segment in re.split(r"[_/.+=\-]", value) if len(segment) >= 3 and segment.isalpha()]
    return is_placeholder(value) or digits < 2 or len(words) >= 3 or entropy(value) < 3.0


def _no_pair(value: str) -> bool:
    """Whether the second half of `either/or` or of a path is no secret: a file, a version, or a short name with a number."""
    value = value.strip("\"'`.,;")
    return is_placeholder(value) or bool(
        re.match(r"^v?\d+(?:[.\d]*\d)?[a-z]?$|.*\.[a-z]{1,5}\d?$|^[a-z]{1,6}\d{1,3}$", value, re.IGNORECASE)
    )


ISSUER_SHAPES: tuple[SecretShape, ...] = (
    *(
        shape("issued_token", keywords, rf"(?<![A-Za-z0-9_-]){form}(?![A-Za-z0-9])", innocent=_for_show)
        for keywords, form in _FORMS
    ),
    # A vendor's name, then a word that says key or token and an opaque value behind it; or the name set to such a value.
    # What ends in `id`, `url` or the like is no key.
    shape(
        "vendor_key", " ".join(_VENDORS),
        rf"(?i:{_VENDOR}(?:(?:[ _.-]+\w+){{0,3}}?[ _.-]{{0,2}}{_NAMED}\b(?:[ \t]+(?!is\b|was\b|to\b)[A-Za-z]+){{0,2}}{_LINK}"
        rf"|[\w-]{{0,24}}(?<!id)(?<!url)(?<!name)(?<!org)(?<!project)(?<!team)(?<!version)(?<!hash)(?<!sha)[\"'`]?\s{{0,2}}(?:=>|:=|[:=])\s{{0,2}}))"
        rf"[\"'`]?(?P<secret>(?:{_HEX_UUID}|[A-Za-z0-9_=+/.-]{{16,}}))(?![\w])",
        innocent=_no_token,
        reach=(0, 2),
    ),
    # Names that say secret and are set to bare digits of base 16 or 64, which other rules take for hashes.
    shape(
        "secret_assignment", "key_base master_key hmac",
        r"(?i:(?:secret[_-]key[_-]base|master[_-]key|hmac[ _-]?(?:key|secret))[\"'`]?\s{0,3}(?:=>|:=|[:=])?\s{0,3})[\"'`]?(?P<secret>[A-Za-z0-9+/=]{20,})",
        innocent=_no_token,
    ),
    shape("sql_password", "identified password", r"(?i:\b(?:identified\s{1,40}(?:with\s{1,40}\w+\s{1,40})?by|(?:with\s{1,40}|encrypted\s{1,40})?password)\s{1,40})'(?P<secret>[^'\n]{4,})'"),
    shape("pgpass", ":5432: :5433: :6432: :3306: :*:", r"(?m:^|(?<=\s))[\w.*-]+:(?:\d{2,5}|\*):[\w*-]+:[\w.@-]+:(?P<secret>[^\s:]{6,})(?=\s|$)"),
    shape("cli_password", "sudo", r"\becho\s{1,40}[\"']?(?P<secret>[^\s\"'$|]{4,})[\"']?\s{0,40}\|\s{0,40}sudo\s{1,40}-\w*S"),
    shape("cli_password", "htpasswd", r"\bhtpasswd\s{1,40}-\w*b\w*\s{1,40}(?:-\w+\s{1,40})*\S+\s{1,40}\S+\s{1,40}[\"']?(?P<secret>[^\s\"'$]{4,})"),
    shape("cli_password", "net use", r"(?i:\bnet\s{1,40}use\s{1,40}\S+\s{1,40}\\\\\S+\s{1,40}(?:/user:\S+\s{1,40})?)(?P<secret>[^\s/*]{4,})(?=\s|$)"),
    shape("secret_assignment", "psk", r"(?i:\bpsk[\"']?\s{0,40}[:=]\s{0,40})[\"']?(?P<secret>[^\s\"']{8,63})"),
    shape("url_credentials", "jdbc:oracle", r"jdbc:oracle:\w{1,60}:[^\s/@]{1,128}/(?P<secret>[^\s@]{3,4000})@"),
    shape("otp_seed", "otpauth://", r"otpauth://[^\s\"'<>]{0,400}?[?&]secret=(?P<secret>[A-Za-z2-7]{12,}=*)"),
    shape("wallet_key", "private wallet wif", r"(?i:\b(?:private|wallet|wif)\b[^\n]{0,30}?)\b(?P<secret>(?:0x)?[0-9a-fA-F]{64}|[5KL][1-9A-HJ-NP-Za-km-z]{50,51})\b"),
    shape("social_security", "ssn social", r"(?i:\b(?:ssn|social security)\b[^\n]{0,24}?)(?<!\d)(?P<secret>(?!000|666|9\d\d)\d{3}-(?!00)\d{2}-(?!0000)\d{4})(?!\d)"),
    shape("markup_password", "</", r"(?i:<(?P<name>(?:[\w.:-]{0,60}(?:password|passwd|passphrase|passcode|pwd|secret|api-?key|key|token|credential|pin)))>\s{0,40})(?P<secret>[^<\s$][^<\n]{3,}?)\s{0,40}</(?P=name)>"),
    shape("spoken_secret", "pw passwort pwd", r"(?i:\b(?:pw|pwd|passwort|kennwort|contraseña|mot de passe)\b\s{0,40}(?:is|ist|:|=|es|est)?\s{0,40})[\"'`]?(?P<secret>(?=\S*\d)(?=\S*[A-Za-z])[^\s\"'`<>,;]{6,})", innocent=_no_token),
    shape("spoken_secret", "pass", r"(?i:\b(?:password|passphrase)\b(?: (?:on|for|of|in|to|at) (?:the )?[\w.@-]+){1,3}\s{0,40}[:=]\s{0,40})[\"'`]?(?P<secret>(?=\S*[\d!@#$%^&*])[^\s\"'`<>,;]{6,})", reach=(0, 2)),
    shape("spoken_secret", "passphrase", r"(?i:\bpassphrase\b[^\n:=\"'`]{0,40}[:=]\s{0,40})[\"'`]?(?P<secret>[A-Za-z0-9]{3,}(?:[ -][A-Za-z0-9]{3,}){3,7})(?=[\"'`.\n]|$)"),
    shape("pin_code", "pin", r"(?i:\bpin(?: code| number)?\b(?: (?:for|of|to) (?:the |my |our )?[\w-]+){0,2}\s{0,40}(?:is|:|=)\s{0,40})(?P<secret>\d{4,8})(?![\d.])"),
    # `login: joe / Secret9` and the like: the word must stand before the pair.
    shape("spoken_secret", "login log sign cred account user", r"(?i:\b(?:login|log ?in|sign ?in|creds?|credentials?|accounts?|user(?:name)?)\b[^\n/]{0,40}?)(?:(?<=[\s\"'`(:])|^)[\w.@+-]{2,}\s?/\s?(?P<secret>(?=[^\s/]*[A-Za-z])(?=[^\s/]*\d)[^\s\"'`/<>,;)]{6,})(?=[\s\"'`,;)]|[.]?$|[.]\s)", innocent=_no_pair, reach=(0, 2)),
    # `joe / Secret!9`: where the slash stands alone, the value's four classes of characters are enough.
    shape("spoken_secret", "/", r"(?<=[\w.@+-] / )[\"'`]?(?P<secret>(?=[^\s]*\d)(?=[^\s]*[a-z])(?=[^\s]*[A-Z])(?=[^\s]*[!@#$%^&*?+~])[^\s\"'`/<>(){}\[\]]{8,40}?)(?=[\s\"'`,;)]|[.]?$|[.]\s)"),
    # `admin:Secret9!` and the like: a user's name, a colon, and a value of four classes of characters.
    shape("spoken_secret", ":", r"(?:(?<=[\s\"'`(])|^)(?!sha\d|md5|https?:)[a-z][\w.@-]{2,30}:(?P<secret>(?=[^\s:]*\d)(?=[^\s:]*[a-z])(?=[^\s:]*[A-Z])(?=[^\s:]*[!@#$%^&*?+~])[^\s\"'`/<>:(){}\[\],;=]{8,40})(?=[\s\"'`,;)]|[.]?$|[.]\s)"),
)  # fmt: skip
