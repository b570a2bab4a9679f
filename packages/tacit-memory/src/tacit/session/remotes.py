"""Canonical names of repositories, from the URL of a git remote. In: a URL, and the folder it is resolved against. Out: text.

Two urls get the same name only where git reaches the same repository through both: by ssh or https, with or without
credentials, on the default port of the scheme or without one. Never asks git or the network.

Source: git-clone(1), "GIT URLS"; connect.c:parse_connect_url; RFC 3986, section 6.2.
"""

from __future__ import annotations

import os
import posixpath
import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, unquote

MAX_URL = 2_000

_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*(?=://)", re.IGNORECASE)
_HELPER = re.compile(r"[a-z0-9]+(?=::)", re.IGNORECASE)
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_ESCAPE = re.compile(r"%[0-9a-f]{2}", re.IGNORECASE)
_PASSWORD = re.compile(r"(?<=//)([^/@:]*):[^/@]*(?=@)")

_SSH = ("ssh", "git+ssh", "ssh+git")
_DEFAULT_PORTS = {
    "ssh": 22, "git+ssh": 22, "ssh+git": 22, "https": 443, "http": 80, "git": 9418, "ftp": 21, "ftps": 990, "rsync": 873,
}  # fmt: skip

_FORGES = frozenset({"github.com", "gist.github.com", "gitlab.com", "bitbucket.org", "codeberg.org"})
"""Their paths are compared without case, and no part of a path depends on who asks."""
_SSH_OVER_HTTPS = {
    "ssh.github.com": "github.com",
    "altssh.gitlab.com": "gitlab.com",
    "altssh.bitbucket.org": "bitbucket.org",
}
_SERVICE_USERS = frozenset({"git", "gitea", "forgejo", "gitolite", "gitlab", "gogs"})
"""Login names of git servers: there a path does not begin in anybody's home folder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Address:
    """The place of a remote repository. `from_home` = the path is relative to the home folder of `user`."""

    scheme: str
    host: str
    port: int | None
    user: str
    path: str
    from_home: bool


def name_remote(url: str, *, base: Path) -> str:
    """The repository that `url` leads to, as `host[:port]/path`, an absolute path, or `helper::address`; "" = none.

    Args:
        url: what stands in the configuration, after `insteadOf`.
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
    """`[user@]host:path`, `[user@][::1]:path`, `[user@host:port]:path`."""
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
    """User without password, host, and port: None = not given, "" = no number."""
    credentials, _, place = authority.rpartition("@")
    user = credentials.partition(":")[0]
    host, _, port = place.rpartition(":") if re.search(r":[^\]]*$", place) else (place, "", "")
    if not port:
        return user, host, None
    return user, host, port if port.isascii() and port.isdigit() and len(port) <= 5 else ""


def _decode(path: str) -> str:
    """Take escapes out of a url's path where they change nothing: a reserved character stays escaped."""
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
    """A letter beyond ASCII and its escape in UTF-8 get one form, the escape."""
    return "".join(quote(letter) if ord(letter) > 127 else letter for letter in path)
