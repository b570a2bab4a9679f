"""Edits of a host's files as values, and carrying them out whole or not at all.

In: what a file holds and shall hold. Out: files. Never: half a file, half a plan, a file that changed meanwhile, another
mode, a link replaced by a file.
"""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tacit.errors import HostError
from tacit.system.files import mode_of_new_file, replace, set_mode


@dataclass(frozen=True, slots=True, kw_only=True)
class FileEdit:
    """The edit of one file: `before` None = it does not exist, `after` None = it is deleted. `why` explains the edit to the user.

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
        """Whether carrying it out changes anything."""
        return self.before != self.after


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallPlan:
    """All that an installation or removal would write. No edits = nothing to do.

    `notes` say what was met and left alone. `permits` = the tools that the host calls without asking by a rule of ours.
    """

    host: str
    edits: tuple[FileEdit, ...] = ()
    notes: tuple[str, ...] = ()
    permits: tuple[str, ...] = ()


def is_there(path: Path) -> bool:
    """Return whether there is a file or folder at `path`; False where its folder is closed, which `read_text` reports."""
    return os.path.exists(path)  # noqa: PTH110 - `Path.exists` raises an error there before Python 3.14


def is_link(path: Path) -> bool:
    """Return whether `path` is a symbolic link; False where its folder is closed, which `read_text` reports."""
    return os.path.islink(path)  # noqa: PTH114 - `Path.is_symlink` raises an error there before Python 3.14


def read_text(path: Path) -> str | None:
    """The file as it is, line ends included; None if there is none.

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
    """Carry out `plan`; when one file fails, the earlier ones are put back.

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
    """Return `folder` and the folders around it, as far as they do not exist, outermost first."""
    missing: list[Path] = []
    while not is_there(folder):
        missing.append(folder)
        folder = folder.parent
    return tuple(reversed(missing))


def _remove_folders(edits: Iterable[FileEdit]) -> None:
    """Remove the folders that were made for deleted files, if they are empty."""
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
