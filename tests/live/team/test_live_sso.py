"""People log in through `tacit-server serve` and the command line. Httpx plays the browser, and the headers that oauth2-proxy adds to its requests."""

from __future__ import annotations

import itertools
import os
import re
import socket
import subprocess
import sys
import tempfile
import threading
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path

import httpx2 as httpx
import pytest

from e2e.drivers.machine import Machine, wait_for
from postgres_server import server as postgres
from tacit_server.logs import Principal
from tacit_server.postgres.connection import Connections
from tacit_server.postgres_logs import PostgresLogs
from tacit_server.teams import open_teams
from user_voice import as_user

pytestmark = [pytest.mark.postgres, pytest.mark.e2e, pytest.mark.slow]
EAGER = "recall: {level: eager, budgets: {start: 0}}"
SECRET = "s3cret+with/odd:letters"
_names = itertools.count()


class Site:
    """A provider and a server, each in a process of its own, and an organization."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.tag = f"o{os.getpid()}-{next(_names)}"
        self.acme, self.core = f"acme-{self.tag}", f"acme-{self.tag}/core"
        self.people: dict[str, dict[str, str]] = {}
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.connections = Connections(postgres().dsn(), min_size=1, max_size=2)
        self.members = open_teams(self.connections, PostgresLogs(self.connections)).members
        root = f"root-{self.tag}"
        self.root = Principal(account=root, device="d" * 64)
        self.members.add_organization(self.acme, admin=root, name="Root", now_ms=1)
        self.members.add_team(self.root, self.core, now_ms=1)
        self.server = self.start_server()

    def person(self, sub: str, *groups: str) -> None:
        self.people[sub] = {
            "Authorization": f"Basic {b64encode(f'{sub}:{SECRET}'.encode()).decode()}",
            "X-Forwarded-User": sub,
            "X-Forwarded-Preferred-Username": f"{sub}-{self.tag}",
            "X-Forwarded-Groups": ",".join(groups),
        }

    def start_server(self) -> subprocess.Popen[str]:
        options = {
            "--database": postgres().dsn(),
            "--port": str(self.port),
            "--public-url": self.url,
            "--sso-proxy": "127.0.0.1/32",
            "--sso-group": f"eng={self.core}:writer",
        }
        words = [*(word for pair in options.items() for word in pair), "--sso-group", "staff"]
        environ = {**os.environ, "TACIT_SSO_PROXY_SECRET": SECRET}
        return _started([sys.executable, "-m", "tacit_server.main", "serve", *words], "listens on", environ)

    def roles(self, sub: str) -> dict[str, str]:
        who = Principal(account=f"{sub}-{self.tag}", device="")
        return {each.team.replace(self.acme, "acme"): each.role for each in self.members.teams(who)}

    def end(self) -> None:
        _end(self.server)
        self.connections.close()


def free_port() -> int:
    """A port that was free just now: the server has to know its URL before it starts."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return listening.getsockname()[1]


def _started(command: list[str], word: str, environ: dict[str, str]) -> subprocess.Popen[str]:
    """A process that has said `word`."""
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environ
    )
    assert process.stdout is not None
    line = process.stdout.readline()
    assert word in line, (command, line)
    return process


def _end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.wait(timeout=30)
    assert process.stdout is not None
    process.stdout.close()


@pytest.fixture
def site() -> Iterator[Site]:
    with tempfile.TemporaryDirectory(prefix="tacit-sso-") as folder:
        started = Site(Path(folder))
        yield started
        started.end()


class Browser:
    """A person's browser, on any machine. The proxy adds `headers` to its requests."""

    def __init__(self, headers: dict[str, str]) -> None:
        self.http = httpx.Client(timeout=60, headers=headers)

    def log_in(self, url: str, *, code: str) -> str:
        """Compare the code and agree; the text of the last page."""
        page = self.http.get(url)
        assert code in page.text
        fields = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', page.text))
        page = self.http.post(page.url.join("confirm"), data=fields)
        self.http.close()
        return page.text


def sign_in(machine: Machine, site: Site, sub: str, *more: str, code: int = 0) -> tuple[str, str, str]:
    """`tacit login URL --sso` and the browser beside it; standard output, the rest of standard error, and the browser's last page."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tacit.cli.main", "login", site.url, "--sso", "--yes", *more],
        cwd=machine.project,
        env=as_user(machine.environ, machine.home),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    guard = threading.Timer(60, process.kill)
    guard.daemon = True
    guard.start()
    said = ""
    while not (shown := re.search(r"code ([0-9A-Z]{4}-[0-9A-Z]{4})", said)):
        line = process.stderr.readline()
        assert line, said
        said += line
    (url,) = re.findall(r"^ {4}(http\S+)$", said, re.MULTILINE)
    page = Browser(site.people[sub]).log_in(url, code=shown[1])
    out, err = process.communicate()
    guard.cancel()
    assert process.returncode == code, (out, err, page)
    return out, err, page


def phrase_in(out: str) -> str:
    (phrase,) = re.findall(r"^ {4}((?:\w{5} ){7}\w{5})$", out, re.MULTILINE)
    return phrase


def test_from_nothing_to_a_team_and_out_of_it_by_the_providers_groups(live, site):
    site.person("ana", "eng")
    laptop, desktop = live(EAGER), live(EAGER)
    out, _, page = sign_in(laptop, site, "ana", "--name", "laptop")
    assert "You can close this window" in page
    assert f"Logged in as ana-{site.tag}" in out
    assert site.roles("ana") == {"acme": "reader", "acme/core": "writer"}
    listed = laptop.tacit("team").stdout
    assert re.search(rf"{site.core}\s.*writer", listed)
    file = desktop.root / "phrase"
    file.write_text(phrase_in(out))
    assert "nobody can be asked" in sign_in(desktop, site, "ana", code=3)[1]
    sign_in(desktop, site, "ana", "--name", "desktop", "--phrase-file", str(file))
    laptop.remember("Commit messages begin with the ticket number.", kind="decision", when="")
    wait_for(lambda: len(desktop.contents()) == 1, timeout_s=30)
    laptop.tacit("devices", "sync")
    assert "sso" not in laptop.tacit("status").stdout  # a month is not soon
    site.person("ana", "staff")
    assert "renewed" in sign_in(laptop, site, "ana")[0]
    assert site.roles("ana") == {}
    noted = [each.action for each in site.members.audit(site.root, site.core, before=2**53, limit=9)]
    assert "member removed by single sign-on" in noted
    assert len(desktop.contents()) == 1  # their own memory is theirs
