"""Paths, identifiers and informative words of a text.

In: text. Out: the paths, code spans and lower-case words that say what it is about. Never reads a file; a word that
every prompt could hold is left out.

Things a text names: files, symbols, packages, commands, error codes.

In: text. Out: `Entity` values with stable lower-case keys (symbols keep no case: `HTTPServer` and `httpserver` meet).
Never resolves a name; a word that may be prose is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from tacit.model.memory import Entity
from tacit.reading.commands import split_commands
from tacit.text.lazy_regex import lazy_regex
from tacit.text.stop_words import UNINFORMATIVE_WORDS
from tacit.text.tokens import OBJECT_WORD, SHORT_SPAN

_EXT = (
    r"(?:py|pyi|ipynb|ts|tsx|mts|cts|js|jsx|mjs|cjs|go|rs|java|kt|kts|cs|csproj|sln|c|h|cc|cpp|hpp|rb|php|swift|scala|dart|exs?|erl|hs|lua"
    r"|pl|r|jl|zig|sh|bash|zsh|fish|ps1|bat|sql|html?|css|scss|sass|less|vue|svelte|graphql|proto|tf|nix|mdx?|mdc|rst|txt|ya?ml|jsonl?|jsonc"
    r"|toml|xml|ini|cfg|conf|env|lock|csv|svg|png|gradle|sum|mod|log|db|sqlite|snap|tmpl|j2|plist)"
)
PATH = lazy_regex(
    r"(?<![\w/.@:-])(?:(?=[\w@+-]*+[./\\~:])(?:"  # a plain word is none
    r"(?:~|\.{1,2}|[A-Za-z]:)?[/\\]?(?:[\w.@+-]++[/\\])+[\w.@+*-]*[\w*]/?"  # with a folder
    rf"|[\w@+-]++(?=\.)[\w.@+-]*\.{_EXT}"  # a file name with a known ending
    r"|\.(?:env|gitignore|dockerignore|npmrc|nvmrc|editorconfig|eslintrc|prettierrc|bashrc|zshrc)[\w.-]*"
    r")|(?:Dockerfile|Makefile|Justfile|justfile|Gemfile|Rakefile|Jenkinsfile|CHANGELOG|LICENSE|README)"
    r")(?![\w/\\])"
)
FILE_END = lazy_regex(rf"(?<=[^/.])\.{_EXT}$", re.IGNORECASE)
"""A known file name extension at the end."""
_MAYBE_PATH = lazy_regex(r"[/\\]|\.\w|file|CHANGELOG|LICENSE|README")
"""A cheap precheck: without a match of it, PATH cannot match."""
_URL = lazy_regex(r"\b[a-z][a-z0-9+.-]{0,30}://[^\s<>\"')\]]+", re.IGNORECASE)
_FENCE = lazy_regex(r"(?:```|~~~).*?(?:```|~~~|\Z)", re.DOTALL)
_SLASHED = lazy_regex(
    r"^(?:and|or|his|her|he|she|either|input|output|read|yes|no|on|off|true|false|w|n|i|a|\d+)[/\\]",
    re.IGNORECASE,
)
IDENTIFIER = lazy_regex(
    r"(?<![\w.@-])(?:[a-z][a-z0-9]*+(?:(?:_[a-z0-9]++)++|(?:[A-Z][a-z0-9]*+)++)(?!\w)"
    r"|[A-Z](?:[A-Z0-9]*+(?:_[A-Z0-9]++)++|[a-z0-9]++(?:[A-Z][a-z0-9]++)++)(?!\w)|[A-Za-z_]\w*+\(\)(?!\w)|--[a-z][\w-]++)"
)
_MAYBE_IDENTIFIER = lazy_regex(r"[A-Z](?<=[a-z0-9][A-Z])|_|\(\)|--")
"""A cheap precheck: without a match of it, IDENTIFIER cannot match."""
KEPT = 16
"""Texts whose results are cached: one prompt is asked about several times."""


@lru_cache(maxsize=KEPT)
def find_paths(text: str) -> tuple[str, ...]:
    """Return the paths and file names in `text`, with forward slashes, in order, without repeats, at most 64."""
    if not any(map(text.__contains__, ("/", ".", "\\", "file", "README"))):
        return ()
    cleaned = _URL.sub(" ", text) if "://" in text else text
    paths: dict[str, None] = {}
    for start, end in _places(cleaned):
        path = cleaned[start:end].rstrip(".,:;").replace("\\", "/")
        if path.startswith("@") and "." not in path.rsplit("/", 1)[-1]:
            continue  # a scoped package
        if len(path) > 2 and not _SLASHED.match(path) and any(map(str.isalpha, path)):
            paths.setdefault(path.removeprefix("./").removeprefix("@"))
    return tuple(paths)[:64]


@lru_cache(maxsize=KEPT)
def _places(text: str) -> tuple[tuple[int, int], ...]:
    """Return the spans where PATH matches in `text`."""
    return tuple(match.span() for match in PATH.finditer(text)) if _MAYBE_PATH.search(text) else ()


@lru_cache(maxsize=KEPT)
def identifiers(text: str) -> tuple[str, ...]:
    """Return the names in `text` that can only be code (`snake_case`, `camelCase`, `call()`) and its options (`--dry-run`), in order, with repeats."""
    return tuple(IDENTIFIER.findall(text)) if _MAYBE_IDENTIFIER.search(text) else ()


def code_spans(text: str) -> tuple[str, ...]:
    """Return the texts between backticks, in order, without repeats."""
    return (
        tuple(dict.fromkeys(span.strip() for span in SHORT_SPAN.findall(text) if span.strip()))
        if "`" in text
        else ()
    )


@lru_cache(maxsize=KEPT)
def prose_of(text: str) -> str:
    """Return `text` with code, addresses and paths replaced by `§`, so that its verbs can be read."""
    if "```" in text or "~~~" in text:
        text = _FENCE.sub(" § ", text)
    if "`" in text:
        text = SHORT_SPAN.sub(" § ", text)
    if "://" in text:
        text = _URL.sub(" § ", text)
    if "/" in text or "." in text:
        places = _places(text)
        if places:
            ends = (0, *(end for _, end in places))
            starts = (*(start for start, _ in places), len(text))
            text = " § ".join([text[end:start] for end, start in zip(ends, starts, strict=True)])
    return text


def informative_words(text: str, *, limit: int = 48) -> tuple[str, ...]:
    """Return the lower-case words of `text` that are not stop words, in order, without repeats."""
    words: dict[str, None] = {}
    for word in OBJECT_WORD.findall(text.lower()):
        plain = word.rstrip(".-_")
        if len(plain) > 2 and plain not in UNINFORMATIVE_WORDS:
            words.setdefault(plain)
            if len(words) >= limit:
                break
    return tuple(words)


def objects_of(text: str, *, paths: tuple[str, ...] = (), limit: int = 64) -> tuple[str, ...]:
    """Return the objects of `text`: paths and their file names, code spans, identifiers, then informative words.

    All lower case, in that order, without repeats, at most `limit`.
    """
    words: dict[str, None] = {}
    for path in (*find_paths(text), *paths):
        lower = path.lower()
        words.setdefault(lower)
        if "/" in lower.rstrip("/"):
            words.setdefault(lower.rstrip("/").rsplit("/", 1)[-1])
    for span in code_spans(text):
        if len(span) <= 60:
            words.setdefault(span.lower())
    for identifier in identifiers(text):
        words.setdefault(identifier.lower().removesuffix("()"))
    for word in informative_words(_URL.sub(" ", text) if "://" in text else text, limit=limit):
        words.setdefault(word)
    return tuple(words)[:limit]


_LIMIT = 64
_CUT = 20_000
_ERROR = lazy_regex(
    r"(?<![\w.])[A-Z]\w*(?:Error|Exception)\b|(?<![\w-])(?:ERR_[A-Z_]+|E[A-Z]{4,14}|TS\d{4}|CS\d{4}|SC\d{4}|ORA-\d+|SQLITE_[A-Z]+|E\d{4})(?![\w-])"
)
_NOT_ERRNO_TEXT = """
ERROR ERRORS EVERY EXACT EMPTY ENSURE EXAMPLE EXAMPLES EITHER ENABLE ENABLED ENTRY EVENT EVENTS EXTRA
ENDPOINT EXPECT EXPECTED
"""
_NOT_ERRNO = frozenset(_NOT_ERRNO_TEXT.split())
_PACKAGE = lazy_regex(
    r"\b(?:npm (?:i|install|add)|pnpm add|yarn add|bun add|pip3? install|uv add|poetry add|cargo add|go get|gem install|composer require|brew install)\s+((?:-{1,2}[\w-]+\s+)*)([@\w./-]+)"
    r"|(?<![\w/])(@[a-z0-9][\w.-]*/[a-z0-9][\w.-]*)|\b(?:from|import)\s+['\"]([@\w][\w./-]*)['\"]|\brequire\(['\"]([@\w][\w./-]*)['\"]\)"
    r"|(?:^|\n)[^\S\n]*(?:import|from)\s+([a-z_]\w*)(?=[\s.]|$)|\b(github\.com/[\w.-]+/[\w.-]+)"
)
_KNOWN_COMMANDS = lazy_regex(
    r"(?<![\w./-])(?:git|gh|npm|pnpm|yarn|bun|npx|pip|uv|poetry|cargo|go|docker|docker-compose|kubectl|terraform|make|just|pytest|jest|vitest|eslint|prettier|ruff|mypy|pyright"
    r"|golangci-lint|gofmt|tsc|dotnet|mvn|gradle|helm|psql|sqlite3|curl) (?:[a-z][\w:-]*)"
)
_DOTTED = lazy_regex(r"(?<![\w./@-])[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+(?:\(\))?(?![\w/-])")
_MAYBE_DOTTED = lazy_regex(r"\.[A-Za-z_]")
_MAYBE_ERROR = lazy_regex(r"[A-Z](?:[A-Z\d]|rror|xception)")
_MAYBE_PACKAGE = ("@", "from", "import", "require(", "github.com/", "install", " add", "go get", "npm i")
"""A cheap precheck: without one of these, `_PACKAGE` cannot match."""
_COMMANDLIKE = lazy_regex(r"^[a-z][\w.-]*(?: .+)?$")
_SHELL = lazy_regex(
    r"^(?:git|gh|npm|pnpm|yarn|bun|npx|pip3?|uvx?|poetry|cargo|go|docker|docker-compose|kubectl|terraform|make|just|pytest|python3?|node|jest|vitest|eslint|prettier|ruff|mypy|pyright|golangci-lint|gofmt|tsc|dotnet|mvn|gradle|helm|psql|sqlite3|curl|ssh|aws|gcloud|brew|apt|tox|nox)\b"
)


def find_entities(text: str) -> tuple[Entity, ...]:
    """Return the entities that `text` names, sorted by kind and key, without repeats, at most 64."""
    text = text[:_CUT]
    paths = find_paths(text)
    entities: dict[Entity, None] = {}
    for path in paths:
        entities.setdefault(Entity(kind="file", key=path.lower().removesuffix("/")))
    for match in _ERROR.finditer(text) if _MAYBE_ERROR.search(text) else ():
        if match[0] not in _NOT_ERRNO:
            entities.setdefault(Entity(kind="error", key=match[0].lower()))
    for match in _PACKAGE.finditer(text) if any(map(text.__contains__, _MAYBE_PACKAGE)) else ():
        name = next((group for group in match.groups()[1:] if group), "")
        if name and not name.startswith("."):
            entities.setdefault(Entity(kind="package", key=name.lower().rstrip(".")))
    spans = code_spans(text)
    entities.update(dict.fromkeys(_commands(text, spans)))
    entities.update(dict.fromkeys(_symbols(text, spans, taken={path.lower() for path in paths})))
    first = list(entities)[:_LIMIT]
    return tuple(sorted(first, key=lambda entity: (entity.kind, entity.key)))


def _commands(text: str, spans: tuple[str, ...]) -> Iterator[Entity]:
    for span in spans:
        if _SHELL.match(span) and _COMMANDLIKE.match(span):
            for command in split_commands(span):
                yield Entity(kind="command", key=command)
    for match in _KNOWN_COMMANDS.finditer(text):
        command = split_commands(match[0])
        if command and not match[0].startswith(("go ", "make ", "just ")):
            yield Entity(kind="command", key=command[0])


def _symbols(text: str, spans: tuple[str, ...], *, taken: set[str]) -> Iterator[Entity]:
    for name in (*identifiers(text), *(_DOTTED.findall(text) if _MAYBE_DOTTED.search(text) else ())):
        key = name.removesuffix("()").lower()
        if key not in taken and not key.startswith("--") and not _ERROR.fullmatch(name) and len(key) > 2:
            yield Entity(kind="symbol", key=key)
    for span in spans:
        if re.fullmatch(r"[A-Za-z_]\w{2,}", span):
            yield Entity(kind="symbol", key=span.lower())
