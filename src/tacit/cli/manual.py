"""The manual page `tacit(1)`, made from the commands as the reference page is: `python -m tacit.cli.reference --man`.

In: the commands. Out: roff with the macros of man(7). The wheel installs it as share/man/man1/tacit.1.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

ENVIRONMENT = (
    ("TACIT_HOME", "The folder that holds everything; ~/.tacit without it."),
    ("TACIT_TOKEN", "A personal token, with which a script speaks as you; see tacit token."),
    ("PAGER, TACIT_PAGER", "The program that shows long output on a terminal; TACIT_PAGER comes first. Empty or cat = none."),
    ("NO_COLOR", "Not empty: no colors."),
    ("COLUMNS", "Width of tables on a terminal, instead of its own."),
)  # fmt: skip
FILES = (
    ("~/.tacit/config.yaml", "Your settings; tacit config explains and changes them."),
    ("~/.tacit/tacit.db", "The store."),
    ("~/.tacit/log/", "The log of the daemon and of the hooks."),
)


def render_manual(
    commands: Mapping[str, Any],
    *,
    exit_codes: Mapping[int, str],
    usage: Any,
    default: Any,
    version: str,
) -> str:
    """The whole page.

    Args:
        commands: by name, in the order of the reference page.
        exit_codes: what each means.
        usage: an argument or option as it is written.
        default: its default in words, "" = none is worth saying.
        version: of Tacit.
    """
    lines = [
        '.\\" Made by `python -m tacit.cli.reference --man`; do not edit by hand.',
        f'.TH TACIT 1 "" "Tacit {version}" "User Commands"',
        ".SH NAME",
        r"tacit \- a memory for coding agents that works without being asked",
        ".SH SYNOPSIS",
        ".B tacit",
        r"\fICOMMAND\fR [\fIARGUMENT\fR ...] [\fIOPTION\fR ...]",
        ".SH DESCRIPTION",
        _text(
            "Tacit learns from the sessions of coding agents and hands back the few memories that the next action needs."
            " Commands on memories use a daemon, which starts by itself."
        ),
        ".PP",
        _text(
            "Every command takes --help and --json. With --json it prints one JSON document on standard output, and errors as"
            " one JSON line on standard error. Questions and progress go to standard error. On a terminal, output that is"
            " longer than the screen goes through a pager; --no-pager before the command turns that off."
        ),
    ]
    panel = ""
    for name, command in commands.items():
        title = str(command.rich_help_panel or "")
        if title != panel:
            panel = title
            lines.append(f'.SH "{title.upper()} COMMANDS"')
        lines += _command(name, command, usage=usage, default=default)
    lines.append('.SH "EXIT STATUS"')
    lines += _list((str(code), meaning) for code, meaning in exit_codes.items())
    lines.append(".SH ENVIRONMENT")
    lines += _list(ENVIRONMENT)
    lines.append(".SH FILES")
    lines += _list(FILES)
    return "\n".join(lines) + "\n"


def _command(name: str, command: Any, *, usage: Any, default: Any) -> list[str]:
    parameters = [p for p in command.params if p.name != "help" and not getattr(p, "hidden", False)]
    arguments = [p for p in parameters if p.param_type_name == "argument"]
    options = [p for p in parameters if p.param_type_name == "option"]
    written = " ".join(("tacit", name, *(usage(p) for p in arguments)))
    lines = [f'.SS "{_escaped(written)}"', _text(" ".join(str(command.help or "").split()))]
    entries = [
        *((usage(p), p) for p in arguments),
        *((", ".join((*p.opts, *p.secondary_opts)), p) for p in options),
    ]
    for left, parameter in entries:
        value = default(parameter)
        about = " ".join((parameter.help or "").split())
        said = f"{about} Default: {value.strip('`')}." if value else about
        lines += [".TP", rf"\fB{_escaped(left)}\fR", _text(said) or r"\&"]
    return lines


def _list(entries: Iterable[tuple[str, str]]) -> list[str]:
    return [line for left, about in entries for line in (".TP", rf"\fB{_escaped(left)}\fR", _text(about))]


def _text(text: str) -> str:
    """Words as roff reads them: what stands between backticks is bold."""
    parts = re.split(r"`([^`]*)`", text)
    marked = [rf"\fB{_escaped(part)}\fR" if at % 2 else _escaped(part) for at, part in enumerate(parts)]
    line = "".join(marked)
    return rf"\&{line}" if line.startswith((".", "'")) else line


def _escaped(text: str) -> str:
    return text.replace("\\", r"\e").replace("-", r"\-")
