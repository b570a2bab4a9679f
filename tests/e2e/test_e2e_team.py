"""Two Claude Code homes and one OpenCode home share a decision through one server: real clients, daemons, `tacit-server` and PostgreSQL."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime

import pytest

from e2e.drivers.claude import ClaudeCode
from e2e.drivers.clients import require_client
from e2e.drivers.opencode import OpenCode
from e2e.drivers.sandbox import Sandbox
from postgres_server import server as postgres

pytestmark = [pytest.mark.e2e, pytest.mark.postgres]

STATEMENT = "Commit messages begin with the ticket number"
PROMPT = "Write the commit for the booking page."
EAGER = "recall:\n  level: eager\n  budgets:\n    start: 0\n"
TAG = str(os.getpid())
ACME, CORE = f"acme-{TAG}", f"acme-{TAG}/core"


class TacitServer:
    """`tacit-server serve` in a process of its own, that can be stopped and started again."""

    def __init__(self) -> None:
        self._environment = {**os.environ, "TACIT_DATABASE_URL": postgres().dsn()}
        self._port = 0
        self.start()

    def run(self, *words: str) -> str:
        """Run a command of the operator's; what it prints."""
        command = [sys.executable, "-m", "tacit_server.main", *words]
        done = subprocess.run(command, env=self._environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def start(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tacit_server.main", "serve", "--port", str(self._port)],
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert self._process.stdout is not None
        self.url = self._process.stdout.readline().split()[-1]
        self._port = int(self.url.rpartition(":")[2])

    def stop(self) -> None:
        self._process.kill()
        self._process.wait(timeout=60)
        assert self._process.stdout is not None
        self._process.stdout.close()


@pytest.fixture
def server() -> Iterator[TacitServer]:
    started = TacitServer()
    yield started
    started.stop()


@pytest.fixture
def homes() -> Iterator[tuple[Sandbox, Sandbox, Sandbox]]:
    """The machines of Ana, Bo and Cy, each with a clone of one repository."""
    with ExitStack() as machines:
        made = [machines.enter_context(Sandbox()) for _ in range(3)]
        for sandbox in made:
            sandbox.configure(EAGER)
            sandbox.git("remote", "add", "origin", "https://example.org/shop.git")
        yield made[0], made[1], made[2]


def on_path(sandbox: Sandbox, name: str):
    executable = require_client(name)
    sandbox.search_path = f"{executable.parent}:{sandbox.search_path}"
    return executable


def add(admin: Sandbox, account: str, name: str, server: TacitServer, newcomer: Sandbox) -> None:
    """The administrator adds a person, who logs in with the command that was printed."""
    said = admin.tacit("team", "members", CORE, "--add", account, "--name", name, "--role", "writer").stdout
    found = re.search(rf"tacit (login {server.url} --code \S+ --first)", said)
    assert found, said
    newcomer.tacit(*found[1].split(), "--yes")


def test_a_decision_reaches_the_sessions_of_teammates_and_leaves_them_again(server, homes):
    ana, bo, cy = homes
    said = server.run("organization", ACME, "--admin", f"ana-{TAG}", "--called", "Ana Ruiz")
    ana_client = ClaudeCode(ana, on_path(ana, "claude"))
    bo_client = ClaudeCode(bo, on_path(bo, "claude"))
    cy_client = OpenCode(cy, on_path(cy, "opencode"))
    for client in (ana_client, bo_client, cy_client):
        client.install()
        client.sandbox.wake_daemon()
    ana.tacit(*re.findall(r"tacit (login .*)", said)[0].replace("URL", server.url).split(), "--yes")
    ana.tacit("team", "members", CORE, "--create")
    ana.tacit("team", "members", CORE, "--project")
    add(ana, f"bo-{TAG}", "Bo Li", server, bo)
    add(ana, f"cy-{TAG}", "Cy Oz", server, cy)

    # Ana says it to her agent, asks to share it, and Bo reviews it.
    ana_client.ask(f"Remember: {STATEMENT}.")
    ana.wait_for_memory(STATEMENT)
    (memory,) = [
        each
        for each in ana.tacit_json("list")["memories"]
        if STATEMENT in each["content"] and each["kind"] != "digest"
    ]
    request = ana.tacit_json("share", memory["id"])["request"]
    bo.tacit("team", "requests", "--accept", request["id"])

    shown = f"teammate Ana Ruiz, {datetime.now(UTC).date()}"
    bo.tacit("devices", "sync")
    bo.stub.clear()
    bo_client.ask(PROMPT)
    assert bo.stub.agent_requests[0].find(STATEMENT)
    assert bo.stub.agent_requests[0].find(shown)
    cy.tacit("devices", "sync")
    with cy_client.serve() as opencode:
        opencode.prompt(opencode.create_session(), PROMPT)
        assert cy.stub.agent_requests[-1].find(STATEMENT)
        assert cy.stub.agent_requests[-1].find(shown)

        server.stop()
        opencode.prompt(opencode.create_session(), PROMPT)
        assert cy.stub.agent_requests[-1].find(STATEMENT), "without the server it stays"
        server.start()

        ana.tacit("share", "--stop", memory["id"])
        cy.tacit("devices", "sync")
        opencode.prompt(opencode.create_session(), PROMPT)
        assert not cy.stub.agent_requests[-1].find(STATEMENT)
    bo.tacit("devices", "sync")
    bo.stub.clear()
    bo_client.ask(PROMPT)
    assert not bo.stub.agent_requests[0].find(STATEMENT)
    ana.stub.clear()
    ana_client.ask(PROMPT)
    assert ana.stub.agent_requests[0].find(STATEMENT), "her own words stay hers"
