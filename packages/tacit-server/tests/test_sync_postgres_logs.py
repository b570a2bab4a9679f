"""The logs of accounts: what comes in goes out again, forks and strangers are refused, and accounts are kept apart."""

from __future__ import annotations

from dataclasses import replace

import pytest

from postgres_server import connections, new_tenant_name, server
from samples import memory_named
from tacit.errors import InvalidInput, InvalidPayload, LogForked, NotFound, NotLoggedIn, SyncError
from tacit.model.scope import project_scope
from tacit.sync.entry import Entry, PurgeBody, StateBody, append_entry
from tacit.sync.keys import AccountKey, DeviceKey
from tacit_server.logs import INVITE_MS, MAX_LOGS, Login, Logs, Principal, new_code
from tacit_server.postgres.connection import Connections
from tacit_server.postgres_logs import PostgresLogs
from unit.sync.devices import NOW

pytestmark = pytest.mark.postgres
DAY_MS = 86_400_000


@pytest.fixture
def logs() -> PostgresLogs:
    return PostgresLogs(connections())


@pytest.fixture
def account() -> str:
    return new_tenant_name()


class Member:
    """A device that has logged in."""

    def __init__(self, logs: Logs, code: str, secret: AccountKey) -> None:
        self.key, self.secret = DeviceKey.new(), secret
        signature = self.key.sign(self.key.device.encode())
        login = Login(
            code=code, key=secret.account, device=self.key.device, name="laptop", signature=signature
        )
        self.token = logs.log_in(login, now_ms=NOW).token
        self.who = logs.principal(self.token, now_ms=NOW)
        self.log: list[Entry] = []

    def say(self, memory_id: str, content: str = "Tabs, not spaces.") -> Entry:
        memory = memory_named(memory_id, content, scope=project_scope("alpha"), at_ms=NOW)
        return self._append(StateBody(memory=memory))

    def purge(self, memory_id: str) -> Entry:
        return self._append(PurgeBody(memory_id=memory_id))

    def _append(self, body: StateBody | PurgeBody) -> Entry:
        previous = self.log[-1].id if self.log else ""
        entry = append_entry(
            body, number=len(self.log) + 1, previous=previous, device=self.key, account=self.secret
        )
        self.log.append(entry)
        return entry


@pytest.fixture
def member(logs: Logs, account: str) -> Member:
    return Member(logs, logs.add_account(account, now_ms=NOW), AccountKey.new())


def test_entries_come_back_as_they_went_in(logs, member):
    entries = [member.say(f"mem_{number}") for number in range(5)]
    logs.push(member.who, entries[:2], now_ms=NOW)
    logs.push(member.who, entries[1:], now_ms=NOW)
    assert logs.heads(member.who) == {member.key.device: 5}
    assert list(logs.entries(member.who, member.key.device, after=0, limit=9)) == entries
    assert list(logs.entries(member.who, member.key.device, after=3, limit=1)) == entries[3:4]
    assert list(logs.entries(member.who, "00" * 32, after=0, limit=9)) == []


def test_a_fork_is_refused_and_nothing_of_the_batch_is_kept(logs, member):
    logs.push(member.who, [member.say("mem_1")], now_ms=NOW)
    member.log.clear()
    fork = [member.say("mem_2"), member.say("mem_3")]
    with pytest.raises(LogForked):
        logs.push(member.who, fork, now_ms=NOW)
    with pytest.raises(LogForked):
        logs.push(member.who, fork[1:], now_ms=NOW)
    assert logs.heads(member.who) == {member.key.device: 1}


def first_of(secret: AccountKey) -> Entry:
    """The first entry of a device that no server lists."""
    return append_entry(
        StateBody(memory=memory_named("mem_1", "x", scope=project_scope("a"), at_ms=NOW)),
        number=1,
        previous="",
        device=DeviceKey.new(),
        account=secret,
    )


def test_gaps_and_mixed_logs_are_refused_and_logs_of_strangers_relayed(logs, member):
    first, second = member.say("mem_1"), member.say("mem_2")
    with pytest.raises(SyncError):
        logs.push(member.who, [second], now_ms=NOW)
    stranger = first_of(member.secret)
    with pytest.raises(SyncError, match="another log"):
        logs.push(member.who, [first, stranger], now_ms=NOW)
    with pytest.raises(SyncError, match="signature"):
        logs.push(member.who, [replace(stranger, device=member.key.device)], now_ms=NOW)
    assert logs.heads(member.who) == {}
    logs.push(member.who, [stranger], now_ms=NOW)
    logs.push(member.who, [first, second], now_ms=NOW)
    assert logs.heads(member.who) == {stranger.device: 1, member.key.device: 2}
    assert list(logs.entries(member.who, stranger.device, after=0, limit=9)) == [stranger]
    assert [view.device for view in logs.devices(member.who)] == [member.key.device]


def test_the_log_of_a_revoked_device_is_still_relayed(logs, account, member):
    other = Member(logs, logs.add_account(account, now_ms=NOW), member.secret)
    said = other.say("mem_1")
    logs.revoke(member.who, other.key.device, now_ms=NOW)
    logs.push(member.who, [said], now_ms=NOW)
    assert logs.heads(member.who) == {other.key.device: 1}


def test_an_account_has_so_many_logs_and_no_more(logs, member):
    strangers = [first_of(member.secret) for _ in range(MAX_LOGS)]
    for stranger in strangers:
        logs.push(member.who, [stranger], now_ms=NOW)
    with pytest.raises(SyncError, match=f"at most {MAX_LOGS} logs"):
        logs.push(member.who, [member.say("mem_1")], now_ms=NOW)
    logs.push(member.who, strangers[:1], now_ms=NOW)
    assert len(logs.heads(member.who)) == MAX_LOGS


@pytest.mark.parametrize(
    "wrong",
    [
        {"device": "\0" * 64},
        {"device": "A" * 64},
        {"number": 0},
        {"number": 2**63},
        {"previous": "\0"},
        {"subject": "\0"},
        {"digest": ""},
    ],
)
def test_what_has_not_the_form_of_an_entry_is_refused_before_it_is_looked_up(logs, member, wrong):
    with pytest.raises(InvalidPayload, match=next(iter(wrong))):
        logs.push(member.who, [replace(member.say("mem_1"), **wrong)], now_ms=NOW)


@pytest.mark.parametrize("strange", ["", "\0", "ana\0.x", "ana-\0", "\u0661-\u0661", "." * 9000, "ana.\0"])
def test_strange_codes_and_tokens_let_nobody_in(logs, member, strange):
    with pytest.raises(NotLoggedIn):
        logs.principal(strange, now_ms=NOW)
    with pytest.raises(NotLoggedIn):
        Member(logs, strange, member.secret)


def test_a_purge_removes_bodies_also_those_that_come_later(logs, member):
    state, purge = member.say("mem_1"), member.purge("mem_1")
    other, late = member.say("mem_2"), member.say("mem_1", "Once more.")
    logs.push(member.who, [state, purge], now_ms=NOW)
    logs.push(member.who, [other, late], now_ms=NOW)
    held = logs.entries(member.who, member.key.device, after=0, limit=9)
    assert [bool(entry.sealed) for entry in held] == [False, True, True, False]
    assert [entry.id for entry in held] == [entry.id for entry in member.log]


def test_devices_and_what_each_lacks(logs, account, member):
    other = Member(logs, logs.add_account(account, now_ms=NOW), member.secret)
    logs.push(member.who, [member.say("mem_1"), member.say("mem_2")], now_ms=NOW)
    logs.report(other.who, {member.key.device: 1}, now_ms=NOW + 5)
    views = {view.device: view for view in logs.devices(member.who)}
    assert (views[member.key.device].entries, views[other.key.device].behind) == (2, 1)
    assert views[other.key.device].seen_at_ms == NOW + 5
    logs.revoke(member.who, other.key.device, now_ms=NOW + 6)
    with pytest.raises(NotLoggedIn):
        logs.principal(other.token, now_ms=NOW)
    with pytest.raises(NotFound):
        logs.revoke(member.who, "00" * 32, now_ms=NOW)


def test_invitations(logs, account, member):
    code = logs.add_account(account, now_ms=NOW)
    late = DeviceKey.new()
    login = Login(
        code=code,
        key=member.secret.account,
        device=late.device,
        name="x",
        signature=late.sign(late.device.encode()),
    )
    with pytest.raises(SyncError, match="does not prove"):
        logs.log_in(replace(login, signature=b"0" * 64), now_ms=NOW)
    with pytest.raises(NotLoggedIn):
        logs.log_in(login, now_ms=NOW + INVITE_MS + 1)
    logs.log_in(login, now_ms=NOW)
    with pytest.raises(NotLoggedIn):
        logs.log_in(login, now_ms=NOW)
    again = logs.add_account(account, now_ms=NOW)
    with pytest.raises(SyncError, match="another recovery phrase"):
        Member(logs, again, AccountKey.new())
    Member(logs, again, member.secret)  # a refused login did not use it up


def test_accounts_are_kept_apart(logs, member):
    other = Member(logs, logs.add_account(new_tenant_name(), now_ms=NOW), AccountKey.new())
    logs.push(member.who, [member.say("mem_1")], now_ms=NOW)
    assert logs.heads(other.who) == {}
    assert list(logs.entries(other.who, member.key.device, after=0, limit=9)) == []
    logs.push(other.who, [other.say("mem_2")], now_ms=NOW)
    assert logs.heads(member.who) == {member.key.device: 1}
    assert list(logs.entries(member.who, other.key.device, after=0, limit=9)) == []
    logs.push(other.who, member.log, now_ms=NOW)
    logs.push(other.who, [first_of(other.secret)], now_ms=NOW)
    assert logs.heads(member.who) == {member.key.device: 1}
    with pytest.raises(NotFound):
        logs.revoke(other.who, member.key.device, now_ms=NOW)
    forged = Principal(account="nobody-here", device=member.key.device)
    with pytest.raises(NotLoggedIn):
        logs.heads(forged)
    stolen = f"{other.who.account}.{member.token.rpartition('.')[2]}"
    with pytest.raises(NotLoggedIn):
        logs.principal(stolen, now_ms=NOW)


def test_an_account_is_removed_with_all_that_its_devices_sent(logs, account, member):
    logs.push(member.who, [member.say("mem_1"), member.say("mem_2")], now_ms=NOW)
    assert logs.remove_account(account) == 2
    with pytest.raises(NotLoggedIn):
        logs.principal(member.token, now_ms=NOW)
    with pytest.raises(NotFound):
        logs.remove_account(account)
    assert (logs.has_account(account), logs.was_removed(account)) == (False, True)
    with pytest.raises(InvalidInput, match="its name stays taken"):
        logs.add_account(account, now_ms=NOW)
    again = Member(logs, logs.add_account(account, now_ms=NOW, same_person=True), AccountKey.new())
    assert logs.heads(again.who) == {}
    assert (logs.has_account(account), logs.was_removed(account)) == (True, False)


def test_an_account_that_another_process_removes_is_gone_here_too(account):
    opened = [Connections(server().dsn(), min_size=1, max_size=2) for _ in range(2)]
    here, there = map(PostgresLogs, opened)
    member = Member(here, here.add_account(account, now_ms=NOW), AccountKey.new())
    there.remove_account(account)
    for use in (
        lambda: here.principal(member.token, now_ms=NOW),
        lambda: Member(here, new_code(account), member.secret),
    ):
        with pytest.raises(NotLoggedIn):
            use()
    assert not here.has_account(account)
    there.add_account(account, now_ms=NOW, same_person=True)
    assert here.has_account(account)
    for each in opened:
        each.close()


def test_what_a_device_began_ends_when_it_is_revoked(logs, account, member):
    code = logs.add_account(account, now_ms=NOW)
    other = Member(logs, logs.add_account(account, now_ms=NOW), member.secret)
    assert logs.holds(member.who)
    logs.revoke(other.who, member.who.device, now_ms=NOW)
    assert (logs.holds(member.who), logs.holds(other.who)) == (False, True)
    with pytest.raises(NotLoggedIn):
        Member(logs, code, member.secret)
    Member(logs, logs.add_account(account, now_ms=NOW), member.secret)


def test_a_home_goes_on_as_another_device(logs, member):
    key = DeviceKey.new()
    with pytest.raises(SyncError):
        logs.renew(member.who, key.device, b"0" * 64, now_ms=NOW)
    done = logs.renew(member.who, key.device, key.sign(key.device.encode()), now_ms=NOW)
    assert logs.principal(done.token, now_ms=NOW).device == key.device
    assert logs.principal(member.token, now_ms=NOW).device == member.key.device


def test_a_new_secret_ends_the_old_one_and_keeps_the_account(logs, account, member):
    other = Member(logs, logs.add_account(account, now_ms=NOW), member.secret)
    code = logs.add_account(account, now_ms=NOW)
    logs.push(member.who, [member.say("mem_1")], now_ms=NOW)
    logs.push(other.who, [other.say("mem_2")], now_ms=NOW)
    fresh = AccountKey.new()
    for _ in range(2):  # an answer that was lost is asked for again
        logs.rotate(member.who, fresh.account, now_ms=NOW)
        assert logs.heads(member.who) == {}
    assert logs.principal(member.token, now_ms=NOW) == member.who
    with pytest.raises(NotLoggedIn):
        logs.principal(other.token, now_ms=NOW)
    with pytest.raises(NotLoggedIn):
        logs.rotate(other.who, AccountKey.new().account, now_ms=NOW)  # a revoked device takes nothing over
    with pytest.raises(NotLoggedIn):
        Member(logs, code, fresh)  # an invitation from before
    with pytest.raises(SyncError, match="another recovery phrase"):
        Member(logs, logs.add_account(account, now_ms=NOW), member.secret)
    member.secret, member.log = fresh, []
    logs.push(member.who, [member.say("mem_1")], now_ms=NOW)
    logs.rotate(member.who, fresh.account, now_ms=NOW)
    assert logs.heads(member.who) == {member.key.device: 1}  # asked once more, it deletes nothing new


def test_only_an_invitation_for_the_same_person_begins_with_a_new_secret(logs, account, member):
    logs.push(member.who, [member.say("mem_1")], now_ms=NOW)
    code = logs.add_account(account, now_ms=NOW, same_person=True)
    assert logs.principal(member.token, now_ms=NOW) == member.who  # until somebody uses it
    back = Member(logs, code, AccountKey.new())
    assert logs.heads(back.who) == {}
    with pytest.raises(NotLoggedIn):
        logs.principal(member.token, now_ms=NOW)
    with pytest.raises(NotLoggedIn):
        Member(logs, code, AccountKey.new())  # it works once


def test_a_further_invitation_of_a_new_account_ends_the_one_before(logs, account):
    first, second = (logs.add_account(account, now_ms=NOW) for _ in range(2))
    with pytest.raises(NotLoggedIn):
        Member(logs, first, AccountKey.new())
    Member(logs, second, AccountKey.new())


def test_devices_of_an_account_have_names_of_their_own(logs, account, member):
    for _ in range(2):
        Member(logs, logs.add_account(account, now_ms=NOW), member.secret)
    assert sorted(each.name for each in logs.devices(member.who)) == ["laptop", "laptop 2", "laptop 3"]


def test_a_device_that_did_not_sync_for_half_a_year_logs_in_again(logs, member):
    later = NOW + 150 * DAY_MS
    logs.report(logs.principal(member.token, now_ms=later), {}, now_ms=later)
    assert logs.principal(member.token, now_ms=NOW + 300 * DAY_MS) == member.who
    with pytest.raises(NotLoggedIn, match="half a year"):
        logs.principal(member.token, now_ms=NOW + 331 * DAY_MS)
