"""What is fitted for a project must not change when that project's rows do, and the same rows give the same bytes."""

from __future__ import annotations

import json

import pytest

from tacit.errors import InvalidInput
from tacit.providers.embedding import FakeEmbedder
from tacit_evals.fit.__main__ import FILES, files_of
from tacit_evals.fit.fitted import fit_all
from tacit_evals.suites.running import Run, shipped_settings

PROMPTS = (
    ("fix the failing test", {"fix_bug": 3, "run_tests": 2}),
    ("commit this with a good message", {"commit": 3}),
    ("explain how the parser works", {"explain_code": 3}),
    ("add a flag to the command", {"implement_feature": 3, "edit_code": 3}),
)


def write_rows(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")


def labelled(project, number):
    text, actions = PROMPTS[number % len(PROMPTS)]
    return {
        "id": f"{project}-{number}", "project": project, "session": f"{project}-s", "turn": number, "text": text,
        "previous_assistant": "", "recent_files": [], "actions": actions, "objects": [], "learn": None, "span": None,
    }  # fmt: skip


MODULES = range(70)
"""So many further memories that no start pack holds them all."""


def enlarge(data, name):
    """A project with many memories, prompts that need some of them, and labelled situations."""
    folder = data / "inject" / name
    memories = [
        {
            "id": f"f{number}", "kind": "fact", "content": f"Module {number} of {name} parses reports{', and writes a table' * (number % 3)}.",
            "created": f"2025-01-{1 + number % 28:02d}", "source": "CLAUDE.md" if number % 5 == 0 else "session:s#1",
            "files": ["src/a.py"] if number % 4 == 0 else [], "supersedes": None,
        }
        for number in MODULES
    ]  # fmt: skip
    prompts = [
        {
            "id": f"q{number}", "session": "later", "turn": number, "date": "2025-02-01",
            "text": f"fix the bug of module {number} that parses reports", "previous_assistant": "", "recent_files": [],
        }
        for number in range(12)
    ]  # fmt: skip
    write_rows(folder / "memories.jsonl", memories)
    write_rows(folder / "prompts.jsonl", prompts)
    judged = [f"q{number}\tf{number + shift}\t2" for number in range(9) for shift in (0, 30, 60)]
    judged += [f"q{number}\t-\t0" for number in (9, 10, 11)]
    (folder / "qrels.tsv").write_text("\n".join(judged), "utf-8")
    write_rows(
        data / "situation" / name / "triggers.jsonl",
        [
            {
                "id": f"f{number}",
                "actions": {"fix_bug": 3},
                "objects": ["reports", "table", "parser"][: number % 4],
                "breadth": 1 + number % 3,
            }
            for number in MODULES
        ],
    )
    write_rows(
        data / "situation" / name / "situations.jsonl",
        [{"id": f"q{number}", "actions": {"fix_bug": 3}, "objects": []} for number in range(12)],
    )


@pytest.fixture
def labels(data):
    """The made-up projects with labelled prompts and rules, as the fitters read them."""
    folder = data / "situation"
    for name in ("alpha", "beta", "gamma"):
        enlarge(data, name)
    every = [
        labelled(project, number)
        for project in ("owner/alpha", "beta", "gamma", "delta")
        for number in range(8)
    ]
    write_rows(folder / "prompts.jsonl", every)
    write_rows(folder / "more.jsonl", [labelled("epsilon", number) for number in range(8)])
    write_rows(
        folder / "rules.jsonl",
        [
            {
                "id": f"r{number}", "repo": repo, "file": "AGENTS.md", "heading": "Rules", "keep": 1, "kind": "preference",
                "content": f"Run the tests before every commit of module {number}.",
                "actions": {"commit": 3, "run_tests": 2}, "objects": ["tests"], "breadth": 2,
            }
            for repo in ("owner+alpha", "owner+gamma", "owner+delta")
            for number in range(6)
        ],
    )  # fmt: skip
    return data


def fitted_bytes(folder, *excluded):
    fitted = fit_all(
        [folder],
        exclude_projects=excluded,
        embedder=FakeEmbedder(),
        settings=shipped_settings(),
        date="2026-01-01",
    )
    return fitted, files_of(fitted)


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
@pytest.mark.timeout(300)
def test_rows_of_the_evaluated_project_change_nothing(labels):
    fitted, before = fitted_bytes(labels, "alpha")
    assert fitted.left_out == ("alpha",)
    again = fitted_bytes(labels, "alpha")[1]
    assert again == before  # byte for byte
    whole = fitted_bytes(labels)[1]
    disturb(labels)
    assert fitted_bytes(labels, "alpha")[1] == before
    changed = fitted_bytes(labels)[1]
    assert {name for name in before if changed[name] != whole[name]} == set(
        before
    )  # else this proves nothing
    assert set(before) == set(FILES.values())


def test_a_run_fits_once_for_each_set_of_projects(data):
    run = Run(data=data, embedder=FakeEmbedder())
    assert run.fitted("alpha") is run.fitted("beta", "alpha")  # what ships, without --fit


def test_nothing_to_fit_on_is_said(data):
    with pytest.raises(InvalidInput, match="No judged project is left"):
        fit_all(
            [data], exclude_projects=("alpha", "beta"), embedder=FakeEmbedder(), settings=shipped_settings()
        )
