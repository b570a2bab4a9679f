"""A model server on the loopback, for providers that talk HTTP.

In: requests of OpenAI's `/embeddings` and Ollama's `/api/embed`. Out: vectors of the fake embedder, or what `replies` says.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from loopback import QuietHandler, stoppable
from tacit.providers.embedding import FakeEmbedder


@dataclass
class Reply:
    """What to answer once instead of vectors."""

    status: int = 200
    body: str = "{}"
    headers: dict[str, str] = field(default_factory=dict)


@dataclass
class ModelServer:
    """What the test sees: the address, the requests that came, and replies to give first."""

    address: str
    requests: list[tuple[str, dict[str, str], dict[str, Any]]] = field(default_factory=list)
    replies: list[Reply] = field(default_factory=list)
    dimensions: int = 16
    pause_s: float = 0.0
    """How long it waits before every answer."""
    stop: Callable[[], None] = field(default=lambda: None)
    """Ends the server before the block does: its port refuses."""


@contextmanager
def model_server(*, dimensions: int = 16) -> Iterator[ModelServer]:
    """Run the server until the block ends."""
    seen = ModelServer(address="", dimensions=dimensions)

    class Handler(QuietHandler):
        def do_POST(self) -> None:  # noqa: N802 - the name that the library calls
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            seen.requests.append((self.path, {k.lower(): v for k, v in self.headers.items()}, body))
            time.sleep(seen.pause_s)
            reply = seen.replies.pop(0) if seen.replies else Reply(body=json.dumps(vectors(self.path, body)))
            data = reply.body.encode()
            self.send_response(reply.status)
            for name, value in reply.headers.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    def vectors(path: str, body: dict[str, Any]) -> dict[str, Any]:
        rows = (FakeEmbedder(dimensions=dimensions).embed(body["input"]) * 3).tolist()
        if path.endswith("/api/embed"):
            return {"model": body["model"], "embeddings": rows}
        data = [{"object": "embedding", "index": i, "embedding": row} for i, row in enumerate(rows)]
        return {"object": "list", "data": data[::-1], "model": body["model"]}  # any order is allowed

    with stoppable(Handler) as (seen.address, seen.stop):
        yield seen
