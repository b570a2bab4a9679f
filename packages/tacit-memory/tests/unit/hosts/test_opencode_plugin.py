"""The OpenCode plugin with a scripted daemon: what it adds, what it leaves alone, how long it waits."""

from __future__ import annotations

import json
import re
import shutil
import socket
import subprocess
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import Any, Self

import pytest

from loopback import DaemonSocket
from tacit.config.home import Home
from tacit.system.transport import TcpTransport

PLUGIN = Path(__file__).parents[5] / "plugins" / "opencode" / "tacit.js"
DRIVER = Path(__file__).parent / "opencode_driver.mjs"
NODE = shutil.which("node")

pytestmark = pytest.mark.skipif(NODE is None, reason="node is not installed")


@pytest.fixture
def run(tmp_path: Path) -> Any:
    copy = tmp_path / "tacit.mjs"
    copy.write_text(PLUGIN.read_text())
    (tmp_path / "bin").mkdir(exist_ok=True)

    def scenario(name: str, **environment: str) -> Any:
        answer = subprocess.run(
            [str(NODE), str(DRIVER), str(copy), name],
            capture_output=True, text=True, timeout=50,
            env={"HOME": str(tmp_path), "TACIT_HOME": str(tmp_path), "PATH": "/usr/bin:/bin", **environment},
        )  # fmt: skip
        assert answer.returncode == 0, answer.stderr
        return json.loads(answer.stdout)

    return scenario


class Scripted:
    """A daemon on TCP that answers the plugin's events as the driver's own script does."""

    def __init__(self, home: Home) -> None:
        self.heads: list[bytes] = []
        self._socket = DaemonSocket(home, transport=TcpTransport(home.key_file))
        self._thread = Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            try:
                connection = self._socket.accept()
            except OSError:
                return
            with connection:
                data = b""
                while b"\r\n\r\n" not in data:
                    data += connection.recv(1 << 16)
                head, _, body = data.partition(b"\r\n\r\n")
                length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
                while len(body) < length:
                    body += connection.recv(1 << 16)
                self.heads.append(head)
                payload = json.loads(body)
                said = {
                    "session.start": {"system": "START"},
                    "prompt": {"text": f"FOR {payload.get('messageID')}"},
                }
                text = json.dumps(said.get(payload["event"], {})).encode()
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(text) + text)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()
        self._thread.join(10)


@pytest.fixture
def tcp_home(tmp_path: Path) -> Home:
    home = Home(tmp_path)
    home.ensure()
    return home


def test_over_tcp_it_says_and_adds_the_same(run: Any, tcp_home: Home) -> None:
    with Scripted(tcp_home) as daemon:
        over_tcp = run("prompt_text"), run("start_text")
    tcp_home.key_file.unlink()
    assert over_tcp[0] == run("prompt_text")
    assert over_tcp[1]["first"] == ["You are x <env> y\n\nSTART"]
    assert daemon.heads[0].startswith(b"POST /hook/opencode HTTP/1.1\r\n")
    assert all(b"x-tacit-deadline-ms: " in head for head in daemon.heads)


def test_another_program_on_the_port_gets_no_payload(run: Any, tcp_home: Home) -> None:
    """The daemon was killed, and the port is a stranger's, who plays a daemon without the key."""
    heard: list[bytes] = []
    with TcpTransport(tcp_home.key_file).bind() as bound:

        def serve() -> None:
            while True:
                try:
                    connection, _ = bound.accept()
                except OSError:
                    return
                with connection, suppress(OSError):
                    heard.append(connection.recv(1000))
                    connection.sendall(b"0" * 64 + b" " + b"1" * 32 + b"\n")
                    heard.append(connection.recv(1000))

        thread = Thread(target=serve, daemon=True)
        thread.start()
        found = run("prompt_text")
        bound.shutdown(socket.SHUT_RDWR)
        thread.join(10)
    assert texts(found["first"][0]) == ["hi"]
    assert heard
    assert all(re.fullmatch(rb"(TACIT1 [0-9a-f]{32}\n)?", said) for said in heard)


@pytest.mark.parametrize("mode", [0o644, 0o620])
def test_a_key_file_that_is_open_to_others_is_not_used(run: Any, tcp_home: Home, mode: int) -> None:
    with Scripted(tcp_home) as daemon:
        tcp_home.key_file.chmod(mode)
        assert texts(run("prompt_text")["first"][0]) == ["hi"]
    assert daemon.heads == []


def texts(message: dict[str, Any]) -> list[str]:
    return [part["text"] for part in message["parts"] if part["type"] == "text"]


def test_only_the_default_export_or_opencode_would_drop_it(run: Any) -> None:
    assert run("shape") == {"names": ["default"], "id": "tacit", "server": "function", "setup": "function"}


def test_the_stable_text_is_asked_for_once_and_goes_to_the_agents_requests_only(run: Any) -> None:
    found = run("start_text")
    assert found["first"] == ["You are x <env> y\n\nSTART"]
    assert found["second"] == found["first"]
    assert len(found["title"]) == len(found["compaction"]) == 1
    assert [start["source"] for start in found["starts"]] == ["startup"]
    (prompt,) = found["prompts"]
    assert (prompt["messageID"], prompt["text"], prompt["directory"], prompt["agent"]) == (
        "m1",
        "hi",
        "/w",
        "build",
    )


def test_a_prompts_text_stays_with_its_message_byte_for_byte(run: Any) -> None:
    found = run("prompt_text")
    assert texts(found["first"][0]) == ["hi", "FOR m1"]
    assert found["second"][0] == found["first"][0]
    assert found["again"] == found["second"]
    part = found["first"][0]["parts"][1]
    assert part["id"].startswith("prt")
    assert (part["messageID"], part["sessionID"], part["synthetic"]) == ("m1", "s1", True)
    assert found["replays"] == 0


def test_tool_texts_are_added_to_the_request_and_never_stored(run: Any) -> None:
    found = run("tool_texts")
    assert found["output"]["output"] == "fine"
    states = [message["parts"][0]["state"] for message in found["first"][1:]]
    assert states[0]["error"] == "gone\n\nFIX c1"
    assert states[1]["output"] == "fine\n\nRULE c2"
    assert states[2]["error"] == "late\n\nFIX c3", "a failure that no event told of"
    assert found["again"] == found["first"]
    assert found["failed"] == 2
    assert found["after"][0]["exit"] == 3


def test_a_reloaded_plugin_asks_for_the_bytes_of_before_once(run: Any) -> None:
    found = run("replay")
    assert texts(found["first"][0]) == ["hi", "FOR m1"]
    assert found["first"][1]["parts"][0]["state"]["error"] == "gone\n\nFIX c1"
    assert found["first"][2]["parts"][0]["state"]["output"] == "fine\n\nRULE c2"
    assert texts(found["first"][3]) == ["hi"]
    assert found["again"] == found["first"]
    (replay,) = found["replays"]
    assert replay["messageIDs"] == ["m1", "call:c1", "call:c2", "old", "call:c9"]
    assert found["failed"] == 0, "an old failure is not new"
    assert [start["source"] for start in found["starts"]] == ["resume"]


def test_compaction_input_is_untouched_and_the_text_renewed_after_it(run: Any) -> None:
    found = run("compaction")
    assert found["before"][0].endswith("\n\nSTART")
    assert texts(found["clone"][0]) == ["hi"]
    assert found["after"][0].endswith("\n\nAFTER")
    assert found["again"] == found["after"]
    assert [event["id"] for event in found["compacted"]] == ["evt_1"]
    assert found["idle"] == 0, "a summary is no message of the agent"


def test_the_end_of_a_message_reaches_the_daemon_and_comes_with_the_next_prompt(run: Any) -> None:
    found = run("message_end")
    assert found["idle"]["text"].endswith("Shall I?")
    assert len(found["idle"]["text"]) == 4000
    assert found["prompt"]["previous"] == found["idle"]["text"]


def test_a_child_session_is_told_as_a_subagent(run: Any) -> None:
    found = run("subagent")
    assert found["kinds"] == ["subagent", "prompt"]
    assert (found["first"]["parentID"], found["first"]["text"]) == ("s1", "look around")
    assert found["system"] == ["<env>\n\nSUB"]


def test_a_fork_on_a_busy_machine_is_still_told_as_one(run: Any) -> None:
    """OpenCode takes 400 ms to describe the session."""
    (start,) = run("slow_fork")
    assert {name: start[name] for name in ("source", "forkOf", "originals", "copies")} == {
        "source": "fork",
        "forkOf": "s1",
        "originals": ["m1"],
        "copies": ["copy"],
    }


def test_a_deleted_session_is_told_and_forgotten(run: Any) -> None:
    found = run("deleted")
    assert [event["sessionID"] for event in found["told"]] == ["s1"]
    assert found["starts"] == 2


@pytest.mark.parametrize("named", ["500.5", "1e3", "-1", "soon"])
def test_a_deadline_that_is_no_whole_number_is_not_taken(run: Any, named: str) -> None:
    found = run("start_text", TACIT_HOOK_DEADLINE_MS=named)
    assert found["first"] == ["You are x <env> y\n\nSTART"]


def test_a_daemon_that_never_answers_costs_no_more_than_its_deadline(run: Any) -> None:
    found = run("silent_daemon")
    assert 0 < sum(found["prompt"]) <= 800
    assert sum(found["whole"]) <= 2000
    assert found["lines"] == ["You are x <env> y"]
    assert texts(found["first"][0]) == ["hi"]


def test_without_a_daemon_everything_stays_as_it_is(run: Any) -> None:
    found = run("no_daemon")
    assert found["asked"] <= 2, "a daemon that is not there is not asked again and again"
    assert found["lines"] == ["You are x <env> y"]
    assert texts(found["first"][0]) == ["hi"]


def test_an_answer_that_came_too_late_is_fetched_before_the_next_request(run: Any) -> None:
    assert texts(run("late_answer")["first"][0]) == ["hi", "FOR m1"]


def test_wrong_answers_and_wrong_inputs_never_throw_or_change_a_request(run: Any) -> None:
    found = run("garbage")
    assert found[::2] == [["You are x <env> y"]] * 5
    assert [[texts(message) for message in messages] for messages in found[1::2]] == [[["hi"]]] * 5


def test_at_most_200_sessions_are_held(run: Any) -> None:
    assert run("bounded") == {"kept": 205, "after": 206}


def test_text_for_every_call_is_the_newest(run: Any) -> None:
    found = run("every_call")
    assert found["first"][0].endswith("\n\nMEMORY 1")
    assert found["second"] == found["again"]
    assert found["second"][0].endswith("\n\nMEMORY 2")
    assert [texts(message) for message in found["messages"]] == [["hi"], ["hi"]]


def test_a_second_copy_of_the_plugin_does_nothing(run: Any) -> None:
    found = run("second_copy")
    assert found["one"] > 5
    assert found["two"] == 0


def test_the_end_of_the_program_is_told(run: Any) -> None:
    (end,) = run("goodbye")
    assert (end["sessionID"], end["reason"]) == ("s1", "dispose")


def test_huge_tool_calls_are_cut_before_they_are_sent(run: Any) -> None:
    assert run("huge_tool")["size"] < 40_000


def test_opencode_2_by_its_documentation(run: Any) -> None:
    found = run("version_two")
    assert found["first"] == [{"type": "text", "text": "START"}, {"type": "text", "text": "FOR m1"}]
    assert found["second"][2] == {"type": "text", "text": "FIX c1"}
    assert found["title"] == []
    assert found["empty"]
    assert found["garbage"]


def test_a_headless_run_of_ours_gets_no_hooks(run: Any) -> None:
    assert run("hooks", TACIT_HEADLESS="1") == []
    assert "chat.message" in run("hooks")
