"""Checks of the names and roles of members. In: names, roles. Out: the checked value, or an error. Pure."""

from __future__ import annotations

from tacit.capture.bootstrap.team_files import is_name
from tacit.errors import InvalidInput
from tacit.model.shared import ROLES, Role
from tacit_server.logs import check_account_name


def checked_role(role: str) -> Role:
    """Return the role called `role`.

    Raises:
        InvalidInput: there is no such role.
    """
    for known in ROLES:
        if role == known:
            return known
    raise InvalidInput(f"There is no role {role[:40]!r}.", hint=f"Known: {', '.join(ROLES)}.")


def check_person(principal: str, name: str) -> None:
    """Refuse a person whose `principal` cannot name an account, or whose `name` cannot be shown.

    Raises:
        InvalidInput: one of them has the wrong form.
    """
    check_account_name(principal)
    check_name(name)


def check_name(name: str) -> None:
    """Refuse a name that must not be shown to agents.

    Raises:
        InvalidInput: the name is too long or has other characters than those of names.
    """
    if not is_name(name):
        raise InvalidInput(
            f"{name[:60]!r} cannot be shown as a name.",
            hint="Use at most 40 letters, digits, spaces and .'-",
        )


def check_service_role(role: Role) -> None:
    """Refuse to let a service account administer.

    Raises:
        InvalidInput: the role is `admin`.
    """
    if role == "admin":
        raise InvalidInput("A service account cannot be admin: people decide.", hint="Use reader or writer.")
