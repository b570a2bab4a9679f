"""Files that people name by a word (`a migration`, `CSS`) or a path, as patterns; and whether a path is one of them."""

from __future__ import annotations

import re
from functools import lru_cache

from tacit.text.lazy_regex import lazy_regex

_KINDS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (r"migrations?", ("migrations/", "migration/", "migrate/", "alembic/versions/")),
    (r"(?:prisma |graphql |database |db )?schemas?(?: files?)?", ("schema.*", "*.prisma", "schema/", "schemas/")),
    (r"(?:react |vue |svelte |ui )components?", ("*.tsx", "*.jsx", "*.vue", "*.svelte", "components/")),
    (r"(?:api |rest |http )?(?:endpoints?|routes?)", ("routes/", "routers/", "endpoints/", "controllers/", "api/", "handlers/", "views.py", "urls.py", "routes.*", "router.*")),
    (r"controllers?", ("controllers/", "*_controller.*", "*Controller.*")),
    (r"(?:css|styles?|stylesheets?)(?= |$)", ("*.css", "*.scss", "*.sass", "*.less")),
    (r"sql(?: files?)?", ("*.sql",)),
    (r"dockerfiles?", ("dockerfile", "dockerfile.*", "*.dockerfile")),
    (r"(?:protobuf|proto)(?: files?| definitions?)?", ("*.proto",)),
    (r"(?:github )?(?:workflows?|ci (?:config\w*|pipelines?|files?))", (".github/workflows/", ".gitlab-ci.yml", ".circleci/")),
    (r"(?:locales?|translations?)(?: files?)?", ("locales/", "locale/", "i18n/", "translations/", "*.po")),
    (r"lock ?-?files?", ("*.lock", "package-lock.json", "pnpm-lock.yaml", "go.sum")),
    (r"(?:public )?headers?(?: files?)?", ("*.h", "*.hpp", "*.hh")),
    (r"helm charts?", ("charts/", "chart.yaml")),
    (r"terraform (?:files?|modules?|code)", ("*.tf",)),
    (r"openapi(?: specs?| files?)?", ("openapi.*", "swagger.*")),
    (r"(?:the )?changelog", ("changelog*",)),
    (r"(?:the )?readme", ("readme*",)),
    (r"(?:jupyter )?notebooks?", ("*.ipynb",)),
    (r"storybook stories|stories", ("*.stories.*",)),
    (r"snapshots?(?: files?)?", ("*.snap", "__snapshots__/")),
    (r"protobufs?|\.?proto files?", ("*.proto",)),
    (r"environment files?|env files?|dotenv files?", (".env*",)),
    (r"k8s manifests?|kubernetes manifests?", ("k8s/", "manifests/", "kubernetes/")),
    (r"(?:new )?(?:unit |integration )?test (?:files?|modules?)", ("test_*", "*_test.*", "*.test.*", "*.spec.*", "*_spec.*", "*test.java", "*tests.cs")),
    ((r"(?:python|go|rust|java|typescript|javascript|ruby|kotlin|swift|php|c\+\+|c#|shell|yaml|json|markdown|bash|terraform|vue|svelte|scss|html|elixir|dart|lua|graphql|toml)"
     r" (?:files?|modules?|code|scripts?|pages?|sources?|classes|class)"), ()),
)  # fmt: skip
_LANGUAGE_ENDINGS: dict[str, tuple[str, ...]] = {
    "python": ("*.py",), "go": ("*.go",), "rust": ("*.rs",), "java": ("*.java",), "typescript": ("*.ts", "*.tsx"), "javascript": ("*.js", "*.jsx"),
    "ruby": ("*.rb",), "kotlin": ("*.kt",), "swift": ("*.swift",), "php": ("*.php",), "c++": ("*.cpp", "*.cc", "*.hpp"), "c#": ("*.cs",),
    "shell": ("*.sh",), "bash": ("*.sh",), "terraform": ("*.tf",), "vue": ("*.vue",), "svelte": ("*.svelte",), "scss": ("*.scss",), "html": ("*.html",),
    "elixir": ("*.ex", "*.exs"), "dart": ("*.dart",), "lua": ("*.lua",), "graphql": ("*.graphql",), "toml": ("*.toml",), "yaml": ("*.yaml", "*.yml"), "json": ("*.json",), "markdown": ("*.md",),
}  # fmt: skip
_SAID = tuple(
    (lazy_regex(rf"(?<![\w/.`-])(?:{words})(?![\w/])", re.IGNORECASE), patterns) for words, patterns in _KINDS
)
_ENDING = lazy_regex(r"(?<![\w/*])\*?(\.[a-z][a-z0-9]{0,9})(?= |$|[,;:)])", re.IGNORECASE)
FOLDER = lazy_regex(
    r"(?<![\w/])(?!(?:current|working|parent|old|new|root|same|home|every|each|this|that|temp\w*|session|project|\w+ing) )`?([\w.-]+)`? (?:folder|directory|dir)(?!\w)|(?:folder|directory|dir) `?([\w./-]+)",
    re.IGNORECASE,
)


def kinds_said(text: str, *, words: bool = False) -> tuple[str, ...]:
    """Patterns of the files that `text` names by their kind, those of the first place where it does; `words` = the words there."""
    best: tuple[int, tuple[str, ...], str] | None = None
    for pattern, patterns in _SAID:
        match = pattern.search(text)
        if match and (best is None or match.start() < best[0]):
            matching = patterns or _LANGUAGE_ENDINGS[match[0].lower().split()[0]]
            best = (match.start(), matching, match[0])
    if words:
        return (best[2],) if best else ()
    endings = tuple(f"*{ending.lower()}" for ending in _ENDING.findall(text))
    return endings or (best[1] if best else ())


def path_pattern(path: str) -> str:
    """A path as a pattern: lower case, a folder with a closing slash."""
    plain = path.replace("\\", "/").lower().removeprefix("./").removeprefix("~/").strip("`'\"")
    last = plain.rstrip("/").rsplit("/", 1)[-1]
    is_file = "." in last.lstrip(".") or last in ("dockerfile", "makefile", "justfile", "gemfile", "rakefile")
    return (
        plain.removesuffix("**").removesuffix("*") if is_file or plain.endswith(("/", "*")) else plain + "/"
    )


def key_of(pattern: str) -> str:
    """Under which part of a path a pattern is looked up: its last name, or its ending."""
    last = pattern.rstrip("/").rsplit("/", 1)[-1]
    return last if last.count("*") <= 1 else ""


def parts_of(path: str) -> frozenset[str]:
    """Everything that `key_of` of a matching pattern can be."""
    plain = path.replace("\\", "/").lower()
    names = [name for name in plain.split("/") if name]
    keys = set(names)
    if names and "." in names[-1]:
        stem, _, ending = names[-1].rpartition(".")
        keys |= {f"*.{names[-1].split('.', start)[start]}" for start in range(1, names[-1].count(".") + 1)}
        keys |= {
            f"*.{ending}",
            f"{stem}.*",
            f"{stem.split('.')[0]}*",
            f".{names[-1].lstrip('.').split('.')[0]}*",
        }
    return frozenset(keys)


def touches(pattern: str, path: str) -> bool:
    """Whether `path` is what `pattern` names: that file, or anything in that folder, wherever it lies."""
    return bool(_compiled(pattern).search(path.replace("\\", "/").lower()))


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> re.Pattern[str]:
    anchored = pattern.startswith("/")
    body = re.escape(pattern.strip("/")).replace(r"\*", "[^/]*")
    tail = "(?:/|$)" if pattern.endswith("/") else "$"
    return re.compile((rf"^/{body}" if anchored else rf"(?:^|/){body}") + tail)
