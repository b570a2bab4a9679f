"""The commands of the group `team` that are only about teams on a server.

In: arguments. Out: the answer of the daemon.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from tacit.cli.connection import ask, ask_all
from tacit.cli.terminal.arguments import AsJson, Here, Yes, drop_empty
from tacit.cli.terminal.interaction import confirm
from tacit.cli.terminal.output import format_count, format_moment, print_json, print_line, print_rows

MOST_AUDITED = 200


def members(
    team: Annotated[str, typer.Argument(help="Team, such as `acme` or `acme/core`.", show_default=False)],
    create: Annotated[
        bool, typer.Option("--create", help="Make this team in its organization, whose administrators can.")
    ] = False,
    add: Annotated[
        str,
        typer.Option(
            "--add",
            help="Account of a person to add, or whose role or name to change. Until they come in, each call prints another code for them.",
            show_default=False,
        ),
    ] = "",
    remove: Annotated[
        str,
        typer.Option(
            "--remove",
            help="Account of a person, or a service account. From an organization: from all its teams. Their devices end the memories from there.",
            show_default=False,
        ),
    ] = "",
    service_account: Annotated[
        str,
        typer.Option(
            "--service-account",
            help="Name of a service account in this organization, for agents in CI or the cloud, to make or to give a new token, which is shown only once. "
            "What it states is trusted at most like the words of an assistant, and it cannot decide on requests.",
            show_default=False,
        ),
    ] = "",
    role: Annotated[
        str,
        typer.Option(
            "--role",
            help="reader (receives), writer (asks to share, and decides on what others ask) or admin. Default: as it is, for a new member writer, for a service account reader.",
            show_default=False,
        ),
    ] = "",
    name: Annotated[
        str, typer.Option("--name", help="With --add: the name that teammates see.", show_default=False)
    ] = "",
    days: Annotated[
        int,
        typer.Option("--days", help="With --service-account: days until its token expires."),
    ] = 90,
    project: Annotated[
        bool | None,
        typer.Option(
            "--project/--no-project",
            help="Allow the memories of this folder's project to be shared with the team, or no longer. The server knows a project by its git remote.",
            show_default=False,
        ),
    ] = None,
    audit: Annotated[
        bool,
        typer.Option(
            "--audit",
            help="List its audit log instead: who did what, newest first. Administrators can see it. It never holds the words of a memory.",
        ),
    ] = False,
    yes: Yes = False,
    cwd: Here = Path(),
    as_json: AsJson = False,
) -> None:
    """List the members of a team on the server, or change them."""
    if sum(map(bool, (create, add, remove, service_account, project is not None, audit))) > 1:
        raise typer.BadParameter(
            "Use one of --create, --add, --remove, --service-account, --project, --no-project and --audit."
        )
    if create:
        print_teams(ask("POST", "/v1/teams", {"team": team}), as_json=as_json)
    elif add:
        _add(team, add, role, name, as_json=as_json)
    elif remove:
        _remove(team, remove, yes=yes, as_json=as_json)
    elif service_account:
        _make_service_account(team, service_account, role or "reader", days, as_json=as_json)
    elif project is not None:
        _allow_project(team, cwd, stop=not project, as_json=as_json)
    elif audit:
        _print_audit(team, as_json=as_json)
    else:
        _print_members(ask_all("/v1/teams/members", "members", {"team": team}), as_json=as_json)


def _add(team: str, account: str, role: str, name: str, *, as_json: bool) -> None:
    body = drop_empty(team=team, principal=account, role=role, name=name)
    added = ask("PUT", "/v1/teams/members", body)
    if as_json:
        print_json(added)
        return
    print_line(f"{name or account} is {f'{role} in' if role else 'a member of'} {team}.")
    if code := added["added"]["code"]:
        url = ask("GET", "/v1/sync")["sync"]["url"]
        print_line(
            "Give them this code yourself: whoever has it is taken for them, for seven days. A new account logs in with it:"
        )
        print_line(f"    tacit login {url} --code {code} --first")
        print_line("Who has the account already leaves out --first.")


def _remove(team: str, account: str, *, yes: bool, as_json: bool) -> None:
    confirm(f"Remove {account} from {team}?", yes=yes, default=False)
    body = {"team": team, "principal": account, "member": False}
    _print_members(ask("PUT", "/v1/teams/members", body), as_json=as_json)


def _allow_project(team: str, cwd: Path, *, stop: bool, as_json: bool) -> None:
    body = {"team": team, "project": {"cwd": str(cwd.absolute()), "allowed": not stop}}
    done = ask("PATCH", "/v1/teams", body)
    if as_json:
        print_json(done)
        return
    if stop:
        print_line(
            "New memories of this project can no longer be shared. Those that are shared already stay shared."
        )
        return
    print_line(f"Memories of this project can be shared with {team}.")


def _print_audit(team: str, *, as_json: bool) -> None:
    found = ask("GET", "/v1/teams/audit", {"team": team, "limit": MOST_AUDITED})
    if as_json:
        print_json(found)
        return
    rows = [
        (format_moment(entry["at_ms"]), entry["principal"], entry["device"][:12], entry["action"], entry["subject"])
        for entry in found["entries"]
    ]  # fmt: skip
    print_rows("", ("when", "who", "device", "what", "of"), rows, empty="The audit log is empty.")


def _make_service_account(organization: str, name: str, role: str, days: int, *, as_json: bool) -> None:
    from tacit.model.memory import day

    body = {"team": organization, "principal": name, "service": True, "role": role, "days": days}
    made = ask("PUT", "/v1/teams/members", body)
    if as_json:
        print_json(made)
        return
    member = made["added"]["member"]
    print_line(f"{member['principal']} is {role} in {organization} until {day(member['until_ms'])}.")
    print_line("Its token, which is shown only once:")
    print_line(f"\n    {made['added']['token']}\n", style="bold")


def requests(
    team: Annotated[str, typer.Argument(help="Team. Default: all your teams.", show_default=False)] = "",
    accept: Annotated[
        str,
        typer.Option(
            "--accept",
            help="Id of a request, or its beginning or ending: every member gets the statement with the name of its author and its date.",
            show_default=False,
        ),
    ] = "",
    refuse: Annotated[
        str,
        typer.Option(
            "--refuse", help="Id of a request. Its author sees who refused it and why.", show_default=False
        ),
    ] = "",
    withdraw: Annotated[
        str, typer.Option("--withdraw", help="Id of a request of your own.", show_default=False)
    ] = "",
    comment: Annotated[str, typer.Option("--comment", help="Why, for the author.", show_default=False)] = "",
    content: Annotated[
        str,
        typer.Option("--content", help="With --accept: other words to share instead.", show_default=False),
    ] = "",
    replaces: Annotated[
        list[str] | None,
        typer.Option(
            "--replaces",
            help="With --accept: id of a shared memory that it replaces; may be repeated.",
            show_default=False,
        ),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Also list those that were decided.")] = False,
    as_json: AsJson = False,
) -> None:
    """List the waiting requests to share, your own and those that you may decide, or decide one."""
    if sum(map(bool, (accept, refuse, withdraw))) > 1:
        raise typer.BadParameter("Use one of --accept, --refuse and --withdraw.")
    if accept:
        _decide(accept, "accept", as_json, content=content, replaces=replaces or [], comment=comment)
    elif refuse:
        _decide(refuse, "refuse", as_json, comment=comment)
    elif withdraw:
        _decide(withdraw, "withdraw", as_json)
    else:
        _print_requests(team, every=every, as_json=as_json)


def _print_requests(team: str, *, every: bool, as_json: bool) -> None:
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
        print_line("Decide with `tacit team requests --accept ID` or `--refuse ID`.")


def print_teams(found: dict[str, Any], *, as_json: bool) -> None:
    """Print the user's teams on the server in a table, with what to do next."""
    if as_json:
        print_json(found)
        return
    rows = [
        (
            team["team"],
            team["role"],
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
        print_rows("", ("team", "your role", "requests", "projects"), rows, empty="")
    if waiting := sum(team["waiting"] for team in found["teams"]):
        print_line(f"{format_count(waiting, 'request waits', 'requests wait')}: `tacit team requests`.")


def _is_service(account: str) -> bool:
    """Return whether an account is a service account, by the slash in its name, as in `acme/ci`. Such an account never joins a team itself."""
    return "/" in account


def _decide(request: str, decision: str, as_json: bool, **more: object) -> None:
    decided = ask("PATCH", "/v1/teams/requests", {"id": request, "decision": decision, **more})
    if as_json:
        print_json(decided)
        return
    done = decided["request"]
    print_line(f"{done['id'][-7:]} was {done['state']}.")


def _print_members(found: dict[str, Any], *, as_json: bool) -> None:
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
                + ([] if member["joined"] or _is_service(member["principal"]) else ["did not come in yet"])
            ),
        )
        for member in found["members"]
    ]  # fmt: skip
    print_rows("", ("name", "account", "role", "since", "state"), rows, empty="No members.")
