"""Checks of what somebody asks about members. In: names and roles. Out: nothing, or a refusal. Pure."""

from __future__ import annotations

from tacit.capture.bootstrap.team_files import is_name
from tacit.errors import InvalidInput
from tacit.model.shared import ROLES, Role, may
from tacit.server.logs import check_account_name


def checked_role(role: str) -> Role:
    """The role of this name.

    Raises:
        InvalidInput: if there is none.
    """
    for known in ROLES:
        if role == known:
            return known
    raise InvalidInput(f"There is no role {role[:40]!r}.", hint=f"Known: {', '.join(ROLES)}.")


def check_person(principal: str, name: str) -> None:
    """Refuse what can name no account, or cannot be shown as a name.

    Raises:
        InvalidInput: then.
    """
    check_account_name(principal)
    check_name(name)


def check_name(name: str) -> None:
    """Refuse what cannot be shown to agents as a name.

    Raises:
        InvalidInput: then.
    """
    if not is_name(name):
        raise InvalidInput(
            f"{name[:60]!r} cannot be shown as a name.",
            hint="Use at most 40 letters, digits, spaces and .'-",
        )


def check_service_role(role: Role) -> None:
    """Refuse a service account that would decide.

    Raises:
        InvalidInput: then.
    """
    if may(role, "reviewer"):
        raise InvalidInput(
            f"A service account cannot be {role}: people decide.", hint="Use reader or writer."
        )
