"""What is purged is nowhere any more: tables, indexes, history, traces, backups, exports. What only says the same stays."""

from __future__ import annotations

import contextlib
import json
import sqlite3

import pytest

from agent import send
from tacit.errors import NotFound
from tacit.model.session import SessionKey
from tacit.ports.store import MemoryFilter
from tacit.state.registry import undeclared

FIRST = "The quokkas of the billing desk are fed on Fridays."
LATER = "The quokkas of the billing desk are fed on Mondays."
OTHER = "Release only from the main branch."
PROMPT = "What do you know of the billing desk?"
RULE = "The quokkas of the billing desk are fed on Fridays."
ASKED = "Who feeds the wombats?"


def rows(home, sql):
    with contextlib.closing(sqlite3.connect(home.database)) as base:
        return [one for (one,) in base.execute(sql)]


def fill(engine, place, tmp_path):
    """A memory that was edited, handed over, backed up, exported; and one beside it."""
    first = engine.remember(FIRST, cwd=str(place))[0].memory
    engine.memories.edit(engine.show(first.id), content=LATER)
    kept = engine.remember(OTHER, cwd=str(place), when="release")[0].memory
    send(engine, place, "SessionStart", source="startup")
    send(engine, place, "UserPromptSubmit", prompt=PROMPT)
    engine.recall("billing desk", cwd=str(place))
    engine.prerender()
    engine.maintenance.backup(tmp_path / "backup.db")
    engine.transfer.export_to(tmp_path / "all.jsonl", form="jsonl")
    engine.transfer.export_to(tmp_path / "all.md", form="markdown")
    return first.id, kept


def places_with(home, needle, *more):
    found = []
    for path in (*home.root.rglob("*"), *more):
        if path.is_file() and needle.lower().encode() in path.read_bytes().lower():
            found.append(path.name)
        if path.suffix == ".db":
            with contextlib.closing(sqlite3.connect(path)) as base:
                terms = {term for (term,) in base.execute("SELECT term FROM text_words_terms")}
                found += [f"{path.name} words"] * (needle in terms)
    return found


def test_a_purged_memory_is_nowhere_any_more(engine, home, place, tmp_path):
    name, kept = fill(engine, place, tmp_path)
    copies = [tmp_path / "backup.db", tmp_path / "all.jsonl", tmp_path / "all.md"]
    assert places_with(home, "quokka", *copies)
    purge_target = engine.admin.purging.named([name[:-2]])
    seen = engine.admin.purging.purge(purge_target, dry_run=True)
    assert [one.content for one in seen.memories] == [LATER]
    assert engine.show(name).content == LATER, "a dry run changes nothing"
    done = engine.admin.purging.purge(purge_target, dry_run=False)
    assert {**done.rows} == {**seen.rows}
    assert done.rows["versions"] == 2
    assert done.left == done.alike == ()
    assert {str(path) for path in copies} <= set(done.files)
    assert [one.content for one in done.memories] == [""]
    assert places_with(home, "quokka", *copies) == []
    with pytest.raises(NotFound):
        engine.show(name)
    assert engine.show(kept.id) == kept
    assert engine.store.check() == ()
    assert "quokka" not in engine.context(str(place)).text
    send(engine, place, "UserPromptSubmit", prompt=PROMPT)  # the session that ran on brings nothing back
    assert places_with(home, "quokka") == []
    assert OTHER in copies[1].read_text()
    assert OTHER in copies[2].read_text()
    assert name not in copies[2].read_text() + copies[1].read_text()
    with pytest.raises(NotFound):
        engine.admin.purging.named([name])


def test_what_says_the_same_elsewhere_stays_and_is_named(engine, home, place, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    engine.remember(FIRST, cwd=str(place))
    twin = engine.remember(FIRST, cwd=str(other))[0].memory
    target = tmp_path / "all.md"
    engine.transfer.export_to(target, form="markdown")
    purging = engine.admin.purging
    done = purging.purge(
        purging.matching(scope=engine.visible(str(place)), source=None, text="quokkas"), dry_run=False
    )
    assert done.alike == (twin.id,)
    assert engine.show(twin.id) == twin
    assert target.read_text().count(FIRST) == 1, "an export goes on saying what is remembered"
    assert "[purged]" not in target.read_text()


def test_a_project_goes_whole_and_no_other(engine, home, place, tmp_path):
    fill(engine, place, tmp_path)
    other = tmp_path / "other"
    other.mkdir()
    stays = engine.remember("Use tabs in this folder.", cwd=str(other))[0].memory
    send(engine, other, "SessionStart", session="s2", source="startup")
    purging = engine.admin.purging
    done = purging.purge(purging.of_project(engine.project(str(place))), dry_run=False)
    assert done.sessions == ("claude-code/s1",)
    assert [one.id for one in engine.list_memories(MemoryFilter(statuses=None))] == [stays.id]
    assert [one.project.name for one in engine.admin.projects()] == ["other"]
    assert [str(one.key) for one in engine.sessions()] == ["claude-code/s2"]
    assert places_with(home, "quokka", tmp_path / "backup.db") == places_with(home, PROMPT) == []
    with pytest.raises(NotFound, match="There is no session"):
        purging.of_session(SessionKey(host="claude-code", session_id="s1"))


def test_one_odd_export_does_not_stop_a_purge(engine, home, place, tmp_path):
    name, kept = fill(engine, place, tmp_path)
    odd = [
        '{"project":"x"}',
        '{"memory":["a"]}',
        '{"versions":5}',
        '{"versions":[{"a":1}]}',
        '{"relation":"x"}',
    ]
    target = tmp_path / "all.jsonl"
    target.write_text("\n".join([*odd, target.read_text()]))
    purging = engine.admin.purging
    done = purging.purge(purging.named([name]), dry_run=False)
    assert target.read_text().startswith("\n".join(odd) + "\n")
    assert OTHER in target.read_text()
    assert places_with(home, "quokka", target, tmp_path / "all.md", tmp_path / "backup.db") == []
    assert done.left == ()
    assert engine.show(kept.id) == kept


def test_common_words_of_a_source_stay_where_others_say_them(engine, home, place, tmp_path):
    (place / "package.json").write_text(json.dumps({"scripts": {"typecheck": "tsc"}}))
    engine.init_project(str(place))
    engine.flush()
    made = engine.list_memories(MemoryFilter(statuses=None))
    commands = [one for one in made if len(one.provenance.span.split()) < 5]
    assert commands, [(one.content, one.provenance.span) for one in made]
    said = f"We do this in CI: {', '.join(one.provenance.span for one in commands)}."
    kept = engine.remember(said, cwd=str(place))[0].memory
    send(engine, place, "UserPromptSubmit", prompt=f"Look: {said}")
    purging = engine.admin.purging
    done = purging.purge(purging.named([one.id for one in commands]), dry_run=False)
    assert done.alike == ()
    assert engine.show(kept.id) == kept
    (trace,) = [one for one in engine.store.list_traces() if "Look" in one.text]
    assert said in trace.text


STRANGE = "The m\u00fcller quokkas \u2013 all of them \u2013 don\u2019t eat before noon."


@pytest.mark.parametrize("indent", [None, 2])
def test_a_statement_goes_from_what_waits_where_json_escapes_its_letters(engine, home, place, indent):
    memory = engine.remember(STRANGE, cwd=str(place))[0].memory
    spool = home.root / "spool"
    spool.mkdir(exist_ok=True)
    waits = spool / "one.event"
    head = json.dumps({"host": "claude-code", "event": "UserPromptSubmit", "at_ms": 1})
    payload = {"session_id": "s9", "cwd": str(place), "prompt": f"Remember: {STRANGE} Thanks", "ok": True}
    waits.write_text(head + "\n" + json.dumps(payload, indent=indent))
    log = home.root / "log" / "daemon.log"
    log.parent.mkdir(exist_ok=True)
    log.write_text(
        json.dumps({"message": f"kept {STRANGE}"}) + f"\nplain {STRANGE}\n" + '{"fine": "\\ud83d \\u00fc"}\n'
    )
    done = engine.admin.purging.purge(engine.admin.purging.named([memory.id]), dry_run=False)
    assert (done.files["spool"], done.files["log"]) == (1, 1)
    assert done.left == ()
    first, body = waits.read_text().split("\n", 1)
    assert first == head
    assert json.loads(body) == payload | {"prompt": "Remember: [purged]. Thanks"}
    assert (
        log.read_text() == '{"message":"kept [purged]."}\nplain [purged].\n' + '{"fine": "\\ud83d \\u00fc"}\n'
    )


def test_the_subagents_of_a_session_go_with_it(engine, home, place):
    engine.remember(RULE, cwd=str(place))
    for session in ("s1", "s2"):
        send(engine, place, "SessionStart", session=session, source="startup")
        send(engine, place, "UserPromptSubmit", session=session, prompt="Count the quokkas, please.")
        send(engine, place, "SubagentStart", session=session, agent_id="ag7", agent_type="Explore")
    assert "claude-code/s1#ag7" in [str(one.key) for one in engine.sessions()]
    purging = engine.admin.purging
    purge_target = purging.of_session(SessionKey(host="claude-code", session_id="s1"))
    seen = purging.purge(purge_target, dry_run=True)
    done = purging.purge(purge_target, dry_run=False)
    assert done.sessions == ("claude-code/s1", "claude-code/s1#ag7")
    assert {**seen.rows} == {**done.rows}
    assert sorted(str(one.key) for one in engine.sessions()) == ["claude-code/s2", "claude-code/s2#ag7"]
    kept = rows(home, "SELECT DISTINCT session FROM traces UNION SELECT session_id FROM exposures")
    assert kept
    assert not any("s1" in name for name in kept)


def test_a_project_takes_what_was_asked_there_and_what_was_noted_of_it(engine, home, place, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    for folder in (place, other):
        engine.remember(f"{RULE} At {folder.name}.", cwd=str(folder))
        engine.recall(ASKED, cwd=str(folder))
        send(engine, folder, "SessionStart", session=folder.name, source="startup")
    gone, stays = (engine.project(str(folder)).id for folder in (place, other))
    purging = engine.admin.purging
    assert rows(home, f"SELECT name FROM named_values WHERE name = 'announced:{gone}'")
    assert undeclared(engine._parts.store) == ()
    purging.purge(purging.of_project(engine.project(str(place))), dry_run=False)
    assert rows(home, f"SELECT name FROM named_values WHERE name LIKE '%{gone}%'") == []
    assert rows(home, "SELECT count(*) FROM named_values WHERE name LIKE 'announced:%'") == [1]
    left = rows(home, "SELECT json_extract(body, '$.project_id') FROM traces")
    assert left
    assert set(left) == {stays}
    with pytest.raises(NotFound, match="There is no project"):
        purging.of_project(engine.project(str(place)))


def test_a_folder_where_something_was_only_asked_can_be_purged(engine, home, place):
    engine.recall(ASKED, cwd=str(place))
    purging = engine.admin.purging
    purging.purge(purging.of_project(engine.project(str(place))), dry_run=False)
    assert rows(home, "SELECT count(*) FROM traces") == [0]
