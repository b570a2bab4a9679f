"""Syncs this home with the person's other devices through a server that cannot read what it keeps. In: logins, time. Out: exchanges, a status.

Recall never waits for it: exchanges run on a thread of their own, with growing pauses while the server is away. Nothing leaves before the user
logged in. Keys, token and logs are in `sync.db` of the home, which its owner alone may read.
"""

from __future__ import annotations

import logging
import math
import random
import socket
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from threading import Event, Lock, Thread
from typing import TypeVar

import msgspec

from tacit.app.admin.purging import Purger
from tacit.app.sharing.shared_teams import SharedTeams, active_lost
from tacit.app.values import OpenStore
from tacit.errors import InvalidInput, NotLoggedIn, ProviderError, StoreError, SyncError, TacitError
from tacit.frozen import frozen
from tacit.model.memory import Memory
from tacit.ports.models import EmbedderIdentity, Vectors
from tacit.ports.store import MemoryFilter
from tacit.reading.memory_vectors import memory_vectors
from tacit.state.registry import TEAM_PURGES, TEAMS
from tacit.sync.connection import checked_url
from tacit.sync.exchange import LogExchange
from tacit.sync.http_server import HttpServer
from tacit.sync.keys import AccountKey, DeviceKey
from tacit.sync.replica import Replica
from tacit.sync.replicating import CURSOR, VECTORS_DUE, Replicating, is_shared
from tacit.sync.team_server import TeamServer
from tacit.sync.views import (
    DeviceView,
    Exchanged,
    LoggedIn,
    LoginResult,
    SignInBegun,
    SignInResult,
    SyncStatus,
)
from tacit.system.files import set_mode
from tacit.upkeep.reindex import reindex

_LOG = logging.getLogger(__name__)
LOOK_S = 1.0
"""Seconds between two looks whether something changed here."""
LISTEN_S = 50.0
"""Seconds after which the server answers at the latest; it answers at once when something changed there."""
LEAST_PAUSE_S, MOST_PAUSE_S = 2.0, 300.0
"""Least and most seconds of the pause after a failure: doubled each time, with a random part so that devices do not come back all at once."""
_ACCOUNT = "account"
_JOINING = "joining"
_ROTATING = "rotating"
"""Name of the fact that holds the new secret of a rotation until the server has answered."""
_SIGN_IN_BY = "sign_in_by_ms"
VECTORS_S = 5.0
"""Most seconds in which missing vectors are made between two exchanges."""
MAX_NAME = 60
_T = TypeVar("_T")


@frozen
class HomeLogin:
    """The record of this home's login, stored as JSON in `sync.db`; it holds two secrets.

    Attributes:
        token: what opens the server to requests.
        secret: the secret of the account, from its recovery phrase.
        device: the private key of this device.
        name: what the device is called.
    """

    url: str
    account: str
    token: str
    secret: bytes
    device: bytes
    name: str


@frozen
class _Joining:
    """The secret of a login without an answer so far; the server may have the key already."""

    url: str
    account: str
    secret: bytes


class Syncing:
    """Syncs one home with the person's other devices. Safe to use from several threads; exchanges run one after the other."""

    def __init__(
        self,
        opened: OpenStore,
        *,
        purger: Purger,
        teams: Callable[[], SharedTeams],
        connect: Callable[[str, str], HttpServer] = HttpServer,
    ) -> None:
        """Sync the open store.

        Args:
            opened: the store, and what is called when memories came in.
            purger: removes memories that another device purged.
            teams: returns what brings the store up to date with the teams of the server.
            connect: makes the connection to the server, from its URL and the token of this device ("" = none yet).
        """
        self._parts, self._changed = opened.parts, opened.changed
        self._purger = purger
        self._teams = teams
        self._connect = connect
        self._exchanging = Lock()
        self._opening = Lock()
        self._closing = Event()
        self._wake = Event()
        self._threads: list[Thread] = []
        self._replica: Replica | None = None
        self._listening: HttpServer | None = None
        self._asked: HttpServer | None = None
        """The connection of the running exchange, or None."""
        self._shared = -1
        """The number of changes of the user's teams that the server last reported; -1 = none so far."""
        self._synced_at_ms = 0
        self._synced_change = -1
        self._error = ""

    @property
    def file(self) -> Path:
        """The path of the database with logs and keys."""
        return self._parts.home.root / "sync.db"

    # --- logging in and out

    def count_shared(self) -> int:
        """Count the memories that would leave this home at the first sync."""
        everything = self._parts.store.scopes()
        count = offset = 0
        while page := self._parts.store.list_memories(
            MemoryFilter(statuses=None), scope=everything, limit=500, offset=offset
        ):
            offset += len(page)
            count += sum(map(is_shared, page))
        return count

    def refuse_second_login(self) -> None:
        """Raise if this home is logged in.

        Raises:
            InvalidInput: it is.
        """
        if (member := self._membership()) is not None:
            raise InvalidInput(
                f"This home is logged in at {member.url} as {member.account}.", hint="`tacit logout` first."
            )

    def log_in(self, url: str, *, code: str, phrase: str = "", name: str = "") -> LoginResult:
        """Join the account that `code` invites to, store the login and start the background sync.

        Args:
            url: of the server.
            code: of an invitation.
            phrase: the recovery phrase; "" = this is the first device of the account, and a phrase is made.
            name: of this device; "" = the machine's.

        Raises:
            InvalidInput: if this home is logged in already, or the phrase is none.
            SyncError: if the server cannot be reached or does not let the device in.
        """
        with self._exchanging:
            self.refuse_second_login()
            account = AccountKey.from_phrase(phrase) if phrase else self._secret_for(checked_url(url), code)
            key = DeviceKey.new()
            server = self._connect(checked_url(url), "")
            try:
                done = server.log_in(
                    code=code.strip(),
                    key=account.account,
                    device=key.device,
                    name=_called(name),
                    signature=key.sign(key.device.encode()),
                )
            finally:
                server.close()
            self._keep(
                HomeLogin(
                    url=checked_url(url),
                    account=done.account,
                    token=done.token,
                    secret=account.secret,
                    device=key.private,
                    name=done.name or _called(name),
                )
            )
        self.start()
        return LoginResult(account=done.account, device=key.device, phrase="" if phrase else account.phrase)

    def rotate(self) -> LoginResult:
        """Give the account a new secret, and return it as a new recovery phrase. All other devices have to log in again with it.

        Until the server has answered, nothing is exchanged; another call goes on with the same phrase.

        Raises:
            InvalidInput: this home is not logged in.
            SyncError: the server cannot be reached, or does not know this device.
        """
        with self._exchanging:
            member, replica = self._required(), self._opened()
            account = AccountKey(replica.fact(_ROTATING) or AccountKey.new().secret)
            replica.put_fact(_ROTATING, account.secret)
            self._asking(lambda server: server.rotate(account.account))
            facts = {_ACCOUNT: msgspec.json.encode(replace(member, secret=account.secret))}
            if (due := replica.fact(VECTORS_DUE)) is not None:
                facts[VECTORS_DUE] = due
            replica.begin_anew(facts)
        self._wake.set()
        device = DeviceKey(member.device).device
        return LoginResult(account=member.account, device=device, phrase=account.phrase)

    def begin_sign_in(self, url: str, *, name: str = "") -> SignInBegun:
        """Begin a single sign-on with the provider of a server. If this home is already logged in there, its account is linked, or its teams are renewed.

        Args:
            url: the address of the server.
            name: the name of this device; "" = the name of the machine.

        Raises:
            InvalidInput: this home is logged in at another server.
            SyncError: the server cannot be reached, or has no provider.
        """
        member = self._membership()
        if member is not None and member.url != checked_url(url):
            raise InvalidInput(
                f"This home is logged in at {member.url} as {member.account}.",
                hint="`tacit logout` first.",
            )
        server = self._connect(checked_url(url), member.token if member is not None else "")
        try:
            return server.begin_sign_in(_called(name))
        finally:
            server.close()

    def finish_sign_in(self, url: str, *, login: str, secret: str) -> SignInResult:
        """Ask the server for the state of a single sign-on that was begun. If the result has a code, call `log_in` with it.

        Raises:
            NotPermitted: the provider or the server refused the user.
            NotLoggedIn: it took too long.
        """
        server = self._connect(checked_url(url), "")
        try:
            done = server.finish_sign_in(login, secret)
        finally:
            server.close()
        if done.done and self._membership() is not None:
            self._opened().put_fact(_SIGN_IN_BY, None)  # the next exchange stores the new time
        return done

    def log_out(self) -> None:
        """Leave the account. The server refuses this device from now on, if it can be reached. Memories that teams share end here; all others stay.

        Raises:
            InvalidInput: if this home is not logged in.
        """
        try:
            member = self._required()
        except StoreError as error:  # damaged: the login in it cannot be read any more
            _LOG.warning("The server was not told of the logout: %s", error)
            member = None
        self._stop()
        with self._exchanging:
            if member is not None:
                self._tell_logout(member)
            self._let_go()
            for ending in ("", "-wal", "-shm"):
                self.file.with_name(self.file.name + ending).unlink(missing_ok=True)
            self._error = ""
        self._teams().leave_all()
        self._changed()

    def _tell_logout(self, member: HomeLogin) -> None:
        server = self._server(member)
        try:
            server.revoke(DeviceKey(member.device).device)
        except TacitError as error:
            _LOG.warning("The server was not told of the logout: %s", error)
        finally:
            server.close()

    def _secret_for(self, url: str, code: str) -> AccountKey:
        """Return the secret for the first device of an account; it is stored before the server is asked, so that a lost answer loses nothing."""
        account = code.strip().rpartition("-")[0]
        kept = self._opened().fact(_JOINING)
        if kept is not None:
            joining = msgspec.json.decode(kept, type=_Joining)
            if (joining.url, joining.account) == (url, account):
                return AccountKey(joining.secret)
        made = AccountKey.new()
        self._opened().put_fact(
            _JOINING, msgspec.json.encode(_Joining(url=url, account=account, secret=made.secret))
        )
        return made

    def devices(self) -> Sequence[DeviceView]:
        """Ask the server for the devices of the account."""
        return self._asking(lambda server: server.devices())

    def invite(self) -> str:
        """Ask the server for an invitation code for one more device."""
        return self._asking(lambda server: server.invite())

    def revoke(self, device: str, *, dry_run: bool = False) -> DeviceView:
        """Revoke another device, so that the server refuses it from now on, and return it. `device` is its name, or the beginning of its key.

        Raises:
            InvalidInput: if none or several fit, or it is this device.
        """
        fitting = [
            view
            for view in self.devices()
            if view.revoked_at_ms is None and (view.device.startswith(device) or view.name == device)
        ]
        if len(fitting) != 1:
            what = "No device is" if not fitting else f"{len(fitting)} devices are"
            raise InvalidInput(
                f"{what} called {device!r}.", hint="`tacit devices` lists them with their keys."
            )
        if fitting[0].device == DeviceKey(self._required().device).device:
            raise InvalidInput(
                f"{fitting[0].name!r} is this device.",
                hint="`tacit logout` takes it out of the account. A device that you lost is revoked from another one.",
            )
        if not dry_run:
            self._asking(lambda server: server.revoke(fitting[0].device))
        return fitting[0]

    def ask_teams(self, ask: Callable[[TeamServer], _T]) -> _T:
        """Call `ask` with a connection to the teams of the server and return its result.

        Raises:
            InvalidInput: this home is not logged in.
            SyncError: the server cannot be reached.
        """
        return self._asking(lambda server: ask(self._teams_of(server, self._required())))

    # --- exchanging

    def run(self) -> Exchanged:
        """Exchange once with the server, now, and return what came in and went out. Blocks.

        Raises:
            InvalidInput: if this home is not logged in.
            SyncError: the server cannot be reached or refuses.
        """
        with self._exchanging:
            member = self._required()
            if self._opened().fact(_ROTATING) is not None:
                raise SyncError(
                    "A new recovery phrase was begun, and the server has not answered yet.",
                    hint="`tacit devices rotate` goes on with it, and shows the phrase.",
                )
            change = self._parts.store.change()
            self._asked = server = self._server(member)
            try:
                done = LogExchange(
                    replica=self._opened(),
                    server=server,
                    key=DeviceKey(member.device),
                    replicating=lambda key: self._replicating(member, key),
                    keep=lambda key, logged_in: self._renewed(member, key, logged_in),
                ).run()
                from_teams = self._teams().take_over(self._teams_of(server, member))
            except sqlite3.Error as error:
                failed = StoreError(f"{self.file} cannot be read or written: {error}.")
                self._error = str(failed)
                raise failed from error
            except TacitError as error:
                self._error = str(error)
                raise
            finally:
                self._asked = None
                server.close()
            self._error = ""
            self._synced_at_ms = self._parts.clock.now_ms()
            self._opened().put_fact("synced_at_ms", str(self._synced_at_ms).encode())
            self._note_sign_in()
            self._synced_change = change
        if done.applied or done.purged or from_teams:
            self._changed()
        return replace(done, from_teams=from_teams)

    def _note_sign_in(self) -> None:
        """Store the time by which the user has to sign in again. A time that has passed stays stored, so that the user is told why a team is gone."""
        ends = [state.until_ms for state in TEAMS.read(self._parts.store).values() if state.until_ms]
        replica = self._opened()
        if ends:
            replica.put_fact(_SIGN_IN_BY, str(min(ends)).encode())
        elif int(replica.fact(_SIGN_IN_BY) or b"0") > self._parts.clock.now_ms():
            replica.put_fact(_SIGN_IN_BY, None)

    def status(self) -> SyncStatus:
        """Return what is known without asking the server, and without waiting for an exchange that runs."""
        try:
            return self._status()
        except (StoreError, sqlite3.Error) as error:
            return SyncStatus(logged_in=True, error=str(error))

    def _status(self) -> SyncStatus:
        member = self._membership()
        if member is None:
            return SyncStatus(logged_in=False)
        replica = self._opened()
        return SyncStatus(
            logged_in=True,
            url=member.url,
            account=member.account,
            name=member.name,
            device=DeviceKey(member.device).device,
            entries=sum(replica.heads().values()),
            waiting=replica.unsent(),
            changed=self._parts.store.change() != int(replica.fact(CURSOR) or b"-1"),
            synced_at_ms=int(replica.fact("synced_at_ms") or b"0"),
            sign_in_by_ms=int(replica.fact(_SIGN_IN_BY) or b"0"),
            error=self._error,
            lost=tuple(
                sorted(
                    {
                        name
                        for state in TEAMS.read(self._parts.store).values()
                        for name in active_lost(self._parts.store, state)
                    }
                )
            ),
        )

    def start(self) -> None:
        """Start the background threads that exchange and listen, if this home is logged in; safe to call again."""
        if self._threads or not self.file.exists():
            return
        self._closing = closing = Event()
        self._threads = [
            Thread(target=self._exchange_soon, args=(closing,), name="tacit-sync", daemon=True),
            Thread(target=self._listen, args=(closing,), name="tacit-sync-listen", daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        """End the background work and close `sync.db`."""
        self._stop()
        with self._exchanging:
            self._let_go()

    def _let_go(self) -> None:
        with self._opening:
            if self._replica is not None:
                self._replica.close()
                self._replica = None

    def _stop(self) -> None:
        self._closing.set()
        self._wake.set()
        for connection in (self._listening, self._asked):  # calls that wait for the server end with an error
            if connection is not None:
                connection.close()
        for thread in self._threads[:1]:  # the other one may wait for the server; it does nothing any more
            thread.join(timeout=5.0)
        self._threads = []

    def _exchange_soon(self, closing: Event) -> None:
        failures = 0
        while not closing.is_set():
            try:
                self.run()
                failures = 0
            except TacitError as error:
                if isinstance(error, NotLoggedIn) or not self.status().logged_in:
                    _LOG.warning("sync ended: %s", error)
                    return
                failures += 1
                _LOG.info("sync failed: %s", error)
            except Exception as error:  # noqa: BLE001 - a background job's boundary: the daemon answers on
                failures += 1
                self._error = f"{type(error).__name__}: {error}"
                _LOG.exception("sync failed")
            self._make_some_vectors(closing)
            self._pause(failures, closing)

    def _make_some_vectors(self, closing: Event) -> None:
        until_ms = self._parts.clock.monotonic_ms() + VECTORS_S * 1000
        try:
            self.make_vectors(until_ms=until_ms, stop=lambda: closing.is_set() or self._wake.is_set())
        except TacitError as error:
            _LOG.warning("memories of other devices have no vectors yet: %s", error)
        except Exception:  # noqa: BLE001 - a background job's boundary
            _LOG.exception("making vectors failed")

    def make_vectors(self, *, until_ms: float = math.inf, stop: Callable[[], bool] = lambda: False) -> int:
        """Make the vectors of memories that an exchange wrote without, a batch at a time; return how many. Until then their words find them.

        Args:
            until_ms: the monotonic time after which no further batch is begun.
            stop: asked before each batch; if it returns true, none is begun. What is missing then is made by the next call.

        Raises:
            ProviderError: the embedder fails; batches before it are kept.
        """
        with self._exchanging:
            if self._membership() is None or self._opened().fact(VECTORS_DUE) is None:
                return 0
        store, embedder, now_ms = self._parts.store, self._parts.embedder, self._parts.clock.monotonic_ms
        made = reindex(store, embedder, stop=lambda: stop() or now_ms() >= until_ms)
        with self._exchanging:
            if self._membership() is not None and not store.count_pending(embedder.identity):
                self._opened().put_fact(VECTORS_DUE, None)
        return made

    def _pause(self, failures: int, closing: Event) -> None:
        """Wait until something changed, here or there; after failures, first wait for a growing pause."""
        if failures:
            closing.wait(_pause_after(failures))
        while not closing.is_set() and not self._wake.is_set():
            if self._parts.store.change() != self._synced_change:
                break
            self._wake.wait(LOOK_S)
        self._wake.clear()

    def _listen(self, closing: Event) -> None:
        """Ask the server again and again for news of other devices, and wake the exchange when there are some. Runs on a thread."""
        failures = 0
        while not closing.is_set():
            try:
                if not self._wait_for_news(closing):
                    return
                failures = 0
            except TacitError:
                failures += 1
                closing.wait(_pause_after(failures))
            except Exception:  # noqa: BLE001 - a background job's boundary
                failures += 1
                _LOG.exception("listening for other devices failed")
                closing.wait(_pause_after(10))

    def _wait_for_news(self, closing: Event) -> bool:
        """Ask the server once for news, for up to `LISTEN_S` seconds, and wake the exchange if there are some.

        Returns:
            False = stop asking: this home is not logged in, or is closing.
        """
        with self._exchanging:
            if closing.is_set() or (member := self._membership()) is None:
                return False
            known = sum(self._opened().heads().values())
        self._listening = server = self._server(member)
        try:
            first = (
                self._shared < 0
            )  # the number of changes is not known yet, so ask at once and exchange, to miss none
            wait_s = 0.0 if first else LISTEN_S
            news, self._shared = server.wait(known, shared=self._shared, wait_s=wait_s)
            self._teams().note_contact()
            if (news or first) and not closing.is_set():
                self._wake.set()
                closing.wait(LOOK_S)
        finally:
            server.close()
        return True

    # --- parts

    def _replicating(self, member: HomeLogin, key: DeviceKey) -> Replicating:
        return Replicating(
            store=self._parts.store,
            replica=self._opened(),
            account=AccountKey(member.secret),
            device=key,
            embed=self._embed,
            purge=self._purge,
            identity=self._identity,
            by_teams=lambda: frozenset(TEAM_PURGES.read(self._parts.store)),
            now_ms=self._parts.clock.now_ms,
        )

    def _identity(self) -> str:
        """Return which file the store is: it changes after `tacit restore`, or if the home was copied. "" = there is none."""
        try:
            found = self._parts.home.database.stat()
        except OSError:
            return ""
        return f"{found.st_dev}:{found.st_ino}"

    def _embed(self, memories: Sequence[Memory]) -> tuple[Vectors, EmbedderIdentity] | None:
        """Make vectors with this home's own embedder; None = nothing to do, or the embedder fails and they are made later."""
        if not memories:
            return None
        try:
            return memory_vectors(memories, embedder=self._parts.embedder), self._parts.embedder.identity
        except ProviderError as error:
            _LOG.warning("memories of other devices have no vectors yet: %s", error)
            return None

    def _purge(self, memory_ids: Sequence[str]) -> None:
        self._purger.purge(self._purger.still_there(tuple(memory_ids)), dry_run=False)

    def _server(self, member: HomeLogin) -> HttpServer:
        return self._connect(member.url, member.token)

    @staticmethod
    def _teams_of(server: HttpServer, member: HomeLogin) -> TeamServer:
        return TeamServer(server.connection, account=member.account, key=AccountKey(member.secret))

    def _asking(self, ask: Callable[[HttpServer], _T]) -> _T:
        server = self._server(self._required())
        try:
            return ask(server)
        finally:
            server.close()

    def _opened(self) -> Replica:
        with self._opening:
            if self._replica is None:
                self._replica = Replica(self.file)
                set_mode(self.file, 0o600)
            return self._replica

    def _membership(self) -> HomeLogin | None:
        if self._replica is None and not self.file.exists():
            return None
        kept = self._opened().fact(_ACCOUNT)
        return msgspec.json.decode(kept, type=HomeLogin) if kept is not None else None

    def _required(self) -> HomeLogin:
        member = self._membership()
        if member is None:
            raise InvalidInput("This home is not logged in.", hint="`tacit login URL` connects it.")
        return member

    def _keep(self, member: HomeLogin) -> None:
        replica = self._opened()
        with replica.writing():
            replica.put_fact(_ACCOUNT, msgspec.json.encode(member))
            replica.put_fact(_JOINING, None)

    def _renewed(self, member: HomeLogin, key: DeviceKey, logged_in: LoggedIn) -> None:
        _LOG.warning("This home was copied or set back: it goes on as a device of its own.")
        self._keep(replace(member, account=logged_in.account, token=logged_in.token, device=key.private))


def _called(name: str) -> str:
    """Return the name of this device: `name`, or else the name of the machine."""
    return (name.strip() or socket.gethostname() or "device")[:MAX_NAME]


def _pause_after(failures: int) -> float:
    """Return the seconds to wait after so many failures in a row: twice as long each time, with a random part, so that devices do not come back at once."""
    return min(MOST_PAUSE_S, LEAST_PAUSE_S * 2 ** min(failures - 1, 10)) * random.uniform(0.5, 1.5)
