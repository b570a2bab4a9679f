"""Reading the data: what is understood, and what is said about what is not."""

from __future__ import annotations

import json

import pytest

from shared_data import shared_data
from tacit.errors import InvalidInput
from tacit_evals.data import DataRow, folders_of, load_action, load_inject, read_rows
from tacit_evals.fit.labelled import same_project, usable


def test_a_project_is_read_with_its_judgments(data):
    project = load_inject(data / "inject" / "alpha", triggers=data / "situation" / "alpha" / "triggers.jsonl")
    assert [memory.id for memory in project.memories] == ["m1", "m2", "m3"]  # m3 supersedes m0
    assert project.learned == {"m1", "m3"}
    assert project.memories[0].given.actions == (("edit_code", 1.0), ("fix_bug", pytest.approx(2 / 3)))
    assert project.memories[2].given.actions == (("fix_bug", pytest.approx(1 / 3)),)  # `none` is no action
    first, second, third = (prompt.judgment for prompt in project.prompts)
    assert first.needed == {"m1": 2, "m3": 1}
    assert (second.needed, second.marginal, second.nothing) == ({"m2": 2}, {"m1"}, False)
    assert third.nothing


def test_calls_are_read_with_their_input(data):
    pool = data / "inject" / "alpha" / "memories.jsonl"
    project = load_action(data / "action", pool=pool, name="alpha")
    assert project.calls[0].input == {"command": "git commit -m x"}
    assert [call.error for call in project.calls] == ["", "", "no such file"]


@pytest.mark.parametrize("below", ["", "inject", "inject/alpha"])
def test_folders_are_known_by_their_files(data, below):
    found = [folder.name for folder in folders_of("inject", data / below)]
    assert found == (["alpha"] if below.endswith("alpha") else ["alpha", "beta"])


def test_a_folder_without_the_data_says_what_it_needs(tmp_path):
    with pytest.raises(InvalidInput, match="no data for the suite 'inject'") as raised:
        folders_of("inject", tmp_path)
    assert "prompts.jsonl" in raised.value.hint
    with pytest.raises(InvalidInput, match="is no folder"):
        folders_of("inject", tmp_path / "none")


@pytest.mark.parametrize(
    ("name", "other", "same"),
    [
        ("minsky", "edobry+minsky", True),
        ("getspecstory", "specstoryai+getspecstory", True),
        ("league-analyzer", "AmbidextrousCoatie/league_analyzer", True),
        ("League_Analyzer", "league-analyzer", True),
        ("newproject", "owner+newproject", True),
        ("polychrome", "polychrome.p5", True),
        ("polychrome", "MichaelPaulukonis/polychrome.p5", True),
        ("polychrome", "b23-polychrome-p5", True),
        ("Houdoku-2", "houdoku", True),
        ("Firedogs2x/Houdoku-2", "b20-houdoku-2", True),
        ("b06-blastmerge", "ktsu-dev/BlastMerge", True),
        ("polychrome", "houdoku", False),
        ("minsky", "getspecstory", False),
        ("specstory", "getspecstory", False),
    ],
)
def test_a_project_is_known_by_all_its_names(name, other, same):
    assert same_project(name, other) is same
    assert same_project(other, name) is same


def test_no_row_of_the_evaluated_project_is_used(tmp_path):
    rows = [
        {"id": "1", "project": "minsky", "session": "a"},
        {"id": "2", "repo": "edobry+minsky"},
        {"id": "3", "project": "other", "session": "b"},
        {"id": "5", "repo": "owner+other"},
    ]
    path = tmp_path / "rows.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    own = tmp_path / "situation" / "minsky" / "situations.jsonl"
    own.parent.mkdir(parents=True)
    own.write_text('{"id": "6"}\n')
    every = [*read_rows(path), *read_rows(own)]
    kept = usable(every, exclude_projects=("minsky",))
    assert [row.values["id"] for row in kept] == ["3", "5"]


def long_texts(row: DataRow) -> list[str]:
    """What a row says, where it is too long to be said twice by chance."""
    said = (row.maybe(name).strip() for name in ("text", "content"))
    return [text for text in said if len(text) > 60]


@pytest.mark.shared_data
def test_no_evaluated_prompt_stands_among_the_rows_fitted_on():
    """Under whatever name of its project: a prompt is told by its words."""
    data = shared_data()
    found = [
        path
        for folder in ("situation", "need", "inject")
        for path in sorted((data / folder).rglob("*.jsonl"))
    ]
    rows = [row for path in found for row in read_rows(path)]
    assert len(rows) > 5_000
    for project in sorted(path for path in (data / "inject").iterdir() if path.is_dir()):
        asked = {text for row in read_rows(project / "prompts.jsonl") for text in long_texts(row)}
        kept = usable(rows, exclude_projects=(project.name,))
        leaked = {
            str(row.path.relative_to(data)) for row in kept for text in long_texts(row) if text in asked
        }
        assert not leaked, project.name
        assert len(kept) > len(rows) / 2
