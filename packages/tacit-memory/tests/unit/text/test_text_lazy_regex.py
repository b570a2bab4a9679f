"""Patterns that are compiled when they are first used."""

from __future__ import annotations

import importlib
import pkgutil
import re

import pytest

import tacit
from tacit.text.lazy_regex import compile_all, lazy_regex


def test_a_late_pattern_does_what_a_compiled_one_does() -> None:
    given = (r"(?P<word>[a-z]+)\s*", re.IGNORECASE)
    late, at_once = lazy_regex(*given), re.compile(*given)
    text = "Two words"
    assert late.sub("<>", text) == at_once.sub("<>", text) == "<><>"
    assert [m["word"] for m in late.finditer(text)] == ["Two", "words"]
    assert (late.pattern, late.flags, late.groups) == (at_once.pattern, at_once.flags, 1)
    found = late.match(text)
    assert found is not None
    assert found.re == at_once


def test_it_is_compiled_when_told_or_used() -> None:
    list(compile_all())
    used, _ = lazy_regex("a"), lazy_regex("b")
    assert used.search("a")
    assert (len(list(compile_all())), len(list(compile_all()))) == (1, 0)


def test_a_wrong_one_says_so_at_its_first_use() -> None:
    wrong = lazy_regex("(")
    with pytest.raises(re.error):
        wrong.search("x")
    with pytest.raises(re.error):
        list(compile_all())


def test_every_late_pattern_of_the_program_compiles() -> None:
    for found in pkgutil.walk_packages(tacit.__path__, "tacit."):
        if found.name.startswith(("tacit.reading", "tacit.safety", "tacit.recall", "tacit.providers")):
            importlib.import_module(found.name)
    list(compile_all())
    assert not list(compile_all())
