"""The command line over real engines without a daemon process: requests go through the real API in memory."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from tacit import __version__
from tacit.api.routes import build_routes
from tacit.app.wiring import open_engine
from tacit.cli.context import CommandContext, use_context
from tacit.cli.main import run
from tacit.config.home import Home
from tacit.errors import DaemonUnavailable, error_of
from tacit.model.memory import Speaker
from tacit.providers.embedding import FakeEmbedder
from user_voice import spoken_by


class MemoryDaemon:
    """A daemon inside this process: starts when asked to, answers through the real routes."""

    speaker = Speaker.USER

    def __init__(self, home: Home) -> None:
        self.home = home
        self.engine = None
        self.starts = 0

    def ensure_running(self, timeout_s=10.0):
        if self.engine is None:
            self.engine = open_engine(self.home.root, embedder=FakeEmbedder())
            self.starts += 1

    def request(self, method, path, json_body=None, *, timeout_s=30.0):
        if self.engine is None:
            raise DaemonUnavailable("No daemon runs.", hint="Start one.")
        app = spoken_by(self.speaker, Starlette(routes=build_routes(self.engine)))
        with TestClient(app, base_url="http://tacit") as client:
            reply = client.request(method, path, json=json_body)
        value = reply.json() if reply.content else None
        if reply.status_code >= 400:
            raise error_of(value, reply.status_code)
        return reply.status_code, value

    def stop(self, timeout_s=15.0):
        if self.engine is None:
            return False
        self.engine.close()
        self.engine = None
        return True

    def status(self):
        facts = {"running": self.engine is not None, "hook_failures": {}, "spooled": 0, "http_port": 0}
        if self.engine is not None:
            facts |= {"pid": 1, "version": __version__, "uptime_s": 1.0}
        return facts


@dataclass
class CommandResult:
    """What one command left behind."""

    code: int
    out: str
    err: str

    @property
    def json(self):
        return json.loads(self.out)


@dataclass
class Shell:
    """Runs commands as a user would type them, in a home and a project of their own."""

    place: CommandContext
    project: object
    capsys: object
    daemons: dict = field(default_factory=dict)

    def __call__(self, *arguments, place=None) -> CommandResult:
        self.capsys.readouterr()
        code = run([str(each) for each in arguments], command_context=place or self.place)
        out, err = self.capsys.readouterr()
        return CommandResult(code=code, out=out, err=err)

    @property
    def daemon(self) -> MemoryDaemon:
        return self.place.connect(self.place.home)


@pytest.fixture
def tacit(tmp_path, capsys, monkeypatch):
    daemons: dict = {}

    def connect(home):
        return daemons.setdefault(str(home.root), MemoryDaemon(home))

    user = tmp_path / "user"
    project = user / "shop"
    project.mkdir(parents=True)
    monkeypatch.chdir(project)
    monkeypatch.setenv("HOME", str(user))  # past transcripts are looked for there
    place = CommandContext(
        home=Home(user / ".tacit"),
        user_home=user,
        search_path="",
        connect=connect,
        interactive=False,
        at_terminal=True,
    )
    yield Shell(place=place, project=project, capsys=capsys, daemons=daemons)
    for daemon in daemons.values():
        daemon.stop()
    use_context(None)
