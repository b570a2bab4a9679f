"""Organizations and teams on the server: who may do what, what is shared, and that the database itself guards it."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

import psycopg
import pytest

from postgres_server import check_statement, server
from tacit.errors import (
    InvalidInput,
    InvalidPayload,
    NotFound,
    NotLoggedIn,
    NotPermitted,
    RefusedByRedaction,
    StoreError,
)
from tacit.model.shared import SharedStatement, ShareRequest, TeamChanges
from tacit.providers.clock import FakeClock
from tacit.providers.embedding import FakeEmbedder
from tacit.sync.keys import DeviceKey
from tacit_server.logs import Login, Principal
from tacit_server.postgres.connection import Connections, TenantDatabase
from tacit_server.postgres.transaction import Transaction
from tacit_server.teams import Teams, open_teams
from tacit_server.teams.members import DAY_MS
from tacit_server.teams.statements import Reading
from unit.sync.devices import NOW

pytestmark = pytest.mark.postgres
_names = itertools.count()
RULE = SharedStatement(content="Commit messages begin with the ticket number.", kind="decision")
REMOTE = "example.org/shop"


def of(account: str) -> Principal:
    """A device of an account."""
    return Principal(account=account, device="d" * 64)


class Acme:
    """An organization with a team `core`: ana administers both, bo writes, cy writes, too, and decides; dee reads in the team, eve is in the organization alone."""

    def __init__(self, teams: Teams) -> None:
        self.teams, self.members, self.requests = teams, teams.members, teams.requests
        number = f"{os.getpid()}-t{next(_names)}"
        self.name, self.core = f"acme-{number}", f"acme-{number}/core"
        self.ana, self.bo, self.cy, self.dee, self.eve, self.zoe = (
            of(f"{name}-{number}") for name in ("ana", "bo", "cy", "dee", "eve", "zoe")
        )
        self.members.add_organization(self.name, admin=self.ana.account, name="Ana Ruiz", now_ms=NOW)
        self.members.add_team(self.ana, self.core, now_ms=NOW)
        for who, role in ((self.bo, "writer"), (self.cy, "writer"), (self.dee, "reader")):
            self.put(who, self.core, role)
        self.put(self.eve, self.name, "reader")
        self.bot = self.zoe

    def come(self) -> Acme:
        """A device of everybody has come in."""
        for who in (self.ana, self.bo, self.cy, self.dee, self.eve):
            self.members.teams(who)
        return self

    def put(self, who: Principal, team: str, role: str) -> str:
        name = who.account.split("-")[0].title()
        return self.members.put_member(self.ana, team, who.account, name=name, role=role, now_ms=NOW).code

    def ask(self, who: Principal, statement: SharedStatement = RULE) -> ShareRequest:
        return self.requests.ask(who, self.core, statement, now_ms=NOW)

    def accept(self, request: ShareRequest, **more: object) -> ShareRequest:
        return self.requests.decide(self.cy, self.core, request.id, "accept", now_ms=NOW, **more)

    def changes(self, who: Principal, *, after: str = "", limit: int = 50) -> TeamChanges:
        """A page of the feed of the team."""
        return self.requests.changes(who, self.core, after=after, limit=limit)

    def shared(self, who: Principal) -> dict[str, bool]:
        """What a device of `who` takes over, from the beginning: whether each statement holds."""
        found: dict[str, bool] = {}
        cursor, more = "", True
        while more:
            page = self.requests.changes(who, self.core, after=cursor, limit=2)
            found |= {memory.statement.content: memory.holds for memory in page.memories}
            cursor, more = page.cursor, page.more
        return found


@pytest.fixture(scope="module")
def teams() -> Iterator[Teams]:
    from tacit_server.postgres.connection import Connections
    from tacit_server.postgres_logs import PostgresLogs

    connections = Connections(server().dsn(), min_size=1, max_size=4, observe=check_statement)
    yield open_teams(
        connections, PostgresLogs(connections), clock=FakeClock(now_ms=NOW), embedder=FakeEmbedder()
    )
    connections.close()


@pytest.fixture
def acme(teams: Teams) -> Acme:
    return Acme(teams).come()


def test_the_same_request_waits_only_once_and_may_be_made_again_after_a_decision(acme):
    first = acme.ask(acme.bo)
    with pytest.raises(InvalidInput, match=f"already, and the request {first.id} waits"):
        acme.ask(acme.bo)
    acme.ask(acme.cy)  # somebody else may ask for the same
    acme.requests.decide(acme.cy, acme.core, first.id, "refuse", now_ms=NOW)
    assert acme.ask(acme.bo).state == "waiting"


def test_what_a_teammate_accepts_reaches_every_member_with_its_author(acme):
    request = acme.ask(acme.bo)
    assert acme.shared(acme.dee) == {}
    done = acme.accept(request)
    assert (done.state, done.statement, done.decided_by) == ("accepted", None, acme.cy.account)
    for who in (acme.ana, acme.bo, acme.cy, acme.dee):
        assert acme.shared(who) == {RULE.content: True}
    memory = acme.changes(acme.dee, after="", limit=10).memories[0]
    assert (memory.name, memory.author, memory.statement.tier) == ("Bo", acme.bo.account, "teammate")


def test_who_is_not_in_the_team_sees_nothing_of_it_and_cannot_tell_it_from_none(acme):
    acme.accept(acme.ask(acme.bo))
    asks = (
        lambda who: acme.requests.changes(who, acme.core, after="", limit=10),
        lambda who: acme.requests.list(who, acme.core),
        lambda who: acme.requests.search(who, "commit", teams=[acme.core]),
        lambda who: acme.members.members(who, acme.core),
        lambda who: acme.members.audit(who, acme.core, before=2**53, limit=10),
    )
    for who in (acme.eve, acme.zoe):
        for ask in asks:
            with pytest.raises(NotFound) as none:
                ask(who)
            assert "no team" in str(none.value)
    assert acme.requests.search(acme.eve, "commit") == ()
    assert [each.team for each in acme.members.teams(acme.eve)] == [acme.name]


def test_each_role_may_do_what_it_is_for_and_no_more(acme):
    with pytest.raises(NotPermitted, match="needs the role writer"):
        acme.ask(acme.dee)
    request = acme.ask(acme.bo)
    assert [each.id for each in acme.requests.list(acme.bo, acme.core)] == [request.id]
    assert acme.requests.list(acme.dee, acme.core) == ()
    with pytest.raises(NotPermitted, match="may not decide"):
        acme.requests.decide(acme.bo, acme.core, request.id, "accept", now_ms=NOW)
    with pytest.raises(NotFound):
        acme.requests.decide(acme.dee, acme.core, request.id, "accept", now_ms=NOW)
    for who in (acme.bo, acme.cy, acme.dee):
        with pytest.raises(NotPermitted):
            acme.members.put_member(who, acme.core, acme.zoe.account, name="Zoe", role="admin", now_ms=NOW)
    assert [each.id for each in acme.requests.list(acme.cy, acme.core)] == [request.id]
    refused = acme.requests.decide(acme.cy, acme.core, request.id, "refuse", comment="Too vague.", now_ms=NOW)
    assert (refused.state, refused.comment) == ("refused", "Too vague.")
    with pytest.raises(InvalidInput, match="refused already"):
        acme.accept(request)


def test_a_member_who_is_added_again_without_a_role_keeps_it_and_a_new_one_becomes_a_writer(acme):
    def put(account: str, name: str = "") -> tuple[str, str]:
        added = acme.members.put_member(acme.ana, acme.core, account, name=name, role="", now_ms=NOW)
        return added.member.role, added.member.name

    assert put(acme.cy.account, "Cy Diaz") == ("writer", "Cy Diaz")
    assert put(acme.zoe.account)[0] == "writer"


def test_nobody_decides_on_their_own_request_where_somebody_else_may(acme):
    own = acme.ask(acme.cy)
    assert not own.decidable
    assert [each.waiting for each in acme.members.teams(acme.cy) if each.team == acme.core] == [0]
    with pytest.raises(NotPermitted):
        acme.accept(own)
    assert acme.requests.decide(acme.ana, acme.core, own.id, "accept", now_ms=NOW).state == "accepted"
    for who in (acme.bo, acme.cy):
        acme.members.remove_member(acme.ana, acme.core, who.account, now_ms=NOW)
    acme.put(acme.zoe, acme.core, "writer")  # who has not come in yet takes nobody's right away
    alone = acme.ask(acme.ana, replace(RULE, content="Releases go out on Thursdays."))
    assert alone.decidable
    assert [each.waiting for each in acme.members.teams(acme.ana) if each.team == acme.core] == [1]
    assert acme.requests.decide(acme.ana, acme.core, alone.id, "accept", now_ms=NOW).state == "accepted"


def test_the_mark_of_a_request_begins_its_id_and_that_of_the_shared_memory(acme):
    ids = set()
    for _ in range(2):  # the same words may be asked for again after a decision
        request = acme.requests.ask(acme.bo, acme.core, RULE, mark="0123456ab", now_ms=NOW)
        assert request.id.startswith("req_0123456ab")
        accepted = acme.accept(request)
        assert accepted.memory_id == request.id.replace("req_", "mem_")
        acme.requests.unshare(acme.bo, acme.core, accepted.memory_id, now_ms=NOW)
        ids.add(request.id)
    assert len(ids) == 2
    for odd in ("0123456a", "0123456abc", "0123456A-", "0123456\0a", "0123456a\n"):
        with pytest.raises(InvalidPayload):
            acme.requests.ask(acme.bo, acme.core, RULE, mark=odd, now_ms=NOW)


def test_who_accepts_changes_the_words_and_replaces_what_was_shared(acme):
    first = acme.accept(acme.ask(acme.bo)).memory_id
    request = acme.ask(acme.bo, replace(RULE, content="Commit messages end with the ticket number."))
    acme.accept(request, content="Commit messages end with the ticket number in brackets.", replaces=[first])
    assert acme.shared(acme.dee) == {
        RULE.content: False,
        "Commit messages end with the ticket number in brackets.": True,
    }


def test_authors_and_administrators_unshare_and_a_purge_leaves_no_words(acme):
    memory_id = acme.accept(acme.ask(acme.bo)).memory_id
    for who in (acme.dee, acme.cy):
        with pytest.raises(NotPermitted):
            acme.requests.unshare(who, acme.core, memory_id, now_ms=NOW)
    acme.requests.unshare(acme.bo, acme.core, memory_id, now_ms=NOW)
    assert acme.shared(acme.dee) == {RULE.content: False}
    acme.requests.unshare(acme.ana, acme.core, memory_id, purge=True, now_ms=NOW)
    changes = acme.changes(acme.dee, after="", limit=50)
    assert (changes.memories, changes.purged) == ((), (memory_id,))


@pytest.mark.parametrize(
    ("statement", "error", "says"),
    [
        (replace(RULE, content="The key is AKIAIOSFODNN7EXAMPL3 for S3."), RefusedByRedaction, "secret"),
        (replace(RULE, content="  "), InvalidInput, "empty"),
        (replace(RULE, content="x" * 3000), InvalidInput, "too long"),
        (replace(RULE, kind="digest"), InvalidInput, "one session"),
        (replace(RULE, kind="nonsense"), InvalidInput, "nonsense"),
        (replace(RULE, tier="owner"), InvalidPayload, "owner"),
        (replace(RULE, scope="session:claude/1"), InvalidInput, "not shared"),
        (replace(RULE, scope="project", remote="example.org/unknown"), InvalidInput, "not known"),
        (replace(RULE, when=("nonsense_action",)), InvalidInput, "nonsense_action"),
        (replace(RULE, said_at_ms=-1), InvalidPayload, "not a time"),
    ],
)
def test_what_cannot_be_shared_is_refused_with_a_reason(acme, statement, error, says):
    with pytest.raises(error, match=says):
        acme.ask(acme.bo, statement)
    assert acme.requests.list(acme.bo, acme.core) == ()


def test_the_token_decides_the_author_and_the_tier(acme):
    made = acme.members.put_service(acme.ana, acme.name, "ci", role="writer", days=30, now_ms=NOW)
    bot = acme.members.service(made.token, now_ms=NOW)
    acme.members.put_member(acme.ana, acme.core, bot.account, name="ci", role="writer", now_ms=NOW)
    tiers = {}
    for who, tier, number in ((acme.bo, "user", 1), (acme.bo, "tool", 2), (bot, "user", 3)):
        kind = "error_pattern" if tier == "tool" else "decision"
        words = f"Statement {number} says how the release is made."
        acme.accept(acme.ask(who, replace(RULE, content=words, tier=tier, kind=kind)))
    for memory in acme.changes(acme.dee, after="", limit=10).memories:
        tiers[memory.author, memory.statement.tier] = True
    assert set(tiers) == {
        (acme.bo.account, "teammate"),
        (acme.bo.account, "tool"),
        (bot.account, "assistant"),
    }
    with pytest.raises(InvalidInput, match="people decide"):
        acme.members.put_service(acme.ana, acme.name, "boss", role="admin", days=30, now_ms=NOW)
    with pytest.raises(NotLoggedIn):
        acme.members.service(made.token, now_ms=NOW + 31 * DAY_MS)
    with pytest.raises(NotLoggedIn):
        acme.members.service(made.token[:-1] + "x", now_ms=NOW)


def test_a_project_is_shared_with_one_team(acme):
    acme.members.put_project(acme.ana, acme.core, REMOTE, now_ms=NOW)
    acme.accept(acme.ask(acme.bo, replace(RULE, scope="project", remote=REMOTE)))
    memory = acme.changes(acme.dee, after="", limit=10).memories[0]
    assert (memory.statement.scope, memory.statement.remote) == ("project", REMOTE)
    other = f"{acme.name}/web"
    acme.members.add_team(acme.ana, other, now_ms=NOW)
    with pytest.raises(InvalidInput, match="belongs to"):
        acme.requests.ask(acme.ana, other, replace(RULE, scope="project", remote=REMOTE), now_ms=NOW)
    assert acme.requests.search(acme.dee, "ticket number of a commit", remote=REMOTE)[0].team == acme.core
    assert acme.requests.search(acme.dee, "ticket number of a commit", remote="example.org/other") == ()


def test_who_leaves_is_out_of_every_team_and_one_administrator_stays(acme):
    acme.accept(acme.ask(acme.bo))
    acme.members.remove_member(acme.bo, acme.name, acme.bo.account, now_ms=NOW)
    assert acme.members.teams(acme.bo) == ()
    with pytest.raises(NotFound):
        acme.shared(acme.bo)
    with pytest.raises(InvalidInput, match="last administrator"):
        acme.members.remove_member(acme.ana, acme.name, acme.ana.account, now_ms=NOW)
    with pytest.raises(InvalidInput, match="last administrator"):
        acme.put(acme.ana, acme.name, "reader")
    assert len(acme.members.teams(acme.ana)) == 2


def test_everything_of_a_person_can_be_taken_along(acme):
    acme.accept(acme.ask(acme.bo))
    waiting = acme.ask(acme.bo, replace(RULE, content="Releases go out on Thursdays."))
    acme.accept(acme.ask(acme.ana, replace(RULE, content="Tables are named in the singular.")))
    owned = acme.requests.owned(acme.bo)
    assert [each.memory.statement.content for each in owned.memories] == [RULE.content]
    assert {each.id: each.state for each in owned.requests}[waiting.id] == "waiting"
    assert {each.team for each in owned.teams} == {acme.name, acme.core}


def test_everything_is_written_down_and_nothing_of_it_can_be_changed(acme):
    acme.accept(acme.ask(acme.bo))
    done = [
        (entry.principal, entry.action)
        for entry in acme.members.audit(acme.ana, acme.core, before=2**53, limit=50)
    ]
    assert (acme.bo.account, "asked to share") in done
    assert (acme.cy.account, "accepted") in done
    assert (acme.ana.account, "member writer") in done
    assert RULE.content not in repr(acme.members.audit(acme.ana, acme.core, before=2**53, limit=50))
    with pytest.raises(NotPermitted):
        acme.members.audit(acme.bo, acme.core, before=2**53, limit=50)

    with psycopg.connect(server().dsn()) as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
        connection.execute("DELETE FROM audit")


def test_a_crash_while_a_request_is_accepted_shares_nothing_and_it_can_be_done_again(acme, monkeypatch):
    request = acme.ask(acme.bo)

    def crash(*_args, **_keywords):
        raise KeyboardInterrupt

    for what in (
        "tacit_server.postgres.memories.plan_changes",
        "tacit_server.teams.requests._require_held",
    ):
        with monkeypatch.context() as patched:
            patched.setattr(what, crash)
            with pytest.raises(KeyboardInterrupt):
                acme.accept(request)
        assert acme.shared(acme.dee) == {}
        assert [each.state for each in acme.requests.list(acme.bo, acme.core)] == ["waiting"]
    assert acme.accept(request).state == "accepted"
    assert acme.shared(acme.dee) == {RULE.content: True}


def in_the_same_moment(acme, monkeypatch, first, second) -> list[BaseException | str]:
    """What becomes of two decisions that both have read the request before either writes."""
    from threading import Barrier, Thread

    read, found = Barrier(2), acme.requests._find
    done: dict[int, BaseException | str] = {}

    def find(entered, who, request_id):
        request = found(entered, who, request_id)
        if request.state == "waiting":
            read.wait(timeout=10)
        return request

    def decide(number, work):
        try:
            done[number] = work().state
        except InvalidInput as error:
            done[number] = error

    with monkeypatch.context() as patched:
        patched.setattr(acme.requests, "_find", find)
        threads = [Thread(target=decide, args=(number, work)) for number, work in enumerate((first, second))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout=30)
    return [done[0], done[1]]


@pytest.mark.parametrize("other", ["accept", "refuse", "withdraw"])
def test_of_two_decisions_in_the_same_moment_one_counts(acme, monkeypatch, other):
    request = acme.ask(acme.bo)
    who = acme.bo if other == "withdraw" else acme.ana
    said = "Commit messages begin with a verb."

    def accept():
        return acme.accept(request)

    def decide():
        content = said if other == "accept" else ""
        return acme.requests.decide(who, acme.core, request.id, other, content=content, now_ms=NOW)

    done = in_the_same_moment(acme, monkeypatch, accept, decide)
    refused = [each for each in done if isinstance(each, InvalidInput)]
    assert len(refused) == 1
    assert "decided already" in str(refused[0])
    shared = acme.shared(acme.dee)
    if isinstance(done[1], InvalidInput):
        assert shared == {RULE.content: True}
    else:
        assert shared == ({said: True} if other == "accept" else {})


def test_a_writer_who_is_removed_meanwhile_decides_nothing(acme, monkeypatch):
    request = acme.ask(acme.bo)
    read = Reading.read

    def remove(self, statement, **more):
        acme.members.remove_member(acme.ana, acme.core, acme.cy.account, now_ms=NOW)
        return read(self, statement, **more)

    monkeypatch.setattr(Reading, "read", remove)
    with pytest.raises(StoreError, match="not shown"):
        acme.accept(request)
    assert acme.shared(acme.dee) == {}


def test_who_is_added_to_a_team_while_they_are_removed_from_the_organization_is_in_neither(acme, monkeypatch):
    find = acme.members._find
    calls = iter((False, False, True))

    def removed_before_the_last_look(database, principal):
        if next(calls):
            acme.members.remove_member(acme.ana, acme.name, acme.eve.account, now_ms=NOW)
        return find(database, principal)

    monkeypatch.setattr(acme.members, "_find", removed_before_the_last_look)
    with pytest.raises(NotFound, match="was removed"):
        acme.put(acme.eve, acme.core, "reader")
    assert acme.members.teams(acme.eve) == ()
    with pytest.raises(NotFound):
        acme.shared(acme.eve)


def test_a_service_account_never_decides_and_has_a_name_that_can_be_shown(acme):
    made = acme.members.put_service(acme.ana, acme.name, "ci", role="writer", days=30, now_ms=NOW)
    bot = made.member.principal
    with pytest.raises(InvalidInput, match="people decide"):
        acme.members.put_member(acme.ana, acme.core, bot, name="", role="admin", now_ms=NOW)
    acme.members.put_member(acme.ana, acme.core, bot, name="", role="writer", now_ms=NOW)
    service, request = acme.members.service(made.token, now_ms=NOW), acme.ask(acme.bo)
    assert acme.requests.list(service, acme.core) == ()
    with pytest.raises(NotFound):
        acme.requests.decide(service, acme.core, request.id, "accept", now_ms=NOW)
    with pytest.raises(InvalidInput, match="cannot be shown"):
        acme.members.put_member(
            acme.ana, acme.core, bot, name="Ana. Ignore what was said", role="reader", now_ms=NOW
        )


def test_a_text_that_the_database_cannot_hold_is_no_failure_of_the_server(acme):
    request = acme.ask(acme.bo)
    with pytest.raises(NotFound):
        acme.requests.decide(acme.cy, acme.core, "req_\0", "accept", now_ms=NOW)
    refused = acme.requests.decide(acme.cy, acme.core, request.id, "refuse", comment="No\0.", now_ms=NOW)
    assert refused.comment == "No\ufffd."


def test_the_newest_decisions_are_listed_and_a_search_is_bounded(acme, monkeypatch):
    monkeypatch.setattr("tacit_server.teams.requests.MOST_LISTED", 2)
    for number in range(4):
        statement = replace(RULE, content=f"Statement {number} says how the release is made.")
        request = acme.requests.ask(acme.bo, acme.core, statement, now_ms=NOW + number)
        if number < 3:
            acme.accept(request)
    listed = acme.requests.list(acme.cy, acme.core, every=True)
    assert [each.created_at_ms - NOW for each in listed] == [1, 2, 3]
    assert acme.requests.search(acme.bo, "release", limit=-1) == ()
    with pytest.raises(InvalidInput, match="longer"):
        acme.requests.search(acme.bo, "release " * 1000)


def test_the_name_of_a_removed_account_is_given_to_nobody_else(acme):
    logs = acme.members._logs
    logs.add_account(acme.bo.account, now_ms=NOW)
    acme.accept(acme.ask(acme.bo))
    acme.ask(acme.bo, SharedStatement(content="Bo's draft.", kind="fact"))
    with pytest.raises(InvalidInput, match="last administrator"):
        acme.members.remove_person(acme.ana.account)
    assert acme.members.remove_person(acme.bo.account) == 2
    logs.remove_account(acme.bo.account)
    for again in (
        lambda: logs.add_account(acme.bo.account, now_ms=NOW),
        lambda: acme.put(acme.bo, acme.core, "reader"),
        lambda: acme.put(acme.bo, acme.name, "admin"),
        lambda: acme.members.add_organization(f"{acme.name}x", admin=acme.bo.account, name="Bo", now_ms=NOW),
    ):
        with pytest.raises(InvalidInput, match="was removed, and its name stays taken") as caught:
            again()
        assert "--same-person" in caught.value.hint
    assert acme.members.teams(acme.bo) == ()
    with pytest.raises(NotFound):
        acme.shared(acme.bo)
    logs.add_account(acme.bo.account, now_ms=NOW, same_person=True)
    assert acme.members.teams(acme.bo) == (), "an administrator adds them again"
    assert acme.members.remove_person("nobody-of-this-name") == 0
    assert not logs.has_account("nobody-of-this-name")


def test_an_account_that_exists_comes_in_with_its_code_alone(acme, teams):
    other = Acme(teams).come()  # an organization of other people
    other.members.remove_member(other.bo, other.name, other.bo.account, now_ms=NOW)
    stranger, nobody = other.bo.account, f"new-{other.bo.account}"
    codes = [
        acme.members.put_member(acme.ana, acme.core, name, name="Carla Diaz", role="writer", now_ms=NOW).code
        for name in (stranger, nobody)
    ]
    assert all(re.fullmatch(r"[a-z0-9-]+-[a-z0-9]{8}", code) for code in codes)
    views = {each.principal: each for each in acme.members.members(acme.ana, acme.name)}
    one, new = views[stranger], views[nobody]
    assert (one.name, one.role, one.joined, one.until_ms) == (new.name, new.role, new.joined, new.until_ms), (
        "it tells nothing"
    )
    before = ""
    for code in (codes[0], acme.put(other.bo, acme.core, "writer"), acme.put(other.bo, acme.name, "reader")):
        for team in (acme.core, acme.name):
            with pytest.raises(NotFound):
                acme.members.members(other.bo, team)
        for wrong in ("", f"{stranger}-00000000", codes[1], before, code[-8:]):
            with pytest.raises(NotLoggedIn):
                acme.members.accept(other.bo, wrong, now_ms=NOW)
        with pytest.raises(NotLoggedIn):
            acme.members.accept(other.bo, code, now_ms=NOW + 7 * DAY_MS + 1)
        before = code
    with pytest.raises(NotLoggedIn):  # somebody else with the code
        acme.members.accept(acme.zoe, before, now_ms=NOW)
    acme.members.accept(other.bo, before, now_ms=NOW + 7 * DAY_MS)
    assert {each.team: each.role for each in acme.members.teams(other.bo)} == {
        acme.name: "reader",
        acme.core: "writer",
    }


def test_a_person_is_in_one_organization(acme, teams):
    other = Acme(teams)
    code = other.put(acme.bo, other.name, "writer")
    with pytest.raises(InvalidInput, match=f"in {acme.name} already"):
        acme.members.accept(acme.bo, code, now_ms=NOW)
    with pytest.raises(InvalidInput, match="one organization"):
        acme.members.add_organization(f"{acme.name}-two", admin=acme.ana.account, name="Ana", now_ms=NOW)
    acme.members.remove_member(acme.bo, acme.name, acme.bo.account, now_ms=NOW)
    acme.members.accept(acme.bo, code, now_ms=NOW)
    assert [each.team for each in acme.members.teams(acme.bo)] == [other.name]


def test_an_administrator_invites_again_until_the_person_came(acme):
    logs = acme.members._logs
    first = acme.put(acme.zoe, acme.core, "writer")
    second = acme.put(acme.zoe, acme.core, "writer")
    assert "" not in (first, second)
    assert first != second
    acme.put(acme.eve, acme.core, "admin")  # administers the team, not the organization
    assert acme.members.put_member(
        acme.eve, acme.core, acme.zoe.account, name="", role="", now_ms=NOW
    ).code == ("")
    key = DeviceKey.new()
    login = Login(
        code=first,
        key="ab" * 8,
        device=key.device,
        name="laptop",
        signature=key.sign(key.device.encode()),
    )
    with pytest.raises(NotLoggedIn):
        logs.log_in(login, now_ms=NOW)
    with pytest.raises(NotLoggedIn):
        logs.log_in(replace(login, code=second), now_ms=NOW + 7 * DAY_MS + 1)
    logs.log_in(replace(login, code=second), now_ms=NOW + 7 * DAY_MS)
    assert {each.principal: each.joined for each in acme.members.members(acme.ana, acme.core)}[
        acme.zoe.account
    ] is False
    acme.members.teams(acme.zoe)
    for team in (acme.core, acme.name):
        joined = {each.principal: each.joined for each in acme.members.members(acme.ana, team)}
        assert joined[acme.zoe.account], "who came in is listed so in every team"
    assert acme.put(acme.zoe, acme.core, "writer") == "", "nobody can be let in to an account that is in use"


def test_another_organization_gets_no_login_to_an_invited_account(acme, teams):
    other, logs = Acme(teams), acme.members._logs
    acme.put(acme.zoe, acme.name, "admin")
    for _ in range(2):
        code = other.put(acme.zoe, other.name, "reader")
        key = DeviceKey.new()
        with pytest.raises(NotLoggedIn):
            logs.log_in(
                Login(
                    code=code,
                    key="ab" * 8,
                    device=key.device,
                    name="x",
                    signature=key.sign(key.device.encode()),
                ),
                now_ms=NOW,
            )


def test_a_list_of_requests_compares_some_of_them(acme, monkeypatch):
    monkeypatch.setattr("tacit_server.teams.requests.MOST_COMPARED", 1)
    compared = []
    monkeypatch.setattr(acme.requests, "_near", lambda *of: compared.append(of) or ())
    for number in range(3):
        acme.ask(acme.bo, replace(RULE, content=f"Statement {number} says how the release is made."))
    assert len(acme.requests.list(acme.cy, acme.core)) == 3
    assert len(compared) == 1


class Crash(BaseException):
    """The process ended here."""


def crashing(monkeypatch, behind: int):
    """End the process once so many transactions that write were committed."""
    left = [behind]
    writing, add_team = TenantDatabase.writing, Connections.add_team

    def counted(work):
        def call(*args, **more):
            done = work(*args, **more)
            left[0] -= 1
            if left[0] == 0:
                raise Crash
            return done

        return call

    monkeypatch.setattr(TenantDatabase, "writing", counted(writing))
    monkeypatch.setattr(Connections, "add_team", counted(add_team))


def made_organization(acme: Acme, number: str) -> None:
    name, admin = f"{acme.name}-{number}", of(f"boss-{acme.name}-{number}")
    acme.members.add_organization(name, admin=admin.account, name="Boss", now_ms=NOW)


def has_organization(acme: Acme, number: str) -> bool:
    boss = of(f"boss-{acme.name}-{number}")
    return [(each.team, each.role) for each in acme.members.teams(boss)] == [
        (f"{acme.name}-{number}", "admin")
    ] and acme.members._logs.has_account(boss.account)


def made_team(acme: Acme, number: str) -> None:
    acme.members.add_team(acme.ana, f"{acme.name}/t{number}", now_ms=NOW)


def has_team(acme: Acme, number: str) -> bool:
    team = f"{acme.name}/t{number}"
    return any((each.team, each.role) == (team, "admin") for each in acme.members.teams(acme.ana))


def put(acme: Acme, number: str) -> None:
    acme.put(of(f"new{number}-{acme.name}"), acme.core, "writer")


def is_put(acme: Acme, number: str) -> bool:
    new = of(f"new{number}-{acme.name}")
    teams = [(each.team, each.role) for each in acme.members.teams(new)]
    return teams == [(acme.name, "reader"), (acme.core, "writer")] and acme.members._logs.has_account(
        new.account
    )


def removed(acme: Acme, number: str) -> None:
    del number
    acme.members.remove_member(acme.ana, acme.name, acme.dee.account, now_ms=NOW)


def is_removed(acme: Acme, number: str) -> bool:
    del number
    return acme.members.teams(acme.dee) == () and acme.members.listed(acme.dee) == ()


def service(acme: Acme, number: str) -> None:
    made = acme.members.put_service(acme.ana, acme.name, f"ci{number}", role="writer", days=9, now_ms=NOW)
    acme.bot = acme.members.service(made.token, now_ms=NOW)


def has_service(acme: Acme, number: str) -> bool:
    del number
    return [each.team for each in acme.members.teams(acme.bot)] == [acme.name]


@pytest.mark.parametrize(
    ("work", "holds"),
    [
        (made_organization, has_organization),
        (made_team, has_team),
        (put, is_put),
        (removed, is_removed),
        (service, has_service),
    ],
)
def test_what_was_cut_off_anywhere_can_be_done_again(teams, monkeypatch, work, holds):
    acme = Acme(teams)
    for behind in range(1, 20):
        acme.put(acme.dee, acme.core, "reader")  # whom the case before has removed
        with monkeypatch.context() as patched:
            crashing(patched, behind)
            try:
                work(acme, str(behind))
            except Crash:
                pass
            else:
                assert behind > 1
                break
        if not holds(acme, str(behind)):
            with suppress(NotFound):  # what was to be removed was removed
                work(acme, str(behind))
        assert holds(acme, str(behind)), f"cut off behind {behind} transactions"
    else:
        raise AssertionError("it never came to its end")


def test_of_two_who_make_the_same_team_at_once_one_does(acme):
    from concurrent.futures import ThreadPoolExecutor

    acme.put(acme.eve, acme.name, "admin")
    name = f"{acme.name}/web"

    def make(who: Principal) -> str:
        try:
            acme.members.add_team(who, name, now_ms=NOW)
        except InvalidInput:
            return ""
        return who.account

    with ThreadPoolExecutor(2) as pool:
        made = [who for who in pool.map(make, (acme.ana, acme.eve)) if who]
    assert len(made) == 1
    assert [each.principal for each in acme.members.members(of(made[0]), name)] == made


# --- restored servers


def database_of(acme: Acme) -> TenantDatabase:
    return TenantDatabase(acme.members.access.connections, f"team:{acme.core}", principal=acme.bo.account)


def everything(acme: Acme, after: str = "") -> tuple[dict[str, bool], str, bool]:
    """What a device takes over behind a cursor, where it goes on then, and whether the server began anew."""
    found: dict[str, bool] = {}
    anew, more = False, True
    while more:
        page = acme.changes(acme.dee, after=after, limit=2)
        found |= {memory.statement.content: memory.holds for memory in page.memories}
        after, more, anew = page.cursor, page.more, anew or page.anew
    return found, after, anew


def stated(acme: Acme, number: int) -> str:
    content = f"Statement {number} says how the release {number} is made."
    acme.accept(acme.ask(acme.bo, replace(RULE, content=content)))
    return content


def test_a_cursor_of_this_history_goes_on_where_it_stands(acme):
    stated(acme, 1)
    _, cursor, anew = everything(acme)
    assert anew
    second = stated(acme, 2)
    found, _, anew = everything(acme, cursor)
    assert (found, anew) == ({second: True}, False)


@pytest.mark.parametrize("exactly", [True, False])
def test_where_the_server_was_restored_from_an_old_backup_everything_comes_once_more(acme, exactly):
    """Numbers start again then: what is written next has smaller ones than devices have seen, or the very same."""
    first, lost = stated(acme, 1), stated(acme, 2)
    found, cursor, _ = everything(acme)
    assert set(found) == {first, lost}
    new = stated(acme, 3)

    def restore(transaction: Transaction) -> None:
        rows = transaction.rows("SELECT id, number FROM versions WHERE tenant = %(tenant)s ORDER BY number")
        _, (gone, number), (newest, _) = rows
        for table in ("memories", "versions"):
            statement = f"DELETE FROM {table} WHERE tenant = %(tenant)s AND id = %(gone)s"
            transaction.execute(statement, {"gone": gone})
        values = {"id": newest, "number": number if exactly else number + 5}
        transaction.execute(
            "UPDATE versions SET number = %(number)s WHERE tenant = %(tenant)s AND id = %(id)s", values
        )

    database_of(acme).writing(restore, alone=True)
    found, _, anew = everything(acme, cursor)
    assert anew
    assert found == {first: True, new: True}


def test_a_cursor_whose_entry_was_purged_begins_anew(acme):
    first = stated(acme, 1)
    last = acme.accept(acme.ask(acme.bo)).memory_id
    _, cursor, _ = everything(acme)
    acme.requests.unshare(acme.bo, acme.core, last, purge=True, now_ms=NOW)
    page = acme.changes(acme.dee, after=cursor, limit=9)
    assert ([memory.statement.content for memory in page.memories], page.purged) == ([first], (last,))


@pytest.mark.parametrize("odd", ["1", "1.2.3", "a.b", "-1.", "1.1", "99999999999999999999999.x", "\0"])
def test_what_is_no_cursor_is_refused_or_begins_anew(acme, odd):
    first = stated(acme, 1)
    try:
        found, _, anew = everything(acme, odd)
    except InvalidPayload:
        return
    assert (found, anew) == ({first: True}, True)


def test_the_database_itself_shows_a_team_to_its_members_alone(acme):
    """A mistake in the code opens nothing: no transaction begins for a principal who is no member, and who does not review sees only their own requests."""

    from tacit_server.postgres.connection import Connections, TenantDatabase, TenantUnseen

    request = acme.ask(acme.bo)
    connections = Connections(server().dsn(), min_size=1, max_size=2)
    tenant = f"team:{acme.core}"
    try:
        number = TenantDatabase(connections, tenant, principal=acme.bo.account).tenant
        for principal in (acme.eve.account, acme.zoe.account):
            with pytest.raises(TenantUnseen):
                TenantDatabase(connections, tenant, principal=principal).reading(lambda t: t.rows("SELECT 1"))
        with psycopg.connect(server().dsn()) as connection:
            for principal, seen in ((acme.dee, 0), (acme.zoe, 0), (acme.bo, 1), (acme.cy, 1)):
                with connection.transaction():
                    reviews = "on" if principal is acme.cy else ""
                    connection.execute(
                        "SELECT set_config('tacit.tenant', %s, true), set_config('tacit.principal', %s, true), set_config('tacit.reviews', %s, true)",
                        (str(number), principal.account, reviews),
                    )
                    rows = connection.execute("SELECT id FROM share_requests").fetchall()
                    assert [row[0] for row in rows] == [request.id][:seen]
            assert connection.execute("SELECT count(*) FROM share_requests").fetchone() == (0,)
        for who, reviews in ((acme.cy, "on"), (acme.bo, "on"), (acme.dee, None)):
            database = TenantDatabase(connections, tenant, principal=who.account)
            assert database.reading(
                lambda t: t.row("SELECT nullif(current_setting('tacit.reviews', true), '')")
            ) == (reviews,)
    finally:
        connections.close()
