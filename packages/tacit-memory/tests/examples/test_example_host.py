"""The example host: one package with one entry point, in a real daemon and with the shipped hook client."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from e2e.drivers.machine import RULE, wait_for
from examples.installed import ExampleMachine
from plugins import install_module
from tacit.app.wiring import Hosts
from tacit.hosts.plain import Plain

pytestmark = pytest.mark.slow


def send(machine: ExampleMachine, kind: str, **fields: str) -> str:
    """Run Acme's hook command with one event; the context that it gets."""
    payload = {"type": kind, "id": "s1", "dir": str(machine.project), **fields}
    out = machine.hook(json.dumps(payload).encode(), "acme")
    return json.loads(out)["context"] if out else ""


def test_a_block_reaches_the_example_host_and_what_its_user_says_is_learned():
    with ExampleMachine("host") as machine:
        machine.start_daemon()
        machine.remember(RULE)
        assert RULE in send(machine, "start")
        assert send(machine, "message", text="Remember that we never deploy the shop on a Friday") == ""
        assert send(machine, "heartbeat") == ""
        wait_for(lambda: any("Friday" in content for content in machine.contents()), timeout_s=30)
        assert "acme" in [one["host"] for one in machine.request("GET", "/v1/sessions")["sessions"]]


def test_without_its_package_the_host_is_unknown_and_the_hook_stays_silent():
    with ExampleMachine() as machine:
        machine.start_daemon()
        machine.remember(RULE)
        assert send(machine, "start") == ""
        assert "a hook of acme was refused: not_found" in machine.home.log_file.read_text()


def test_a_built_in_host_cannot_be_replaced_and_names_of_packages_are_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    code = "class Other:\n    name = 'other'\n"
    points = {"tacit.hosts": {"plain": "other_host:Other", "other": "other_host:Other"}}
    install_module(tmp_path, "other_host", code, points)
    monkeypatch.syspath_prepend(tmp_path)
    hosts = Hosts()
    assert isinstance(hosts["plain"], Plain)
    assert hosts["other"].name == "other"
    assert {"claude-code", "library", "opencode", "other", "plain"} <= set(hosts)
    assert hosts.get("nobody") is None
