"""The values that sync returns: logins, devices, exchanges, the state of a home. Loads no cryptography."""

from __future__ import annotations

from tacit.frozen import frozen


@frozen
class LoggedIn:
    """The server's answer to a login: the account's name, the device's token, and the name of the device, which no other device of the account has."""

    account: str
    token: str
    name: str = ""


@frozen
class DeviceView:
    """A device of the account, as the server lists it.

    Attributes:
        device: the public key of the device, as 64 hexadecimal digits.
        name: as its user called it.
        created_at_ms, seen_at_ms: when it logged in, and when it synced last.
        revoked_at_ms: since when it may no longer sync; None = it may.
        entries: how many entries its log has.
        behind: entries of others that it has not taken over yet.
    """

    device: str
    name: str
    created_at_ms: int
    seen_at_ms: int
    revoked_at_ms: int | None = None
    entries: int = 0
    behind: int = 0


@frozen
class Exchanged:
    """The counts of what one exchange with the server did.

    Attributes:
        recorded: entries that this device appended.
        received: entries of others that came in.
        sent: entries that went out.
        applied: memories that were written here.
        purged: memories that were removed here.
        from_teams: memories that changed here because of what teams share.
        left: memories that were changed here meanwhile; the next exchange writes them.
        renewed: this device continues under a new name.
    """

    recorded: int = 0
    received: int = 0
    sent: int = 0
    applied: int = 0
    purged: int = 0
    from_teams: int = 0
    left: int = 0
    renewed: bool = False


@frozen
class LoginResult:
    """A finished login of this home. `phrase` = the recovery phrase if it was created by this login, to be shown once; else ""."""

    account: str
    device: str
    phrase: str = ""


@frozen
class KnownTeam:
    """A team of the user, as this home knew it at the last exchange.

    Attributes:
        team: `acme`, or `acme/core`.
        role: the user's role.
        name: the user's name, as teammates see it.
        memories: how many memories of the team hold here. Includes those in `own`.
        own: ids of the user's own memories that say the same as a shared one, or that it replaced.
        lost: ids of memories here that the server no longer has since it was restored from a backup: the team's, and the user's own that were shared.
    """

    team: str
    role: str
    name: str
    memories: int
    own: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()


@frozen
class SyncStatus:
    """The state of this home's sync: its login, its waiting entries, its last exchange. Read without asking the server.

    Attributes:
        logged_in: there is a login.
        url, account, name, device: of it.
        entries: entries of all logs that are known here.
        waiting: entries that the server did not have at the last exchange.
        changed: something was written here since.
        synced_at_ms: when the last exchange succeeded; 0 = none did.
        sign_in_by_ms: when the first membership ends that the user has through a group of the server's provider, unless they sign in again. May be in the past;
            0 = there is none.
        error: what went wrong at the last attempt, or empty.
        lost: ids of memories that a restored server no longer has; see `KnownTeam`.
    """

    logged_in: bool
    url: str = ""
    account: str = ""
    name: str = ""
    device: str = ""
    entries: int = 0
    waiting: int = 0
    changed: bool = False
    synced_at_ms: int = 0
    sign_in_by_ms: int = 0
    error: str = ""
    lost: tuple[str, ...] = ()


@frozen
class SignInBegun:
    """A single sign-on that was begun and continues in a browser.

    Attributes:
        login: its id.
        secret: the secret with which this home asks for its result.
        code: a code that the browser shows, too; the user compares both.
        browser_url: the address to open in a browser, on any machine.
        until_ms: when it expires.
    """

    login: str
    secret: str
    code: str
    browser_url: str
    until_ms: int


@frozen
class SignInResult:
    """The result of a single sign-on, or that it is not finished yet.

    Attributes:
        done: whether the provider let the user in; False = not finished yet.
        account: the user's account.
        code: the code of an invitation to the account; "" = this home is already logged in, and its account was linked or its teams were renewed.
        first: whether the account has no device yet; its first device makes the recovery phrase.
    """

    done: bool
    account: str = ""
    code: str = ""
    first: bool = False
