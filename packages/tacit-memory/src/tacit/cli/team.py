"""Commands that share memories with a team: share, and the group `team`. Its other commands about the server are in `shared_teams`.

In: arguments. Out: the answer of the daemon. Files are written below `.tacit/team`; the user commits them.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Annotated, Any

import typer

from tacit.cli.connection import ask
from tacit.cli.shared_teams import members, print_teams, requests
from tacit.cli.status import lost_advice
from tacit.cli.terminal.arguments import AsJson, Here, MemoryId, Yes
from tacit.cli.terminal.help import PlainCommand
from tacit.cli.terminal.interaction import confirm
from tacit.cli.terminal.output import format_count, print_json, print_line, print_rows
from tacit.errors import InvalidInput

GIT_TIMEOUT_S = 5.0


def share(
    memory: MemoryId,
    team: Annotated[
        str,
        typer.Option(
            "--with",
            help="Team on the server, such as acme/core. Default: the team of its project.",
            show_default=False,
        ),
    ] = "",
    git: Annotated[
        bool, typer.Option("--git", help="Write a file below .tacit/team instead, for you to commit.")
    ] = False,
    by: Annotated[
        str,
        typer.Option(
            "--by",
            help="With --git, the name that teammates see. Default: git's user.name.",
            show_default=False,
        ),
    ] = "",
    stop: Annotated[
        bool,
        typer.Option(
            "--stop",
            help="Stop sharing it. Teammates' devices end it at their next sync; your own memory stays.",
        ),
    ] = False,
    purge: Annotated[
        bool,
        typer.Option(
            "--purge", help="With --stop: remove it with its history from the server and every device."
        ),
    ] = False,
    yes: Yes = False,
    cwd: Here = Path(),
    as_json: AsJson = False,
) -> None:
    """Share a memory with your team.

    Sends a request to the server, or with --git writes a file that you commit. Secrets, restricted memories and memories of one session are refused. Teammates get
    it when another member has accepted the request (while nobody else in the team could accept it, at once), or the file is merged. For files, each
    teammate installs Tacit and runs `tacit team join` once in a clone; after that, `git pull` brings what is new.
    """
    if purge and not stop:
        raise typer.BadParameter("--purge goes with --stop.")
    if stop:
        _unshare(memory, git=git, purge=purge, yes=yes, cwd=cwd, as_json=as_json)
        return
    if git:
        _share_by_git(memory, by or _git_name(cwd), cwd, as_json)
        return
    if not ask("GET", "/v1/sync")["sync"]["logged_in"]:
        raise InvalidInput(
            "This home is not logged in at a server.",
            hint="`tacit login URL` logs it in; `tacit share ID --git` writes a file that you commit.",
        )
    made = ask("PUT", "/v1/shares", {"id": memory, "team": team})
    if as_json:
        print_json(made)
        return
    request = made["request"]
    if request["state"] == "accepted":
        print_line(f"{request['team']} shares it now.")
        return
    print_line(f"Asked {request['team']} to share it (request {request['id'][-7:]}). Another member decides.")
    if request["decidable"]:
        print_line(
            f"Nobody else in the team may decide yet. Look at it with `tacit team requests`, then accept it with `--accept {request['id'][-7:]}`."
        )


def _share_by_git(memory: str, name: str, cwd: Path, as_json: bool) -> None:
    if not name:
        raise InvalidInput(
            "Teammates are shown your name, and git has no user.name here.", hint="Give it with --by NAME."
        )
    shared = ask("PUT", "/v1/shares", {"id": memory, "cwd": str(cwd.absolute()), "by": name})
    if as_json:
        print_json(shared)
        return
    path = shared["file"]["path"]
    print_line(
        f"Wrote {path}. Commit it and open a pull request. Once it is merged, teammates get it who ran `tacit team join` in their clone."
    )


def _unshare(memory: str, *, git: bool, purge: bool, yes: bool, cwd: Path, as_json: bool) -> None:
    if not git:
        if purge:
            question = f"Remove {memory} with its history from the server and from the devices of the team?"
            confirm(f"{question} This cannot be undone.", yes=yes, default=False)
        ended = ask("PUT", "/v1/shares", {"id": memory, "shared": False, "purge": purge})
        if as_json:
            print_json(ended)
            return
        print_line("It is no longer shared.")
        return
    removed = ask("PUT", "/v1/shares", {"id": memory, "shared": False, "cwd": str(cwd.absolute())})
    if as_json:
        print_json(removed)
        return
    print_line(f"Removed {removed['file']['path']}. Commit that; teammates lose it once it is merged.")


app = typer.Typer(
    help="Your team: what it shares in this repository and on a server.",
    invoke_without_command=True,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def team(ctx: typer.Context, cwd: Here = Path(), as_json: AsJson = False) -> None:
    """List what the team of this folder's repository shares, and your teams on the server."""
    if ctx.invoked_subcommand is not None:
        return
    repository = ask("GET", "/v1/repository", {"cwd": str(cwd.absolute())})
    sync = ask("GET", "/v1/sync")["sync"]
    logged_in = sync["logged_in"]
    teams: list[Any] = ask("GET", "/v1/teams")["teams"] if logged_in else []
    if as_json:
        print_json({**repository, "teams": teams})
        return
    if teams:
        print_teams({"teams": teams}, as_json=False)
    elif logged_in:
        print_line(
            "You are in no team on the server. An administrator of one adds you: `tacit team members TEAM --add ACCOUNT`."
        )
    if advice := lost_advice(sync):
        print_line(f"{advice}.", style="yellow")
    if repository["files"] or repository["joined"] or repository["problem"] or not logged_in:
        _print(repository, as_json=False)


@app.command(cls=PlainCommand)
def join(
    organization: Annotated[str, typer.Argument(hidden=True, help="Takes none; see `tacit login`.")] = "",
    yes: Yes = False,
    cwd: Here = Path(),
    as_json: AsJson = False,
) -> None:
    """Trust the files that are merged into .tacit/team of this repository, now and later, as the word of teammates.

    A teammate's statement never ends one of yours and never blocks a call.
    """
    if organization:
        raise InvalidInput(
            "`tacit team join` is about the files of this repository.",
            hint="In a team on a server you are as soon as you log in with its code: `tacit login URL --code CODE`.",
        )
    folder = {"cwd": str(cwd.absolute())}
    if not ask("GET", "/v1/repository", folder)["files"]:
        raise InvalidInput(
            "There is no file in .tacit/team of this repository, so there is nothing to join.",
            hint="`tacit share ID --git` writes the first one. A team on a server: `tacit login URL`.",
        )
    confirm(
        "Whoever merges into the default branch of this repository then tells your agents what the team decided. Join?",
        yes=yes,
        default=False,
    )
    _print(ask("PUT", "/v1/repository", {**folder, "joined": True}), as_json=as_json)


@app.command(cls=PlainCommand)
def leave(
    team: Annotated[
        str,
        typer.Argument(
            help="Team or organization on the server. Default: the team of this repository.",
            show_default=False,
        ),
    ] = "",
    cwd: Here = Path(),
    as_json: AsJson = False,
) -> None:
    """Leave a team, or an organization with all its teams. Without an argument: leave the team of this repository.

    Memories that came from there end; what you made your own stays.
    """
    if team:
        left = ask("PATCH", "/v1/teams", {"team": team, "left": True})
        if not as_json:
            print_line(f"You left {team}. What came from there ended on this device.")
        print_teams(left, as_json=as_json)
        return
    _print(ask("PUT", "/v1/repository", {"cwd": str(cwd.absolute()), "joined": False}), as_json=as_json)


app.command(cls=PlainCommand)(members)
app.command(cls=PlainCommand)(requests)


def _print(team_view: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        print_json(team_view)
        return
    name = team_view["project"]["name"]
    if team_view["problem"]:
        print_line(
            f"What the repository of {name} shares is not known: {team_view['problem']}.", style="yellow"
        )
        return
    files = team_view["files"]
    merged = sum(file["merged"] and not (file["problem"] or file["waits"]) for file in files)
    state = "You joined" if team_view["joined"] else "You have not joined"
    print_line(f"{state} the team of {name}. {format_count(merged, 'memory is', 'memories are')} shared.")
    rows = [
        (
            file["path"].rpartition("/")[2],
            file["kind"],
            file["by"],
            file["day"],
            file["problem"] or _state_of(file),
        )
        for file in files
    ]
    if rows:
        print_rows("", ("file", "kind", "by", "since", "state"), rows, empty="")
    if merged and not team_view["joined"]:
        print_line(
            "`tacit team join` takes them for the word of teammates. Until then no agent is told them unasked."
        )


def _state_of(file: dict[str, Any]) -> str:
    if file["waits"]:
        return "waits for you in `tacit review`"
    return "shared" if file["merged"] else "not merged"


def _git_name(cwd: Path) -> str:
    """Return git's `user.name` for this folder; "" = there is none."""
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
