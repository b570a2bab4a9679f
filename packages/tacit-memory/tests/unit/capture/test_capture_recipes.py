"""Recipes are whole and true; what is read off a project is there on demand; rule files get the kinds of their forms."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tacit.capture.bootstrap.sources import read_drafts
from tacit.model.memory import TrustTier
from tacit.model.pack import Surface
from tacit.ports.store import MemoryFilter
from tacit.safety.trust import why_not_on
from unit.capture.test_capture_bootstrap import PROJECT, world

MAKEFILE = """.PHONY: test release all
VENV ?= .venv
all: lint test
test: build | folders
\t@echo "testing"
\tpip install -e .
\t$(VENV)/bin/python -m pytest -q \\
\t  --cov shop

\t-flake8 shop
# upload it
release:
\tpython -m build
\t# the account is shared
\ttwine upload dist/*
build: src/a.c setup.py ## compile the core
\tfor f in *.py; do \\
\t  echo $$f; \\
\tdone
folders: ; mkdir -p out
lint format: build
\truff check .
ci:
ifdef CI
\tpytest --ci
else
\tpytest
endif
ifeq ($(OS),Windows_NT)
clean:
\tdel out
else
clean:
\trm -rf out
endif
docs:
\tmkdocs build
ifdef LATER
LATER = 1
endif
%.o: %.c
\tcc -c $<
define X
inner:
\tfalse
endef
"""
MADE = {
    "all": "`make all` runs the targets `lint`, `test`",
    "test": (
        '`make test` runs `echo "testing"`, then `pip install -e .`, then `$(VENV)/bin/python -m pytest -q --cov shop`,'
        " then `flake8 shop` (after the targets `build`, `folders`)"
    ),
    "release": "`make release`: upload it; runs `python -m build`, then `twine upload dist/*`",
    "build": "`make build`: compile the core; runs `for f in *.py; do echo $f; done`",
    "folders": "`make folders` runs `mkdir -p out`",
    "lint": "`make lint` runs `ruff check .` (after the target `build`)",
    "format": "`make format` runs `ruff check .` (after the target `build`)",
    "ci": "`make ci` runs, depending on conditions, `pytest --ci`, `pytest`",
    "clean": "`make clean` runs, depending on conditions, `del out`, `rm -rf out`",
    "docs": "`make docs` runs `mkdocs build`",
}
JUSTFILE = """set shell := ["bash", "-c"]
x := '1'
# the fast suite
test *args: build (generate "a") && report
    @pytest -q {{args}}
    ruff check .
build:
  cargo build \\
    --release
[private]
generate what:
    echo {{what}}
_hidden:
    true
report:
    #!/usr/bin/env python
    print(1)
default:
    just --list
"""
PYPROJECT = """
[tool.poe.tasks]
lint = "ruff check ."
types = {cmd = "pyright", help = "Check the types"}
all = ["lint", "types"]
check = {sequence = [{cmd = "pytest"}, {ref = "lint"}], deps = ["types"]}
[tool.hatch.envs.default.scripts]
test = ["pytest -q", "coverage report"]
[tool.hatch.envs.docs.scripts]
build = "mkdocs build"
[tool.pdm.scripts]
both = {composite = ["ruff .", "mypy ."]}
"""


def told(path: str, text: str) -> set[str]:
    return {draft.content for draft in read_drafts(text, path, project_id="p", at_ms=1)}


def test_every_target_of_a_makefile_is_told_whole() -> None:
    assert told("Makefile", MAKEFILE) == set(MADE.values())
    assert told("Makefile", MAKEFILE.replace("\n", "\r\n")) == set(MADE.values())


def test_every_public_recipe_of_a_justfile_is_told_whole() -> None:
    assert told("justfile", JUSTFILE) == {
        (
            "`just test`: the fast suite; runs `pytest -q {{args}}`, then `ruff check .` (after the recipes `build`, `generate`),"
            " then the recipe `report`"
        ),
        "`just build` runs `cargo build --release`",
        "`just report`: a script for `/usr/bin/env python`",
    }


def test_scripts_of_package_json_have_their_hooks() -> None:
    scripts = {
        "pretest": "tsc",
        "test": "vitest run && eslint .",
        "posttest": "rm -rf tmp",
        "start": "node `pwd`/x",
    }
    assert told("package.json", json.dumps({"scripts": scripts})) == {
        "`npm test` runs `tsc`, then `vitest run && eslint .`, then `rm -rf tmp`",
        "`npm start` runs `` node `pwd`/x ``",
    }
    plain = told("package.json", json.dumps({"packageManager": "yarn@4.1.0", "scripts": scripts}))
    assert "`yarn test` runs `vitest run && eslint .`" in plain, "this yarn runs no hooks"


def test_tasks_of_pyproject_are_told_with_what_they_name() -> None:
    assert told("pyproject.toml", PYPROJECT) == {
        "`poe lint` runs `ruff check .`",
        "`poe types`: Check the types; runs `pyright`",
        "`poe all` runs `ruff check .`, then `pyright`",
        "`poe check` runs `pytest`, then `ruff check .` (after the task `types`)",
        "`hatch run test` runs `pytest -q`, then `coverage report`",
        "`hatch run docs:build` runs `mkdocs build`",
        "`pdm run both` runs `ruff .`, then `mypy .`",
    }


def test_what_does_not_fit_is_counted() -> None:
    commands = "".join(f"\tpython scripts/step_{n}.py --with {'a' * 60}\n" for n in range(40))
    (content,) = told("Makefile", f"long:\n{commands}")
    assert content.startswith("`make long` runs `python scripts/step_0.py")
    shown = content.count("scripts/step_")
    assert content.endswith(f"and {40 - shown} more commands")
    assert len(content) < 1500


def test_a_readme_without_a_sentence_on_the_project_says_nothing_of_it() -> None:
    readme = "# shop\n\nA small shop.\n\n## Development\n\nOpen http://127.0.0.1:8000/ after `make serve` has started.\n"
    assert told("README.md", readme) == set()


@pytest.mark.parametrize(
    ("rule", "kind"),
    [
        ("Lint with `flake8 shop` before every commit", "guideline"),
        ("Type check with mypy", "guideline"),
        ("All handlers must be async", "guideline"),
        ("I prefer small functions over clever ones", "preference"),
        ("The staging database runs on db2.internal:5433, not on localhost", "fact"),
        ("Never add a runtime dependency", "anti_pattern"),
        ("No wildcard imports in library code", "guideline"),
        ("We use pnpm, not npm", "fact"),
        ("We decided to keep the core free of plugins", "decision"),
        ("`shop/rates.py` holds the tax tables; never round in it", "anti_pattern"),
        ("Tests live in tests/unit", "fact"),
    ],
)
def test_a_rule_in_a_file_gets_the_kind_of_its_form(rule: str, kind: str) -> None:
    for path in ("CLAUDE.md", "AGENTS.md", ".cursorrules"):
        drafts = read_drafts(f"# Agents\n\n- {rule}.\n", path, project_id="p", at_ms=1)
        assert [(draft.content, draft.kind) for draft in drafts] == [(rule, kind)]


def test_what_is_read_off_is_active_for_answers_on_demand_alone(tmp_path: Path) -> None:
    (tmp_path / "Makefile").write_text(MAKEFILE)
    (tmp_path / "README.md").write_text("# shop\n\nA small store for bicycle parts with one cart.\n")
    capture, store = world()
    capture.import_rules(tmp_path, PROJECT, project_files=True, confirmed=True)
    held = store.list_memories(
        MemoryFilter(statuses=("active", "quarantined")), scope=store.scopes(), limit=100
    )
    assert len(held) == len(MADE) + 1
    for memory in held:
        assert (memory.provenance.tier, memory.status) == (TrustTier.IMPORT, "active")
        assert memory.provenance.read_from in ("Makefile", "README.md")
        assert [surface for surface in Surface if not why_not_on(memory, surface)] == [Surface.ON_DEMAND]
