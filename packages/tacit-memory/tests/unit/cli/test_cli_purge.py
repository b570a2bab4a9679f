"""`tacit purge`: shows what would go, asks, and says what may still hold it."""

from __future__ import annotations

import pytest

from tacit.cli.maintenance.purge import purge_in_batches


@pytest.fixture
def stored(tacit):
    for words in ("Deployments go out on Tuesdays", "Deployments need two reviews", "Use uv for packages"):
        assert tacit("remember", words).code == 0
    return {one["content"]: one["id"] for one in tacit("list", "--json").json["memories"]}


def contents(tacit):
    return sorted(one["content"] for one in tacit("list", "--status", "all", "--json").json["memories"])


def test_a_dry_run_and_a_question_change_nothing(tacit, stored):
    said = tacit("purge", "--matching", "deployments", "--dry-run")
    assert (said.code, "Deployments go out" in said.out, "Nothing was changed" in said.out) == (0, True, True)
    said = tacit("purge", "--matching", "deployments")
    assert (said.code, "--yes" in said.err) == (3, True)
    assert len(contents(tacit)) == 3


def test_what_was_shown_goes_for_good(tacit, stored):
    name = stored["Use uv for packages"]
    said = tacit("purge", name, "--yes")
    assert (said.code, said.out.endswith("1 memory forgotten for good.\n")) == (0, True)
    assert tacit("show", name).code == 4
    answer = tacit("purge", "--matching", "DEPLOYMENTS", "--yes", "--json").json
    assert (len(answer["memories"]), answer["dry_run"]) == (2, False)
    assert contents(tacit) == []
    assert tacit("purge", "--matching", "deployments", "--yes").code == 4


def test_a_copy_that_cannot_be_cleaned_is_named_with_an_exit_code(tacit, stored):
    target = tacit.project / "backup.db"
    assert tacit("backup", target).code == 0
    target.write_bytes(b"no database at all" * 100)
    said = tacit("purge", "--project", "--yes")
    assert (said.code, str(target) in said.out) == (10, True)
    assert contents(tacit) == []


@pytest.mark.parametrize(
    "arguments", [[], ["mem_1", "--project"], ["--session", "s1"], ["--source", "mcp", "--matching", "x"]]
)
def test_one_thing_at_a_time(tacit, arguments):
    assert tacit("purge", *arguments, "--yes").code == 2


def test_many_go_in_parts_and_what_is_gone_meanwhile_is_passed_over(tacit, stored):
    asked = []
    ids = [
        stored["Use uv for packages"],
        "mem_gone",
        *(stored[one] for one in stored if "Deployments" in one),
    ]

    def ask(method, path, values):
        asked.append(values["ids"])
        return tacit.daemon.request(method, path, values)[1]

    whole = purge_in_batches(ask, ids, part=2)
    assert asked == [ids[:2], ids[2:]]
    assert [one["id"] for one in whole["memories"]] == [ids[0], *ids[2:]]
    assert whole["rows"]["memories"] == 3
    assert contents(tacit) == []


def test_a_project_that_nothing_is_known_of_is_not_found(tacit, tmp_path):
    (tmp_path / "never").mkdir()
    said = tacit("purge", "--project", "--cwd", tmp_path / "never", "--yes")
    assert (said.code, "There is no project" in said.err) == (4, True)
