"""`scoped` in the real Claude Code: the start pack reaches the model, prompts stay as they are, and the tool answers twice."""

from __future__ import annotations

import pytest

from e2e.drivers.clients import require_client
from e2e.drivers.sandbox import Sandbox
from e2e.test_e2e_mcp import WithTools, load_tools, results, script
from live.scoped.test_live_scoped_answers import RETRIES
from presets.acceptance import acceptance
from scripted_model import find_places
from tacit.model.scope import Scope

pytestmark = pytest.mark.e2e


@acceptance("scoped", "EXIT-5", "EXIT-6", "EXIT-7", "EXIT-9", "EMPTY")
def test_the_start_pack_and_two_answers_reach_the_model_of_the_real_client() -> None:
    with Sandbox() as sandbox:
        executable = require_client("claude")
        sandbox.search_path = f"{executable.parent}:{sandbox.search_path}"
        sandbox.configure("preset: scoped\n")
        for name in ("main.go", "shop.go"):
            sandbox.write(name, "package main\n")
        sandbox.git("add", ".")
        sandbox.remember("In Go, wrap errors with %w", kind="preference", scope=Scope.parse("language:go"))
        sandbox.remember("Prices are stored as integers in cents", RETRIES, kind="decision")
        client = WithTools(sandbox, executable)
        client.install()
        sandbox.wake_daemon()
        load_tools(sandbox)
        ask = [("memory_context", {"query": query}) for query in (
            "weather in Lisbon", "where do we keep money", "how often do we try again when billing does not answer", "orders",
        )]  # fmt: skip
        script(sandbox, "store amounts", ask)
        assert client.ask("How do we store amounts?").text == "done"
        request = sandbox.stub.agent_requests[-1]
        places = find_places(request.body, "### Go Preferences")
        assert len(places) == 1
        assert "SessionStart" in places[0].text
        # The start pack and two answers; nothing comes with the prompt.
        assert len(request.find("<tacit-memory surface")) == 3
        assert "off in this preset" in sandbox.tacit("why", "--surface", "prompt").stdout
        nothing, first, second, third = results(sandbox)
        assert "Nothing fits" in nothing
        assert "integers in cents" in first
        assert "at most five attempts" in second
        assert "has had its 2 answers" in third
