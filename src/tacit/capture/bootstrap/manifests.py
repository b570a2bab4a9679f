"""Facts of a package manifest. In: its name and text. Out: statements. Reads them off; runs nothing, resolves nothing.

package.json, pyproject.toml, Makefile, justfile, Cargo.toml, go.mod: which commands there are, which tool runs them, which
versions are asked for.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from typing import cast

from tacit.capture.bootstrap.markdown import RuleLine
from tacit.errors import InvalidPayload
from tacit.late_pattern import late_pattern

MAX_COMMANDS = 20
_MAX_COMMAND = 120
_MAX_LINE = 200
_USUAL = (
    "build", "test", "lint", "check", "format", "fmt", "typecheck", "dev", "start", "run", "ci", "coverage", "e2e", "docs",
    "release", "deploy", "migrate", "generate", "codegen", "clean", "install", "setup", "bench", "all",
)  # fmt: skip
"""What people ask for most, first; other commands follow in the order of the file."""
_SAY_NOTHING = ("default", "help")
_MAKE_TARGET = late_pattern(r"^(?P<name>[A-Za-z][\w./-]*)\s*:(?![=:])[^#\n]*(?:##\s*(?P<about>.+?)\s*)?$")
_JUST_RECIPE = late_pattern(r"^@?(?P<name>[a-z_][\w-]*)(?:\s+[^:=]*)?:(?!=)(?P<rest>[^#\n]*)$", re.IGNORECASE)
_RECIPE = late_pattern(r"^(?:\t|[ ]{2,})[@-]*(?P<command>\S.*)$")
_GO = late_pattern(r"^(?P<word>module|go|toolchain)\s+(?P<value>\S+)", re.MULTILINE)
_Table = Mapping[str, object]


def read_manifest(path: str, text: str) -> tuple[RuleLine, ...]:
    """The facts in the manifest called `path`.

    Raises:
        InvalidPayload: if it cannot be parsed.
    """
    found = list(MANIFESTS[path](text))
    unique = {content: (content, span) for content, span in found if len(content) <= _MAX_LINE * 2}
    lines = text.split("\n")
    return tuple(
        RuleLine(content=content, line=_line_of(lines, span), span=span[:_MAX_LINE], command=True)
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
    named = _strings(places) or _strings(_table(places).get("packages"))
    if named:
        yield f"npm workspaces: {', '.join(named[:8])}", '"workspaces"'
    scripts = {
        name: value for name, value in _table(package.get("scripts")).items() if isinstance(value, str)
    }
    hooks = {f"{when}{name}" for when in ("pre", "post") for name in scripts}
    for name in _chosen([name for name in scripts if name not in hooks]):
        called = name if name in ("test", "start") and runner != "bun" else f"run {name}"
        yield _runs(f"{runner} {called}", str(scripts[name])), f'"{name}"'


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
    for group in ("poe", "taskipy", "pdm", "hatch"):
        tasks = _table(_table(tools.get(group)).get("tasks" if group != "pdm" else "scripts"))
        runner = {"poe": "poe", "taskipy": "task", "pdm": "pdm run", "hatch": "hatch run"}[group]
        for name in _chosen([name for name, value in tasks.items() if isinstance(value, str)]):
            yield _runs(f"{runner} {name}", str(tasks[name])), name


def _makefile(text: str) -> Iterator[tuple[str, str]]:
    return _recipes(text, _MAKE_TARGET, "make")


def _justfile(text: str) -> Iterator[tuple[str, str]]:
    return _recipes(text, _JUST_RECIPE, "just")


def _recipes(text: str, opening: re.Pattern[str], runner: str) -> Iterator[tuple[str, str]]:
    """Targets with what they say of themselves, in their own line or the comment above, and their first command."""
    found: dict[str, tuple[str, str]] = {}
    lines = text.split("\n")
    for number, line in enumerate(lines):
        target = opening.match(line)
        if (
            target is None
            or target["name"].startswith((".", "_"))
            or target["name"] in (*found, *_SAY_NOTHING)
        ):
            continue
        above = lines[number - 1].strip() if number else ""
        about = target.groupdict().get("about") or (
            above.lstrip("# ").strip() if above.startswith("# ") else ""
        )
        body = _RECIPE.match(lines[number + 1]) if number + 1 < len(lines) else None
        command = body["command"].strip() if body else ""
        found[target["name"]] = (about if len(about.split()) >= 2 else "", command)
    for name in _chosen(list(found)):
        about, command = found[name]
        if about:
            yield f"`{runner} {name}`: {about.rstrip('.')}", name
        elif command and not command.startswith(("@", "#")):
            yield _runs(f"{runner} {name}", command), name


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
    told = {found["word"]: found["value"] for found in _GO.finditer(text)}
    if "module" not in told:
        raise InvalidPayload("go.mod names no module.")
    yield f"The Go module is `{told['module']}`", f"module {told['module']}"
    if "go" in told:
        yield f"Go {told['go']} or later is required (go.mod)", f"go {told['go']}"


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


def _runs(command: str, what: str) -> str:
    flat = " ".join(what.split())
    shown = flat if len(flat) <= _MAX_COMMAND else flat[: _MAX_COMMAND - 3].rsplit(" ", 1)[0] + "..."
    return f"`{command}` runs `{shown.replace('`', '')}`"


def _chosen(names: list[str]) -> list[str]:
    """The usual names first, then the others, as many as are worth keeping."""
    rank = {name: number for number, name in enumerate(_USUAL)}
    order = sorted(range(len(names)), key=lambda at: (rank.get(names[at].split(":")[0], len(rank)), at))
    return [names[at] for at in order[:MAX_COMMANDS]]


def _table(value: object) -> _Table:
    return cast("_Table", value) if isinstance(value, dict) else {}


def _strings(value: object) -> list[str]:
    return (
        [part for part in cast("list[object]", value) if isinstance(part, str)]
        if isinstance(value, list)
        else []
    )
