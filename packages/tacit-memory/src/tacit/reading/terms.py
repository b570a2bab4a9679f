"""Paths, identifiers and informative words of a text.

In: text. Out: the paths, code spans and lower-case words that say what it is about. Never reads a file; a word that
every prompt could hold is left out.
"""

from __future__ import annotations

import re
from functools import lru_cache

from tacit.text.lazy_regex import lazy_regex
from tacit.text.stop_words import UNINFORMATIVE_WORDS
from tacit.text.tokens import OBJECT_WORD

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
"""The known ending of a file name."""
_MAYBE_PATH = lazy_regex(r"[/\\]|\.\w|file|CHANGELOG|LICENSE|README")
"""Without one of these there is no PATH: far cheaper to look for."""
_URL = lazy_regex(r"\b[a-z][a-z0-9+.-]*://[^\s<>\"')\]]+", re.IGNORECASE)
_FENCE = lazy_regex(r"(?:```|~~~).*?(?:```|~~~|\Z)", re.DOTALL)
_SPAN = lazy_regex(r"`([^`\n]{1,120})`")
_SLASHED = lazy_regex(
    r"^(?:and|or|his|her|he|she|either|input|output|read|yes|no|on|off|true|false|w|n|i|a|\d+)[/\\]",
    re.IGNORECASE,
)
IDENTIFIER = lazy_regex(
    r"(?<![\w.@-])(?:[a-z][a-z0-9]*+(?:(?:_[a-z0-9]++)++|(?:[A-Z][a-z0-9]*+)++)(?!\w)"
    r"|[A-Z](?:[A-Z0-9]*+(?:_[A-Z0-9]++)++|[a-z0-9]++(?:[A-Z][a-z0-9]++)++)(?!\w)|[A-Za-z_]\w*+\(\)(?!\w)|--[a-z][\w-]++)"
)
_MAYBE_IDENTIFIER = lazy_regex(r"[A-Z](?<=[a-z0-9][A-Z])|_|\(\)|--")
"""Without one of these there is no IDENTIFIER."""
KEPT = 16
"""Texts whose reading is kept: what reads one prompt asks for the same things several times."""


@lru_cache(maxsize=KEPT)
def find_paths(text: str) -> tuple[str, ...]:
    """Paths and file names that `text` names, as written, forward slashes, in order, without repeats, at most 64."""
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
    """Return the code identifiers in `text`, in order, with repeats."""
    return tuple(IDENTIFIER.findall(text)) if _MAYBE_IDENTIFIER.search(text) else ()


def code_spans(text: str) -> tuple[str, ...]:
    """Return the texts between backticks, in order, without repeats."""
    return (
        tuple(dict.fromkeys(span.strip() for span in _SPAN.findall(text) if span.strip()))
        if "`" in text
        else ()
    )


@lru_cache(maxsize=KEPT)
def prose_of(text: str) -> str:
    """`text` with code fences, code spans, addresses and paths replaced by a neutral mark, for reading its verbs."""
    if "```" in text or "~~~" in text:
        text = _FENCE.sub(" § ", text)
    if "`" in text:
        text = _SPAN.sub(" § ", text)
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
    """Lower-case words of `text` that say what it is about, in order, without repeats, at most `limit`."""
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
