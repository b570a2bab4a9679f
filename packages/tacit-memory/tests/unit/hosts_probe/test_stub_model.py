from __future__ import annotations

import gzip
import json
from pathlib import Path

import httpx2 as httpx
import pytest

from scripted_model import ScriptedModel, ScriptedReply, find_places
from tacit.hosts.probe.wire import CallTool, Say, WireTurn, find_text, newest_prompt, read_turns

TOOLS = [{"name": "Bash"}]


def user(text):
    return {"role": "user", "content": text}


def post(stub, path, **body):
    return httpx.post(stub.url + path, json={"model": "m", **body}, trust_env=False)


def test_places_come_in_document_order_with_path_and_offset():
    body = {
        "system": "x",
        "messages": [user("one NONCE two NONCE"), user([{"type": "text", "text": "NONCE"}])],
    }
    assert find_text(body, "NONCE") == [
        "messages[0].content",
        "messages[0].content",
        "messages[1].content[0].text",
    ]
    assert [place.offset for place in find_places(body, "NONCE")] == [4, 14, 0]
    assert find_text(body, "absent") == []


def test_text_beside_a_tool_result_is_not_a_new_prompt():
    body = {
        "messages": [
            user("go"),
            {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "Bash", "input": {}}]},
            user([{"type": "tool_result", "content": "out"}, {"type": "text", "text": "Reminder: be brief"}]),
        ]
    }
    assert read_turns(body)[-1] == WireTurn(role="tool", text="out")
    assert newest_prompt(read_turns(body)) == ("go", 1)


def test_host_reminders_are_not_part_of_the_prompt():
    body = {"messages": [user("<system-reminder>\nSTUB_TEXT no\n</system-reminder>\nhello")]}
    assert newest_prompt(read_turns(body)) == ("hello", 0)


def test_record_keeps_requests_without_credentials(tmp_path: Path):
    with ScriptedModel(record=tmp_path / "log") as stub:
        httpx.post(
            f"{stub.url}/v1/messages?beta=true",
            content=gzip.compress(json.dumps({"messages": [user("NONCE")], "tools": TOOLS}).encode()),
            headers={"content-encoding": "gzip", "x-api-key": "secret-key", "X-Session-Id": "ses_1"},
            trust_env=False,
        )
        httpx.get(f"{stub.url}/v1/models", trust_env=False)
        (request,) = stub.agent_requests
        assert len(stub.requests) == 2
        assert stub.wait_for("NONCE", timeout_s=0.1) == request
        assert stub.wait_for("absent", timeout_s=0.01) is None
        stub.clear()
        assert stub.requests == ()
    assert request.path == "/v1/messages"
    assert request.headers["x-api-key"] == "***"
    assert request.headers["x-session-id"] == "ses_1"
    assert request.find("NONCE") == ["messages[0].content"]
    kept = (tmp_path / "log" / "001.json").read_text()
    assert "NONCE" in kept
    assert "secret-key" not in kept


@pytest.mark.parametrize("content", [b"", b"not json", b"[1]"])
def test_unreadable_bodies_get_an_answer_and_a_record(content: bytes):
    with ScriptedModel() as stub:
        assert httpx.post(f"{stub.url}/v1/messages", content=content, trust_env=False).status_code == 200
        assert len(stub.model_requests) == 1


def test_gemini_requests_are_read_and_answered_whole_or_as_a_stream():
    call = {"functionCall": {"name": "read_file", "args": {"file_path": "/x"}}}
    result = {"functionResponse": {"name": "read_file", "response": {"output": "out"}}}
    contents = [
        {"role": "user", "parts": [{"text": "<session_context>x</session_context>"}, {"text": "step one"}]},
        {"role": "model", "parts": [call]},
        {"role": "user", "parts": [result]},
    ]
    tools = [{"functionDeclarations": [{"name": "read_file"}]}]
    script = [
        ScriptedReply(
            when="^step one$",
            answers=(CallTool(name="read_file", input={"file_path": "/x"}), Say(text="read")),
        )
    ]
    path = "/v1beta/models/gemini-2.5-pro"
    with ScriptedModel(script) as stub:
        whole = post(stub, f"{path}:generateContent", contents=contents[:1], tools=tools).json()
        streaming = post(stub, f"{path}:streamGenerateContent?alt=sse", contents=contents, tools=tools)
        streamed = json.loads(streaming.text.removeprefix("data: "))
        counted = post(stub, f"{path}:countTokens", contents=contents).json()
        title = post(
            stub, f"{path}:generateContent", contents=contents[:1], tools=[{"functionDeclarations": []}]
        )
        requests = stub.model_requests
    assert whole["candidates"][0]["content"]["parts"] == [call]
    assert streamed["candidates"][0]["content"]["parts"] == [{"text": "read"}]
    assert streamed["usageMetadata"]["promptTokenCount"] == 1000
    assert counted == {"totalTokens": 1000}
    assert "text" in title.json()["candidates"][0]["content"]["parts"][0], "without tools no tool is called"
    assert [(request.api, request.model, request.offers_tools) for request in requests] == [
        ("gemini", "gemini-2.5-pro", True),
        ("gemini", "gemini-2.5-pro", True),
        ("gemini", "gemini-2.5-pro", False),
    ]
    assert requests[1].turns[-1] == WireTurn(role="tool", text="out")
    assert len(requests[1].messages) == 3
