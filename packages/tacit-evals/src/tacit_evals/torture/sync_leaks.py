"""Random requests to the server, half of them forged: `python -m tacit_evals.torture.sync_leaks [--accounts 500] [--requests 20000]`.

Accounts with at least two devices each store entries in one PostgreSQL. Devices send requests to every endpoint, over HTTP. Forged requests have changed tokens or tokens
of other accounts, name devices of other accounts, ask for entries after any number, push entries in the name of others, and guess codes. A model says what each account
must hold.

Out: the number of answers by status, and every error: rows of another account in an answer, or an account that does not hold what the model says.
`--only-row-level-security` removes the condition on the tenant from every statement, so that only the policies of the database protect it. Exit code 1 if there is
any error.
"""

from __future__ import annotations

import argparse
import contextlib
import random
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from ipaddress import ip_network
from pathlib import Path
from typing import Any
from unittest.mock import patch

import msgspec
from httpx2 import Response
from starlette.testclient import TestClient

from tacit.sync.entry import Entry, EntryKind, digest_of
from tacit.sync.keys import AccountKey, DeviceKey
from tacit_server.app import PREFIX, make_app
from tacit_server.embedded import embedded_database
from tacit_server.logs import Logs, Principal
from tacit_server.postgres.connection import Connections
from tacit_server.postgres.transaction import Transaction
from tacit_server.postgres_logs import PostgresLogs
from tacit_server.teams import Teams

NOW = 1_770_000_000_000
_GUARDS = re.compile(r"\b(?:\w+\.)?tenant = %\(tenant\)s|\(author = %\(principal\)s OR %\(reviews\)s\)")
"""The conditions in statements that the policies of the database also check: the tenant, and who may see a share request."""


@dataclass(slots=True, kw_only=True)
class LeakDevice:
    """A device: its key, its token and its log."""

    key: DeviceKey
    token: str
    log: list[Entry] = field(default_factory=list[Entry])
    revoked: bool = False


@dataclass(slots=True, kw_only=True)
class Account:
    """An account as the model knows it: its devices, and the ids of its entries by log."""

    name: str
    secret: AccountKey
    devices: list[LeakDevice] = field(default_factory=list[LeakDevice])
    logs: dict[str, list[str]] = field(default_factory=dict[str, list[str]])

    @property
    def active(self) -> list[LeakDevice]:
        """Return the devices that are not revoked."""
        return [device for device in self.devices if not device.revoked]


@dataclass(slots=True, kw_only=True)
class LeakFindings:
    """What a run found."""

    statuses: Counter[int] = field(default_factory=Counter[int])
    forged: int = 0
    wrong: list[str] = field(default_factory=list[str])


class LeakRun:
    """Random requests to one server."""

    def __init__(
        self,
        logs: Logs,
        *,
        accounts: int,
        seed: int,
        teams: Teams | None = None,
        now_ms: Callable[[], int] = lambda: NOW,
    ) -> None:
        """Create accounts with two devices and some entries each. `teams` = the teams of the server."""
        self._logs = logs
        self._chance = random.Random(seed)
        self._client = TestClient(
            make_app(logs, teams=teams, trusted_proxies=[ip_network("127.0.0.1/32")], now_ms=now_ms),
            client=("127.0.0.1", 50_000),
            raise_server_exceptions=False,
        )
        self.found = LeakFindings()
        self.accounts = [
            Account(name=f"leak-{seed}-{number}", secret=AccountKey.new()) for number in range(accounts)
        ]
        for account in self.accounts:
            for _ in range(2):
                self._log_in(account, logs.add_account(account.name, now_ms=NOW))
                self._push(account, account.devices[-1], [self._entry(account.devices[-1]) for _ in range(3)])

    def run(self, requests: int) -> LeakFindings:
        """Send `requests` random requests, then compare what every account holds with the model."""
        for _ in range(requests):
            account = self._chance.choice(self.accounts)
            device = self._chance.choice(account.active)
            if self._chance.random() < 0.5:
                self.found.forged += 1
                self._forge(account, device)
            else:
                self._use(account, device)
        for account in self.accounts:
            self._compare(account)
        return self.found

    # --- correct requests

    def _use(self, account: Account, device: LeakDevice) -> None:
        match self._chance.randrange(8):
            case 0:
                self._ask(account, device.token, "GET", "/heads")
            case 1 | 2:
                name = self._chance.choice(account.devices).key.device
                self._read(account, device.token, name, after=self._chance.randrange(6))
            case 3 | 4:
                self._push(
                    account, device, [self._entry(device) for _ in range(self._chance.randrange(1, 4))]
                )
            case 5:
                heads = {name: len(log) for name, log in account.logs.items()}
                self._ask(account, device.token, "POST", "/report", {"heads": heads})
            case 6:
                self._ask(account, device.token, "GET", "/devices")
            case _:
                self._change_devices(account, device)

    def _change_devices(self, account: Account, device: LeakDevice) -> None:
        if len(account.devices) > 20:
            return
        if len(account.active) > 2:
            gone = self._chance.choice([other for other in account.active if other is not device])
            status, _ = self._ask(account, device.token, "POST", f"/devices/{gone.key.device}/revoke")
            gone.revoked = status == 200
            return
        status, answer = self._ask(account, device.token, "POST", "/invites")
        if status == 200:
            self._log_in(account, answer["code"])

    def _log_in(self, account: Account, code: str) -> None:
        key = DeviceKey.new()
        status, answer = self._ask(account, "", "POST", "/login", self._login(account, key, code))
        if status == 200:
            account.devices.append(LeakDevice(key=key, token=answer["token"]))
        else:
            self.found.wrong.append(f"{account.name}: a login with a valid code was refused ({status})")

    def _login(self, account: Account, key: DeviceKey, code: str) -> Mapping[str, object]:
        return login_body(account.secret, key, code)

    def _read(self, account: Account, token: str, device: str, *, after: int) -> None:
        self._ask(account, token, "GET", f"/entries?device={device}&after={after}&limit=100")

    def _push(self, account: Account, device: LeakDevice, entries: Sequence[Entry]) -> None:
        status, _ = self._ask(account, device.token, "POST", "/entries", {"entries": entries})
        if status == 200:
            account.logs.setdefault(device.key.device, []).extend(entry.id for entry in entries)
        else:
            del device.log[-len(entries) :]

    def _entry(self, device: LeakDevice, *, kind: EntryKind = "state") -> Entry:
        """Append an entry to the log of a device, and return it."""
        sealed, subject = self._chance.randbytes(40), self._chance.randbytes(16).hex()
        return append_noise(device.log, device.key, kind=kind, subject=subject, sealed=sealed)

    # --- forged requests

    def _forge(self, account: Account, device: LeakDevice) -> None:
        other = self._chance.choice([each for each in self.accounts if each is not account])
        foreign = self._chance.choice(other.devices)
        match self._chance.randrange(8):
            case 0:  # the entries of another account
                self._read(
                    account, device.token, foreign.key.device, after=self._chance.choice([0, 1, 2**53, -1])
                )
            case 1:  # a token of this account under the name of the other
                token = f"{other.name}.{device.token.rpartition('.')[2]}"
                path = self._chance.choice(["/heads", "/devices", f"/entries?device={foreign.key.device}"])
                self._refused(account, token, "GET", path)
            case 2:  # a token that was changed or cut
                token = self._chance.choice(
                    [device.token[:-1], device.token[:-1] + "~", device.token[1:], "", other.name]
                )
                self._refused(account, token, "GET", "/heads")
            case 3:  # revoke a device of another account
                self._refused(account, device.token, "POST", f"/devices/{foreign.key.device}/revoke")
            case 4:  # an entry in the name of a device of another account, signed by this one
                entry = self._entry(LeakDevice(key=device.key, token=""))
                wrong = replace(entry, device=foreign.key.device, number=len(foreign.log) + 1)
                self._refused(account, device.token, "POST", "/entries", {"entries": [wrong]})
            case 5:  # a report with devices of another account
                heads = (
                    {foreign.key.device: 1_000, "\0": 1}
                    if self._chance.random() < 0.5
                    else {foreign.key.device: 9}
                )
                self._ask(account, device.token, "POST", "/report", {"heads": heads})
            case 6:  # a guessed code for another account
                login = self._login(
                    account, DeviceKey.new(), f"{other.name}-{self._chance.choice('abcd') * 8}"
                )
                self._refused(account, "", "POST", "/login", login)
            case _:  # an entry of this log with a wrong number, or a purge of a subject of another account
                if self._chance.random() < 0.5 or not foreign.log:
                    entry = self._entry(device)
                    number = self._chance.choice([entry.number + 1, entry.number + 7, 2**53])
                    wrong = replace(entry, number=number)
                    device.log.pop()
                    self._refused(account, device.token, "POST", "/entries", {"entries": [wrong]})
                else:
                    self._purge_foreign(account, device, self._chance.choice(foreign.log).subject)

    def _purge_foreign(self, account: Account, device: LeakDevice, subject: str) -> None:
        """Push a purge that names a subject of another account. It must remove nothing there."""
        unsigned = replace(self._entry(device, kind="purge"), subject=subject, signature=b"")
        device.log[-1] = replace(unsigned, signature=device.key.sign(unsigned.id.encode()))
        self._push(account, device, device.log[-1:])

    def _refused(
        self, account: Account, token: str, method: str, path: str, body: Mapping[str, object] | None = None
    ) -> None:
        status, _ = self._ask(account, token, method, path, body)
        if status < 400:
            self.found.wrong.append(f"{account.name}: {method} {path} was answered with {status}")

    # --- answers

    def _ask(
        self, account: Account, token: str, method: str, path: str, body: Mapping[str, object] | None = None
    ) -> tuple[int, Any]:
        content = None if body is None else msgspec.json.encode(body)
        reply = self._send(account.name, token, method, f"{PREFIX}{path}", content=content)
        answer = msgspec.json.decode(reply.content) if reply.content else {}
        if reply.status_code < 400:
            self._look(account, path, answer)
        return reply.status_code, answer

    def _send(self, name: str, token: str, method: str, path: str, *, content: bytes | None) -> Response:
        """Send a request of the principal `name` and return the answer. An answer of 500 or more counts as an error."""
        headers = {
            "X-Forwarded-Proto": "https",
            "X-Forwarded-For": ".".join(str(self._chance.randrange(256)) for _ in range(4)),
        }
        if token:
            headers["Authorization"] = f"Bearer {token}".encode().decode("latin-1")
        reply = self._client.request(method, path, headers=headers, content=content)
        self.found.statuses[reply.status_code] += 1
        if reply.status_code >= 500:
            self.found.wrong.append(f"{name}: {method} {path}: {reply.text[:200]}")
        return reply

    def _look(self, account: Account, path: str, answer: dict[str, Any]) -> None:
        """Check that an answer holds nothing of another account."""
        own = {device.key.device for device in account.devices}
        named = {*answer.get("heads", {}), *(device["device"] for device in answer.get("devices", ()))}
        named |= {entry["device"] for entry in answer.get("entries", ())}
        if named - own:
            self.found.wrong.append(
                f"{account.name}: {path} named devices of others: {sorted(named - own)[:3]}"
            )

    def _compare(self, account: Account) -> None:
        """Check that an account holds what the model says, and that no purge of another account removed a body."""
        who = Principal(account=account.name, device=account.active[0].key.device)
        heads = dict(self._logs.heads(who))
        if heads != {name: len(log) for name, log in account.logs.items() if log}:
            self.found.wrong.append(f"{account.name}: the heads are {heads}")
        for device in account.devices:
            stored = self._logs.entries(who, device.key.device, after=0, limit=100_000)
            if [entry.id for entry in stored] != account.logs.get(device.key.device, []):
                self.found.wrong.append(f"{account.name}: the log of {device.key.device[:12]} differs")
            if lost := [entry.number for entry in stored if not entry.sealed]:
                self.found.wrong.append(f"{account.name}: purges of other accounts removed bodies: {lost}")


@contextlib.contextmanager
def only_row_level_security() -> Generator[None]:
    """Remove the condition on the tenant from all statements inside the block, so that only the policies of the database protect tenants."""
    meant = Transaction.execute

    def execute(self: Transaction, statement: str, values: Mapping[str, object] | None = None) -> Any:
        return meant(self, _GUARDS.sub("TRUE", statement), values)

    with patch.object(Transaction, "execute", execute):
        yield


def leak_options(program: str, description: str | None) -> argparse.ArgumentParser:
    """Return a parser with the options that every leak run has."""
    parser = argparse.ArgumentParser(prog=program, description=description)
    parser.add_argument("--requests", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only-row-level-security", action="store_true")
    return parser


def run_on_new_database(
    run: Callable[[Connections], LeakFindings], *, guard: contextlib.AbstractContextManager[None]
) -> int:
    """Start PostgreSQL in a temporary folder, call `run` inside `guard`, and print what it found. Return the exit code: 1 if anything is wrong."""
    with (
        tempfile.TemporaryDirectory(prefix="tl-", dir="/tmp") as folder,
        embedded_database(Path(folder) / "data") as dsn,
        contextlib.closing(Connections(dsn, min_size=1, max_size=4)) as connections,
        guard,
    ):
        found = run(connections)
    print(f"statuses: {dict(sorted(found.statuses.items()))}; forged: {found.forged}")
    print(f"wrong: {len(found.wrong)}")
    for line in found.wrong[:20]:
        print(f"  {line}")
    return 1 if found.wrong else 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run with the options of the command line. Return the exit code."""
    parser = leak_options("python -m tacit_evals.torture.sync_leaks", __doc__)
    parser.add_argument("--accounts", type=int, default=500)
    chosen = parser.parse_args(arguments)

    def run(connections: Connections) -> LeakFindings:
        logs = PostgresLogs(connections)
        return LeakRun(logs, accounts=chosen.accounts, seed=chosen.seed).run(chosen.requests)

    guard = only_row_level_security() if chosen.only_row_level_security else contextlib.nullcontext()
    return run_on_new_database(run, guard=guard)


def login_body(secret: AccountKey, key: DeviceKey, code: str) -> Mapping[str, object]:
    """Return the body with which the device of `key` logs in to the account of `secret` with the code of an invitation."""
    return {
        "code": code,
        "key": secret.account,
        "device": key.device,
        "name": "laptop",
        "signature": key.sign(key.device.encode()),
    }


def append_noise(log: list[Entry], key: DeviceKey, *, kind: EntryKind, subject: str, sealed: bytes) -> Entry:
    """Append an entry about `subject` with the body `sealed` to `log`, signed by `key`, and return it."""
    unsigned = Entry(
        device=key.device,
        number=len(log) + 1,
        previous=log[-1].id if log else "",
        kind=kind,
        subject=subject,
        digest=digest_of(sealed),
        sealed=sealed,
        signature=b"",
    )
    log.append(replace(unsigned, signature=key.sign(unsigned.id.encode())))
    return log[-1]


if __name__ == "__main__":
    sys.exit(main())
