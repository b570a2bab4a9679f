"""The sync with the person's other devices."""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from tacit.app.engine import Engine
from tacit.app.values import Caller
from tacit.sync.connection import checked_url
from tacit.sync.views import LoginResult
from tacit.verbs.answers import DevicesView, LoggedInView, SignInView, SyncedView, SyncView
from tacit.verbs.requests import LongPage, NoBody, Request, part_of


class LogIn(Request):
    """A request to log in at a server, or to accept the invitation of an organization there."""

    url: str = Field(min_length=1, max_length=500, description="address of the server")
    code: str = Field(default="", max_length=200, description="of an invitation")
    phrase: str = Field(
        default="",
        max_length=200,
        description="recovery phrase of the account; left out for its first device",
    )
    name: str = Field(default="", max_length=60, description="of this device; left out = the machine's")
    dry_run: bool = Field(default=False, description="only say how many memories would leave")


class SignIn(Request):
    """A request for a step of a single sign-on at a server."""

    url: str = Field(min_length=1, max_length=500, description="address of the server")
    name: str = Field(
        default="", max_length=60, description="to begin: of this device; left out = the machine's"
    )
    login: str = Field(default="", max_length=100, description="to ask for the result: its id")
    secret: str = Field(
        default="", max_length=100, description="with `login`: the secret from the answer that began it"
    )

    @model_validator(mode="after")
    def _says_which(self) -> Self:
        if bool(self.login) != bool(self.secret) or (self.login and self.name):
            raise ValueError("login and secret together, without name")
        return self


class ChangeDevices(Request):
    """A request to invite one more device to the account, to refuse one, or to refuse all others by a new secret."""

    revoked: str = Field(
        default="",
        max_length=64,
        description="the device to refuse: its name, or the beginning of its key; left out = invite one",
    )
    new_secret: bool = Field(
        default=False,
        description="give the account a new secret and recovery phrase; refuses all other devices",
    )
    dry_run: bool = Field(default=False, description="with `revoked`: only say which device that is")

    @model_validator(mode="after")
    def _does_one(self) -> Self:
        if self.new_secret and (self.revoked or self.dry_run):
            raise ValueError("either revoked or new_secret; new_secret has no dry run")
        return self


class AskSync(LongPage):
    """A request for the state of the sync."""

    devices: bool = Field(
        default=False, description="also the devices of the account, as the server knows them"
    )


def get_sync(engine: Engine, caller: Caller, request: AskSync) -> SyncView:
    """Get what is known of the sync of this home; with `devices`, ask the server for the devices of the account.

    It has the account, the device, the last exchange and the last error. `logged_in` says whether there is a
    login. Revoked devices are listed, too, with the time of the revocation.

    Raises:
        NotLoggedIn: `devices` are asked for, and the server does not know this device.
    """
    if not request.devices:
        return SyncView(sync=engine.sync.status())
    devices = engine.sync.devices()
    rows, following = part_of(lambda _: devices, request, lambda device: device.device)
    return SyncView(sync=engine.sync.status(), devices=rows, next_cursor=following)


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
    """Log this home in to an account of a server.

    With `dry_run`, only count the memories that would be sent there; `login` of the answer is then None.

    If this home is logged in there already, the code accepts the invitation of an organization. The first device of an account needs the code of an invitation and gets a recovery phrase; further devices
    need both. From then on memories that may leave the machine are exchanged in encrypted form.

    Raises:
        NotLoggedIn: the code is wrong, used or expired.
    """
    status = engine.sync.status()
    if status.logged_in and request.code and not request.phrase and checked_url(request.url) == status.url:
        engine.shared_teams.asking(lambda server: server.accept(request.code.strip()))
        engine.sync.run()
        return LoggedInView(shared=0, login=LoginResult(account=status.account, device=status.device))
    engine.sync.refuse_second_login()
    shared = engine.sync.count_shared()
    login = (
        None
        if request.dry_run
        else engine.sync.log_in(request.url, code=request.code, phrase=request.phrase, name=request.name)
    )
    return LoggedInView(shared=shared, login=login)


def sign_in(engine: Engine, caller: Caller, request: SignIn) -> SignInView:
    """Begin a single sign-on with the provider of a server, which continues in a browser, or ask for its result.

    Open `url` of the answer in a browser, then ask again with its `login` and `secret`. Until the user has signed
    in, the answer says that it is not done. The final result is given only once; its code is for `PUT /v1/sync`.
    If this home is already logged in there, it renews its teams.

    Raises:
        NotPermitted: the provider or the server refused the user.
        NotLoggedIn: it took too long.
    """
    if request.login:
        done = engine.sync.finish_sign_in(request.url, login=request.login, secret=request.secret)
        return SignInView(result=done)
    return SignInView(begun=engine.sync.begin_sign_in(request.url, name=request.name))


def log_out(engine: Engine, caller: Caller, request: NoBody) -> SyncView:
    """Log this device out of its account. Memories that teams share end on this device; all others stay.

    The server refuses this device from then on, if it can be reached.
    """
    engine.sync.log_out()
    return SyncView(sync=engine.sync.status())


def change_devices(engine: Engine, caller: Caller, request: ChangeDevices) -> DevicesView:
    """Make a code with which one more device may log in, once and within seven days; or refuse a device from now on, or all others.

    Enter the code and the recovery phrase on the new device. From a refused device the server accepts nothing any
    more. What it received before stays on it. This device leaves the account with `DELETE /v1/sync`.

    With `new_secret`, after the phrase or a device was lost, the account gets a new secret and recovery phrase, in `login` of
    the answer. Account, roles and teams stay. The server deletes what was encrypted with the old secret, and refuses all
    other devices until they log in again with the new phrase. This device sends everything once more.

    Raises:
        NotLoggedIn: the server does not know this device.
    """
    if request.new_secret:
        return DevicesView(login=engine.sync.rotate())
    if not request.revoked:
        return DevicesView(code=engine.sync.invite())
    found = engine.sync.revoke(request.revoked, dry_run=request.dry_run)
    if request.dry_run:
        return DevicesView(devices=(found,))
    return DevicesView(devices=engine.sync.devices())
