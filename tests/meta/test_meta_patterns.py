"""No regular expression of the program takes a time that grows much faster than the text it reads.

Each expression reads long texts that are made to hold it up: one character again and again, and what its own repetitions repeat, behind what comes before
them. Only the time that the processor spends on this thread counts. A text four times as long may take nine times as long: sixteen times would be its square.
"""

# pyright: basic, reportPrivateUsage=false

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import pytest

import tacit
import tacit_integrations
import tacit_server
from tacit.reading import marks
from tacit.text.lazy_regex import MOST_CHARS, MOST_REPEATS, Wording, bounded, lazy_regex

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    import sre_parse

PACKAGES = (tacit, tacit_server, tacit_integrations)
COMMON = (
    " ",
    "\n",
    "-",
    '"',
    "a",
    "a ",
    "1",
    "(",
    "[",
    "<",
    "`",
    ".",
    ",",
    "/",
    "_",
    "=",
    "a.",
    "a-",
    "A",
    "> ",
)
PROBES, STEPS = (24, 60, 100, 200, 700), (1_250, 5_000)
PROBE_SECONDS, FLOOR_SECONDS, MOST_GROWTH = 0.00025, 0.2, 9
LATE: Any = type(lazy_regex(""))
WHOLE = frozenset({"match", "fullmatch"})
BEHIND_A_NAME = frozenset({"_STATED", "_EQUALS", "_BESIDE", "_ANSWERED", "_PHRASE", "_QUOTED_PHRASE"})
"""Expressions of `safety/credentials.py` that are tried only where the name of a secret ends."""
METHODS = WHOLE | {"search", "finditer", "findall", "split", "sub", "subn"}

pytestmark = [pytest.mark.long, pytest.mark.timeout(400)]


def test_no_expression_takes_much_longer_than_its_text_grows() -> None:
    slow = {name: held for name, pattern in _expressions().items() if (held := _held_up_by(pattern, name))}
    assert not slow, "\n".join(f"{name} by {held!r}" for name, held in slow.items())


def test_the_measure_tells_a_slow_expression_from_a_quick_one() -> None:
    slow = re.compile(r"\s+and")
    assert any(_grows(slow, "search", *text) for text in _hostile(slow))
    assert not any(_grows(slow, "match", *text) for text in _hostile(slow))
    for quick in (re.compile(r"(?<!\s)\s+and"), re.compile(bounded(slow.pattern))):
        assert not any(_grows(quick, "search", *text) for text in _hostile(quick))


def test_a_repetition_in_a_phrase_ends_and_keeps_its_kind() -> None:
    few, many = f",{MOST_REPEATS}}}", f",{MOST_CHARS}}}"
    assert bounded(r"a*b+?c{2,}[*+]\*(?:d)*+.*[^,]+e?f{3}") == (
        rf"a{{0{few}b{{1{few}?c{{2{few}[*+]\*(?:d){{0{few}+.{{0{many}[^,]{{1{many}e?f{{3}}"
    )
    assert bounded(r"(?:[^.]|\.\w)+(?:a[^.])+") == rf"(?:[^.]|\.\w){{1{many}(?:a[^.]){{1{few}"


# --- the expressions


@cache
def _expressions() -> dict[str, re.Pattern[str]]:
    """Return the expressions of all packages by where they stand, each once."""
    found: dict[str, re.Pattern[str]] = {}
    seen: set[int] = set()
    for package in PACKAGES:
        for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
            if module.name.endswith("__main__") or ".migrations" in module.name:
                continue
            try:
                names = vars(importlib.import_module(module.name))
            except ModuleNotFoundError:  # a framework that is not installed here
                continue
            for name, value in list(names.items()) if module.name != lazy_regex.__module__ else ():
                found.update(_within(value, f"{module.name}:{name}", seen))
    for code in marks._read_tables():
        table = marks._table(code)
        for key in ("remember", "label", "only_mark", "denial", "lead"):
            found[f"marks.{code}.{key}"] = getattr(table, key)
        for key in table._texts:
            if f'"{key}"' in _source(marks):  # the others are only parts
                found[f"marks.{code}.{key}"] = table.of(key)
    once = {(one.pattern, one.flags): name for name, one in reversed(found.items())}
    return {name: found[name] for name in once.values()}


def _within(value: Any, name: str, seen: set[int]) -> Iterator[tuple[str, re.Pattern[str]]]:
    """Yield the expressions in a value of a module, its parts included."""
    if isinstance(value, re.Pattern):
        if isinstance(value.pattern, str):
            yield name, value
    elif isinstance(value, LATE):
        value.search("")  # now it is compiled, and has its flags
        yield name, re.compile(value.pattern, value.flags)
    elif isinstance(value, Wording):
        for key in value.expressions():
            if f".{key}" in _methods():  # the others are only parts
                yield f"{value._file.stem}.{key}", getattr(value, key)
    elif id(value) not in seen:
        seen.add(id(value))
        for key, part in _parts(value):
            yield from _within(part, f"{name}{key}", seen)


def _parts(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, list | tuple | set | frozenset):
        yield from ((f"[{number}]", part) for number, part in enumerate(value))
    elif isinstance(value, Mapping):
        yield from ((f"[{key!r:.20}]", part) for key, part in value.items())
    elif str(getattr(value, "__module__", "")).startswith("tacit") and not isinstance(value, FunctionType):
        fields = {*getattr(type(value), "__slots__", ()), *getattr(value, "__dict__", ())}
        yield from ((f".{key}", getattr(value, key, None)) for key in sorted(fields))


@cache
def _methods() -> dict[str, frozenset[str]]:
    """Return the methods that the source calls on each name: `NAME@module`, `NAME[]@module` for the members of a table, `.key` for one of a wording."""
    found: dict[str, set[str]] = {}
    for package in PACKAGES:
        for path in Path(package.__file__ or "").parent.rglob("*.py"):
            stem = path.parent.name if path.stem == "__init__" else path.stem
            for node in ast.walk(ast.parse(path.read_text("utf-8"))):
                if isinstance(node, ast.Attribute):
                    found.setdefault(f".{node.attr}", set())
                if (method := _method_called(node)) is not None:
                    on = node.func.value  # type: ignore[attr-defined]
                    name = f"{on.id}@{stem}" if isinstance(on, ast.Name) else f".{getattr(on, 'attr', '')}"
                    found.setdefault(name, set()).add(method)
                called = {_method_called(inner) for inner in ast.walk(node)} - {None}
                for name in _walked_through(node):
                    found.setdefault(f"{name}[]@{stem}", set()).update(called)  # type: ignore[arg-type]
    return {name: frozenset(methods) for name, methods in found.items()}


def _source(module: ModuleType) -> str:
    return Path(module.__file__ or "").read_text("utf-8")


def _method_called(node: ast.AST) -> str | None:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in METHODS:
        return node.func.attr
    return None


def _walked_through(node: ast.AST) -> Iterable[str]:
    """The names of the tables whose members `node` looks at one by one."""
    match node:
        case ast.For(iter=over):
            tables = [over]
        case ast.GeneratorExp() | ast.ListComp() | ast.SetComp() | ast.DictComp():
            tables = [each.iter for each in node.generators]
        case _:
            tables = []
    return {inner.id for table in tables for inner in ast.walk(table) if isinstance(inner, ast.Name)}


def _method_of(name: str) -> str:
    """Return `match` for an expression that is only asked about the beginning of a text, else `search`."""
    if name.startswith("marks."):
        key, source = name.rpartition(".")[2], _source(marks)
        return (
            "search" if re.search(rf'(?:find|of)\("{key}"|^    \(?"{key}"', source, re.MULTILINE) else "match"
        )
    module, _, variable = name.partition(":")
    if variable:
        bare = re.split(r"[\[.]", variable)[0]
        asked = _methods().get(
            f"{bare}{'[]' if bare != variable else ''}@{module.rpartition('.')[2]}", frozenset()
        )
    else:
        asked = _methods().get(f".{name.rpartition('.')[2]}", frozenset())
    return "match" if variable in BEHIND_A_NAME or (asked and asked <= WHOLE) else "search"


# --- the texts


def _hostile(pattern: re.Pattern[str]) -> Iterable[tuple[str, str]]:
    """Return (what stands ahead, what is repeated) of texts that may hold an expression up."""
    repeated: list[tuple[str, str]] = []
    flags = pattern.flags & (re.IGNORECASE | re.DOTALL | re.MULTILINE | re.VERBOSE)
    example = _example(sre_parse.parse(pattern.pattern, flags), repeated, "")
    texts = [("", each) for each in (*COMMON, example, example[:-1], f"{example} ")]
    for ahead, again in repeated:
        texts += [(ahead, again), ("", ahead + again), ("", again)]
    return [text for text in dict.fromkeys(texts) if text[1]]


def _example(nodes: Any, repeated: list[tuple[str, str]], ahead: str) -> str:
    """Return a text that an expression may match; add to `repeated` what its long repetitions repeat, with what stands before them."""
    text = ""
    for kind, given in nodes:
        before = ahead + text
        match str(kind):
            case "LITERAL":
                text += chr(given)
            case "NOT_LITERAL":
                text += "b" if given == ord("a") else "a"
            case "ANY":
                text += "a"
            case "IN":
                text += _one_of(given)
            case "BRANCH":
                text += max((_example(branch, repeated, before) for branch in given[1]), key=bool)
            case "SUBPATTERN":
                text += _example(given[3], repeated, before)
            case "ATOMIC_GROUP":
                text += _example(given, repeated, before)
            case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
                least, most, body = given
                again = _example(body, repeated, before)
                if int(most) > 20:
                    repeated.append((before, again))
                text += again * min(max(least, 1), 50)
            case "ASSERT" | "ASSERT_NOT":
                _example(given[1], repeated, before)
            case "GROUPREF":
                text += "```"
            case _:
                pass
    return text


def _one_of(members: Any) -> str:
    """Return a character of a class."""
    source = re.compile("[" + "".join(_spelled(str(kind), given) for kind, given in members) + "]")
    return next((char for char in "a -.1A\"'/:`\n#,é\u3042\u4e2d\ud55c\u0436" if source.match(char)), "a")


def _spelled(kind: str, given: Any) -> str:
    match kind:
        case "NEGATE":
            return "^"
        case "RANGE":
            return f"\\U{given[0]:08x}-\\U{given[1]:08x}"
        case "CATEGORY":
            negated, letter = "NOT_" in str(given), str(given).rpartition("_")[2][0]
            return f"\\{letter if negated else letter.lower()}"
        case _:
            return f"\\U{given:08x}"


def _held_up_by(pattern: re.Pattern[str], name: str) -> str:
    """Return the repeated part of a text that holds an expression up; "" = none of the texts does."""
    method = _method_of(name)
    return next(
        (ahead + again for ahead, again in _hostile(pattern) if _grows(pattern, method, ahead, again)), ""
    )


def _grows(pattern: re.Pattern[str], method: str, ahead: str, again: str) -> bool:
    """Whether a text of this kind takes a time that grows much faster than its length."""
    seconds = 0.0
    for chars in PROBES:
        if seconds > 0.002:  # so much for so little: further in small steps, as it may double with every word
            for between in range(PROBES[PROBES.index(chars) - 1], chars, 40):
                seconds = max(seconds, _seconds(pattern, method, ahead, again, between))
                if seconds > FLOOR_SECONDS:
                    return True
        seconds = _seconds(pattern, method, ahead, again, chars)
        if seconds > FLOOR_SECONDS:
            return True
    if seconds < PROBE_SECONDS:
        return False
    return all(_grows_from(chars, pattern, method, ahead, again) for chars in STEPS)


def _grows_from(chars: int, pattern: re.Pattern[str], method: str, ahead: str, again: str) -> bool:
    """Whether a text four times as long as `chars` takes a time that is more than linear, in the best of three runs."""
    floor = FLOOR_SECONDS * (chars / STEPS[-1]) ** 2
    for _ in range(3):
        short, long = (_seconds(pattern, method, ahead, again, each) for each in (chars, 4 * chars))
        if long < floor or long / short < MOST_GROWTH:
            return False
    return True


def _seconds(pattern: re.Pattern[str], method: str, ahead: str, again: str, chars: int) -> float:
    """Return how long the processor works on a text of about `chars` characters that ends in what matches nothing."""
    text = ahead + again * (chars // len(again)) + "\0"
    began = time.thread_time()
    if method == "match":
        pattern.match(text)
    else:
        for _ in pattern.finditer(text):
            pass
    return time.thread_time() - began
