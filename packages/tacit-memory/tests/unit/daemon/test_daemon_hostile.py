"""A real daemon under attack on its loopback port, and asked for everything its OpenAPI document promises."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass

import pytest

from tacit.client.daemon_client import DaemonClient
from tacit.config.home import Home
from tacit.daemon.hooks import MAX_BODY_BYTES

pytestmark = pytest.mark.slow
FUZZING = """\
[checks.negative_data_rejection]
expected-statuses = [400, 401, 403, 404, 405, 409, 412, 413, 415, 422, 431]
[checks.missing_required_header]
expected-statuses = [400, 401, 422]
[parameters]
"header.X-Tacit-Deadline-Ms" = "60000"
"""


@dataclass
class Port:
    client: DaemonClient
    number: int
    token: str

    def ask(self, method: str, path: str, body: bytes = b"", *, wait_s: float = 90.0, **headers: str | None):
        """Status and body of one request, sent as it is; no library tidies the path up."""
        given = {
            "Host": f"127.0.0.1:{self.number}",
            "Authorization": f"Bearer {self.token}",
            "Connection": "close",
        }
        given |= {"Content-Length": str(len(body)), "Content-Type": "application/json"} if body else {}
        given |= {name.replace("_", "-"): value for name, value in headers.items()}
        lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in given.items() if value)]
        with closing(socket.create_connection(("127.0.0.1", self.number), timeout=wait_s)) as connection:
            got = b""
            with suppress(ConnectionError):  # refused before all of it was sent
                connection.sendall("\r\n".join((*lines, "", "")).encode() + body)
            with suppress(ConnectionError):
                while part := connection.recv(65536):
                    got += part
        head, _, rest = got.partition(b"\r\n\r\n")
        return int(head.split()[1]), rest


@pytest.fixture(scope="module")
def port(tmp_path_factory) -> Iterator[Port]:
    home = Home(tmp_path_factory.mktemp("d") / "h")
    home.ensure()
    home.config_file.write_text("embedder:\n  provider: fake\n")
    client = DaemonClient(home)
    client.ensure_running(60.0)
    for words in ("Always run make lint before a commit.", "The billing port is 8080.", "Use uv, not pip."):
        client.request("POST", "/v1/memories", {"content": words})
    client.request("POST", "/v1/recall", {"text": "Which port?", "surface": "prompt"})
    _, told = client.request("POST", "/listen", {})
    yield Port(client=client, number=told["port"], token=told["token"])
    client.stop()


def test_everything_the_document_promises_is_held(port, tmp_path):
    """Streams never end and backups write wherever they are told: both have tests of their own."""
    (tmp_path / "schemathesis.toml").write_text(FUZZING)
    found = subprocess.run(
        [
            sys.executable, "-m", "schemathesis.cli", "run", f"http://127.0.0.1:{port.number}/v1/openapi.json",
            "--header", f"Authorization: Bearer {port.token}",
            "--exclude-path", "/v1/traces/stream", "--exclude-path", "/v1/backups",
            "--phases", "fuzzing", "--max-examples", "1", "--generation-deterministic", "--checks", "all",
            "--exclude-checks", "positive_data_acceptance",  # a text that is no folder or scope is refused
            "--continue-on-failure",
            "--request-timeout", "90", "--no-color", "--warnings", "off",
        ],
        cwd=tmp_path, capture_output=True, text=True, timeout=500,
    )  # fmt: skip
    said = "\n".join(line[:300] for line in found.stdout.splitlines() if line.strip())
    assert found.returncode == 0, said[-6000:]
    assert int(re.search(r"(\d+) generated", said)[1]) > 100, said[-2000:]
    check = port.client.request("POST", "/v1/jobs", {"name": "check", "wait": True})[1]["job"]
    assert (check["state"], check["problems"]) == ("done", [])


def test_no_foreign_page_is_invited(port):
    with closing(socket.create_connection(("127.0.0.1", port.number), timeout=90)) as connection:
        connection.sendall(
            b"OPTIONS /v1/memories HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nOrigin: http://evil.example\r\n"
            b"Access-Control-Request-Method: GET\r\nConnection: close\r\n\r\n" % port.number
        )
        got = connection.recv(65536)
    assert got.startswith(b"HTTP/1.1 403")
    assert b"access-control" not in got.lower()


@pytest.mark.parametrize(
    "path",
    [
        "/v1/../stop", "/v1/..%2fstop", "/v1/%2e%2e/stop", "/../../../../etc/passwd", "/ui/../../../../etc/passwd",
        "/ui/%2e%2e/%2e%2e/%2e%2e/etc/passwd", "/ui/..%2f..%2f..%2fetc/passwd", "//etc/passwd", "/v1//stop",
        "/v1/memories/..%2f..%2fstop", "/v1/agents/%2e%2e%2fx",
        "/v1/memories/%00", "/stop", "/listen",
    ],
)  # fmt: skip
def test_no_path_leads_out(port, path):
    for method in ("GET", "POST"):
        status, said = port.ask(method, path)
        assert b"root:" not in said
        assert 400 <= status < 500 or (path.startswith("/ui/") and status in (200, 307, 503)), (
            status,
            said[:200],
        )
    assert port.client.request("GET", "/health")[0] == 200


@pytest.mark.parametrize(
    "path",
    ["/v1/memories", "/v1/settings", "/v1/recall", "/v1/undo", "/hook/plain", "/hook/claude-code", "/mcp"],
)
def test_deep_json_is_refused(port, path):
    method = "PATCH" if path == "/v1/settings" else "POST"
    for deep in (
        b"[" * 10_000 + b"]" * 10_000,
        b'{"a":' * 10_000 + b"1" + b"}" * 10_000,
        b'{"values":' * 10_000,
    ):
        status, said = port.ask(method, path, deep, Accept="application/json, text/event-stream")
        assert 400 <= status < 500, (status, said[:200])
    assert port.ask("GET", "/v1/status")[0] == 200


def test_large_bodies_are_refused_before_they_are_read(port):
    # Who is still sending when the answer comes may lose its words to the reset, never its first line.
    status, said = port.ask("POST", "/v1/memories", b'{"content": "' + b"x" * 10_000_000 + b'"}')
    assert (status, json.loads(said)["code"] if said else "too_large") == (413, "too_large")
    chunk = b"100000\r\n" + b"y" * 0x100000 + b"\r\n"
    status, said = port.ask(
        "POST", "/v1/memories", chunk * 10 + b"0\r\n\r\n", Content_Length=None, Transfer_Encoding="chunked"
    )
    assert (status, json.loads(said)["code"] if said else "too_large") == (413, "too_large")
    status, _ = port.ask("POST", "/hook/plain", b"z" * (MAX_BODY_BYTES + 1))
    assert 400 <= status < 500
    status, _ = port.ask("GET", "/v1/memories?text=" + "t" * 100_000)
    assert status in (400, 431)


def test_live_traces_reach_a_client_and_end_with_the_daemon(port):
    with closing(socket.create_connection(("127.0.0.1", port.number), timeout=90)) as connection:
        connection.sendall(
            f"GET /v1/traces/stream HTTP/1.1\r\nHost: 127.0.0.1:{port.number}\r\n"
            f"Authorization: Bearer {port.token}\r\n\r\n".encode()
        )
        got = b""
        while b": tacit" not in got:
            got += connection.recv(65536)
        assert b"text/event-stream" in got
        _, told = port.client.request(
            "POST", "/v1/recall", {"text": "Which billing port?", "surface": "prompt"}
        )
        while b"\nid: " not in got or b"data: " not in got:
            got += connection.recv(65536)
        assert f"id: {told['trace']['id']}".encode() in got
        port.client.stop()
        while more := connection.recv(65536):
            got += more
        assert got.endswith(b"\r\n0\r\n\r\n"), "the stream ends by itself; the end of the grace would tear it"
