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
    setup,
    status,
    sync,
    team,
    traces,
    tuning,
    ui,
)
from tacit.cli.maintenance import learn, learned, purge, review, token
from tacit.cli.statistics import stats
from tacit.cli.terminal.pager import paged
from tacit.cli.transfer import exporting, importing
from tacit.errors import TacitError

if TYPE_CHECKING:
    from tacit.cli.context import CommandContext


class GroupedCommands(TyperGroup):
    """Lists commands in groups, each with the whole first paragraph of its help.

    The groups are the panels that the commands were registered with, in the order of registration. It loads no rich, which would cost 700 ms.
    """

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self._loaded: set[str] = set()

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command; one that another package brings is loaded here."""
        command: Any = super().get_command(ctx, cmd_name)
        if cmd_name in packages.COMMANDS.keys() - self._loaded:
            self._loaded.add(cmd_name)
            if (brought := packages.load(cmd_name)) is not None:
                brought.rich_help_panel = command.rich_help_panel
                self.commands[cmd_name] = command = brought
        return command

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write one section per panel."""
        panels: dict[str, list[tuple[str, str]]] = {}
        for name in self.list_commands(ctx):
            command: Any = self.commands[name]
            if command.hidden:
                continue
            panel = getattr(command, "rich_help_panel", None)
            title = panel if isinstance(panel, str) else "Commands"
            panels.setdefault(title, []).append((name, _first_paragraph(command.help or "")))
        for title, rows in panels.items():
            with formatter.section(title):
                formatter.write_dl(rows)


def _first_paragraph(text: str) -> str:
    return " ".join(inspect.cleandoc(text).partition("\n\n")[0].split())


app = typer.Typer(
    name="tacit",
    cls=GroupedCommands,
    help="Tacit gives a coding agent a memory that works without being asked.",
    epilog="Begin with `tacit demo`, then `tacit install`. Every command takes --json and --help.",
    no_args_is_help=True,
    rich_markup_mode=None,  # rich help costs 700 ms
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

_WrongUsage: Any = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException")
"""What the parser raises; typer shows no more of it than its subclasses."""
START = "Set up"
MEMORIES = "Memories"
RUNNING = "Running"


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


_ANY = {"allow_extra_args": True, "ignore_unknown_options": True}
"""For the stand-in of a command that another package brings: it answers whatever follows it."""
for _panel, _commands in (
    (
        START,
        {
            "demo": demo.demo,
            "install": setup.install,
            "uninstall": setup.uninstall,
            "init": setup.init,
            "join": setup.join,
            "separate": setup.separate,
            "doctor": doctor.doctor,
        },
    ),
    (
        MEMORIES,
        {
            "remember": memories.remember,
            "recall": memories.recall,
            "get": memories.get,
            "context": memories.context,
            "list": memories.list_,
            "show": memories.show,
            "edit": memories.edit,
            "forget": memories.forget,
            "purge": purge.purge,
            "wrong": memories.wrong,
            "undo": review.undo,
            "why": traces.why,
            "why-not": traces.why_not,
            "digest": learned.digest,
            "learn": learn.learn,
            "learned": learned.learned,
            "tune": tuning.tune,
            "export": exporting.export,
            "share": team.share,
            "unshare": team.unshare,
            "login": sync.login,
            "logout": sync.logout,
            "sync": sync.sync,
        },
    ),
    (
        RUNNING,
        {
            "status": status.status,
            "stats": stats.stats,
            "mute": service.mute,
            "unmute": service.unmute,
            "ui": ui.ui,
            "serve": service.serve,
            "mcp": service.mcp,
            "proxy": packages.missing("proxy"),
            "stop": service.stop,
            "logs": service.logs,
            "backup": service.backup,
            "restore": service.restore,
            "reindex": service.reindex,
            "redact": service.redact,
        },
    ),
):
    for _name, _command in _commands.items():
        app.command(
            _name, rich_help_panel=_panel, context_settings=_ANY if _name in packages.COMMANDS else None
        )(_command)
app.add_typer(importing.app, rich_help_panel=MEMORIES)
app.add_typer(review.app, name="review", rich_help_panel=MEMORIES)
app.add_typer(team.app, name="team", rich_help_panel=MEMORIES)
app.add_typer(sync.app, name="devices", rich_help_panel=MEMORIES)
app.add_typer(config.app, name="config", rich_help_panel=RUNNING)
app.add_typer(token.app, name="token", rich_help_panel=RUNNING)
app.command("eval", rich_help_panel=RUNNING, context_settings=_ANY)(packages.missing("eval"))


@cache
def _tree() -> Any:
    """The tree of commands, made once: reading fifty signatures takes longer than most of them work."""
    return typer.main.get_command(app)


def whole_tree() -> Any:
    """Return a tree of commands with those of other packages, for the pages and tables that are made from it.

    Raises:
        LookupError: such a package is not installed.
    """
    tree: Any = typer.main.get_command(app)
    for name, (package, _) in packages.COMMANDS.items():
        stand_in = tree.commands[name]
        if tree.get_command(None, name) is stand_in:
            raise LookupError(f"{package} is not installed: `uv sync --all-packages`")
    return tree


_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EFBIG})
"""Errors of a standard output that takes no more."""


def run(arguments: Sequence[str], *, command_context: CommandContext | None = None) -> int:
    """Run one command and return its exit code; whatever goes wrong is said on standard error.

    Args:
        arguments: without the program's name.
        command_context: what to work with instead of the user's own, for tests.
    """
    from tacit.errors import TacitError

    as_json = "--json" in arguments
    try:
        if command_context is not None:
            from tacit.cli.context import use_context

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
        from tacit.cli.terminal.output import print_problem

        print_problem("aborted", "Aborted.")
        return 1
    except _WrongUsage as error:
        from tacit.cli.terminal.output import print_problem

        print_problem("wrong_usage", error.format_message(), hint=_usage_of(error))
        return error.exit_code
    except TacitError as error:
        from tacit.cli.terminal.output import exit_code, print_error

        print_error(error, as_json=as_json)
        return exit_code(error)
    except OSError as error:
        if error.errno not in _FULL or error.filename is not None:
            return report_crash(error, as_json=as_json)
        from tacit.cli.terminal.output import print_error

        told = TacitError(f"The answer cannot be written: {error.strerror}.", hint="Send it elsewhere.")
        print_error(told, as_json=as_json)
        return 1
    # The entry point's boundary: an unexpected error is kept in a file without memory text, and said in one line.
    except Exception as error:  # noqa: BLE001
        return report_crash(error, as_json=as_json)


def _usage_of(error: Any) -> str:
    """Return the hint that names the help option of the command that was used wrongly."""
    at = getattr(error, "ctx", None)
    return f"`{at.command_path} --help` shows how." if at is not None else ""


def main() -> None:
    """The console script."""
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
    """Give the process the streams that its caller closed (`tacit list >&-`): nothing is read from them, and what is written is lost."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, _nowhere(mode))


def _replace_unprintable(stream: TextIO) -> None:
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="replace")


def report_crash(error: BaseException, *, as_json: bool) -> int:
    """Write a crash report, print where it is, and return the exit code."""
    from tacit.cli.context import current_context
    from tacit.cli.terminal.output import print_error

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
    """Write the stack frames of `error` and of its causes into `folder`; return the file.

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
