"""docs/reference/library.md is made from the docstrings, and every public name has one that says enough; the examples of the guide run."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

import tacit
from tacit.library.reference import CLASSES, FUNCTIONS, render
from tacit.library.tacit import AsyncTacit

ROOT = Path(__file__).parents[5]


def public_methods(kind: type) -> dict[str, object]:
    return {
        name: value
        for name, value in inspect.getmembers(kind, inspect.isfunction)
        if not name.startswith("_")
    }


def test_the_page_is_current() -> None:
    page = (ROOT / "docs/reference/library.md").read_text("utf-8")
    assert page == render(), "run: python -m tacit.library.reference > docs/reference/library.md"


def test_every_public_name_is_on_the_page() -> None:
    inner = {"Engine", "Injection", "TacitError", "__version__"}
    assert set(tacit.__all__) - inner == {*CLASSES, *FUNCTIONS}


def test_every_argument_of_tacit_is_described() -> None:
    for name, method in public_methods(tacit.Tacit).items():
        about = inspect.getdoc(method) or ""
        assert about, name
        arguments = [
            p for p in inspect.signature(method).parameters if p not in ("self", "memory_id", "useful")
        ]
        if len(arguments) > 1:
            assert [one for one in arguments if f"{one}:" not in about] == [], name


def test_the_bridge_has_the_methods_of_tacit_with_their_arguments() -> None:
    theirs, own = public_methods(AsyncTacit), public_methods(tacit.Tacit)
    for name in (
        "remember",
        "recall",
        "list",
        "get",
        "edit",
        "forget",
        "undo",
        "history",
        "why",
        "export",
        "feedback",
        "context_for",
    ):
        assert list(inspect.signature(theirs[name]).parameters) == list(
            inspect.signature(own[name]).parameters
        ), name


GUIDE = ROOT / "docs/guide/library.md"
EXAMPLE = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.mark.slow
def test_every_example_of_the_guide_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TACIT_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    known: dict[str, object] = {"__name__": "example"}
    examples = EXAMPLE.findall(GUIDE.read_text("utf-8"))
    assert len(examples) >= 5
    for code in examples:
        exec(compile(code, str(GUIDE), "exec"), known)
    assert "PostgreSQL" in capsys.readouterr().out
