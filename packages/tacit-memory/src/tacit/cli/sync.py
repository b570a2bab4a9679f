"""Commands for one memory on several machines: login logout devices.

In: arguments. Out: what the daemon answered. The recovery phrase is printed once and asked for without echo.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from tacit.cli.connection import ask, ask_all
from tacit.cli.context import current_context
from tacit.cli.status import lost_advice, sign_in_advice
from tacit.cli.terminal.arguments import AsJson, Yes
from tacit.cli.terminal.interaction import confirm
from tacit.cli.terminal.output import (
    format_count,
    print_json,
    print_line,
    print_rows,
    strip_control_characters,
)
from tacit.errors import InvalidInput, NotLoggedIn

POLL_S = 2.0

Code = Annotated[
    str,
    typer.Option(
        "--code",
        help="Code of an invitation. Default: ask for it. On a home that is logged in there: accept the invitation of an organization.",
        show_default=False,
    ),
]


def login(
    url: Annotated[str, typer.Argument(help="Address of the server.", show_default=False)],
    code: Code = "",
    sso: Annotated[
        bool,
        typer.Option(
            "--sso",
            help="Sign in through the server's provider in a browser. If this home is already logged in, this renews its teams.",
        ),
    ] = False,
    phrase_file: Annotated[
        Path | None,
        typer.Option(
            "--phrase-file",
            help="File with the recovery phrase, for further devices. Default: ask for it.",
            show_default=False,
        ),
    ] = None,
    first: Annotated[
        bool, typer.Option("--first", help="This is the first device of the account: make a recovery phrase.")
    ] = False,
    name: Annotated[
        str, typer.Option("--name", help="Name of this device. Default: the machine's.", show_default=False)
    ] = "",
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Log in at a server, to share with your other devices and your team.

    The server cannot read your memory. Everything but notes of sessions and restricted memories is encrypted here and sent, with keys that only your devices have. Nothing leaves before
    you agree. The first device makes a recovery phrase: keep it, because nobody can restore it. Further devices ask for it.
    """
    from tacit.sync.connection import checked_url

    checked_url(url)
    if sso and code:
        raise InvalidInput("--sso needs no code.", hint="Leave out --code.")
    here = ask("GET", "/v1/sync")["sync"]
    if sso and here["logged_in"]:
        _renew(url, name, as_json=as_json)
        return
    if code and here["logged_in"] and here["url"] == checked_url(url):
        confirm("Receive what the organization that invites you shares, on all your devices?", yes=yes)
        accepted = ask("PUT", "/v1/sync", {"url": url, "code": code})
        if as_json:
            print_json(accepted)
            return
        print_line("You are a member now. `tacit team` lists your teams.")
        return
    if not code and not sso:
        _refuse_unattended("a code of an invitation", hint="Give it with --code.")
    phrase = "" if first or phrase_file is None else _phrase_of(phrase_file)
    if not (
        first or phrase or sso
    ):  # after a single sign-on the server says whether this is the first device
        _refuse_unattended(
            "the recovery phrase",
            hint="Give it with --phrase-file, or --first on the account's first device.",
        )
    shared = ask("PUT", "/v1/sync", {"url": url, "dry_run": True})["shared"]
    if not as_json:
        memories = format_count(shared)
        print_line(f"{memories} of this home would be encrypted and sent to {url}, for your other devices.")
    confirm("Share them?", yes=yes, default=False)
    if sso:
        signed_in = _sign_in(url, name)
        code, first = signed_in["code"], signed_in["first"]
        if not (first or phrase):
            _refuse_unattended(
                f"the recovery phrase of {signed_in['account']}", hint="Give it with --phrase-file."
            )
    if first:
        phrase = ""
    elif not phrase:
        phrase = str(
            typer.prompt(
                "Recovery phrase (on your first device, begin again with --first)", hide_input=True, err=True
            )
        )
    invitation = code or typer.prompt("Code of the invitation", err=True)
    done = ask("PUT", "/v1/sync", {"url": url, "code": invitation, "phrase": phrase, "name": name})["login"]
    _print_login(done, as_json=as_json)


def _print_login(done: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        print_json(done)
        return
    print_line(f"Logged in as {done['account']}.")
    _print_phrase(done["phrase"])
    print_line("From here on everything happens by itself. `tacit devices invite` adds a device.")


def _print_phrase(phrase: str) -> None:
    if phrase:
        print_line(
            "Your recovery phrase, shown this once. Whoever has it can read your memories; without it no device can be added:"
        )
        print_line(f"\n    {phrase}\n", style="bold")


def _make_new_phrase(*, yes: bool, as_json: bool) -> None:
    confirm("Make a new recovery phrase and log out all your other devices?", yes=yes, default=False)
    done = ask("POST", "/v1/sync/devices", {"new_secret": True})
    if as_json:
        print_json(done)
        return
    _print_phrase(done["login"]["phrase"])
    print_line(
        "Your other devices are logged out. On each: `tacit logout`, then `tacit login` with a code of `tacit devices invite` and this phrase."
    )


def _renew(url: str, name: str, *, as_json: bool) -> None:
    """Sign in with the provider on a home that is already logged in. This links its account, or renews the teams that the user's groups give."""
    done = _sign_in(url, name)
    ask("POST", "/v1/sync", {})
    if as_json:
        print_json({"account": done["account"]})
        return
    print_line(
        f"The provider knows you as {done['account']}; your teams are renewed. `tacit team` lists them."
    )


def _sign_in(url: str, name: str) -> dict[str, Any]:
    """Let the user sign in with the server's provider in a browser, and wait up to ten minutes for it. Return the server's result."""
    import webbrowser

    from tacit.sync.connection import checked_url

    begun = ask("POST", "/v1/sync/sign-in", {"url": url, "name": name})["begun"]
    address = str(begun["browser_url"])
    checked_url(address)  # it comes from the server and is passed to the browser
    # On standard error, because standard output holds only the answer.
    typer.echo(
        f"Log in at this address, in a browser on any machine:\n\n    {strip_control_characters(address)}\n",
        err=True,
    )
    typer.echo(f"It must show the code {strip_control_characters(begun['code'])}.", err=True)
    if current_context().interactive:
        webbrowser.open(address)
    body = {"url": url, "login": begun["login"], "secret": begun["secret"]}
    while time.time() * 1000 < begun["until_ms"]:
        done = ask("POST", "/v1/sync/sign-in", body)["result"]
        if done["done"]:
            return done
        time.sleep(POLL_S)
    raise NotLoggedIn("Nobody logged in within ten minutes.", hint=f"`tacit login {url} --sso` begins again.")


def _refuse_unattended(what: str, *, hint: str) -> None:
    """Raise InvalidInput if nobody can be asked for `what`."""
    if not current_context().interactive:
        raise InvalidInput(f"A login needs {what}, and nobody can be asked here.", hint=hint)


def _phrase_of(file: Path) -> str:
    try:
        phrase = file.read_text("utf-8").strip()
    except OSError as error:
        raise InvalidInput(f"{file} cannot be read: {error.strerror or error}.") from error
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{file} holds no text.") from error
    if not phrase:
        raise InvalidInput(f"{file} holds no recovery phrase: it is empty.")
    return phrase


def logout(yes: Yes = False, as_json: AsJson = False) -> None:
    """Leave the account. Memories that teams share end here; all others stay and are no longer sent to your other devices."""
    confirm("Stop sharing this memory with your other devices?", yes=yes, default=False)
    left = ask("DELETE", "/v1/sync")
    if as_json:
        print_json(left)
        return
    print_line("Logged out. The memories of this home stay, except those that teams share.")


def _sync(*, as_json: bool) -> None:
    done = ask("POST", "/v1/sync", {})
    if as_json:
        print_json(done)
        return
    exchanged = done["exchanged"]
    sent = format_count(exchanged["sent"], "entry", "entries")
    received = format_count(exchanged["received"], "entry", "entries")
    print_line(
        f"Sent {sent} and received {received}; {format_count(exchanged['applied'] + exchanged['from_teams'])} changed here."
    )
    if exchanged["renewed"]:
        print_line("This home was copied or set back, so it goes on as a device of its own.", style="yellow")
    for advice in filter(None, (sign_in_advice(done["sync"]), lost_advice(done["sync"]))):
        print_line(f"{advice[0].upper()}{advice[1:]}.", style="yellow")


def devices(
    action: Annotated[
        str,
        typer.Argument(
            metavar="[list|sync|invite|revoke|rotate]",
            help="list: also what each has not taken over yet; sync does now what the daemon does by itself as soon as something changed; invite makes a code with which one more may log in, once and within seven days; "
            "revoke: it can no longer sync, and keeps what it holds; rotate makes a new recovery phrase, after you lost the old one or a device.",
        ),
    ] = "list",
    device: Annotated[
        str,
        typer.Argument(
            help="To revoke: name of the device, or the beginning of its key.", show_default=False
        ),
    ] = "",
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """The devices that share this memory.

    `rotate` makes a new recovery phrase. Your account, roles and teams stay, but the server deletes what was encrypted with the old phrase, and refuses
    your other devices until they log in again with the new one. This device sends everything once more.
    """
    from tacit.model.memory import day

    if action in ("list", "sync", "invite", "revoke", "rotate") and (action == "revoke") is not bool(device):
        raise typer.BadParameter("Name a device to revoke; the other actions take none.")
    match action:
        case "list":
            _print(ask_all("/v1/sync", "devices", {"devices": True}), as_json=as_json)
        case "sync":
            _sync(as_json=as_json)
        case "invite":
            invited = ask("POST", "/v1/sync/devices", {})
            if as_json:
                print_json(invited)
                return
            url = ask("GET", "/v1/sync")["sync"]["url"]
            print_line(f"On the other device: tacit login {url} --code {invited['code']}")
        case "revoke":
            found = ask("POST", "/v1/sync/devices", {"revoked": device, "dry_run": True})["devices"][0]
            which = f"{found['name']} (key {found['device'][:12]}, last synced {day(found['seen_at_ms'])})"
            confirm(f"Refuse the device {which} from now on?", yes=yes, default=False)
            _print(ask("POST", "/v1/sync/devices", {"revoked": device}), as_json=as_json)
        case "rotate":
            _make_new_phrase(yes=yes, as_json=as_json)
        case _:
            raise typer.BadParameter(f"{action!r} is none of list, sync, invite, revoke, rotate.")


def _print(listed: dict[str, Any], *, as_json: bool) -> None:
    from tacit.model.memory import day

    if as_json:
        print_json(listed)
        return
    own = ask("GET", "/v1/sync")["sync"]["device"]
    rows = [
        (
            f"{row['name']} (this one)" if row["device"] == own else row["name"],
            row["device"][:12],
            day(row["created_at_ms"]),
            "revoked" if row["revoked_at_ms"] else day(row["seen_at_ms"]),
            str(row["entries"]),
            str(row["behind"]),
        )
        for row in listed["devices"]
    ]
    print_rows("", ("device", "key", "since", "synced", "entries", "behind"), rows, empty="No devices.")
