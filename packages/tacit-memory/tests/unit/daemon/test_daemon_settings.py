"""Settings of a daemon that runs on: the ambient seed's flow through commands and HTTP, each a process of its own."""

from __future__ import annotations

import json
import os
import time

import pytest

from forks import run_tacit
from tacit.client.daemon_client import DaemonClient
from tacit.config.home import Home

pytestmark = pytest.mark.slow


def test_default_override_and_revert_hold_soon_and_without_a_restart(tmp_path):
    home = Home(tmp_path / "h")
    home.ensure()
    home.config_file.write_text("# mine\nembedder:\n  provider: fake\n")
    client = DaemonClient(home)
    client.ensure_running(60.0)
    before = client.status()["pid"]

    def config(*arguments: str) -> object:
        environ = {**os.environ, "TACIT_HOME": str(home.root)}
        done = run_tacit(("config", *arguments, "--json"), environ=environ, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def holds(**wanted: int) -> None:
        until = time.monotonic() + 60
        while True:
            found = {
                name: client.request("GET", f"/v1/agents?name={name}")[1]["agents"][0]["memory_injection"][
                    "max_items"
                ]
                for name in wanted
            }
            if found == wanted:
                return
            assert time.monotonic() < until, found
            time.sleep(0.1)

    try:
        holds(plan=8, build=8)
        config("set", "recall.max_items", "6")
        holds(plan=6, build=6)
        config("set", "recall.max_items", "2", "--agent", "plan")
        holds(plan=2, build=6)
        client.request("PATCH", "/v1/settings", {"values": {"recall.max_items": 5}})
        assert config("get", "recall.max_items") == {"recall.max_items": 5}
        holds(plan=2, build=5)
        assert [one["memory_injection_overridden"] for one in config("get", "--agents")] == [True]
        client.request("PATCH", "/v1/agents/plan", {"reset_memory_injection_override": True})
        assert config("get", "recall.max_items", "--why", "--agent", "plan")["layer"] == "user"
        holds(plan=5, build=5)
        config("reset", "recall.max_items")
        holds(plan=8, build=8)
        assert client.status()["pid"] == before
        assert home.config_file.read_text() == "# mine\nembedder:\n  provider: fake\n"
    finally:
        client.stop()
