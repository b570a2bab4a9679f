"""`tacit`: the commands, and the one place where their errors end.

In: arguments. Out: an exit code; see `output.EXIT_CODES`. Loads nothing of Tacit but what the command asked for needs,
so that `--help` and completion are quick.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

from tacit import __version__
from tacit.cli import demo, doctor, evaluate, memories, service, setup, status, traces, transcripts, tuning
from tacit.cli.maintenance import digest, learn, learned, purge, review, token
from tacit.cli.page import ui
from tacit.cli.settings import config
from tacit.cli.statistics import stats
from tacit.cli.terminal.help import GroupedCommands
from tacit.cli.transfer import exporting

if TYPE_CHECKING:
    from tacit.cli.context import CommandContext

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
) -> None:
    """Tacit gives a coding agent a memory that works without being asked."""


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
            "context": memories.context,
            "list": memories.list_,
            "show": memories.show,
            "edit": memories.edit,
            "forget": memories.forget,
            "purge": purge.purge,
            "wrong": memories.wrong,
            "undo": review.undo,
            "why": traces.why,
            "digest": digest.digest,
            "learn": learn.learn,
            "learned": learned.learned,
            "tune": tuning.tune,
            "export": exporting.export,
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
        app.command(_name, rich_help_panel=_panel)(_command)
app.add_typer(transcripts.app, rich_help_panel=MEMORIES)
app.add_typer(review.app, name="review", rich_help_panel=MEMORIES)
app.add_typer(config.app, name="config", rich_help_panel=RUNNING)
app.add_typer(token.app, name="token", rich_help_panel=RUNNING)
# What another package brings may take options that only it knows.
app.command(
    evaluate.NAME,
    rich_help_panel=RUNNING,
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
)(evaluate.evaluate)


@cache
def _tree() -> Any:
    """The tree of commands, made once: reading fifty signatures takes longer than most of them work."""
    return typer.main.get_command(app)


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
        code = _tree()(list(arguments), prog_name="tacit", standalone_mode=not as_json)
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
    # The entry point's boundary: an unexpected error is kept in a file without memory text, and said in one line.
    except Exception as error:  # noqa: BLE001
        from tacit.cli.crash import report_crash

        return report_crash(error, as_json=as_json)


def _usage_of(error: Any) -> str:
    """Return the hint that names the help option of the command that was used wrongly."""
    at = getattr(error, "ctx", None)
    return f"`{at.command_path} --help` shows how." if at is not None else ""


def main() -> None:
    """The console script."""
    for stream in (sys.stdout, sys.stderr):
        _replace_unprintable(stream)
    # Where the locale is not UTF-8, arguments come with their bytes in disguise; they are UTF-8 all the same.
    sys.exit(run([os.fsencode(argument).decode("utf-8", "replace") for argument in sys.argv[1:]]))


def _replace_unprintable(stream: TextIO) -> None:
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="replace")


if __name__ == "__main__":
    main()
