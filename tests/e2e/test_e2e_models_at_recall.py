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
        (trace,) = self.request("GET", "/v1/traces?limit=1&surface=prompt")["traces"]
        return trace["decider"], " ".join(note for stage in trace["stages"] for note in stage["notes"])


@contextmanager
def opened(
    section: str, server: WriterServer, *, on: bool, environ: dict[str, str] | None = None, **more: object
) -> Iterator[Desk]:
    model = {"provider": "openai" if on else "off", "endpoint": f"{server.address}/v1", "model": "m", **more}
    with Desk({section: model}, **(environ or {})) as desk:
        desk.begin()
        yield desk


@pytest.mark.parametrize("on", [True, False], ids=["on", "off"])
def test_what_the_model_named_in_the_pause_comes_with_the_next_prompt(on: bool) -> None:
    with writer_server() as server, opened("anticipate", server, on=on) as desk:
        server.replies.append(names((1, 0.97), (99, 0.9)))
        assert FAR not in desk.prompt("Build the exporter.")
        desk.hook(
            desk.payload("Stop", last_assistant_message="The exporter is done. Shall I add its command?")
        )
        if on:
            wait_for(lambda: desk.told("anticipation")["named"] == 1)
        block = desk.prompt(GO)
        assert (FAR in block) is on
        assert OTHER not in block
        assert desk.facts()[0] == ("armed" if on else "local")
        if not on:
            assert (server.requests, desk.told("anticipation")) == ([], None)
            return
        told = desk.told("anticipation")
        assert (told["asked"], told["ignored"], told["failed"], told["tokens"]) == (1, 1, 0, 100)
        (line,) = [one for one in desk.tacit("status").stdout.splitlines() if "openai:m" in one]
        assert "1 memories named" in line
        (path, _, body) = server.requests[0]
        assert path == "/v1/chat/completions"
        assert f"1. [decision] {FAR}\n2. [decision] {OTHER}\n" in body["messages"][1]["content"]
        desk.sound()


def test_a_model_that_hangs_in_the_pause_holds_nobody_up() -> None:
    with writer_server() as server, opened("anticipate", server, on=True, timeout_ms=1_000) as desk:
        server.replies += [names((1, 0.97), wait_s=60.0)] * 2
        desk.prompt("Build the exporter.")
        desk.hook(desk.payload("Stop", last_assistant_message="The exporter is done."))
        wait_for(lambda: server.requests)
        desk.prompt(GO)
        assert desk.facts()[0] == "local"
        wait_for(lambda: desk.told("anticipation")["failed"] == 1)
        assert "did not answer" in desk.told("anticipation")["error"]
        desk.sound()


@pytest.mark.parametrize("on", [True, False], ids=["on", "off"])
def test_the_model_at_the_prompt_decides(on: bool) -> None:
    with writer_server() as server, opened("judge", server, on=on, deadline_ms=3_000) as desk:
        server.replies.append(names((1, 0.8), (2, 0.1)))
        block = desk.prompt(GO)
        assert (FAR in block) is on
        assert OTHER not in block
        decider, notes = desk.facts()
        assert decider == ("judge" if on else "local")
        assert ("decided by openai:m: named 2 of 2" in notes) is on
        assert len(server.requests) == on
        if on:
            assert GO in server.sent
            assert desk.told("judge")["named"] == 2
        desk.sound()


def test_the_hook_waits_for_the_model_longer_than_it_does_by_itself() -> None:
    environ = {"TACIT_HOOK_DEADLINE_MS": "", "TACIT_RECALL__DEADLINE_MS": "900"}
    with (
        writer_server() as server,
        opened("judge", server, on=True, environ=environ, deadline_ms=3_000) as desk,
    ):
        assert (desk.home.run_dir / "prompt_ms").read_text() == "4050"
        server.replies.append(names((1, 0.8), wait_s=1.2))
        assert FAR in desk.prompt(GO)


def test_a_late_or_broken_model_leaves_the_prompt_to_the_gate() -> None:
    with writer_server() as server, opened("judge", server, on=True, deadline_ms=500) as desk:
        server.replies.append(names((1, 0.8), wait_s=30.0))
        assert FAR not in desk.prompt(GO)
        decider, notes = desk.facts()
        assert decider == "local"
        assert "did not answer within" in notes
        wait_for(lambda: desk.told("judge")["failed"] == 1)
        desk.prompt("Please write the importer, too.")
        assert "not asked for a while" in desk.facts()[1]
        desk.sound()


def test_a_command_line_at_the_prompt_is_refused_with_the_reason() -> None:
    with Machine() as machine:
        said = machine.said("config", "set", "recall.judge.provider", "claude", code=3)
        assert "takes seconds to start" in " ".join(said.split())
