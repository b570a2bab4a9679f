"""`share`, `unshare` and `team`: what is written, what is refused, what is said."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

SAID = "Commit messages begin with the ticket number"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    subprocess.run(["git", "init", "-q", "-b", "main"], cwd=folder, check=True)
    subprocess.run(["git", "config", "user.name", "Ana Ruiz"], cwd=folder, check=True)
    return folder


def remember(tacit, folder: Path, text: str = SAID, **options: str) -> str:
    words = [word for name, value in options.items() for word in (f"--{name}", value)]
    done = tacit("remember", text, "--cwd", str(folder), "--json", *words)
    return json.loads(done.out)["changes"][0]["memory"]["id"]


def test_share_writes_a_file_that_says_who_and_when(tacit, repository):
    memory = remember(tacit, repository, when="commit")
    done = tacit("share", memory, "--git", "--cwd", str(repository))
    (file,) = (repository / ".tacit" / "team").iterdir()
    assert file.name in done.out
    assert "Commit it and open a pull request" in done.out
    text = file.read_text()
    assert "by: 'Ana Ruiz'" in text
    assert "when: ['commit']" in text
    assert text.endswith(f"---\n{SAID}\n")
    listed = tacit("team", "--cwd", str(repository)).out
    assert "You have not joined the team of shop. 0 memories are shared." in listed
    assert "not merged" in listed


def test_a_file_that_is_not_imported_is_not_counted_and_says_why(tacit, repository):
    folder = repository / ".tacit" / "team"
    folder.mkdir(parents=True)
    for name, text in (("good", SAID), ("secret", "The deploy password is hunter2-Zx9!"), ("empty", "")):
        (folder / f"{name}.md").write_text(f"---\nkind: decision\n---\n{text}\n")
    for command in (["add", "."], ["-c", "user.email=ana@example.com", "commit", "-qm", "x"]):
        subprocess.run(["git", *command], cwd=repository, check=True)
    listed = tacit("team", "--cwd", str(repository)).out
    assert "1 memory is shared" in listed
    assert "it holds a secret" in " ".join(listed.split())


def test_the_same_is_not_shared_twice_and_unshare_takes_it_back(tacit, repository):
    memory = remember(tacit, repository)
    tacit("share", memory, "--git", "--cwd", str(repository))
    again = tacit("share", memory, "--git", "--cwd", str(repository))
    assert (again.code, "says this already" in again.err) == (3, True)
    tacit("share", "--stop", memory, "--git", "--cwd", str(repository))
    assert list((repository / ".tacit" / "team").iterdir()) == []
    gone = tacit("share", "--stop", memory, "--git", "--cwd", str(repository))
    assert (gone.code, "No file below" in gone.err) == (4, True)
    assert json.loads(tacit("show", memory, "--json").out)["memory"]["status"] == "active"


def test_a_purge_on_the_server_is_asked_about_first(tacit, repository):
    memory = remember(tacit, repository)
    asked = tacit("share", "--stop", memory, "--purge")
    assert (asked.code, "This cannot be undone." in asked.err) == (3, True)
    agreed = tacit("share", "--stop", memory, "--purge", "--yes")
    assert "No team on a server shares" in agreed.err


def test_what_may_not_leave_is_refused_and_nothing_is_written(tacit, repository):
    restricted = remember(tacit, repository, sensitivity="restricted")
    assert "never leaves this machine" in tacit("share", restricted, "--git", "--cwd", str(repository)).err
    universal = remember(tacit, repository, "Answer me in German", scope="universal")
    assert "a repository shares memories of its own project" in (
        tacit("share", universal, "--git", "--cwd", str(repository)).err
    )
    assert "`tacit share ID --git` writes a file" in tacit("share", restricted, "--cwd", str(repository)).err
    assert not (repository / ".tacit").exists()


def test_joining_is_about_files_of_this_repository_alone(tacit, repository):
    nothing = tacit("team", "join", "--yes", "--cwd", str(repository))
    assert (nothing.code, "nothing to join" in nothing.err) == (3, True)
    server = tacit("team", "join", "acme", "--yes", "--cwd", str(repository))
    assert (server.code, "tacit login URL --code CODE" in server.err) == (3, True)
    assert json.loads(tacit("team", "--cwd", str(repository), "--json").out)["joined"] is False


def test_leaving_without_having_joined_is_an_error(tacit, repository):
    done = tacit("team", "leave", "--cwd", str(repository))
    assert (done.code, "You have not joined" in done.err) == (3, True)


def test_joining_says_what_is_shared(tacit, repository):
    memory = remember(tacit, repository)
    tacit("share", memory, "--git", "--cwd", str(repository))
    for words in (("add", "-A"), ("-c", "user.email=x@example.org", "commit", "-q", "-m", "x")):
        subprocess.run(["git", *words], cwd=repository, check=True)
    asked = tacit("team", "join", "--cwd", str(repository))
    assert (asked.code, "Whoever merges into the default branch" in asked.err) == (3, True), (
        "nobody trusts later merges unasked"
    )
    assert json.loads(tacit("team", "--cwd", str(repository), "--json").out)["joined"] is False
    assert "1 memory is shared" in tacit("team", "join", "--yes", "--cwd", str(repository)).out
    joined = json.loads(tacit("team", "--cwd", str(repository), "--json").out)
    assert joined["joined"] is True
    # What is mine already stays mine.
    stored = json.loads(tacit("list", "--cwd", str(repository), "--json").out)["memories"]
    assert [(m["content"], m["provenance"]["tier"]) for m in stored] == [(SAID, "user")]
    assert json.loads(tacit("team", "leave", "--cwd", str(repository), "--json").out)["joined"] is False
    assert [
        m["content"] for m in json.loads(tacit("list", "--cwd", str(repository), "--json").out)["memories"]
    ] == [SAID]
