"""`tacit sessions`: what sessions did, and clear words where there is nothing to tell."""

from __future__ import annotations

import pytest

from agent import send
from transcripts import tool_call, tool_result, write_transcript


def started(tacit, name):
    """A session that began and goes on."""
    tacit.daemon.ensure_running()
    send(tacit.daemon.engine, tacit.project, "SessionStart", name, source="startup", transcript_path="")


def transcript(tacit, name="s1", *, file="src/parse.py", at="2026-11-20T10:00:00Z", tasks=()):
    """A session that edited a file, decided and committed; imported as one of long ago."""
    said = f"Please fix the parser of {file}. We decided to use uv instead of pip for packages."
    todos = [{"content": text, "status": "pending", "activeForm": text} for text in tasks]
    uses = (
        tool_call("t1", "Edit", file_path=str(tacit.project / file)),
        tool_call("t2", "TodoWrite", todos=todos),
        tool_call("t3", "Bash", command="git commit -m 'Fix the parser'"),
        tool_result("t1"),
        tool_result("t3", "[main 1a2b3c4] Fix the parser\n 1 file changed"),
    )
    path = tacit.project.parent / f"{name}.jsonl"
    return write_transcript(path, ("user", said), *uses, cwd=tacit.project, session=name, at=at)


def learn(tacit, *paths):
    assert tacit("import", "transcripts", *paths).code == 0


def test_the_last_session_of_the_project_is_told_whole(tacit):
    learn(tacit, transcript(tacit, tasks=("write tests",)))
    said = tacit("sessions")
    assert said.code == 0
    for line in (
        "claude-code/s1",
        "worked on  changed src/parse.py",
        "decided    We decided to use uv instead of pip",
        "next       write tests",
        "done       Fix the parser (1a2b3c4)",
        "files      src/parse.py",
        "open       write tests",
        "commits    1a2b3c4 Fix the parser",
    ):
        assert line in said.out
    answer = tacit("sessions", "--json").json
    assert answer["reason"] == ""
    (one,) = answer["digests"]
    assert [line["code"] for line in one["lines"]] == ["impl", "dec", "next", "done"]
    assert (one["session"], one["files"], one["running"]) == ("claude-code/s1", ["src/parse.py"], False)


def test_sessions_by_name_of_the_project_and_of_all(tacit):
    old = transcript(tacit, "older", file="a.py", at="2026-11-01T10:00:00Z")
    new = transcript(tacit, "newer", file="b.py", at="2026-11-20T10:00:00Z")
    learn(tacit, new)
    learn(tacit, old)  # what was read last is not what happened last
    assert "claude-code/newer" in tacit("sessions").out
    assert "a.py" in tacit("sessions", "claude-code/older").out
    assert "a.py" in tacit("sessions", "old").out
    listed = tacit("sessions", "--project", "--json").json["digests"]
    assert [one["session"] for one in listed] == ["claude-code/newer", "claude-code/older"]
    elsewhere = tacit.project.parent / "other"
    elsewhere.mkdir()
    assert tacit("sessions", "--cwd", elsewhere).out.startswith(
        "No digest: no session has been recorded here"
    )
    assert "claude-code/newer" in tacit("sessions", "--last", "--cwd", elsewhere).out


def test_why_there_is_none(tacit):
    assert tacit("sessions").out == "No digest: no session has been recorded here yet.\n"
    started(tacit, "s9")
    assert "claude-code/s9 has none: it is still running" in tacit("sessions").out
    learn(tacit, transcript(tacit))
    said = tacit("sessions")
    assert said.out.startswith("The newest session claude-code/s9 has none: it is still running")
    assert "src/parse.py" in said.out
    (one,) = tacit("sessions", "s1", "--json").json["digests"]
    tacit("forget", one["memory_id"])
    assert tacit("sessions", "s1").out == "No digest: claude-code/s1 has none: it was forgotten.\n"


def test_sessions_that_are_not_learned_from_say_so(tacit):
    tacit("config", "set", "capture.enabled", "false")
    tacit.daemon.stop()
    started(tacit, "s9")
    assert "capture.enabled" in tacit("sessions", "s9").out


@pytest.mark.parametrize(
    ("arguments", "code"), [(["nosuch"], 4), (["s1", "--last"], 2), (["--last", "--project"], 2)]
)
def test_what_cannot_be_shown_is_said(tacit, arguments, code):
    assert tacit("sessions", *arguments).code == code


def test_a_beginning_that_fits_two_sessions_is_refused(tacit):
    learn(tacit, transcript(tacit, "abc-1"), transcript(tacit, "abc-2", file="c.py"))
    said = tacit("sessions", "abc")
    assert (said.code, "2 sessions begin with 'abc'" in said.err) == (4, True)
