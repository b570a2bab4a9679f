"""The product as hosts and agents meet it: a real daemon, the hook client, MCP and the API over the socket.

In: a folder. Out: replies, memories, start blocks. Speaks over the socket, or through the hook client's process where a case
asks for it. Ends the daemon that it started.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import tacit_hook
from tacit_evals.daemon_under_test import DaemonUnderTest

HOOK = Path(tacit_hook.__file__)
USERS = frozenset({"user", "teammate", "proven"})
"""Tiers that the next session believes without a mark."""
_PAGE = 200
_SETTLED_S, _SETTLE_MOST_S = 1.0, 60.0

Memory = Mapping[str, Any]


class Product:
    """One home with its daemon and any number of project folders."""

    def __init__(self, root: Path, python: Path, *, environment: Mapping[str, str] | None = None) -> None:
        self.root = root
        self.home = root / "h"
        self.home.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.environment = {"TACIT_RECALL__DEADLINE_MS": "20000", **(environment or {})}
        self._python = python
        self._daemon = DaemonUnderTest(python, self.home, environment=self.environment)

    @contextmanager
    def running(self) -> Iterator[Product]:
        """With a daemon that has loaded its model."""
        with self._daemon:
            self._daemon.wait_warm()
            yield self

    @contextmanager
    def running_unwarmed(self) -> Iterator[Product]:
        """With a daemon that was just started."""
        with self._daemon:
            yield self

    def settle(self) -> None:
        """Wait until the daemon has written what it knows: nothing new for a second."""
        last, since = -1, time.monotonic()
        until = since + _SETTLE_MOST_S
        while time.monotonic() < min(since + _SETTLED_S, until):
            total = int(self.get("/v1/memories?status=all&limit=1")["total"])
            if total != last:
                last, since = total, time.monotonic()
            time.sleep(0.1)

    def finish(self) -> None:
        """Let the daemon finish its work and start it anew."""
        self._daemon.end()
        self._daemon.start()
        self._daemon.wait_warm()

    def folder(self, name: str) -> Path:
        """A project folder without git."""
        path = self.root / name
        path.mkdir(exist_ok=True)
        return path

    def hook(self, event: str, *, session: str, cwd: Path, by_process: bool = False, **fields: object) -> str:
        """Send one event of Claude Code; what its model would be given."""
        payload = {"hook_event_name": event, "session_id": session, "cwd": str(cwd), **fields}
        if by_process:
            return context_of(self._by_process(payload))
        reply = self._daemon.hook(payload)
        if reply.status != 200:
            raise OSError(f"{event}: status {reply.status}: {reply.body[:300]!r}")
        return context_of(reply.body)

    def _by_process(self, payload: Mapping[str, object]) -> bytes:
        """As the host does: a process of its own, payload on standard input."""
        patient = {"TACIT_HOOK_DEADLINE_MS": "30000"}
        environment = {**os.environ, **patient, **self.environment, "TACIT_HOME": str(self.home)}
        done = subprocess.run(
            [self._python, "-I", "-S", "-E", HOOK, "claude-code"],
            input=json.dumps(payload).encode(),
            env=environment,
            capture_output=True,
            timeout=60,
            check=True,
        )
        return done.stdout

    def whole_session(self, session: str, prompt: str, *, cwd: Path, by_process: bool = False) -> None:
        """A session with one prompt: the hook hears it, the agent works, and the transcript is handed over at its end."""
        path = self.root / f"{session}.jsonl"
        fields = {"transcript_path": str(path)}
        self.hook(
            "UserPromptSubmit", session=session, cwd=cwd, by_process=by_process, prompt=prompt, **fields
        )
        message = {"type": "user", "message": {"role": "user", "content": prompt}}
        content = [{"type": "text", "text": "Done, have a look."}]
        answer = {"type": "assistant", "message": {"role": "assistant", "content": content}}
        write_transcript(path, session, cwd, [message, answer])
        self.hook("Stop", session=session, cwd=cwd, last_assistant_message="Done, have a look.", **fields)
        self.hook("SessionEnd", session=session, cwd=cwd, reason="other", **fields)

    def start_block(self, cwd: Path, *, session: str) -> str:
        """What a new session in that folder is given."""
        return self.hook("SessionStart", session=session, cwd=cwd, source="startup")

    def get(self, path: str) -> dict[str, Any]:
        """GET from the API."""
        return json.loads(self._exchange("GET", path, b"", {}))

    def post(self, path: str, body: Mapping[str, object], *, token: str = "") -> dict[str, Any]:
        """POST to the API, as the user with a personal token; problems come back as they are."""
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        return json.loads(self._exchange("POST", path, json.dumps(body).encode(), headers) or b"{}")

    def memories(self, *, cwd: Path | None = None) -> list[Memory]:
        """All memories in any state; with `cwd` those that may be seen there."""
        memories: list[Memory] = []
        query = f"&cwd={quote(str(cwd))}" if cwd else ""
        cursor = ""
        while True:
            page = self.get(f"/v1/memories?status=all&limit={_PAGE}{query}{cursor}")
            memories += page["memories"]
            if not page["next_cursor"]:
                return memories
            cursor = f"&cursor={quote(page['next_cursor'])}"

    def call_tool(self, name: str, arguments: Mapping[str, object], *, cwd: Path) -> str:
        """Call a tool over MCP as an agent in `cwd` does; its text."""
        call = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": name, "arguments": arguments},
        }
        headers = {
            "Accept": "application/json, text/event-stream",
            "X-Tacit-Cwd": quote(str(cwd)),
            "X-Tacit-Host": "claude-code",
        }
        answer = json.loads(self._exchange("POST", "/mcp", json.dumps(call).encode(), headers))
        content = answer.get("result", {}).get("content", ())
        return "\n".join(item.get("text", "") for item in content) or json.dumps(answer.get("error", ""))

    def _exchange(self, method: str, path: str, body: bytes, headers: Mapping[str, str]) -> bytes:
        lines = [
            f"{method} {path} HTTP/1.1",
            "Host: tacit",
            "Connection: close",
            "Content-Type: application/json",
        ]
        lines += [f"Content-Length: {len(body)}", "X-Tacit-Deadline-Ms: 30000"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        with self._daemon.home.transport().connect(time.monotonic() + 60) as connection:
            connection.settimeout(60)
            connection.sendall("\r\n".join((*lines, "", "")).encode() + body)
            data = bytearray()
            while chunk := connection.recv(1 << 20):
                data += chunk
        return bytes(data).partition(b"\r\n\r\n")[2]


def context_of(reply: bytes) -> str:
    """The text for the model in a hook's answer; the answer itself where it is no JSON."""
    if not reply.strip():
        return ""
    try:
        answer = json.loads(reply)
    except ValueError:
        return reply.decode("utf-8", "replace")
    return str(answer.get("hookSpecificOutput", {}).get("additionalContext", ""))


def believed(memories: Sequence[Memory]) -> list[Memory]:
    """Those that are active and the user's."""
    return [
        memory
        for memory in memories
        if memory["status"] == "active" and memory["provenance"]["tier"] in USERS
    ]


def by_session(memories: Sequence[Memory]) -> dict[str, list[Memory]]:
    """Memories by the session that they came from."""
    grouped: dict[str, list[Memory]] = {}
    for memory in memories:
        grouped.setdefault(memory["provenance"]["session_id"], []).append(memory)
    return grouped


def write_transcript(path: Path, session: str, cwd: Path, lines: Sequence[Mapping[str, object]]) -> None:
    """A transcript as Claude Code writes it; each line has `type` and `message`, and what else the case sets."""
    rows: list[str] = []
    for number, line in enumerate(lines):
        base = {
            "parentUuid": f"u{number - 1}" if number else None,
            "isSidechain": False,
            "userType": "external",
            "uuid": f"u{number}",
            "timestamp": f"2026-03-02T10:{number // 60:02}:{number % 60:02}.000Z",
            "sessionId": session,
            "cwd": str(cwd),
            "version": "2.1.328",
            "gitBranch": "main",
        }
        rows.append(json.dumps({**base, **line}))
    path.write_text("".join(row + "\n" for row in rows), "utf-8")
