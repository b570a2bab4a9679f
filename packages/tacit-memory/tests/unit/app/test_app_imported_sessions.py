"""Sessions that are known from their transcripts alone: listed, named by their first prompt, and opened like any other."""

from __future__ import annotations

from dataclasses import replace

import pytest

import samples
from tacit.app.visibility import Visibility
from tacit.capture.backfill import BackfillOptions
from tacit.errors import NotFound
from tacit.model.changes import Rewrite
from tacit.model.memory import Sensitivity, Speaker
from tacit.model.pack import Surface
from tacit.model.scope import UNIVERSAL
from tacit.model.session import SessionKey
from transcripts import exchange, write_transcript

RULE = "Always run ruff before every commit, the key is AKIAQ3EGRLKTPWZ7MVNA."


@pytest.fixture
def seen(engine):
    return engine.visibility(Speaker.USER)


def imported(
    engine, folder, *, name="past", first="Use spaces instead of tabs in this project, always."
) -> SessionKey:
    project = folder / "shop"
    project.mkdir(exist_ok=True)
    said = exchange("/clear", "", first, "I will.", "Thanks.", "You are welcome.")
    path = write_transcript(folder / f"{name}.jsonl", *said, cwd=project, session=name)
    engine.capture.backfill(engine.transcripts("", paths=[path]), BackfillOptions())
    return SessionKey(host="claude-code", session_id=name)


def test_it_is_listed_by_its_first_real_prompt_and_opens(engine, tmp_path, seen: Visibility):
    key = imported(engine, tmp_path)
    (row,) = engine.admin.recalls.sessions(visibility=seen, limit=5)
    assert (row.key, row.imported, row.ended) == (str(key), True, True)
    assert row.title.startswith("Use spaces instead of tabs")
    assert row.project_root.endswith("/shop")
    view = engine.admin.recalls.session(key, visibility=seen)
    assert (view.session.title, view.turns) == (row.title, ())
    (found,) = engine.admin.recalls.sessions(
        visibility=seen, limit=5, text="tabs spaces", root=row.project_root
    )
    assert found == row
    assert engine.admin.recalls.sessions(visibility=seen, limit=5, root="/elsewhere") == ()


def test_it_counts_what_it_taught_as_its_own_page_does(engine, tmp_path, seen: Visibility):
    key = imported(engine, tmp_path)
    taught = engine.admin.learned.of_session(str(key), visibility=seen).statements
    assert len(taught) == engine.admin.learned.count(key, visibility=seen) == 1
    assert engine.admin.learned.count(SessionKey(host="claude-code", session_id="none"), visibility=seen) == 0


def test_a_prompt_is_told_what_it_taught_and_nobody_what_is_hidden_from_them(
    engine, tmp_path, seen: Visibility
):
    key = imported(engine, tmp_path)
    (one,) = engine.admin.learned.of_session(str(key), visibility=seen).statements
    turn = one.evidence[0].turn
    asked = [
        samples.trace("trc_it", session=str(key), turn=turn),
        samples.trace("trc_next", session=str(key), turn=turn + 1),
        samples.trace("trc_call", session=str(key), turn=turn, surface=Surface.ACTION),
        samples.trace("trc_other", session="claude-code/other", turn=turn),
    ]
    (told,) = engine.admin.learned.of_turns(asked, visibility=seen)
    assert (told.trace_id, told.memory_id) == ("trc_it", one.memory.id)
    agent = engine.visibility(Speaker.AGENT)
    assert engine.admin.learned.of_turns(asked, visibility=agent) == (told,)
    hidden = replace(engine.show(one.memory.id), sensitivity=Sensitivity.RESTRICTED)
    engine.store.apply([Rewrite(memory=hidden)])
    assert engine.admin.learned.of_turns(asked, visibility=agent) == ()
    assert engine.admin.learned.of_turns(asked, visibility=seen) == (told,)


def test_no_memory_leads_to_a_session_that_cannot_be_opened(engine, seen: Visibility):
    key = SessionKey(host="claude-code", session_id="gone")
    engine.remember("The release branch is called main.", scope=UNIVERSAL, session=key)
    view = engine.admin.recalls.session(key, visibility=seen)
    assert (view.session.title, view.session.imported) == ("", True)
    assert engine.admin.learned.of_session(str(key), visibility=seen).statements
    with pytest.raises(NotFound):
        engine.admin.recalls.session(SessionKey(host="claude-code", session_id="never"), visibility=seen)


def test_its_title_holds_no_secret_and_goes_with_a_purge(engine, tmp_path, seen: Visibility):
    key = imported(engine, tmp_path, name="secret", first=RULE)
    (row,) = engine.admin.recalls.sessions(visibility=seen, limit=5)
    assert "AKIA" not in row.title
    purging = engine.admin.purging
    purging.purge(purging.of_session(key), dry_run=False)
    assert engine.admin.recalls.sessions(visibility=seen, limit=5) == ()
