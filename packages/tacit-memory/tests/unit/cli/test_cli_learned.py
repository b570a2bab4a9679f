"""`tacit sessions --learned`: what a session taught, with evidence, fate, reminders, requests and what waits."""

from __future__ import annotations

import json
import time

import pytest

from agent import send
from tacit.app.delivery_texts import EVERY, NUDGE
from tacit.model.memory import Speaker
from transcripts import exchange, write_transcript
from writer_server import Reply, openai_answer, writer_server

TASK = "Put the rate limiter into the gateway, the billing service must stay free of it. Go."
DONE = "I moved the limiter. The gateway keeps its counters in Redis because several gateways share them."
RULE = "Always run ruff before every commit."


class Work:
    """Sessions of Claude Code in the project, told by hooks."""

    def __init__(self, tacit):
        self.tacit = tacit
        tacit.daemon.ensure_running()

    @property
    def engine(self):
        return self.tacit.daemon.engine

    def hook(self, event, session="s1", **fields):
        return send(self.engine, self.tacit.project, event, session, **fields)

    def says(self, text, session="s1"):
        return self.hook("UserPromptSubmit", session, prompt=text, transcript_path="")

    def ends(self, *said, session="s1"):
        """The session ends with a transcript of what was said in turn."""
        path = self.tacit.project.parent / f"{session}.jsonl"
        write_transcript(path, *exchange(*said), cwd=self.tacit.project, session=session)
        self.hook("SessionEnd", session, reason="other", transcript_path=str(path))
        self.engine.learning.capture_pending()

    def until_asked(self):
        """Wait for the request that is made behind a session's end."""
        until = time.monotonic() + 30
        while not self.found("s1")["requests"] and time.monotonic() < until:
            time.sleep(0.02)

    def engine_asks(self, path):
        return self.tacit.daemon.request("GET", path)[1]

    def found(self, *arguments):
        return json.loads(self.tacit("sessions", "--learned", *arguments, "--json").out)["learned"]


@pytest.fixture
def work(tacit):
    return Work(tacit)


def test_before_the_first_session_there_is_nothing_to_tell(tacit):
    said = tacit("sessions", "--learned")
    assert said.code == 0
    assert "No session has been recorded here yet." in said.out
    assert tacit("sessions", "--learned", "nobody").code == 4


def test_each_statement_has_its_evidence_and_its_fate(work, tacit):
    work.says("remember that we use npm in this repo for packages", "s0")
    work.says(RULE)
    work.says("from now on use pnpm instead of npm in this repo for packages")
    work.says(RULE, "s2")
    first = work.found("s1")
    assert first["session"] == "claude-code/s1"
    by_words = {one["memory"]["content"]: one for one in first["statements"]}
    rule = next(one for text, one in by_words.items() if "ruff" in text)
    assert (rule["fate"], rule["believed"], rule["waits"]) == ("new", "your word", False)
    assert rule["evidence"][0]["turn"] == 1
    assert "ruff" in rule["evidence"][0]["span"]
    pnpm = next(one for text, one in by_words.items() if "pnpm" in text)
    assert ["npm" in one["content"] for one in pnpm["replaced"]] == [True]
    (again,) = work.found("s2")["statements"]
    assert again["memory"]["id"] == rule["memory"]["id"]
    assert again["fate"] in ("merged", "duplicate")
    assert again["memory"]["provenance"]["session_id"] == "s1"
    text = tacit("sessions", "--learned", "s1").out
    ending = rule["memory"]["id"][-6:]
    assert ending in text
    assert "replaced" in text
    assert "tacit review accept|edit|reject" in text
    assert tacit("forget", ending).code == 0, "commands take the ending that is shown"
    assert "forgotten" in tacit("sessions", "--learned", "s1").out


def test_the_recall_of_a_prompt_tells_what_was_learned_from_it(work, tacit):
    """Also where it was given nothing; what was quoted, said in another session or in another turn is not told."""
    work.says("please look at the gateway")
    work.says(RULE)
    work.says(f"The README of another team says:\n> {RULE.replace('ruff', 'black')}", "s2")
    answer = tacit("why", "--json").json
    asked = {trace["id"]: trace["text"] for trace in answer["traces"]}
    (learned,) = answer["learned"]
    assert asked[learned["trace_id"]] == RULE
    said = tacit("why", "-n", "20").out
    assert said.count("learned   ") == 1
    assert f"learned   {learned['memory_id']} {learned['content']}" in said
    (alone,) = work.engine_asks(f"/v1/traces/{learned['trace_id']}")["learned"]
    assert alone == learned
    assert tacit("forget", learned["memory_id"]).code == 0
    assert "(forgotten)" in tacit("why", "-n", "20").out


def test_what_an_agent_stores_belongs_to_its_session_and_waits(work, tacit):
    work.says("please look at the gateway")
    work.engine.remember(
        "The gateway is restarted with `make gateway`.", cwd=str(tacit.project), speaker=Speaker.AGENT, source="mcp"
    )  # fmt: skip
    (one,) = work.found("s1")["statements"]
    assert (one["waits"], one["believed"]) == (True, "the agent's word without yours")
    assert "waits for you" in tacit("sessions", "--learned").out
    assert work.found()["waiting"]["statements"] == 1


def test_reminders_are_told(work, tacit):
    work.engine.nudges.record_tools_listed("claude-code")
    work.engine.remember("Run ruff before a commit", kind="guideline", when="commit", cwd=str(tacit.project))
    for number in range(EVERY - 1):
        work.says(f"Please look at file {number}.")
    assert work.found("s1")["reminded"] == []
    assert NUDGE in work.says("Is ruff run before a commit?")
    assert work.found("s1")["reminded"] == [EVERY]
    told = work.engine.admin.learned.of_session("s1", visibility=work.engine.visibility(Speaker.AGENT))
    assert told.reminded == (), "for the user alone"
    assert f"to note things in turn {EVERY}" in tacit("sessions", "--learned", "s1").out


@pytest.mark.parametrize(("source", "session"), [("mcp", "s1"), ("api", "")])
def test_only_what_an_agents_tool_states_belongs_to_the_session_that_runs(work, tacit, source, session):
    work.says("Please look at the exporter.")
    (change,) = work.engine.remember(
        "The exporter writes UTF-8.", cwd=str(tacit.project), speaker=Speaker.AGENT, source=source
    )
    assert change.memory.provenance.session_id == session


def test_requests_to_a_model_are_told_with_their_cost(tacit, monkeypatch):
    found = {
        "statements": [
            {"content": "The gateway keeps the counters of its rate limiter in Redis because several gateways share them.",
             "kind": "decision", "message": 2, "quote": "The gateway keeps its counters in Redis because several gateways share them",
             "when": [], "confidence": 0.8, "fates": []},
            {"content": "The gateway keeps the counters of its rate limiter in Kafka for several gateways.",
             "kind": "decision", "message": 2, "quote": "keeps its counters in Kafka", "when": [], "confidence": 0.8, "fates": []},
        ]
    }  # fmt: skip
    monkeypatch.setenv("WRITER_KEY", "k")
    with writer_server() as server:
        server.replies += [Reply(status=400), Reply(body=json.dumps(openai_answer(found)))]
        settings = {
            "provider": "openai", "endpoint": f"{server.address}/v1", "model": "m", "api_key_env": "WRITER_KEY", "least_chars": "0",
        }  # fmt: skip
        for key, value in settings.items():
            assert tacit("config", "set", f"capture.extractor.{key}", value).code == 0
        tacit.daemon.stop()
        work = Work(tacit)
        work.ends(TASK, DONE)
        work.until_asked()
        assert work.found("s1")["waiting"]["messages"] == 2
        assert "2 messages for the language model" in tacit("sessions", "--learned").out
        assert not work.engine.learning.write_up_next(at_once=True).error
    told = work.found("s1")
    failed, answered = told["requests"]
    assert failed["error"]
    assert (answered["tokens_in"], answered["tokens_out"], answered["kept"]) == (100, 20, 1)
    assert answered["dropped"] == ["quotes what the message does not say"]
    assert told["dropped"] == [{"reason": "quotes what the message does not say", "count": 1}]
    written = next(one for one in told["statements"] if "Redis" in one["memory"]["content"])
    assert written["evidence"][0]["extractor"]
    assert "written down by" in written["believed"]
    said = tacit("sessions", "--learned").out
    assert "100 tokens in, 20 out, 1 kept, 1 dropped" in said
    assert "no answer" in said


def test_a_program_learns_nothing_of_what_it_may_not_see(work, tacit):
    work.says(RULE)
    work.says("Never push to main without asking me.")
    hidden = next(one for one in work.found("s1")["statements"] if "push" in one["memory"]["content"])[
        "memory"
    ]
    assert tacit("edit", hidden["id"], "--sensitivity", "restricted").code == 0
    tacit.daemon.speaker = Speaker.AGENT
    seen = work.found("s1")
    assert ["ruff" in one["memory"]["content"] for one in seen["statements"]] == [True]
    assert (seen["requests"], seen["dropped"]) == ([], [])
    assert hidden["id"] not in json.dumps(seen)
