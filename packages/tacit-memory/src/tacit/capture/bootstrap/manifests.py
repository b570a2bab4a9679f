"""Facts of a package manifest. In: its name and text. Out: statements. Reads them off; runs nothing, resolves nothing.

package.json, pyproject.toml, Makefile, justfile, Cargo.toml, go.mod: which commands there are, which tool runs them, which
versions are asked for.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import cast

from tacit.capture.bootstrap.markdown import RuleLine
from tacit.capture.bootstrap.recipes import (
    Recipe,
    describe_recipe,
    read_justfile,
    read_makefile,
    read_scripts,
    read_tasks,
)
from tacit.errors import InvalidPayload
from tacit.text.lazy_regex import lazy_regex

MAX_COMMANDS = 20
_MAX_SPAN = 200
_MAX_CONTENT = 1500
_USUAL = (
    "build", "test", "lint", "check", "format", "fmt", "typecheck", "dev", "start", "run", "ci", "coverage", "e2e", "docs",
    "release", "deploy", "migrate", "generate", "codegen", "clean", "install", "setup", "bench", "all",
)  # fmt: skip
"""What people ask for most, first; other commands follow in the order of the file."""
_TASK_RUNNERS = (
    ("poe", "tasks", "poe"),
    ("taskipy", "tasks", "task"),
    ("pdm", "scripts", "pdm run"),
    ("rye", "scripts", "rye run"),
)
"""Tool, key of its tasks, and how they are called."""
_SAY_NOTHING = ("default", "help")
_GO = lazy_regex(r"^(?P<word>module|go|toolchain)\s+(?P<value>\S+)", re.MULTILINE)
_Table = Mapping[str, object]


def read_manifest(path: str, text: str) -> tuple[RuleLine, ...]:
    """The facts in the manifest called `path`.

    Raises:
        InvalidPayload: if it cannot be parsed.
    """
    facts = list(MANIFESTS[path](text))
    unique = {content: (content, span) for content, span in facts if len(content) <= _MAX_CONTENT}
    lines = text.split("\n")
    return tuple(
        RuleLine(content=content, line=_line_of(lines, span), span=span[:_MAX_SPAN], command=True)
        for content, span in unique.values()
    )


def _line_of(lines: list[str], span: str) -> int:
    return next((number for number, line in enumerate(lines, start=1) if span and span in line), 1)


def _package_json(text: str) -> Iterator[tuple[str, str]]:
    try:
        package = _table(json.loads(text))
    except (ValueError, RecursionError) as error:
        raise InvalidPayload(f"package.json is no JSON: {error}.") from error
    manager = str(package.get("packageManager") or "").split("@", 1)[0]
    runner = manager if manager in ("npm", "pnpm", "yarn", "bun") else "npm"
    if manager:
        yield f"The package manager is {package['packageManager']} (package.json)", '"packageManager"'
    for engine, version in sorted(_table(package.get("engines")).items()):
        yield f"package.json asks for {engine} {version}", f'"{engine}"'
    if package.get("type") == "module":
        yield "JavaScript files here are ES modules (package.json)", '"type"'
    places = package.get("workspaces")
    workspaces = _strings(places) or _strings(_table(places).get("packages"))
    if workspaces:
        yield f"npm workspaces: {', '.join(workspaces[:8])}", '"workspaces"'
    hooks = runner != "yarn" or _manager_version(package).startswith("1")
    scripts = {recipe.name: recipe for recipe in read_scripts(_table(package.get("scripts")), hooks=hooks)}
    for name in _chosen(list(scripts)):
        called = name if name in ("test", "start") and runner != "bun" else f"run {name}"
        yield describe_recipe(f"{runner} {called}", scripts[name], noun="script"), f'"{name}"'


def _manager_version(package: _Table) -> str:
    """Version of the package manager that package.json names, "" = none."""
    return str(package.get("packageManager") or "").partition("@")[2]


def _pyproject(text: str) -> Iterator[tuple[str, str]]:
    document = _toml(text, "pyproject.toml")
    project, tools = _table(document.get("project")), _table(document.get("tool"))
    if version := project.get("requires-python"):
        yield f"Python {version} is required (pyproject.toml)", "requires-python"
    if backend := _table(document.get("build-system")).get("build-backend"):
        yield f"The package is built with {backend} (pyproject.toml)", "build-backend"
    checks = [
        name
        for name in ("ruff", "black", "isort", "flake8", "mypy", "pyright", "pytest", "coverage")
        if name in tools
    ]
    if checks:
        yield f"pyproject.toml configures {', '.join(checks)}", f"[tool.{checks[0]}"
    line = next(
        (v for name in ("ruff", "black") if isinstance(v := _table(tools.get(name)).get("line-length"), int)),
        None,
    )
    if line:
        yield f"Python lines are at most {line} characters (pyproject.toml)", "line-length"
    for name, target in list(_table(project.get("scripts")).items())[:8]:
        yield f"The command `{name}` is `{target}` (pyproject.toml)", name
    for run_command, tasks in _tasks_by_run_command(tools):
        recipes = {recipe.name: recipe for recipe in read_tasks(tasks)}
        for name in _chosen(list(recipes)):
            called = f"{run_command}{name}" if run_command.endswith(":") else f"{run_command} {name}"
            yield describe_recipe(called, recipes[name], noun="task"), name


def _tasks_by_run_command(tools: _Table) -> Iterator[tuple[str, _Table]]:
    """The command that runs the tasks of each task runner, as `poe` or `hatch run env:`, and the table of its tasks."""
    for tool, key, runner in _TASK_RUNNERS:
        yield runner, _table(_table(tools.get(tool)).get(key))
    for name, environment in _table(_table(tools.get("hatch")).get("envs")).items():
        called = "hatch run" if name == "default" else f"hatch run {name}:"
        yield called, _table(_table(environment).get("scripts"))


def _makefile(text: str) -> Iterator[tuple[str, str]]:
    return _described(read_makefile(text), "make", noun="target")


def _justfile(text: str) -> Iterator[tuple[str, str]]:
    return _described(read_justfile(text), "just", noun="recipe")


def _described(recipes: Sequence[Recipe], runner: str, *, noun: str) -> Iterator[tuple[str, str]]:
    by_name = {recipe.name: recipe for recipe in recipes if recipe.name not in _SAY_NOTHING}
    for name in _chosen(list(by_name)):
        sentence = describe_recipe(f"{runner} {name}", by_name[name], noun=noun)
        if sentence:
            yield sentence, name


def _cargo(text: str) -> Iterator[tuple[str, str]]:
    document = _toml(text, "Cargo.toml")
    space = _table(document.get("workspace"))
    package = {**_table(space.get("package")), **_table(document.get("package"))}
    if isinstance(edition := package.get("edition"), str):
        yield f"The Rust edition is {edition} (Cargo.toml)", "edition"
    if isinstance(version := package.get("rust-version"), str):
        yield f"Rust {version} or later is required (Cargo.toml)", "rust-version"
    if members := _strings(space.get("members")):
        yield f"Cargo workspace members: {', '.join(members[:12])}", "members"


def _go_mod(text: str) -> Iterator[tuple[str, str]]:
    versions = {match["word"]: match["value"] for match in _GO.finditer(text)}
    if "module" not in versions:
        raise InvalidPayload("go.mod names no module.")
    yield f"The Go module is `{versions['module']}`", f"module {versions['module']}"
    if "go" in versions:
        yield f"Go {versions['go']} or later is required (go.mod)", f"go {versions['go']}"


MANIFESTS: dict[str, Callable[[str], Iterator[tuple[str, str]]]] = {
    "package.json": _package_json,
    "pyproject.toml": _pyproject,
    "Makefile": _makefile,
    "makefile": _makefile,
    "justfile": _justfile,
    "Justfile": _justfile,
    "Cargo.toml": _cargo,
    "go.mod": _go_mod,
}
"""Manifests at a project's root, each with what reads it into (statement, where it stands)."""


def _toml(text: str, name: str) -> _Table:
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InvalidPayload(f"{name} is no TOML: {error}.") from error


def _chosen(names: list[str]) -> list[str]:
    """The usual names first, then the others, as many as are worth keeping."""
    rank = {name: number for number, name in enumerate(_USUAL)}
    order = sorted(range(len(names)), key=lambda at: (rank.get(names[at].split(":")[0], len(rank)), at))
    return [names[at] for at in order[:MAX_COMMANDS]]


def _table(value: object) -> _Table:
    return cast("_Table", value) if isinstance(value, dict) else {}


def _strings(value: object) -> list[str]:
    return (
        [item for item in cast("list[object]", value) if isinstance(item, str)]
        if isinstance(value, list)
        else []
    )
