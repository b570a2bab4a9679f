"""Files that people name by a word (`a migration`, `CSS`; `files.toml`) or a path, as patterns; and whether a path is one of them."""

from __future__ import annotations

import re
import tomllib
from functools import lru_cache
from pathlib import Path
from typing import Any

from tacit.frozen import frozen
from tacit.reading.terms import find_paths
from tacit.text.lazy_regex import lazy_regex, wording

_PHRASES = wording("moments")

_TABLE: dict[str, Any] = tomllib.loads(Path(__file__).with_name("files.toml").read_text("utf-8"))
_SAID = tuple(
    (lazy_regex(rf"(?<![\w/.`-])(?:{sort['said']})(?![\w/])", re.IGNORECASE), tuple(sort.get("patterns", ())))
    for sort in _TABLE["sorts"]
)
_ENDING = lazy_regex(r"(?<![\w/*])\*?(\.[a-z][a-z0-9]{0,9})(?= |$|[,;:)])", re.IGNORECASE)
FOLDER = lazy_regex(
    r"(?<![\w/])(?!(?:current|working|parent|old|new|root|same|home|every|each|this|that|temp\w*|session|project|\w+ing) )`?([\w.-]{1,255})`? (?:folder|directory|dir)(?!\w)|(?:folder|directory|dir) `?([\w./-]+)",
    re.IGNORECASE,
)


_GLOB = lazy_regex(
    r"(?<![\w/*.])(?:(?=[\w@.+/-]{0,400}\*)(?:[\w@.+*-]{1,255}/)+[\w@.+*-]*[\w*]|\*\.[A-Za-z]\w{0,9}(?:\.\w{1,9})?)(?![\w*])"
)
_EVERYWHERE = frozenset({
    "readme", "readme.md", "changelog", "changelog.md", "license", "package.json", "pyproject.toml", "cargo.toml", "go.mod", "makefile", "justfile", "dockerfile",
    "tsconfig.json", "index.ts", "index.js", "index.html", "main.py", "main.go", "main.rs", "mod.rs", "lib.rs", "app.py", "__init__.py", "claude.md", "agents.md", "setup.py", ".env",
})  # fmt: skip


def file_patterns_said(text: str) -> tuple[str, ...]:
    """Return glob patterns of the files that `text` speaks of; () = none.

    All endings written in it (`.css` gives `*.css`), else those of the first sort of file it names ("Python files" gives `*.py`).
    """
    endings = tuple(f"*{ending.lower()}" for ending in _ENDING.findall(text))
    return endings or _first_sort_said(text)[1]


def file_sort_said(text: str) -> str:
    """Return the words with which `text` first names a sort of file, such as "Python files"; "" = it names none."""
    return _first_sort_said(text)[0]


def _first_sort_said(text: str) -> tuple[str, tuple[str, ...]]:
    """Return the first words of `text` that name a sort of file, and the glob patterns of such files; ("", ()) = none."""
    found = [(match, patterns) for pattern, patterns in _SAID if (match := pattern.search(text))]
    if not found:
        return "", ()
    match, patterns = min(found, key=lambda pair: pair[0].start())
    return match[0], patterns or tuple(_TABLE["languages"][match[0].lower().split()[0]])


def path_pattern(path: str) -> str:
    """Return the pattern for `touches` that a written path stands for: in lower case, a folder with a trailing slash."""
    plain = path.replace("\\", "/").lower().removeprefix("./").removeprefix("~/").strip("`'\"")
    last = plain.rstrip("/").rsplit("/", 1)[-1]
    is_file = "." in last.lstrip(".") or last in ("dockerfile", "makefile", "justfile", "gemfile", "rakefile")
    return (
        plain.removesuffix("**").removesuffix("*") if is_file or plain.endswith(("/", "*")) else plain + "/"
    )


def key_of_pattern(pattern: str) -> str:
    """Return the key under which a path pattern is stored: its last name, such as `*.py` or `migrations`; "" = none, because that has two `*`."""
    last = pattern.rstrip("/").rsplit("/", 1)[-1]
    return last if last.count("*") <= 1 else ""


def keys_of_path(path: str) -> frozenset[str]:
    """Return the keys of `path`: every key (`key_of_pattern`) that a pattern which matches it can have."""
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
    """Whether `path` matches `pattern` at its end: it is such a file, or lies in such a folder, below any other folder."""
    plain = path.replace("\\", "/").lower()
    if pattern.endswith("/"):
        return bool(glob_pattern(pattern + "**").search(plain.rstrip("/") + "/"))
    return bool(glob_pattern(pattern).search(plain))


@frozen
class NamedPlaces:
    """The files and folders that a statement names, as patterns for `touches`.

    `orders` = the statement orders or warns, and does not only describe.
    """

    files: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    orders: bool = False


@lru_cache(maxsize=4096)
def named_places(statement: str) -> NamedPlaces:
    """Return the files and folders that `statement` names, as patterns.

    Reports of finished work and examples name nothing. Files that every project has are skipped if named
    without their folder. Folders count only where the statement orders or warns.
    """
    if _PHRASES.reports.match(statement):
        return NamedPlaces()
    plain = _PHRASES.places_example.sub(" ", statement)
    patterns = [path_pattern(path) for path in (*find_paths(plain), *_GLOB.findall(plain))]
    orders = _PHRASES.orders.search(statement) is not None
    return NamedPlaces(
        files=tuple(
            name
            for name in patterns
            if not name.endswith("/") and name not in _EVERYWHERE and (orders or not name.startswith("**"))
        ),
        folders=tuple(name for name in patterns if orders and name.endswith("/") and "/" in name.strip("/")),
        orders=orders,
    )


@lru_cache(maxsize=4096)
def glob_pattern(pattern: str) -> re.Pattern[str]:
    """Return a glob as a compiled pattern: `**` = any folders, `*` and `?` within one name."""
    pattern = pattern.replace("\\", "/").removeprefix("./")
    out: list[str] = []
    position = 0
    while position < len(pattern):
        if pattern.startswith("**/", position):
            out.append("(?:[^/]+/)*")
            position += 3
        elif pattern.startswith("**", position):
            out.append(".*")
            position += 2
        else:
            char = pattern[position]
            out.append("[^/]*" if char == "*" else "[^/]" if char == "?" else re.escape(char))
            position += 1
    body = "".join(out)
    tail = "(?:/.*)?" if not pattern.endswith(("*", "/")) and "." not in pattern.rsplit("/", 1)[-1] else ""
    return re.compile(f"(?:^|/){body}{tail}$")
