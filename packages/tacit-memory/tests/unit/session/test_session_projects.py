"""Project identity: remotes, worktrees, forks, folders without git."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tacit.session.projects import git_at, identify_project, name_remote, relative_path


def git(folder, *args):
    done = subprocess.run(
        ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", *args],
        cwd=folder,
        check=True,
        capture_output=True,
        text=True,
        input="",
    )
    return done.stdout


@pytest.fixture
def repo(tmp_path):
    folder = tmp_path / "shop"
    folder.mkdir()
    git(folder, "init", "-q")
    git(folder, "commit", "-q", "--allow-empty", "-m", "first")
    return folder


# One row for each repository: every spelling in a row leads git to the same repository, no two rows to the same one.
# Relative paths are resolved against /w/app.
REPOSITORIES = {
    "github.com/acme/shop": [
        "git@github.com:Acme/Shop.git",
        "github.com:acme/shop",
        "org-4711@github.com:acme/shop.git",
        "ssh://git@github.com/acme/shop",
        "ssh://git@github.com:22/acme/shop.git/",
        "ssh://git@ssh.github.com:443/acme/shop.git",
        "git+ssh://git@GitHub.com/acme/shop",
        "https://github.com/acme/shop",
        "https://github.com:443/acme/shop.git",
        "https://user:secret@github.com/acme/shop.git/",
        "https://x-access-token:gh%40p@GITHUB.COM./acme//shop",
        "http://github.com/acme/shop",
        "git://github.com/acme/./shop.git",
        "https://github.com/acme/%73hop",
    ],
    "github.com/acme/shop2": ["git@github.com:acme/shop2"],
    "github.com:8443/acme/shop": ["https://github.com:8443/acme/shop"],
    "gitlab.com/group/sub/app": ["git@gitlab.com:Group/Sub/App.git", "https://gitlab.com/group/sub/app"],
    "git.corp/Team/App": [
        "git@git.corp:Team/App.git",
        "git@git.corp:/Team/App.git",
        "gitea@git.corp:Team/App",
        "ssh://git@GIT.corp/Team/App",
        "https://git.corp/Team/App.git",
    ],
    "git.corp/team/app": ["git@git.corp:team/app.git", "https://git.corp/team/app"],
    "git.corp:2222/Team/App": ["ssh://git@git.corp:2222/Team/App.git", "[git@git.corp:2222]:Team/App"],
    "localhost:3000/team/app": ["http://localhost:3000/team/app", "http://LOCALHOST:3000/team/app.git/"],
    "localhost:4000/team/app": ["http://localhost:4000/team/app", "http://u:p@localhost:04000/team/app"],
    "localhost/team/app": ["http://localhost/team/app", "http://localhost:80/team/app"],
    "server/~alice/app": [
        "alice@server:app.git",
        "alice@server:~/app",
        "alice@server:~alice/app",
        "bob@server:~alice/app.git",
        "ssh://alice@server/~/app.git",
        "ssh://carol@server/~alice/app",
    ],
    "server/~bob/app": ["bob@server:app.git", "ssh://bob@server:22/~/app.git"],
    "server/~/app": ["server:app.git", "server:~/app", "ssh://server/~/app"],
    "server/srv/app": ["alice@server:/srv/app.git", "ssh://bob@server/srv/app.git", "server:/srv/app"],
    "server/a b": ["https://server/a%20b.git", "git@server:a b"],
    "server/%C3%BC": ["https://server/ü", "https://server/%c3%bc.git", "git@server:ü"],
    "server/a%2Fb": ["https://server/a%2fb"],
    "server/a%0Ab": ["ssh://git@server/a%0ab"],
    "server/a/b": ["https://server/a/b"],
    "[::1]/p/q": ["git@[::1]:p/q", "ssh://git@[::1]:22/p/q.git"],
    "[::1]:2222/p/q": ["ssh://git@[::1]:2222/p/q"],
    "/srv/git/App": ["/srv/git/App.git", "file:///srv/git/App.git", "/srv//git/./App/", "../../srv/git/App"],
    "/srv/git/app": ["/srv/git/app.git", "file:///srv/git/app"],
    "/w/app/upstream": ["upstream.git", "./upstream", "/w/app/upstream.git"],
    "/w/bare": ["../bare.git", "/w/bare"],
    "/w/app/sub/dir": ["sub/dir", "./sub/dir.git/"],
    "/w/app/github.com/acme/shop": ["github.com/acme/shop", "./github.com/acme/shop.git"],
    "/w/app/a/b:c": ["a/b:c", "./a/b:c"],
    "/github.com/acme/shop": ["file://github.com/acme/shop", "/github.com/acme/shop"],
    "codecommit::eu-west-1://me@repo": ["codecommit::eu-west-1://me:secret@repo"],
    "codecommit::eu-west-1://you@repo": ["codecommit::eu-west-1://you@repo/"],
    "": [
        "",
        "  ",
        "https://",
        "https://host",
        "https://host:port/x",
        "https://host/.git",
        "a\nb",
    ],
}


@pytest.mark.parametrize(
    ("name", "url"), [(name, url) for name, urls in REPOSITORIES.items() for url in urls]
)
def test_every_spelling_of_a_repository_gets_its_name(name, url):
    assert name_remote(url, base=Path("/w/app")) == name


def configured(folder: Path, text: str) -> Path:
    (folder / ".git").mkdir(parents=True)
    (folder / ".git" / "config").write_text(text)
    return folder


@pytest.mark.parametrize(
    "text",
    [
        '[remote "origin"]\n\turl = git@github.com:acme/shop.git\n',
        '[remote "origin"] url = https://github.com/acme/shop # the one\n',
        '[REMOTE "origin"]\n\tURL = "https://github.com/acme/shop.git"\n',
        "[remote.origin]\nurl=https://github.com/acme\\\n/shop\n",
        '[remote "origin"]\nurl = https://github.com/acme/shop\nurl = https://github.com/acme/mirror\n',
        '[remote "a"]\nurl = https://example.org/a\n[remote "origin"]\nurl = https://github.com/acme/shop\n',
        '[url "git@github.com:"]\ninsteadOf = gh:\n[remote "origin"]\nurl = gh:acme/shop\n',
        '[url "https://example.org/"]\ninsteadOf = g\n[url "git@github.com:"]\ninsteadOf = gh:\n[remote.origin]\nurl = gh:acme/shop\n',
        '[remote "Origin"]\nurl = https://example.org/b\n[remote "origin"]\nurl = https://github.com/acme/shop\n',
    ],
)
def test_the_configuration_is_read_as_git_reads_it(tmp_path, text):
    assert identify_project(configured(tmp_path / "shop", text)).remote == "github.com/acme/shop"


def test_the_rules_of_the_user_rewrite_urls_too(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".gitconfig").write_text('[url "git@github.com:"]\n\tinsteadOf = "work:"\n')
    folder = configured(tmp_path / "shop", '[remote "origin"]\nurl = work:acme/shop\n')
    assert identify_project(folder).remote == "github.com/acme/shop"


@pytest.mark.parametrize(
    ("written", "rule"),
    [
        ("https://github.com/acme/shop", '[url "git@github.com:"]\n\tinsteadOf = https://github.com/\n'),
        ("https://github.com/acme/shop", '[url "git@github-work:"]\n\tinsteadOf = https://github.com/\n'),
        (
            "git@github.com:acme/shop.git",
            '[url "https://mirror.corp/gh/"]\n\tinsteadOf = "git@github.com:"\n',
        ),
        (
            "ssh://git@github.com/acme/shop",
            '[url "https://x:t@proxy/"]\n\tinsteadOf = ssh://git@github.com/\n',
        ),
    ],
)
def test_a_remote_that_one_machine_rewrites_is_the_same_project_on_all(tmp_path, monkeypatch, written, rule):
    monkeypatch.setenv("HOME", str(tmp_path))
    folder = configured(tmp_path / "shop", f'[remote "origin"]\nurl = {written}\n')
    plain = identify_project(folder)
    (tmp_path / ".gitconfig").write_text(rule)
    assert identify_project(folder).remote == plain.remote == "github.com/acme/shop"


def test_a_changed_configuration_is_read_anew_and_what_it_includes_is_not(tmp_path):
    (tmp_path / "more").write_text('[remote "origin"]\nurl = https://github.com/acme/other\n')
    folder = configured(tmp_path / "shop", f"[include]\npath = {tmp_path}/more\n")
    assert identify_project(folder).key == f"path:{folder}"
    config = folder / ".git" / "config"
    config.write_text(config.read_text() + '[remote "origin"]\nurl = https://github.com/acme/shop\n')
    assert identify_project(folder).remote == "github.com/acme/shop"


def test_a_machine_without_git_has_no_remotes(tmp_path, monkeypatch):
    folder = configured(tmp_path / "shop", '[remote "origin"]\nurl = https://github.com/acme/shop\n')
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    assert identify_project(folder).key == f"path:{folder}"
    monkeypatch.undo()
    assert identify_project(folder).remote == "github.com/acme/shop"


@pytest.mark.parametrize(
    "url", ["upstream.git", "./upstream.git", "sub/dir", "github.com/acme/shop", "a/b:c"]
)
def test_the_same_relative_url_in_two_folders_names_two_repositories(tmp_path, url):
    one = configured(tmp_path / "one", f'[remote "origin"]\nurl = {url}\n')
    other = configured(tmp_path / "other", f'[remote "origin"]\nurl = {url}\n')
    real = configured(tmp_path / "real", '[remote "origin"]\nurl = git@github.com:acme/shop\n')
    assert len({identify_project(folder).key for folder in (one, other, real)}) == 3


def test_worktrees_share_a_relative_remote(tmp_path, repo):
    git(repo, "remote", "add", "origin", "../bare.git")
    tree = tmp_path / "far" / "away"
    git(repo, "worktree", "add", "-q", str(tree), "-b", "side")
    assert identify_project(tree).remote == identify_project(repo).remote == str(tmp_path / "bare")


# --- a `.git` that leads elsewhere counts only if the other end points back


def outsiders(folder: Path, victim: Path) -> list[Path]:
    """Folders as an archive may hold them, whose `.git` leads to the repository of `victim`, which knows none of them."""
    made: list[Path] = []

    def folder_with(name: str, text: str) -> Path:
        place = folder / name
        place.mkdir(parents=True)
        (place / ".git").write_text(text)
        made.append(place)
        return place

    folder_with("file", f"gitdir: {victim}/.git\n")
    folder_with("tree", f"gitdir: {victim}/.git/worktrees/side\n")
    folder_with("module", f"gitdir: {victim}/.git/modules/lib\n")
    (folder / "relative").mkdir()
    folder_with("relative/deep", f"gitdir: {os.path.relpath(victim, folder / 'relative' / 'deep')}/.git\n")
    for name in (
        "own-admin",
        "worktrees/own-admin",
    ):  # an administrative folder of its own that claims the victim's
        place = folder_with(name, "gitdir: .admin\n")
        (place / ".admin").mkdir()
        (place / ".admin" / "commondir").write_text(f"{victim}/.git\n")
        (place / ".admin" / "gitdir").write_text(f"{place}/.git\n")
    link = folder / "link"
    link.mkdir()
    (link / ".git").symlink_to(victim / ".git")
    made.append(link)
    to_file = folder / "link-to-file"
    to_file.mkdir()
    (to_file / ".git").symlink_to(folder / "file" / ".git")
    made.append(to_file)
    return made


@pytest.mark.parametrize("remote", ["", "https://github.com/acme/shop"])
def test_a_git_file_or_link_into_a_strange_repository_is_not_followed(tmp_path, repo, remote):
    if remote:
        git(repo, "remote", "add", "origin", remote)
    git(repo, "worktree", "add", "-q", str(tmp_path / "side"), "-b", "side")
    module = repo / ".git" / "modules" / "lib"
    module.mkdir(parents=True)
    (module / "config").write_text("[core]\n\tworktree = ../../../lib\n")
    for place in outsiders(tmp_path / "unpacked", repo):
        found = identify_project(place)
        assert (found.key, found.root, found.remote) == (f"path:{place}", str(place), ""), place
        assert git_at(place) is None


def test_submodules_are_projects_of_their_own(tmp_path, repo):
    library = tmp_path / "library"
    library.mkdir()
    git(library, "init", "-q")
    git(library, "commit", "-q", "--allow-empty", "-m", "first")
    git(repo, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(library), "lib")
    found = identify_project(repo / "lib")
    assert (found.root, found.remote) == (str(repo / "lib"), str(library))


def test_a_git_folder_elsewhere_counts_when_it_names_the_work_tree(tmp_path):
    for name in ("plain", "named"):
        (tmp_path / name).mkdir()
        git(tmp_path / name, "init", "-q", "--separate-git-dir", str(tmp_path / f"{name}-data"))
        git(tmp_path / name, "remote", "add", "origin", "https://github.com/acme/shop")
    git(tmp_path / "named", "config", "core.worktree", str(tmp_path / "named"))
    assert identify_project(tmp_path / "plain").key == f"path:{tmp_path / 'plain'}"
    assert identify_project(tmp_path / "named").remote == "github.com/acme/shop"


def test_a_hidden_bare_repository_and_its_worktrees_are_one_project(tmp_path):
    folder = tmp_path / "shop"
    folder.mkdir()
    git(folder, "init", "-q", "--bare", ".bare")
    (folder / ".git").write_text("gitdir: ./.bare\n")
    git(folder, "remote", "add", "origin", "https://github.com/acme/shop")
    tree = git(folder, "commit-tree", "-m", "first", git(folder, "mktree").strip()).strip()
    git(folder, "worktree", "add", "-q", "main", tree)
    assert identify_project(folder).remote == "github.com/acme/shop"
    assert identify_project(folder / "main").folders == identify_project(folder).folders


def test_clones_share_the_project_and_forks_do_not(tmp_path, repo):
    git(repo, "remote", "add", "origin", "git@github.com:acme/shop.git")
    clone = tmp_path / "elsewhere"
    clone.mkdir()
    git(clone, "init", "-q")
    git(clone, "remote", "add", "origin", "https://github.com/acme/shop")
    fork = tmp_path / "fork"
    fork.mkdir()
    git(fork, "init", "-q")
    git(fork, "remote", "add", "origin", "https://github.com/someone/shop")
    assert identify_project(clone).id == identify_project(repo).id
    assert identify_project(fork).id != identify_project(repo).id


def test_a_fork_with_upstream_is_known_by_its_origin(repo):
    git(repo, "remote", "add", "upstream", "https://github.com/acme/shop")
    git(repo, "remote", "add", "origin", "https://github.com/me/shop")
    assert identify_project(repo).remote == "github.com/me/shop"


@pytest.mark.parametrize("remote", ["", "https://github.com/acme/shop"])
def test_worktrees_share_the_project(tmp_path, repo, remote):
    if remote:
        git(repo, "remote", "add", "origin", remote)
    tree = tmp_path / "tree"
    git(repo, "worktree", "add", "-q", str(tree), "-b", "side")
    found = identify_project(tree)
    assert found.id == identify_project(repo).id
    assert found.root == str(tree)


def test_a_folder_below_belongs_to_its_repository(repo):
    below = repo / "src" / "deep"
    below.mkdir(parents=True)
    assert identify_project(below) == identify_project(repo)


def test_a_folder_without_git_is_its_own_project(tmp_path):
    a, b = tmp_path / "a", tmp_path / "b"
    a.mkdir()
    b.mkdir()
    assert identify_project(a).id != identify_project(b).id
    assert identify_project(a).root == str(a)


@pytest.mark.parametrize("place", [".", ".."])
def test_an_empty_git_folder_makes_no_repository(tmp_path, repo, place):
    alone = tmp_path / "alone" / "deep"
    alone.mkdir(parents=True)
    inside = repo / "lib" / "deep"
    inside.mkdir(parents=True)
    before = [identify_project(folder) for folder in (alone, inside)]
    for folder in (alone, inside):
        (folder / place / ".git").mkdir()
    assert [identify_project(folder) for folder in (alone, inside)] == before
    git(alone / place, "init", "-q")
    assert identify_project(alone).root == str((alone / place).resolve())


def test_damaged_git_files_do_not_break_identity(tmp_path):
    folder = tmp_path / "odd"
    folder.mkdir()
    (folder / ".git").write_bytes(b"\xff\xfenonsense")
    assert identify_project(folder).root == str(folder)
    other = tmp_path / "conf"
    (other / ".git").mkdir(parents=True)
    (other / ".git" / "config").write_text('[remote "origin"\nurl = broken')
    assert identify_project(other).root == str(other)


def test_missing_folder_still_has_an_identity(tmp_path):
    assert identify_project(tmp_path / "gone").id.startswith("gone-")


@pytest.mark.parametrize(
    ("path", "relative"),
    [
        ("/repo/src/a.py", "src/a.py"),
        ("src/a.py", "pkg/src/a.py"),
        ("../b.py", "b.py"),
        ("/etc/passwd", "/etc/passwd"),
        ("/repo/../etc/passwd", "/repo/../etc/passwd"),
        ("", ""),
    ],
)
def test_relative_path(path, relative):
    assert relative_path(path, root="/repo", cwd="/repo/pkg") == relative
