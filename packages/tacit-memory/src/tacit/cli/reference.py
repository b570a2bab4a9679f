"""The page of commands, made from the commands: `python -m tacit.cli.reference > docs/reference/cli.md`.

In: the application. Out: Markdown. A test compares it with the file, so that it cannot go stale.
"""

from __future__ import annotations

import sys
from typing import Any

from tacit.cli.terminal.help import EXAMPLES
from tacit.cli.terminal.output import EXIT_CODES

HEAD = """# Commands

Made from `packages/tacit-memory/src/tacit/cli/` by `python -m tacit.cli.reference`; do not edit by hand.

Every command takes `--help` and `--json`. With `--json` it prints one JSON document on standard output, and errors as one JSON line with
`code`, `message` and `hint` on standard error; wrong usage has the code `wrong_usage`. Questions and progress go to standard error.
`tacit --install-completion` adds completion to your shell: of commands and options, and of ids of memories while a daemon runs.
`tacit proxy` comes with tacit-integrations ([proxy](../guide/proxy.md)), `tacit eval` with
tacit-evals ([benchmarks](../benchmarks.md)).

On a terminal, output that is longer than the screen goes through a pager: `PAGER`, else less or more; `PAGER=cat`
shows it as it is, and so does `tacit --no-pager COMMAND`. Tables fit the width of the terminal. With `NO_COLOR` set there are no colors.

Commands on memories use the daemon and start it if none runs. `status` and `stop` start none. `demo`, `restore`, `doctor --reindex`,
`export` and `import PATH` work in their own process.

| exit code | meaning |
|---|---|
"""

MEANINGS = {
    0: "done",
    1: "an unexpected error, or you declined",
    2: "wrong usage",
    10: "`doctor` or `demo` found a problem, `import` could not read a file or line, or `purge` could not clean a place;"
    " everything was reported",
    130: "interrupted",
}


def exit_codes() -> dict[int, str]:
    """Return the meaning of every exit code, in ascending order: `MEANINGS`, and the first line of the docstring of each error class."""
    rows = dict(MEANINGS)
    for kind, code in EXIT_CODES:
        if code in MEANINGS:
            continue
        description = f"`{kind.code}`: {(kind.__doc__ or '').splitlines()[0].rstrip('.').lower()}"
        rows[code] = f"{rows[code]}; {description}" if code in rows else description
    return dict(sorted(rows.items()))


def commands() -> dict[str, Any]:
    """Return the commands of this package by name, in the order of the help page; those of a group stand under both names."""
    from tacit.cli.main import whole_tree
    from tacit.cli.packages import COMMANDS

    by_name: dict[str, Any] = {}
    for name, command in whole_tree().commands.items():
        if name in COMMANDS:
            continue
        inner: dict[str, Any] | None = getattr(command, "commands", None)
        for subname, subcommand in ({"": command} if inner is None else inner).items():
            subcommand.rich_help_panel = command.rich_help_panel or subcommand.rich_help_panel
            by_name[f"{name} {subname}".strip()] = subcommand
    panels = list(dict.fromkeys(command.rich_help_panel for command in by_name.values()))
    return dict(sorted(by_name.items(), key=lambda pair: panels.index(pair[1].rich_help_panel)))


def render() -> str:
    """Return the Markdown page with all commands, options and exit codes."""
    sections = [HEAD + "".join(f"| {code} | {meaning} |\n" for code, meaning in exit_codes().items())]
    panel = ""
    for name, command in commands().items():
        title = str(command.rich_help_panel or "")
        if title != panel:
            sections.append(f"\n## {title}\n")
            panel = title
        sections.append(_section(name, command))
    return "".join(sections)


def _section(name: str, command: Any) -> str:
    parameters = [p for p in command.params if p.name != "help" and not getattr(p, "hidden", False)]
    arguments = [p for p in parameters if p.param_type_name == "argument"]
    options = [p for p in parameters if p.param_type_name == "option"]
    usage = " ".join(["tacit", name, *(_usage(p) for p in arguments)])
    lines = [f"\n### `{usage}`\n\n{' '.join(str(command.help or '').split())}\n"]
    if name in EXAMPLES:
        lines.append(f"\nExample: `{EXAMPLES[name]}`\n")
    rows = [(_usage(p), p) for p in arguments] + [
        (", ".join((*p.opts, *p.secondary_opts)), p) for p in options
    ]
    if rows:
        lines.append("\n| | meaning | default |\n|---|---|---|\n")
    lines += [f"| `{column}` | {_cell(p.help or '')} | {_default(p)} |\n" for column, p in rows]
    return "".join(lines)


def _usage(argument: Any) -> str:
    if argument.metavar:
        return str(argument.metavar)
    word = str(argument.name).upper() + ("..." if argument.nargs == -1 else "")
    return word if argument.required else f"[{word}]"


def _default(parameter: Any) -> str:
    value = parameter.default
    if parameter.name == "cwd":
        return "the current one"
    if value is None or value == "" or value is False or parameter.required:
        return ""
    return "yes" if value is True else f"`{value}`"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


if __name__ == "__main__":
    sys.stdout.write(render())
