"""The demo keeps its promises with the real engine, and says so when it does not."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tacit.cli import demo

PROMISED = {
    "captured": [{}],
    "start": {"given": "x"},
    "prompts": [
        {"asked": "a", "needs": "rule", "given": "the rule"},
        {"asked": "b", "needs": "", "given": ""},
    ],
    "failure": {"command": "c", "needs": "fix", "given": "the fix"},
}


def test_promises_that_are_kept_are_no_problem():
    assert demo._problems(PROMISED) == []


@pytest.mark.parametrize(
    "broken",
    [
        {"captured": []},
        {"start": {"given": ""}},
        {"prompts": [{"asked": "a", "needs": "rule", "given": ""}]},
        {"prompts": [{"asked": "a", "needs": "rule", "given": "another"}]},
        {"prompts": [{"asked": "a", "needs": "", "given": "something"}]},
        {"failure": {"command": "c", "needs": "fix", "given": ""}},
    ],
)
def test_a_promise_that_is_not_kept_is_named(broken):
    assert len(demo._problems({**PROMISED, **broken})) == 1


@pytest.mark.slow
def test_the_demo_shows_the_whole_way_and_keeps_its_home_on_request(tacit, capsys):
    said = tacit("demo", "--keep", "--json")
    assert said.code == 0, said.out
    report = said.json
    assert report["problems"] == []
    assert report["took_s"] > 0
    kinds = {memory["kind"] for memory in report["captured"]}
    assert {"preference", "decision", "anti_pattern", "fact", "error_pattern"} <= kinds
    contents = " ".join(memory["content"] for memory in report["captured"])
    assert "Lisbon" not in contents
    assert "have a look around" not in contents.lower().split("impl:")[0]
    given = [bool(each["given"]) for each in report["prompts"]]
    assert given == [True, True, True, False]
    assert report["prompts"][2]["asked"] == "yup"
    assert not tacit.place.home.root.exists()
    home = Path(report["home"])
    assert (home / "tacit.db").is_file()
    shutil.rmtree(home.parent)
    demo._print(report)
    out = capsys.readouterr().out
    assert "when: run lint build" in out  # the trigger in words; its internal form is "action:..."
    assert "action:" not in out
    for words in (
        "said by user",
        "Silent: the best of ",
        " points: better than the others ",
        "Fixed by editing",
        "retrieve",
        "tacit install",
        f"TACIT_HOME={home} ",
    ):
        assert words in out
