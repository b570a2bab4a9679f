"""What sync tells others: logins, devices, exchanges, the state of a home. Values only; loads no cryptography."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedIn:
    """What a device is given at its login: the account's name and the token of the device."""

    account: str
    token: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceView:
    """A device of the account, as the server knows it.

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchanged:
    """What an exchange did.

    Attributes:
        recorded: entries that this device appended.
        received: entries of others that came in.
        sent: entries that went out.
        applied: memories that were written here.
        purged: memories that were removed here.
        from_teams: memories that changed here because a team shares them, or no longer does.
        left: memories that are written here right now, for the next time.
        renewed: this device goes on under a new name.
    """

    recorded: int = 0
    received: int = 0
    sent: int = 0
    applied: int = 0
    purged: int = 0
    from_teams: int = 0
    left: int = 0
    renewed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LoginResult:
    """A login. `phrase` = the recovery phrase where it was made just now: it is shown once."""

    account: str
    device: str
    phrase: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownTeam:
    """A team that the user joined, as this home knows it without asking the server.

    Attributes:
        team: `acme`, or `acme/core`.
        role: of the user at the last exchange.
        name: by which teammates see the user.
        memories: shared memories that hold here, those that the user's own words say already included.
        own: ids of the user's own memories that say what the team shares.
    """

    team: str
    role: str
    name: str
    memories: int
    own: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncStatus:
    """What is known of the sync of this home.

    Attributes:
        logged_in: there is a login.
        url, account, name, device: of it.
        entries: entries of all logs that are known here.
        waiting: entries that the server did not have at the last exchange.
        changed: something was written here since.
        synced_at_ms: when the last exchange succeeded; 0 = none did.
        sign_in_by_ms: when memberships end or ended that groups of the server's provider gave, unless the user logs in with it again; 0 = there are none.
        error: what went wrong at the last attempt, or empty.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class SignInBegun:
    """A login with the server's provider that goes on in a browser.

    Attributes:
        login: its id.
        secret: with which this home asks what became of it.
        code: is shown by the browser as well, for the person to compare.
        browser_url: to open in a browser, on any machine.
        until_ms: when it ends.
    """

    login: str
    secret: str
    code: str
    browser_url: str
    until_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SignInResult:
    """What became of a login with the provider.

    Attributes:
        done: the provider let the person in; False = it is not over yet.
        account: theirs.
        code: of an invitation to it; "" = this home is logged in already, and its account was linked or renewed.
        first: no device is in the account yet: the first one makes the recovery phrase.
    """

    done: bool
    account: str = ""
    code: str = ""
    first: bool = False
