"""The endpoints about other devices and about a team in a repository. In: a checked request. Out: a model of the answer. See `tacit.api.handlers`."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from tacit.api import answers as shapes
from tacit.api.answering import Answer, Parameters, Service
from tacit.api.cursors import part_of
from tacit.api.requests import AtFolder, LongPage, NoBody, Request, Share, Unshare
from tacit.app.sharing.team import TeamFolder
from tacit.capture.bootstrap.project_import import RuleFile

# --- requests


class LogIn(Request):
    """A server's account to join."""

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
    """A server at which the user begins a single sign-on."""

    url: str = Field(min_length=1, max_length=500, description="address of the server")
    name: str = Field(default="", max_length=60, description="of this device; left out = the machine's")


class FinishSignIn(Request):
    """A single sign-on that was begun."""

    url: str = Field(min_length=1, max_length=500, description="address of the server")
    login: str = Field(min_length=1, max_length=100, description="its id")
    secret: str = Field(
        min_length=1, max_length=100, description="the secret from the answer of `POST /v1/sync/sign-in`"
    )


class Revoke(Request):
    """A device to refuse."""

    device: str = Field(min_length=1, max_length=64, description="its name, or the beginning of its key")


# --- endpoints


def get_sync(engine: Service, at: Parameters, request: NoBody) -> Answer[shapes.SyncView]:  # noqa: ARG001
    """Get what is known of the sync of this home, without asking the server.

    It has the account, the device, the last exchange and the last error. `logged_in` says whether there is a
    login.
    """
    return Answer(shapes.SyncView(sync=engine.sync.status()))


def sync(engine: Service, at: Parameters, request: NoBody) -> Answer[shapes.SyncedView]:  # noqa: ARG001
    """Exchange with the server now.

    It sends what changed here and receives what changed elsewhere. The daemon does it in the background as
    well.

    Raises:
        NotLoggedIn: the server does not know this device.
        LogForked: another home wrote to the log of this device.
    """
    return Answer(shapes.SyncedView(exchanged=engine.sync.run(), sync=engine.sync.status()))


def log_in(engine: Service, at: Parameters, request: LogIn) -> Answer[shapes.LoggedInView]:  # noqa: ARG001
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
    return Answer(shapes.LoggedInView(shared=shared, login=login))


def begin_sign_in(engine: Service, at: Parameters, request: BeginSignIn) -> Answer[shapes.SignInView]:  # noqa: ARG001
    """Begin a single sign-on with the provider of a server, which continues in a browser. If this home is already logged in there, it renews its teams.

    Open `url` of the answer in a browser, then poll `POST /v1/sync/sign-in/finish`.
    """
    return Answer(shapes.SignInView(sign_in=engine.sync.begin_sign_in(request.url, name=request.name)))


def finish_sign_in(engine: Service, at: Parameters, request: FinishSignIn) -> Answer[shapes.SignedInView]:  # noqa: ARG001
    """Get the result of a single sign-on. The final result is given only once; its code is for `POST /v1/sync/login`.

    Until the user has signed in, the answer says that it is not done.

    Raises:
        NotPermitted: the provider or the server refused the user.
        NotLoggedIn: it took too long.
    """
    done = engine.sync.finish_sign_in(request.url, login=request.login, secret=request.secret)
    return Answer(shapes.SignedInView(sign_in=done))


def log_out(engine: Service, at: Parameters, request: NoBody) -> Answer[shapes.SyncView]:  # noqa: ARG001
    """Leave the account. Memories that teams share end here; all others stay.

    The server refuses this device from then on, if it can be reached.
    """
    engine.sync.log_out()
    return Answer(shapes.SyncView(sync=engine.sync.status()))


def invite_device(engine: Service, at: Parameters, request: NoBody) -> Answer[shapes.InviteView]:  # noqa: ARG001
    """Make a code with which one more device may log in, once and within an hour.

    Enter the code and the recovery phrase on the new device.

    Raises:
        NotLoggedIn: the server does not know this device.
    """
    return Answer(shapes.InviteView(code=engine.sync.invite()))


def list_devices(engine: Service, at: Parameters, request: LongPage) -> Answer[shapes.DevicesView]:  # noqa: ARG001
    """List the devices of the account, as the server knows them.

    Revoked devices are listed, too, with the time of the revocation.

    Raises:
        NotLoggedIn: the server does not know this device.
    """
    devices = engine.sync.devices()
    rows, following = part_of(lambda _: devices, request, lambda device: device.device)
    return Answer(shapes.DevicesView(devices=rows, next_cursor=following))


def revoke_device(engine: Service, at: Parameters, request: Revoke) -> Answer[shapes.DevicesView]:  # noqa: ARG001
    """Refuse another device of the account from now on.

    The server accepts nothing from it any more. What it received before stays on it. This device leaves the
    account with `POST /v1/sync/logout`.

    Raises:
        NotLoggedIn: the server does not know this device.
    """
    engine.sync.revoke(request.device)
    return Answer(shapes.DevicesView(devices=engine.sync.devices()))


def get_repository_team(engine: Service, at: Parameters, request: AtFolder) -> Answer[shapes.TeamView]:  # noqa: ARG001
    """List the memories that the team of a project shares in its repository.

    The files stand below `.tacit/team` of the repository. `joined` says whether this home takes them for the
    word of teammates.
    """
    return Answer(_team_view(engine.team.folder(request.cwd)))


def join_repository_team(engine: Service, at: Parameters, request: AtFolder) -> Answer[shapes.TeamView]:  # noqa: ARG001
    """Take what the team's default branch holds for the word of teammates.

    The files of the default branch are imported now and after each later change of that branch.
    """
    folder, files = engine.team.join(request.cwd)
    return Answer(_team_view(folder, files))


def leave_repository_team(engine: Service, at: Parameters, request: AtFolder) -> Answer[shapes.TeamView]:  # noqa: ARG001
    """End the memories that came from the team's files.

    Memories that the user made their own stay.
    """
    folder, files = engine.team.leave(request.cwd)
    return Answer(_team_view(folder, files))


def share_in_repository(engine: Service, at: Parameters, request: Share) -> Answer[shapes.SharedView]:  # noqa: ARG001
    """Write a memory into the team's folder of its repository, for the user to commit.

    It writes one file; nothing is committed or sent.

    Raises:
        NotFound: no memory has this id, or several have it.
        RefusedByTrust: the memory is restricted, or belongs to one session.
        RefusedByRedaction: the memory holds a secret.
    """
    memory = engine.show(request.id)
    return Answer(shapes.SharedView(file=engine.team.share(memory, request.cwd, by=request.by)))


def unshare_in_repository(engine: Service, at: Parameters, request: Unshare) -> Answer[shapes.SharedView]:  # noqa: ARG001
    """Remove the file of a memory from the team's folder, for the user to commit.

    Teammates keep the memory until the removal is on the default branch.

    Raises:
        NotFound: no memory has this id, or it has no file in the team's folder.
    """
    return Answer(shapes.SharedView(file=engine.team.unshare(engine.show(request.id), request.cwd)))


def _team_view(folder: TeamFolder, files: Sequence[RuleFile] = ()) -> shapes.TeamView:
    return shapes.TeamView(
        project=folder.project,
        joined=folder.joined,
        files=folder.files,
        problem=folder.problem,
        changed=sum(file.status in ("imported", "changed", "gone") for file in files),
    )
