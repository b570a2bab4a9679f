"""Files of a host: edits as values and carrying them out, the sorts of targets, and what the hosts' modules `install` share.

In: what a file holds and shall hold. Out: files, whole or not at all: never half a file, half a plan, a file that changed meanwhile, another
mode, a link replaced by a file. A target is one file with our part: a file of ours as a whole (`OwnFile`), a member of a JSON file (`JsonMember`), our
entries among the hooks of a settings file (`HookSettings`).
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import stat
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PureWindowsPath
from typing import Literal, Protocol, cast, runtime_checkable

import tacit
from tacit.config.home import Home
from tacit.errors import HostError
from tacit.frozen import frozen
from tacit.hosts.install import jsonc
from tacit.system.files import mode_of_new_file, replace, set_mode


@frozen
class FileEdit:
    """The planned edit of one file: `before` None = it does not exist yet, `after` None = it is deleted. `why` explains the edit to the user.

    `private` = only its owner may read it and the folders that are made for it. `folders` = the folders that were made for it, outermost
    first; they are removed with it if they are empty. None = the folder that contains it.
    """

    path: Path
    before: str | None
    after: str | None
    why: str
    private: bool = False
    folders: tuple[Path, ...] | None = None

    @property
    def changes(self) -> bool:
        """Whether the edit changes the file."""
        return self.before != self.after


@frozen
class InstallPlan:
    """All edits of one installation or removal. No edits = nothing to do.

    `notes` say what was met and left alone. `permits` = the tools that the host calls without asking by a rule of ours.
    """

    host: str
    edits: tuple[FileEdit, ...] = ()
    notes: tuple[str, ...] = ()
    permits: tuple[str, ...] = ()


def is_there(path: Path) -> bool:
    """Return whether a file or folder exists at `path`; False also if its folder cannot be entered, which `read_text` then reports."""
    return os.path.exists(path)  # noqa: PTH110 - `Path.exists` raises an error there before Python 3.14


def is_link(path: Path) -> bool:
    """Return whether `path` is a symbolic link; False also if its folder cannot be entered, which `read_text` then reports."""
    return os.path.islink(path)  # noqa: PTH114 - `Path.is_symlink` raises an error there before Python 3.14


def read_text(path: Path) -> str | None:
    """Return the text of a file with its line ends as they are; None = there is no file.

    Raises:
        HostError: if it cannot be read or is not UTF-8.
    """
    try:
        return path.read_bytes().decode("utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except UnicodeDecodeError as error:
        raise HostError(
            f"{path} is not UTF-8 text (byte {error.start}). Nothing was written.",
            hint="Save it as UTF-8, or move it away, and run the command again.",
        ) from None
    except IsADirectoryError:
        raise HostError(
            f"{path} is a folder, not a file. Nothing was written.",
            hint="Move it away, and run the command again.",
        ) from None
    except OSError as error:
        raise HostError(
            f"{path} cannot be read: {error.strerror or error}. Nothing was written.",
            hint="Check the owner and mode of the file and of the folders above it.",
        ) from error


def apply(plan: InstallPlan) -> None:
    """Write all edits of `plan`. If one fails, those before it are undone.

    Raises:
        HostError: if a file changed since the plan was made, or cannot be written. Nothing is changed then.
    """
    edits = [edit for edit in plan.edits if edit.changes]
    for edit in edits:
        if read_text(edit.path) != edit.before:
            raise HostError(
                f"{edit.path} was changed by someone else meanwhile. Nothing was written.",
                hint="Run the command again.",
            )
    done: list[FileEdit] = []
    new_folders: list[Path] = []
    path = Path()
    try:
        for edit in edits:
            path = edit.path
            if edit.after is not None:
                new_folders += _make_folders(edit.path.parent, mode=0o700 if edit.private else 0o777)
            _write(edit.path, edit.after, private=edit.private)
            done.append(edit)
    except OSError as error:
        _undo(done, new_folders)
        raise HostError(
            f"{path} cannot be written: {error.strerror or error}. Nothing was changed.",
            hint="Check the free space, and the owner and mode of its folder.",
        ) from error
    _remove_folders(edits)


def _undo(done: Iterable[FileEdit], new_folders: Iterable[Path]) -> None:
    for edit in reversed(list(done)):
        with contextlib.suppress(OSError):
            _make_folders(edit.path.parent, mode=0o700 if edit.private else 0o777)
            _write(edit.path, edit.before, private=edit.private)
    for folder in reversed(list(new_folders)):
        with contextlib.suppress(OSError):
            folder.rmdir()


def _make_folders(folder: Path, *, mode: int) -> list[Path]:
    missing = list(missing_folders(folder))
    for path in missing:
        path.mkdir(mode=mode, exist_ok=True)
    return missing


def missing_folders(folder: Path) -> tuple[Path, ...]:
    """Return `folder` and those of its parents that do not exist, outermost first."""
    missing: list[Path] = []
    while not is_there(folder):
        missing.append(folder)
        folder = folder.parent
    return tuple(reversed(missing))


def _remove_folders(edits: Iterable[FileEdit]) -> None:
    """Remove the folders that were made for files that are deleted now, if they are empty."""
    gone = [edit for edit in edits if edit.after is None]
    folder_groups = ((edit.path.parent,) if edit.folders is None else edit.folders for edit in gone)
    folders = {folder for group in folder_groups for folder in group}
    for folder in sorted(folders, key=lambda folder_path: (-len(folder_path.parts), folder_path)):
        with contextlib.suppress(OSError):
            folder.rmdir()


def _write(path: Path, text: str | None, *, private: bool) -> None:
    if text is None:
        path.unlink(missing_ok=True)
        return
    target = path.resolve()  # a link stays a link: the file it points to is written
    try:
        mode = stat.S_IMODE(target.stat().st_mode)
    except FileNotFoundError:
        mode = mode_of_new_file()
    mode = 0o600 if private else mode
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(text.encode("utf-8"))
            file.flush()
            os.fsync(file.fileno())
        set_mode(Path(name), mode)
        replace(Path(name), target)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(name)  # noqa: PTH108
        raise


INSTALL_VERSION = 2
"""The version of what an installation writes: launcher, plugins, hooks and commands. A release that changes one of them raises it."""
STAMP = f"tacit-install:{INSTALL_VERSION}"
"""The text with the version that stands in every file or entry that carries one."""
_STAMPS = re.compile(r"tacit-install:(\d+)")


def version_in(text: str) -> int:
    """Return the install version that `text` carries, the oldest if there are several; 0 = none."""
    return min(map(int, _STAMPS.findall(text)), default=0)


def describe_age(version: int) -> str:
    """Say, as the end of a sentence, how an entry with this `version` (0 = it carries none) differs from what this Tacit writes."""
    if version in (0, INSTALL_VERSION):
        return "differs from what this Tacit writes"
    return f"is stale: it carries version {version}, and this Tacit writes version {INSTALL_VERSION}"


@dataclass(frozen=True, slots=True)
class Place:
    """Where an installation writes, and what the user agreed to.

    Attributes:
        user_home: the user's home folder.
        project_root: the project whose files are written instead of the user's own; None = the user's own.
        home: where Tacit keeps its data.
        trust: whether to approve the hooks in the host's settings, if the host requires this.
        rules: rules for tools that the host's own settings shall hold.
        earlier: those that an installation wrote there.
    """

    user_home: Path
    project_root: Path | None
    home: Home
    trust: bool = False
    rules: tuple[str, ...] = ()
    earlier: tuple[str, ...] = ()

    @property
    def launcher(self) -> Path:
        """The command that hosts call."""
        return self.home.launcher


class OfUser:
    """Mixin for a target in a user's own file that is part of an installation into a project. The file's original is kept by the user's installation, not this one."""

    __slots__ = ()


@runtime_checkable
class MayBeUnread(Protocol):
    """A target in a file that the host ignores as a whole if its form is wrong."""

    @property
    def unread(self) -> Callable[[Path, str], str]:
        """A function of (path, text) that says why the host would ignore the file; "" = it reads it."""
        ...


class Target(Protocol):
    """Our part of one file: says whether a text has it, adds it and takes it out. Works on text; `apply` writes the files."""

    @property
    def path(self) -> Path:
        """The file."""
        ...

    @property
    def why(self) -> str:
        """What the edit is for, in words for the user who is asked."""
        ...

    def holds(self, text: str) -> bool:
        """Whether the text has our part, complete and up to date."""
        ...

    def present(self, text: str) -> bool:
        """Whether the text has anything of ours."""
        ...

    def add(self, text: str | None) -> str:
        """Return the new text of the file: `text` with our part added. `text` holds nothing of ours; None = there is no file yet."""
        ...

    def remove(self, text: str) -> str | None:
        """Return the text without our part; None = the file is to be deleted."""
        ...


@frozen
class OwnFile:
    """A target that is a whole file of ours. `mark` is a text that every version of it contains, and no other file."""

    path: Path
    why: str
    content: str
    mark: str

    def holds(self, text: str) -> bool:
        """Whether `text`, the file's content now, is exactly what we would write: then it is up to date."""
        return text == self.content

    def present(self, text: str) -> bool:
        """Whether the file is ours, in whatever version."""
        return self.mark in text

    def add(self, text: str | None) -> str:
        """Return the new text of the file, which is our whole content; `text` = what stands there now, None = no file.

        Raises:
            HostError: if `text` is not ours.
        """
        if text is not None and not self.present(text):
            raise HostError(
                f"{self.path} exists and is not Tacit's. Nothing was written.",
                hint="Move it away, and run the command again.",
            )
        return self.content

    def remove(self, text: str) -> str | None:
        """Return None, so that our file is deleted; if `text` is not ours, return it unchanged."""
        return None if self.present(text) else text


@frozen
class JsonMember:
    """A target that is one member of a JSON file, such as `mcp.tacit`. `opening` is the content of a new file."""

    path: Path
    why: str
    keys: tuple[str, ...]
    value: object
    opening: str = "{}\n"

    def holds(self, text: str) -> bool:
        """Whether the member exists and has our value."""
        node = jsonc.find(jsonc.read(text, path=self.path), self.keys)
        return node is not None and node.value == self.value

    def present(self, text: str) -> bool:
        """Whether the member exists, with whatever value."""
        return jsonc.find(jsonc.read(text, path=self.path), self.keys) is not None

    def add(self, text: str | None) -> str:
        """Return the new text of the file: `text` with the member set to our value; None = there is no file yet."""
        return jsonc.put(
            self.opening if not text or not text.strip() else text, self.keys, self.value, path=self.path
        )

    def remove(self, text: str) -> str | None:
        """Return the text without the member, and without the objects around it that become empty; None = the file is to be deleted."""
        remaining = jsonc.cut(text, self.keys, path=self.path)
        if remaining == text:
            return text
        remaining = jsonc.prune(remaining, self.keys[:-1], path=self.path)
        return None if remaining == self.opening else remaining


def plugin_text(*segments: str) -> str:
    """Return the text of a file of `plugins/`, from the installed package or the source tree.

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


LAUNCHER_NAMES = ("tacit-hook", "tacit-hook.exe")


@frozen
class HookSettings:
    """A target for the `hooks` of a settings file: one entry of ours for each event, after those of others.

    Attributes:
        path: the file.
        groups: our entries, each with its event. An entry is a group with a list of handlers, or a single handler.
        why: what they are for.
        unread: why the host would ignore the content of the file; "" when it reads it.
        opening: the content of a new file.
        rules: the rules for tools that the file shall hold beside those of others.
    """

    path: Path
    groups: tuple[tuple[str, Mapping[str, object]], ...]
    why: str = "calls Tacit when a session, prompt or tool call begins or ends (hooks)"
    unread: Callable[[Path, str], str] = lambda _path, _text: ""
    opening: str = "{}\n"
    rules: tuple[str, ...] = ()

    def holds(self, text: str) -> bool:
        """Whether every event has exactly our entry, and no other event has one."""
        actual = [(event, group) for event, _, group in self._ours(text)]
        return sorted(actual, key=lambda pair: pair[0]) == sorted(self.groups, key=lambda pair: pair[0])

    def present(self, text: str) -> bool:
        """Whether the text has any hook of ours."""
        return next(self._ours(text), None) is not None

    def add(self, text: str | None) -> str:
        """Return the new text of the file: `text` with our entry appended for each event; None = there is no file yet."""
        text = self.opening if not text or not text.strip() else text
        for event, group in self.groups:
            text = jsonc.append(text, ("hooks", event), group, path=self.path)
        return text

    def remove(self, text: str) -> str | None:
        """Return the text without our handlers and the lists that become empty; handlers of others stay.

        None = nothing but the opening of a new file is left, so the file is to be deleted.
        """
        touched: set[str] = set()
        while (entry := next(self._ours(text), None)) is not None:
            event, index, group = entry
            touched.add(event)
            ours = [_is_ours(handler) for handler in _handlers(group)]
            if not all(ours):  # someone wrote a handler of their own into our group
                text = self._cut_handler(text, event, index, ours.index(True))
            else:
                text = jsonc.cut(text, ("hooks", event), path=self.path, index=index)
        if not touched:
            return text
        text = jsonc.prune(text, *(("hooks", event) for event in touched), ("hooks",), path=self.path)
        return None if text == self.opening else text

    def _ours(self, text: str) -> Iterator[tuple[str, int, object]]:
        """Yield (event, index, entry) for every entry that has a handler of ours."""
        hooks = jsonc.find(jsonc.read(text, path=self.path), ("hooks",))
        for member in hooks.members if hooks is not None else ():
            for index, item in enumerate(member.node.items):
                if any(_is_ours(handler) for handler in _handlers(item.value)):
                    yield member.key, index, item.value

    def _cut_handler(self, text: str, event: str, index: int, at: int) -> str:
        array = jsonc.find(jsonc.read(text, path=self.path), ("hooks", event))
        assert array is not None
        group = array.items[index]
        inside = jsonc.cut(text[group.start : group.end], ("hooks",), path=self.path, index=at)
        return text[: group.start] + inside + text[group.end :]


HookEvents = Sequence[tuple[str, str, int]]
"""The events to hook: (event, matcher, timeout in the host's unit); matcher "" = all calls. The hook client's own deadline is much shorter; the timeout only bounds a mistake."""


def hook_entries(
    events: HookEvents, handler: Mapping[str, object], *, timeout: str = "timeout", grouped: bool = True
) -> tuple[tuple[str, Mapping[str, object]], ...]:
    """Build our entry for each event; return (event, entry) pairs.

    Args:
        events: what is hooked.
        handler: the members of a handler. The timeout is put where they hold one already, else behind them.
        timeout: the member with the timeout.
        grouped: whether an entry is a group with a list of handlers; else it is a single handler.
    """
    entries: list[tuple[str, Mapping[str, object]]] = []
    for event, matcher, limit in events:
        own = {**handler, timeout: limit}
        match = {"matcher": matcher} if matcher else {}
        entries.append((event, {**match, "hooks": [own]} if grouped else {**own, **match}))
    return tuple(entries)


def shell_line(launcher: Path, *words: str) -> str:
    """Return the command line of a hook for hosts that run it in a shell: the quoted launcher, then `words` as they are. The hook client reads only the host's name of it."""
    return " ".join((shlex.quote(str(launcher)), *words))


def not_plain_json(path: Path, text: str, *, reader: str, reads_mark: bool = True) -> str:
    """Return a sentence that says why the host `reader` would ignore this settings file as a whole; "" = it reads it.

    It reads no comments and no trailing commas, which editors allow: measured on Claude Code 2.1.328 and Codex 0.169.0. `reads_mark`
    = it reads a file that begins with a byte order mark, as Claude Code does.
    """
    if text.startswith("\ufeff") and not reads_mark:
        return (
            f"{reader} ignores all of {path}: it begins with a byte order mark. Save it as UTF-8 without one."
        )
    try:
        json.loads(text.removeprefix("\ufeff") or "{}")
    except ValueError as error:
        line = f", line {error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        return (
            f"{reader} ignores all of {path}{line}: it takes plain JSON, without comments and trailing commas. "
            "Take them out of it."
        )
    except RecursionError:
        return ""  # whoever changes the file reports it
    return ""


def _handlers(entry: object) -> list[object]:
    """Return the handlers of an entry; an entry without a list of them is itself one handler."""
    if not isinstance(entry, Mapping):
        return []
    fields = cast("Mapping[str, object]", entry)
    if "hooks" not in fields:
        return [entry]
    handlers = fields["hooks"]
    return cast("list[object]", handlers) if isinstance(handlers, list) else []


def _is_ours(handler: object) -> bool:
    if not isinstance(handler, Mapping):
        return False
    fields = cast("Mapping[str, object]", handler)
    return _calls_launcher(fields.get("command")) or (
        fields.get("type") == "mcp_tool" and fields.get("server") == "tacit"
    )


def _calls_launcher(command: object) -> bool:
    """Whether `command` is the launcher's path, or a line for a shell that begins with it."""
    if not isinstance(command, str):
        return False
    try:
        words = shlex.split(command)
    except ValueError:
        words = []
    return any(PureWindowsPath(word).name in LAUNCHER_NAMES for word in (command, *words[:1]))


TOOLS = ("memory_get", "memory_add")
"""The memory tools that an agent calls by itself in an ordinary session, for which hosts ask or take a rule."""
TOOLS_TOLD = "memory_get (read a memory whole) and memory_add (note something)"
"""`TOOLS`, and what they are for."""


Word = Literal["allow", "ask", "deny"]


Rule = tuple[Word, str, Path | None]


@frozen
class Ruling:
    """What a host does at a call of `tool`, and which rule in the file `path` says so; rule "" = none does, so the host asks."""

    tool: str
    word: Word
    rule: str = ""
    path: Path | None = None

    def __str__(self) -> str:
        does = {"allow": "does not ask before", "ask": "asks before", "deny": "never runs"}[self.word]
        return f"{does} {self.tool}" + (f" ({self.rule} in {self.path})" if self.path else "")


@frozen
class Permission:
    """The rules by which a host calls memory tools without asking, as the user decided.

    Attributes:
        rules: rules that the host's own settings shall hold.
        earlier: those that an installation wrote there.
        wanted: further files with a rule.
        gone: files that shall hold no rule of ours any more.
        notes: what stands without a rule of ours, and why.
        tools: the tools that the rules allow.
    """

    rules: tuple[str, ...] = ()
    earlier: tuple[str, ...] = ()
    wanted: tuple[Target, ...] = ()
    gone: tuple[Target, ...] = ()
    notes: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()


Settings = tuple[Path, Mapping[str, object]]


def files_of_project(project_root: Path | None, *names: str) -> tuple[Path, ...]:
    """Return the paths of `names` below the project's root, whether they exist or not; () = there is no project."""
    return tuple(project_root / name for name in names) if project_root else ()


def read_settings(*paths: Path) -> Iterator[Settings]:
    """Yield (path, settings) for each file that holds a JSON object, with or without comments; others are skipped."""
    for path in paths:
        try:
            text = read_text(path)
            value = jsonc.read(text, path=path).value if text else None
        except HostError:
            continue
        if isinstance(value, Mapping):
            yield path, cast("Mapping[str, object]", value)
