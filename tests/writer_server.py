"""A model server on the loopback for writers: OpenAI's chat completions and Anthropic's messages, as strict as theirs.

In: requests. Out: what a model that notes "Worth knowing: ..." would answer, or what `replies` says first. A request that the real
API would refuse is refused with 400, so that no test passes on a shape that only we understand.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from loopback import QuietHandler, loopback

SCHEMA = {
    "type": "object",
    "properties": {"learnings": {"type": "array", "items": {"type": "string"}}},
    "required": ["learnings"],
    "additionalProperties": False,
}
"""Of an answer that says what was noted."""
OPENAI, ANTHROPIC = "/v1/chat/completions", "/v1/messages"
_OPENAI_FIELDS = {"model", "messages", "response_format", "max_completion_tokens"}
_ANTHROPIC_FIELDS = {"model", "messages", "system", "max_tokens", "tools", "tool_choice"}


@dataclass
class Reply:
    """What to answer once: a status with a body, after `wait_s`; `drip` sends it byte by byte."""

    status: int = 200
    body: str = "{}"
    headers: dict[str, str] = field(default_factory=dict)
    wait_s: float = 0.0
    drip: bool = False


@dataclass
class WriterServer:
    """What the test sees: the address, the raw requests that came, and replies to give first."""

    address: str = ""
    requests: list[tuple[str, dict[str, str], dict[str, Any]]] = field(default_factory=list)
    replies: list[Reply] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)

    @property
    def sent(self) -> str:
        """Every byte that was sent in a body, as text."""
        return "\n".join(json.dumps(body, ensure_ascii=False) for _, _, body in self.requests)


def wrong(path: str, headers: dict[str, str], body: dict[str, Any]) -> str:
    """Why the real API would refuse the request; "" = it would not."""
    if path == OPENAI:
        if not headers.get("authorization", "").startswith("Bearer "):
            return "no bearer token"
        if set(body) - _OPENAI_FIELDS:
            return f"unknown fields {set(body) - _OPENAI_FIELDS}"
        if "response_format" not in body:
            return ""
        shape = body["response_format"].get("json_schema", {})
        if body["response_format"].get("type") != "json_schema" or shape.get("strict") is not True:
            return "no strict schema"
        return wrong_schema(shape["schema"])
    if path == ANTHROPIC:
        if not headers.get("x-api-key") or headers.get("anthropic-version") != "2023-06-01":
            return "no key or version"
        if set(body) - _ANTHROPIC_FIELDS or not isinstance(body["max_tokens"], int):
            return f"fields {set(body)}"
        if "tools" not in body:
            return ""
        (tool,) = body["tools"]
        if (
            body["tool_choice"] != {"type": "tool", "name": tool["name"]}
            or body["messages"][0]["role"] != "user"
        ):
            return "no such tool"
        return wrong_schema(tool["input_schema"])
    return f"no such path {path}"


def wrong_schema(schema: dict[str, Any]) -> str:
    """Strict mode wants every field required and no other allowed, at every level."""
    if schema.get("type") == "object":
        if schema.get("additionalProperties") is not False or set(schema["required"]) != set(
            schema["properties"]
        ):
            return "a loose object in the schema"
        return next(filter(None, map(wrong_schema, schema["properties"].values())), "")
    return wrong_schema(schema["items"]) if schema.get("type") == "array" else ""


def text_of(content: str | list[dict[str, Any]]) -> str:
    """The text of a message, which Anthropic's API also takes as blocks."""
    if isinstance(content, str):
        return content
    assert all(
        block["type"] == "text" and set(block) <= {"type", "text", "cache_control"} for block in content
    )
    assert all(block["text"] for block in content), "the real API refuses empty blocks"
    return "".join(block["text"] for block in content)


def learnings(question: str) -> list[Any]:
    """What the model makes of a question: every "Worth knowing: ..." of the user, as the first kind."""
    if "\nMessages:\n" not in question:
        return [
            line.partition("Worth knowing: ")[2]
            for line in question.splitlines()
            if "Worth knowing: " in line
        ]
    kind = question.partition("\n- ")[2].partition("\n")[0].partition(":")[0]
    messages = json.loads(question.partition("\nMessages:\n")[2])
    return [
        {
            "content": line.partition(":")[2].strip().rstrip("."),
            "kind": kind,
            "message": one["message"],
            "quote": line,
            "confidence": 0.8,
        }
        for one in messages
        if one["role"] == "user"
        for line in one["text"].split("\n")
        if line.startswith("Worth knowing: ")
    ]


def openai_answer(found: object, *, refusal: str | None = None, finish: str = "stop") -> dict[str, Any]:
    """A chat completion with structured output."""
    content = None if refusal else json.dumps(found) if not isinstance(found, str) else found
    message = {"role": "assistant", "content": content, "refusal": refusal, "annotations": []}
    return {
        "id": "chatcmpl-1", "object": "chat.completion", "created": 0, "model": "m",
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": finish}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120},
    }  # fmt: skip


def anthropic_answer(found: object, *, stop: str = "tool_use") -> dict[str, Any]:
    """A message whose last block calls the tool."""
    call = {"type": "tool_use", "id": "toolu_1", "name": "answer", "input": found}
    return {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "stop_reason": stop, "stop_sequence": None,
        "content": [{"type": "text", "text": "Here they are."}, *([call] if stop != "refusal" else [])],
        "usage": {"input_tokens": 90, "output_tokens": 20, "cache_read_input_tokens": 10, "cache_creation_input_tokens": 0},
    }  # fmt: skip


@contextmanager
def writer_server() -> Iterator[WriterServer]:
    """Run the server until the block ends."""
    seen = WriterServer()

    class Handler(QuietHandler):
        def do_POST(self) -> None:  # noqa: N802 - the name that the library calls
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            headers = {name.lower(): value for name, value in self.headers.items()}
            seen.requests.append((self.path, headers, body))
            reply = seen.replies.pop(0) if seen.replies else self.answer(headers, body)
            seen.over.wait(reply.wait_s)
            data = reply.body.encode()
            try:
                self.send_response(reply.status)
                for name, value in reply.headers.items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                for part in (data[i : i + 1] for i in range(len(data))) if reply.drip else (data,):
                    self.wfile.write(part)
                    time.sleep(0.02 if reply.drip else 0)
            except OSError:
                self.close_connection = True  # the client went away

        def answer(self, headers: dict[str, str], body: dict[str, Any]) -> Reply:
            if why := wrong(self.path, headers, body):
                return Reply(status=400, body=json.dumps({"error": {"message": why}}))
            found = {"learnings": learnings(text_of(body["messages"][-1]["content"]))}
            made = openai_answer(found) if self.path == OPENAI else anthropic_answer(found)
            return Reply(body=json.dumps(made))

    with loopback(Handler) as seen.address:
        try:
            yield seen
        finally:
            seen.over.set()
