"""What is injected never comes back as a memory, whoever repeats it."""

from __future__ import annotations

import pytest

from shared_data import shared_data
from tacit.config.settings import EmbedderSettings
from tacit.providers.embedding import FakeEmbedder, make_embedder
from tacit_evals.data.sessions import Exchange, RecordedSession, load_sessions
from tacit_evals.suites.writing.loop import RULES, busiest, replay_sessions

PROMPTS = (
    ("Fix the login of the shop, then commit it.", "Done. Shall I commit?"),
    ("yes, commit it", "Committed."),
    ("Please always name migrations after their ticket.", "I will."),
    ("Now push it and write the tests.", "Pushed; the tests are green."),
    ("We decided to use Postgres for the job queue.", "Noted."),
    ("Add a limit to the queue and commit.", "Added."),
)


def sessions(count):
    return [
        RecordedSession(
            id=f"s{number}",
            at_ms=1_760_000_000_000 + number,
            exchanges=tuple(
                Exchange(
                    prompt=PROMPTS[(number + turn) % len(PROMPTS)][0],
                    answer=PROMPTS[(number + turn) % len(PROMPTS)][1],
                )
                for turn in range(5)
            ),
        )
        for number in range(count)
    ]


@pytest.mark.slow
def test_made_up_sessions_teach_nothing_of_our_own():
    replay = replay_sessions(sessions(8), embedder=make_embedder(EmbedderSettings()))
    assert replay.injected >= 8, "injection was on"
    assert replay.captured >= 2, "what the user said was learned"
    assert [(memory.content, why) for memory, why in replay.ours] == []


@pytest.mark.timeout(60)
def test_a_short_replay_teaches_nothing_of_our_own():
    replay = replay_sessions(sessions(2), embedder=FakeEmbedder())
    assert replay.injected
    assert replay.ours == []
    assert len(RULES) == 6


@pytest.mark.shared_data
@pytest.mark.slow
def test_twenty_real_sessions_teach_nothing_of_our_own():
    folder = shared_data("transcripts", "normalized")
    found = [session for file in sorted(folder.glob("*.jsonl")) for session in load_sessions(file)]
    replay = replay_sessions(
        busiest(found, 20), embedder=make_embedder(EmbedderSettings(), cache_entries=100_000)
    )
    assert replay.injected >= 20
    assert [(memory.content, why) for memory, why in replay.ours] == []
