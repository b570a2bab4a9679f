"""MCP clients without hooks: what `tacit install` writes for them starts a server that answers with the memory."""

from __future__ import annotations

import json
import subprocess

import pytest

from tacit.hosts.install.clients import CLIENTS

pytestmark = pytest.mark.e2e

CHECKOUT = "Payments go through Stripe Checkout; we never build card forms of our own."


def ask(command, sandbox):
    """Start the server as a client does, and ask it how payments work."""
    about = {"name": "test", "version": "1"}
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": about}
    question = {"name": "memory_search", "arguments": {"query": "how does a customer pay with a card"}}
    messages = (
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": question},
    )
    done = subprocess.run(
        command, input="".join(f"{json.dumps(each)}\n" for each in messages), capture_output=True, text=True,
        env=sandbox.environment(), cwd=sandbox.project, check=True, timeout=120,
    )  # fmt: skip
    first, second = (json.loads(line) for line in done.stdout.splitlines())
    assert "memory_search" in first["result"]["instructions"], "an agent without hooks is told to search"
    return second["result"]["content"][0]["text"]


def test_every_client_is_installed_proved_and_removed_to_the_byte(sandbox):
    sandbox.remember(CHECKOUT, kind="decision")
    answers: dict[tuple[str, ...], str] = {}  # most clients are given the same command
    for name, client in CLIENTS.items():
        before = set(sandbox.home.rglob("*"))
        sandbox.tacit("install", name, "--yes")
        (file,) = [path for path in sandbox.home.rglob("*.json") if path not in before]
        entry = json.loads(file.read_text())[client.key]["tacit"]
        command = (entry["command"], *entry["args"])
        if command not in answers:
            answers[command] = ask(command, sandbox)
        assert "Stripe Checkout" in answers[command], name
        sandbox.tacit("uninstall", name, "--yes")
        assert set(sandbox.home.rglob("*")) == before, name
