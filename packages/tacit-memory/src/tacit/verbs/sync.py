"""The sync with the person's other devices."""

from __future__ import annotations

from pydantic import Field

from tacit.app.engine import Engine
from tacit.app.values import Caller
from tacit.verbs.answers import (
    DevicesView,
    InviteView,
    LoggedInView,
    SignedInView,
    SignInView,
    SyncedView,
    SyncView,
)
from tacit.verbs.cursors import part_of
from tacit.verbs.requests import LongPage, NoBody, Request


class LogIn(Request):
    """A request to join an account of a server."""

    url: str = Field(min_length=1, max_length=500, description="address of the server")
    code: str = Field(default="", max_length=200, description="of an invitation")
    phrase: str = Field(
        default="",
        max_length=200,
        description="recovery phrase of the account; left out for its first device",
    )
    name: str = Field(default="", max_length=60, description="of this device; left out = the machine's")
    dry_run: bool = Field(default=False, description="only say how many memories would leave")


class BeginSignIn(Request):
    """A request to begin a single sign-on at a server."""

    url: str = Field(min_length=1, max_length=500, description="address of the server")
    name: str = Field(default="", max_length=60, description="of this device; left out = the machine's")


class FinishSignIn(Request):
    """A request for the result of a single sign-on."""

    url: str = Field(min_length=1, max_length=500, description="address of the server")
    login: str = Field(min_length=1, max_length=100, description="its id")
    secret: str = Field(
        min_length=1, max_length=100, description="the secret from the answer of `POST /v1/sync/sign-in`"
    )


class Revoke(Request):
    """A request to revoke a device of the account."""

    device: str = Field(min_length=1, max_length=64, description="its name, or the beginning of its key")


def get_sync(engine: Engine, caller: Caller, request: NoBody) -> SyncView:
    """Get what is known of the sync of this home, without asking the server.

    It has the account, the device, the last exchange and the last error. `logged_in` says whether there is a
    login.
    """
    return SyncView(sync=engine.sync.status())


def sync(engine: Engine, caller: Caller, request: NoBody) -> SyncedView:
    """Exchange with the server now.

    It sends what changed here and receives what changed elsewhere. The daemon does it in the background as
    well.

    Raises:
        NotLoggedIn: the server does not know this device.
        LogForked: another home wrote to the log of this device.
    """
    return SyncedView(exchanged=engine.sync.run(), sync=engine.sync.status())


def log_in(engine: Engine, caller: Caller, request: LogIn) -> LoggedInView:
    """Join an account of a server. With `dry_run` only say how many memories would leave.

    The first device of an account needs the code of an invitation and gets a recovery phrase; further devices
    need both. From then on memories that may leave the machine are exchanged in encrypted form.

    Raises:
        NotLoggedIn: the code is wrong, used or expired.
    """
    engine.sync.refuse_second_login()
    shared = engine.sync.count_shared()
    login = (
        None
        if request.dry_run
        else engine.sync.log_in(request.url, code=request.code, phrase=request.phrase, name=request.name)
    )
    return LoggedInView(shared=shared, login=login)


def begin_sign_in(engine: Engine, caller: Caller, request: BeginSignIn) -> SignInView:
    """Begin a single sign-on with the provider of a server, which continues in a browser. If this home is already logged in there, it renews its teams.

    Open `url` of the answer in a browser, then poll `POST /v1/sync/sign-in/finish`.
    """
    return SignInView(sign_in=engine.sync.begin_sign_in(request.url, name=request.name))


def finish_sign_in(engine: Engine, caller: Caller, request: FinishSignIn) -> SignedInView:
    """Get the result of a single sign-on. The final result is given only once; its code is for `POST /v1/sync/login`.

    Until the user has signed in, the answer says that it is not done.

    Raises:
        NotPermitted: the provider or the server refused the user.
        NotLoggedIn: it took too long.
    """
    done = engine.sync.finish_sign_in(request.url, login=request.login, secret=request.secret)
    return SignedInView(sign_in=done)


def log_out(engine: Engine, caller: Caller, request: NoBody) -> SyncView:
    """Leave the account. Memories that teams share end here; all others stay.

    The server refuses this device from then on, if it can be reached.
    """
    engine.sync.log_out()
    return SyncView(sync=engine.sync.status())


def invite_device(engine: Engine, caller: Caller, request: NoBody) -> InviteView:
    """Make a code with which one more device may log in, once and within an hour.

    Enter the code and the recovery phrase on the new device.

    Raises:
        NotLoggedIn: the server does not know this device.
    """
    return InviteView(code=engine.sync.invite())


def list_devices(engine: Engine, caller: Caller, request: LongPage) -> DevicesView:
    """List the devices of the account, as the server knows them.

    Revoked devices are listed, too, with the time of the revocation.

    Raises:
        NotLoggedIn: the server does not know this device.
    """
    devices = engine.sync.devices()
    rows, following = part_of(lambda _: devices, request, lambda device: device.device)
    return DevicesView(devices=rows, next_cursor=following)


def revoke_device(engine: Engine, caller: Caller, request: Revoke) -> DevicesView:
    """Refuse another device of the account from now on.

    The server accepts nothing from it any more. What it received before stays on it. This device leaves the
    account with `POST /v1/sync/logout`.

    Raises:
        NotLoggedIn: the server does not know this device.
    """
    engine.sync.revoke(request.device)
    return DevicesView(devices=engine.sync.devices())
