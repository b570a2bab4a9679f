from __future__ import annotations

import gzip
import json
from pathlib import Path

import httpx2 as httpx
import pytest

from scripted_model import ScriptedModel, ScriptedReply, decide, find_places, read_tool_directives
from tacit.hosts.probe.wire import CallTool, Refuse, Say, WireTurn, find_text, newest_prompt, read_turns

TOOLS = [{"name": "Bash"}]


def user(text):
    return {"role": "user", "content": text}


def post(stub, path, **body):
    return httpx.post(stub.url + path, json={"model": "m", **body}, trust_env=False)


def stream_events(response):
    return [json.loads(line[6:]) for line in response.text.splitlines() if line.startswith("data: {")]


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


def test_directives_call_one_tool_per_result_then_speak():
    prompt = 'do STUB_TOOL {"name":"a","input":{"x":1}} STUB_TOOL {broken} STUB_TOOL {"name":"b","input":{}} STUB_TEXT "all done"'
    assert read_tool_directives(prompt) == (CallTool(name="a", input={"x": 1}), CallTool(name="b"))
    answers = [decide((), prompt, n, tools=True, number=7) for n in range(3)]
    assert answers == [CallTool(name="a", input={"x": 1}), CallTool(name="b"), Say(text="all done")]
    assert decide((), prompt, 0, tools=False, number=7) == Say(text="all done")
    assert decide((), "STUB_HTTP 503", 0, tools=True, number=1) == Refuse(status=503)
    assert decide((), "hi", 0, tools=True, number=3) == Say(text="STUB-OK 3")
    assert decide((), "STUB_TEXT word rest", 0, tools=True, number=3) == Say(text="word")


def test_script_goes_before_directives_and_follows_the_tool_results():
    script = [ScriptedReply(when="^fix", answers=(CallTool(name="Read", input={"p": 1}), Say(text="fixed")))]
    assert decide(script, "fix it STUB_TEXT no", 0, tools=True, number=1) == CallTool(
        name="Read", input={"p": 1}
    )
    assert decide(script, "fix it", 1, tools=True, number=1) == Say(text="fixed")
    assert decide(script, "fix it", 9, tools=True, number=1) == Say(text="fixed")
    assert decide(script, "other", 0, tools=True, number=2) == Say(text="STUB-OK 2")


def test_anthropic_text_tool_and_stream():
    with ScriptedModel() as stub:
        said = post(stub, "/v1/messages", messages=[user("STUB_TEXT hi")]).json()
        assert said["content"] == [{"type": "text", "text": "hi"}]
        assert said["stop_reason"] == "end_turn"
        call = 'STUB_TOOL {"name":"Bash","input":{"command":"ls"}} STUB_USAGE 199000'
        called = post(stub, "/v1/messages", messages=[user(call)], tools=TOOLS).json()
        assert called["content"][0]["name"] == "Bash"
        assert called["usage"]["input_tokens"] == 199_000
        events = stream_events(post(stub, "/v1/messages", messages=[user(call)], tools=TOOLS, stream=True))
        assert events[0]["type"] == "message_start"
        assert json.loads(events[2]["delta"]["partial_json"]) == {"command": "ls"}
        assert events[-2]["delta"]["stop_reason"] == "tool_use"


def test_chat_completions_text_tool_and_stream():
    with ScriptedModel(usage_tokens=77) as stub:
        said = post(stub, "/v1/chat/completions", messages=[user("STUB_TEXT hi")]).json()
        assert said["choices"][0]["message"]["content"] == "hi"
        assert said["usage"]["prompt_tokens"] == 77
        call = 'STUB_TOOL {"name":"bash","input":{"command":"ls"}}'
        streamed = post(stub, "/v1/chat/completions", messages=[user(call)], tools=TOOLS, stream=True)
        assert streamed.text.endswith("data: [DONE]\n\n")
        choice = stream_events(streamed)[0]["choices"][0]["delta"]["tool_calls"][0]["function"]
        assert (choice["name"], json.loads(choice["arguments"])) == ("bash", {"command": "ls"})


def test_responses_text_tool_and_stream():
    with ScriptedModel() as stub:
        said = post(stub, "/v1/responses", input="STUB_TEXT hi").json()
        assert said["output"][0]["content"][0]["text"] == "hi"
        items = [
            {"type": "message", "role": "user", "content": 'STUB_TOOL {"name":"x","input":{}} STUB_TEXT end'},
            {"type": "function_call_output", "output": "ok"},
        ]
        assert post(stub, "/v1/responses", input=items[:1], tools=TOOLS).json()["output"][0]["name"] == "x"
        events = stream_events(post(stub, "/v1/responses", input=items, tools=TOOLS, stream=True))
        assert [event["sequence_number"] for event in events] == list(range(len(events)))
        assert events[-1]["response"]["output"][0]["content"][0]["text"] == "end"


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


def test_unknown_paths_and_refusals_are_errors():
    with ScriptedModel() as stub:
        assert post(stub, "/v1/other").status_code == 404
        assert post(stub, "/v1/messages", messages=[user("STUB_HTTP 529")]).status_code == 529
        assert post(stub, "/v1/messages/count_tokens", messages=[]).json() == {"input_tokens": 1000}


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
        (streamed,) = stream_events(
            post(stub, f"{path}:streamGenerateContent?alt=sse", contents=contents, tools=tools)
        )
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
