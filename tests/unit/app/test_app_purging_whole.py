"""All of a session or a project: what its subagents did and learned, what was asked there, what was noted of it."""

from __future__ import annotations

import contextlib
import sqlite3

import pytest

from samples import NOW_MS
from tacit.app.wiring import open_engine
from tacit.errors import NotFound
from tacit.model.session import SessionKey
from tacit.providers.clock import FakeClock
from tacit.providers.embedding import FakeEmbedder

RULE = "The quokkas of the billing desk are fed on Fridays."
ASKED = "Who feeds the wombats?"


@pytest.fixture
def home(tmp_path):
    return tmp_path / "home"


@pytest.fixture
def shop(tmp_path):
    folder = tmp_path / "shop"
    folder.mkdir()
    return folder


@pytest.fixture
def engine(home):
    made = open_engine(home, clock=FakeClock(now_ms=NOW_MS), embedder=FakeEmbedder())
    with contextlib.closing(made):
        yield made


def send(engine, place, event, session="s1", **fields):
    payload = {"session_id": session, "cwd": str(place), "hook_event_name": event, **fields}
    engine.hook("claude-code", payload, deadline_ms=5000)
    engine.flush()


def rows(home, sql):
    with contextlib.closing(sqlite3.connect(home / "tacit.db")) as base:
        return [one for (one,) in base.execute(sql)]


def test_the_subagents_of_a_session_go_with_it(engine, home, shop):
    engine.remember(RULE, cwd=str(shop))
    for session in ("s1", "s2"):
        send(engine, shop, "SessionStart", session=session, source="startup")
        send(engine, shop, "UserPromptSubmit", session=session, prompt="Count the quokkas, please.")
        send(engine, shop, "SubagentStart", session=session, agent_id="ag7", agent_type="Explore")
    assert "claude-code/s1#ag7" in [str(one.key) for one in engine.sessions()]
    purging = engine.desk.purging
    doomed = purging.of_session(SessionKey(host="claude-code", session_id="s1"))
    seen = purging.purge(doomed, dry_run=True)
    done = purging.purge(doomed, dry_run=False)
    assert done.sessions == ("claude-code/s1", "claude-code/s1#ag7")
    assert {**seen.rows} == {**done.rows}
    assert sorted(str(one.key) for one in engine.sessions()) == ["claude-code/s2", "claude-code/s2#ag7"]
    kept = rows(home, "SELECT DISTINCT session FROM traces UNION SELECT session_id FROM exposures")
    assert kept
    assert not any("s1" in name for name in kept)


def test_a_project_takes_what_was_asked_there_and_what_was_noted_of_it(engine, home, shop, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    for place in (shop, other):
        engine.remember(f"{RULE} At {place.name}.", cwd=str(place))
        engine.recall(ASKED, cwd=str(place))
        send(engine, place, "SessionStart", session=place.name, source="startup")
    gone, stays = (engine.project(str(place)).id for place in (shop, other))
    purging = engine.desk.purging
    assert rows(home, f"SELECT name FROM named_values WHERE name = 'announced:{gone}'")
    purging.purge(purging.of_project(engine.project(str(shop))), dry_run=False)
    assert rows(home, f"SELECT name FROM named_values WHERE name LIKE '%{gone}%'") == []
    assert rows(home, "SELECT count(*) FROM named_values WHERE name LIKE 'announced:%'") == [1]
    left = rows(home, "SELECT json_extract(body, '$.project_id') FROM traces")
    assert left
    assert set(left) == {stays}
    with pytest.raises(NotFound, match="Nothing is known of a project"):
        purging.of_project(engine.project(str(shop)))


def test_a_folder_where_something_was_only_asked_can_be_purged(engine, home, shop):
    engine.recall(ASKED, cwd=str(shop))
    purging = engine.desk.purging
    purging.purge(purging.of_project(engine.project(str(shop))), dry_run=False)
    assert rows(home, "SELECT count(*) FROM traces") == [0]


def test_what_was_shown_and_is_gone_by_now_is_passed_over(engine, shop):
    kept = engine.remember(RULE, cwd=str(shop))[0].memory
    purging = engine.desk.purging
    done = purging.purge(purging.still_there([kept.id, "mem_gone"]), dry_run=False)
    assert [one.id for one in done.memories] == [kept.id]
    assert purging.purge(purging.still_there([kept.id]), dry_run=False).memories == ()
    with pytest.raises(NotFound):
        purging.named([kept.id])
