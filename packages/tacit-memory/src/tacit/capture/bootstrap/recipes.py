"""The steps that a project's commands run. In: the text of a Makefile or justfile, or the scripts of a manifest. Out: recipes, and their sentences.

A recipe is told whole: all its commands in order, with continuation lines joined, and what runs before and after it. Where that is
too long, the sentence says how much is left out; where conditions choose among commands, it says so. Runs and expands nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

from tacit.text.lazy_regex import lazy_regex

MAX_COMMAND_CHARS = 240
MAX_CHARS = 900
"""Of one sentence; the commands behind that are counted."""
_MAKE_TARGETS = lazy_regex(
    r"^(?P<names>[A-Za-z][\w./-]*(?:[ \t]+[A-Za-z][\w./-]*)*)[ \t]*::?(?![=:])(?P<rest>[^#]*)(?:##?[ \t]*(?P<about>.+?)[ \t]*)?$"
)
_ASSIGNED = lazy_regex(r"^[ \t]*(?:export[ \t]+|override[ \t]+)?[\w.-]+[ \t]*(?:::?=|[?+!]?=)")
_CONDITION = lazy_regex(r"^[ \t]*(?:ifn?eq|ifn?def|else|endif)\b")
_JUST_RECIPE = lazy_regex(
    r"^@?(?P<name>[A-Za-z_][\w-]*)(?P<parameters>(?:\s+[^:]*)?):(?!=)(?P<rest>[^#\n]*)(?:#.*)?$"
)
_JUST_PRIVATE = lazy_regex(r"^\[[^\]]*\bprivate\b[^\]]*\]")
_JUST_CALL = lazy_regex(r"\(\s*(?P<called>[A-Za-z_][\w-]*)[^)]*\)|(?P<bare>[A-Za-z_][\w-]*)")
_QUIET = lazy_regex(r"^[@+-]+[ \t]*")
_LEAST_ABOUT = 2


@dataclass(frozen=True, slots=True, kw_only=True)
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
    """The sentence on `recipe`, which `command` runs; "" = there is nothing to say. `noun` = what the file calls a recipe."""
    action = ""
    if recipe.commands:
        shown, left_out = _shown(recipe.commands)
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


def _shown(commands: Sequence[str]) -> tuple[list[str], int]:
    """The commands as code, as many as fit, and how many do not."""
    shown: list[str] = []
    for number, command in enumerate(commands):
        code = _code(command)
        if shown and sum(map(len, shown)) + len(code) > MAX_CHARS:
            return shown, len(commands) - number
        shown.append(code)
    return shown, 0


def _code(command: str) -> str:
    flat = " ".join(command.split())
    if len(flat) > MAX_COMMAND_CHARS:
        flat = flat[: MAX_COMMAND_CHARS - 3].rsplit(" ", 1)[0] + "..."
    return f"`` {flat} ``" if "`" in flat else f"`{flat}`"


def _names(names: Sequence[str], noun: str) -> str:
    plural = noun if len(names) == 1 else f"{noun}s"
    return f"the {plural} {', '.join(f'`{name}`' for name in names)}"


# --- Makefile


def read_makefile(text: str) -> tuple[Recipe, ...]:
    """Its targets in order; no pattern rules, no special targets."""
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
    """Its public recipes in order."""
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
    """Lines, with those joined that go on behind a backslash."""
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
    """The scripts of package.json; `hooks` = its runner also runs `pretest` before and `posttest` after `test`."""
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
    """The tasks or scripts of a tool in pyproject.toml: a command, a list of them, or a table that holds either."""
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
    """Commands of one task; the name of another task stands for its commands."""
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
