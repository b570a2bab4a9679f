"""People share memories through a server: command line, hook client, daemons, the shipped model, HTTP, and a real PostgreSQL."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime

import psycopg
import pytest

from e2e.drivers.machine import Machine, wait_for
from e2e.drivers.site import Site
from postgres_server import server as postgres

pytestmark = pytest.mark.postgres
STATEMENT = "Commit messages begin with the ticket number."
PROMPT = "Write the commit for the booking page."
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
        self.phrase = machine.ask("login", site.url, "--code", code, "--first", "--yes")["phrase"]
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
        self.machine.tacit("devices", "sync")


@pytest.fixture
def people(live, site: Site) -> tuple[Person, Person]:
    """Ana, who administers the organization, and Bo, whom she added to its team `core`, which has the project."""
    organization, core = site.organization, f"{site.organization}/core"
    ana_name, bo_name = f"ana-{site.tag}", f"bo-{site.tag}"
    now_ms = int(time.time() * 1000)
    code = site.teams.members.add_organization(organization, admin=ana_name, name="Ana Ruiz", now_ms=now_ms)
    ana = Person(live(EAGER), site, ana_name, code)
    ana.machine.tacit("team", "members", core, "--create")
    ana.machine.tacit("team", "members", core, "--project", "--cwd", str(ana.machine.project))
    added = ana.machine.ask("team", "members", core, "--add", bo_name, "--name", "Bo Li", "--role", "writer")
    bo = Person(live(EAGER), site, bo_name, added["added"]["code"])
    return ana, bo


def second_device(live, site: Site, person: Person, phrase: str) -> Machine:
    """Another machine of the person, logged in, with the same repository."""
    machine = live(EAGER)
    (machine.project / ".git" / "config").write_text(REMOTE)
    (machine.root / "phrase").write_text(phrase)
    code = person.machine.ask("devices", "invite")["code"]
    machine.tacit("login", site.url, "--code", code, "--phrase-file", str(machine.root / "phrase"), "--yes")
    return machine


def share(ana: Person, bo: Person, content: str = STATEMENT) -> str:
    """Ana states `content` and asks to share it, and Bo accepts; return the id of her memory."""
    memory = ana.machine.remember(content, kind="decision", when="")["memory"]
    request = ana.machine.ask("share", memory["id"])["request"]
    bo.machine.tacit("team", "requests", "--accept", request["id"])
    return str(memory["id"])


def test_what_a_teammate_accepted_reaches_a_teammates_session_by_itself_with_name_and_date(people, site):
    ana, bo = people
    own = share(ana, bo)
    bo.sync()
    told = bo.gets()
    assert STATEMENT in told
    assert f"(teammate Ana Ruiz, {datetime.now(UTC).date()})" in told
    site.stop()
    assert STATEMENT in bo.gets(), "without the server it stays"
    site.start()
    ana.sync()
    assert ana.machine.contents().count(STATEMENT) == 1  # her own words stay hers alone
    assert "teammate" not in ana.gets()
    second = ana.machine.remember("Releases go out on Thursdays.", kind="decision", when="")["memory"]
    request = ana.machine.ask("share", second["id"])["request"]
    bo.machine.tacit("team", "requests", "--accept", request["id"])
    wait_for(lambda: bo.has("Releases go out on Thursdays."), timeout_s=30)
    ana.machine.tacit("share", "--stop", own)
    bo.sync()
    assert STATEMENT not in bo.gets()
    assert STATEMENT in ana.gets(), "her own words stay hers"


def test_nothing_is_shared_that_nobody_chose_and_secrets_never_are(people, site):
    ana, bo = people
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


def test_the_authors_sessions_get_the_wording_that_was_accepted_and_not_both(people):
    ana, bo = people
    memory = ana.machine.remember(STATEMENT, kind="decision", when="")["memory"]
    request = ana.machine.ask("share", memory["id"])["request"]
    better = "Commit messages begin with the ticket number, as in SHOP-12."
    bo.machine.tacit("team", "requests", "--accept", request["id"], "--content", better)
    wait_for(lambda: ana.has(better), timeout_s=30)
    told = ana.gets("I am about to save my work on the booking page; which text goes with it?")
    assert better in told
    assert told.count("Commit messages begin") == 1
    shared = next(each["id"] for each in ana.machine.ask("list")["memories"] if each["content"] == better)
    wait_for(lambda: bo.has(better), timeout_s=30)
    assert better in bo.machine.tacit("show", shared).stdout, "one id for both"
    ana.machine.tacit("share", memory["id"], "--stop")
    wait_for(lambda: ana.machine.contents() == [STATEMENT], timeout_s=30)


def test_author_and_teammate_can_talk_about_a_memory_by_its_id(people):
    ana, bo = people
    own = share(ana, bo)
    wait_for(lambda: bo.has(STATEMENT), timeout_s=30)
    theirs = next(each["id"] for each in bo.machine.ask("list")["memories"] if each["content"] == STATEMENT)
    ana.sync()
    shown = ana.machine.ask("show", theirs)
    assert (shown["memory"]["id"], list(shown["shared_as"].values())) == (own, [theirs])


def test_every_device_of_the_author_follows_the_accepted_wording_at_its_own_sync(live, people, site):
    ana, bo = people
    memory = ana.machine.remember(STATEMENT, kind="decision", when="")["memory"]
    ana.sync()
    desktop = second_device(live, site, ana, ana.phrase)
    wait_for(lambda: desktop.contents() == [STATEMENT], timeout_s=30)
    request = ana.machine.ask("share", memory["id"])["request"]
    ana.machine.stop()  # the machine that asked is away
    better = "Commit messages begin with the ticket number, as in SHOP-12."
    bo.machine.tacit("team", "requests", "--accept", request["id"], "--content", better)
    desktop.tacit("devices", "sync")
    assert desktop.contents() == [better]
    desktop.start(session_id="s")
    told = desktop.prompt(
        "I am about to save my work on the booking page; which text goes with it?", session_id="s"
    )
    assert better in told
    assert told.count("Commit messages begin") == 1
    ana.sync()
    assert ana.machine.contents() == desktop.contents() == [better]


def forget(site: Site, shared_id: str) -> None:
    """Let the server lose a shared memory, as a restore from an older backup does."""
    values = {"name": f"team:{site.organization}/core", "id": shared_id}
    with psycopg.connect(postgres().dsn("postgres"), autocommit=True) as connection:
        for table, column in (("share_requests", "memory_id"), ("versions", "id"), ("memories", "id")):
            team = "(SELECT tenant FROM tenants WHERE name = %(name)s)"
            statement = f"DELETE FROM {table} WHERE tenant = {team} AND {column} = %(id)s"
            assert connection.execute(statement, values).rowcount


def begins(person: Person, session: str) -> str:
    """Begin a session; return everything that the host gets, also what it shows the person."""
    given = person.machine.payload("SessionStart", source="startup", session_id=session)
    return person.machine.hook(given).decode()


def test_what_a_restored_server_forgot_is_marked_and_its_author_is_asked_once_to_share_it_again(people, site):
    ana, bo = people
    own = share(ana, bo)
    for person in people:
        person.sync()
    assert "no longer on" not in bo.gets()
    begins(ana, "before")
    forget(site, bo.machine.ask("list")["memories"][0]["id"])
    for person in people:
        person.sync()
    today = datetime.now(UTC).date()
    assert f"{STATEMENT} (teammate Ana Ruiz, {today}, no longer on the team's server)" in bo.gets()
    assert f"tacit share ID shares it again ({own[-7:]})" in begins(ana, "after")
    assert "shares it again" not in begins(ana, "again")
    assert "no longer on" not in ana.gets(), "her own words need no mark"
    assert own[-7:] in ana.machine.tacit("status").stdout
    request = ana.machine.ask("share", own)["request"]
    bo.machine.tacit("team", "requests", "--accept", request["id"])
    for person in people:
        person.sync()
        assert person.machine.contents() == [STATEMENT]
    assert "no longer on" not in bo.gets()
    assert "no longer has it" not in ana.machine.tacit("status").stdout
