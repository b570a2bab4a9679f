"""What is fitted for a project must not change when that project's rows do, and the same rows give the same bytes."""

from __future__ import annotations

import json

import pytest

from tacit.providers.embedding import FakeEmbedder
from tacit_evals.fit.__main__ import (
    PACKAGE,
    artifacts_of,
    file_of,
    files_of,
    shipped_projects,
)
from tacit_evals.fit.fitted import fit_all
from tacit_evals.pool import shipped_settings
from tacit_evals.running import SuiteRun


class Remembering(FakeEmbedder):
    """Keeps every text that any fitter or pool has embedded."""

    def __init__(self):
        super().__init__()
        self.heard = []

    def embed(self, texts):
        self.heard += texts
        return super().embed(texts)


def fitted_bytes(folder, *excluded, embedder=None):
    fitted = fit_all(
        [folder],
        exclude_projects=excluded,
        embedder=embedder or FakeEmbedder(),
        settings=shipped_settings(),
        date="2026-01-01",
    )
    return fitted, files_of(artifacts_of(fitted))


def write_rows(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")


def _of_alpha(path, row):
    return "alpha" in str(path.parent) or "alpha" in f"{row.get('project', '')} {row.get('repo', '')}"


def _disturbed(row):
    others = {
        "text": "deploy the moon",
        "content": f"{row.get('content', '')} Feed the goats first.",
        "actions": {"release": 3},
    }
    return row | {name: value for name, value in others.items() if name in row}


def disturb(data):
    """Change every row of alpha: words, labels, judgments."""
    for path in sorted(data.rglob("*.jsonl")):
        rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        write_rows(path, [_disturbed(row) if _of_alpha(path, row) else row for row in rows])
    (data / "inject" / "alpha" / "qrels.tsv").write_text("q3\tf1\t2\nq1\t-\t0\n", "utf-8")


@pytest.mark.slow
def test_rows_of_the_evaluated_project_change_nothing(labels):
    fitted, before = fitted_bytes(labels, "alpha")
    assert fitted.left_out == ("alpha",)
    disturb(labels)
    embedder, everything = Remembering(), Remembering()
    assert fitted_bytes(labels, "alpha", embedder=embedder)[1] == before  # byte for byte
    fitted_bytes(labels, embedder=everything)
    marks = ("deploy the moon", "Feed the goats")  # stand in every row of alpha and nowhere else
    assert not [text for text in embedder.heard if any(mark in text for mark in marks)]
    assert [
        text for text in everything.heard if any(mark in text for mark in marks)
    ]  # else this proves nothing
    assert set(before) == set(map(file_of, ("trigger", "match", "need", "prompt_transform", "gate")))


def test_a_run_fits_once_for_each_set_of_projects(data):
    run = SuiteRun(data=data, embedder=FakeEmbedder())
    assert run.fitted("alpha") is run.fitted("beta", "alpha")  # what ships, without --fit


def test_the_shipped_files_name_their_projects():
    assert shipped_projects(PACKAGE) == (
        "blastmerge", "emailbuddy", "everyday", "getspecstory", "houdoku", "league-analyzer", "minsky", "polychrome",
    )  # fmt: skip
