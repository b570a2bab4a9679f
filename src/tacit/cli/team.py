"""Commands that share memories through the repository: share unshare, and the group `team`.

In: arguments. Out: what the daemon answered. Files are written below `.tacit/team`; the user commits them.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Annotated, Any

import typer

from tacit.cli.terminal.arguments import AsJson, Here, MemoryId

GIT_TIMEOUT_S = 5.0


def share(
    memory: MemoryId,
    git: Annotated[
        bool, typer.Option("--git", help="Write a file below .tacit/team, for you to commit.")
    ] = False,
    by: Annotated[
        str,
        typer.Option(
            "--by", help="The name that teammates see. Default: git's user.name.", show_default=False
        ),
    ] = "",
    cwd: Here = Path(),
    as_json: AsJson = False,
) -> None:
    """Share a memory with your team. With --git it becomes a file in the repository, which you commit and have reviewed.

    Secrets, restricted memories and those of one session are refused. Teammates see it once it is merged and they ran `tacit team join`.
    """
    from tacit.cli.connection import ask
    from tacit.cli.terminal.output import print_json, print_line
    from tacit.errors import InvalidInput

    if not git:
        raise InvalidInput(
            "Say how to share it: no server is connected.",
            hint="`tacit share ID --git` writes a file to commit.",
        )
    name = by or _git_name(cwd)
    if not name:
        raise InvalidInput(
            "Nobody knows your name: git has no user.name here.", hint="Give it with --by NAME."
        )
    shared = ask("POST", "/v1/team/share", {"id": memory, "cwd": str(cwd.absolute()), "by": name})
    if as_json:
        print_json(shared)
        return
    path = shared["file"]["path"]
    print_line(f"Wrote {path}. Commit it and open a pull request; it counts once it is merged.")


def unshare(memory: MemoryId, cwd: Here = Path(), as_json: AsJson = False) -> None:
    """Remove the file of a shared memory from this folder. The memory itself stays yours."""
    from tacit.cli.connection import ask
    from tacit.cli.terminal.output import print_json, print_line

    removed = ask("POST", "/v1/team/unshare", {"id": memory, "cwd": str(cwd.absolute())})
    if as_json:
        print_json(removed)
        return
    print_line(f"Removed {removed['file']['path']}. Commit that; teammates lose it once it is merged.")


app = typer.Typer(
    help="The memories that a team shares in its repository, below .tacit/team.",
    invoke_without_command=True,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def team(ctx: typer.Context, cwd: Here = Path(), as_json: AsJson = False) -> None:
    """List the memories that the team shares in this repository, and whether you joined."""
    from tacit.cli.connection import ask

    if ctx.invoked_subcommand is None:
        _print(ask("GET", "/v1/team", {"cwd": str(cwd.absolute())}), as_json=as_json)


@app.command()
def join(cwd: Here = Path(), as_json: AsJson = False) -> None:
    """Take what is merged into .tacit/team for the word of teammates, in this folder, from now on.

    Until you join, the team's memories are only found when you ask. A teammate's word never ends a statement of yours and never has a call refused.
    """
    from tacit.cli.connection import ask

    _print(ask("POST", "/v1/team/join", {"cwd": str(cwd.absolute())}), as_json=as_json)


@app.command()
def leave(cwd: Here = Path(), as_json: AsJson = False) -> None:
    """End the memories that came from the team's files. What you made your own stays."""
    from tacit.cli.connection import ask

    _print(ask("POST", "/v1/team/leave", {"cwd": str(cwd.absolute())}), as_json=as_json)


def _print(team_view: dict[str, Any], *, as_json: bool) -> None:
    from tacit.cli.terminal.output import format_count, print_json, print_line, print_rows

    if as_json:
        print_json(team_view)
        return
    name = team_view["project"]["name"]
    if team_view["problem"]:
        print_line(f"Nobody knows what the team of {name} shares: {team_view['problem']}.", style="yellow")
        return
    files = team_view["files"]
    merged = sum(file["merged"] for file in files)
    state = "You joined" if team_view["joined"] else "You have not joined"
    print_line(f"{state} the team of {name}. {format_count(merged, 'memory is', 'memories are')} shared.")
    rows = [
        (
            file["path"].rpartition("/")[2],
            file["kind"],
            file["by"],
            file["day"],
            file["problem"] or ("shared" if file["merged"] else "not merged"),
        )
        for file in files
    ]
    if rows:
        print_rows("", ("file", "kind", "by", "since", "state"), rows, empty="")
    if merged and not team_view["joined"]:
        print_line(
            "`tacit team join` takes them for the word of teammates. Until then they are only found on demand."
        )


def _git_name(cwd: Path) -> str:
    """The name that git writes into the user's commits here; "" where there is none."""
    try:
        asked = subprocess.run(
            ["git", "config", "user.name"],
            cwd=cwd,
            capture_output=True,
            text=True,
            check=False,
            timeout=GIT_TIMEOUT_S,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return asked.stdout.strip()[:80]
