"""The types of the command line for answers follow from the OpenAPI document, as those of the page do."""

from __future__ import annotations

import ast
from pathlib import Path

from tacit.api.answer_types import answer_types
from tacit.cli import answer_types as written


def test_the_types_of_the_command_line_are_those_of_the_document() -> None:
    """`just client` renews them. Compared as syntax: ruff may have broken lines."""
    text = Path(written.__file__).read_text("utf-8")
    assert ast.dump(ast.parse(text)) == ast.dump(ast.parse(answer_types()))
