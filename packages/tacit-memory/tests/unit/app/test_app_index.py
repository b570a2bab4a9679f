"""The index as a delta: a session that goes on is told once what was added, changed or ended since its start block."""

from __future__ import annotations

import pytest

from agent import Agent
from tacit.model.session import SessionKey
from tacit.recall.pipelines import MOST_CHANGES
from tacit.recall.render import CHANGES_OPENING, INDEX_OPENING

RULE = "Run `make lint` before every commit."
LONG = (
    "The {} of the warehouse is read by the night job, and its counts go to the ledger of the {} team, because the {} is closed on the"
    " first day of each month."
)
NOUNS = (
    ("scale", "billing", "archive"),
    ("gate", "customs", "harbor"),
    ("camera", "night", "vault"),
    ("printer", "parcel", "depot"),
)
HEADLINES = tuple(f"The {noun} of the warehouse" for noun, _, _ in NOUNS)
NEW = LONG.format("turnstile", "visitor", "lobby")
NEW_HEADLINE = "The turnstile of the warehouse"
COMMIT = f"Is it so: {RULE}"


@pytest.fixture
def engine(make_engine, place):
    made = make_engine(recall={"whole_start": 1.0, "budgets": {"start": 60, "compaction": 60}})
    for words in NOUNS:
        made.remember(LONG.format(*words), kind="decision", cwd=str(place))
    return made


@pytest.fixture
def agent(engine, place):
    return Agent(engine, place)


def stored(engine, word):
    """The active memory that holds this word."""
    from tacit.ports.store import MemoryFilter

    (memory,) = [
        memory for memory in engine.list_memories(MemoryFilter(), limit=99) if word in memory.content
    ]
    return memory


def headlines(text):
    return [headline for headline in HEADLINES if headline in text]


def test_what_is_new_comes_as_a_headline_with_the_next_block_and_once(engine, agent, place):
    block = agent.start()
    assert len(headlines(block)) == len(HEADLINES)
    assert INDEX_OPENING in block
    engine.remember(NEW, kind="decision", cwd=str(place))
    engine.remember(RULE, cwd=str(place), when="commit")
    told = agent.prompt(COMMIT)
    assert RULE in told
    assert CHANGES_OPENING in told
    assert f"{stored(engine, 'turnstile').id[-4:]} {NEW_HEADLINE}" in told
    assert told.count(RULE) == 1
    assert not headlines(told), "what the start block offered is not offered anew"
    assert NEW_HEADLINE not in agent.prompt("And now commit the other half, please.")
    assert agent.start(source="resume") == "", "a resumed session was told, too"


def test_a_silent_prompt_leaves_it_for_the_next_block(engine, agent, place):
    agent.start()
    engine.remember(NEW, kind="decision", cwd=str(place))
    assert agent.prompt("Name the colors of the rainbow.") == ""
    engine.remember(RULE, cwd=str(place), when="commit")
    assert NEW_HEADLINE in agent.prompt(COMMIT)


def test_what_changed_says_what_it_says_now_and_what_ended_until_when_it_held(engine, agent, place):
    agent.start()
    changed, ended = stored(engine, "harbor"), stored(engine, "vault")
    engine.memories.edit(engine.show(changed.id), content=LONG.format("barrier", "customs", "harbor"))
    engine.memories.retire(engine.show(ended.id))
    engine.remember(RULE, cwd=str(place), when="commit")
    told = agent.prompt(COMMIT)
    assert f"{changed.id[-4:]} The barrier of the warehouse" in told
    (line,) = [line for line in told.splitlines() if line.startswith(ended.id[-4:])]
    assert "held until" in line
    assert len(headlines(told)) == 1


def test_what_the_session_taught_itself_is_no_news(engine, agent, place):
    agent.start()
    agent.prompt(
        "From now on the turnstile of the warehouse is read by the morning job. Keep the reader small."
    )
    engine.remember(RULE, cwd=str(place), when="commit")
    told = agent.prompt(COMMIT)
    assert RULE in told
    assert CHANGES_OPENING not in told


def test_a_resume_brings_headlines_of_what_is_new_and_finds_no_room(engine, agent, place):
    agent.start()
    for words in (
        ("turnstile", "visitor", "lobby"),
        ("ladder", "paint", "roof"),
        ("boiler", "heating", "cellar"),
    ):
        engine.remember(LONG.format(*words), kind="decision", cwd=str(place))
    told = agent.start(source="resume")
    for noun in ("turnstile", "ladder", "boiler"):
        assert told.count(f"The {noun} of the warehouse") == 1, told
    assert not headlines(told)
    assert agent.start(source="resume") == ""


def test_after_a_compaction_the_whole_index_comes_once_more_and_the_same_bytes(engine, agent, place):
    agent.start()
    engine.remember(NEW, kind="decision", cwd=str(place))
    again = agent.start(source="compact")
    assert len(headlines(again)) == len(HEADLINES)
    assert NEW_HEADLINE in again
    assert INDEX_OPENING in again
    assert agent.start(source="resume") == ""


def test_without_a_budget_nothing_is_told(make_engine, place):
    engine = make_engine(recall={"whole_start": 1.0, "budgets": {"start": 300, "index": 0}})
    agent = Agent(engine, place)
    agent.start()
    engine.remember(NEW, kind="decision", cwd=str(place))
    engine.remember(RULE, cwd=str(place), when="commit")
    told = agent.prompt(COMMIT)
    assert RULE in told
    assert NEW_HEADLINE not in told
    assert NEW in agent.start(source="resume"), "nor is it taken for told"


def test_a_fork_knows_what_its_parent_was_offered(engine, place):
    def fork(session, source, **more):
        told = {
            "sessionID": session,
            "directory": str(place),
            "event": "session.start",
            "source": source,
            **more,
        }
        return engine.hook("opencode", told, deadline_ms=5000)

    assert len(headlines(fork("s1", "startup"))) == len(HEADLINES)
    fork("s2", "fork", forkOf="s1")
    state = engine.live.load(SessionKey(host="opencode", session_id="s2"))
    assert len(state.offered) == len(HEADLINES)


def test_of_very_many_changes_some_are_listed_and_the_others_counted(engine, agent, place):
    agent.start()
    for number in range(MOST_CHANGES + 6):
        words = (f"machine {number}", f"team{number}", f"place{number}")
        engine.remember(LONG.format(*words), kind="decision", cwd=str(place))
    engine.remember(RULE, cwd=str(place), when="commit")
    told = agent.prompt(COMMIT)
    assert told.count("The machine ") > 5
    assert "Not listed: " in told
    assert CHANGES_OPENING not in agent.prompt("And now commit the other half, please.")
