"""People share memories through a server: command line, hook client, daemons, the shipped model, HTTP, and a real PostgreSQL."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from e2e.drivers.machine import Machine, wait_for
from e2e.drivers.site import Site

pytestmark = pytest.mark.postgres
STATEMENT = "Commit messages begin with the ticket number."
PROMPT = "Write the commit for the booking page."
DECISION = "We decided to keep the login sessions in Postgres."
QUESTION = "Where should I save who is signed in? Write it."
"""Shares no word with the decision that it needs."""
EAGER = "recall: {level: eager, budgets: {start: 0}}"
REMOTE = '[remote "origin"]\n\turl = https://example.org/shop.git\n'


@pytest.fixture
def site() -> Iterator[Site]:
    site = Site()
    yield site
    site.close()


class Person:
    """A machine whose user is logged in."""

    def __init__(self, machine: Machine, site: Site, account: str, code: str) -> None:
        self.machine = machine
        self.account = account
        (machine.project / ".git" / "config").write_text(REMOTE)
        machine.tacit("login", site.url, "--code", code, "--first", "--yes")
        self._sessions = 0

    def gets(self, text: str = PROMPT) -> str:
        """Begin a session and send a prompt; return the text that is injected for it."""
        self._sessions += 1
        name = f"session-{self._sessions}"
        self.machine.start(session_id=name)
        return self.machine.prompt(text, session_id=name)

    def has(self, content: str) -> bool:
        return content in self.machine.contents()

    def sync(self) -> None:
        self.machine.tacit("sync")


@pytest.fixture
def people(live, site: Site) -> tuple[Person, Person]:
    """Ana, who administers the organization, and Bo, whom she added to its team `core`, which has the project."""
    organization, core = site.organization, f"{site.organization}/core"
    ana_name, bo_name = f"ana-{site.tag}", f"bo-{site.tag}"
    now_ms = int(time.time() * 1000)
    code = site.teams.members.add_organization(organization, admin=ana_name, name="Ana Ruiz", now_ms=now_ms)
    ana = Person(live(EAGER), site, ana_name, code)
    ana.machine.tacit("team", "create", core)
    ana.machine.tacit("team", "project", core, "--cwd", str(ana.machine.project))
    added = ana.machine.ask("team", "add", core, bo_name, "--name", "Bo Li", "--role", "reviewer")
    bo = Person(live(EAGER), site, bo_name, added["added"]["code"])
    return ana, bo


def share(ana: Person, bo: Person, content: str = STATEMENT) -> str:
    """Ana states `content` and asks to share it, and Bo accepts; return the id of her memory."""
    memory = ana.machine.remember(content, kind="decision", when="")["memory"]
    request = ana.machine.ask("share", memory["id"])["request"]
    bo.machine.tacit("team", "accept", request["id"])
    return str(memory["id"])


def test_what_a_reviewer_accepted_reaches_a_teammates_session_by_itself_with_name_and_date(people, site):
    ana, bo = people
    share(ana, bo)
    bo.sync()
    assert bo.gets() == ""  # Bo has not agreed to take it
    bo.machine.tacit("team", "join", site.organization)
    told = bo.gets()
    assert STATEMENT in told
    assert f"(teammate Ana Ruiz, {datetime.now(UTC).date()})" in told
    ana.machine.tacit("team", "join", site.organization)
    assert ana.machine.contents().count(STATEMENT) == 1  # her own words stay hers alone
    assert "teammate" not in ana.gets()
    second = ana.machine.remember("Releases go out on Thursdays.", kind="decision", when="")["memory"]
    request = ana.machine.ask("share", second["id"])["request"]
    bo.machine.tacit("team", "accept", request["id"])
    wait_for(lambda: bo.has("Releases go out on Thursdays."), timeout_s=30)


def day_without_server(person: Person, days: int) -> str:
    """Move the time of the last contact with the server back by `days`; return its date."""
    at_ms = int(time.time() * 1000) - days * 86_400_000
    with sqlite3.connect(person.machine.home.database) as store:
        store.execute("UPDATE named_values SET value = ? WHERE name = 'teams-heard'", (str(at_ms),))
    return str(datetime.fromtimestamp(at_ms / 1000, tz=UTC).date())


def test_a_prompt_in_other_words_gets_it_after_joining_and_says_when_it_was_last_synced(people, site):
    ana, bo = people
    bo.machine.tacit("config", "set", "recall.thresholds.prompt", "0.04")
    share(ana, bo, DECISION)
    bo.sync()
    assert bo.gets(QUESTION) == ""
    bo.machine.tacit("team", "join", site.organization)
    assert DECISION in bo.gets(QUESTION)
    site.stop()
    told = bo.gets(QUESTION)
    assert DECISION in told
    assert "last synced" not in told
    day = day_without_server(bo, days=3)
    assert f"(teammate Ana Ruiz, {datetime.now(UTC).date()}, last synced {day})" in bo.gets(QUESTION)


def test_what_is_unshared_is_gone_at_the_next_sync_and_offline_it_stays(people, site):
    ana, bo = people
    bo.machine.tacit("team", "join", site.organization)
    ana.machine.tacit("team", "join", site.organization)
    memory_id = share(ana, bo)
    ana.sync()
    bo.sync()
    assert STATEMENT in bo.gets()
    site.stop()
    told = bo.gets()
    assert STATEMENT in told
    assert "last synced" not in told
    day = day_without_server(bo, days=3)
    assert f"(teammate Ana Ruiz, {datetime.now(UTC).date()}, last synced {day})" in bo.gets()
    assert "cannot be reached" in bo.machine.said("sync", code=11)
    site.start()
    ana.machine.tacit("unshare", memory_id)
    assert ana.has(STATEMENT)
    bo.sync()
    assert not bo.has(STATEMENT)
    assert bo.gets() == ""


def test_a_reviewer_changes_the_words_or_refuses_and_the_author_sees_why(people, site):
    ana, bo = people
    for person in people:
        person.machine.tacit("team", "join", site.organization)
    memory = ana.machine.remember(STATEMENT, kind="decision", when="")["memory"]
    request = ana.machine.ask("share", memory["id"])["request"]
    bo.machine.tacit("team", "refuse", request["id"], "--comment", "Say where it stands.")
    decided = ana.machine.ask("team", "requests", "--all")["requests"]
    assert [(each["state"], each["comment"]) for each in decided] == [("refused", "Say where it stands.")]
    request = ana.machine.ask("share", memory["id"])["request"]
    better = "Commit messages begin with the ticket number in brackets."
    bo.machine.tacit("team", "accept", request["id"], "--content", better)
    bo.sync()
    assert better in bo.gets()


def test_nothing_is_shared_that_nobody_chose_and_secrets_never_are(people, site):
    ana, bo = people
    bo.machine.tacit("team", "join", site.organization)
    ana.machine.remember(STATEMENT, kind="decision", when="")
    secret = ana.machine.remember(
        "The client is called Wintergreen.", kind="fact", when="", sensitivity="restricted"
    )
    ana.sync()
    bo.sync()
    assert bo.machine.contents() == []
    said = ana.machine.said("share", secret["memory"]["id"], code=5)
    assert "never leaves this machine" in said
    assert ana.machine.ask("team", "requests")["requests"] == []


def test_who_leaves_or_is_removed_keeps_only_what_they_made_their_own(people, site):
    ana, bo = people
    bo.machine.tacit("team", "join", site.organization)
    share(ana, bo)
    share(ana, bo, "Releases go out on Thursdays.")
    bo.sync()
    stored = {each["content"]: each["id"] for each in bo.machine.request("GET", "/v1/memories")["memories"]}
    bo.machine.tacit("edit", stored[STATEMENT], "--content", "Commit messages end with the ticket number.")
    ana.machine.tacit("team", "remove", site.organization, bo.account, "--yes")
    bo.sync()
    assert bo.machine.contents() == ["Commit messages end with the ticket number."]
    assert "no team" in bo.machine.said("team", "requests", f"{site.organization}/core", code=4)


def test_leaving_says_so_and_a_service_account_is_not_asked_to_join(people, site):
    ana, bo = people
    core = f"{site.organization}/core"
    bo.machine.tacit("team", "join", site.organization)
    assert f"You left {site.organization}." in bo.machine.tacit("team", "leave", site.organization).stdout
    assert "You are in no team on the server." in bo.machine.tacit("team").stdout
    ana.machine.tacit("team", "service-account", site.organization, "ci")
    added = ana.machine.tacit("team", "add", core, f"{site.organization}/ci", "--role", "reader").stdout
    assert "tacit team join" not in added
    assert f"{site.organization}/ci is reader in {core}." in added
    members = ana.machine.tacit("team", "members", core).stdout.splitlines()
    assert ["service account" in line for line in members if f"{site.organization}/ci" in line] == [True]


def test_what_the_user_forgot_does_not_come_back_until_the_team_says_something_else(people, site):
    ana, bo = people
    bo.machine.tacit("team", "join", site.organization)
    share(ana, bo)
    bo.sync()
    bo.machine.tacit("forget", bo.machine.request("GET", "/v1/memories")["memories"][0]["id"])
    bo.sync()
    assert bo.machine.contents() == []


def test_before_anything_is_shared_the_server_is_told_nothing_of_it(live, site):
    machine = live(EAGER)
    machine.remember(STATEMENT, kind="decision", when="")
    assert site.paths == []
    code = site.logs.add_account(f"eve-{site.tag}", now_ms=int(time.time() * 1000))
    machine.tacit("login", site.url, "--code", code, "--first", code=3)  # asked, and nobody agreed
    assert site.paths == []
    machine.tacit("login", site.url, "--code", code, "--first", "--yes")
    machine.tacit("sync")
    print("requests of the server:", *site.paths, sep="\n")  # noqa: T201 - pytest -rP shows it
    assert not [path for path in site.paths if "/requests" in path or "/search" in path]
