"""Which conversation a request belongs to: the same bytes in every later request, also after a restart, and when the memory fails."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from proxies import Api, RunningProxy, ScriptedMemory, api, proxy, wait_until

Body = dict[str, Any]
FIRST, SECOND, THIRD = "Please commit the changes.", "Which database do we use?", "Thanks, go on."


@pytest.fixture
def upstream() -> Iterator[Api]:
    with api() as served:
        yield served


@pytest.fixture
def memory() -> ScriptedMemory:
    return ScriptedMemory()


@pytest.fixture
def running(tmp_path: Path, upstream: Api, memory: ScriptedMemory) -> Iterator[RunningProxy]:
    with proxy(tmp_path / "home", memory, upstream.url) as served:
        yield served


def talk(*said: str) -> list[dict[str, Any]]:
    """Return alternating messages of the user and of the agent."""
    return [{"role": ("user", "assistant")[at % 2], "content": text} for at, text in enumerate(said)]


def ask(running: RunningProxy, upstream: Api, *said: str, answer: str = "ok", **headers: str) -> Body:
    """Send a request with these messages, and return the body that arrived at the API. The model answers `answer`."""
    content = [{"type": "text", "text": answer}]
    upstream.body = json.dumps(
        {"type": "message", "role": "assistant", "content": content, "stop_reason": "end_turn"}
    ).encode()
    before = len(upstream.arrived)
    assert running.post("/v1/messages", {"model": "m", "max_tokens": 9, "messages": talk(*said)}, **headers).status_code == 200  # fmt: skip
    assert len(upstream.arrived) == before + 1
    settle(running)
    body: Body = json.loads(upstream.arrived[-1].body)
    return body


def settle(running: RunningProxy) -> None:
    """Wait until the answers are in the journal."""
    lines = -1
    path = running.home.proxy_journal
    while (now := path.read_bytes().count(b"\n") if path.exists() else 0) != lines:
        lines = now
        time.sleep(0.03)
    running.memory.flush()


def goes_on(before: Body, after: Body) -> bool:
    """Return whether a request begins with the bytes of an earlier one."""
    return (
        after.get("system") == before.get("system")
        and after["messages"][: len(before["messages"])] == before["messages"]
    )


def blocks(body: Body) -> int:
    return json.dumps(body).count("<tacit-memory")


def test_a_conversation_goes_on_with_the_same_bytes(running: RunningProxy, upstream: Api) -> None:
    first = ask(running, upstream, FIRST)
    second = ask(running, upstream, FIRST, "ok", SECOND)
    third = ask(running, upstream, FIRST, "ok", SECOND, "ok", THIRD)
    assert [blocks(body) for body in (first, second, third)] == [2, 3, 4]
    assert goes_on(first, second)
    assert goes_on(second, third)


def test_a_restarted_proxy_puts_the_same_blocks_at_the_same_places(
    tmp_path: Path, upstream: Api, memory: ScriptedMemory
) -> None:
    with proxy(tmp_path / "home", memory, upstream.url) as running:
        one = ask(running, upstream, FIRST, answer="a")
        two = ask(running, upstream, FIRST, answer="b")
        fork = ask(running, upstream, FIRST, "a", SECOND, answer="c")
        other_fork = ask(running, upstream, FIRST, "a", THIRD, answer="d")
        named = ask(running, upstream, "Hello", **{"x-tacit-session": "mine"})
    assert one["system"] != two["system"]  # each its own session
    with proxy(tmp_path / "home", memory, upstream.url) as running:
        assert goes_on(fork, ask(running, upstream, FIRST, "a", SECOND, "c", "And then?"))
        assert goes_on(other_fork, ask(running, upstream, FIRST, "a", THIRD, "d", "And then?"))
        assert goes_on(two, ask(running, upstream, FIRST, "b", SECOND))
        assert goes_on(named, ask(running, upstream, "Hello", "ok", SECOND, **{"x-tacit-session": "mine"}))
        assert goes_on(one, fork)
    (tmp_path / "home" / "proxy" / "conversations.jsonl").write_bytes(b'{"session": 1}\nnonsense\n')
    with proxy(tmp_path / "home", memory, upstream.url) as running:
        assert blocks(ask(running, upstream, FIRST, "b", SECOND, "ok", THIRD)) > 0


def test_an_edited_history_keeps_what_it_shares(running: RunningProxy, upstream: Api) -> None:
    ask(running, upstream, FIRST)
    before = ask(running, upstream, FIRST, "ok", SECOND)
    edited = ask(running, upstream, FIRST, "ok", "Which editor do we use?")
    assert edited["system"] == before["system"]
    assert edited["messages"][:2] == before["messages"][:2]
    again = ask(running, upstream, FIRST, "ok", SECOND, "ok", THIRD)
    assert goes_on(before, again)
    asked_again = ask(running, upstream, FIRST, "ok", SECOND, "ok", THIRD, answer="better")
    assert asked_again == again


def test_conversations_that_begin_alike_are_told_apart_by_their_answers(
    running: RunningProxy, upstream: Api
) -> None:
    one = ask(running, upstream, FIRST, answer="The first one.")
    two = ask(running, upstream, FIRST, answer="Another one.")
    assert one["system"] != two["system"]
    assert goes_on(one, ask(running, upstream, FIRST, "The  first one.\n", SECOND))
    assert goes_on(two, ask(running, upstream, FIRST, "Another one.", SECOND))


def test_sessions_of_agents_and_folders_are_kept_apart(
    running: RunningProxy, upstream: Api, memory: ScriptedMemory, tmp_path: Path
) -> None:
    for header in ("X-Session-Id", "X-Claude-Code-Session-Id", "session_id"):
        one = ask(running, upstream, FIRST, **{header: "one"})
        two = ask(running, upstream, FIRST, **{header: "two"})
        assert one["system"] != two["system"]
        title = ask(running, upstream, "Write a title.", **{header: "one"})
        assert title["system"] != one["system"]  # another conversation of the same session
        assert goes_on(one, ask(running, upstream, FIRST, "ok", SECOND, **{header: "one"}))
        assert goes_on(two, ask(running, upstream, FIRST, "ok", SECOND, **{header: "two"}))
    here = ask(running, upstream, "Hello")
    there = ask(running, upstream, "Hello", **{"x-tacit-project": str(tmp_path / "other")})
    assert here["system"] != there["system"]
    folders = [event["cwd"] for event in memory.events if event["event"] == "start"]
    assert folders[-2:] == [str(tmp_path), str(tmp_path / "other")]


def test_what_the_api_stores_is_one_conversation(
    tmp_path: Path, upstream: Api, memory: ScriptedMemory
) -> None:
    def respond(running: RunningProxy, name: str, **body: Any) -> Body:
        output = [
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "ok"}]}
        ]
        upstream.body = json.dumps(
            {"object": "response", "id": name, "status": "completed", "output": output}
        ).encode()
        running.post("/v1/responses", {"model": "m", **body})
        settle(running)
        arrived: Body = json.loads(upstream.arrived[-1].body)
        return arrived

    with proxy(tmp_path / "home", memory, upstream.url) as running:
        first = respond(running, "r1", input=FIRST)
        second = respond(running, "r2", input=SECOND, previous_response_id="r1")
    with proxy(tmp_path / "home", memory, upstream.url) as running:
        third = respond(running, "r3", input=THIRD, previous_response_id="r2")
    assert first["instructions"] == second["instructions"] == third["instructions"]
    assert len({body["input"].partition("<tacit-memory")[2] for body in (first, second, third)}) == 3


@pytest.mark.parametrize("failure", ["gone", "late", "broken"])
def test_a_memory_that_fails_costs_the_block_and_nothing_else(
    tmp_path: Path, upstream: Api, memory: ScriptedMemory, failure: str
) -> None:
    told = {"deadline_ms": 1000.0}
    with proxy(tmp_path / "home", memory, upstream.url, **told) as running:
        setattr(memory, failure, True)
        first = ask(running, upstream, FIRST)
        assert all(ms <= 1000.0 for event, ms in memory.deadlines_ms.items() if event != "message_end")
        assert first == {"model": "m", "max_tokens": 9, "messages": talk(FIRST)}
        setattr(memory, failure, False)
        second = ask(running, upstream, FIRST, "ok", SECOND)
        assert goes_on(first, second)
        # The start pack came too late for the system prompt: it stands with the next message.
        assert 'surface="start"' in second["messages"][2]["content"]
        assert 'surface="prompt"' in second["messages"][2]["content"]
        third = ask(running, upstream, FIRST, "ok", SECOND, "ok", THIRD)
        assert goes_on(second, third)
    with proxy(tmp_path / "home", memory, upstream.url, **told) as running:
        fourth = ask(running, upstream, FIRST, "ok", SECOND, "ok", THIRD, "ok", "Go on.")
        assert goes_on(third, fourth)
        fork = ask(running, upstream, FIRST, "ok", SECOND, "ok", "Something else.")
        assert goes_on(second, fork)
        setattr(memory, failure, True)
        assert goes_on(fourth, ask(running, upstream, FIRST, "ok", SECOND, "ok", THIRD, "ok", "Go on.", "ok", "Now."))  # fmt: skip
        assert goes_on(first, ask(running, upstream, FIRST, "ok", SECOND, "ok", "Something else.", "ok", "?"))


def test_a_bug_of_ours_passes_the_request_on(tmp_path: Path, upstream: Api, memory: ScriptedMemory) -> None:
    with proxy(tmp_path / "home", memory, upstream.url) as running:
        running.home.proxy_journal.parent.mkdir()
        running.home.proxy_journal.mkdir()  # nothing can be written there
        assert running.post("/v1/messages", {"messages": talk(FIRST)}).status_code == 200
        assert b"<tacit-memory" in upstream.arrived[-1].body
        for odd in (
            {"role": "user", "content": 7},
            {"role": ["user"], "content": [None, {"type": 5, "text": 5}]},
        ):
            body = json.dumps({"messages": [odd]}).encode()
            assert running.post("/v1/messages", body).status_code == 200
            assert upstream.arrived[-1].body.endswith(body[1:])


@pytest.mark.parametrize("capture", [False, True])
def test_nothing_is_learned_unless_it_is_asked_for(
    tmp_path: Path, upstream: Api, memory: ScriptedMemory, *, capture: bool
) -> None:
    with proxy(tmp_path / "home", memory, upstream.url, capture=capture) as running:
        ask(running, upstream, FIRST, answer="Done.")
        assert wait_until(lambda: any(event["event"] == "message_end" for event in memory.events))
        ended = next(event for event in memory.events if event["event"] == "message_end")
        assert bool(ended["messages"]) is capture
        assert all(event.get("capture", True) is capture for event in memory.events)


def test_no_key_and_no_word_is_kept(
    tmp_path: Path, upstream: Api, memory: ScriptedMemory, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(0)
    with proxy(tmp_path / "home", memory, upstream.url) as running:
        keys = {"authorization": "Bearer sk-hidden-1", "x-api-key": "sk-hidden-2"}
        ask(running, upstream, "Say zebra.", **keys)
        memory.broken = True
        ask(running, upstream, "Say zebra.", "zebra", "Again: zebra.", **keys)
        running.client.get(f"{running.url}/v1/models?key=sk-hidden-3", headers=keys)
        status = (running.home.run_dir / f"proxy-{running.url.rpartition(':')[2]}.json").read_text()
        assert json.loads(status)["port"]
    ours = [record for record in caplog.records if record.name.startswith("tacit")]
    told = " ".join(f"{record.getMessage()} {record.exc_text or ''}" for record in ours)
    kept = b"".join(path.read_bytes() for path in (tmp_path / "home").rglob("*") if path.is_file())
    for word in ("sk-hidden", "zebra"):
        assert word not in told
        assert word.encode() not in kept
    assert not list((tmp_path / "home" / "run").glob("proxy-*.json"))
    assert (tmp_path / "home" / "proxy" / "conversations.jsonl").stat().st_mode & 0o077 == 0
