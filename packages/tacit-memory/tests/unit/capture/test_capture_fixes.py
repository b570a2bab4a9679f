"""What proves a fix, beyond an edit and the same command: wider commands, other programs, files read first, later sessions."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tacit.capture.fixes import (
    find_fixes,
    open_after,
    open_before,
    repeats_command,
    stopped_from_outside,
    without_old,
)
from tacit.capture.session import SessionContext, extract_learnings, fix_importance
from tacit.hosts.transcripts import ToolUse, Turn
from tacit.model.scope import UNIVERSAL
from tacit.model.session import SessionKey
from tacit.state.captured import Checkpoint, Failure, UnfixedFailure
from tacit.state.registry import PENDING

FORMAT = "Exit code 1\npkg/a.go:11:1: File is not properly formatted (gofmt)\n1 issues:\n* gofmt: 1"
PLACE = SessionContext(session=SessionKey(host="h", session_id="s"), scope=UNIVERSAL)


def bash(command, error="", *, commit=""):
    return ToolUse(
        tool="bash", command=command, failed=bool(error), finished=True, error=error, commit=commit
    )


def used(tool, path, error=""):
    return ToolUse(tool=tool, paths=(path,), failed=bool(error), finished=True, error=error)


def turn(*tools, number=1):
    return Turn(index=0, number=number, role="assistant", text="", tools=tools, at_ms=number * 1000)


@pytest.mark.parametrize(
    ("failed", "succeeded", "again"),
    [
        ("lint run ./pkg/a", "lint run", True),
        ("lint run ./pkg/a", "cd x && lint run ./pkg/a && go test ./...", True),
        ("go build -o app && ./app list", "go build -o app 2>&1", True),
        ("lint run ./pkg/a", "lint run ./pkg/b", False),
        ("go build && go test ./...", "go build", False),
        ("ls docs", "ls docs", True),
        ("ls docs", "make", False),
    ],
)
def test_what_does_it_again(failed, succeeded, again):
    assert repeats_command(failed, succeeded) is again


@pytest.mark.parametrize(
    ("failed", "error", "step", "again"),
    [
        ("golangci-lint run ./pkg/a", FORMAT, "gofmt -w ./pkg/a", "golangci-lint run"),
        ("golangci-lint run main.go", "main.go:56:5: var uuidRegex is unused (unused)", "go build -o app", "golangci-lint run main.go"),
        ("npm run check", "src/a.ts(3,1): error TS2304: Cannot find name 'b'.", "npm run build", "npm run check"),
        ("git show 0381a524da4c363a02ecd2ee720d --no-stat", "fatal: unrecognized argument: --no-stat", "git fetch", "git show 0381a524da4c363a02ecd2ee720d"),
        ("goreleaser", "command not found: goreleaser", "brew info goreleaser", "brew info goreleaser"),
    ],
)  # fmt: skip
def test_what_any_reader_of_the_error_would_do_is_no_fix_to_tell(failed, error, step, again):
    fixes, _ = find_fixes([turn(bash(failed, error), bash(step), bash(again))])
    assert fixes == ()


def test_a_program_that_is_only_looked_up_stands_in_for_none():
    missing = "command not found: python3.12"
    failed, looked = bash("python3.12 build.py", missing), bash("which python3")
    assert find_fixes([turn(failed, looked)])[0] == ()
    (fix,), _ = find_fixes([turn(failed, looked, bash("python3 build.py"))])
    assert fix.correction.whole == "python3 build.py"


@pytest.mark.parametrize(
    ("step", "prepares"),
    [
        ("pip install -e '.[test]'", True),
        ("pip install -r requirements/test.txt", True),
        ("pip install black", True),
        ("npm install && npm test", True),
        ("docker compose up -d --build", True),
        ("npm run db:migrate", True),
        ("go test ./...", False),
        ("./app help sync", False),
        ("app --help", False),
        ("ruff format .", False),
        ("npm run build", False),
    ],
)
def test_a_step_that_installs_or_starts_may_have_helped(step, prepares):
    error = "ConnectionRefusedError: the connection to port 5432 was refused"
    fixes, _ = find_fixes([turn(bash("make load", error), bash(step), bash("make load"))])
    assert [fix.failure.prepared for fix in fixes] == ([(step,)] if prepares else [])


def test_building_helps_where_something_is_missing():
    missing = "FATAL: the file dist/cli.js does not exist"
    (fix,), _ = find_fixes([turn(bash("make load", missing), bash("npm run build"), bash("make load"))])
    assert fix.failure.prepared == ("npm run build",)


def test_the_work_of_a_session_is_no_fix_where_nobody_says_why():
    error = "FATAL: role tacit does not exist"
    edits = tuple(used("edit", f"part{number}.py") for number in range(4))
    (fix,), _ = find_fixes([turn(bash("make load", error), *edits[:2], bash("make load"))])
    assert fix.failure.edited == ("part0.py", "part1.py")
    assert find_fixes([turn(bash("make load", error), *edits, bash("make load"))])[0] == ()


@pytest.mark.parametrize(
    ("said", "known"),
    [
        ("The loader needs the role tacit, which the seeds must create.", True),
        ("The README is missing the row of the new provider.", False),
    ],
)
def test_a_later_session_tells_the_cause_only_in_words_of_the_failure(said, known):
    first = turn(bash("make load", "FATAL: role tacit does not exist in seeds.sql"))
    _, left = find_fixes([first])
    left = tuple(replace(one, elsewhere=True) for one in left)
    edit = ToolUse(tool="edit", paths=("db/seeds.sql",), finished=True, said=said)
    (fix,), _ = find_fixes([turn(edit, bash("make load"))], left)
    assert bool(fix.failure.cause) is known


def test_a_later_session_mends_no_line_that_the_error_names():
    _, left = find_fixes([turn(bash("make lint", "main.go:45:1: declared and not used"))])
    left = tuple(replace(one, elsewhere=True) for one in left)
    assert find_fixes([turn(used("edit", "main.go"), bash("make lint"))], left)[0] == ()


@pytest.mark.parametrize(
    ("said", "cause"),
    [
        ("I need to move the tests to another file since the function moved there.", ""),
        ("This shouldn't happen, let me look for the reason.", ""),
        ("The reason is that the parser needs a newline at the end.", "The reason is that the parser needs a newline at the end"),
    ],
)  # fmt: skip
def test_what_the_agent_means_to_do_next_is_no_cause(said, cause):
    edit = ToolUse(tool="edit", paths=("parser.py",), finished=True, said=said)
    tools = (bash("make check", "ModuleNotFoundError: No module named 'yaml'"), edit, bash("make check"))
    (fix,), _ = find_fixes([turn(*tools)])
    assert fix.failure.cause == cause


def test_another_program_of_the_family_stands_in_for_a_missing_one():
    missing = "Exit code 127\n(eval):1: command not found: python3.12"
    tools = (bash("python3.12 build.py --all", missing), bash("ls /usr/bin"), bash("python3 build.py --all"))
    (fix,), _ = find_fixes([turn(*tools)])
    assert fix.correction.whole == "python3 build.py --all"
    assert find_fixes([turn(tools[0], bash("ruby build.rb"))])[0] == ()


def test_what_a_tool_of_the_host_refuses_is_no_knowledge_of_the_project():
    error = "<tool_use_error>File has not been read yet. Read it first before writing to it.</tool_use_error>"
    tools = (used("edit", "a.go", error), used("read", "a.go"), used("edit", "a.go"))
    assert find_fixes([turn(*tools)]) == ((), ())


def test_what_was_stopped_did_not_fail():
    error = "<tool_use_error>Sibling tool call errored</tool_use_error>"
    assert stopped_from_outside(error)
    assert find_fixes([turn(bash("make check", error))]) == ((), ())


def test_repeated_failures_count_and_what_was_tried_in_vain_does_not():
    tools = (
        bash("make check", "Error: cannot find module yaml"),
        used("edit", "wrong.py"),
        bash("make check", "Error: cannot find module yaml"),
        bash("pip install pyyaml"),
        bash("make check"),
        bash("git commit -m x", commit="1a2b3c4 Add yaml"),
    )
    (fix,), _ = find_fixes([turn(*tools)])
    assert (fix.failure.times, fix.failure.edited, fix.failure.prepared) == (2, (), ("pip install pyyaml",))
    assert fix.commit == "1a2b3c4 Add yaml"
    assert [fix_importance(times) for times in (1, 2, 3, 5, 9)] == [None, 0.6, 0.7, 0.9, 0.9]


def test_what_one_session_leaves_open_a_later_one_fixes():
    first = extract_learnings([turn(bash("make check", "Error: cannot find module yaml in setup.cfg"))], Checkpoint(), place=PLACE,
                  captured_hashes=frozenset(), redact=str)  # fmt: skip
    assert [one.session for one in first.pending] == ["h/s"]
    assert first.drafts == ()
    stored = PENDING.parse(PENDING.text(first.pending))
    assert stored == first.pending

    later = SessionContext(session=SessionKey(host="h", session_id="later"), scope=UNIVERSAL)

    def go_on(*tools):
        return extract_learnings(
            [turn(*tools, number=4)],
            Checkpoint(),
            place=later,
            captured_hashes=frozenset(),
            redact=str,
            pending=stored,
        )

    fixed = go_on(bash("pip install pyyaml"), bash("make check"))
    (draft,) = fixed.drafts
    assert draft.kind == "error_pattern"
    assert "pip install pyyaml" in draft.content
    assert fixed.pending == ()
    assert "yaml" not in fixed.digest.partition("block:")[2], (
        "what another session left open is not this one's"
    )

    elsewhere = go_on(used("edit", "other.py"), bash("make check"))
    assert elsewhere.drafts == (), "an edit of something else proves nothing in another session"
    assert elsewhere.pending == ()
    named = go_on(used("edit", "conf/setup.cfg"), bash("make check"))
    assert len(named.drafts) == 1
    assert go_on(bash("ls")).pending == stored, "it waits on"


def test_the_list_of_what_waits_is_bounded_ages_and_survives_rubbish():
    waiting = [
        UnfixedFailure(
            session="h/s",
            failure=Failure(command=f"make {n}", error="e", signature="make | e", turn=1, at_ms=n),
        )
        for n in range(1, 61)
    ]
    kept = PENDING.parse(PENDING.text(tuple(waiting)))
    assert len(kept) == 40
    assert kept[0].failure.at_ms == 21
    assert [one.failure.at_ms for one in without_old(kept, before_ms=59)] == [59, 60]
    assert PENDING.parse("no json") is None
    assert PENDING.parse('[1, {"session": "x"}, {"session": "x", "failure": {"what": 1}}]') is None
    assert PENDING.text(()) is None


def test_own_failures_are_not_taken_for_those_of_others():
    mine = Failure(command="make a", error="e", signature="make | e", turn=1, at_ms=1)
    other = UnfixedFailure(
        session="h/other", failure=Failure(command="make b", error="e", signature="make | f", turn=1, at_ms=1)
    )
    before = open_before([other], [mine], "h/s")
    assert [failure.elsewhere for failure in before] == [True, False]
    assert open_after([other], before, "h/s") == (
        (other, UnfixedFailure(session="h/s", failure=mine)),
        (mine,),
    )
