"""Reasons are values: no code looks into their words, and only `app/reasons.py` has the words of changes and silences."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
WORDED = {"reason", "silence", "note"}
"""Names of variables, fields and keys that hold words for people."""
LOOKS = {
    "startswith",
    "endswith",
    "partition",
    "rpartition",
    "split",
    "removeprefix",
    "find",
    "index",
    "match",
}
CLOSED: dict[tuple[str, str], str] = {
    (
        "packages/tacit-memory/src/tacit/app/queries/injection.py",
        "timeout",
    ): "`Failure.reason` is a closed literal that HTTP statuses stand for",
}
"""Comparisons of fields called `reason` that hold no words: (module, the literal), and why."""
VALUES = {"ChangeReason", "Note", "SilenceReason"}
NAMED = re.compile(rf"(?i)\b(?:{'|'.join(sorted(WORDED))})s*\b")
MADE = re.compile(rf"\b(?:{'|'.join(sorted(VALUES))})\(")
"""Only modules in which these are found are parsed."""


def looks_into_words(source: str) -> Iterator[tuple[int, str]]:
    """Line and literal of every place that compares words for people, or looks for something in them."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            if any(_is_worded(side) for side in sides):
                literals = [text for side in sides for text in _literals(side)]
                yield from ((node.lineno, text) for text in literals if text)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in LOOKS:
            if _is_worded(node.func.value):
                yield node.lineno, node.func.attr
        elif isinstance(node, ast.Match) and _is_worded(node.subject):
            yield node.lineno, "match"


def _is_worded(node: ast.expr) -> bool:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name.lower().rstrip("s") in WORDED
        case ast.Subscript(slice=ast.Constant(value=str(name))):
            return name.rstrip("s") in WORDED
        case ast.Call(func=ast.Attribute(value=inner)):  # `reason.lower()`
            return _is_worded(inner)
        case _:
            return False


def _literals(node: ast.expr) -> Iterator[str]:
    match node:
        case ast.Constant(value=str(text)):
            yield text
        case ast.JoinedStr():
            yield "f-string"
        case ast.Tuple(elts=held) | ast.List(elts=held) | ast.Set(elts=held):
            for one in held:
                yield from _literals(one)
        case ast.Name(id=name) if name.isupper() and name.endswith(("_REASON", "_REASONS", "_PREFIX")):
            yield name
        case _:
            return


def words_in_values(source: str) -> Iterator[tuple[int, str]]:
    """Line and words of every reason that is made with a sentence in it."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in VALUES:
            for word in node.keywords:
                texts = [one.value for one in ast.walk(word.value) if isinstance(one, ast.Constant)]
                yield from ((node.lineno, text) for text in texts if isinstance(text, str) and " " in text)


@pytest.mark.parametrize(
    "source",
    [
        'change.reason.startswith("confirmed")',
        'if "secret" in refused[0].reason: pass',
        'one.reason == "kept in review"',
        "one.reason in (KEPT_REASON, 'rejected in review')",
        "one.reason == KEPT_REASON",
        'trace["silence"].startswith("shadow mode")',
        'head = change.reason.partition(":")[0]',
        'late = "timed out" in note.lower()',
        'match trace.silence:\n    case "muted": pass',
        'same = reason == f"{name} was accepted"',
    ],
)
def test_the_rule_sees_what_it_forbids(source: str) -> None:
    assert list(looks_into_words(source))


@pytest.mark.parametrize(
    "source",
    [
        'shown = reason or "none"',
        'if trace.silence == "": pass',
        "same = one.reason.cause is ChangeCause.KEPT",
    ],
)
def test_the_rule_lets_values_pass(source: str) -> None:
    assert not list(looks_into_words(source))


def modules() -> list[Path]:
    found = [
        path
        for name in ("memory", "server", "integrations")
        for path in (ROOT / f"packages/tacit-{name}/src").rglob("*.py")
    ]
    assert len(found) > 200, "the rule looks at the program"
    return found


def test_no_code_looks_into_the_words_of_a_reason() -> None:
    found = {
        (path.relative_to(ROOT).as_posix(), text): line
        for path in modules()
        if NAMED.search(source := path.read_text())
        for line, text in looks_into_words(source)
    }
    assert {place: line for place, line in found.items() if place not in CLOSED} == {}
    assert set(CLOSED) <= set(found), "an exception that nothing needs any more goes"


def test_reasons_and_notes_are_made_without_words() -> None:
    made = list(words_in_values('ChangeReason(cause=X, detail=f"{name} was accepted")'))
    assert made, "the rule sees what it forbids"
    found = [
        f"{path.relative_to(ROOT)}:{line}: {text}"
        for path in modules()
        if path.name != "reasons.py"
        if MADE.search(source := path.read_text())
        for line, text in words_in_values(source)
    ]
    assert found == []


PAGE = re.compile(
    r"\b(?:reason|silence|notes?)\b(?:\.|!\.|\?\.)(?:startsWith|endsWith|includes|match|split|indexOf|search)\("
    r"|\b(?:reason|silence)\s*[!=]==?\s*[\"'][^\"']"
    r"|\.test\((?:\w+\.)*(?:silence|notes?)\)"
)


@pytest.mark.parametrize(
    "source",
    [
        'trace.silence.startsWith("shadow")',
        'drop.reason === "no longer valid"',
        'stage.notes.includes("late")',
        "/below/.test(trace.silence)",
    ],
)
def test_the_rule_sees_what_the_page_may_not_do(source: str) -> None:
    assert PAGE.search(source)


def test_the_page_reads_causes_and_no_words() -> None:
    files = [*(ROOT / "web" / "src").rglob("*.ts"), *(ROOT / "web" / "src").rglob("*.tsx")]
    assert len(files) > 30, "the rule looks at the page"
    found = [
        f"{path.relative_to(ROOT)}: {line.strip()[:120]}"
        for path in files
        for line in path.read_text().splitlines()
        if PAGE.search(line)
    ]
    assert found == []
