"""`POST /v1/restore`: the store of a running daemon is replaced, and the daemon goes on."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tacit.app.wiring import open_engine
from tacit.client.daemon_client import DaemonClient
from tacit.daemon.source import EngineSource
from tacit.errors import DaemonUnavailable
from tacit.ports.store import MemoryFilter
from unit.daemon.place import Place
from user_voice import user_token


class Client:
    """What a program of the user asks a daemon of its own."""

    def __init__(self, place: Place) -> None:
        self.daemon = DaemonClient(place.home, token=user_token(place.home))

    def ask(self, method: str, path: str, body: object = None) -> Any:
        return self.daemon.request(method, path, body, timeout_s=60.0, start=True)[1]

    def contents(self) -> list[str]:
        return [row["content"] for row in self.ask("GET", "/v1/memories")["memories"]]

    def remember(self, words: str) -> None:
        self.ask("POST", "/v1/memories", {"content": words})

    def restore(self, source: Path | str, **more: Any) -> dict[str, Any]:
        return self.ask("POST", "/v1/restore", {"source": str(source), **more})

    def listed_by_mcp(self) -> str:
        call = {"name": "memory_list", "arguments": {}}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
        headers = {"Accept": "application/json, text/event-stream"}
        status, body = self.daemon.send("POST", "/mcp", message, timeout_s=60.0, headers=headers)
        assert status == 200
        return body.decode()


@pytest.fixture
def place(tmp_path: Path, monkeypatch) -> Iterator[Place]:
    place = Place(tmp_path / "h")
    for name, value in place.environ.items():
        monkeypatch.setenv(name, value)
    yield place
    with contextlib.suppress(Exception):
        place.client.stop(timeout_s=30)


@pytest.mark.slow
def test_a_backup_becomes_the_store_of_a_running_daemon(place, tmp_path):
    client = Client(place)
    client.remember("Amounts are integer cents.")
    pid = place.client.status()["pid"]
    backup = tmp_path / "copy.db"
    client.ask("POST", "/v1/backups", {"target": str(backup)})
    client.remember("Deploys happen on Mondays.")
    assert "Mondays" in client.listed_by_mcp()

    looked_at = client.restore(backup, dry_run=True)
    assert looked_at == {"source": str(backup), "former": None, "recovered": None, "dry_run": True}
    assert len(client.contents()) == 2

    former = client.restore(backup)["former"]
    assert client.contents() == ["Amounts are integer cents."]
    assert "Mondays" not in client.listed_by_mcp()
    copies = client.ask("GET", "/v1/backups")["copies"]
    assert {(copy["path"], copy["origin"]) for copy in copies} == {
        (str(backup), "requested"), (former, "replaced"),
    }  # fmt: skip

    client.restore(former)
    assert len(client.contents()) == 2
    client.remember("Reviews need two people.")
    assert len(client.contents()) == 3
    assert place.client.status()["pid"] == pid


def test_the_engine_is_opened_again_where_the_work_fails(place):
    source = EngineSource(lambda: open_engine(place.home.root))
    with pytest.raises(DaemonUnavailable):
        source.reopen(lambda: None)
    first = source.begin().result()

    def fail() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        source.reopen(fail)
    second = source.ready
    assert second is not None
    assert second is not first
    assert second.list_memories(MemoryFilter()) == ()
    second.close()
