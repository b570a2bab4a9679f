"""Small made-up projects in the formats of the evaluation data."""

from __future__ import annotations

import json

import pytest

MEMORIES = [
    {"id": "m1", "kind": "preference", "content": "Run golangci-lint after every change of Go code.", "source": "session:s1#3", "files": []},
    {"id": "m2", "kind": "decision", "content": "Commit messages begin with the ticket number.", "source": "CLAUDE.md", "files": []},
    {"id": "m3", "kind": "fact", "content": "The billing service listens on port 8420.", "source": "session:s1#9", "files": ["billing/server.go"]},
    {"id": "m0", "kind": "fact", "content": "The billing service listens on port 80.", "source": "session:s0#1", "files": []},
]  # fmt: skip
PROMPTS = [
    {"id": "p1", "text": "please fix the bug in billing/server.go", "previous_assistant": "", "recent_files": ["billing/server.go"]},
    {"id": "p2", "text": "commit this", "previous_assistant": "All done.", "recent_files": []},
    {"id": "p3", "text": "thanks", "previous_assistant": "", "recent_files": []},
]  # fmt: skip
QRELS = "p1\tm1\t2\np1\tm3\t1\np2\tm2\t2\np2\tm1\tm\np3\t-\t0\n"
TRIGGERS = [
    {"id": "m1", "actions": {"edit_code": 3, "fix_bug": 2}, "objects": [], "breadth": 3},
    {"id": "m2", "actions": {"commit": 3}, "objects": [], "breadth": 2},
    {"id": "m3", "actions": {"fix_bug": 1, "none": 1}, "objects": ["billing"], "breadth": 1},
]
CALLS = [
    {"id": "c1", "session": "s9", "turn": 1, "tool": "Bash", "input": json.dumps({"command": "git commit -m x"}), "error": None, "prompt": "commit", "previous_assistant": ""},
    {"id": "c2", "session": "s9", "turn": 2, "tool": "Edit", "input": json.dumps({"file_path": "~/work/alpha/billing/server.go"}), "error": None, "prompt": "fix it", "previous_assistant": ""},
    {"id": "c3", "session": "s9", "turn": 3, "tool": "Read", "input": json.dumps({"file_path": "~/work/alpha/README.md"}), "error": "no such file", "prompt": "read it", "previous_assistant": ""},
]  # fmt: skip
CALL_QRELS = "c1\tm2\t2\nc2\tm1\t2\nc3\t-\t0\n"


def write_rows(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")


def write_project(root, name):
    """A project of the `inject` format with its labelled triggers."""
    folder = root / "inject" / name
    memories = [{"created": "2025-01-02", "supersedes": None, **row} for row in MEMORIES]
    memories[2]["supersedes"] = "m0"
    write_rows(folder / "memories.jsonl", memories)
    write_rows(
        folder / "prompts.jsonl",
        [{"session": f"{name}-later", "turn": 1, "date": "2025-02-01", **row} for row in PROMPTS],
    )
    (folder / "qrels.tsv").write_text(QRELS, "utf-8")
    write_rows(root / "situation" / name / "triggers.jsonl", TRIGGERS)
    return folder


@pytest.fixture
def data(tmp_path):
    """Two projects and judged calls of the first."""
    root = tmp_path / "data"
    for name in ("alpha", "beta"):
        write_project(root, name)
    write_rows(root / "action" / "calls.jsonl", CALLS)
    (root / "action" / "qrels.tsv").write_text(CALL_QRELS, "utf-8")
    return root


ORDERS = (
    ("fix the failing test", {"fix_bug": 3, "run_tests": 2}),
    ("commit this with a good message", {"commit": 3}),
    ("explain how the parser works", {"explain_code": 3}),
    ("add a flag to the command", {"implement_feature": 3, "edit_code": 3}),
)


def labelled(project, number):
    text, actions = ORDERS[number % len(ORDERS)]
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
