"""One file of a host and its edit. In: its text. Out: its text with or without our part. No I/O."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

import tacit
from tacit.config.home import Home
from tacit.errors import HostError
from tacit.hosts.install import jsonc

INSTALL_VERSION = 2
"""Version of what an installation writes: the launcher, plugins, hooks and commands. A release that changes one of them raises it."""
STAMP = f"tacit-install:{INSTALL_VERSION}"
"""Stands in every file or entry that carries the version."""
_STAMPS = re.compile(r"tacit-install:(\d+)")


def version_in(text: str) -> int:
    """The version that an installation left in `text`, the oldest where it holds several; 0 = none."""
    return min(map(int, _STAMPS.findall(text)), default=0)


def describe_age(version: int) -> str:
    """What is wrong with something of an installation that is not what this version writes."""
    if version == INSTALL_VERSION:
        return "differs from what this Tacit writes"
    version_text = f"version {version}" if version else "no version"
    return f"is stale: it carries {version_text}, and this Tacit writes version {INSTALL_VERSION}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where an installation writes, and what the user agreed to.

    Attributes:
        user_home: the user's home folder.
        project_root: the project whose files are written instead of the user's own; None = the user's own.
        home: where Tacit keeps its data.
        launcher: what hosts call.
        trust: whether to approve the hooks in the host's settings, if the host requires this.
        rules: rules for tools that the host's own settings shall hold.
        earlier: those that an installation wrote there.
    """

    user_home: Path
    project_root: Path | None
    home: Home
    launcher: Path
    trust: bool = False
    rules: tuple[str, ...] = ()
    earlier: tuple[str, ...] = ()


class OfUser:
    """Marks a target in a user's file that belongs to an installation into a project. The record of the file is that of the user's installation."""

    __slots__ = ()


@runtime_checkable
class MayBeUnread(Protocol):
    """A target in a file that the host may ignore for its form."""

    @property
    def unread(self) -> Callable[[Path, str], str]:
        """Say why the host would ignore the file at a path that holds a text; "" = it reads it."""
        ...


class Target(Protocol):
    """A file that an installation changes."""

    @property
    def path(self) -> Path:
        """Where it is."""
        ...

    @property
    def why(self) -> str:
        """What it is for, in words for the person who is asked."""
        ...

    def holds(self, text: str) -> bool:
        """Whether ours is in it, complete and up to date."""
        ...

    def present(self, text: str) -> bool:
        """Whether anything of ours is in it."""
        ...

    def version(self, text: str) -> int:
        """Version of ours in `text`; `INSTALL_VERSION` where this sort of file carries none."""
        ...

    def add(self, text: str | None) -> str:
        """The text with ours; None = there is no file yet. `text` holds nothing of ours."""
        ...

    def remove(self, text: str) -> str | None:
        """The text without ours; None = the file goes away."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnFile:
    """A file that is ours as a whole. `mark` is a text that only our versions of it hold."""

    path: Path
    why: str
    content: str
    mark: str

    def holds(self, text: str) -> bool:
        """Whether it is this very content."""
        return text == self.content

    def present(self, text: str) -> bool:
        """Whether it is one of our versions."""
        return self.mark in text

    def version(self, text: str) -> int:
        """The version in `text`, if our content carries one."""
        return version_in(text) if STAMP in self.content else INSTALL_VERSION

    def add(self, text: str | None) -> str:
        """Our content, if there is no file of someone else.

        Raises:
            HostError: if there is one.
        """
        if text is not None and not self.present(text):
            raise HostError(
                f"{self.path} exists and is not Tacit's. Nothing was written.",
                hint="Move it away, and run the command again.",
            )
        return self.content

    def remove(self, text: str) -> str | None:
        """None for our file; a file of someone else stays."""
        return None if self.present(text) else text


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonMember:
    """One member of a JSON file, such as `mcp.tacit`. `opening` is what a new file begins with."""

    path: Path
    why: str
    keys: tuple[str, ...]
    value: object
    opening: str = "{}\n"

    def holds(self, text: str) -> bool:
        """Whether the member has our value."""
        node = jsonc.find(jsonc.read(text, path=self.path), self.keys)
        return node is not None and node.value == self.value

    def present(self, text: str) -> bool:
        """Whether there is such a member."""
        return jsonc.find(jsonc.read(text, path=self.path), self.keys) is not None

    def version(self, text: str) -> int:  # noqa: ARG002 - one signature for all targets
        """A member carries none: other programs read it."""
        return INSTALL_VERSION

    def add(self, text: str | None) -> str:
        """The text with the member."""
        return jsonc.put(
            self.opening if not text or not text.strip() else text, self.keys, self.value, path=self.path
        )

    def remove(self, text: str) -> str | None:
        """The text without the member, and without the object around it if that is empty now."""
        remaining = jsonc.cut(text, self.keys, path=self.path)
        if remaining == text:
            return text
        remaining = jsonc.prune(remaining, self.keys[:-1], path=self.path)
        return None if remaining == self.opening else remaining


def plugin_text(*segments: str) -> str:
    """A file of `plugins/`, from the installed package or the source tree.

    Raises:
        HostError: if the installation is incomplete.
    """
    package = Path(tacit.__file__).parent
    for root in (package / "plugins", package.parents[3] / "plugins"):
        file = root.joinpath(*segments)
        if file.is_file():
            return file.read_text(encoding="utf-8")
    raise HostError(
        f"This installation of Tacit lacks the file plugins/{'/'.join(segments)}.",
        hint="Install Tacit again.",
    )
