"""The programming language of a path or a text.

In: paths, words. Out: lower-case language names (`python`, `typescript`, `c#`), the empty string where unknown.
Never opens a file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches
from functools import lru_cache

from tacit.errors import InvalidScope

_EXTENSIONS: dict[str, str] = {
    ext: language
    for language, extensions in {
        "python": "py pyi pyx ipynb", "typescript": "ts tsx mts cts", "javascript": "js jsx mjs cjs", "go": "go",
        "rust": "rs", "java": "java", "kotlin": "kt kts", "c#": "cs csx razor", "c": "c", "c++": "cc cpp cxx hpp hh hxx",
        "ruby": "rb erb rake", "php": "php", "swift": "swift", "scala": "scala sc", "dart": "dart", "elixir": "ex exs",
        "erlang": "erl hrl", "haskell": "hs", "ocaml": "ml mli", "clojure": "clj cljs cljc edn", "lua": "lua",
        "perl": "pl pm", "r": "r rmd", "julia": "jl", "zig": "zig", "nim": "nim", "objective-c": "m mm",
        "shell": "sh bash zsh fish", "powershell": "ps1 psm1", "sql": "sql", "html": "html htm", "css": "css scss sass less",
        "vue": "vue", "svelte": "svelte", "graphql": "graphql gql", "protobuf": "proto", "terraform": "tf tfvars",
        "nix": "nix", "markdown": "md mdx markdown", "restructuredtext": "rst", "yaml": "yaml yml", "json": "json jsonc json5",
        "toml": "toml", "xml": "xml", "groovy": "groovy gradle", "solidity": "sol", "f#": "fs fsx", "visual basic": "vb",
    }.items()
    for ext in extensions.split()
}  # fmt: skip
_NAMES = {
    "dockerfile": "docker", "containerfile": "docker", "makefile": "make", "justfile": "just", "gemfile": "ruby",
    "rakefile": "ruby", "jenkinsfile": "groovy", "cmakelists.txt": "cmake", "go.mod": "go", "go.sum": "go",
    "cargo.lock": "rust", "package-lock.json": "json", "requirements.txt": "python", "pipfile": "python",
}  # fmt: skip
_WORDS = {
    "python": "python", "golang": "go", "typescript": "typescript", "javascript": "javascript", "rust": "rust",
    "java": "java", "kotlin": "kotlin", "c#": "c#", "csharp": "c#", ".net": "c#", "c++": "c++", "ruby": "ruby", "rails": "ruby",
    "php": "php", "swift": "swift", "scala": "scala", "dart": "dart", "flutter": "dart", "elixir": "elixir",
    "haskell": "haskell", "powershell": "powershell", "bash": "shell", "zsh": "shell", "sql": "sql", "html": "html", "css": "css",
    "svelte": "svelte", "vue": "vue", "graphql": "graphql", "terraform": "terraform", "node.js": "javascript",
    "pytest": "python", "django": "python", "fastapi": "python", "cargo": "rust", "gofmt": "go", "goroutine": "go",
}  # fmt: skip
_WORD = re.compile(
    r"(?<![\w./-])(?:"
    + "|".join(re.escape(w) for w in sorted(_WORDS, key=len, reverse=True))
    + r")(?![\w/-])"
)
_GO = re.compile(
    r"(?<![\w./-])Go(?= (?:code|file|module|package|project|test|program|version|routine|struct|interface|1\.|lang))|(?<=\b[a-z,(] )Go(?![\w-])|`go`|\bin Go\b"
)

LANGUAGES: tuple[str, ...] = tuple(sorted({*_EXTENSIONS.values(), *_NAMES.values()}))
"""Every language that a file can be of: a scope of another one is never seen."""
CODE_LANGUAGES = frozenset(_EXTENSIONS.values()) - {
    "markdown", "restructuredtext", "yaml", "json", "toml", "xml",
}  # fmt: skip
"""Languages whose files count as source code (prose and data formats do not)."""


@lru_cache(maxsize=1024)
def language_of(path: str) -> str:
    """Language of the file at `path` by its name, or the empty string."""
    name = path.replace("\\", "/").rsplit("/", 1)[-1].lower()
    by_name = _NAMES.get(name)
    if by_name is not None:
        return by_name
    stem, dot, extension = name.rpartition(".")
    if not dot:
        return "docker" if name.startswith("dockerfile") else ""
    if stem in ("dockerfile", "makefile"):
        return _NAMES[stem]
    return _EXTENSIONS.get(extension, "")


def languages_of(paths: Iterable[str]) -> tuple[str, ...]:
    """Languages of `paths`, in order of first appearance."""
    return tuple(dict.fromkeys(name for name in map(language_of, paths) if name))


def languages_in(text: str) -> tuple[str, ...]:
    """Languages that the words of `text` name, in order of first appearance. `go` alone is taken for the verb."""
    lower = text.lower()
    languages = (
        [_WORDS[word] for word in _WORD.findall(lower)] if any(map(lower.__contains__, _WORDS)) else []
    )
    if "Go" in text or "`go`" in text:
        languages.extend("go" for _ in _GO.finditer(text))
    return tuple(dict.fromkeys(languages))


def is_code(path: str) -> bool:
    """Whether the file at `path` is source code by its name."""
    return language_of(path) in CODE_LANGUAGES


def check_language(name: str) -> None:
    """Refuse a language that no file can be of.

    Raises:
        InvalidScope: naming the known languages and the nearest one.
    """
    if name in LANGUAGES:
        return
    near = _WORDS.get(name) or next(iter(get_close_matches(name, LANGUAGES, n=1)), "")
    hint = f"Did you mean {near!r}? " if near else ""
    raise InvalidScope(
        f"Unknown programming language {name!r}.", hint=f"{hint}Known languages: {', '.join(LANGUAGES)}."
    )
