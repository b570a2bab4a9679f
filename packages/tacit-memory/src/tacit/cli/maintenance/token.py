"""`tacit token`: personal tokens, with which the user's own scripts speak as the user. In: a name. Out: a token, shown once.

A token is shown at an interactive terminal alone, so that no program gets one by asking. The home keeps its hash.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from tacit.cli.context import current_context
from tacit.cli.terminal.arguments import AsJson
from tacit.cli.terminal.output import print_json, print_line, print_rows
from tacit.errors import RefusedByTrust

if TYPE_CHECKING:
    from tacit.safety.authority import Authority

ACTIONS = ("list", "create", "rotate", "revoke")


def token(
    action: Annotated[
        str,
        typer.Argument(
            metavar="[list|create|rotate|revoke]",
            help="list shows the names, never the tokens; create and rotate show one once, at an interactive terminal only.",
        ),
    ] = "list",
    name: Annotated[
        str, typer.Argument(help="What the token is for, such as the name of a script.")
    ] = "default",
    as_json: AsJson = False,
) -> None:
    """Personal tokens: your own scripts speak as you with TACIT_TOKEN, or `Authorization: Bearer` over HTTP."""
    match action:
        case "create":
            _show(_at_terminal().create(name), name, as_json=as_json)
        case "rotate":
            authority = _at_terminal()
            authority.revoke(name)
            _show(authority.create(name), name, as_json=as_json)
        case "revoke":
            _authority().revoke(name)
            if as_json:
                print_json({"revoked": name})
            else:
                print_line(f"revoked {name}")
        case "list":
            _list(as_json=as_json)
        case _:
            raise typer.BadParameter(f"{action!r} is none of {', '.join(ACTIONS)}.")


def _list(*, as_json: bool) -> None:
    tokens = _authority().tokens()
    if as_json:
        print_json(
            {"tokens": [{"name": token.name, "created_at_ms": token.created_at_ms} for token in tokens]}
        )
        return
    days = [datetime.fromtimestamp(token.created_at_ms / 1000, UTC).date().isoformat() for token in tokens]
    rows = [(token.name, day) for token, day in zip(tokens, days, strict=True)]
    print_rows("", ("token", "created"), rows, empty="There is no token; `tacit token create` makes one.")


def _authority() -> Authority:
    from tacit.safety.authority import Authority

    return Authority(current_context().home)


def _at_terminal() -> Authority:
    """Return the home's authority if a person sits at the terminal; else raise.

    Raises:
        RefusedByTrust: elsewhere.
    """
    if not current_context().at_terminal:
        raise RefusedByTrust(
            "A token is shown only in an interactive terminal.",
            hint="Run the command yourself, with neither input nor output redirected.",
        )
    return _authority()


def _show(token: str, name: str, *, as_json: bool) -> None:
    if as_json:
        print_json({"name": name, "token": token})
        return
    print_line(token)
    print_line(
        f"Keep it: it is not shown again. A script speaks as you with TACIT_TOKEN set to it, or with the header "
        f"`Authorization: Bearer TOKEN` over HTTP. `tacit token revoke {name}` ends it.",
        style="dim",
    )
