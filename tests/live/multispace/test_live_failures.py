"""A model server that is slow, broken or gone, behind the hook: the preset's own time-out, and no half picture.

The vectors come from a server on the loopback here, because the shipped model neither fails nor takes a second.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from e2e.drivers.machine import Machine, wait_for
from examples.installed import ExampleMachine
from model_server import ModelServer, Reply, model_server
from plugins import install_module
from presets.acceptance import acceptance
from tacit.client.daemon_client import DaemonClient
from user_voice import user_token

KNOWN = "Authentication issues JWT tokens that expire after fifteen minutes."
PROMPT = "Implement authentication with JWT tokens for the admin pages."
MOST_ATTEMPTS = 5
"""A busy machine may take the 0.7 seconds that the model leaves; a deadline that is too short fails every time."""

SLOW = """
import time

from tacit.providers import reranker

class SlowReader:
    name = "slow-reader@1"
    ready = True

    def score(self, text, other):
        time.sleep(1.2)
        return 0.9

reranker.CrossEncoder = lambda folder: SlowReader()
"""
"""A second-stage model that has read one memory of several when two seconds are over."""


@contextmanager
def served(**environ: str) -> Iterator[tuple[Machine, ModelServer]]:
    """A machine with the deadlines of a user, whose vectors come from a server."""
    with (
        model_server(dimensions=64) as server,
        Machine(
            TACIT_EMBEDDER__PROVIDER="openai",
            TACIT_EMBEDDER__ENDPOINT=server.address,
            TACIT_EMBEDDER__DIMENSIONS="64",
            **environ,
        ) as machine,
    ):
        machine.home.root.mkdir(mode=0o700, exist_ok=True)
        (machine.home.root / "config.yaml").write_text("preset: multispace\n", encoding="utf-8")
        machine.remember(KNOWN, kind="fact", when="")
        machine.stop()
        del machine.environ["TACIT_RECALL__DEADLINE_MS"]
        machine.wake()
        machine.start()
        del machine.environ["TACIT_HOOK_DEADLINE_MS"]
        yield machine, server


def logged(machine: Machine) -> str:
    """The daemon's log."""
    return machine.home.log_file.read_text(encoding="utf-8")


@acceptance("multispace", "ERR-P5-03")
def test_a_model_that_takes_nearly_a_second_is_waited_for_at_the_hook():
    with served() as (machine, server):
        server.pause_s = 0.8
        for attempt in range(MOST_ATTEMPTS):
            # New words each time: what was embedded once would be answered without the server.
            words = f"{PROMPT} Step {attempt}."
            if KNOWN in machine.prompt(words, session_id=f"patient-{attempt}"):
                assert any(words in body["input"] for _, _, body in server.requests)
                return
        pytest.fail("the hook never waited for the model")


@acceptance("multispace", "EC-P5-04")
@pytest.mark.parametrize("broken", ["500", "401", "slow", "gone"])
def test_a_prompt_that_cannot_be_embedded_gets_the_error_and_no_memory(broken):
    with served(TACIT_HOOK_DEADLINE_MS="20000") as (machine, server):
        machine.environ["TACIT_HOOK_DEADLINE_MS"] = "20000"
        if broken == "slow":
            server.pause_s = 3.0
        elif broken == "gone":
            server.stop()
        else:
            server.replies += [Reply(status=int(broken))] * 50
        assert machine.prompt(PROMPT) == ""
        wait_for(lambda: "Failed to embed query: " in logged(machine))
        (trace, *_) = machine.ask("why", "--surface", "prompt")["traces"]
        assert (trace["cause"], trace["injected"]) == ("failed", [])
        status, found = DaemonClient(machine.home, token=user_token(machine.home)).request_any(
            "POST", "/v1/inject", {"text": f"{PROMPT} Now.", "session_id": "s9", "cwd": str(machine.project)}
        )
        assert status == 500
        assert found["failure"]["message"].startswith("Failed to embed query: ")
        assert found["result"]["memories_included"] == []


@acceptance("multispace", "ERR-P5-03")
def test_what_was_found_in_two_seconds_is_whole_and_the_log_says_that_time_was_up():
    with ExampleMachine(TACIT_EMBEDDER__PROVIDER="minilm") as machine:
        for name in ("TACIT_RECALL__DEADLINE_MS", "TACIT_HOOK_DEADLINE_MS"):
            del machine.environ[name]
        install_module(machine.root / "site", "sitecustomize", SLOW, {})
        machine.home.root.mkdir(mode=0o700, exist_ok=True)
        (machine.home.root / "config.yaml").write_text(
            "preset: multispace\nrecall: {reranker: {model: slow}}\n", encoding="utf-8"
        )
        machine.start_daemon()
        machine.wake()  # a session start, which tells the hook how long prompts may take
        for content in (KNOWN, "Authentication of the admin pages asks for a second factor."):
            machine.remember(content, kind="fact", when="")
        for attempt in range(
            MOST_ATTEMPTS
        ):  # on a busy machine two seconds may not be enough for the first memory
            block = machine.prompt(f"{PROMPT} Step {attempt}.", session_id=f"late-{attempt}")
            if KNOWN in block:
                break
        assert KNOWN in block
        assert block.startswith("<tacit-memory ")
        assert block.endswith("</tacit-memory>")
        late = "Context injection timed out after 2000ms (slow-reader@1 missed the deadline"
        wait_for(lambda: late in logged(machine))
        status, found = DaemonClient(machine.home, token=user_token(machine.home)).request_any(
            "POST", "/v1/inject", {"text": f"{PROMPT} Now.", "session_id": "s9", "cwd": str(machine.project)}
        )
        assert status == 408
        assert found["failure"]["message"] == "Context injection timed out after 2000ms"
        assert len(found["result"]["memories_included"]) == 2
