"""Regular expressions that are compiled when they are first used. In: a pattern, or the name of a table of them. Out: matches.

Compiling what a program may need takes longer than its first answer may: of some hundred patterns an answer uses a few.
Whoever serves others compiles the rest when that answer is out (`compile_all`), so that no later one waits for them.

What people say is data: `wording("replies")` reads `wordings/replies.toml` when one of its expressions is first asked for. A key holds one
expression, a long one on several lines, which are joined; `{name}` stands for another key of the table, or for the words of one in
`[words]`. Case does not count, but in the section `[exact]`. A phrase repeats nothing without end (`bounded`), so that no text can hold a reader up.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, cast

_METHODS = ("search", "match", "fullmatch", "finditer", "findall", "split", "sub", "subn")
_KEPT = (*_METHODS, "flags", "groups", "groupindex")
MOST_REPEATS, MOST_CHARS = 50, 4000
"""How often a part of a phrase may repeat; how much text it may leap over (`.*`, `[^,]*`), as many characters as a sentence has."""
_NAME = re.compile(r"\{([a-z]\w*)(?::(\w+))?\}")
_PIECE = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*+\]|\{\d+(?:,\d*)?\}|.", re.DOTALL)
_ONE_CHAR = re.compile(r"\.|\[.+\]|\\[wWsSdD]", re.DOTALL)
_REPEAT = re.compile(r"[*+?]|\{\d+(?:,\d*)?\}")
_TABLES = Path(__file__).with_name("wordings")
_waiting: list[_LazyRegex | Wording] = []


def filled(text: str, part: Callable[[str], str | None]) -> str:
    """Return an expression with each `{name}` replaced by the part of that name, filled in likewise; `{name:word}` puts `word` where the part says NAME.

    A name without a part stays as it is.
    """

    def fill(found: re.Match[str]) -> str:
        inner = part(found[1])
        return found[0] if inner is None else filled(inner.replace("NAME", found[2] or ""), part)

    return _NAME.sub(fill, text)


def bounded(source: str) -> str:
    """Return an expression whose repetitions end: `(?:the )*` becomes `(?:the ){0,50}`, and `.*` becomes `.{0,4000}`.

    Where a search starts anew at each character of a long run, the time grows with the square of the run. With an end it grows with the run.
    """
    given = _PIECE.findall(source)
    pieces: list[str] = []
    before = "("
    # Whether each open group, and the one that ended last, takes one character at a time, as `(?:[^.]|\.\w)*` does.
    groups, by_char = [False], False
    for piece, following in zip(given, [*given[1:], ""], strict=True):
        # Behind `(` or a repetition, the sign repeats nothing: it begins `(?:`, or makes the repetition lazy or possessive.
        repeats = before != "(" and not _REPEAT.fullmatch(before)
        if repeats and (piece in "*+" or piece.endswith(",}")):
            least = "1" if piece == "+" else "0" if piece == "*" else piece[1:-2]
            wide = before in (".", r"\S") or before.startswith("[^") or (before == ")" and by_char)
            pieces.append(f"{{{least},{max(MOST_CHARS if wide else MOST_REPEATS, int(least))}}}")
        else:
            pieces.append(piece)
        if piece == "(":
            groups.append(False)
        elif piece == ")":
            by_char = groups.pop()
        elif before in "(:|)" and following in "|)" and _ONE_CHAR.fullmatch(piece):
            groups[-1] = True
        before = piece
    return "".join(pieces)


class _LazyRegex:
    """A regular expression that is compiled at the first use of one of its methods; from then on they are the compiled pattern's own."""

    def __init__(self, pattern: str, flags: int) -> None:
        self.pattern = pattern
        self._flags = flags
        _waiting.append(self)

    def __getattr__(self, name: str) -> Any:
        compiled = re.compile(self.pattern, self._flags)
        for attribute in _KEPT:
            self.__dict__[attribute] = getattr(compiled, attribute)
        return getattr(compiled, name)

    def compile_rest(self) -> Iterator[None]:
        """Compile the pattern if it is not compiled yet, and yield once after that."""
        if "search" not in vars(self):
            _ = self.search
            yield


class Wording:
    """A table of regular expressions and word lists, read from a TOML file. Each expression is an attribute, compiled at its first use."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._raw: dict[str, Any] | None = None
        _waiting.append(self)

    def _read(self) -> dict[str, Any]:
        if self._raw is None:
            self._raw = tomllib.loads(self._file.read_text("utf-8"))
        return self._raw

    def _part(self, key: str) -> str | None:
        """Return the expression of a key, or the words of one in `[words]` as alternatives; None = the table has no such key."""
        raw = self._read()
        if key in raw.get("words", ()):
            return "|".join(raw["words"][key].split())
        text = raw.get("exact", {}).get(key, raw.get(key))
        return text.replace("\n", "") if isinstance(text, str) else None

    def __getattr__(self, key: str) -> re.Pattern[str]:
        source = None if key.startswith("__") else self._part(key)
        if source is None:
            raise AttributeError(f"{self._file.name} has no expression {key!r}")
        exact = key in self._read().get("exact", ())
        compiled = re.compile(bounded(filled(source, self._part)), 0 if exact else re.IGNORECASE)
        self.__dict__[key] = compiled
        return compiled

    def words(self, key: str) -> frozenset[str]:
        """Return the words listed under a key of `[words]`."""
        return _words(self, key)

    def lines(self, key: str) -> tuple[str, ...]:
        """Return the lines listed under a key of `[lines]`, or else of `[words]`."""
        raw = self._read()
        return tuple((raw.get("lines", {}).get(key) or raw["words"][key]).strip().splitlines())

    def expressions(self) -> tuple[str, ...]:
        """Return the keys of all expressions in the table."""
        raw = self._read()
        return (*(key for key, value in raw.items() if isinstance(value, str)), *raw.get("exact", ()))

    def compile_rest(self) -> Iterator[None]:
        """Compile the expressions of the table that are not compiled yet; yield after each."""
        for key in self.expressions():
            if key not in vars(self):
                getattr(self, key)
                yield


@cache
def _words(table: Wording, key: str) -> frozenset[str]:
    return frozenset(" ".join(table.lines(key)).split())


@cache
def wording(name: str) -> Wording:
    """Return the table `wordings/<name>.toml`; the file is read when one of its expressions is first used."""
    return Wording(_TABLES / f"{name}.toml")


def lazy_regex(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Return a stand-in for `re.compile(pattern, flags)` that compiles at its first use; a wrong pattern raises `re.error` only then.

    Use its methods, such as `search`; do not give it to functions of `re`, which accept no stand-in.
    """
    return cast("re.Pattern[str]", _LazyRegex(pattern, flags))


def compile_all() -> Iterator[None]:
    """Compile all lazy expressions and tables of the process that are not compiled yet; yield after each. Safe while others use them."""
    while _waiting:
        yield from _waiting.pop().compile_rest()
