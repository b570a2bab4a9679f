"""Completion: the table is that of the commands, and the answer needs neither a command nor a daemon."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys

import pytest

from tacit.cli.completion.answer import TABLE, _written, complete, offers_for
from tacit.cli.completion.table import WANTED
from tacit.cli.completion.values import SORTS
from tacit.errors import DaemonUnavailable

WORDS = json.loads(TABLE.read_text("utf-8"))
MEMORIES = [
    {"id": "mem_aaaaaaa111", "content": "Run make lint before every commit."},
    {"id": "mem_bbbbbbb222", "content": "The billing service listens on port 9090."},
]


def nobody(path):
    raise DaemonUnavailable("No daemon runs.")


def daemon(path):
    if path.startswith("/v1/memories?"):
        return {"memories": MEMORIES}
    if path == "/v1/memories/old333":
        return {"memory": {"id": "mem_ccccold333", "content": "An old one."}}
    if path.startswith("/v1/review"):
        return {"review": [{"memory": MEMORIES[0]}]}
    if path == "/v1/kinds":
        return {"kinds": [{"name": "fact", "label": "Fact"}, {"name": "runbook", "label": "Runbook"}]}
    if path == "/v1/projects":
        return {"projects": [{"project": {"root": "/work/shop"}, "scope": "project:shop-1"}]}
    if path.startswith("/v1/sessions"):
        return {"sessions": [{"key": "claude-code/1", "cwd": "/work/shop"}]}
    if path.startswith("/v1/timeline"):
        return {"recalls": [{"id": "trc_1", "surface": "prompt", "text": "commit this"}]}
    raise AssertionError(path)


def names(*words, ask=daemon):
    return [name for name, _ in offers_for(words[:-1], words[-1], table=WORDS, ask=ask)]


def test_every_wanted_value_has_a_sort():
    assert set(WANTED.values()) <= {*WORDS["values"], *SORTS}


def test_commands_groups_and_options_need_no_daemon():
    assert names("why", ask=nobody) == ["why", "why-not"]
    assert names("review", "acc", ask=nobody) == ["accept"]
    assert "--surface" in names("why-not", "--", ask=nobody)
    assert names("config", "set", "recall.lev", ask=nobody) == ["recall.level"]
    assert {"semantic", "graph"} <= set(names("config", "set", "recall.spaces", "", ask=nobody))
    assert names("config", "set", "recall.level", "ea", ask=nobody) == ["eager"]
    assert names("recall", "--surface", "on", ask=nobody) == ["on_demand"]
    assert names("remember", "--when", "comm", ask=nobody) == ["commit"]
    assert "language:python" in names("edit", "mem_x", "--scope", "language:p", ask=nobody)


def test_ids_come_with_their_first_words_and_are_found_by_their_end():
    assert offers_for(["show"], "mem_a", table=WORDS, ask=daemon) == [
        ("mem_aaaaaaa111", "Run make lint before every commit.")
    ]
    assert names("why-not", "222") == ["mem_bbbbbbb222"]
    assert names("why-not", "old333") == ["mem_ccccold333"], "one that is not among the newest"
    assert names("why-not", "mem_aaaaaaa111", "") == [], "a prompt follows, of which nothing is known"
    assert names("purge", "mem_aaaaaaa111", "mem_") == ["mem_aaaaaaa111", "mem_bbbbbbb222"]
    assert names("review", "accept", "") == ["mem_aaaaaaa111"]


def test_kinds_scopes_sessions_and_traces():
    assert names("list", "--kind", "run") == ["runbook"]
    assert "anti_pattern" in names("list", "--kind", "anti", ask=nobody)
    assert names("edit", "mem_x", "--scope", "project:") == ["project:shop-1"]
    assert names("why", "--session", "") == ["claude-code/1"]
    assert names("why-not", "mem_x", "--trace", "") == ["trc_1"]


@pytest.mark.parametrize(
    "environment",
    [
        {"COMP_WORDS": "tacit show ", "COMP_CWORD": "2"},
        {"COMP_WORDS": "tacit", "COMP_CWORD": "nonsense"},
        {"COMP_WORDS": "tacit no such 'comm", "COMP_CWORD": "3"},
        {},
    ],
)
def test_failures_are_silent(environment, capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("TACIT_HOME", str(tmp_path / "home"))
    assert complete({"_TACIT_COMPLETE": "complete_bash", **environment}) == 0
    assert capsys.readouterr() == ("", "")
    assert not (tmp_path / "home").exists(), "no daemon is started, nothing is written"


def test_each_shell_gets_its_own_form(capsys):
    line = {"_TYPER_COMPLETE_ARGS": "tacit why"}
    complete({"_TACIT_COMPLETE": "complete_zsh", **line})
    assert capsys.readouterr().out.startswith('_arguments \'*: :(("why":"Explain')
    fish = {"_TACIT_COMPLETE": "complete_fish", **line}
    assert complete({**fish, "_TYPER_COMPLETE_FISH_ACTION": "is-args"}) == 0
    complete({**fish, "_TYPER_COMPLETE_FISH_ACTION": "get-args"})
    assert capsys.readouterr().out.splitlines()[0].startswith("why\tExplain the last")
    none = {**fish, "_TYPER_COMPLETE_ARGS": "tacit nonsense x", "_TYPER_COMPLETE_FISH_ACTION": "is-args"}
    assert complete(none) == 1
    complete({"_TACIT_COMPLETE": "complete_zsh", "_TYPER_COMPLETE_ARGS": "tacit demo x"})
    assert capsys.readouterr().out == "_files\n"


EVALUATED_AS_ZSH = """
_arguments() { action="${1#*: :}"; eval "shown=( ${action:2:-2} )"; printf '%s\\n' "${shown[@]}"; }
eval "$(cat)"
"""
"""zsh evaluates the answer, and then the list in it, by rules for quotation marks that it shares with bash."""


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
@pytest.mark.parametrize(
    "evil",
    [
        "$(touch {})",
        "\\$(touch {})",
        "`touch {}`",
        "\\`touch {}`",
        '"$(touch {})',
        "'$(touch {})'",
        "\\\\$(touch {})",
        "));touch {};((",
    ],
)
def test_no_words_of_a_memory_are_carried_out_by_zsh(evil, tmp_path):
    text = _written("zsh", [("mem_aaaaaaa111", evil.format("there")), ("mem_b", "plain")])
    done = subprocess.run(
        ["bash", "-c", EVALUATED_AS_ZSH],
        input=text,
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert "mem_aaaaaaa111" in done.stdout
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "pwsh"])
def test_no_control_character_reaches_the_terminal(shell):
    text = _written(shell, [("mem_aaaaaaa111", "\x1b]0;x\x07red \u202eabc"), ("mem_bbbbbbb222", "plain")])
    assert text.replace("\n", "").replace("\t", "").isprintable()


def test_bash_breaks_words_at_colons_and_gets_the_rest_of_the_word(capsys):
    # As bash has it after `tacit edit x --scope language:py`: the colon is a word of its own.
    line = {"COMP_WORDS": "tacit edit x --scope language : py", "COMP_CWORD": "6"}
    complete({"_TACIT_COMPLETE": "complete_bash", **line})
    assert capsys.readouterr().out == "python\n"
    colon = {"COMP_WORDS": "tacit edit x --scope language :", "COMP_CWORD": "5"}
    complete({"_TACIT_COMPLETE": "complete_bash", **colon})
    assert "python" in capsys.readouterr().out.splitlines()


def test_the_answer_loads_neither_typer_nor_a_command():
    code = (
        "import sys, tacit.cli.terminal.console_script as e, os; os.environ.update(_TACIT_COMPLETE='complete_bash', COMP_WORDS='tacit sho', COMP_CWORD='1')\n"
        "try: e.main()\nexcept SystemExit: pass\n"
        "print(sorted({'typer', 'rich', 'pydantic', 'tacit.cli.main'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.splitlines() == ["show", "[]"]
