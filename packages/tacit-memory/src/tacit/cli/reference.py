"""The page of commands, made from the commands: `python -m tacit.cli.reference > docs/reference/cli.md`; with `--man` the manual page.

In: the application. Out: Markdown, or roff. A test compares both with the files, so that they cannot go stale.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from typing import Any

from tacit import __version__
from tacit.cli.terminal.help import EXAMPLES
from tacit.cli.terminal.output import EXIT_CODES

HEAD = """# Commands

Made from `packages/tacit-memory/src/tacit/cli/` by `python -m tacit.cli.reference`; do not edit by hand.

Every command takes `--help` and `--json`. With `--json` it prints one JSON document on standard output, and errors as one JSON line with
`code`, `message` and `hint` on standard error; wrong usage has the code `wrong_usage`. Questions and progress go to standard error.
`tacit --install-completion` adds completion to your shell: of commands and options, and of ids of memories while a daemon runs.
The wheel installs this page as `man tacit`, too. `tacit proxy` comes with tacit-integrations ([proxy](../guide/proxy.md)), `tacit eval` with
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


ENVIRONMENT = (
    ("TACIT_HOME", "The folder that holds everything; ~/.tacit without it."),
    ("TACIT_TOKEN", "A personal token, with which a script speaks as you; see tacit token."),
    ("PAGER", "The program that shows long output on a terminal; cat = none."),
    ("NO_COLOR", "Not empty: no colors."),
    ("COLUMNS", "Width of tables on a terminal, instead of its own."),
)  # fmt: skip
FILES = (
    ("~/.tacit/config.yaml", "Your settings; tacit config explains and changes them."),
    ("~/.tacit/tacit.db", "The store."),
    ("~/.tacit/log/", "The log of the daemon and of the hooks."),
)


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


def manual() -> str:
    """Return the manual page `tacit(1)` as roff with the macros of man(7). The wheel installs it as share/man/man1/tacit.1."""
    lines = [
        '.\\" Made by `python -m tacit.cli.reference --man`; do not edit by hand.',
        f'.TH TACIT 1 "" "Tacit {__version__}" "User Commands"',
        ".SH NAME",
        r"tacit \- a memory for coding agents that works without being asked",
        ".SH SYNOPSIS",
        ".B tacit",
        r"\fICOMMAND\fR [\fIARGUMENT\fR ...] [\fIOPTION\fR ...]",
        ".SH DESCRIPTION",
        _roff(
            "Tacit learns from the sessions of coding agents and hands back the few memories that the next action needs."
            " Commands on memories use a daemon, which starts by itself."
        ),
        ".PP",
        _roff(
            "Every command takes --help and --json. With --json it prints one JSON document on standard output, and errors as"
            " one JSON line on standard error. Questions and progress go to standard error. On a terminal, output that is"
            " longer than the screen goes through a pager; --no-pager before the command turns that off."
        ),
    ]
    panel = ""
    for name, command in commands().items():
        title = str(command.rich_help_panel or "")
        if title != panel:
            panel = title
            lines.append(f'.SH "{title.upper()} COMMANDS"')
        lines += _man_command(name, command)
    lines.append('.SH "EXIT STATUS"')
    lines += _man_list((str(code), meaning) for code, meaning in exit_codes().items())
    lines.append(".SH ENVIRONMENT")
    lines += _man_list(ENVIRONMENT)
    lines.append(".SH FILES")
    lines += _man_list(FILES)
    return "\n".join(lines) + "\n"


def _man_command(name: str, command: Any) -> list[str]:
    parameters = [p for p in command.params if p.name != "help" and not getattr(p, "hidden", False)]
    arguments = [p for p in parameters if p.param_type_name == "argument"]
    options = [p for p in parameters if p.param_type_name == "option"]
    written = " ".join(("tacit", name, *(_usage(p) for p in arguments)))
    lines = [f'.SS "{_escaped(written)}"', _roff(" ".join(str(command.help or "").split()))]
    if name in EXAMPLES:
        lines += [".PP", _roff(f"Example: `{EXAMPLES[name]}`")]
    entries = [
        *((_usage(p), p) for p in arguments),
        *((", ".join((*p.opts, *p.secondary_opts)), p) for p in options),
    ]
    for left, parameter in entries:
        value = _default(parameter)
        about = " ".join((parameter.help or "").split())
        said = f"{about} Default: {value.strip('`')}." if value else about
        lines += [".TP", rf"\fB{_escaped(left)}\fR", _roff(said) or r"\&"]
    return lines


def _man_list(entries: Iterable[tuple[str, str]]) -> list[str]:
    return [line for left, about in entries for line in (".TP", rf"\fB{_escaped(left)}\fR", _roff(about))]


def _roff(text: str) -> str:
    """Escape a text for roff, and make what stands between backticks bold."""
    parts = re.split(r"`([^`]*)`", text)
    marked = [rf"\fB{_escaped(part)}\fR" if at % 2 else _escaped(part) for at, part in enumerate(parts)]
    line = "".join(marked)
    return rf"\&{line}" if line.startswith((".", "'")) else line


def _escaped(text: str) -> str:
    return text.replace("\\", r"\e").replace("-", r"\-")


if __name__ == "__main__":
    sys.stdout.write(manual() if "--man" in sys.argv[1:] else render())
