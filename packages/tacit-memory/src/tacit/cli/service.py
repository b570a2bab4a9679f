"""Commands for the daemon and its store: mcp stop backup restore.

In: arguments. Out: results. `restore` opens the store; the other commands ask the daemon.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Annotated

import typer

from tacit.cli.connection import ask_with_progress
from tacit.cli.context import current_context
from tacit.cli.terminal.arguments import AsJson, Yes
from tacit.cli.terminal.interaction import confirm
from tacit.cli.terminal.output import format_count, print_json, print_line
from tacit.errors import DaemonError


def stop(as_json: AsJson = False) -> None:
    """Stop the daemon; the next session starts it again."""
    place = current_context()
    stopped = place.connect(place.home).stop()
    if as_json:
        print_json({"stopped": stopped})
        return
    print_line("stopped" if stopped else "no daemon ran")


def mcp(
    host: Annotated[str, typer.Option("--host", help="Name of the client that starts the server.")] = "mcp",
    as_json: AsJson = False,
) -> None:
    """Serve the memory tools on standard input and output, for any MCP client.

    --json prints the entry for its configuration, and writes the launcher that the entry names.
    """
    from tacit.client.daemon_facts import hook_source

    home = current_context().home
    if as_json:
        from tacit.daemon.launcher import write_launcher

        print_json({"command": str(write_launcher(home)), "args": ["mcp", "--host", host]})
        return
    if sys.stdin.isatty():
        sys.stderr.write(
            "An MCP client starts this command and writes JSON-RPC messages to it; `tacit install CLIENT` does that for known ones.\n"
        )
    pipe = [sys.executable, "-I", "-S", "-E", str(hook_source()), "mcp", "--host", host]
    os.execve(pipe[0], pipe, home.environment())  # noqa: S606 - the hook client of this installation


def backup(
    target: Annotated[Path, typer.Argument(help="A file that does not exist yet, or a folder.")],
    as_json: AsJson = False,
) -> None:
    """Write a consistent copy of the store, while it is in use."""
    path = target.expanduser().absolute()
    if path.is_dir():
        path /= time.strftime("tacit-%Y%m%d-%H%M%S.db")
    answer = ask_with_progress(
        "POST", "/v1/backups", {"target": str(path)}, "backup", "backing up", quiet=as_json
    )
    if as_json:
        print_json(answer)
        return
    print_line(f"backed up to {answer['target']}")


def restore(
    source: Annotated[Path, typer.Argument(help="A file from `tacit backup`, backups/ or quarantine/.")],
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Replace the store by a backup, or by what can be read of a damaged database. The present store is moved aside, not deleted."""
    from tacit.app.wiring import examine_backup, restore_store
    from tacit.daemon.lifecycle import claim

    place = current_context()
    place.require_user("replace your store by another one")
    file = source.expanduser().absolute()
    readable = examine_backup(place.home, file)
    new_store = (
        f"{file}"
        if readable is None
        else f"the {readable} memories that can be read of {file}, which is damaged,"
    )
    confirm(f"Make {new_store} the store of {place.home.root}? The present store is moved aside.", yes=yes)
    place.connect(place.home).stop()
    # While we hold the daemon's lock no hook can start one over the file that is being exchanged.
    claimed = claim(place.home)
    if claimed is None:
        raise DaemonError("A daemon started meanwhile. Nothing was changed.", hint="Run the command again.")
    try:
        aside = restore_store(place.home, file)
    finally:
        claimed.release()
    if as_json:
        former = str(aside) if aside else None
        print_json({"restored": str(file), "former": former, "recovered": readable})
        return
    print_line(f"restored {file}")
    if readable is not None:
        print_line(f"  it is damaged: {format_count(readable)} could be read", style="yellow")
    if aside:
        print_line(f"  the former store is now {aside}")
