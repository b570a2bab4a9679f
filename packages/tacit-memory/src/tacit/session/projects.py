"""What a folder is: its project, the name of its remote, and the branch that is checked out."""

from __future__ import annotations

import hashlib
import os
import posixpath
import re
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path, PurePosixPath, PureWindowsPath
from urllib.parse import quote, unquote

from tacit.frozen import frozen
from tacit.model.scope import USER_FOLDER, user_project_id
from tacit.ports.store import ProjectRecord
from tacit.system.git import Repository
from tacit.text.lazy_regex import lazy_regex

# Canonical names of repositories, from the URL of a git remote. In: a URL, and the folder it is resolved against. Out: text.
#
# Two urls get the same name only where git reaches the same repository through both: by ssh or https, with or without
# credentials, on the default port of the scheme or without one. A URL that names its host is taken as it is written: what `insteadOf` makes of
# it differs between machines (a mirror, another ssh key), and it would not be the same project for two people. Never asks git or the network.
#
# Source: git-clone(1), "GIT URLS"; connect.c:parse_connect_url; RFC 3986, section 6.2.

MAX_URL = 2_000

_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*(?=://)", re.IGNORECASE)
_HOST_IN_SCP = re.compile(r"(?:[^/@:\[\]]+@)?[\w-]+(?:\.[\w-]+)+:")
_HELPER = re.compile(r"[a-z0-9]+(?=::)", re.IGNORECASE)
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_ESCAPE = re.compile(r"%[0-9a-f]{2}", re.IGNORECASE)
_PASSWORD = re.compile(r"(?<=//)([^/@:]*):[^/@]*(?=@)")

_SSH = ("ssh", "git+ssh", "ssh+git")
_DEFAULT_PORTS = {
    "ssh": 22, "git+ssh": 22, "ssh+git": 22, "https": 443, "http": 80, "git": 9418, "ftp": 21, "ftps": 990, "rsync": 873,
}  # fmt: skip

_FORGES = frozenset({"github.com", "gist.github.com", "gitlab.com", "bitbucket.org", "codeberg.org"})
"""Hosts whose paths are compared without case and do not depend on the login."""
_SSH_OVER_HTTPS = {
    "ssh.github.com": "github.com",
    "altssh.gitlab.com": "gitlab.com",
    "altssh.bitbucket.org": "bitbucket.org",
}
_SERVICE_USERS = frozenset({"git", "gitea", "forgejo", "gitolite", "gitlab", "gogs"})
"""Login names of git servers, for which a relative path does not begin in a home folder."""


@frozen
class _Address:
    """A parsed remote URL. `from_home` = the path is relative to the home folder of `user`; `port` None = the default one."""

    scheme: str
    host: str
    port: int | None
    user: str
    path: str
    from_home: bool


def name_remote(url: str, *, base: Path) -> str:
    """Return the canonical name of the repository of a remote URL: `host[:port]/path`, absolute path, or `helper::address`; "" = none.

    Args:
        url: as `remote_url` returns it.
        base: the folder against which git resolves a relative path.
    """
    text = url.strip()
    if not text or len(text) > MAX_URL or _CONTROL.search(text):
        return ""
    helper = _HELPER.match(text)
    if helper:
        return _PASSWORD.sub(r"\1", text).rstrip("/")
    scheme = _SCHEME.match(text)
    if scheme and scheme.group().lower() == "file":
        return _local("/" + unquote(text[scheme.end() + 3 :]).lstrip("/"), base)
    if scheme:
        address = _from_url(scheme.group().lower(), text[scheme.end() + 3 :])
    elif ":" in text.partition("/")[0]:
        address = _from_scp(text)
    else:
        return _local(text, base)
    return _name(address) if address else ""


def _local(path: str, base: Path) -> str:
    if _CONTROL.search(path):
        return ""
    whole = os.path.realpath(base / os.path.expanduser(path))  # noqa: PTH111 - leaves an unknown user's `~` as it is
    return _without_suffix(whole) or whole


def _without_suffix(path: str) -> str:
    return path.rstrip("/").removesuffix(".git").rstrip("/")


def _from_url(scheme: str, address: str) -> _Address | None:
    at = re.search(r"[/?#]", address)
    authority, path = (address[: at.start()], address[at.start() :]) if at else (address, "")
    user, host, port = _split_authority(authority)
    if not host or port == "":
        return None
    ssh = scheme in _SSH
    from_home = ssh and path.startswith("/~")
    if from_home:
        owner, _, path = path[2:].partition("/")
        user = owner or user
    return _Address(
        scheme=scheme,
        host=host,
        port=int(port) if port and int(port) != _DEFAULT_PORTS.get(scheme) else None,
        user=_decode(user) if ssh else "",
        path=_decode(path),
        from_home=from_home,
    )


def _from_scp(text: str) -> _Address | None:
    """Parse `[user@]host:path`, `[user@][::1]:path` or `[user@host:port]:path`; None = not valid."""
    head, bracket, path = text.partition("]:")
    if bracket and "[" in head:
        before, _, inside = head.partition("[")
        literal = inside.count(":") > 1
        user, host, port = _split_authority(f"{before}[{inside}]" if literal else before + inside)
    else:
        head, _, path = text.partition(":")
        user, _, host = head.rpartition("@")
        port = None
    if not host or port == "":
        return None
    from_home = not path.startswith("/")
    if path.startswith("~"):
        owner, _, path = path[1:].partition("/")
        user = owner or user
    return _Address(
        scheme="ssh",
        host=host,
        port=int(port) if port and int(port) != _DEFAULT_PORTS["ssh"] else None,
        user=user,
        path=path.replace("%", "%25"),  # taken literally, where a url's path has escapes
        from_home=from_home,
    )


def _split_authority(authority: str) -> tuple[str, str, str | None]:
    """Return (user without password, host, port) of `user:password@host:port`; port None = not given, "" = not a number."""
    credentials, _, place = authority.rpartition("@")
    user = credentials.partition(":")[0]
    host, _, port = place.rpartition(":") if re.search(r":[^\]]*$", place) else (place, "", "")
    if not port:
        return user, host, None
    return user, host, port if port.isascii() and port.isdigit() and len(port) <= 5 else ""


def _decode(path: str) -> str:
    """Return a URL's path with percent escapes decoded, except those of reserved, control and non-ASCII characters."""
    return _ESCAPE.sub(lambda match: _unreserved(match.group()), path)


def _unreserved(escape: str) -> str:
    code = int(escape[1:], 16)
    reserved = code < 32 or code in b"/?#%" or code == 127
    return escape.upper() if reserved else unquote(escape, "latin-1") if code < 128 else escape.upper()


def _name(address: _Address) -> str:
    host = address.host.lower().rstrip(".")
    port = address.port
    if host in _SSH_OVER_HTTPS and port in (None, 443):
        host, port = _SSH_OVER_HTTPS[host], None
    forge = host in _FORGES and port is None
    top = "" if address.from_home else "/"
    path = posixpath.normpath(top + _escape_wide(address.path)).lstrip("/")
    path = _without_suffix(path.lower() if forge else path)
    if path in ("", ".") or _CONTROL.search(path):
        return ""
    if address.from_home and not forge and address.user not in _SERVICE_USERS:
        path = f"~{address.user}/{path}"
    return f"{host}{'' if port is None else f':{port}'}/{path}"


def _escape_wide(path: str) -> str:
    """Return the path with every character outside of ASCII percent-escaped as UTF-8."""
    return "".join(quote(letter) if ord(letter) > 127 else letter for letter in path)


# The project that a folder belongs to. In: a folder. Out: a `ProjectRecord`.
#
# A project is the repository that its git remote names, else its folder. Git is asked what a configuration says, once for each state of the
# file, since this happens before every prompt; without git a folder has no remote. Where a `.git` that is a file or a link leads is looked up
# here, for git believes it: worktrees and submodules count as git's own only where the repository points back to them; otherwise the folder
# is a project by itself. Whether a folder that names a known
# repository may share its memories is not decided here: `tacit.app.projects` asks the user.

CONFIG_S = 2.0
"""Seconds that git may take to read a configuration, while a prompt waits."""
_USER_CONFIGS = ("~/.config/git/config", "~/.gitconfig")
_WINDOWS_PATH = re.compile(r"[A-Za-z]:[\\/]|\\\\")
_DRIVE_OF_A_SHELL = re.compile(r"^/([A-Za-z])(?=/)/")


@frozen
class Checkout:
    """A folder with a `.git`. `own` = its git folder, `common` = the one that worktrees share.

    Both are None if `.git` leads out of the folder and its target does not point back.
    """

    root: Path
    own: Path | None
    common: Path | None


def find_checkout(start: Path) -> Checkout | None:
    """Return the checkout that contains `start`, a resolved path; None = it is in none.

    A folder whose `.git` is an empty folder is passed over, as git does: Codex's sandbox makes such folders in `/tmp` and in
    working folders while a command runs, and leaves them there if it is killed (openai/codex issue 31599).
    """
    for folder in (start, *start.parents):
        dot_git = folder / ".git"
        if os.path.lexists(dot_git) and not _empty_folder(dot_git):
            own, common = _git_folders(dot_git)
            return Checkout(root=folder, own=own, common=common)
    return None


def _empty_folder(path: Path) -> bool:
    try:
        return next(path.iterdir(), None) is None
    except OSError:  # a file, a link to nowhere, or a folder that cannot be read
        return False


def git_at(root: Path) -> Repository | None:
    """Return git for the work tree whose root is `root`, a resolved path; None = it is not the root of one."""
    checkout = find_checkout(root)
    if checkout is None or checkout.root != root or checkout.own is None:
        return None
    return Repository(folder=checkout.own, work_tree=root)


def _git_folders(dot_git: Path) -> tuple[Path, Path] | tuple[None, None]:
    """Return the git folder and the one that worktrees share; (None, None) if `.git` leads elsewhere and that does not point back."""
    if dot_git.is_dir() and not dot_git.is_symlink():
        return dot_git, dot_git
    folder = dot_git.parent
    if dot_git.is_file():
        text = small_text(dot_git)
        if not text.startswith("gitdir:"):
            return None, None
        target = _resolved(folder / text.removeprefix("gitdir:").strip())
    else:
        target = _resolved(dot_git)
    if target is None or not target.is_dir():
        return None, None
    commondir = small_text(target / "commondir")
    if commondir:  # a worktree: its administrative folder lies in the repository and names the worktree
        common = _resolved(target / commondir)
        back = small_text(target / "gitdir")
        place = _resolved((target / back).parent) if back else None
        if common is not None and target.parent == common / "worktrees" and place == folder:
            return target, common
        return None, None
    if target.is_relative_to(folder) or _work_tree(target) == folder:
        return target, target
    return None, None


def _resolved(path: Path) -> Path | None:
    try:
        return path.resolve()
    except (OSError, RuntimeError, ValueError):
        return None


def _work_tree(git_folder: Path) -> Path | None:
    """Return the folder that a submodule's git folder names as its work tree; None = it names none."""
    for name in ("config.worktree", "config"):
        for setting, value in _settings(git_folder / name):
            if setting == "core.worktree" and value:
                return _resolved(git_folder / value)
    return None


def _settings(file: Path) -> tuple[tuple[str, str], ...]:
    """Return the settings of a configuration file as (`section.name.key`, value), without included files; () if git gives no answer.

    Asks git, once for each state of the file.
    """
    try:
        state = file.stat()
        return _settings_of(file, state.st_mtime_ns, state.st_size)
    except OSError:
        return ()


@lru_cache(maxsize=256)
def _settings_of(file: Path, _changed_ns: int, _size: int) -> tuple[tuple[str, str], ...]:
    git = Repository(folder=file.parent, work_tree=file.parent)
    out = git.ask("config", "--file", str(file), "--null", "--list", timeout_s=CONFIG_S)
    if out is None:
        raise OSError(f"git cannot read {file}")
    pairs = (entry.partition("\n") for entry in out.decode("utf-8", "replace").split("\0") if entry)
    return tuple((name, value) for name, _, value in pairs)


def remote_url(common: Path) -> str:
    """Return the URL of `origin`, else of the remote whose name sorts first; "" = no remote, or git's configuration cannot be read.

    A URL that names its host is returned as it is written, any other one after git's `insteadOf` rules. `common` is git's common folder.
    """
    settings = list(_settings(common / "config"))
    urls: dict[str, str] = {}
    for setting, value in settings:
        if setting.startswith("remote.") and setting.endswith(".url") and value:
            urls.setdefault(setting[len("remote.") : -len(".url")], value)
    if not urls:
        return ""
    url = urls[min(urls, key=lambda name: (name != "origin", name))].strip()
    scheme = _SCHEME.match(url)
    if _HOST_IN_SCP.match(url) or (scheme and scheme.group().lower() in _DEFAULT_PORTS):
        return url
    for file in _USER_CONFIGS:
        settings += _settings(Path(os.path.expanduser(file)))  # noqa: PTH111 - raises nothing without a home
    rules = [
        (value, setting[len("url.") : -len(".insteadof")])
        for setting, value in settings
        if setting.startswith("url.") and setting.endswith(".insteadof") and value and url.startswith(value)
    ]
    if not rules:
        return url
    prefix, base = max(rules, key=lambda rule: len(rule[0]))
    return base + url.removeprefix(prefix)


def project_id(key: str, taken: Iterable[str] = ()) -> str:
    """Return the project id of `key`: its last part for people, then ten hexadecimal digits of a SHA-256.

    Args:
        key: `remote:` or `path:` and the name.
        taken: ids of other projects, which are avoided.
    """
    name = last_name(key.partition(":")[2])
    slug = re.sub(r"[^a-z0-9._-]+", "-", name.lower()).strip("-") or "project"
    taken_ids = set(taken)
    source = key
    while True:
        digest = hashlib.sha256(source.encode("utf-8", "surrogatepass")).hexdigest()[:10]
        if f"{slug}-{digest}" not in taken_ids:
            return f"{slug}-{digest}"
        source += "\n"


def resolve_folder(cwd: str | Path) -> Path:
    """Return `cwd`, which need not exist, as an absolute path without links; `~` is expanded."""
    start = Path(os.path.expanduser(cwd))  # noqa: PTH111 - leaves an unknown user's `~` as it is
    return _resolved(start) or start.absolute()  # a loop of links: keep the path as given


def is_user_folder(cwd: str | Path) -> bool:
    """Whether `cwd` names a user of a program (`user:NAME`), not a folder."""
    return isinstance(cwd, str) and cwd.startswith(USER_FOLDER)


def identify_project(cwd: str | Path, *, by_remote: bool = True) -> ProjectRecord:
    """Return the project of `cwd` (an existing folder or not): that of its git remote, else of its folder. May ask git.

    `by_remote` False = ignore the remote. `folders` holds the one folder that stands
    for the repository on this machine: its worktrees share it. `user:NAME` is the space of one user of a program, without any folder.
    """
    if is_user_folder(cwd):
        name = str(cwd).removeprefix(USER_FOLDER)
        return ProjectRecord(id=user_project_id(name), name=f"user {name}", root="", key=str(cwd))
    start = resolve_folder(cwd)
    checkout = find_checkout(start)
    root = checkout.root if checkout else start
    main, remote = root, ""
    if checkout and checkout.common is not None:
        common = checkout.common
        main = common.parent if common.name == ".git" else common
        if by_remote:
            linked = checkout.own != common
            remote = name_remote(remote_url(common), base=main if linked else root)
    key = f"remote:{remote}" if remote else f"path:{main}"
    return ProjectRecord(
        id=project_id(key),
        name=last_name(key.partition(":")[2]),
        root=str(root),
        remote=remote,
        key=key,
        folders=(str(main),),
    )


def last_name(path: str) -> str:
    """Return the last part of a path of any system, or of the name of a repository; `root` if there is none."""
    if _WINDOWS_PATH.match(path):
        return PureWindowsPath(path).name or "root"
    return path.rstrip("/").rsplit("/", 1)[-1] or "root"


def relative_path(path: str, *, root: str, cwd: str = "") -> str:
    """Return `path` relative to `root` with forward slashes; outside of it unchanged, or absolute if it was relative to `cwd`.

    A root or path with a drive letter or a share is one of Windows: there case does not count, and `/c/Users`, as a shell of
    Git writes it, is `C:/Users`.
    """
    if not path or not root:
        return path
    windows = _WINDOWS_PATH.match(root) or _WINDOWS_PATH.match(path)
    kind = PureWindowsPath if windows else PurePosixPath
    if windows:
        path = _DRIVE_OF_A_SHELL.sub(r"\1:/", path)
        path = path.replace("\\\\?\\UNC\\", "\\\\").removeprefix("\\\\?\\").replace("\\", "/")
    raw = kind(path)
    whole = raw if raw.is_absolute() else kind(cwd or root) / raw
    segments: list[str] = []
    for segment in whole.parts:
        if segment == "..":
            if len(segments) > 1:
                segments.pop()
        elif segment != ".":
            segments.append(segment)
    flat = kind(*segments) if segments else whole
    try:
        return flat.relative_to(root).as_posix()
    except ValueError:
        return path if raw.is_absolute() else flat.as_posix()


# The branch that is checked out in a work tree. In: a project's root. Out: its name.
#
# HEAD, one small file, is read by itself, since this happens before every prompt; git is asked where the file does not tell. All else is asked of git.
#
# The default branch is the one that `origin` names, else `main` or `master`. `develop` and `trunk` are treated like the default branch. If the default
# branch is not known, no branch counts as unmerged. During a rebase, the branch that is being rebased counts as checked out.
#
# Source: gitrepository-layout(5).

SHARED = ("main", "master", "trunk", "develop")
"""Branches that count as merged wherever they exist, because teams merge their work into them."""
_DEFAULTS = ("main", "master")
_HEADS, _REMOTE, _REMOTES = "refs/heads/", "refs/remotes/origin/", "refs/remotes/"
_NOT_IN_FILES = "refs/heads/.invalid"
"""The branch that HEAD names in a repository with the `reftable` format; then git must be asked."""
_NAME = lazy_regex(r"[^\x00-\x20\x7f~^:?*\[\\/.-][^\x00-\x20\x7f~^:?*\[\\]{0,199}")
"""Source: git-check-ref-format(1)."""
_REBASES = ("rebase-merge/head-name", "rebase-apply/head-name")
_MOST_BYTES = 4_096
HEAD_S, REFS_S = 0.5, 2.0
"""Seconds that git may take to tell HEAD, or the default branch, while a prompt waits."""


@frozen
class WorkTree:
    """A work tree and the branches of its repository that count as merged.

    Attributes:
        checkout: its folders; both git folders are set.
        git: runs git in it.
        shared: the names of the default branch and of the other branches that count as merged; empty = the default branch is not known.
        remote: whether the repository has a remote. If so, a branch counts as merged when the remote has merged it.
    """

    checkout: Checkout
    git: Repository
    shared: tuple[str, ...]
    remote: bool


def work_tree_of(root: str | Path) -> WorkTree | None:
    """Return the work tree that contains `root`, a resolved path; None = there is none. Asks git."""
    checkout = find_checkout(Path(root)) if root else None
    if checkout is None or checkout.own is None or checkout.common is None:
        return None
    git = Repository(folder=checkout.own, work_tree=checkout.root)
    refs = git.refs(_REMOTES, *(f"{_HEADS}{name}" for name in _DEFAULTS), timeout_s=REFS_S) or {}
    remote = any(name.startswith(_REMOTES) for name in refs) or bool(remote_url(checkout.common))
    named = refs.get(f"{_REMOTE}HEAD", ("", ""))[1].removeprefix(_REMOTE)
    default = next(
        (name for name in (named, *_DEFAULTS) if name and merged_ref(name, remote=remote) in refs), ""
    )
    shared = (default, *(name for name in SHARED if name != default)) if default else ()
    return WorkTree(checkout=checkout, git=git, shared=shared, remote=remote)


def branch_at(tree: WorkTree) -> str:
    """Return the unmerged branch that is checked out or being rebased; "" = none, or one that counts as merged."""
    name = head_branch(tree.checkout)
    return name if tree.shared and name not in tree.shared else ""


def commit_at(tree: WorkTree, branch: str) -> str:
    """Return the commit at the tip of a local branch; "" = there is none. Asks git."""
    return (tree.git.refs(_HEADS + branch) or {}).get(_HEADS + branch, ("", ""))[0]


def default_tip(tree: WorkTree) -> str:
    """Return the commit at the tip of the default branch, with a remote as it was last fetched; "" = unknown. Asks git."""
    ref = merged_ref(tree.shared[0], remote=tree.remote) if tree.shared else ""
    return (tree.git.refs(ref) or {}).get(ref, ("", ""))[0] if ref else ""


def branch_fingerprint(tree: WorkTree) -> tuple[str, ...]:
    """Return a value that changes when another branch is checked out, or a branch that counts as merged moves.

    Only looks at names and times of files.
    """
    common = tree.checkout.common
    if common is None:
        return ()
    refs = (merged_ref(name, remote=tree.remote) for name in tree.shared)
    files = (common / "packed-refs", common / "reftable" / "tables.list", *(common / ref for ref in refs))
    return head_branch(tree.checkout), *map(_changed_at, files)


def refs_fingerprint(root: str) -> tuple[str, ...]:
    """Return a value that changes when a branch of the repository at `root` is made, moved or removed, or its remotes change.

    () = no repository.
    """
    checkout = find_checkout(Path(root)) if root else None
    if checkout is None or checkout.common is None:
        return ()
    names = (
        "config",
        "packed-refs",
        "refs/heads",
        "refs/remotes/origin",
        "refs/remotes/origin/HEAD",
        "reftable/tables.list",
    )
    return str(checkout.own), *(_changed_at(checkout.common / name) for name in names)


def _changed_at(file: Path) -> str:
    try:
        return str(file.stat().st_mtime_ns)
    except OSError:
        return ""


def head_branch(checkout: Checkout) -> str:
    """Return the branch that is checked out or being rebased; "" = none. Asks git only if HEAD does not tell."""
    own = checkout.own
    if own is None:
        return ""
    head = small_text(own / "HEAD")
    if head == f"ref: {_NOT_IN_FILES}" or (own / "HEAD").is_symlink():
        git = Repository(folder=own, work_tree=checkout.root)
        answer = git.ask("symbolic-ref", "--quiet", "HEAD", timeout_s=HEAD_S) or b""
        head = f"ref: {answer.decode('utf-8', 'replace').strip()}" if answer else ""
    if not head.startswith("ref:"):
        head = next((text for name in _REBASES if (text := small_text(own / name))), "")
    name = head.removeprefix("ref:").strip()
    branch = name.removeprefix(_HEADS)
    return branch if name.startswith(_HEADS) and is_branch_name(branch) and name != _NOT_IN_FILES else ""


def is_branch_name(name: str) -> bool:
    """Whether `name` is a valid branch name, and so safe in a path and in shown text."""
    return bool(_NAME.fullmatch(name)) and ".." not in name


def merged_ref(name: str, *, remote: bool) -> str:
    """Return the full reference of what is merged into the branch `name`: with a remote `origin`'s fetched branch, else the local one."""
    return f"{_REMOTE if remote else _HEADS}{name}"


def small_text(path: Path) -> str:
    """Return the first 4 KB of a file, without surrounding white space; "" if it cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(_MOST_BYTES).decode("utf-8", "replace").strip()
    except (OSError, ValueError):
        return ""
