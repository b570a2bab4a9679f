"""A loopback server that stands in for the model. In: a host's model requests. Out: answers, and a record of the requests.

Used by `tacit doctor` on the user's machine. The end-to-end tests give it a script (`tests/scripted_model.py`). Binds 127.0.0.1 only, keeps
credentials out of the record, and never sends anything anywhere.
"""

from __future__ import annotations

import gzip
import json
import threading
import time
from collections.abc import Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Literal, Self, cast

from tacit.frozen import frozen
from tacit.hosts.probe import wire
from tacit.hosts.probe.wire import (
    DEFAULT_USAGE_TOKENS,
    Answer,
    CallTool,
    Refuse,
    Say,
    WireTurn,
    as_list,
    as_mapping,
    find_text,
    newest_prompt,
    read_turns,
)

Api = Literal["anthropic", "chat", "responses", "gemini", "other"]
_GEMINI_STREAM = ":streamGenerateContent"

_SECRET_HEADERS = frozenset({"authorization", "x-api-key", "x-goog-api-key"})
_MAX_BODY_BYTES = 64 * 1024 * 1024


@frozen
class StubRequest:
    """One request that the stub model received and recorded.

    Attributes:
        number: from 1, in order of arrival.
        at_ms: milliseconds since the Unix epoch.
        method, path: of the request line, the path without its query.
        headers: names in lower case; credentials are replaced by `***`.
        body: the JSON object sent; empty where there was none.
    """

    number: int
    at_ms: int
    method: str
    path: str
    headers: Mapping[str, str]
    body: Mapping[str, object]

    @property
    def api(self) -> Api:
        """The model API that the path belongs to; `other` = none."""
        if self.path.endswith("/messages"):
            return "anthropic"
        if self.path.endswith("/chat/completions"):
            return "chat"
        if self.path.endswith((":generateContent", _GEMINI_STREAM)):
            return "gemini"
        return "responses" if self.path.endswith("/responses") else "other"

    @property
    def model(self) -> str:
        """The name of the requested model, or "". The Gemini API has it in the path."""
        if self.api == "gemini":
            return self.path.rpartition("/")[2].partition(":")[0]
        return str(self.body.get("model", ""))

    @property
    def stream(self) -> bool:
        """Whether the client wants the answer as a stream."""
        return self.path.endswith(_GEMINI_STREAM) or bool(self.body.get("stream"))

    @property
    def offers_tools(self) -> bool:
        """Whether the model may call tools: true for an agent's own turns, false for titles and summaries."""
        tools = as_list(self.body.get("tools"))
        if self.api == "gemini":
            return any(as_list(as_mapping(each).get("functionDeclarations")) for each in tools)
        return bool(tools)

    @property
    def messages(self) -> tuple[object, ...]:
        """The raw messages of the conversation: `messages`, `input` of the Responses API, or `contents` of the Gemini API."""
        body = self.body
        return tuple(as_list(body.get("messages") or body.get("input") or body.get("contents")))

    @property
    def turns(self) -> tuple[WireTurn, ...]:
        """The conversation as turns with role and text, oldest first."""
        return read_turns(self.body)

    @property
    def prompt(self) -> str:
        """The newest prompt of the user, without reminders that the host added."""
        return newest_prompt(self.turns)[0]

    def find(self, pattern: str) -> list[str]:
        """Return the JSON path of every match of the regular expression `pattern` in the body."""
        return find_text(self.body, pattern)


class StubModel:
    """A model server on the loopback that records requests and answers them. A context manager: it listens inside `with`.

    It makes the tool calls `calls`, the k-th when k tool results follow the user's prompt, and then says that it is done.
    """

    usage_tokens = DEFAULT_USAGE_TOKENS
    """The input tokens that it reports for a count of tokens."""

    def __init__(self, calls: Sequence[CallTool] = ()) -> None:
        self._calls = calls
        self._requests: list[StubRequest] = []
        self._number = 0
        self._lock = threading.Lock()
        self._server = _StubServer(self)
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, name="stub-model", daemon=True
        )

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(timeout=5)

    @property
    def port(self) -> int:
        """The TCP port that it listens on, chosen by the system."""
        return int(self._server.server_address[1])

    @property
    def url(self) -> str:
        """Base URL for ANTHROPIC_BASE_URL and GOOGLE_GEMINI_BASE_URL; OpenAI-compatible clients add `/v1`."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def requests(self) -> tuple[StubRequest, ...]:
        """All recorded requests, in order of arrival."""
        with self._lock:
            return tuple(self._requests)

    @property
    def model_requests(self) -> tuple[StubRequest, ...]:
        """The recorded requests to a model API, without model lists, token counts and probes."""
        return tuple(r for r in self.requests if r.method == "POST" and r.api != "other")

    @property
    def agent_requests(self) -> tuple[StubRequest, ...]:
        """The recorded model requests of the agent itself, which are those that offer tools."""
        return tuple(r for r in self.model_requests if r.offers_tools)

    def clear(self) -> None:
        """Drop the recorded requests; the numbering continues."""
        with self._lock:
            self._requests.clear()

    def keep(
        self, method: str, path: str, headers: Mapping[str, str], body: Mapping[str, object]
    ) -> StubRequest:
        """Record one request, with credentials replaced, and return it. Called by the server's threads."""
        shown = {
            name.lower(): "***" if name.lower() in _SECRET_HEADERS else text for name, text in headers.items()
        }
        with self._lock:
            self._number += 1
            request = StubRequest(
                number=self._number,
                at_ms=time.time_ns() // 1_000_000,
                method=method,
                path=path,
                headers=shown,
                body=body,
            )
            self._requests.append(request)
        return request

    def answer(self, request: StubRequest) -> tuple[Answer, int]:
        """Decide the answer to `request`. Return (answer, input tokens to report as its usage)."""
        _, results = newest_prompt(request.turns)
        called = request.offers_tools and results < len(self._calls)
        return self._calls[results] if called else Say(text="done"), self.usage_tokens


class _StubServer(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, stub: StubModel) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.stub = stub


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    @property
    def stub(self) -> StubModel:
        return cast(_StubServer, self.server).stub

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name belongs to the base class
        """Print nothing: the requests are recorded instead."""

    def do_HEAD(self) -> None:
        self._send(b"", "text/plain")

    def do_GET(self) -> None:
        path = self.path.split("?")[0]
        self.stub.keep("GET", path, dict(self.headers.items()), {})
        if path.endswith("/models"):
            models = [{"id": "stub-model", "object": "model", "owned_by": "stub"}]
            self._send_json({"object": "list", "data": models})
        else:
            self._send_json(wire.error_object(404), status=404)

    def do_POST(self) -> None:
        path = self.path.split("?")[0]
        request = self.stub.keep("POST", path, dict(self.headers.items()), self._read_body())
        if path.endswith("/count_tokens"):
            self._send_json({"input_tokens": self.stub.usage_tokens})
            return
        if path.endswith(":countTokens"):
            self._send_json({"totalTokens": self.stub.usage_tokens})
            return
        if request.api == "other":
            self._send_json(wire.error_object(404), status=404)
            return
        answer, usage = self.stub.answer(request)
        if isinstance(answer, Refuse):
            self._send_json(wire.error_object(answer.status), status=answer.status)
            return
        self._send_answer(request, answer, usage)

    def _send_answer(self, request: StubRequest, answer: Say | CallTool, usage: int) -> None:
        model, number = request.model, request.number
        match request.api:
            case "anthropic":
                whole, events, with_names, done = wire.anthropic_message, wire.anthropic_events, True, False
            case "chat":
                whole, events, with_names, done = wire.chat_completion, wire.chat_events, False, True
            case "gemini":
                whole, events, with_names, done = wire.gemini_response, wire.gemini_events, False, False
            case _:
                whole, events, with_names, done = wire.response_object, wire.response_events, True, False
        if request.stream:
            stream_events = events(answer, model=model, number=number, usage_tokens=usage)
            self._send(wire.encode_events(stream_events, named=with_names, done=done), "text/event-stream")
        else:
            self._send_json(whole(answer, model=model, number=number, usage_tokens=usage))

    def _send_json(self, value: Mapping[str, object], *, status: int = 200) -> None:
        self._send(json.dumps(value).encode(), "application/json", status=status)

    def _send(self, body: bytes, kind: str, *, status: int = 200) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _read_body(self) -> Mapping[str, object]:
        raw = self._read_raw()
        if self.headers.get("content-encoding", "") == "gzip":
            raw = gzip.decompress(raw)
        try:
            value: object = json.loads(raw) if raw else {}
        except ValueError:
            value = {"unreadable": raw[:2000].decode("latin-1")}
        return as_mapping(value)

    def _read_raw(self) -> bytes:
        if "chunked" not in self.headers.get("transfer-encoding", "").lower():
            return self.rfile.read(min(int(self.headers.get("content-length") or 0), _MAX_BODY_BYTES))
        raw = bytearray()
        while size := int(self.rfile.readline().split(b";")[0], 16):
            raw += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return bytes(raw)
