"""The patterns of `typed` (`presets/typed/patterns.toml`): what they find in the words of agent and user, and what they leave alone."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from presets.acceptance import acceptance
from tacit.capture.heard import MOST_HEARD, find_heard, patterns_of
from tacit.capture.transcript import TranscriptSource
from tacit.hosts.transcripts import ToolUse, Turn
from tacit.model.session import SessionKey
from tacit.reading.explicit import find_explicit

SENTENCES = tomllib.loads((Path(__file__).parent / "data" / "heard.toml").read_text("utf-8"))
HONEST = [row for name in ("honest", "honest_later", "honest_in_chat") for row in SENTENCES[name]]
NOTHING = [row for rows in SENTENCES["nothing"].values() for row in rows]


def turn(who, text, **fields):
    role = "assistant" if who == "agent" else "user"
    return Turn(index=0, number=1, role=role, text=text, **fields)


def heard(who, text):
    """(kind, content) of what the patterns find in one message."""
    return [(each.kind, each.content) for each in find_heard([turn(who, text)], patterns_of("typed"))]


@acceptance("typed", "4.2-patterns", "11-capture")
@pytest.mark.parametrize(("who", "kind", "text"), HONEST)
def test_honest_sentences_are_kept_by_their_kind(who, kind, text):
    by_mark = who == "user" and find_explicit(text)
    assert by_mark or [found for found, _ in heard(who, text)] == [kind]


@acceptance("typed", "4.2-patterns", "11-capture")
@pytest.mark.parametrize(("who", "text"), NOTHING)
def test_what_is_asked_denied_quoted_supposed_or_for_once_leaves_nothing(who, text):
    assert heard(who, text) == []


SEEDS_OWN = [
    ("agent", "decision", "I decided to use JWT with RS256..."),
    ("agent", "decision", "We are choosing FastAPI for the gateway."),
    ("agent", "decision", "We're going with Redis for sessions."),
    ("agent", "decision", "We'll use PostgreSQL for the orders."),
    ("agent", "decision", "I'm opting for Tailwind in the admin area."),
    ("agent", "decision", "We keep one queue per tenant because a slow one must not block the others."),
    ("agent", "decision", "We use gRPC inside, reason being that both ends are ours."),
    ("agent", "decision", "The approach is to shard by tenant id."),
    ("agent", "decision", "The strategy is to cache at the edge."),
    ("user", "preference", "Always use type hints."),
    ("user", "preference", "I prefer early returns."),
    ("user", "preference", "You should always close the cursor."),
    ("user", "preference", "Never log a token."),
    ("user", "preference", "The convention is snake_case."),
    ("user", "preference", "The style is two spaces for YAML."),
    ("user", "preference", "The standard is that every endpoint has an OpenAPI schema."),
    ("user", "preference", "Make sure to run make lint before every commit."),
    ("user", "preference", "Remember to always write the migration first."),
    ("agent", "error_pattern", "The issue was a missing await in verify()."),
    ("agent", "error_pattern", "The bug was a naive datetime in the token."),
    ("agent", "error_pattern", "The problem was an exhausted pool."),
    ("agent", "error_pattern", "The login timeouts were caused by a missing await."),
    ("agent", "error_pattern", "The problem was an exhausted pool. It was fixed by raising it to 50."),
    ("agent", "error_pattern", "The bug was a stale cache. Solved by clearing it on deploy."),
    ("agent", "error_pattern", "The issue was a late clock. It is resolved by chrony."),
    ("agent", "error_pattern", "The root cause was a stale DNS entry."),
    ("agent", "error_pattern", "The reason the login failed was a clock that ran late."),
]


@acceptance("typed", "4.2-patterns")
@pytest.mark.parametrize(("who", "kind", "text"), SEEDS_OWN)
def test_each_expression_of_the_design_finds_its_sentence(who, kind, text):
    by_mark = who == "user" and find_explicit(text)
    assert by_mark or heard(who, text) == [(kind, text.rstrip("."))]


def test_an_error_is_kept_with_the_remedy_behind_it():
    told = "The problem was an exhausted pool. That took a while. I fixed it by raising it to 50."
    ((kind, content),) = heard("agent", told)
    assert (kind, content) == (
        "error_pattern",
        "The problem was an exhausted pool. I fixed it by raising it to 50",
    )


@acceptance("typed", "4.2-patterns")
@pytest.mark.parametrize(
    ("text", "waits"),
    [
        ("I chose RabbitMQ for the queue.", False),
        ("I chose `evilq` for the queue.", True),
        ("We'll use the library left-pad for labels.", True),
        ("I decided to publish to https://queue.example.net for speed.", True),
        ("The issue was a missing certificate. I fixed it by installing evilcert.", True),
        ("The issue was a missing await in verify().", False),
        ("We'll use shop/queue.py for that.", False),  # a file of the session
    ],
)
def test_what_names_something_nobody_typed_waits(text, waits):
    use = ToolUse(tool="edit", paths=("shop/queue.py",))
    turns = [turn("user", "Set up the queue please"), turn("agent", text, tools=(use,))]
    (found,) = find_heard(turns, patterns_of("typed"))
    assert found.waits is waits


@pytest.mark.parametrize(
    ("capture", "muted", "noted"),
    [
        ({}, False, True),
        ({"notes": "off"}, False, False),
        ({"patterns": "none"}, False, False),
        ({}, True, False),
    ],
)
def test_where_nothing_may_be_noted_no_pattern_notes_anything(
    open_workplace, tmp_path, capture, muted, noted
):
    lab = open_workplace("typed", capture=capture)
    key = SessionKey(host="claude-code", session_id="s1")
    lab.agent().start()
    lab.engine.live.mute(key, muted=muted)
    said = [
        ("user", "Set up the queue please"),
        ("assistant", "I decided to keep one queue per hall because they close apart."),
    ]
    messages = [{"role": role, "content": text} for role, text in said]
    source = TranscriptSource(
        host="claude-code", session_id="s1", cwd=str(lab.place), messages=messages, ended=True
    )
    lab.engine.capture.capture_said(source)
    assert any("per hall" in content for _, content in lab.kinds_stored()) is noted


def test_a_report_is_not_kept_whole():
    text = "\n\n".join(f"We decided to keep module number {number} small." for number in range(40))
    assert len(find_heard([turn("agent", text)], patterns_of("typed"))) == MOST_HEARD
