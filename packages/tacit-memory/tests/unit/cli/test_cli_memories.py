"""Commands on memories, through the real API to a real store."""

from __future__ import annotations

import pytest

from tacit.app.visibility import MAX_HITS
from tacit.cli.memories import MOST_FOUND
from tacit.model.changes import Add
from unit.app.test_app_search import statement as made_statement

RULE = "Always run `make lint` after changing code"
HOSTILE = "Keep [red]this[/red] \x1b[31mred\x1b[0m and a\x00nul </tacit-memory> :smile:"


def remembered(tacit, *words, **options):
    said = tacit("remember", *words, "--json")
    assert said.code == 0, said.err
    return said.json["changes"][0]["memory"]["id"]


def test_a_statement_is_remembered_listed_shown_and_found(tacit):
    said = tacit("remember", *RULE.split(), "--when", "edit_code")
    assert said.code == 0
    assert "[preference]" in said.out
    assert "when: edit code" in said.out
    [memory] = tacit("list", "--json").json["memories"]
    assert memory["content"] == RULE
    assert memory["provenance"]["source"] == "cli"
    shown = tacit("show", memory["id"][:9])
    assert RULE in shown.out
    assert "user via cli" in shown.out
    assert "History" not in shown.out
    assert RULE in tacit("recall", "change", "code").out
    assert RULE in tacit("recall").out
    assert RULE in tacit("list").out


def test_saying_it_again_at_once_is_said_to_be_known_and_changes_nothing(tacit):
    key = remembered(tacit, RULE)
    for _ in range(2):
        said = tacit("remember", RULE)
        assert (said.code, said.out) == (0, f"known already {key} {RULE}\n")
    (version,) = tacit("list", "--changes", "--json").json["changes"]
    assert version["memory"]["frequency"] == 1


def test_when_may_be_repeated_and_a_statement_may_replace_others_by_id(tacit):
    old = remembered(tacit, "Releases are tagged on Fridays")
    said = tacit(
        "remember",
        "Releases go out from the release branch",
        "--when",
        "release",
        "--when",
        "before we tag, or publish",
        "--replaces",
        old,
    )
    assert said.code == 0, said.err
    assert old in said.out
    [memory] = tacit("list", "--json").json["memories"]
    assert memory["trigger"]["phrases"] == ["before we tag, or publish"]
    assert "phrase:before we tag%2C or publish" in tacit("show", memory["id"]).out
    assert tacit("show", old, "--json").json["memory"]["status"] == "superseded"
    unknown = tacit("remember", "Something else", "--replaces", "mem_nowhere")
    assert unknown.code != 0
    assert "mem_nowhere" in unknown.err


def test_saying_it_again_with_more_keeps_what_is_given(tacit):
    key = remembered(tacit, RULE)
    said = tacit("remember", RULE, "--pin", "--when", "commit", "--file", "Makefile")
    assert said.code == 0
    assert " pinned " in said.out
    assert "when: commit" in said.out
    memory = tacit("show", key, "--json").json["memory"]
    assert (memory["pinned"], memory["files"]) == (True, ["Makefile"])
    assert memory["trigger"]["actions"] == [["commit", 1.0]]


@pytest.mark.parametrize("option", ["--when", "--file"])
def test_a_secret_beside_the_statement_is_refused_and_its_place_named(tacit, option):
    said = tacit("remember", RULE, option, "topic:ghp_" + "a1B2" * 9)
    assert said.code == 5
    assert option.removeprefix("--") in said.err
    assert "a1B2" not in said.err
    assert tacit("list", "--json").json["memories"] == []


def test_a_memory_is_moved_to_the_project_of_the_folder(tacit):
    tacit("remember", RULE, "--scope", "language:C++")
    (memory,) = tacit("list", "--all", "--json").json["memories"]
    name = memory["id"]
    assert memory["scope"] == "language:c++"
    assert tacit("edit", name, "--scope", "project").code == 0
    assert tacit("show", name, "--json").json["memory"]["scope"].startswith("project:")


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (("remember", "  "), 2, ""),
        (("recall", ""), 2, ""),
        (("show", ""), 2, ""),
        (("list", "--changes", "tabs"), 2, "does not accept TEXT."),
        (("list", "--changes", "--kind", "fact"), 2, "does not accept --kind."),
        (("list", "--changes", "--as-of", "2026-11-21"), 2, "does not accept --as-of."),
        (("list", "--cwd", "/nowhere"), 3, "There is no folder"),
        (("recall", "this", "--cwd", "/nowhere"), 3, "There is no folder"),
        (("remember", RULE, "--cwd", "/nowhere"), 3, "There is no folder"),
        (("remember", RULE, "--kind", "rule"), 3, "preference"),
        (("remember", RULE, "--scope", "galaxy"), 3, "language"),
        (("remember", RULE, "--scope", "project:nonexist"), 3, "nonexist"),
        (("remember", RULE, "--scope", "language:pyton"), 3, "Did you mean 'python'? Known languages: "),
        (("remember", RULE, "--scope", "language:Golang"), 3, "Did you mean 'go'?"),
        (("list", "--status", "bogus"), 3, "active, quarantined, superseded, retired, all"),
        (("show", "mem_nosuch"), 4, "`tacit list` shows ids; take one as it stands there"),
        (("forget", "mem_nosuch"), 4, "`tacit list` shows ids; take one as it stands there"),
        (("edit", "--wrong", "mem_nosuch"), 4, "`tacit list` shows ids; take one as it stands there"),
        (("why", "--session", "bogus"), 4, "host/id"),
        (("remember", "ghp_" + "a1B2" * 9), 5, "Nothing was stored: the statement holds a secret (github_token)."),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_said_with_its_exit_code(tacit, words, code, says):
    tacit("recall", "anything at all")
    said = tacit(*words)
    assert (said.code, said.out) == (code, "")
    assert says in " ".join(said.err.split())
    assert "a1B2" not in said.err
    assert tacit("list", "--json").json["memories"] == []


def test_wrong_lowers_the_importance(tacit):
    name = remembered(tacit, RULE)
    assert tacit("edit", name).code == 2, "nothing is to be changed"
    before = tacit("show", name, "--json").json["memory"]["importance"]
    said = tacit("edit", name, "--wrong")
    assert said.code == 0
    assert tacit("edit", name, "--wrong", "--json").json["memory"]["importance"] < before


@pytest.mark.parametrize("name", ["../status", "a/b", "?x=1", "%2e%2e", "\x1b[31m"])
def test_a_hostile_id_reaches_no_other_path(tacit, name):
    said = tacit("show", name)
    assert said.code == 4
    assert "\x1b" not in said.err


def test_hostile_content_is_printed_harmlessly_everywhere(tacit):
    name = remembered(tacit, HOSTILE, "--pin")
    tacit("recall", "keep this", "--surface", "prompt")
    for arguments in (("list",), ("show", name), ("recall", "keep this"), ("recall",), ("why", "--stages")):
        said = tacit(*arguments)
        assert said.code == 0, said.err
        assert not set(said.out) & set("\x1b\x00")
    assert "[red]this[/red]" in tacit("list").out


def test_another_project_sees_nothing_and_all_sees_it(tacit, tmp_path):
    remembered(tacit, RULE)
    other = tmp_path / "other"
    other.mkdir()
    assert tacit("list", "--cwd", other, "--json").json["memories"] == []
    assert len(tacit("list", "--all", "--cwd", other, "--json").json["memories"]) == 1


def test_why_explains_an_injection_and_a_silence(tacit):
    assert "Nothing was asked" in tacit("why").out
    remembered(tacit, RULE, "--when", "edit_code")
    tacit("recall", "change the code of the parser and run make lint", "--surface", "prompt")
    tacit("recall", "thanks!", "--surface", "prompt")
    said = tacit("why", "--stages")
    assert said.code == 0
    assert "Silent: the prompt asks for no work, such as thanks or a greeting." in said.out
    assert "guard" in said.out
    traces = tacit("why", "--json", "-n", "1").json["traces"]
    assert len(traces) == 1
    assert traces[0]["silence"] == "the prompt asks for no work, such as thanks or a greeting"


def test_why_not_names_the_stage_and_what_was_tried(tacit, tmp_path):
    name = remembered(tacit, RULE, "--when", "commit")
    given = tacit("why-not", name, "--surface", "action", "--command", "git commit -m x")
    assert given.code == 0
    assert "It is given around this tool call" in given.out
    other = tmp_path / "other"
    other.mkdir()
    away = tacit("why-not", name, "commit", "this", "--cwd", other)
    assert "is not visible here." in away.out
    assert "It is visible to work in that project." in away.out
    answer = tacit("why-not", name, "commit this", "--cwd", other, "--json").json
    assert answer["absence"]["cause"] == "out_of_scope"
    for remedy in answer["remedies"]:
        assert remedy["text"] in away.out
        for step in remedy["steps"]:
            assert step["command"] in away.out
    assert tacit("why-not", name).code == 2
    assert tacit("why-not", "mem_unknown", "commit").code == 4


def test_silence_is_said_with_its_reason(tacit):
    assert tacit("recall", "anything").out.startswith("Nothing: ")
    assert "gets no memory" in tacit("recall").out


def test_a_page_that_is_not_all_says_so(tacit):
    for statement in (
        RULE,
        "We decided to keep money as integer cents",
        "src/shop/tax.py holds the VAT rates",
    ):
        remembered(tacit, statement)
    assert "There are more" in tacit("list", "-n", "2").out
    assert "There are more" not in tacit("list", "-n", "3").out


def test_a_search_that_ends_before_all_are_shown_says_so(tacit):
    tacit("list")
    contents = [f"The billing service number {number} has an owner." for number in range(201)]
    tacit.daemon.engine._parts.store.apply([Add(memory=made_statement(*one)) for one in enumerate(contents)])
    assert "shows the best 200" in tacit("list", "billing", "-n", "300").out
    assert "shows the best 200" not in tacit("list", "-n", "300").out
    assert "There are more" in tacit("list", "billing", "-n", "100").out


def test_a_start_is_recalled_without_words(tacit):
    remembered(tacit, RULE)
    assert RULE in tacit("recall", "--surface", "start").out
    assert RULE in tacit("recall", "--surface", "compaction").out


def test_when_a_memory_applies_is_said_in_words_and_whole_in_json(tacit):
    when = "action:debug_investigate=0.47, action:edit_code=0.3, action:run_tests=0.21, action:commit=0.9"
    said = tacit("remember", RULE, "--when", when)
    (line,) = [line for line in said.out.splitlines() if "when:" in line]
    assert line.strip() == "when: commit, debug investigate, edit code"
    (memory,) = tacit("list", "--json").json["memories"]
    assert len(memory["trigger"]["actions"]) == 4
    assert "0.47" in tacit("show", memory["id"]).out


def test_tables_show_endings_of_ids_that_commands_take(tacit):
    ids = [
        remembered(tacit, f"The {word} service listens on port {port}.")
        for word, port in (("mail", 81), ("cart", 82))
    ]
    for said in (tacit("list"), tacit("recall", "mail", "cart", "service", "port")):
        for line in said.out.splitlines()[1:]:
            ending = line.split()[0]
            assert not ending.startswith("mem_")
            (name,) = [one for one in ids if one.endswith(ending)]
            assert tacit("show", ending, "--json").json["memory"]["id"] == name


def test_a_call_is_tried_with_its_tool_command_and_path(tacit):
    tacit("remember", "Run make lint.", "--when", "cmd:git commit")
    tacit("remember", "Keep the billing module free of floats.", "--when", "path:src/billing/*")

    def found(*options):
        answer = tacit("recall", "--surface", "action", "--json", *options).json
        return [one["text"] for one in answer["memories"]]

    assert found("--tool", "bash", "--command", "git commit -m x") == ["Run make lint."]
    assert found("--tool", "edit", "--path", "src/billing/sums.py") == [
        "Keep the billing module free of floats."
    ]
    assert found("--tool", "bash", "--command", "ls") == []


def test_the_command_knows_where_a_search_ends():
    assert MOST_FOUND == MAX_HITS


def test_an_empty_list_says_what_other_folders_hold(tacit, tmp_path):
    tacit("remember", "The shop ships on Fridays.")
    other = tmp_path / "elsewhere"
    (other / ".git" / "objects").mkdir(parents=True)
    said = tacit("list", "--cwd", str(other)).out
    assert "1 memory of other folders: `tacit list --all`" in said
