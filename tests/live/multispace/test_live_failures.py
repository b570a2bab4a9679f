"""A model server that is slow, broken or gone, behind the hook: the preset's own time-out, and no half picture.

The vectors come from a server on the loopback here, because the shipped model neither fails nor takes a second.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from e2e.drivers.machine import Machine, wait_for
from model_server import ModelServer, model_server
from presets.acceptance import acceptance
from tacit.client.daemon_client import DaemonClient
from user_voice import user_token

KNOWN = "Authentication issues JWT tokens that expire after fifteen minutes."
PROMPT = "Implement authentication with JWT tokens for the admin pages."


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


@acceptance("multispace", "EC-P5-04")
def test_a_prompt_that_cannot_be_embedded_gets_the_error_and_no_memory():
    with served(TACIT_HOOK_DEADLINE_MS="20000") as (machine, server):
        machine.environ["TACIT_HOOK_DEADLINE_MS"] = "20000"
        server.stop()
        assert machine.prompt(PROMPT) == ""
        wait_for(lambda: "Failed to embed query: " in logged(machine))
        (trace, *_) = machine.ask("why", "--surface", "prompt")["traces"]
        assert (trace["cause"], trace["injected"]) == ("failed", [])
        status, found = DaemonClient(machine.home, token=user_token(machine.home)).request_any(
            "POST",
            "/v1/injections",
            {"text": f"{PROMPT} Now.", "session_id": "s9", "cwd": str(machine.project)},
        )
        assert status == 500
        assert found["failure"]["message"].startswith("Failed to embed query: ")
        assert found["result"]["memories_included"] == []
