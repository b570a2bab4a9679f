"""Cursor's documented payloads through the commands of its hooks.json, the hook client, the daemon and the shipped model.

Cursor itself has no client that runs here. What is shown is what its hooks answer, not what Cursor does with the answer.
"""

from __future__ import annotations

import json
import subprocess
import time

import pytest

pytestmark = pytest.mark.e2e

CENTS = "Amounts in app/payments.py are integer cents; floats are never used for money."
FIX = "`ModuleNotFoundError: No module named 'orders_schema'` goes away once `make generate` has run."


class Conversation:
    """One conversation of Cursor in the sandbox's project."""

    def __init__(self, sandbox, name="c1"):
        self.sandbox, self.name, self.generation = sandbox, name, 0
        self.transcript = sandbox.root / f"{name}.jsonl"
        self.file = sandbox.home / ".cursor" / "hooks.json"

    def send(self, event, **fields):
        """Run the commands that the file holds for `event`; their answer."""
        entries = json.loads(self.file.read_text())["hooks"].get(event, [])
        payload = {
            "hook_event_name": event, "conversation_id": self.name, "generation_id": f"g{self.generation}",
            "model": "claude-opus-4-7", "cursor_version": "3.14.7", "workspace_roots": [str(self.sandbox.project)],
            "user_email": None, "transcript_path": str(self.transcript), **fields,
        }  # fmt: skip
        answers = [
            subprocess.run(
                ["/bin/sh", "-c", entry["command"]],
                input=json.dumps(payload),
                capture_output=True,
                text=True,
                env=self.sandbox.environment(),
                cwd=self.file.parent,
                check=True,
                timeout=60,
            ).stdout
            for entry in entries
        ]
        return json.loads(answers[0]) if answers and answers[0] else {}

    def start(self):
        return self.send(
            "sessionStart", session_id=self.name, is_background_agent=False, composer_mode="agent"
        )

    def says(self, words):
        self.generation += 1
        self.write("user", f"<user_query>\n{words}\n</user_query>")
        return self.send("beforeSubmitPrompt", prompt=words, attachments=[])

    def ran(self, tool, given, output):
        call = {"tool_name": tool, "tool_input": given, "tool_use_id": f"t{time.monotonic_ns()}"}
        before = self.send("preToolUse", **call, cwd=str(self.sandbox.project))
        after = self.send(
            "postToolUse", **call, cwd=str(self.sandbox.project), tool_output=json.dumps(output), duration=5
        )
        return before, after.get("additional_context", "")

    def ends(self, words):
        self.write("assistant", words)
        assert self.send("afterAgentResponse", text=words) == {}
        assert (
            self.send("sessionEnd", session_id=self.name, reason="completed", final_status="completed") == {}
        )

    def write(self, role, text):
        row = {"role": role, "message": {"content": [{"type": "text", "text": text}]}}
        with self.transcript.open("a") as file:
            file.write(json.dumps(row) + "\n")


@pytest.fixture
def cursor(sandbox):
    sandbox.tacit("install", "cursor", "--yes")
    sandbox.wake_daemon()
    return sandbox


def test_what_one_conversation_states_is_there_when_the_next_one_starts(cursor):
    first = Conversation(cursor)
    assert first.start() == {}
    assert first.says("Remember that we always run `make lint` before committing.") == {}
    first.ends("Noted.")
    cursor.wait_for_memory("make lint")
    second = Conversation(cursor, "c2")
    assert "make lint" in second.start()["additional_context"]


def test_rules_and_fixes_come_with_results_and_nothing_comes_where_no_text_can_go(cursor):
    talk = Conversation(cursor)
    talk.start()
    cursor.write("app/payments.py", "total = 0\n")
    cursor.remember(CENTS, kind="decision", files=("app/payments.py",))
    cursor.remember(FIX, kind="error_pattern")
    assert talk.says("go on with step three of the list") == {}
    before, after = talk.ran(
        "Read", {"file_path": str(cursor.project / "app/payments.py")}, {"content": "total = 0"}
    )
    assert before == {}
    assert "integer cents" in after
    error = "ModuleNotFoundError: No module named 'orders_schema'"
    _, after = talk.ran("Shell", {"command": "make schema"}, {"exitCode": 1, "stdout": "", "stderr": error})
    assert "make generate" in after
    _, again = talk.ran(
        "Read", {"file_path": str(cursor.project / "app/payments.py")}, {"content": "total = 0"}
    )
    assert again == "", "nothing is handed over twice"


def test_the_memory_for_a_prompt_and_for_a_failed_tool_comes_with_the_next_result(cursor):
    talk = Conversation(cursor)
    talk.start()
    cursor.remember("Never commit without a ticket number.", kind="preference", when="commit")
    assert talk.says("Commit what we have and push it.") == {}
    _, after = talk.ran("Grep", {"pattern": "total"}, {"content": "none"})
    assert after.count("ticket number") == 1
    cursor.remember(FIX, kind="error_pattern")
    error = "ModuleNotFoundError: No module named 'orders_schema'"
    call = {"tool_name": "Shell", "tool_input": {"command": "make schema"}, "tool_use_id": "failing"}
    failed = talk.send("postToolUseFailure", **call, error_message=error, failure_type="error", duration=5)
    assert failed == {}
    _, after = talk.ran("Grep", {"pattern": "total"}, {"content": "none"})
    assert after.count("make generate") == 1
    _, after = talk.ran("Grep", {"pattern": "other"}, {"content": "none"})
    assert after == "", "said once"


def test_a_blocking_rule_refuses_its_call_once(cursor):
    cursor.configure("recall:\n  blocking: true\n")
    talk = Conversation(cursor)
    talk.start()
    cursor.remember("Never push to main without asking.", kind="preference", when="cmd:git push, blocking")
    refused, _ = talk.ran("Shell", {"command": "git push origin main"}, {"exitCode": 0, "stdout": ""})
    assert refused["permission"] == "deny"
    assert "Never push to main" in refused["agent_message"]
    second, _ = talk.ran("Shell", {"command": "git push origin main"}, {"exitCode": 0, "stdout": ""})
    assert second == {}
