"""The structured part of the answers: it matches the output schemas, names ids, and costs no more than was asked for."""

from __future__ import annotations

import json

import jsonschema
import pytest

from tacit.mcp.server import listed_tools
from tacit.mcp.tools import BY_NAME, call
from tacit.ports.store import MemoryFilter
from tacit.providers.tokens import ExactCounter
from unit.mcp.desk import opened, parser_facts

WORDS = "how are releases of the billing service tagged with calendar versions"
FACT = "Releases of the billing service are tagged with calendar versions."


def data_of(desk, name, **given):
    """The structured answer of a tool, checked against its schema."""
    answer = call(desk.engine, desk.caller, name, given)
    jsonschema.validate(answer.data, BY_NAME[name].gives)
    json.dumps(answer.data)
    return answer.data


def compact(data) -> str:
    """As clients hand it to a model."""
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"))


def test_every_output_schema_is_a_schema():
    for tool in listed_tools("full"):
        jsonschema.Draft202012Validator.check_schema(tool.output_schema)


@pytest.mark.parametrize("preset", ["focused", "typed", "ambient", "multispace", "scoped", "refresh"])
def test_answers_of_every_preset_name_whole_ids(tmp_path, preset):
    for desk in opened(tmp_path, {"preset": preset}):
        name = desk.know(FACT, "decision", when="always")
        found = 0
        for tool, given in (
            ("memory_search", {"query": WORDS}), ("memory_context", {}), ("memory_context", {"query": WORDS}),
            ("inject_context", {"topic": WORDS}), ("get_context_for_task", {"task_description": WORDS}),
        ):  # fmt: skip
            text = call(desk.engine, desk.caller, tool, given).text
            data = data_of(desk, tool, **given)
            memories = data["memories"]
            assert ("calendar versions" in data["text"]) == bool(memories), tool
            assert [one["id"] for one in memories] == ([name] if "calendar versions" in text else []), tool
            found += len(memories)
            assert all(one["kind"] == "decision" for one in memories)
        assert found >= 2
        (listed,) = data_of(desk, "memory_list")["memories"]
        assert listed["id"] == name


def test_writing_tools_say_what_changed_and_what_takes_it_back(desk):
    added = data_of(desk, "memory_add", content="The cache lives in /var/tmp/cache.", kind="fact")
    (change,) = added["changes"]
    assert change["change"] == "add"
    assert change["unconfirmed"]
    assert added["undo"].startswith("chg_")
    updated = data_of(desk, "memory_update", id=change["id"], kind="file_context")
    assert updated["changes"] == [
        {"change": "edit", "id": change["id"], "kind": "file_context", "unconfirmed": True}
    ]
    assert "Changed" in updated["note"]
    forgotten = data_of(desk, "memory_forget", id=change["id"])
    assert [(one["change"], one["id"]) for one in forgotten["changes"]] == [("retire", change["id"])]
    desk.engine.review.undo(forgotten["undo"])
    assert desk.engine.show(change["id"]).status == "quarantined"
    old = data_of(desk, "memory_add", content="Staging listens on port 5433.")["changes"][0]["id"]
    moved = data_of(
        desk, "memory_add", content="Staging moved to a managed instance in Oslo.", replaces=[old]
    )
    assert moved["changes"][0]["change"] == "supersede"
    assert moved["changes"][0]["others"] == [old]


def test_the_other_tools_answer_with_numbers_and_ids(desk):
    name = desk.know("Payments go through Stripe Checkout; we never build card forms of our own.")
    desk.say("Build the card form for payments on the checkout page with Stripe Checkout.")
    assert data_of(desk, "memory_feedback", id=name, useful=True)["counted"]
    assert not data_of(desk, "memory_feedback", id=name, useful=True)["counted"]
    counts = data_of(desk, "memory_stats")
    assert (counts["active"], counts["kinds"], counts["session"]["injected"]) == (1, {"decision": 1}, 1)
    (recall,) = data_of(desk, "memory_why")["recalls"]
    assert recall["given"] == [name]
    assert recall["candidates"][0]["fate"] == "handed over"
    assert data_of(desk, "memory_why", id=name[:14])["recalls"][0]["candidates"][0]["id"] == name


def test_the_structure_holds_the_text_and_the_ids_of_what_it_shows(desk):
    parser_facts(desk)
    desk.say("how is the parser made, its lexer, grammar, token, tree, visitor")
    words = "how is the parser made, its lexer, grammar, token, tree, visitor"
    for tool, given in (
        ("memory_search", {"query": words}), ("inject_context", {"topic": words}),
        ("get_context_for_task", {"task_description": words}), ("memory_list", {}),
    ):  # fmt: skip
        small, large = (data_of(desk, tool, max_tokens=tokens, **given) for tokens in (130, 900))
        assert ExactCounter().count(small["text"]) <= 130, tool
        assert small["more"] > 0, tool
        assert f"({small['more']} more; " in small["text"]
        assert ("offset" in small["text"]) == (tool == "memory_list"), tool
        assert len(large["memories"]) > len(small["memories"]) > 0, tool
        for data in (small, large):
            shown = {
                memory.id
                for memory in desk.engine.list_memories(MemoryFilter())
                if memory.content in data["text"]
            }
            assert {one["id"] for one in data["memories"]} == shown, tool
    for tokens in (130, 900):
        recalls = data_of(desk, "memory_why", max_tokens=tokens)
        assert recalls["recalls"]
        assert ExactCounter().count(compact(recalls)) <= tokens


def test_the_structure_says_what_a_reader_must_know_to_weigh_a_memory(desk):
    added = data_of(desk, "memory_add", content="The cache lives in /var/tmp/cache.", kind="fact")
    assert "unconfirmed" in added["note"], "some clients show the model nothing but the structure"
    assert "unconfirmed" in data_of(desk, "memory_list")["text"]
    assert "unconfirmed" in data_of(desk, "memory_search", query="where does the cache live")["text"]
