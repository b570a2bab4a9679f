"""Models that name memories, end to end: real launcher and daemon, a model server on the loopback. Each fails with the feature off."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from e2e.drivers.machine import Machine, wait_for
from writer_server import Reply, WriterServer, openai_answer, writer_server

pytestmark = pytest.mark.slow

FAR = "Refunds go through the ledger service, never through the shop."
OTHER = "The warehouse closes at six."
GO = "Please add it and write a test."


def names(*pairs: tuple[int, float], wait_s: float = 0.0) -> Reply:
    """The model's reply that names these numbers of its list."""
    found = {"memories": [{"memory": number, "probability": chance} for number, chance in pairs]}
    return Reply(body=json.dumps(openai_answer(found)), wait_s=wait_s)


class Desk(Machine):
    """A machine with two memories that no prompt here resembles, and no start pack."""

    def __init__(self, recall: dict[str, Any], **environ: str) -> None:
        super().__init__(OPENAI_API_KEY="k", **environ)
        self.home.root.mkdir(exist_ok=True, mode=0o700)
        self.home.config_file.write_text(json.dumps({"recall": {"budgets": {"start": 0}, **recall}}))

    def begin(self) -> None:
        """Store the memories, and begin the session."""
        self.remember(FAR, kind="decision", when="")
        self.remember(OTHER, kind="decision", when="")
        self.hook(self.payload("SessionStart", source="startup"))

    def told(self, name: str) -> dict[str, Any]:
        return self.request("GET", "/v1/status")[name]

    def facts(self) -> tuple[str | None, str]:
        """Who decided last, and the notes of that recall."""
        self.request("GET", "/v1/status")
        (trace,) = self.request("GET", "/v1/traces?whole=true&limit=1&surface=prompt")["traces"]
        return trace["decider"], " ".join(note for stage in trace["stages"] for note in stage["notes"])


@contextmanager
def opened(
    section: str, server: WriterServer, *, environ: dict[str, str] | None = None, **more: object
) -> Iterator[Desk]:
    model = {"provider": "openai", "endpoint": f"{server.address}/v1", "model": "m", **more}
    with Desk({section: model}, **(environ or {})) as desk:
        desk.begin()
        yield desk


def test_what_the_model_named_in_the_pause_comes_with_the_next_prompt() -> None:
    with writer_server() as server, opened("anticipate", server) as desk:
        server.replies.append(names((1, 0.97), (99, 0.9)))
        assert FAR not in desk.prompt("Build the exporter.")
        desk.hook(
            desk.payload("Stop", last_assistant_message="The exporter is done. Shall I add its command?")
        )
        wait_for(lambda: desk.told("anticipation")["named"] == 1)
        block = desk.prompt(GO)
        assert FAR in block
        assert OTHER not in block
        assert desk.facts()[0] == "armed"
        told = desk.told("anticipation")
        assert (told["asked"], told["ignored"], told["failed"], told["tokens"]) == (1, 1, 0, 100)
        (line,) = [one for one in desk.tacit("status").stdout.splitlines() if "openai:m" in one]
        assert "1 memories named" in line
        (path, _, body) = server.requests[0]
        assert path == "/v1/chat/completions"
        assert f"1. [decision] {FAR}\n2. [decision] {OTHER}\n" in body["messages"][1]["content"]
        desk.sound()


def test_the_model_at_the_prompt_decides() -> None:
    with writer_server() as server, opened("judge", server, deadline_ms=3_000) as desk:
        server.replies.append(names((1, 0.8), (2, 0.1)))
        block = desk.prompt(GO)
        assert FAR in block
        assert OTHER not in block
        decider, notes = desk.facts()
        assert decider == "judge"
        assert "decided by openai:m: named 2 of 2" in notes
        assert len(server.requests) == 1
        assert GO in server.sent
        assert desk.told("judge")["named"] == 2
        desk.sound()
