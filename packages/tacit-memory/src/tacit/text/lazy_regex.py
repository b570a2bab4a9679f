"""Regular expressions that are compiled when they are first used. In: a pattern. Out: matches.

Compiling what a program may need takes longer than its first answer may: of some hundred patterns an answer uses a few.
Whoever serves others compiles the rest when that answer is out (`compile_all`), so that no later one waits for them.
"""

from __future__ import annotations

import re
from typing import Any, cast

_METHODS = ("search", "match", "fullmatch", "finditer", "findall", "split", "sub", "subn")
_KEPT = (*_METHODS, "flags", "groups", "groupindex")
_waiting: list[_LazyRegex] = []


class _LazyRegex:
    """A pattern that turns into the compiled one: its methods become attributes here, and cost what they cost there."""

    def __init__(self, pattern: str, flags: int) -> None:
        self.pattern = pattern
        self._flags = flags
        _waiting.append(self)

    def __getattr__(self, name: str) -> Any:
        compiled = re.compile(self.pattern, self._flags)
        for attribute in _KEPT:
            self.__dict__[attribute] = getattr(compiled, attribute)
        return getattr(compiled, name)


def lazy_regex(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """`re.compile(pattern, flags)`, done at the first use; a wrong pattern raises `re.error` there.

    For the methods of a pattern; the functions of `re` take no such one.
    """
    return cast("re.Pattern[str]", _LazyRegex(pattern, flags))


def compile_all() -> int:
    """Compile what nobody has used yet; returns how many there were. Safe while others use them."""
    count = 0
    while _waiting:
        lazy = _waiting.pop()
        if "search" not in vars(lazy):
            _ = lazy.search
            count += 1
    return count
