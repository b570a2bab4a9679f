"""The commands of a package manifest. In: its name and text. Out: statements. Reads them off; runs nothing, resolves nothing.

Of package.json, pyproject.toml, Makefile and justfile: which commands there are, and what they run. Versions and settings are left out: an agent
reads them where it needs them. A recipe is told whole: all its commands in order, with continuation lines joined, and what runs before and after it. Where that is
too long, the sentence says how much is left out; where conditions choose among commands, it says so. Runs and expands nothing.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import cast

from tacit.capture.bootstrap.markdown import RuleLine
from tacit.errors import InvalidPayload
from tacit.frozen import frozen
from tacit.reading.sentences import shorten_at_word
from tacit.text.lazy_regex import lazy_regex

MAX_COMMAND_CHARS = 240
MAX_CHARS = 900
"""Most characters of the commands in one sentence; the commands behind that are only counted."""
_MAKE_TARGETS = lazy_regex(
    r"^(?P<names>[A-Za-z][\w./-]*(?:[ \t]+[A-Za-z][\w./-]*)*)[ \t]*::?(?![=:])(?P<rest>[^#]*)(?:##?[ \t]*(?P<about>\S(?:.*\S)?)[ \t]*)?$"
)
_ASSIGNED = lazy_regex(r"^[ \t]*(?:export[ \t]+|override[ \t]+)?[\w.-]+[ \t]*(?:::?=|[?+!]?=)")
_CONDITION = lazy_regex(r"^[ \t]*(?:ifn?eq|ifn?def|else|endif)\b")
_JUST_RECIPE = lazy_regex(
    r"^@?(?P<name>[A-Za-z_][\w-]*)(?P<parameters>(?:\s[^:]*)?):(?!=)(?P<rest>[^#\n]*)(?:#.*)?$"
)
_JUST_PRIVATE = lazy_regex(r"^\[[^\]]*\bprivate\b[^\]]*\]")
_JUST_CALL = lazy_regex(r"\(\s*(?P<called>[A-Za-z_][\w-]*)[^)]{0,400}\)|(?P<bare>[A-Za-z_][\w-]*)")
_QUIET = lazy_regex(r"^[@+-]+[ \t]*")
_LEAST_ABOUT = 2


@frozen
class Recipe:
    """The steps of one command of a project.

    Attributes:
        name: of the target, recipe or script.
        commands: all of them, in order, each in one line.
        about: what the file says of it; "" = nothing.
        before, after: what runs before and after it, by name.
        conditional: conditions of the file choose among the commands.
    """

    name: str
    commands: tuple[str, ...] = ()
    about: str = ""
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    conditional: bool = False


def describe_recipe(command: str, recipe: Recipe, *, noun: str) -> str:
    """Return the sentence that tells what `command` runs; "" = the recipe has no commands.

    `noun` = what the file calls a recipe, such as `target`.
    """
    action = ""
    if recipe.commands:
        shown, left_out = _code_spans(recipe.commands)
        joint = ", " if recipe.conditional else ", then "
        more = f"{joint}and {left_out} more commands" if left_out else ""
        verb = "runs, depending on conditions," if recipe.conditional else "runs"
        action = f"{verb} {joint.join(shown)}{more}"
        if recipe.before:
            action += f" (after {_names(recipe.before, noun)})"
    elif recipe.before:
        action = f"runs {_names(recipe.before, noun)}"
    if recipe.after and action:
        action += f", then {_names(recipe.after, noun)}"
    about = recipe.about.rstrip(".") if len(recipe.about.split()) >= _LEAST_ABOUT else ""
    if about:
        return f"`{command}`: {about}; {action}" if action else f"`{command}`: {about}"
    return f"`{command}` {action}" if action else ""


def _code_spans(commands: Sequence[str]) -> tuple[list[str], int]:
    """Return (list of code spans, number left out): the first commands that fit into `MAX_CHARS` together, at least one."""
    shown: list[str] = []
    for number, command in enumerate(commands):
        code = _code(command)
        if shown and sum(map(len, shown)) + len(code) > MAX_CHARS:
            return shown, len(commands) - number
        shown.append(code)
    return shown, 0


def _code(command: str) -> str:
    flat = shorten_at_word(command, MAX_COMMAND_CHARS)
    return f"`` {flat} ``" if "`" in flat else f"`{flat}`"


def _names(names: Sequence[str], noun: str) -> str:
    plural = noun if len(names) == 1 else f"{noun}s"
    return f"the {plural} {', '.join(f'`{name}`' for name in names)}"


# --- Makefile


def read_makefile(text: str) -> tuple[Recipe, ...]:
    """Return the targets of a Makefile in order, without pattern rules and special targets."""
    recipes: dict[str, Recipe] = {}
    open_names: tuple[str, ...] = ()
    above, defining, chooses = "", False, False
    for line in _joined(text):
        if defining or line.startswith("define "):
            defining = not line.startswith("endef")
            continue
        if line.startswith("\t"):
            command = _QUIET.sub("", line.strip())
            if command and not command.startswith("#"):
                for name in open_names:
                    recipe = recipes[name]
                    commands = (*recipe.commands, command.replace("$$", "$"))
                    recipes[name] = replace(
                        recipe, commands=commands, conditional=recipe.conditional or chooses
                    )
            continue
        if _CONDITION.match(line):
            chooses = True
            continue
        target = None if _ASSIGNED.match(line) else _MAKE_TARGETS.match(line)
        if target is not None:
            open_names = tuple(target["names"].split())
            # A second recipe of a target is another branch of a condition.
            chooses = any(recipes[name].commands for name in open_names if name in recipes)
            needed, _, inline = target["rest"].partition(";")
            for name in open_names:
                earlier = recipes.get(name, Recipe(name=name))
                recipes[name] = replace(
                    earlier,
                    about=earlier.about or target["about"] or above,
                    before=tuple(dict.fromkeys((*earlier.before, *needed.replace("|", " ").split()))),
                    commands=(
                        *earlier.commands,
                        *([_QUIET.sub("", inline.strip())] if inline.strip() else []),
                    ),
                )
        elif line.strip() and not line.lstrip().startswith("#"):
            open_names = ()
        above = line.lstrip("# ").strip() if line.startswith("# ") else ""
    # Files are no targets that somebody asks for.
    return tuple(
        replace(recipe, before=tuple(name for name in recipe.before if name in recipes or "$" in name))
        for recipe in recipes.values()
    )


# --- justfile


def read_justfile(text: str) -> tuple[Recipe, ...]:
    """Return the public recipes of a justfile in order."""
    recipes: dict[str, Recipe] = {}
    current, above, private = "", "", False
    for line in _joined(text):
        if line[:1].isspace():
            command = _QUIET.sub("", line.strip())
            recipe = recipes.get(current)
            if recipe is None or not command or recipe.commands[:1] == (_SCRIPT,):
                continue
            if command.startswith("#!"):
                recipes[current] = replace(
                    recipe, commands=(_SCRIPT,), about=recipe.about or f"a script for `{command[2:].strip()}`"
                )
            elif not command.startswith("#"):
                recipes[current] = replace(recipe, commands=(*recipe.commands, command))
            continue
        if not line.strip():
            continue
        opened = _JUST_RECIPE.match(line)
        if opened is not None:
            hidden = private or opened["name"].startswith("_")
            before, _, after = opened["rest"].partition("&&")
            current = "" if hidden else opened["name"]
            if current:
                recipes[current] = Recipe(
                    name=current, about=above, before=_called(before), after=_called(after)
                )
            private = False
        elif _JUST_PRIVATE.match(line):
            private = True
        elif not line.startswith(("#", "[")):
            current = ""
        above = (
            line.lstrip("# ").strip() if line.startswith("# ") else (above if line.startswith("[") else "")
        )
    return tuple(
        replace(recipe, commands=()) if recipe.commands == (_SCRIPT,) else recipe
        for recipe in recipes.values()
    )


_SCRIPT = "#!"


def _called(text: str) -> tuple[str, ...]:
    return tuple(match["called"] or match["bare"] for match in _JUST_CALL.finditer(text))


def _joined(text: str) -> Iterator[str]:
    """Yield the lines of `text`; a line that ends with a backslash is joined with the next one."""
    whole = ""
    for line in text.replace("\r\n", "\n").split("\n"):
        whole = f"{whole} {line.strip()}" if whole else line
        if whole.endswith("\\"):
            whole = whole[:-1].rstrip()
            continue
        yield whole
        whole = ""
    if whole:
        yield whole


# --- scripts of manifests


def read_scripts(scripts: Mapping[str, object], *, hooks: bool) -> tuple[Recipe, ...]:
    """Return the scripts of package.json; `hooks` = its runner runs `pretest` and `posttest` around `test`."""
    commands = {
        name: value.strip() for name, value in scripts.items() if isinstance(value, str) and value.strip()
    }
    beside = {f"{when}{name}" for when in ("pre", "post") for name in commands} if hooks else set[str]()
    return tuple(
        Recipe(
            name=name,
            commands=tuple(
                commands[step]
                for step in (f"pre{name}", name, f"post{name}")
                if step == name or (hooks and step in commands)
            ),
        )
        for name in commands
        if name not in beside
    )


def read_tasks(tasks: Mapping[str, object]) -> tuple[Recipe, ...]:
    """Return the tasks of a tool's table in pyproject.toml: a command, a list of commands, or a table with either."""
    read = {name: _task(name, value, tasks) for name, value in tasks.items() if not name.startswith("_")}
    return tuple(recipe for recipe in read.values() if recipe is not None)


def _task(name: str, value: object, tasks: Mapping[str, object]) -> Recipe | None:
    table = cast("Mapping[str, object]", value) if isinstance(value, dict) else {"cmd": value}
    steps = next(
        (table[key] for key in ("cmd", "shell", "sequence", "composite", "chain", "ref") if table.get(key)),
        None,
    )
    commands = tuple(_steps(steps, tasks))
    about = next((text for key in ("help", "description") if isinstance(text := table.get(key), str)), "")
    needed = table.get("deps")
    before = (
        tuple(str(name).split()[0] for name in cast("list[object]", needed) if str(name).strip())
        if isinstance(needed, list)
        else ()
    )
    if not commands and isinstance(
        script := table.get("script") or table.get("call") or table.get("expr"), str
    ):
        commands = (f"python: {script}",)
    return Recipe(name=name, commands=commands, about=about, before=before) if commands else None


def _steps(steps: object, tasks: Mapping[str, object], depth: int = 0) -> Iterator[str]:
    """Yield the commands of one task; the name of another task is replaced by its commands, up to three levels deep."""
    if isinstance(steps, str):
        lines = [line.strip() for line in _joined(steps) if line.strip()]
        if len(lines) == 1 and lines[0] in tasks and depth < 3:
            inner = tasks[lines[0]]
            table = cast("Mapping[str, object]", inner) if isinstance(inner, dict) else {"cmd": inner}
            further = list(
                _steps(table.get("cmd") or table.get("shell") or table.get("sequence"), tasks, depth + 1)
            )
            yield from further or lines
        else:
            yield from lines
    elif isinstance(steps, list):
        for step in cast("list[object]", steps):
            if isinstance(step, dict):
                table = cast("Mapping[str, object]", step)
                yield from _steps(
                    table.get("cmd") or table.get("shell") or table.get("ref"), tasks, depth + 1
                )
            else:
                yield from _steps(step, tasks, depth + 1)


MAX_COMMANDS = 20
_MAX_SPAN = 200
_MAX_CONTENT = 1500
_USUAL = (
    "build", "test", "lint", "check", "format", "fmt", "typecheck", "dev", "start", "run", "ci", "coverage", "e2e", "docs",
    "release", "deploy", "migrate", "generate", "codegen", "clean", "install", "setup", "bench", "all",
)  # fmt: skip
"""Names of the commands that people ask for most; they come first, the others follow in the order of the file."""
_TASK_RUNNERS = (
    ("poe", "tasks", "poe"),
    ("taskipy", "tasks", "task"),
    ("pdm", "scripts", "pdm run"),
    ("rye", "scripts", "rye run"),
)
"""(tool, key of its tasks in `[tool.X]`, command that runs a task) of each task runner."""
_SAY_NOTHING = ("default", "help")
_Table = Mapping[str, object]


def read_manifest(path: str, text: str) -> tuple[RuleLine, ...]:
    """Return the facts that the manifest at `path` (a key of `MANIFESTS`) states, without repeats and overlong ones.

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
    manager, _, version = str(package.get("packageManager") or "").partition("@")
    runner = manager if manager in ("npm", "pnpm", "yarn", "bun") else "npm"
    hooks = runner != "yarn" or version.startswith("1")
    scripts = {recipe.name: recipe for recipe in read_scripts(_table(package.get("scripts")), hooks=hooks)}
    for name in _chosen(list(scripts)):
        called = name if name in ("test", "start") and runner != "bun" else f"run {name}"
        yield describe_recipe(f"{runner} {called}", scripts[name], noun="script"), f'"{name}"'


def _pyproject(text: str) -> Iterator[tuple[str, str]]:
    try:
        tools = _table(tomllib.loads(text).get("tool"))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InvalidPayload(f"pyproject.toml is no TOML: {error}.") from error
    for run_command, tasks in _tasks_by_run_command(tools):
        recipes = {recipe.name: recipe for recipe in read_tasks(tasks)}
        for name in _chosen(list(recipes)):
            called = f"{run_command}{name}" if run_command.endswith(":") else f"{run_command} {name}"
            yield describe_recipe(called, recipes[name], noun="task"), name


def _tasks_by_run_command(tools: _Table) -> Iterator[tuple[str, _Table]]:
    """Yield (command that runs tasks, such as `poe` or `hatch run env:`; table of tasks) of each task runner."""
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


MANIFESTS: dict[str, Callable[[str], Iterator[tuple[str, str]]]] = {
    "package.json": _package_json,
    "pyproject.toml": _pyproject,
    "Makefile": _makefile,
    "makefile": _makefile,
    "justfile": _justfile,
    "Justfile": _justfile,
}
"""Names of manifests at a project's root, each with its reader, which yields (statement, text that marks its line)."""


def _chosen(names: list[str]) -> list[str]:
    """Return at most `MAX_COMMANDS` names: the usual ones first, then the others in their order."""
    rank = {name: number for number, name in enumerate(_USUAL)}
    order = sorted(range(len(names)), key=lambda at: (rank.get(names[at].split(":")[0], len(rank)), at))
    return [names[at] for at in order[:MAX_COMMANDS]]


def _table(value: object) -> _Table:
    return cast("_Table", value) if isinstance(value, dict) else {}
