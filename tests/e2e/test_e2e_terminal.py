"""Commands on a real terminal, and on one that is closed: none of them waits for a key that cannot come."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from contextlib import closing

import pytest

from tacit.model.memory import Speaker

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]


@pytest.fixture
def waiting(sandbox):
    """A machine on which one statement waits for review."""
    with closing(sandbox.engine()) as engine:
        engine.remember(
            "The billing service listens on port 8080.", cwd=str(sandbox.project), speaker=Speaker.AGENT,
            source="agent", kind="fact",
        )  # fmt: skip
    assert sandbox.tacit_json("review", "list")["total"] == 1
    return sandbox


def on_terminal(sandbox, *arguments, typed):
    """Run a command on a terminal into which `typed` was put before it reads; return its exit code."""
    ours, theirs = pty.openpty()
    os.write(ours, typed)
    running = subprocess.Popen(
        [sys.executable, "-m", "tacit.cli.main", *arguments], cwd=sandbox.project, env=sandbox.environment(),
        stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
    )  # fmt: skip
    os.close(theirs)
    try:
        return running.wait(60)
    except subprocess.TimeoutExpired:
        return None
    finally:
        running.kill()
        running.wait()
        os.close(ours)


@pytest.mark.parametrize("command", [("purge", "--source", "agent"), ("uninstall",)])
def test_a_question_on_a_terminal_without_input_is_a_no(waiting, command):
    waiting.tacit("install", "claude-code", "--yes")
    assert on_terminal(waiting, *command, typed=b"\x04") is not None
    assert waiting.tacit_json("review", "list")["total"] == 1
    assert "tacit-hook" in (waiting.home / ".claude" / "settings.json").read_text()
