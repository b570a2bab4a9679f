"""Two machines of one person share a memory: command line, daemons, the shipped model, and a server over HTTP."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest
import uvicorn

from e2e.drivers.machine import Machine, wait_for
from postgres_server import connections, new_tenant_name
from tacit_server.app import make_app
from tacit_server.postgres_logs import PostgresLogs

pytestmark = pytest.mark.postgres
STATEMENT = "Commit messages begin with the ticket number."
PROMPT = "Write the commit for the booking page."
EAGER = "recall: {level: eager, budgets: {start: 0}}"


class Site:
    """A server in this process that can be stopped and started again."""

    def __init__(self) -> None:
        self.logs, self.ana = PostgresLogs(connections()), new_tenant_name()
        self.port = 0
        self.start()

    def start(self) -> None:
        config = uvicorn.Config(
            make_app(self.logs), host="127.0.0.1", port=self.port, log_level="warning", lifespan="off"
        )
        self.server = uvicorn.Server(config)
        self.thread = threading.Thread(target=self.server.run, daemon=True)
        self.thread.start()
        wait_for(lambda: self.server.started)
        self.port = self.server.servers[0].sockets[0].getsockname()[1]

    def stop(self) -> None:
        self.server.force_exit = True
        self.server.should_exit = True
        self.thread.join(timeout=20)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def invite(self) -> str:
        return self.logs.add_account(self.ana, now_ms=int(time.time() * 1000))


@pytest.fixture
def site() -> Iterator[Site]:
    site = Site()
    yield site
    site.stop()


def log_in(machine: Machine, site: Site, code: str, phrase: str = "") -> str:
    """Log a machine in; the recovery phrase."""
    words = ["--first"] if not phrase else ["--phrase-file", str(machine.root / "phrase")]
    (machine.root / "phrase").write_text(phrase)
    done = machine.ask("login", site.url, "--code", code, "--name", machine.root.name, "--yes", *words)
    return done["phrase"] or phrase


def pair(live, site: Site) -> tuple[Machine, Machine]:
    laptop, desktop = live(EAGER), live(EAGER)
    phrase = log_in(laptop, site, site.invite())
    log_in(desktop, site, laptop.ask("devices", "invite")["code"], phrase)
    return laptop, desktop


def test_what_one_machine_learns_reaches_the_prompt_of_the_other_by_itself(live, site):
    laptop, desktop = pair(live, site)
    # The same repository, in another folder.
    for machine in (laptop, desktop):
        (machine.project / ".git" / "config").write_text(
            '[remote "origin"]\n\turl = https://example.org/shop.git\n'
        )
    laptop.remember(STATEMENT, kind="decision", when="")
    wait_for(lambda: STATEMENT in desktop.contents(), timeout_s=30)
    desktop.start(session_id="s")
    assert STATEMENT in desktop.prompt(PROMPT, session_id="s")
    forgotten = desktop.request("GET", "/v1/memories")["memories"][0]["id"]
    desktop.tacit("forget", forgotten)
    wait_for(lambda: laptop.contents() == [], timeout_s=30)


def test_a_machine_that_is_killed_anywhere_loses_and_doubles_nothing(live, site):
    laptop, desktop = pair(live, site)
    for number in range(6):
        laptop.remember(f"Statement number {number} about the shop.", kind="fact", when="")
        if number % 2:
            laptop.kill()
        else:
            desktop.wake()
            desktop.kill()
    for machine in (laptop, desktop, laptop, desktop):
        machine.wake()
        machine.tacit("devices", "sync")
    assert sorted(laptop.contents()) == sorted(desktop.contents())
    assert len(desktop.contents()) == 6


def test_a_new_phrase_keeps_the_account_and_lets_the_other_machine_in_again(live, site):
    laptop, desktop = pair(live, site)
    laptop.remember(STATEMENT, kind="decision", when="")
    wait_for(lambda: STATEMENT in desktop.contents(), timeout_s=30)
    done = laptop.ask("devices", "rotate", "--yes")["login"]
    assert "revoked" in desktop.said("devices", "sync", code=11)
    desktop.remember("Releases go out on Thursdays.", kind="decision", when="")
    desktop.tacit("logout", "--yes")
    log_in(desktop, site, laptop.ask("devices", "invite")["code"], done["phrase"])
    both = sorted((STATEMENT, "Releases go out on Thursdays."))
    wait_for(lambda: sorted(laptop.contents()) == sorted(desktop.contents()) == both, timeout_s=30)
    listed = laptop.tacit("devices").stdout
    assert f"{laptop.root.name} (this one)" in listed
    assert listed.count("revoked") == 1
