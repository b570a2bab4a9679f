"""Relations that capture infers, and that `entity` and `graph` find something through them."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from samples import memory
from tacit.capture.prepare import entities_of_memory, infer_relations
from tacit.model.memory import Provenance, TrustTier
from tacit.model.pack import Surface


def said(name, kind, content, *, tier=TrustTier.USER, turn=3, session="s"):
    where = Provenance(tier=tier, source="session", host="plain", session_id=session, turn=turn)
    return replace(
        memory(content, id=name, kind=kind, entities=entities_of_memory(content)), provenance=where
    )


def edges(one, *others):
    return [(r.source_id, r.type, r.target_id, r.weight) for r in infer_relations(one, others)]


def test_a_symptom_is_caused_by_the_error_pattern_of_its_exchange():
    symptom = said("mem_a", "correction", "The number on the page is wrong")
    cause = said("mem_b", "error_pattern", "The counter is read before the write", tier=TrustTier.ASSISTANT)
    assert edges(symptom, (cause, 0.0)) == [("mem_a", "caused_by", "mem_b", 1.0)]
    assert edges(cause, (symptom, 0.0)) == [("mem_a", "caused_by", "mem_b", 1.0)]
    elsewhere = said(
        "mem_c", "error_pattern", "The counter is read before the write", tier=TrustTier.ASSISTANT, turn=4
    )
    assert edges(symptom, (elsewhere, 0.0)) == []


def test_what_the_agent_decided_is_the_result_of_what_the_user_asked():
    asked = said("mem_a", "preference", "We want short lines")
    decided = said("mem_b", "decision", "Lines are cut at eighty characters", tier=TrustTier.ASSISTANT)
    assert edges(asked, (decided, 0.0)) == [("mem_b", "result_of", "mem_a", 1.0)]
    assert edges(asked, (said("mem_c", "decision", "Lines end in a full stop"), 0.0)) == []


def test_a_file_is_part_of_its_folder():
    folder = said("mem_a", "file_context", "src/export/ holds everything that writes files")
    file = said("mem_b", "file_context", "src/export/writer.py opens the handle")
    assert edges(file, (folder, 0.2)) == [("mem_b", "part_of", "mem_a", 1.0)]
    assert edges(folder, (file, 0.2)) == [("mem_b", "part_of", "mem_a", 1.0)]


def test_shared_entities_relate_the_three_nearest():
    one = said("mem_a", "decision", "Keep `writeRows` slow")
    others = [
        (said(f"mem_{n}", "fact", "x", session=""), share)
        for n, share in ((1, 0.5), (2, 0.9), (3, 0.49), (4, 0.9), (5, 0.7))
    ]
    assert edges(one, *others) == [
        ("mem_a", "related_to", "mem_2", 0.9), ("mem_a", "related_to", "mem_4", 0.9), ("mem_a", "related_to", "mem_5", 0.7),
    ]  # fmt: skip


@pytest.fixture
def engine(make_engine):
    """The preset that asks for names and for what is related."""
    return make_engine(preset="ambient", recall={"thresholds": {"prompt": 0.0}})


def test_entity_and_graph_find_what_sessions_taught_about_one_file(engine, tmp_path):
    place = tmp_path / "shop"
    place.mkdir()
    words = (
        "Always close the handle in `src/export/writer.py` before returning.",
        "Never retry on a full disk inside `src/export/writer.py`, raise instead.",
    )
    for number, text in enumerate(words):
        (tmp_path / f"s{number}.json").write_text(
            json.dumps(
                {
                    "session_id": f"s{number}",
                    "cwd": str(place),
                    "messages": [{"role": "user", "content": text}],
                }
            )
        )
    infos = engine.transcripts(cwd=str(place), paths=[tmp_path / f"s{number}.json" for number in range(2)])
    assert engine.capture.backfill(infos).added >= 2

    def scores(question):
        trace = engine.recall(question, cwd=str(place), surface=Surface.PROMPT).trace
        return {one.content: dict(one.scores) for one in trace.candidates}

    by_name = scores("what do we know about src/export/writer.py?")
    assert sum(found.get("entity", 0.0) > 0 for found in by_name.values()) == 2
    by_words = scores("close the handle before returning")
    (retry,) = (found for content, found in by_words.items() if "retry" in content)
    assert retry.get("entity", 0.0) == 0
    assert retry["graph"] > 0
