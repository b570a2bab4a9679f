"""The rule pack: what secrets look like. Data only; `redact` applies it in this order.

In: nothing. Out: `SHAPES`. A shape has a kind, words of which one must be in the (lower-case) text before its
pattern is tried, the pattern (group `secret` = the part that goes, else all of it) and a judge of innocent values.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from tacit.text.lazy_regex import lazy_regex

_PLACEHOLDER = lazy_regex(
    r"""^(?:
      [x*.\-_#?0]{3,} | \W+ | (.)\1+ | <[^>]*>? | \$[({]?\w+.*| \{\{?.*\}?\} | %\(.* | %\w+%? | \[[^\]]*\]? | @\w+ | \#\{.*
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
"""Code that is called or looked up: `match.group(1)`, `tokens[0]`."""
_NEXT_NAME = lazy_regex(r"^[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+=")
"""The next line of settings, behind one without a value."""
UUID = lazy_regex(r"^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$", re.IGNORECASE)
_WORD = lazy_regex(r"^[A-Za-z]+$")


TECHNICAL = lazy_regex(  # words of the trade that hold digits: `AES-256`, `base64url`, `32-byte`, `90-day`
    r"^(?:(?:aes|sha|rsa|hmac|oauth|base|utf|argon|md|pbkdf|ed|ipv|http|https|tls|v|ver|k8s|s3|ec2|es|hs|rs|ps|jwt|bcrypt|scrypt|pkcs|x|p|web3|auth|log4j|i18n|rfc|iso|nist|python|node|php|java|es)[-_. ]?\d+[\w-]*"
    r"|\d+[-–]?(?:bytes?|chars?|characters?|bits?|digits?|days?|hours?|hrs?|min\w*|sec\w*|weeks?|months?|years?|times?|[smhdwky]|ms|kb|mb|fa|factor|st|nd|rd|th)\b.*|\d+(?:[.:/-]\d+)*[a-z]{0,2})$",
    re.IGNORECASE,
)


def entropy(text: str) -> float:
    """Shannon entropy of the characters of `text`, in bits per character."""
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
    """A word of everyday technical prose."""
    return (
        word.lower() in ORDINARY
        or any(rule.match(word) for rule in (_STATES, _STAND_IN))
        or is_placeholder(word)
    )


def _never(_: str) -> bool:
    return False


def _not_secret_like(value: str) -> bool:
    """For values named by a secret-like word: innocent are placeholders, names in code and plain words."""
    value = value.strip().strip("\"'`,;")
    if (
        len(value) < 6
        or is_placeholder(value)
        or _NEXT_NAME.match(value)
        or _CODE_NAME.match(value)
        or REFERENCE.match(value)
    ):
        return True
    return bool(_WORD.match(value)) and (value.islower() or value.istitle() or value.isupper())


def _not_prose_secret(value: str) -> bool:
    """Stricter, for `the password is ...`: at least two classes of characters, or a rare look."""
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
    """For bare strings beside a secret-like name: hashes and ids of known forms are innocent, as is low entropy."""
    words = [segment for segment in re.split(r"[_/.+=-]", value) if len(segment) >= 3 and segment.isalpha()]
    return is_placeholder(value) or bool(UUID.match(value)) or len(words) >= 3 or entropy(value) < 3.2


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """The form of a kind of secret.

    Attributes:
        innocent: judges the matched value.
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
        """Yield where secrets of this form stand in `text`, in order."""
        named = "secret" in self.pattern.groupindex
        for match in self.pattern.finditer(text):
            group = "secret" if named and match["secret"] is not None else 0
            if match[group] and not self.innocent(match[group]):
                yield match.span(group)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finder:
    """A kind of secret that takes more than a pattern to find.

    Attributes:
        find: yields where the values stand; looks at each line on its own.
        keywords: one of them is on every line with a find, in lower case.
    """

    kind: str
    keywords: tuple[str, ...]
    find: Callable[[str], Iterable[tuple[int, int]]]
    reach: tuple[int, int] | None = (0, 0)

    @property
    def held(self) -> tuple[str, ...]:
        """The keywords: `find` is tried near them alone."""
        return self.keywords

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield where secrets of this form stand in `text`, in order, none twice."""
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
) -> Shape:
    """The form of a secret; keywords are separated by blanks."""
    return Shape(
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

SHAPES: tuple[Shape, ...] = (
    shape(
        "private_key", "-----begin",
        r"-----BEGIN (?:[A-Z0-9 ]+ )?PRIVATE KEY(?: BLOCK)?-----(?=(?:\s|\\[nr]|[\w-]+: [^\n]*\n|[\"'+,])*[A-Za-z0-9+/=]{16}).*?(?:-----END (?:[A-Z0-9 ]+ )?PRIVATE KEY(?: BLOCK)?-----|\Z)",
        _never, re.DOTALL,
    ),
    shape("putty_key", "putty-user-key-file", r"PuTTY-User-Key-File-\d:.*?(?:Private-MAC: ?\w+|\Z)", _never, re.DOTALL),
    shape("age_key", "age-secret-key-", r"AGE-SECRET-KEY-1[0-9A-Z]{20,}", flags=re.IGNORECASE),
    shape("url_credentials", "://", r"(?<![A-Za-z0-9+.-])[A-Za-z][A-Za-z0-9+.-]{0,60}://[^\s/:@\"'<>]*:(?P<secret>[^\s/@\"'<>]{3,}|[^\s@\"'<>]{3,}(?=@[\w.-]+))@"),
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
    shape("api_header", "x- api-key apikey", r"(?i:\bx-[\w-]*(?:key|token|secret|auth)[\w-]*[\"']?\s{0,40}:\s{0,40}[\"']?)(?P<secret>[^\s\"',;]{8,})", _not_secret_like),
    shape("cookie", "cookie", r"(?i:(?:set-)?cookie:\s{0,40}[\w.-]+=)(?P<secret>[^\s;\"']{16,})"),
    shape("cli_password", "-u --user", r"(?:^|(?<=[\s;&|]))(?:-u|--user|--proxy-user)[ =]?[\"']?[\w.@+-]+:(?P<secret>[^\s\"'@]{3,})"),
    shape("cli_password", "mysql mariadb sshpass mongo redis-cli psql 7z zip openssl docker", r"(?:\b(?:mysql\w*|mariadb\w*)\b[^\n|;]*?\s-p|\bsshpass\s{1,40}-p\s{0,40}|\bredis-cli\b[^\n|;]*?\s-a\s{0,40}|\bmongo\w*\b[^\n|;]*?\s-p\s{1,40}|\bdocker login\b[^\n|;]*?\s-p\s{1,40}|\b7z\b[^\n|;]*?\s-p)[\"']?(?P<secret>[^\s\"'-][^\s\"']{2,})"),
    shape("cli_password", "--pass --token --secret --api --auth --key", r"--(?:[\w-]*(?:password|passwd|passphrase|pass|token|secret|api-?key|auth-?key|access-?key))[ =][\"']?(?P<secret>[^\s\"'-][^\s\"']{5,})", _not_secret_like),
    shape("cli_password", "pass:", r"\bpass:(?P<secret>[^\s\"']{4,})", _not_secret_like, reach=(0, 0)),
    shape("cookie", "cookie", r"(?i:(?:session|sess|sid|auth|token|csrf|xsrf|jwt)[\w.-]*=)(?P<secret>[^\s;,\"']{16,})"),
    shape("spoken_secret", "passphrase password", r"(?i:\bpass(?:phrase|word)(?:'s)?(?:\s{0,40}|\b[^\"'`\n]{0,60}?(?:is|was|:|=|to|of|use|with|now)\s{0,40}))[\"'`](?P<secret>[^\"'`\s]+(?: [^\"'`\s]+){2,}|[a-z]+(?:-[a-z0-9]+){3,})[\"'`]", is_placeholder, reach=(0, 2)),
    shape("secret_assignment", "variable", r"variable\s{1,40}\"[^\"]*(?i:password|passwd|secret|token|key|credential)[^\"]*\"\s{0,40}\{[^}]*?\bdefault\s{0,40}=\s{0,40}\"(?P<secret>[^\"\n]{6,})\"", _not_secret_like),
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
