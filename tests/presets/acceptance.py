"""Which test shows which acceptance item of a seed. The items are data (`items/<preset>.toml`), the tests name theirs.

Use in a test file: `@acceptance("typed", "2.3", "9.1-a")` above a test, or `marks=acceptance("typed", "2.3")` in a
`pytest.param`. An items file holds `title`, a table `[items]` (number = one line) and, for what is shown elsewhere or is
left out on purpose, a table `[elsewhere]` (number = where or why). The tests stand here or, through hook client, daemon and
the shipped model, in `tests/live/<preset>`; a week with the real host in `tests/e2e/test_e2e_weeks_*.py`. `[audit]` says which items show each row of the preset's audit (`rows.py`).

`python tests/presets/acceptance.py` writes the README in the folder of each preset, and docs/reference/presets.md, which leads there.
"""

from __future__ import annotations

import ast
import inspect
import json
import re
import tomllib
from dataclasses import dataclass
from functools import cache, partial
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest

from tacit.config.design_names import DESIGN_NAMES, NOTES
from tacit.config.fields import check_layer, default_values, settings_by_key
from tacit.config.preset_files import preset_file, preset_names
from tacit.model.pack import Surface
from tacit.presets import preset_of

HERE = Path(__file__).parent
LIVE, E2E = HERE.parent / "live", HERE.parent / "e2e"
REPOSITORY = HERE.parents[1]
FOLDER = REPOSITORY / "packages/tacit-memory/src/tacit/presets"
PAGE = REPOSITORY / "docs/reference/presets.md"
MADE_BY = "<!-- Made by `python tests/presets/acceptance.py`; do not edit. -->"
HEAD = f"""# Presets

{MADE_BY}

A preset is a complete configuration under your own values: `preset: typed` in `config.yaml`, in an agent's section, or as
`TACIT_PRESET`. `focused` is the default. Each of the others follows one design document, item by item. The folder of a preset holds all
of it; its README says what happens on each surface, which settings it has of its own, what its design asks and which test shows it.

| preset | in one line |
|---|---|
"""
SILENT = "nothing, unless a user gives it tokens"
DEFAULT_TITLE = "relevance by situation, silence by default, one line per memory"


def acceptance(preset: str, *numbers: str) -> pytest.MarkDecorator:
    """Mark a test as showing the items `numbers` of `preset`; write them as literals, they are read from the source."""
    return pytest.mark.acceptance(preset, *numbers)


@dataclass(frozen=True, slots=True, kw_only=True)
class Items:
    """The numbered items of one seed, those that no test here shows, with the reason, and the rows of its audit (`rows.py`)."""

    preset: str
    title: str
    items: dict[str, str]
    elsewhere: dict[str, str]
    audit: dict[str, dict[str, Any]]


def presets() -> tuple[str, ...]:
    """Presets that follow a design, and so have a list of items."""
    return tuple(sorted(path.stem for path in (HERE / "items").glob("*.toml")))


def items_of(preset: str) -> Items:
    """The list of `preset`."""
    data = tomllib.loads((HERE / "items" / f"{preset}.toml").read_text("utf-8"))
    return Items(
        preset=preset,
        title=data["title"],
        items=data["items"],
        elsewhere=data.get("elsewhere", {}),
        audit=data.get("audit", {}),
    )


@cache
def shown_by(preset: str) -> dict[str, list[str]]:
    """Item number -> `path::test` of every test that names it, here, among the live scenarios and the weeks with real hosts; paths are those in the repository."""
    found: dict[str, list[str]] = {}
    for path in sorted([*HERE.glob("test_*.py"), *LIVE.rglob("test_*.py"), *E2E.glob("test_e2e_weeks_*.py")]):
        source = path.read_text("utf-8")
        for node in ast.walk(ast.parse(source)) if f'"{preset}"' in source else ():
            if not isinstance(node, ast.FunctionDef | ast.ClassDef):
                continue
            for decorator in node.decorator_list:
                for call in ast.walk(decorator):
                    if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "acceptance":
                        named, *numbers = (ast.literal_eval(argument) for argument in call.args)
                        for number in numbers if named == preset else ():
                            test = f"{path.relative_to(REPOSITORY).as_posix()}::{node.name}"
                            found.setdefault(number, []).append(test)
    return found


def page() -> str:
    """Text of docs/reference/presets.md."""
    link = "../../packages/tacit-memory/src/tacit/presets"
    rows = [f"| [`{name}`]({link}/{name}/README.md) | {_title(name)} |\n" for name in preset_names()]
    return HEAD + "".join(rows)


def readme(name: str) -> str:
    """Text of the README in the folder of the preset `name`."""
    lines = (FOLDER / name / "settings.yaml").read_text("utf-8").splitlines()
    about = " ".join(line.removeprefix("# ") for line in takewhile(lambda line: line.startswith("#"), lines))
    parts = [
        f"# `{name}`: {_title(name)}\n\n{MADE_BY}\n\n{_capitalized(about.partition(': ')[2])}\n",
        (
            "\n`settings.yaml` holds the settings that differ from the defaults, each with its reason; `preset.py` the pipelines, the layout and"
            " what is no setting.\n"
        ),
        "\n## What happens\n\n| surface | steps |\n|---|---|\n",
        *(
            f"| {surface.value} | {_first_sentence(make) if _tokens(name, surface) else SILENT} |\n"
            for surface, make in preset_of(name).pipelines.items()
        ),
        _own_settings(name),
    ]
    if name in presets():
        listed, shown = items_of(name), shown_by(name)
        names = {
            number: dict.fromkeys(test.rpartition("/")[2] for test in tests)
            for number, tests in shown.items()
        }
        rows = [
            f"| {number} | {text} | {'; '.join(f'`{t}`' for t in names.get(number, ())) or listed.elsewhere.get(number, '')} |\n"
            for number, text in listed.items.items()
        ]
        parts += [
            (
                "\n## What the design asks, and the test that shows it\n\nThe numbers are those of the design. The tests stand in `tests/presets` and,"
                " through hook client, daemon and the shipped model, in `tests/live`.\n\n| item | what it asks | shown by |\n|---|---|---|\n"
            ),
            *rows,
            _names_of(name),
        ]
    return "".join(parts)


def _title(name: str) -> str:
    return items_of(name).title if name in presets() else DEFAULT_TITLE


def _capitalized(text: str) -> str:
    return text[:1].upper() + text[1:]


def _tokens(name: str, surface: Surface) -> int:
    """The budget of a surface in a preset."""
    values = check_layer(preset_file(name).values, place=str).values
    return int(str({**default_values(), **values}[f"recall.budgets.{surface.value}"]))


def _first_sentence(make: object) -> str:
    """Return what the docstring of a pipeline says in its first line, without the words that it is a pipeline."""
    function = make.func if isinstance(make, partial) else make
    line = (inspect.getdoc(function) or "").partition("\n")[0]
    said = re.sub(r"^Return the pipeline [^:]*: ", "", line)
    return said[:1].upper() + said[1:]


def _own_settings(name: str) -> str:
    """The table of the settings that the preset alone has; empty where it has none."""
    own = [setting for key, setting in settings_by_key().items() if key.startswith(f"recall.{name}.")]
    rows = [
        f"| `{setting.key}` | `{json.dumps(setting.field.get_default(call_default_factory=True))}` | {setting.field.description} |\n"
        for setting in own
    ]
    return (
        "\n## Settings of its own\n\n| setting | default | meaning |\n|---|---|---|\n" + "".join(rows)
        if rows
        else ""
    )


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
    for named in preset_names():
        (FOLDER / named / "README.md").write_text(readme(named), "utf-8")
