"""Git is asked and runs nothing that a repository names. Git itself makes the repositories."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

import repositories
from tacit.system.git import Repository

SETUP = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}


def shell(root: Path, *words: str) -> str:
    return repositories.git(root, *words, **SETUP)


@pytest.fixture
def work(tmp_path: Path) -> Path:
    root = tmp_path / "work"
    root.mkdir()
    shell(root, "init", "-q")
    (root / "a.txt").write_text("one\n", "utf-8")
    shell(root, "add", "-A")
    shell(root, "commit", "-q", "-m", "First\n\nWith a body")
    (root / "a.txt").write_text("two\n", "utf-8")
    shell(root, "commit", "-q", "-a", "-m", "Second")
    return root


def git(root: Path) -> Repository:
    return Repository(folder=root / ".git", work_tree=root)


def test_commits_hold_what_they_say_of_themselves(work):
    second, first = git(work).commits("HEAD", most=9)
    assert (second.message, first.message) == ("Second\n", "First\n\nWith a body\n")
    assert second.parents == (first.id,)
    assert first.author == "x@example.org"
    assert first.at_s > 1_700_000_000
    assert [commit.id for commit in git(work).commits("HEAD", most=1)] == [second.id]


def test_objects_are_whole_and_one_that_is_not_here_is_none(work):
    found = git(work).objects([b"HEAD:a.txt", b"HEAD~1:a.txt", b"HEAD:b.txt"])
    assert found == {b"HEAD:a.txt": b"two\n", b"HEAD~1:a.txt": b"one\n", b"HEAD:b.txt": None}
    assert git(work).objects([b"HEAD:a\nb"]) is None


@pytest.mark.parametrize("revision", ["refs/heads/none", "HEAD^{tree}x", "f" * 40])
def test_what_git_cannot_answer_is_none(work, revision):
    assert git(work).commits(revision, most=9) is None


def test_an_answer_that_is_too_long_is_none_or_cut(work):
    assert git(work).ask("cat-file", "blob", "HEAD:a.txt", most_bytes=2) is None
    assert git(work).ask("cat-file", "blob", "HEAD:a.txt", most_bytes=2, cut=True) == b"tw"


def test_a_git_that_takes_too_long_is_none(work, tmp_path, monkeypatch):
    slow = tmp_path / "programs"
    slow.mkdir()
    (slow / "git").write_text("#!/bin/sh\nexec sleep 60\n", "utf-8")
    (slow / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{slow}:{os.environ['PATH']}")
    assert git(work).ask("ls-files", timeout_s=0.2) is None


def test_without_git_there_is_no_answer(work, monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert git(work).ask("ls-files") is None


def test_a_git_that_lies_in_the_folder_is_not_run(work, monkeypatch):
    (work / "git").write_text("#!/bin/sh\ntouch ran\n", "utf-8")
    (work / "git").chmod(0o755)
    monkeypatch.chdir(work)
    monkeypatch.setenv("PATH", ".")
    assert git(work).ask("ls-files") is None
    assert not (work / "ran").exists()


def test_variables_that_lead_elsewhere_do_not_count(work, monkeypatch):
    for name in ("GIT_DIR", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_WORK_TREE"):
        monkeypatch.setenv(name, "/nowhere")
    assert git(work).ask("ls-files") == b"a.txt\n"


def test_a_hostile_configuration_runs_nothing(work, tmp_path):
    trap, trace = tmp_path / "trap", tmp_path / "trace"
    trap.write_text(f'#!/bin/sh\necho "$0 $*" >> {trace}\nexit 1\n', "utf-8")
    trap.chmod(0o755)
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    for name in ("post-index-change", "reference-transaction", "pre-auto-gc", "fsmonitor-watchman"):
        (hooks / name).symlink_to(trap)
    (work / ".gitattributes").write_text("* diff=evil filter=evil merge=evil\n", "utf-8")
    shell(work, "add", "-A")
    shell(work, "commit", "-q", "-m", "Third")
    for name in (
        "core.fsmonitor",
        "core.pager",
        "pager.log",
        "core.editor",
        "core.sshCommand",
        "core.gitProxy",
        "core.askPass",
        "core.alternateRefsCommand",
        "credential.helper",
        "diff.external",
        "diff.evil.command",
        "diff.evil.textconv",
        "filter.evil.clean",
        "filter.evil.smudge",
        "filter.evil.process",
        "merge.evil.driver",
        "gpg.program",
        "gpg.ssh.program",
        "uploadpack.packObjectsHook",
        "alias.rev-list",
        "interactive.diffFilter",
        "sequence.editor",
        "trailer.evil.command",
    ):
        shell(work, "config", name, f"!{trap}" if name.startswith("alias") else str(trap))
    signed = shell(work, "cat-file", "commit", "HEAD").replace(
        "\n\n", "\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n wsBc\n -----END PGP SIGNATURE-----\n\n", 1
    )
    made = subprocess.run(
        ["git", "hash-object", "-w", "-t", "commit", "--stdin"],
        cwd=work,
        input=signed,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    shell(work, "update-ref", "refs/heads/main", made)
    for name, value in (
        ("log.showSignature", "true"),
        ("core.hooksPath", str(hooks)),
        ("extensions.partialClone", "origin"),
        ("remote.origin.url", f"ext::{trap}"),
        ("remote.origin.promisor", "true"),
        ("protocol.ext.allow", "always"),
        ("core.repositoryFormatVersion", "1"),
    ):
        shell(work, "config", name, value)
    trace.unlink(missing_ok=True)

    asked = git(work)
    third, second, _ = asked.commits("HEAD", most=9)
    assert asked.objects([b"HEAD:a.txt", b"f" * 40]) in ({b"HEAD:a.txt": b"two\n", b"f" * 40: None}, None)
    assert asked.ask("ls-files", "-z") == b".gitattributes\0a.txt\0"
    assert asked.ask("ls-tree", "-z", "--name-only", "HEAD") == b".gitattributes\0a.txt\0"
    assert asked.ask("for-each-ref", "--format=%(refname)") == b"refs/heads/main\n"
    assert asked.ask("merge-base", third.id, second.id) == f"{second.id}\n".encode()
    assert asked.ask("symbolic-ref", "HEAD") == b"refs/heads/main\n"
    settings = asked.ask("config", "--file", str(work / ".git" / "config"), "--null", "--list") or b""
    assert f"remote.origin.url\next::{trap}".encode() in settings.split(b"\0")
    assert b"a.txt" in (asked.ask("diff-tree", "-r", "-p", f"{second.id}~1", second.id) or b"")
    assert asked.commits("-g", "HEAD", most=9)
    assert not trace.exists(), trace.read_text("utf-8")

    # The same programs do run under git as a person calls it: the trap works.
    (work / "a.txt").write_text("three\n", "utf-8")
    for words in (("status",), ("log", "-1"), ("diff",), ("cat-file", "-p", "e" * 40)):
        subprocess.run(["git", *words], cwd=work, capture_output=True, env={**os.environ, **SETUP})
    assert len(trace.read_text("utf-8").splitlines()) >= 4
