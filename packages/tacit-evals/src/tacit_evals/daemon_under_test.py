"""A real daemon in a process of its own, and the smallest client there can be.

In: an interpreter that has `tacit`, a home. Out: replies and their times. Speaks over the Unix socket exactly as the hook
client does: one connection for one request. Children run on the cores of their parent. Ends every process it started.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from tacit.config.home import Home

_MAX_REPLY = 1 << 20
_LATE_S = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class DaemonAnswer:
    """One answer: HTTP status, body, milliseconds from connecting to the last byte."""

    status: int
    body: bytes
    took_ms: float


def post(
    home: Home, target: str, body: bytes, *, timeout_s: float = _LATE_S, token: str = ""
) -> DaemonAnswer:
    """Send one request to the daemon of `home` and read its answer; with a personal `token` the user speaks.

    Raises:
        OSError: nobody listens, or the answer is no answer.
    """
    head = f"POST {target} HTTP/1.1\r\nHost: tacit\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\nConnection: close\r\n"
    head += f"Authorization: Bearer {token}\r\n" if token else ""
    deadline_ms = int(timeout_s * 1000)
    began = time.perf_counter()
    with home.transport().connect(time.monotonic() + timeout_s) as connection:
        connection.settimeout(timeout_s)
        connection.sendall(f"{head}X-Tacit-Deadline-Ms: {deadline_ms}\r\n\r\n".encode() + body)
        data = bytearray()
        while chunk := connection.recv(_MAX_REPLY):
            data += chunk
    took_ms = (time.perf_counter() - began) * 1000
    first, _, rest = bytes(data).partition(b"\r\n")
    if not first.startswith(b"HTTP/1."):
        raise OSError("no answer of a daemon")
    return DaemonAnswer(status=int(first.split()[1]), body=rest.partition(b"\r\n\r\n")[2], took_ms=took_ms)


def worked_ms(pid: int) -> float:
    """Processor time of all threads of a process so far, in ms. It says what a reply costs on a machine that does other work."""
    spent = 0
    for thread in Path(f"/proc/{pid}/task").glob("*/schedstat"):
        with suppress(OSError):  # the thread has ended
            spent += int(thread.read_text().split()[0])
    return spent / 1e6


class DaemonUnderTest:
    """`python -m tacit.daemon` on a home of its own, for the time of a `with` block."""

    def __init__(self, python: Path, home: Path, *, environment: Mapping[str, str] | None = None) -> None:
        self.home = Home(home)
        self._command = [str(python), "-E", "-P", "-m", "tacit.daemon"]
        self._environment = {**os.environ, "TACIT_HOME": str(home), **(environment or {})}
        self._process: subprocess.Popen[bytes] | None = None
        self.started_s = 0.0

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    @property
    def pid(self) -> int:
        """Process id; 0 when it does not run."""
        return self._process.pid if self._process else 0

    def start(self) -> None:
        """Start the process; does not wait for its first answer."""
        self.started_s = time.perf_counter()
        self._process = subprocess.Popen(
            self._command,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def hook(
        self, event: Mapping[str, object], *, host: str = "claude-code", timeout_s: float = _LATE_S
    ) -> DaemonAnswer:
        """Send one event; waits for a daemon that is still starting.

        Raises:
            OSError: none came in time.
        """
        body = json.dumps(event).encode()
        until = time.perf_counter() + _LATE_S
        while True:
            try:
                return post(self.home, f"/hook/{host}", body, timeout_s=timeout_s)
            except (FileNotFoundError, ConnectionRefusedError):
                if time.perf_counter() > until:
                    raise
                time.sleep(0.002)

    def wait_warm(self) -> None:
        """Wait until the daemon has loaded its model and is idle."""
        self.hook(
            {"hook_event_name": "SessionStart", "session_id": "warm-up", "cwd": "/", "source": "startup"}
        )
        prompt = {
            "hook_event_name": "UserPromptSubmit",
            "session_id": "warm-up",
            "cwd": "/",
            "prompt": "warm up now",
        }
        self.hook(prompt)
        time.sleep(1.5)

    def resident_mb(self) -> tuple[float, float]:
        """Resident memory now and at its highest, in MB (2**20 bytes), of the daemon itself."""
        pages = int(Path(f"/proc/{self.pid}/statm").read_text().split()[1])
        lines = Path(f"/proc/{self.pid}/status").read_text().splitlines()
        peak_kb = next((int(line.split()[1]) for line in lines if line.startswith("VmHWM")), 0)
        return pages * os.sysconf("SC_PAGE_SIZE") / 2**20, peak_kb / 1024

    def end(self) -> None:
        """Ask it to leave, then insist."""
        process, self._process = self._process, None
        if process is None:
            return
        with suppress(OSError):
            post(self.home, "/stop", b"", timeout_s=2.0)
        try:
            process.wait(timeout=15)
        except subprocess.TimeoutExpired:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


class EmbedAlone:
    """The embedder alone in a process of its own, asked for one text at a time; with the file of a `store` a plain search in it."""

    def __init__(self, python: Path, store: Path | None = None) -> None:
        script = Path(__file__).with_name("embed_alone.py")
        command = [str(python), "-E", "-P", str(script), *([str(store)] if store else [])]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    @property
    def pid(self) -> int:
        """Process id."""
        return self._process.pid

    def __enter__(self) -> Self:
        assert self._process.stdout is not None
        if self._process.stdout.readline().strip() != "ready":
            raise OSError("the embedder does not start")
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(timeout=15)
        assert self._process.stdout is not None
        self._process.stdout.close()

    def took_ms(self, text: str) -> float:
        """Milliseconds to embed or find `text`, measured inside the process."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(text) + "\n")
        self._process.stdin.flush()
        return float(self._process.stdout.readline())
