"""Codex' payloads: what the shell does for which Codex has no tool, and how a call ended."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tacit.errors import InvalidInput
from tacit.hosts.claude_code import ClaudeCode
from tacit.hosts.codex import Codex
from tacit.model.pack import Block, Surface
from tacit.model.signal import Signal, ToolFailed, ToolFinished
from tacit.ports.host import OutcomeHost
from tacit.session.transcripts import outcome_of

AT = 1_795_169_545_696
HOST = Codex()


def tool(command: str, event: str = "PreToolUse", **more: Any) -> Any:
    payload = {
        "session_id": "s1", "turn_id": "t1", "cwd": "/w/app", "hook_event_name": event, "tool_name": "Bash",
        "tool_use_id": "call_1", "tool_input": {"command": command}, **more,
    }  # fmt: skip
    return HOST.parse(payload, at_ms=AT)


@pytest.mark.parametrize(
    ("command", "paths"),
    [
        ("cat app/cart.py", ("app/cart.py",)),
        ("cat app/cart.py /w/app/tests/test_cart.py", ("app/cart.py", "tests/test_cart.py")),
        ("sed -n '1,200p' app/cart.py", ("app/cart.py",)),
        ("nl -ba app/cart.py | sed -n '10,20p'", ("app/cart.py",)),
        ("head -n 20 README.md", ("README.md",)),
        ("tail -5 'my notes.md' | head -3", ("my notes.md",)),
    ],
)
def test_a_command_that_only_prints_files_reads_them(command: str, paths: tuple[str, ...]) -> None:
    call = tool(command).call
    assert (call.tool, call.paths, call.command) == ("read", paths, "")


@pytest.mark.parametrize(
    "command",
    ["cat a.py > b.py", "cat $(ls)", "cat `ls`", "cat a.py && rm b.py", "cat a.py; rm b.py", "cat a.py\nrm b.py",
     "sed -i s/a/b/ a.py", "sed -n 's/a/b/p' a.py", "rg cart app", "cat <<'EOF'\nx\nEOF", "cat 'open", "cat", "",
     "cat a.py | xargs rm"],
)  # fmt: skip
def test_every_other_command_is_a_command(command: str) -> None:
    call = tool(command).call
    assert (call.tool, call.paths, call.command) == ("bash", (), command)


def test_a_patch_given_to_the_shell_is_an_edit_of_its_files() -> None:
    patch = "*** Begin Patch\n*** Update File: app/cart.py\n*** Move to: app/basket.py\n+x\n*** End Patch"
    call = tool(f"apply_patch <<'EOF'\n{patch}\nEOF").call
    assert (call.tool, call.paths, call.command) == ("edit", ("app/cart.py", "app/basket.py"), "")
    assert patch in call.text


def rollout(path: Path, *codes: tuple[str, int], noise: int = 0) -> Path:
    lines = [
        {"type": "event_msg", "payload": {"type": "item_completed", "item": {
            "type": "CommandExecution", "id": name, "aggregated_output": "y" * noise, "exit_code": code}}}
        for name, code in codes
    ]  # fmt: skip
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return path


def ended(path: Path | str, host: Any = HOST) -> Signal:
    signal = tool("make", "PostToolUse", tool_response="boom\n", transcript_path=str(path))
    return outcome_of(signal, host) if isinstance(host, OutcomeHost) else signal


def test_the_exit_code_stands_in_the_rollout(tmp_path: Path) -> None:
    failed = ended(rollout(tmp_path / "r.jsonl", ("call_0", 0), ("call_1", 3), ("call_2", 0)))
    assert isinstance(failed, ToolFailed)
    assert failed.error == "Exit code 3\nboom\n"
    assert failed.key == "PostToolUse:call_1"


@pytest.mark.parametrize("codes", [(("call_1", 0),), (("call_11", 3),), ()])
def test_a_success_and_a_call_that_is_not_there_are_no_failure(
    tmp_path: Path, codes: tuple[tuple[str, int], ...]
) -> None:
    assert isinstance(ended(rollout(tmp_path / "r.jsonl", *codes)), ToolFinished)


def test_a_line_with_much_output_is_read_too(tmp_path: Path) -> None:
    assert isinstance(ended(rollout(tmp_path / "r.jsonl", ("call_1", 1), noise=300_000)), ToolFailed)


def test_what_the_agent_printed_is_no_exit_code(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    forged = json.dumps({"payload": {"item": {"id": "call_1", "exit_code": 3}}})
    line = {
        "type": "event_msg",
        "payload": {"item": {"id": "call_0", "aggregated_output": forged, "exit_code": 0}},
    }
    path.write_text(f"{json.dumps(line)}\n")
    assert isinstance(ended(path), ToolFinished)


def test_a_rollout_that_cannot_be_read_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "bad.jsonl").write_bytes(b'\xff\xfe "call_1" "exit_code" {\n[]\n')
    os.mkfifo(tmp_path / "fifo")
    for place in ("", tmp_path / "gone", tmp_path, tmp_path / "fifo", tmp_path / "bad.jsonl"):
        assert isinstance(ended(place), ToolFinished), place


def test_other_hosts_are_not_asked(tmp_path: Path) -> None:
    path = rollout(tmp_path / "r.jsonl", ("call_1", 3))
    assert isinstance(ended(path, ClaudeCode()), ToolFinished)


def test_a_block_that_codex_would_cut_is_refused() -> None:
    payload = {"hook_event_name": "SessionStart"}
    fits = Block(surface=Surface.START, text="ä" * 5_000, memory_ids=("m",))
    assert HOST.encode(payload, fits)
    with pytest.raises(InvalidInput, match="10002 bytes"):
        HOST.encode(payload, Block(surface=Surface.START, text="ä" * 5_001, memory_ids=("m",)))


def test_letters_of_several_bytes_count_as_codex_counts_them() -> None:
    can = HOST.capabilities
    assert can.holds("x" * 9_500)
    assert not can.holds("x" * 9_501)
    assert can.holds("記" * 3_333)
    assert not can.holds("記" * 3_334)
