"""`tacit`: the commands, and the one place where their errors end.

In: arguments. Out: an exit code; see `output.EXIT_CODES`. Loads nothing of Tacit but what the command asked for needs,
so that `--help` and completion are quick.
"""

from __future__ import annotations

import contextlib
import errno
import inspect
import os
import platform
import sys
import time
import traceback
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO, cast

import typer
from typer.core import TyperGroup

from tacit import __version__
from tacit.cli import (
    config,
    demo,
    doctor,
    memories,
    packages,
    service,
    sessions,
    setup,
    status,
    sync,
    team,
    traces,
    ui,
)
from tacit.cli.context import current_context, use_context
from tacit.cli.maintenance import purge, review, token
from tacit.cli.terminal.help import PlainCommand, write_parameters
from tacit.cli.terminal.output import exit_code, print_error, print_problem
from tacit.cli.terminal.pager import paged
from tacit.cli.transfer import exporting, importing
from tacit.errors import TacitError

if TYPE_CHECKING:
    from tacit.cli.context import CommandContext


class GroupedCommands(TyperGroup):
    """The root command group. Its help lists the commands under headings, each on one line with the first sentence of its help.

    The groups are the panels that the commands were registered with, in the order of registration. It loads no rich, which would cost 700 ms.
    """

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self._loaded: set[str] = set()

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return the command of that name. If another package provides it, its entry point is loaded now."""
        command: Any = super().get_command(ctx, cmd_name)
        if cmd_name in packages.COMMANDS.keys() - self._loaded:
            self._loaded.add(cmd_name)
            if (brought := packages.load(cmd_name)) is not None:
                brought.rich_help_panel = command.rich_help_panel
                self.commands[cmd_name] = command = brought
        return command

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the commands, then the options, which a newcomer does not need."""
        self.format_commands(ctx, formatter)
        write_parameters(self, ctx, formatter)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write one section of the help per heading; hidden commands are left out."""
        panels: dict[str, list[tuple[str, str]]] = {}
        for name in self.list_commands(ctx):
            command: Any = self.commands[name]
            if command.hidden:
                continue
            panel = getattr(command, "rich_help_panel", None)
            title = panel if isinstance(panel, str) else "Commands"
            panels.setdefault(title, []).append((name, _first_sentence(command.help or "")))
        for title, rows in panels.items():
            with formatter.section(title):
                formatter.write_dl(rows)


def _first_sentence(text: str) -> str:
    paragraph = " ".join(inspect.cleandoc(text).partition("\n\n")[0].split())
    return f"{paragraph.partition('. ')[0].rstrip('.')}."


app = typer.Typer(
    name="tacit",
    cls=GroupedCommands,
    help="Tacit gives a coding agent a memory that works without being asked.",
    epilog="All take --json and --help. Further commands: "
    "backup, restore, stop, mcp, token, login, logout, devices, get, proxy, eval. "
    "Silence: `#notacit` in a prompt; `tacit sessions --mute`; `tacit config set recall.enabled false --project`. "
    "No learning: `tacit config set capture.enabled false`.",
    no_args_is_help=True,
    rich_markup_mode=None,  # rich help costs 700 ms
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

_WrongUsage: Any = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException")
"""The base class of the argument parser's errors, which typer does not export."""


def _version(asked: bool) -> None:
    if asked:
        sys.stdout.write(f"tacit {__version__}\n")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
    no_pager: Annotated[
        bool, typer.Option("--no-pager", help="Print long output as it is, without a pager.")
    ] = False,
) -> None:
    """Tacit gives a coding agent a memory that works without being asked."""


_PANELS: dict[str, dict[str, Any]] = {
    "Start here": {
        "install": setup.install,
        "init": setup.init,
        "status": status.status,
        "ui": ui.ui,
    },
    "Memories": {
        "remember": memories.remember,
        "recall": memories.recall,
        "list": memories.list_,
        "show": memories.show,
        "edit": memories.edit,
        "forget": memories.forget,
        "purge": purge.purge,
        "undo": review.undo,
        "review": review.review,
    },
    "Why": {
        "why": traces.why,
        "why-not": traces.why_not,
        "sessions": sessions.sessions,
    },
    "Other tools and machines": {
        "import": importing.import_,
        "export": exporting.export,
        "share": team.share,
    },
    "Settings and checks": {
        "config": config.config,
        "doctor": doctor.doctor,
        "demo": demo.demo,
        "uninstall": setup.uninstall,
    },
}
"""The commands under each heading of `--help`."""
_FURTHER: dict[str, Any] = {
    "backup": service.backup,
    "restore": service.restore,
    "stop": service.stop,
    "mcp": service.mcp,
    "token": token.token,
    "login": sync.login,
    "logout": sync.logout,
    "devices": sync.devices,
    "get": memories.get,
}
"""The commands that `--help` leaves out so that it fits one screen; docs/reference/cli.md has them."""
FURTHER = "Further commands"
for _panel, _commands in _PANELS.items():
    for _name, _command in _commands.items():
        app.command(_name, cls=PlainCommand, rich_help_panel=_panel)(_command)
    if "share" in _commands:
        app.add_typer(team.app, name="team", rich_help_panel=_panel)
for _name, _command in _FURTHER.items():
    app.command(_name, cls=PlainCommand, rich_help_panel=FURTHER, hidden=True)(_command)
for _name in packages.COMMANDS:
    app.command(
        _name,
        rich_help_panel=FURTHER,
        hidden=True,
        context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
    )(packages.missing(_name))


@cache
def _tree() -> Any:
    """Return the tree of commands, built once per process: reading fifty signatures takes longer than most commands run."""
    return typer.main.get_command(app)


def whole_tree() -> Any:
    """Build and return a new tree of commands, which the reference pages may change."""
    return typer.main.get_command(app)


_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EFBIG})
"""Error numbers of an output that can take no more."""


def run(arguments: Sequence[str], *, command_context: CommandContext | None = None) -> int:
    """Run one command and return its exit code. Errors are printed on standard error, never raised.

    Args:
        arguments: without the program's name.
        command_context: what to work with instead of the user's own, for tests.
    """
    as_json = "--json" in arguments
    try:
        if command_context is not None:
            use_context(command_context)
        # For programs the parser's own complaints are raised, to be said as JSON like every other error.
        with paged(arguments):
            code = _tree()(list(arguments), prog_name="tacit", standalone_mode=not as_json)
            sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except SystemExit as left:
        return left.code if isinstance(left.code, int) else 0 if left.code is None else 1
    except KeyboardInterrupt:
        return 130
    except typer.Abort:
        print_problem("aborted", "Aborted.")
        return 1
    except _WrongUsage as error:
        print_problem("wrong_usage", error.format_message(), hint=_usage_of(error))
        return error.exit_code
    except TacitError as error:
        print_error(error, as_json=as_json)
        return exit_code(error)
    except OSError as error:
        if error.errno not in _FULL or error.filename is not None:
            return report_crash(error, as_json=as_json)
        told = TacitError(f"The answer cannot be written: {error.strerror}.", hint="Send it elsewhere.")
        print_error(told, as_json=as_json)
        return 1
    # The entry point's boundary: an unexpected error is kept in a file without memory text, and said in one line.
    except Exception as error:  # noqa: BLE001
        return report_crash(error, as_json=as_json)


def _usage_of(error: Any) -> str:
    """Return the hint that names the help option of the command that was used wrongly; "" = the command is unknown."""
    at = getattr(error, "ctx", None)
    return f"`{at.command_path} --help` shows how." if at is not None else ""


def main() -> None:
    """Run the command of the process's arguments and exit with its code: the console script."""
    _open_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        _replace_unprintable(stream)
    # Where the locale is not UTF-8, arguments come with their bytes in disguise; they are UTF-8 all the same.
    code = run([os.fsencode(argument).decode("utf-8", "replace") for argument in sys.argv[1:]])
    try:
        sys.stdout.flush()
    except OSError:  # said already; what is left of the answer is not written once more at the end
        sys.stdout = _nowhere("w")
    sys.exit(code)


def _nowhere(mode: str) -> TextIO:
    return cast(TextIO, Path(os.devnull).open(mode, encoding="utf-8"))


def _open_closed_streams() -> None:
    """Replace standard streams that the caller closed (`tacit list >&-`) by the null device."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, _nowhere(mode))


def _replace_unprintable(stream: TextIO) -> None:
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="replace")


def report_crash(error: BaseException, *, as_json: bool) -> int:
    """Write a crash report into the log folder, print where it is, and return exit code 1."""
    report: Path | None = None
    with contextlib.suppress(OSError, TacitError):
        report = write_report(error, current_context().home.log_file.parent)
    location = (
        f"The report is {report}; it holds no text of a memory." if report else "No report could be written."
    )
    print_error(
        TacitError(f"Tacit failed with {type(error).__name__}.", hint=f"{location} Please file it as a bug."),
        as_json=as_json,
    )
    return 1


def write_report(error: BaseException, folder: Path) -> Path:
    """Write a crash report into `folder`, with the stack frames of `error` and its causes but no messages; return the file.

    The error's message is never written: it may quote a memory, a prompt or a path.

    Raises:
        OSError: if it cannot be written.
    """
    from tacit.system.files import open_handle

    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = folder / f"crash-{time.strftime('%Y%m%dT%H%M%S', time.gmtime())}-{os.getpid()}.txt"
    lines = [f"tacit {__version__}, Python {platform.python_version()}, {platform.system()}\n"]
    cause: BaseException | None = error
    while cause is not None:
        lines.append(f"{type(cause).__name__}\n")
        lines += traceback.format_tb(cause.__traceback__)
        cause = cause.__cause__ or (None if cause.__suppress_context__ else cause.__context__)
    handle = open_handle(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    with os.fdopen(handle, "w", encoding="utf-8", errors="replace") as file:
        file.writelines(lines)
    return path


if __name__ == "__main__":
    main()
