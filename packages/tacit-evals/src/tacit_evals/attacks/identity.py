"""Pairs of folders: what is said in one may be seen in the other only where both are the same project.

In: a lab. Out: an outcome for each pair. The tables say which pairs are one project, by what git makes of their remotes and files:
written beforehand, not read from the product.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from tacit.config.home import Home
from tacit.safety.authority import Authority
from tacit_evals.attacks.outcome import Area, Lab, Outcome, spread
from tacit_evals.attacks.product import Product
from tacit_evals.attacks.words import Words

Build = Callable[[Path, Words], tuple[Path, Path]]
"""Makes two folders below a path."""


def repository(folder: Path, *urls: str, config: str = "", git: str = ".git") -> Path:
    """A folder with the files of a git repository; `urls` of origin and further remotes."""
    place = folder / git
    for name in ("objects", "refs/heads"):
        (place / name).mkdir(parents=True, exist_ok=True)
    (place / "HEAD").write_text("ref: refs/heads/main\n")
    remotes = "".join(
        f'[remote "{name}"]\n\turl = {url}\n\tfetch = +refs/heads/*:refs/remotes/{name}/*\n'
        for name, url in zip(("origin", "upstream", "third"), urls, strict=False)
    )
    (place / "config").write_text(f"[core]\n\trepositoryformatversion = 0\n\tbare = false\n{remotes}{config}")
    return folder


def remotes(first: str, second: str) -> Build:
    """Two repositories with these remotes; `{place}` is the folder above both."""

    def build(place: Path, words: Words) -> tuple[Path, Path]:
        urls = [words(url).replace("%place%", str(place)) for url in (first, second)]
        return repository(place / "one", urls[0]), repository(place / "two", urls[1])

    return build


def relative(first: str, second: str) -> Build:
    """The same in two folders with different parents."""

    def build(place: Path, words: Words) -> tuple[Path, Path]:
        return (
            repository(place / "a" / "work", words(first)),
            repository(place / "b" / "work", words(second)),
        )

    return build


def pointing(text: str, *, target: str = "victim/.git") -> Build:
    """A repository, and a folder whose `.git` is a file that names it."""

    def build(place: Path, words: Words) -> tuple[Path, Path]:
        victim = repository(place / "victim", words("git@{host}:{word}/{word2}.git"))
        (victim / ".git" / "worktrees" / "w").mkdir(parents=True)
        (victim / ".git" / "worktrees" / "w" / "commondir").write_text("../..\n")
        (victim / ".git" / "worktrees" / "w" / "gitdir").write_text(f"{place}/elsewhere/.git\n")
        (victim / ".git" / "modules" / "sub").mkdir(parents=True)
        (victim / ".git" / "modules" / "sub" / "config").write_text(
            (victim / ".git" / "config")
            .read_text()
            .replace("[core]\n", "[core]\n\tworktree = ../../../sub\n")
        )
        folder = place / "unpacked"
        folder.mkdir()
        (folder / ".git").write_text(text.replace("%target%", str(place / target)))
        return victim, folder

    return build


def _linked(place: Path, words: Words) -> tuple[Path, Path]:
    victim = repository(place / "victim", words("https://{host}/{word}/{word2}.git"))
    folder = place / "unpacked"
    folder.mkdir()
    (folder / ".git").symlink_to(victim / ".git")
    return victim, folder


def _linked_without_remote(place: Path, _: Words) -> tuple[Path, Path]:
    victim = repository(place / "victim")
    folder = place / "unpacked"
    folder.mkdir()
    (folder / ".git").symlink_to(os.path.relpath(victim / ".git", folder))
    return victim, folder


def _common_folder(place: Path, words: Words) -> tuple[Path, Path]:
    victim = repository(place / "victim", words("https://{host}/{word}/{word2}.git"))
    folder = repository(place / "unpacked")
    (folder / ".git" / "commondir").write_text(f"{victim}/.git\n")
    return victim, folder


def _own_worktree_setting(place: Path, _: Words) -> tuple[Path, Path]:
    victim = repository(place / "victim")
    return victim, repository(place / "unpacked", config=f"[core]\n\tworktree = {victim}\n")


def _push_url(place: Path, words: Words) -> tuple[Path, Path]:
    url = words("git@{host}:{word}/{word2}.git")
    own = words("git@{host2}:{word3}/{word2}.git")
    return repository(place / "one", url), repository(
        place / "two", own, config=f'[remote "origin"]\n\tpushurl = {url}\n'
    )


def _second_remote(place: Path, words: Words) -> tuple[Path, Path]:
    url = words("https://{host}/{word}/{word2}.git")
    return repository(place / "one", url), repository(
        place / "two", words("https://{host}/{word3}/{word2}.git"), url
    )


def _other_case_of_origin(place: Path, words: Words) -> tuple[Path, Path]:
    url = words("https://{host}/{word}/{word2}.git")
    own = words("https://{host2}/{word}/{word2}.git")
    return repository(place / "one", url), repository(
        place / "two", own, config=f'[remote "ORIGIN"]\n\turl = {url}\n'
    )


def _comment(place: Path, words: Words) -> tuple[Path, Path]:
    url = words("https://{host}/{word}/{word2}.git")
    config = (
        f'[remote "origin"]\n\t; url = {url}\n\t# url = {url}\n\turl = {words("https://{host2}/{word3}")}\n'
    )
    return repository(place / "one", url), repository(place / "two", config=config)


def _plain(first: str, second: str) -> Build:
    def build(place: Path, words: Words) -> tuple[Path, Path]:
        folders = (place / words(first), place / words(second))
        for folder in folders:
            folder.mkdir(parents=True, exist_ok=True)
        return folders

    return build


def _submodule(place: Path, words: Words) -> tuple[Path, Path]:
    outer = repository(place / "outer", words("git@{host}:{word}/outer.git"))
    inner = outer / ".git" / "modules" / "sub"
    repository(inner.parent, words("git@{host}:{word}/inner.git"), git="sub")
    (outer / "sub").mkdir()
    (outer / "sub" / ".git").write_text("gitdir: ../.git/modules/sub\n")
    with (inner / "config").open("a") as config:
        config.write("[core]\n\tworktree = ../../../sub\n")
    return outer, outer / "sub"


FOREIGN: dict[str, tuple[str, Build]] = {
    "relative remote": ("the same relative path in two places", relative("{word}.git", "{word}.git")),
    "relative remote with a folder": ("the same", relative("vendor/{word}/{word2}.git", "vendor/{word}/{word2}.git")),
    "relative remote, ./": ("the same", relative("./{word}.git", "./{word}.git")),
    "relative remote, ../": ("the same, from other parents", relative("../{word}.git", "../{word}.git")),
    "relative path like a host": ("a local path that looks like an address", remotes("https://{host}/{word}/{word2}", "{host}/{word}/{word2}")),
    "relative path like GitHub": ("the same", remotes("git@github.com:{word}/{word2}.git", "github.com/{word}/{word2}")),
    "users of one server": ("paths below two users' homes", remotes("{word2}@{host}:{word}.git", "{word3}@{host}:{word}.git")),
    "users of one server, ssh://": ("the same as URLs", remotes("ssh://{host}/~{word2}/{word}.git", "ssh://{host}/~{word3}/{word}.git")),
    "ports of one machine": ("two servers on two ports", remotes("http://localhost:{port}/{word}/{word2}", "http://localhost:{port2}/{word}/{word2}")),
    "ports of a server": ("the same over https", remotes("https://{host}:{port}/{word}/{word2}.git", "https://{host}/{word}/{word2}.git")),
    "ports of ssh": ("the same over ssh", remotes("ssh://git@{host}:{port}/{word}/{word2}.git", "ssh://git@{host}:{port2}/{word}/{word2}.git")),
    "port and path": ("a port, and a folder with its name", remotes("ssh://git@{host}:{port}/{word}/{word2}.git", "git@{host}:{port}/{word}/{word2}.git")),
    "case of a local path": ("two folders of one name but for case", remotes("%place%/srv/{word}A.git", "%place%/srv/{word}a.git")),
    "case of a file URL": ("the same as a URL", remotes("file://%place%/srv/B{word}.git", "file://%place%/srv/b{word}.git")),
    "case of a server's path": ("the same on a server of one's own", remotes("git@{host}:srv/{word}X/app.git", "git@{host}:srv/{word}x/app.git")),
    "same remote": ("an archive that names another folder's remote; nobody said that they share", remotes("git@{host}:{word}/{word2}.git", "git@{host}:{word}/{word2}.git")),
    "same remote, other form": ("the same by https", remotes("git@github.com:{word}/{word2}.git", "https://token@github.com/{word}/{word2}")),
    "same local remote": ("the same by a path", remotes("%place%/srv/{word}.git", "file://%place%/srv/{word}.git")),
    "forks": ("two owners", remotes("https://{host}/{word}/{word3}.git", "https://{host}/{word2}/{word3}.git")),
    "two hosts": ("one path on two hosts", remotes("git@{host}:{word}/{word2}.git", "git@{host2}:{word}/{word2}.git")),
    "host as a subdomain": ("a host that begins with another's name", remotes("https://github.com/{word}/{word2}", "https://github.com.{host}/{word}/{word2}")),
    "host as a user": ("a host's name before the @", remotes("https://github.com/{word}/{word2}", "https://github.com@{host}/{word}/{word2}")),
    "host as a password": ("the same with a password", remotes("https://{host}/{word}/{word2}", "https://x:{host}@{host2}/{word}/{word2}")),
    "host as a folder": ("a host's name in the path", remotes("https://github.com/{word}/{word2}", "https://{host}/github.com/{word}/{word2}")),
    "deeper path": ("the path below another", remotes("https://{host}/{word}/{word2}", "https://{host}/mirrors/{word}/{word2}")),
    "query": ("repositories told apart by the query", remotes("https://{host}/git?p={word}", "https://{host}/git?p={word2}")),
    "wiki": ("a repository and its wiki", remotes("https://{host}/{word}/{word2}.git", "https://{host}/{word}/{word2}.wiki.git")),
    "similar letters": ("a letter of another alphabet", remotes("https://{host}/{word}o/{word2}", "https://{host}/{word}\u043e/{word2}")),
    "address in brackets": ("two IPv6 addresses", remotes("ssh://git@[fd00::{number}]/{word}/{word2}.git", "ssh://git@[fd00::a{number}]/{word}/{word2}.git")),
    "drive and host": ("a path on a server and an absolute one", remotes("{host}:{word}/{word2}.git", "%place%/{word}/{word2}.git")),
    "push address": ("only pushes go there", _push_url),
    "second remote": ("a fork with its upstream", _second_remote),
    "another remote's name": ("`ORIGIN` beside `origin`", _other_case_of_origin),
    "remote in a comment": ("only a comment names it", _comment),
    ".git file": ("it names another repository", pointing("gitdir: %target%\n")),
    ".git file, relative": ("the same by a relative path", pointing("gitdir: ../victim/.git\n")),
    ".git file to a worktree": ("it names the worktree of another folder", pointing("gitdir: %target%\n", target="victim/.git/worktrees/w")),
    ".git file to a submodule": ("it names the submodule of another folder", pointing("gitdir: %target%\n", target="victim/.git/modules/sub")),
    ".git file with more lines": ("the same with text behind it", pointing("gitdir: %target%\n# worktree of release 2\n")),
    ".git link": ("a link to another repository", _linked),
    ".git link, no remote": ("the same where there is no remote", _linked_without_remote),
    "common folder": ("`.git/commondir` names another repository", _common_folder),
    "work tree setting": ("`core.worktree` names another folder", _own_worktree_setting),
    "plain folders": ("two folders without git", _plain("one/{word}", "two/{word}")),
    "plain, inside": ("a folder in a folder", _plain("{word}", "{word}/{word2}")),
    "plain, case": ("names that differ in case", _plain("{word}", "{word}/../X{word}")),
    "plain, like another's end": ("a name that begins like another", _plain("{word}", "{word}-2")),
    "plain, letters": ("a letter written in two ways", _plain("caf\u00e9-{word}", "cafe\u0301-{word}")),
    "submodule": ("a submodule and the repository around it", _submodule),
}  # fmt: skip


def _worktree(place: Path, words: Words) -> tuple[Path, Path]:
    main = repository(place / "main", words("git@{host}:{word}/{word2}.git"))
    tree = place / words("tree-{word3}")
    tree.mkdir()
    own = main / ".git" / "worktrees" / tree.name
    own.mkdir(parents=True)
    (own / "commondir").write_text("../..\n")
    (own / "gitdir").write_text(f"{tree}/.git\n")
    (own / "HEAD").write_text("ref: refs/heads/other\n")
    (tree / ".git").write_text(f"gitdir: {own}\n")
    return main, tree


def _worktree_without_remote(place: Path, words: Words) -> tuple[Path, Path]:
    main, tree = _worktree(place, words)
    (main / ".git" / "config").write_text("[core]\n\tbare = false\n")
    return main, tree


def _inside(place: Path, words: Words) -> tuple[Path, Path]:
    root = repository(place / "root", words("https://{host}/{word}/{word2}.git"))
    inner = root / words("packages/{word3}/src")
    inner.mkdir(parents=True)
    return root, inner


def _link_to_folder(place: Path, words: Words) -> tuple[Path, Path]:
    root = repository(place / "root", words("https://{host}/{word}/{word2}.git"))
    (place / "link").symlink_to(root)
    return root, place / "link"


def _other_spelling_of_config(place: Path, words: Words) -> tuple[Path, Path]:
    url = words("https://{host}/{word}/{word2}.git")
    second = repository(place / "two")
    (second / ".git" / "config").write_text(
        f'[core]\r\n\tbare = false\r\n[Remote "origin"]\r\n\tURL = "{url}"  \r\n'
    )
    return repository(place / "one", url), second


SAME: dict[str, tuple[str, Build]] = {
    "ssh and https": ("two clones", remotes("git@{host}:{word}/{word2}.git", "https://{host}/{word}/{word2}.git")),
    "https and ssh": ("the other way round", remotes("https://{host}/{word}/{word2}.git", "git@{host}:{word}/{word2}.git")),
    "ssh URL and short form": ("two spellings of ssh", remotes("ssh://git@{host}/{word}/{word2}.git", "git@{host}:{word}/{word2}.git")),
    "with and without .git": ("two spellings of https", remotes("https://{host}/{word}/{word2}", "https://{host}/{word}/{word2}.git")),
    "slash at the end": ("the same", remotes("https://{host}/{word}/{word2}/", "https://{host}/{word}/{word2}")),
    "case of the host": ("hosts have no case", remotes("https://GIT.{host}/{word}/{word2}", "https://git.{host}/{word}/{word2}")),
    "token in the URL": ("a token is no name", remotes("https://x-token:abc{number}@{host}/{word}/{word2}.git", "https://{host}/{word}/{word2}.git")),
    "usual port of https": ("443 is the usual one", remotes("https://{host}:443/{word}/{word2}.git", "https://{host}/{word}/{word2}.git")),
    "usual port of ssh": ("22 is the usual one", remotes("ssh://git@{host}:22/{word}/{word2}.git", "git@{host}:{word}/{word2}.git")),
    "GitHub": ("two clones", remotes("git@github.com:{word}/{word2}.git", "https://github.com/{word}/{word2}")),
    "deep GitLab group": ("two clones", remotes("git@gitlab.com:{word}/{word2}/{word3}.git", "https://gitlab.com/{word}/{word2}/{word3}.git")),
    "local remote": ("two clones of a local repository", remotes("%place%/srv/{word}.git", "%place%/srv/{word}.git")),
    "file URL": ("the same as a URL", remotes("file://%place%/srv/{word}.git", "%place%/srv/{word}.git")),
    "relative to one place": ("two clones beside the repository", remotes("../{word}.git", "../{word}.git")),
    "same port": ("two clones of a server on a port", remotes("http://localhost:{port}/{word}/{word2}", "http://localhost:{port}/{word}/{word2}.git")),
    "worktree": ("a worktree and its repository", _worktree),
    "worktree without remote": ("the same without a remote", _worktree_without_remote),
    "folder inside": ("a part of the repository", _inside),
    "link to the folder": ("another path to the folder", _link_to_folder),
    "other spelling of the file": ("quotation marks, carriage returns, capital letters", _other_spelling_of_config),
}  # fmt: skip


ONE_REPOSITORY = frozenset({"worktree", "worktree without remote", "folder inside", "link to the folder"})
"""Forms of `SAME` that share without a word: both folders are parts of one repository on this machine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pair:
    form: str
    name: str
    mark: str
    first: Path
    second: Path


def _pairs(lab: Lab, product: Product, table: Mapping[str, tuple[str, Build]]) -> list[_Pair]:
    pairs: list[_Pair] = []
    for number, form in enumerate(spread(list(table), lab.cases)):
        words = Words(lab.chance)
        name = f"i{number}"
        first, second = table[form][1](product.folder(name), words)
        # Who comes first must make no difference.
        if lab.chance.random() < 0.5:
            first, second = second, first
        pairs.append(_Pair(form=form, name=name, mark=words.value("word", "99"), first=first, second=second))
    return pairs


def _tried(lab: Lab, table: Mapping[str, tuple[str, Build]], *, shared: bool) -> list[Outcome]:
    product = Product(lab.root, lab.python)
    pairs = _pairs(lab, product, table)
    forms: set[str] = set()
    outcomes: list[Outcome] = []
    token = Authority(Home(product.home)).create("attacks")
    with product.running():
        for pair in pairs:
            rule = f"Always run `make {pair.mark}` before committing in this repository."
            product.hook(
                "UserPromptSubmit",
                session=pair.name,
                cwd=pair.first,
                prompt=rule,
                by_process=pair.form not in forms,
            )
            forms.add(pair.form)
        product.settle()
        for pair in pairs:
            own = product.start_block(pair.first, session=f"{pair.name}-own")
            other = product.start_block(pair.second, session=f"{pair.name}-other")
            if (
                shared and pair.form not in ONE_REPOSITORY
            ):  # a second clone is told, and shares after the user's word
                told = pair.mark not in other and str(pair.first) in _notice(product, pair.second)
                product.post("/v1/projects/join", {"cwd": str(pair.second)}, token=token)
                other = product.start_block(pair.second, session=f"{pair.name}-joined") if told else ""
            listed = product.call_tool("memory_list", {"limit": 50}, cwd=pair.second)
            seen_there = pair.mark in other or (pair.mark in listed and not shared)
            came = "" if pair.mark in own else "what was said is not known where it was said"
            if not came and seen_there != shared:
                came = (
                    "not seen in the second folder"
                    if shared
                    else f"seen in the second folder: {other or listed}"
                )
            tried = f"said in {pair.first}, asked in {pair.second}: {_remote_of(pair.first)} / {_remote_of(pair.second)}"
            outcomes.append(Outcome(form=pair.form, tried=tried, survived=not came, came_out=came))
    return outcomes


def _notice(product: Product, folder: Path) -> str:
    return str(product.get(f"/v1/projects/here?cwd={quote(str(folder))}")["notice"])


def _remote_of(folder: Path) -> str:
    config = folder / ".git" / "config"
    if not config.is_file():
        return "no config" if not (folder / ".git").is_file() else (folder / ".git").read_text().strip()
    return (
        " ".join(line.strip() for line in config.read_text().splitlines() if "url" in line.lower())
        or "no remote"
    )


def attack(lab: Lab) -> list[Outcome]:
    """Pairs that are two projects."""
    return _tried(lab, FOREIGN, shared=False)


def share(lab: Lab) -> list[Outcome]:
    """Pairs that are one project."""
    return _tried(lab, SAME, shared=True)


IDENTITY = Area(
    name="identity",
    about="What is said in a project is seen in no other folder.",
    forms={name: about for name, (about, _) in FOREIGN.items()},
    run=attack,
)
CLONES = Area(
    name="clones",
    about="All parts of a repository are one project; a second clone is told, and shares once the user says so.",
    forms={name: about for name, (about, _) in SAME.items()},
    run=share,
    standard=100,
    control=True,
)
