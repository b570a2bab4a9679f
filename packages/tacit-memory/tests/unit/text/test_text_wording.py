"""The tables of what people say: each expression compiles, and each is asked for somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import tacit
from tacit.text.lazy_regex import Wording, wording

SOURCE = Path(tacit.__file__).parent
TABLES = sorted(path.stem for path in (SOURCE / "text" / "wordings").glob("*.toml"))


@pytest.mark.parametrize("name", TABLES)
def test_every_expression_compiles_and_is_used(name: str) -> None:
    table = Wording(SOURCE / "text" / "wordings" / f"{name}.toml")
    assert len(list(table.compile_rest())) == len(table.expressions())
    asked = _asked_for(name)
    known = {*table.expressions(), *_fragments(name)}
    assert asked <= known
    assert {key for key in table.expressions() if key not in asked} <= _fragments(name)


def test_an_expression_that_no_table_has_is_an_error() -> None:
    with pytest.raises(AttributeError, match="replies"):
        _ = wording("replies").nothing_of_the_kind


def _asked_for(name: str) -> set[str]:
    """The expressions of a table that the modules that use it ask for."""
    asked: set[str] = set()
    for path in SOURCE.rglob("*.py"):
        text = path.read_text("utf-8")
        if (bound := re.search(rf'^(\w+) = wording\("{name}"\)$', text, re.MULTILINE)) is not None:
            asked |= set(re.findall(rf"(?<![\w.]){bound[1]}\.([a-z]\w*)\b(?!\()", text))
    return asked


def _fragments(name: str) -> set[str]:
    """The keys that other expressions of a table name."""
    text = (SOURCE / "text" / "wordings" / f"{name}.toml").read_text("utf-8")
    return set(re.findall(r"\{([a-z]\w*)\}", text))
