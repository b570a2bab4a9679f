"""The command that a known failure opens with, and the calls that run exactly it again."""

from __future__ import annotations

import pytest

from tacit.reading.moment_calls import failing_commands, runs_again

PUSH = "`git push origin main` failed with: protected branch hook declined."


@pytest.mark.parametrize(
    ("statement", "commands"),
    [
        (PUSH, (("git", "push", "origin", "main"),)),
        ("`git push origin main` from a session repo fails with 'refusing to update'.", (("git", "push", "origin", "main"),)),
        ("Running `pytest -x tests` fails on a fresh clone.", (("pytest", "tests", "-x"),)),
        ("npm test hangs without a browser.", (("npm", "test"),)),
        ("`cd web && npm ci` exits with 1.", (("cd", "web"), ("npm", "ci"))),
        ("`make clean` repairs a build that failed with 'stale archive member'.", ()),
        ("`git push origin main` opens a pull request. Without rights it fails.", ()),
        ("`scripts/ship.sh` fails without a lease.", (("scripts/ship.sh",),)),
        ("The build fails after `make clean`.", ()),
        ("`startSession.test.ts` hung forever under `bun test`.", ()),
        ("`GenerateColoredDiff` test threw FileNotFoundException.", ()),
        ('`debug_dir = "~/debug"` fails: the tilde is not expanded.', ()),
        ("The tests failed with a timeout.", ()),
    ],
)  # fmt: skip
def test_the_command_that_a_known_failure_opens_with(
    statement: str, commands: tuple[tuple[str, ...], ...]
) -> None:
    assert failing_commands(statement) == commands


@pytest.mark.parametrize(
    "line",
    [
        "git push origin main",
        "cd app && git push origin main 2>&1 | tail -3",
        "git -C app push origin 'main'",
        "git push --quiet origin main > out.txt",
        "timeout 60 git push origin main",
    ],
)
def test_the_same_command_again(line: str) -> None:
    assert runs_again(failing_commands(PUSH), line)


@pytest.mark.parametrize(
    "line",
    [
        "git push",
        "git push origin topic",
        "git push --force origin main",
        "git push origin main:refs/for/main",
        "git pull origin main",
        "GIT_TRACE=1 git push origin main",
        "sudo git push origin main",
        "echo 'git push origin main'",
        'grep -rn "git push origin main" docs',
    ],
)
def test_what_differs_in_meaning_is_another_command(line: str) -> None:
    assert not runs_again(failing_commands(PUSH), line)


def test_quoted_words_count_and_messages_of_commits_do_not() -> None:
    chosen = failing_commands("`pytest -k 'not slow'` fails: nothing is collected.")
    assert runs_again(chosen, 'pytest -k "not slow"')
    assert not runs_again(chosen, "pytest -k 'slow'")
    commit = failing_commands("`git commit -am 'x'` fails: the hook wants a ticket.")
    assert runs_again(commit, 'git commit -a -m "Cache the token"')
    assert not runs_again(commit, "git commit -m x")
