"""A kind that a user removes from the settings, behind the hook: its memories still come, under its name, at every moment."""

from __future__ import annotations

import pytest

from e2e.drivers.machine import Machine, injected

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

RUNBOOK = "kinds:\n  runbook: {label: Runbook, prefix: RUN, importance: 0.6, standing: true}\n"
STEP = "Before `make requeue` stop the billing worker."
CALL = {"tool_name": "Bash", "tool_input": {"command": "make requeue"}}


def test_a_removed_kind_silences_no_moment_of_a_session():
    with Machine() as machine:
        machine.home.root.mkdir(mode=0o700, exist_ok=True)
        config = machine.home.root / "config.yaml"
        config.write_text(RUNBOOK, encoding="utf-8")
        machine.remember(STEP, kind="runbook", when="make requeue")
        machine.remember(
            "`make requeue` failed with: worker is running. Stop the worker.", kind="error_pattern", when=""
        )
        machine.stop()
        config.write_text("recall: {budgets: {start: 0}}\n", encoding="utf-8")

        def told(event: str, session: str, **fields: object) -> str:
            return injected(machine.hook(machine.payload(event, session_id=session, **fields)))

        machine.wake()
        told("SessionStart", "calls", source="startup")
        told("SessionStart", "fails", source="startup")
        assert STEP.rstrip(".") in told("PreToolUse", "calls", tool_use_id="t1", **CALL)
        assert STEP.rstrip(".") in told("SessionStart", "calls", source="compact")
        assert "worker is running" in told(
            "PostToolUseFailure",
            "fails",
            tool_use_id="t2",
            error="make: worker is running. Stop the worker.",
            **CALL,
        )
        told(
            "UserPromptSubmit",
            "asks",
            prompt="Requeue the invoices with make requeue, the billing worker hangs",
        )
        told("SubagentStart", "asks", agent_id="a1", agent_type="general-purpose")
        log = machine.home.log_file.read_text(encoding="utf-8")
        assert "UnknownKind" not in log
        assert "recall failed" not in log
        assert not any("UnknownKind" in line for line in machine.hook_log())
        traces = machine.request("GET", "/v1/traces?whole=true&limit=50")["traces"]
        assert {"action", "failure", "prompt", "compaction"} <= {trace["surface"] for trace in traces}
        assert "failed" not in {trace["cause"] for trace in traces}
