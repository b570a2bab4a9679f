"""Every preset through real processes: `doctor` passes, `status` names the preset, what is off is not asked."""

from __future__ import annotations

import json

import pytest

from e2e.drivers.sandbox import Sandbox

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]
OFF = {"focused": set(), "scoped": {"prompt", "action", "failure", "subagent"}}


@pytest.fixture(scope="module")
def installed():
    """One machine for all presets: each starts from the same installation."""
    with Sandbox() as machine:
        machine.tacit("install", "claude-code", "--yes")
        yield machine


@pytest.mark.parametrize("preset", OFF)
def test_doctor_passes_and_status_tells_what_is_off(installed, preset):
    sandbox = installed
    sandbox.configure(f"preset: {preset}\n")
    told = json.loads(sandbox.tacit("doctor", "--no-hosts", "--json", check=False).stdout)
    assert told["ok"] is True, told
    assert {each["name"]: each["state"] for each in told["findings"]}["launcher"] in ("ok", "warn")
    status = sandbox.tacit_json("status")
    assert status["preset"] == preset
    assert set(status["off"]) == OFF[preset]
