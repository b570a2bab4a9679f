"""A session while no daemon can start: nothing that was said lies in the home, and it is learned all the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from e2e.drivers.machine import PATIENT_MS, Machine, wait_for
from e2e.test_e2e_bad_input import transcript_of

pytestmark = pytest.mark.slow

SAID = "Always regenerate the client before a commit"


def files_with(folder: Path, words: str) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and words.encode() in path.read_bytes()]


def test_a_session_without_a_daemon_leaves_no_words_and_is_learned_later() -> None:
    secret = f"Kx7{'qqq'}-Zebra-{4471}"
    with Machine() as machine:
        hook = machine.home.bin_dir / "tacit_hook.py"
        lines = hook.read_text().splitlines()
        hook.write_text(
            "\n".join('PYTHON = "/gone/python"' if one.startswith("PYTHON = ") else one for one in lines)
        )
        hook.with_suffix(".pyc").unlink()
        machine.environ |= {"PATH": "/nowhere", "TACIT_HOOK_DEADLINE_MS": "5000"}
        transcript = str(transcript_of(machine, "down", SAID))
        said = {"session_id": "down", "transcript_path": transcript}
        machine.hook(machine.payload("SessionStart", source="startup", **said))
        machine.hook(machine.payload("UserPromptSubmit", prompt=f"{SAID}. The password is {secret}", **said))
        machine.hook(
            machine.payload(
                "PostToolUseFailure", tool_name="Bash", tool_input={"command": secret}, error=secret, **said
            )
        )
        machine.hook(machine.payload("Stop", last_assistant_message=f"{SAID}; noted {secret}", **said))
        machine.hook(machine.payload("SessionEnd", reason="other", **said))
        assert machine.processes() == []
        assert files_with(machine.home.root, secret) == []
        assert files_with(machine.home.root, SAID) == []
        assert list(machine.home.spool_dir.glob("*.event"))

        machine.environ |= {"PATH": "/usr/bin:/bin", "TACIT_HOOK_DEADLINE_MS": PATIENT_MS}
        machine.relaunch()
        machine.wake()
        wait_for(lambda: any(SAID in one for one in machine.contents()))
        wait_for(lambda: not list(machine.home.spool_dir.glob("*.event")))
        assert files_with(machine.home.root, secret) == []
