"""Which test shows which acceptance item of a seed. The items are data (`items/<preset>.toml`), the tests name theirs.

Use in a test file: `@acceptance("typed", "2.3", "9.1-a")` above a test, or `marks=acceptance("typed", "2.3")` in a
`pytest.param`. An items file holds `title`, a table `[items]` (number = one line) and, for what is shown elsewhere or is
left out on purpose, a table `[elsewhere]` (number = where or why). The tests stand here or, through hook client, daemon and
the shipped model, in `tests/live/<preset>`.

`python tests/presets/acceptance.py` writes docs/reference/presets.md.
"""

from __future__ import annotations

import ast
import tomllib
from dataclasses import dataclass
from pathlib import Path

import pytest

from tacit.config.design_names import DESIGN_NAMES, NOTES

HERE = Path(__file__).parent
LIVE = HERE.parent / "live"
PAGE = HERE.parents[1] / "docs" / "reference" / "presets.md"
HEAD = """# Presets: what each one promises, and the test that shows it

<!-- Made by `python tests/presets/acceptance.py`; do not edit. -->

A preset is a complete configuration under your own values: `preset: typed` in `config.yaml`, in an agent's section, or as
`TACIT_PRESET`. `focused` is the default. Each of the others follows one design document, item by item; the numbers are that
document's own.
"""


def acceptance(preset: str, *numbers: str) -> pytest.MarkDecorator:
    """Mark a test as showing the items `numbers` of `preset`; write them as literals, they are read from the source."""
    return pytest.mark.acceptance(preset, *numbers)


@dataclass(frozen=True, slots=True, kw_only=True)
class Items:
    """The numbered items of one seed, and those that no test here shows, with the reason."""

    preset: str
    title: str
    items: dict[str, str]
    elsewhere: dict[str, str]


def presets() -> tuple[str, ...]:
    """Presets that have a list of items."""
    return tuple(sorted(path.stem for path in (HERE / "items").glob("*.toml")))


def items_of(preset: str) -> Items:
    """The list of `preset`."""
    data = tomllib.loads((HERE / "items" / f"{preset}.toml").read_text("utf-8"))
    return Items(preset=preset, title=data["title"], items=data["items"], elsewhere=data.get("elsewhere", {}))


def shown_by(preset: str) -> dict[str, list[str]]:
    """Item number -> `file::test` of every test that names it, here or among the live scenarios."""
    found: dict[str, list[str]] = {}
    for path in sorted([*HERE.glob("test_*.py"), *LIVE.rglob("test_*.py")]):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if not isinstance(node, ast.FunctionDef | ast.ClassDef):
                continue
            for decorator in node.decorator_list:
                for call in ast.walk(decorator):
                    if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "acceptance":
                        named, *numbers = (ast.literal_eval(argument) for argument in call.args)
                        for number in numbers if named == preset else ():
                            found.setdefault(number, []).append(f"{path.name}::{node.name}")
    return found


def page() -> str:
    """Text of docs/reference/presets.md."""
    parts = [HEAD]
    for preset in presets():
        listed, shown = items_of(preset), shown_by(preset)
        rows = [
            f"| {number} | {text} | {'; '.join(f'`{t}`' for t in dict.fromkeys(shown.get(number, []))) or listed.elsewhere.get(number, '')} |"
            for number, text in listed.items.items()
        ]
        head = f"\n## `{preset}`: {listed.title}\n\n| item | what it asks | shown by |\n|---|---|---|\n"
        parts.append(head + "\n".join(rows) + "\n" + _names_of(preset))
    return "".join(parts)


def _names_of(preset: str) -> str:
    """The table of the names that the preset's design uses for settings; empty where none is listed."""
    names = DESIGN_NAMES.get(preset, {})
    rows = [
        f"| `{name}` | {', '.join(f'`{key}`' for key in keys)}{f' ({NOTES[name]})' if name in NOTES else ''} |"
        for name, keys in names.items()
    ]
    return "\n| name in the design | setting here |\n|---|---|\n" + "\n".join(rows) + "\n" if rows else ""


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
