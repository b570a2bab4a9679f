"""The everyday project: how it is read, and what is counted."""

from __future__ import annotations

import json

from tacit.providers.embedding import FakeEmbedder
from tacit_evals.data import everyday_of, load_everyday
from tacit_evals.everyday import each, given, measure, worth
from tacit_evals.pool import shipped_settings

ROWS = {
    "memories": [
        {"id": "m1", "content": "Never run `kubectl apply` by hand; Argo syncs the cluster."},
        {"id": "m2", "content": "Prices are integer cents."},
    ],
    "prompts": [
        {"id": "p1", "text": "What are prices stored as?", "needs": ["m2"]},
        {"id": "n1", "text": "thanks", "needs": []},
    ],
    "calls": [
        {"id": "t1", "tool": "Bash", "input": {"command": "kubectl apply -f x.yaml"}, "needs": ["m1"]},
        {"id": "t2", "tool": "Bash", "input": {"command": "ls"}, "needs": []},
    ],
    "failures": [
        {"id": "f1", "tool": "Bash", "input": {"command": "ls x"}, "error": "No such file", "needs": []}
    ],
}


def test_moments_are_asked_one_by_one_and_counted(tmp_path):
    folder = tmp_path / "everyday"
    folder.mkdir()
    for name, rows in ROWS.items():
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    (project,) = everyday_of([tmp_path])
    assert everyday_of([tmp_path], exclude=["everyday"]) == everyday_of([tmp_path / "none"]) == []
    assert load_everyday(tmp_path) == project
    found = measure(project, embedder=FakeEmbedder(), settings=shipped_settings())
    assert given(found["calls"]) == (1, 1, 0, 1)
    assert given(found["failures"]) == (0, 0, 0, 1)
    assert given(found["prompts"])[1::2] == (1, 1)
    assert list(each(found["calls"]))[1] == "everyday/t2: got nothing; needs nothing"
    whole = measure(project, embedder=FakeEmbedder(), settings=shipped_settings(), start=True)
    assert given(whole["prompts"]) == (1, 1, 0, 1)  # the start block holds it
    held = worth(whole["prompts"])
    assert (held.have, held.needing, held.needless, held.value) == (1, 1, 1, 2), "m1 is needed by no prompt"
    assert held.tokens == whole["prompts"][0].start_tokens
