"""Every preset through real processes: `doctor` passes, `status` names the preset, what is off is not asked."""

from __future__ import annotations

import json
import subprocess

import pytest

from e2e.drivers.sandbox import Sandbox

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]
OFF = {"focused": set(), "scoped": {"prompt", "action", "failure", "subagent"}}


def hook(sandbox, **payload):
    """One event through the installed launcher, as Claude Code sends it."""
    event = {"session_id": "s1", "cwd": str(sandbox.project), "transcript_path": "/dev/null", **payload}
    return subprocess.run(
        [sandbox.tacit_home / "bin" / "tacit-hook", "claude-code"], input=json.dumps(event), text=True,
        capture_output=True, cwd=sandbox.project, env=sandbox.environment(TACIT_HOOK_DEADLINE_MS="20000"),
        timeout=60,
    )  # fmt: skip


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


def test_doctor_passes_with_a_start_pack_that_the_user_switched_off(sandbox):
    sandbox.configure("recall:\n  budgets:\n    start: 0\n")
    sandbox.tacit("install", "claude-code", "--yes")
    assert json.loads(sandbox.tacit("doctor", "--no-hosts", "--json", check=False).stdout)["ok"] is True


def test_a_surface_that_is_off_is_not_asked_and_not_counted(sandbox):
    sandbox.configure("preset: scoped\n")
    sandbox.tacit("install", "claude-code", "--yes")
    sandbox.remember("Run the linter before every commit.", when="commit")
    hook(sandbox, hook_event_name="SessionStart", source="startup")
    said = hook(sandbox, hook_event_name="UserPromptSubmit", prompt="Please commit this change now.")
    assert said.stdout.strip() in ("", "{}")
    prompts = sandbox.tacit_json("why", "--surface", "prompt")["traces"]
    assert [t["cause"] for t in prompts] == ["off_in_preset"]
    assert [stage["stage"] for stage in prompts[0]["stages"]] == ["signal"]
    assert "off in this preset" in prompts[0]["silence"]
    engine = sandbox.tacit_json("status")["engine"]
    assert not [each for each in engine["silences"] if each["surface"] == "prompt"]
    assert "off here: prompt" in sandbox.tacit("status").stdout


def test_status_names_the_preset_of_this_folder(sandbox):
    sandbox.configure(f"projects:\n  {sandbox.project}:\n    preset: scoped\n")
    sandbox.tacit("stop")
    assert sandbox.tacit_json("status")["preset"] == "scoped"
    other = sandbox.root / "other"
    other.mkdir()
    told = json.loads(sandbox.tacit("status", "--json", cwd=other).stdout)
    assert told["preset"] == "focused"
