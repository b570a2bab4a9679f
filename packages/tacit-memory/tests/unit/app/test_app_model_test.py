"""A test of the optional model: what it tells when it answers, and when the key or the address is wrong. The key stands nowhere."""

from __future__ import annotations

import json
import logging

import pytest

from tacit.app.admin.settings import MOST_WAIT_MS
from tacit.safety.trust import USERS_ALONE
from writer_server import Reply, WriterServer, openai_answer, writer_server

KEY = "sk-live-0123456789abcdef"


@pytest.fixture
def server():
    with writer_server() as opened:
        yield opened


@pytest.fixture
def tried(make_engine, monkeypatch, caplog):
    """Ask the model at an address, with or without a key; what came of it, in which the key is nowhere."""

    def ask(address: str, *, key: str = KEY):
        if key:
            monkeypatch.setenv("MY_KEY", key)
        settings = {"provider": "openai", "endpoint": address, "api_key_env": "MY_KEY", "model": "small"}
        engine = make_engine(capture={"extractor": settings})
        with caplog.at_level(logging.DEBUG):
            told = engine.admin.options.try_model("capture.extractor")
        assert KEY[8:] not in repr(told) + caplog.text
        return told

    return ask


def test_what_was_sent_what_came_and_what_it_cost_are_told(server: WriterServer, tried):
    server.replies = [Reply(body=json.dumps(openai_answer("ready")))]
    told = tried(server.address)
    assert told.works
    assert (told.model, told.answer) == ("openai:small", "ready")
    assert (told.tokens_in, told.tokens_out) == (100, 20)
    assert told.seconds >= 0
    (message, question) = server.requests[0][2]["messages"]
    assert told.sent == f"{message['content']} {question['content']}"


def test_a_wrong_key_says_where_the_key_is_set_and_not_what_the_server_repeats(server: WriterServer, tried):
    server.replies = [Reply(status=401, body=json.dumps({"error": f"Incorrect API key provided: {KEY}"}))]
    told = tried(server.address)
    assert not told.works
    assert "refused the key: status 401" in told.problem
    assert "capture.extractor.api_key_env" in told.hint
    assert "MY_KEY" not in told.hint


def test_a_key_that_is_not_set_is_named_by_its_variable(server: WriterServer, tried):
    server.replies = [Reply(status=401)]
    assert "The variable MY_KEY is not set where the daemon runs." in tried(server.address, key="").hint


def test_a_wrong_address_is_told_soon(tried):
    told = tried("http://127.0.0.1:9")
    assert not told.works
    assert "did not answer" in told.problem
    assert told.seconds < MOST_WAIT_MS / 1000


def test_a_server_that_repeats_the_key_in_its_answer_is_not_quoted(server: WriterServer, tried):
    server.replies = [Reply(body=json.dumps(openai_answer(f"ready {KEY}")))]
    assert tried(server.address).answer == "ready [key]"


def test_nothing_is_asked_while_the_model_is_off_and_only_the_user_may_ask(engine):
    told = engine.admin.options.try_model("recall.judge")
    assert (told.works, told.sent) == (False, "")
    assert told.hint == "Set recall.judge.provider first."
    assert "try_model" in USERS_ALONE
