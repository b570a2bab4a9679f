"""Things a text names: files, symbols, packages, commands, error codes.

In: text. Out: `Entity` values with stable lower-case keys (symbols keep no case: `HTTPServer` and `httpserver` meet).
Never resolves a name; a word that may be prose is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tacit.model.memory import Entity
from tacit.reading.commands import split_commands
from tacit.reading.terms import code_spans, find_paths, identifiers
from tacit.text.lazy_regex import lazy_regex

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
    r"|(?:^|\n)\s*(?:import|from)\s+([a-z_]\w*)(?=[\s.]|$)|\b(github\.com/[\w.-]+/[\w.-]+)"
)
_KNOWN_COMMANDS = lazy_regex(
    r"(?<![\w./-])(?:git|gh|npm|pnpm|yarn|bun|npx|pip|uv|poetry|cargo|go|docker|docker-compose|kubectl|terraform|make|just|pytest|jest|vitest|eslint|prettier|ruff|mypy|pyright"
    r"|golangci-lint|gofmt|tsc|dotnet|mvn|gradle|helm|psql|sqlite3|curl) (?:[a-z][\w:-]*)"
)
_DOTTED = lazy_regex(r"(?<![\w./@-])[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+(?:\(\))?(?![\w/-])")
_MAYBE_DOTTED = lazy_regex(r"\.[A-Za-z_]")
_MAYBE_ERROR = lazy_regex(r"[A-Z](?:[A-Z\d]|rror|xception)")
_MAYBE_PACKAGE = ("@", "from", "import", "require(", "github.com/", "install", " add", "go get", "npm i")
"""Without one of these the patterns match nothing: far cheaper to look for."""
_COMMANDLIKE = lazy_regex(r"^[a-z][\w.-]*(?: .+)?$")
_SHELL = lazy_regex(
    r"^(?:git|gh|npm|pnpm|yarn|bun|npx|pip3?|uvx?|poetry|cargo|go|docker|docker-compose|kubectl|terraform|make|just|pytest|python3?|node|jest|vitest|eslint|prettier|ruff|mypy|pyright|golangci-lint|gofmt|tsc|dotnet|mvn|gradle|helm|psql|sqlite3|curl|ssh|aws|gcloud|brew|apt|tox|nox)\b"
)


def find_entities(text: str) -> tuple[Entity, ...]:
    """Entities of `text`, sorted by kind and key, without repeats, at most 64 (those met first)."""
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
