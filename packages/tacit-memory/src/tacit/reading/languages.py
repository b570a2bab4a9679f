"""The programming language of a path or a text, and the language that a statement is a rule of.

In: paths, words. Out: lower-case language names (`python`, `typescript`, `c#`), the empty string where unknown.
Never opens a file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches
from functools import lru_cache

from tacit.errors import InvalidScope
from tacit.text.lazy_regex import lazy_regex

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
"""Every language that a file can have; a scope of any other would never be seen."""
CODE_LANGUAGES = frozenset(_EXTENSIONS.values()) - {
    "markdown", "restructuredtext", "yaml", "json", "toml", "xml",
}  # fmt: skip
"""Languages whose files count as source code; prose and data formats do not."""


@lru_cache(maxsize=1024)
def language_of(path: str) -> str:
    """Return the language of the file at `path`, by its name; also a format such as `json` or `markdown` (see `is_code`); "" = unknown."""
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
    """Return the languages of `paths`, in order of first appearance."""
    return tuple(dict.fromkeys(name for name in map(language_of, paths) if name))


def languages_in(text: str) -> tuple[str, ...]:
    """Return the programming languages that `text` names, in order, without repeats.

    Lower-case `go` is taken for the verb, unless it stands in backticks.
    """
    lower = text.lower()
    languages = (
        [_WORDS[word] for word in _WORD.findall(lower)] if any(map(lower.__contains__, _WORDS)) else []
    )
    if "Go" in text or "`go`" in text:
        languages.extend("go" for _ in _GO.finditer(text))
    return tuple(dict.fromkeys(languages))


def is_code(path: str) -> bool:
    """Whether the file at `path` is source code, by its name."""
    return language_of(path) in CODE_LANGUAGES


def check_language(name: str) -> None:
    """Raise InvalidScope if `name` is not a known programming language, in lower case.

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


# --- rules of a language

_SPOKEN_NAMES: dict[str, str] = {
    "python": "python", "go": "go", "golang": "go", "typescript": "typescript", "ts": "typescript",
    "javascript": "javascript", "js": "javascript", "rust": "rust", "java": "java", "kotlin": "kotlin", "c#": "c#",
    "csharp": "c#", "c++": "c++", "ruby": "ruby", "php": "php", "swift": "swift", "scala": "scala", "dart": "dart",
    "elixir": "elixir", "erlang": "erlang", "haskell": "haskell", "ocaml": "ocaml", "clojure": "clojure", "lua": "lua",
    "perl": "perl", "julia": "julia", "zig": "zig", "bash": "shell", "shell": "shell", "powershell": "powershell",
    "sql": "sql", "html": "html", "css": "css", "terraform": "terraform",
}  # fmt: skip
"""Names of languages as people say them, with the names used for files."""
_SPOKEN_NAME = (
    "(?:"
    + "|".join(re.escape(name) for name in sorted(_SPOKEN_NAMES, key=len, reverse=True))
    + r")(?![\w#+-])"
)
_ALL = r"(?:(?:all|any|every|each|my|new) (?:of )?)*"
_CODE = r"(?:code|files?|projects?|repos(?:itories)?|modules?|packages?|scripts?|programs?|functions?|classes|tests?)"
_PLACE = rf"(?:in|for|with|when(?:ever)? (?:you |i )?(?:writ(?:e|ing)|us(?:e|ing)|work(?:ing)? (?:in|with|on))) {_ALL}"
_LEAD = r"(?:(?:please|also|and|so|ok|remember(?: that)?|from now on|no)\b[,:]? *)*"
_FIRST = lazy_regex(
    rf"^{_LEAD}{_PLACE}(?P<name>{_SPOKEN_NAME})(?: {_CODE})?(?:[,:]\s*|\s+(?=(?:always|never|i|use|prefer|do|don'?t)\b))",
    re.IGNORECASE,
)
_LAST = lazy_regex(
    rf"^{_LEAD}(?:(?:i|always|never|do not|don'?t|really|only) )*(?:use|prefer|avoid|like|hate|want|write) .+ (?:in|for) {_ALL}(?P<name>{_SPOKEN_NAME}) {_CODE}[\s.!]*$"
    rf"|^{_LEAD}(?:(?:i|always|never|do not|don'?t|really|only) )*(?:use|prefer|avoid|like|hate) .+ in (?P<bare>{_SPOKEN_NAME})[\s.!]*$",
    re.IGNORECASE,
)
"""A language named at the end as the place of a rule; "write the service in Go" only chooses a language."""
_SUBJECT = lazy_regex(
    rf"^{_LEAD}{_ALL}(?P<name>{_SPOKEN_NAME}) {_CODE} (?:must|should|has to|have to|always|never|needs?)\b", re.IGNORECASE
)  # fmt: skip
_HERE = lazy_regex(
    r"\b(?:we|our|us|here|this (?!kind|sort)|these|the (?:team|project|repo|repository|service|app|api|backend|frontend)s?)\b|[\w-]/[\w./-]",
    re.IGNORECASE,
)
"""Words that refer to this project, its people or its files."""


def language_at_large(sentence: str) -> str:
    """Return the programming language that `sentence` is a rule for in any project; "" = none, or this project alone.

    The sentence must name the language as the place where it holds ("In Python, always use f-strings"). What
    a team does ("we"), and what names this project or its files, stays the project's.
    """
    match = _FIRST.search(sentence) or _SUBJECT.search(sentence) or _LAST.search(sentence)
    if match is None or _HERE.search(sentence):
        return ""
    groups = match.groupdict()
    return _SPOKEN_NAMES[(groups["name"] or groups["bare"]).lower()]
