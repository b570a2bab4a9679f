"""A language model that somebody has taken in: it answers requests to write up a session with what an attacker wants.

In: what it is to claim of each session. Out: an address that speaks the chat completions of OpenAI, and the requests that came.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

MARK = re.compile(r"CASE-[a-z]+\d+")
"""Names a case in the first message of its session."""


_ESCAPE = re.compile(r'\\(["\\/bfnrt]|u[0-9a-f]{4})|\\')


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One statement of an answer.

    Attributes:
        content: what it states.
        quote: the words it quotes.
        kind: its kind.
        fates: (words of a memory, fate) for memories that were sent along.
        role: whose message it names: that of this speaker, whatever it says; "" = the first message that holds the quote.
    """

    content: str
    quote: str
    kind: str = "decision"
    fates: tuple[tuple[str, str], ...] = ()
    role: str = ""


@dataclass(slots=True)
class TakenIn:
    """What the model claims of each case, and what it was sent."""

    claims: dict[str, tuple[Claim, ...]] = field(default_factory=dict[str, tuple[Claim, ...]])
    sent: dict[str, str] = field(default_factory=dict[str, str])
    address: str = ""

    def answer(self, question: str) -> dict[str, object]:
        """The answer to one request: what it claims of a session; of a comparison of statements, that all may stay."""
        if "\nMessages:\n" not in question:
            return {"fates": []}
        match = MARK.search(question)
        mark = match[0] if match else ""
        self.sent[mark] = self.sent.get(mark, "") + question
        memories, _, messages = question.partition("\nMemories:\n")[2].partition("\nMessages:\n")
        near, conversation = _rows(memories), _rows(messages)
        return {"statements": [_statement(claim, near, conversation) for claim in self.claims.get(mark, ())]}

    @contextmanager
    def serving(self) -> Generator[TakenIn]:
        """Answer until the block ends."""
        model = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                pass

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                data = json.dumps(_completion(model.answer(body["messages"][-1]["content"]))).encode()
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        self.address = f"http://127.0.0.1:{server.server_port}"
        try:
            yield self
        finally:
            server.shutdown()
            server.server_close()
            thread.join()


def _rows(text: str) -> list[dict[str, Any]]:
    """Rows of a request; where a redacted stretch begins within an escape, the rest of the escape is plain text."""
    whole = _ESCAPE.sub(lambda match: match[0] if match[1] else r"\\", text.strip() or "[]")
    return json.loads(whole, strict=False)


def _statement(
    claim: Claim, near: Sequence[Mapping[str, Any]], conversation: Sequence[Mapping[str, Any]]
) -> dict[str, object]:
    fates = [
        {"memory": memory["memory"], "fate": fate, "reason": "newer"}
        for words, fate in claim.fates
        for memory in near
        if words.casefold() in str(memory["text"]).casefold()
    ]
    return {
        "content": claim.content,
        "kind": claim.kind,
        "message": _number(claim, conversation),
        "quote": claim.quote,
        "when": [],
        "confidence": 0.9,
        "fates": fates,
    }


def _number(claim: Claim, conversation: Sequence[Mapping[str, Any]]) -> int:
    words = _plain(claim.quote)
    # The first message names the case.
    holding = [
        int(message["message"]) for message in conversation[1:] if words in _plain(str(message["text"]))
    ]
    spoken = [int(message["message"]) for message in conversation[1:] if message["role"] == claim.role]
    return next(iter(spoken[::-1] if claim.role else holding), 1)


def _plain(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))


def _completion(answer: object) -> dict[str, object]:
    message = {"role": "assistant", "content": json.dumps(answer), "refusal": None}
    return {
        "id": "c",
        "object": "chat.completion",
        "created": 0,
        "model": "taken-in",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120},
    }
