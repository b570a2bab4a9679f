"""Fixtures of the end-to-end tests. Each test gets a sandbox of its own and real clients in it."""

from __future__ import annotations

import pytest

from e2e.drivers.clients import require_client
from e2e.drivers.machine import Machine
from e2e.drivers.sandbox import Sandbox

MEASURED = "measured: "


@pytest.fixture
def sandbox():
    with Sandbox() as machine:
        yield machine


@pytest.fixture
def machine():
    with Machine() as made:
        yield made


@pytest.fixture
def report(record_property):
    """Say a measured value: shown in the closing lines of the run and kept in the junit file."""

    def say(name: str, value: str) -> None:
        record_property(MEASURED + name, value)

    return say


def pytest_terminal_summary(terminalreporter):
    # From the reports and not from memory: tests may have run in other processes.
    measured = [
        f"{report.nodeid.rpartition('::')[2]}: {name.removeprefix(MEASURED)} = {value}"
        for report in terminalreporter.getreports("passed")
        for name, value in report.user_properties
        if report.when == "call" and name.startswith(MEASURED)
    ]
    if measured:
        terminalreporter.section("measured with real clients")
        for line in measured:
            terminalreporter.line(line)


@pytest.fixture
def claude(sandbox):
    from e2e.drivers.claude import ClaudeCode

    return ClaudeCode(sandbox, _on_path(sandbox, require_client("claude")))


@pytest.fixture
def opencode(sandbox):
    from e2e.drivers.opencode import OpenCode

    return OpenCode(sandbox, _on_path(sandbox, require_client("opencode")))


@pytest.fixture
def codex(sandbox):
    from e2e.drivers.codex import Codex

    return Codex(sandbox, _on_path(sandbox, require_client("codex")))


@pytest.fixture
def gemini(sandbox):
    from e2e.drivers.gemini import Gemini

    return Gemini(sandbox, _on_path(sandbox, require_client("gemini")))


@pytest.fixture
def copilot(sandbox):
    from e2e.drivers.copilot import Copilot

    return Copilot(sandbox, _on_path(sandbox, require_client("copilot")))


def _on_path(sandbox, executable):
    """Put a client where the person would have it: on PATH."""
    folder = str(executable.parent)
    if folder not in sandbox.search_path.split(":"):
        sandbox.search_path = f"{folder}:{sandbox.search_path}"
    return executable
