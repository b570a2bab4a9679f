"""The commands of the group `team` that are only about teams on a server.

In: arguments. Out: the answer of the daemon.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from tacit.cli.terminal.arguments import AsJson, Here, Yes, drop_empty

TeamName = Annotated[str, typer.Argument(help="Team, such as `acme` or `acme/core`.", show_default=False)]
Account = Annotated[str, typer.Argument(help="Account of the person.", show_default=False)]
RoleName = Annotated[
    str,
    typer.Option("--role", help="reader (receives), writer (asks to share), reviewer (decides) or admin."),
]
RequestId = Annotated[
    str, typer.Argument(help="Id of the request, or its beginning or ending.", show_default=False)
]
Comment = Annotated[str, typer.Option("--comment", help="Why, for the author.", show_default=False)]


def register(app: typer.Typer) -> None:
    """Add the commands to the group."""
    for name, command in (
        ("create", create),
        ("members", members),
        ("add", add),
        ("remove", remove),
        ("project", project),
        ("requests", requests),
        ("accept", accept),
        ("refuse", refuse),
        ("withdraw", withdraw),
        ("audit", audit),
        ("export", export),
        ("service-account", service_account),
    ):
        app.command(name)(command)


def create(team: TeamName, as_json: AsJson = False) -> None:
    """Make a team in an organization, such as `acme/core`. Administrators of the organization can do this."""
    from tacit.cli.connection import ask

    print_teams(ask("POST", "/v1/teams", {"team": team}), as_json=as_json)


def members(team: TeamName, as_json: AsJson = False) -> None:
    """List the members of a team on the server."""
    from tacit.cli.connection import ask_all

    _print_members(ask_all("/v1/teams/members", "members", {"team": team}), as_json=as_json)


def add(
    team: TeamName,
    account: Account,
    role: Annotated[
        str,
        typer.Option(
            "--role",
            help="reader (receives), writer (asks to share), reviewer (decides) or admin. Default: as it is, for a new member writer.",
            show_default=False,
        ),
    ] = "",
    name: Annotated[
        str, typer.Option("--name", help="The name that teammates see.", show_default=False)
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Add a person to a team, or change their role or name. They get its memories after they have run `tacit team join`."""
    from tacit.cli.connection import ask
    from tacit.cli.terminal.output import print_json, print_line

    body = drop_empty(team=team, principal=account, role=role, name=name)
    added = ask("POST", "/v1/teams/members", body)
    if as_json:
        print_json(added)
        return
    member = added["added"]["member"]
    print_line(f"{name or account} is {member['role']} in {team}.")
    organization = team.partition("/")[0]
    if code := added["added"]["code"]:
        url = ask("GET", "/v1/sync")["sync"]["url"]
        print_line(
            "Give them this code yourself: whoever has it is taken for them, for an hour. A new account logs in with it:"
        )
        print_line(f"    tacit login {url} --code {code} --first")
        print_line("Somebody who has the account already joins with it:")
        print_line(f"    tacit team join {organization}:{code.rpartition('-')[2]}")
    if not member["joined"] and not _is_service(account):
        print_line(f"To receive what {organization} shares, they run: tacit team join {organization}")


def remove(team: TeamName, account: Account, yes: Yes = False, as_json: AsJson = False) -> None:
    """Remove a member or a service account from a team, or from an organization with all its teams. Their devices end the memories from there."""
    from tacit.cli.connection import ask
    from tacit.cli.terminal.interaction import confirm

    confirm(f"Remove {account} from {team}?", yes=yes, default=False)
    body = {"team": team, "principal": account}
    _print_members(ask("POST", "/v1/teams/members/remove", body), as_json=as_json)


def project(
    team: TeamName,
    cwd: Here = Path(),
    stop: Annotated[bool, typer.Option("--stop", help="No longer allow its memories to be shared.")] = False,
    as_json: AsJson = False,
) -> None:
    """Allow the memories of this folder's project to be shared with a team. The server knows a project by its git remote."""
    from tacit.cli.connection import ask
    from tacit.cli.terminal.output import print_json, print_line

    body = {"team": team, "cwd": str(cwd.absolute())}
    done = ask("POST", "/v1/teams/projects/remove" if stop else "/v1/teams/projects", body)
    if as_json:
        print_json(done)
        return
    if stop:
        print_line(
            "New memories of this project can no longer be shared. Those that are shared already stay shared."
        )
        return
    print_line(f"Memories of {done['project']['remote']} can be shared with {team}.")


def requests(
    team: Annotated[str, typer.Argument(help="Team. Default: all your teams.", show_default=False)] = "",
    every: Annotated[bool, typer.Option("--all", help="Also list those that were decided.")] = False,
    as_json: AsJson = False,
) -> None:
    """List the waiting requests to share: your own, and those that you may decide."""
    from tacit.cli.connection import ask_all
    from tacit.cli.terminal.output import print_json, print_line
    from tacit.model.memory import day

    found = ask_all("/v1/teams/requests", "requests", {"team": team, "every": every})
    if as_json:
        print_json(found)
        return
    if not found["requests"]:
        print_line("No requests." if every else "No request waits; --all lists those that were decided.")
    for request in found["requests"]:
        statement = request["statement"]
        state = "" if request["state"] == "waiting" else f" [{request['state']}]"
        mine = "you" if request["own"] else request["name"]
        print_line(f"{request['id'][-7:]}  {request['team']}  {mine}, {day(request['created_at_ms'])}{state}")
        if statement is not None:
            where = f" ({statement['remote']})" if statement["remote"] else ""
            print_line(f"    [{statement['kind']}] {statement['content']}{where}")
        if request["warning"]:
            print_line(f"    Look twice: {request['warning']}.", style="yellow")
        for near in request["near"]:
            print_line(f"    shared already: {near['content']} ({near['author']}, id {near['id'][-7:]})")
        if request["comment"]:
            print_line(f"    {request['decided_by']}: {request['comment']}")
    if any(request["decidable"] for request in found["requests"]):
        print_line("Decide with `tacit team accept ID` or `tacit team refuse ID`.")


def accept(
    request: RequestId,
    content: Annotated[
        str, typer.Option("--content", help="Other words to share instead.", show_default=False)
    ] = "",
    replaces: Annotated[
        list[str] | None,
        typer.Option(
            "--replaces", help="Id of a shared memory that it replaces; may be repeated.", show_default=False
        ),
    ] = None,
    comment: Comment = "",
    as_json: AsJson = False,
) -> None:
    """Accept a request: every member of the team gets the statement with the name of its author and its date."""
    _decide(request, "accept", as_json, content=content, replaces=replaces or [], comment=comment)


def refuse(request: RequestId, comment: Comment = "", as_json: AsJson = False) -> None:
    """Refuse a request. Its author sees who refused it and why."""
    _decide(request, "refuse", as_json, comment=comment)


def withdraw(request: RequestId, as_json: AsJson = False) -> None:
    """Withdraw one of your requests."""
    _decide(request, "withdraw", as_json)


def audit(
    team: TeamName,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=500, help="Most entries to list.")] = 50,
    as_json: AsJson = False,
) -> None:
    """List the audit log of a team: who did what, newest first. Administrators can see it. It never holds the words of a memory."""
    from tacit.cli.connection import ask
    from tacit.cli.terminal.output import format_moment, print_json, print_rows

    found = ask("GET", "/v1/teams/audit", {"team": team, "limit": limit})
    if as_json:
        print_json(found)
        return
    rows = [
        (format_moment(entry["at_ms"]), entry["principal"], entry["device"][:12], entry["action"], entry["subject"])
        for entry in found["entries"]
    ]  # fmt: skip
    print_rows("", ("when", "who", "device", "what", "of"), rows, empty="The audit log is empty.")


def export(
    to: Annotated[Path, typer.Option("--to", help="File to write.", show_default=False)],
    as_json: AsJson = False,
) -> None:
    """Write everything that the server holds about you in your teams to a JSON file: memberships, shared memories, requests.

    The memories of your own devices are encrypted on the server; `tacit export` writes those of this home.
    """
    import json

    from tacit.cli.connection import ask
    from tacit.cli.terminal.output import format_count, print_json, print_line
    from tacit.errors import InvalidInput

    owned = ask("GET", "/v1/teams/mine")["owned"]
    try:
        to.touch(mode=0o600, exist_ok=False)
        to.write_text(json.dumps(owned, ensure_ascii=False, indent=2), "utf-8")
    except OSError as error:
        raise InvalidInput(
            f"{to} cannot be written: {error.strerror or error}.", hint="Give another file with --to."
        ) from error
    if as_json:
        print_json({"path": str(to), "memories": len(owned["memories"])})
        return
    print_line(f"Wrote {format_count(len(owned['memories']))} to {to}.")


def service_account(
    organization: Annotated[str, typer.Argument(help="Organization.", show_default=False)],
    name: Annotated[
        str, typer.Argument(help="Name of the account within the organization.", show_default=False)
    ],
    role: RoleName = "reader",
    days: Annotated[int, typer.Option("--days", min=1, max=366, help="Days until its token expires.")] = 90,
    as_json: AsJson = False,
) -> None:
    """Make a service account for agents in CI or the cloud, or give it a new token. The token is shown only once; `tacit team remove` ends it.

    What it states is trusted at most like the words of an assistant, and it cannot decide on requests.
    """
    from tacit.cli.connection import ask
    from tacit.cli.terminal.output import print_json, print_line
    from tacit.model.memory import day

    body = {"team": organization, "name": name, "role": role, "days": days}
    made = ask("POST", "/v1/teams/service-accounts", body)
    if as_json:
        print_json(made)
        return
    member = made["added"]["member"]
    print_line(f"{member['principal']} is {role} in {organization} until {day(member['until_ms'])}.")
    print_line("Its token, which is shown only once:")
    print_line(f"\n    {made['added']['token']}\n", style="bold")


def print_teams(found: dict[str, Any], *, as_json: bool) -> None:
    """Print the teams of the user on the server."""
    from tacit.cli.terminal.output import format_count, print_json, print_line, print_rows

    if as_json:
        print_json(found)
        return
    rows = [
        (
            team["team"],
            team["role"],
            "yes" if team["joined"] else "no",
            str(team["waiting"]),
            ", ".join(
                project["remote"]
                for each in found["teams"]
                for project in each["projects"]
                if project["team"] == team["team"]
            ),
        )
        for team in found["teams"]
    ]
    if rows:
        print_rows("", ("team", "your role", "joined", "requests", "projects"), rows, empty="")
    for team in found["teams"]:
        if "/" not in team["team"] and not team["joined"]:
            print_line(f"To receive what {team['team']} shares: `tacit team join {team['team']}`.")
    if waiting := sum(team["waiting"] for team in found["teams"]):
        print_line(f"{format_count(waiting, 'request waits', 'requests wait')}: `tacit team requests`.")


def _is_service(account: str) -> bool:
    """Return whether an account is a service account, which never joins. Its name begins with its organization, as in `acme/ci`."""
    return "/" in account


def _decide(request: str, decision: str, as_json: bool, **more: object) -> None:
    from tacit.cli.connection import ask
    from tacit.cli.terminal.output import print_json, print_line

    decided = ask("POST", "/v1/teams/requests/decide", {"id": request, "decision": decision, **more})
    if as_json:
        print_json(decided)
        return
    done = decided["request"]
    print_line(f"{done['id'][-7:]} was {done['state']}.")


def _print_members(found: dict[str, Any], *, as_json: bool) -> None:
    from tacit.cli.terminal.output import print_json, print_rows
    from tacit.model.memory import day

    if as_json:
        print_json(found)
        return
    rows = [
        (
            member["name"],
            member["principal"],
            member["role"],
            day(member["added_at_ms"]),
            ", ".join(
                ([f"until {day(member['until_ms'])}"] if member["until_ms"] else [])
                + (["service account"] if _is_service(member["principal"]) else [])
                + ([] if member["joined"] or _is_service(member["principal"]) else ["has not joined"])
            ),
        )
        for member in found["members"]
    ]  # fmt: skip
    print_rows("", ("name", "account", "role", "since", "state"), rows, empty="No members.")
