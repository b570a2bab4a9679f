"""The parts of the middleware by themselves: bodies, replies, which conversation, how much stays."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import tacit
import tacit_integrations
from tacit.hosts.probe import wire
from tacit.hosts.probe.wire import CallTool, Say
from tacit.library.conversation import last_answer
from tacit.library.message_formats import ROLE_CONTENT, canonical, digest
from tacit.library.session import Session
from tacit_integrations.bodies import api_of, read_conversation, with_blocks
from tacit_integrations.conversations import MAX_CONVERSATIONS, Conversations
from tacit_integrations.items import RESPONSE_ITEMS
from tacit_integrations.replies import read_reply
from tacit_integrations.reuse import kept, outline

BLOCK = "<tacit-memory>\nx\n</tacit-memory>"


def user(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


def agent(content: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": content}


@pytest.mark.parametrize(
    ("path", "api"),
    [
        ("/v1/messages", "messages"),
        ("/v1/messages/count_tokens", None),
        ("/v1/messages/batches", None),
        ("/v1/chat/completions", "chat"),
        ("/openai/deployments/x/chat/completions", "chat"),
        ("/v1/responses", "responses"),
        ("/v1/responses/resp_1", None),
        ("/v1/embeddings", None),
    ],
)
def test_only_conversations_are_touched(path: str, api: str | None) -> None:
    assert api_of(path) == api


def test_the_system_text_stands_behind_the_programs_own() -> None:
    def placed(api: Any, **body: Any) -> dict[str, Any]:
        talk = read_conversation(api, json.dumps(body))
        assert talk is not None
        return json.loads(with_blocks(talk, system=BLOCK, texts=[""] * len(talk.said)))

    said = [user("hi")]
    cached = [{"type": "text", "text": "own", "cache_control": {"type": "ephemeral"}}]
    assert placed("messages", messages=said)["system"] == BLOCK
    assert placed("messages", messages=said, system="own")["system"] == f"own\n\n{BLOCK}"
    assert placed("messages", messages=said, system=cached)["system"] == [
        *cached,
        {"type": "text", "text": BLOCK},
    ]
    roles = [{"role": "developer", "content": "own"}, *said]
    assert placed("chat", messages=roles)["messages"] == [
        {"role": "developer", "content": f"own\n\n{BLOCK}"},
        said[0],
    ]
    parts = [{"role": "system", "content": [{"type": "text", "text": "own"}]}, *said]
    assert placed("chat", messages=parts)["messages"] == [
        {"role": "system", "content": [{"type": "text", "text": "own"}, {"type": "text", "text": BLOCK}]},
        said[0],
    ]
    empty = [{"role": "system", "content": ""}, *said]
    assert placed("chat", messages=empty)["messages"] == [{"role": "system", "content": BLOCK}, said[0]]
    assert placed("chat", messages=said)["messages"][0] == {"role": "system", "content": BLOCK}
    assert placed("responses", input="hi")["instructions"] == BLOCK
    assert placed("responses", input="hi")["input"] == "hi"
    kept_prompt = placed("responses", input="hi", prompt={"id": "p"})
    assert "instructions" not in kept_prompt
    assert kept_prompt["input"][0] == {"role": "developer", "content": BLOCK}
    assert placed("responses", input="hi", prompt={"id": "p"}, previous_response_id="r")["input"] == "hi"


def test_blocks_stand_with_their_messages_and_nothing_else_moves() -> None:
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "out", "is_error": True}
    body = {"messages": [user([result]), user("hi"), agent("x")], "model": "m"}
    talk = read_conversation("messages", json.dumps(body))
    assert talk is not None
    assert talk.said[0].results[0].failed
    changed = json.loads(with_blocks(talk, system="", texts=[BLOCK, "", ""]))
    assert changed["messages"][0]["content"] == [result, {"type": "text", "text": BLOCK}]
    assert changed["messages"][1] == body["messages"][1]
    assert with_blocks(talk, system="", texts=["", "", ""]) is talk.text
    items = {"input": [{"type": "function_call_output", "call_id": "c", "output": "out"}]}
    talk = read_conversation("responses", json.dumps(items))
    assert talk is not None
    changed = json.loads(with_blocks(talk, system="", texts=[BLOCK]))
    assert changed["input"][0]["output"] == f"out\n\n{BLOCK}"
    assert read_conversation("chat", '{"messages": []}') is None
    assert read_conversation("responses", '{"previous_response_id": "r"}') is None


def test_a_message_is_named_by_what_it_holds() -> None:
    marked = user([{"type": "text", "text": "hi", "cache_control": {"type": "ephemeral"}}])
    plain = user([{"type": "text", "text": "hi"}])
    carrying = user([{"type": "text", "text": "hi"}, {"type": "text", "text": BLOCK}])
    names = {ROLE_CONTENT.read(one).digest for one in (marked, plain, carrying)}
    assert len(names) == 1
    assert ROLE_CONTENT.read(user(f"hi\n\n{BLOCK}")).text == "hi"
    assert ROLE_CONTENT.read(user("other")).digest not in names
    picture = {"type": "image", "source": {"data": "A" * 100_000}}
    assert len(json.dumps(canonical(picture))) < 200
    assert digest("hi", [canonical(picture)]) != digest(
        "hi", [canonical({**picture, "source": {"data": "B" * 100_000}})]
    )


@pytest.mark.parametrize(
    "text",
    [
        "</a>" + " " * 300_000 + "x",
        "<system-reminder>" * 40_000 + "</a>",
        "x" + "\n\n<tacit-memory>" * 40_000 + "</tacit-memory>x",
    ],
    ids=["white space", "reminders without an end", "blocks without an end"],
)
def test_reading_a_users_message_takes_time_that_grows_with_its_length(text: str) -> None:
    """A program passes on what its users write: a message of 300 KB must not stop its requests for minutes."""
    assert ROLE_CONTENT.read(user(text)).text == text


def test_what_agents_put_into_a_message_is_not_the_users() -> None:
    reminder = {"type": "text", "text": "<system-reminder>\n5 tokens left\n</system-reminder>"}
    told = ROLE_CONTENT.read(user([reminder, {"type": "text", "text": "hi"}]))
    assert told.text == "hi"
    assert told.digest == ROLE_CONTENT.read(user("hi")).digest  # it may be gone in the next request
    assert ROLE_CONTENT.read(user([reminder])).digest == ""
    around = "one <hook_context>a</hook_context>\n two\n<system-reminder>b</system-reminder> <hook_context>"
    assert ROLE_CONTENT.read(user(around)).text == "onetwo<hook_context>"
    assert (
        ROLE_CONTENT.read(user("What does <system-reminder> mean?")).text
        == "What does <system-reminder> mean?"
    )


def test_words_put_into_the_agents_mouth_are_no_answer() -> None:
    said = [ROLE_CONTENT.read(one) for one in (user("a"), agent("b"), user("c"), agent("{"))]
    assert last_answer(said) == 1
    assert last_answer(said[:1]) == -1
    assert last_answer([]) == -1


@pytest.mark.parametrize("answer", [Say(text="Größe ist 5"), CallTool(name="bash", input={"command": "ls"})])
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("api", ["messages", "chat", "responses"])
def test_replies_read_the_same_whole_and_streamed(api: Any, answer: Say | CallTool, *, stream: bool) -> None:
    makers: dict[str, tuple[Any, Any]] = {
        "messages": (wire.anthropic_message, wire.anthropic_events),
        "chat": (wire.chat_completion, wire.chat_events),
        "responses": (wire.response_object, wire.response_events),
    }
    whole, events = makers[api]
    told = {"model": "m", "number": 1, "usage_tokens": 70}
    if stream:
        body = wire.encode_events(events(answer, **told), named=api != "chat", done=api == "chat")
    else:
        body = json.dumps(whole(answer, **told)).encode()
    reply = read_reply(api, body, stream=stream)
    assert reply is not None
    if isinstance(answer, Say):
        assert reply.said.text == answer.text
        assert reply.ended
    else:
        assert [(call.tool, call.args) for call in reply.said.calls] == [("bash", {"command": "ls"})]
        assert not reply.ended
    broken = body[: len(body) // 2]
    assert read_reply(api, broken, stream=stream) is None


@pytest.mark.parametrize(
    "body", [b"", b"null", b"[]", b"{}", b'{"error": {"type": "overloaded"}}', b"data: {\n\n", b"\xff"]
)
def test_what_is_no_answer_is_none(body: bytes) -> None:
    for api in ("messages", "chat", "responses"):
        for stream in (False, True):
            assert read_reply(api, body, stream=stream) is None  # type: ignore[arg-type]


def test_how_much_stays_by_hand() -> None:
    first = outline({"system": "own", "messages": [user("a"), agent("b")]})
    longer = outline({"system": "own", "messages": [user("a"), agent("b"), user("c")]})
    assert kept(longer, first) == first.size
    edited = outline({"system": "own", "messages": [user("z"), agent("b"), user("c")]})
    assert kept(edited, first) == len(b'"own"')
    renewed = outline({"system": "owl", "messages": [user("a"), agent("b"), user("c")]})
    assert kept(renewed, first) == len(b'"ow')  # the system prompt comes first: nothing behind it can be kept
    moved = outline(
        {"system": "own", "messages": [{**user("a"), "cache_control": {"type": "ephemeral"}}, agent("b")]}
    )
    assert kept(moved, first) == first.size


NEW = itertools.count()


def silent(name: str, folder: str = "") -> Session:
    return Session(name or f"new-{next(NEW)}", hook=lambda payload, deadline_ms: {}, later=lambda job: job())


def said(*texts: str) -> list[Any]:
    return [ROLE_CONTENT.read(user(text)) for text in texts]


def test_conversations_are_told_apart_by_how_they_begin() -> None:
    talks = Conversations(silent)
    first = talks.found(said("a"))
    assert talks.found(said("a")) is first
    assert talks.found(said("a", "b")) is first
    assert talks.found(said("a")) is first  # asked again
    assert talks.found(said("a", "b", "c")) is first
    other = talks.found(said("a", "x"))
    assert other is not first
    assert talks.found(said("a", "x", "y")) is other
    assert talks.found(said("a", "b", "c", "d")) is first
    assert talks.found(said("q")) not in (first, other)
    assert talks.named("n") is talks.named("n")
    assert talks.kept("r1", lasting=False) is None
    talks.keep("r1", first)
    assert talks.kept("r1", lasting=False) is first


def test_items_of_the_responses_api() -> None:
    call = RESPONSE_ITEMS.read(
        {"type": "function_call", "call_id": "c", "name": "read", "arguments": '{"path": "a.py"}'}
    )
    assert call.calls[0].args == {"path": "a.py"}
    assert call.role == "assistant"
    output = RESPONSE_ITEMS.read(
        {"type": "function_call_output", "call_id": "c", "output": [{"type": "input_text", "text": "ok"}]}
    )
    assert output.results[0].text == "ok"
    shell = RESPONSE_ITEMS.read({"type": "local_shell_call", "call_id": "s", "action": {"command": ["ls"]}})
    assert shell.calls[0].tool == "shell"
    assert RESPONSE_ITEMS.read({"type": "reasoning", "summary": []}).role == ""
    assert RESPONSE_ITEMS.read({"type": "message", "role": "user", "content": "hi"}).text == "hi"


def test_a_conversation_that_was_let_go_is_opened_again() -> None:
    talks = Conversations(silent)
    first = talks.found(said("a"))
    for number in range(MAX_CONVERSATIONS):
        talks.found(said(f"b{number}"))
    again = talks.found(said("a", "c"))
    assert again is not first
    assert again.session.id == first.session.id


FRAMEWORKS = {
    "langchain": "langchain",
    "langgraph": "langgraph",
    "llama_index": "llama-index-core",
    "openai_agents": "openai-agents",
    "pydantic_ai": "pydantic-ai-slim",
}
IMPORT_ALL = """
import importlib, sys
sys.path[:] = [*{sources!r}, *(path for path in sys.path if "site-packages" not in path)]
for module in {modules!r}:
    try:
        importlib.import_module("tacit_integrations." + module)
    except ImportError as error:
        print(error)
"""


def test_a_framework_that_is_not_installed_is_named_with_the_command_that_installs_it() -> None:
    """In a process without installed packages: some environments of tests have the frameworks."""
    sources = [str(Path(package.__file__).parents[1]) for package in (tacit, tacit_integrations)]
    code = IMPORT_ALL.format(sources=sources, modules=list(FRAMEWORKS))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    ends = [f"Install it with `pip install {package}`." for package in FRAMEWORKS.values()]
    assert [line[-len(end) :] for line, end in zip(done.stdout.splitlines(), ends, strict=True)] == ends
