"""Drives the real OpenCode client against the stub model: `opencode serve` and its HTTP interface."""

from __future__ import annotations

import socket
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import httpx2 as httpx

from e2e.drivers.sandbox import PATIENT, Sandbox
from tacit.hosts.opencode import install as opencode

MODEL = {"providerID": opencode.PROVIDER, "modelID": opencode.MODEL}


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenCodeTurn:
    """One finished prompt: the text of the answer's last message."""

    text: str
    took_ms: float
    error: object = None


class OpenCode:
    """The client of one sandbox's person."""

    def __init__(self, sandbox: Sandbox, executable: Path) -> None:
        self.sandbox = sandbox
        self.executable = executable

    @property
    def plugins(self) -> Path:
        return self.sandbox.home / ".config" / "opencode" / "plugins"

    def install(self) -> None:
        """Install Tacit for this client, as the person would."""
        self.sandbox.tacit("install", "opencode", "--yes")

    def serve(self, **environment: str) -> OpenCodeServer:
        """Start `opencode serve` in the project."""
        return OpenCodeServer(self, **environment)

    def environment(self, **more: str) -> dict[str, str]:
        sandbox = self.sandbox
        base = opencode.environment(sandbox.stub.url, home=sandbox.home, tacit_home=sandbox.tacit_home)
        return {**base, **PATIENT, **more}


class OpenCodeServer:
    """One `opencode serve` process. A context manager."""

    def __init__(self, client: OpenCode, **environment: str) -> None:
        started = time.monotonic()
        self._start(client, environment)
        while not self._is_up(180):  # somebody else may have taken the port between the look and the start
            assert "ServeError" in self._end_of_log(), f"opencode serve ended\n{self._end_of_log()}"
            self._http.close()
            self._start(client, environment)
        self.start_ms = (time.monotonic() - started) * 1000

    def _start(self, client: OpenCode, environment: dict[str, str]) -> None:
        port = _free_port()
        self.log = client.sandbox.root / f"opencode-{port}.log"
        with self.log.open("w") as log:
            self._process = client.sandbox.start(
                [str(client.executable), "serve", "--port", str(port), "--hostname", "127.0.0.1"],
                client.environment(**environment),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        self.address = f"http://127.0.0.1:{port}"
        self._http = httpx.Client(base_url=self.address, timeout=240, trust_env=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error) -> None:
        self.close()

    def create_session(self) -> str:
        """Open a session; return its id."""
        return self._call("POST", "/session", {})["id"]

    def prompt(self, session: str, text: str, **more) -> OpenCodeTurn:
        """Send one prompt and wait for the whole turn."""
        started = time.monotonic()
        body = {"model": MODEL, "parts": [{"type": "text", "text": text}], **more}
        reply = self._call("POST", f"/session/{session}/message", body)
        texts = [part.get("text", "") for part in reply.get("parts", []) if part.get("type") == "text"]
        return OpenCodeTurn(
            text="\n".join(texts),
            took_ms=(time.monotonic() - started) * 1000,
            error=reply.get("info", {}).get("error"),
        )

    def summarize(self, session: str) -> None:
        """Compact the session through the interface."""
        assert self._call("POST", f"/session/{session}/summarize", MODEL) is True

    def fork(self, session: str, **place: str) -> str:
        """Fork the session, before the message `messageID` if that is given; return the id of the fork."""
        return self._call("POST", f"/session/{session}/fork", place)["id"]

    def messages(self, session: str) -> list[dict]:
        """The stored history."""
        return self._call("GET", f"/session/{session}/message")

    def delete(self, session: str) -> None:
        """Delete the session and its children."""
        assert self._call("DELETE", f"/session/{session}") is True

    def close(self) -> None:
        """End the server."""
        self._http.close()
        self._process.terminate()
        self._process.wait(60)

    def _call(self, method: str, path: str, body: object = None):
        reply = self._http.request(method, path, json=body)
        assert reply.status_code == 200, (
            f"{method} {path}: {reply.status_code} {reply.text}\n{self._end_of_log()}"
        )
        return reply.json()

    def _is_up(self, timeout_s: float) -> bool:
        """Wait until the server answers; False when it has ended instead."""
        # A request that arrives while the server still starts is never answered: ask often, wait briefly.
        end = time.monotonic() + timeout_s
        while time.monotonic() < end:
            if self._process.poll() is not None:
                return False
            try:
                if self._http.get("/global/health", timeout=1).status_code == 200:
                    return True
            except httpx.TransportError:
                pass
            time.sleep(0.05)
        raise AssertionError(f"opencode serve did not answer\n{self._end_of_log()}")

    def _end_of_log(self) -> str:
        return self.log.read_text(errors="replace")[-3000:]


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
