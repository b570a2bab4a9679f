"""Secrets taken out after the fact: every place where a home keeps text, by the rules that hold now.

In: a store, its home, a function that cleans, and for a purge one that takes records out of an export. Out: what changed, by
place, and what could not be cleaned. Running it twice changes nothing more. Never touches a file outside the home but backups and exports
that this home made and knows of.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field
from pathlib import Path

from tacit.config.home import Home
from tacit.errors import StoreError
from tacit.frozen import frozen
from tacit.model.changes import Removal
from tacit.ports.store import Store, ValueStore
from tacit.safety.json_texts import cleaned_json
from tacit.state.registry import COPIES

TOLD_BYTES = 200_000
"""Characters between two calls of `progress`."""
CleanInScope = Callable[[str, str], str]
"""A function that returns the cleaned form of a text. Its second argument is the name of the text's scope, "" = the user's own."""
Records = Callable[[str, CleanInScope, Removal], str]
"""A function that returns an export's text without the records of removed memories; the other memories keep their words."""


@frozen
class Rescan:
    """The result of a rescan: what was cleaned, and what could not be.

    Attributes:
        rows: rows changed by table.
        files: files changed by place (`log`, `start`, `spool`, `index`, and the paths of backups and exports).
        left: what could not be cleaned, with what to do about it.
        dry_run: nothing was changed.
    """

    rows: Mapping[str, int] = field(default_factory=dict[str, int])
    files: Mapping[str, int] = field(default_factory=dict[str, int])
    left: tuple[str, ...] = ()
    dry_run: bool = False

    @property
    def clean(self) -> bool:
        """Whether nothing had to be changed. It can be True although `left` names something that could not be cleaned."""
        return not (self.rows or self.files)


def note_copy(store: ValueStore, target: Path) -> None:
    """Add `target`, a backup or export with texts of the store, to the stored list of copies that a rescan cleans, too."""
    other_copies = [path for path in COPIES.read(store) if path != str(target)]
    COPIES.write(store, (*other_copies, str(target)))


def rescan(
    store: Store,
    home: Home,
    clean: CleanInScope,
    *,
    dry_run: bool,
    gone: Removal | None = None,
    records: Records | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Rescan:
    """Apply `clean` to every text of the home: tables, indexes, logs, start blocks, spool, replaced databases, known backups and exports.

    `gone` = rows to remove from all of them for good, see `Store.rewrite_texts`; `records` removes them from exports, without it exports
    are only cleaned. `dry_run` = only count. `progress` is called with (bytes done, bytes of all databases and files), an estimate.

    Raises:
        StoreError: if the store itself cannot be written; nothing of it is changed then.
    """
    copies = list(
        dict.fromkeys((*map(Path, COPIES.read(store)), *home.automatic_backups(), *replaced_databases(home)))
    )
    copies = [path for path in copies if path.is_file()]
    if progress is not None:
        whole = sum(map(_size, (home.database, *(path for _, path in _files(home)), *copies)))
        clean = _counted(clean, progress, whole)
    rows = store.rewrite_texts(clean, dry_run=dry_run, gone=gone)
    files: dict[str, int] = {}
    uncleaned: list[str] = []
    for place, path in _files(home):
        _file(path, clean, files, place, uncleaned, dry_run=dry_run)
    for path in copies:
        if path.suffix in (".jsonl", ".json", ".md", ".txt"):
            if gone is None or records is None:
                _file(path, clean, files, str(path), uncleaned, dry_run=dry_run)
            else:
                _rewrite(
                    path,
                    lambda text: records(text, clean, gone),
                    files,
                    str(path),
                    uncleaned,
                    dry_run=dry_run,
                )
            continue
        try:
            changed_rows = store.rewrite_texts(clean, dry_run=dry_run, copy=path, gone=gone)
        except StoreError as error:
            uncleaned.append(f"{path}: {error} Not cleaned: delete it, or see to that and run this again.")
            continue
        if changed_rows:
            files[str(path)] = sum(changed_rows.values())
    return Rescan(rows=rows, files=files, left=tuple(uncleaned), dry_run=dry_run)


def _counted(clean: CleanInScope, progress: Callable[[int, int], None], whole: int) -> CleanInScope:
    """Return `clean` wrapped so that it calls `progress` with (characters cleaned so far, `whole`) every `TOLD_BYTES`."""
    done = told = 0

    def counted(text: str, scope: str) -> str:
        nonlocal done, told
        done += len(text)
        if done - told >= TOLD_BYTES:
            told = done
            progress(min(done, whole), whole)
        return clean(text, scope)

    return counted


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _files(home: Home) -> Iterator[tuple[str, Path]]:
    for folder in (home.log_file.parent, home.start_dir, home.spool_dir):
        for path in _sorted(folder):
            yield folder.name, path


def _sorted(folder: Path) -> Iterable[Path]:
    try:
        return sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    except OSError:
        return ()


def _file(
    path: Path, clean: CleanInScope, files: dict[str, int], place: str, uncleaned: list[str], *, dry_run: bool
) -> None:
    """Clean a text file in place (the same inode), so that a process that appends to it can go on. Counts it in `files[place]`, failures in `uncleaned`."""

    def cleaned(text: str) -> str:
        after = "\n".join(_clean_line(line, clean) for line in _documents(text))
        if clean(after, "") != after or clean(text, "") != text:  # what spans several lines
            after = clean(after, "")
        return after

    _rewrite(path, cleaned, files, place, uncleaned, dry_run=dry_run)


def _documents(text: str) -> list[str]:
    """Return the lines of `text`; but a JSON document over several lines, alone or below a first line (a spooled event), stays in one piece."""
    first, newline, body = text.partition("\n")
    for document in (text, body):
        if "\n" in document.strip() and document.lstrip().startswith("{") and _is_json(document):
            return [document] if document is text else [f"{first}{newline}"[:-1], document]
    return text.split("\n")


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _clean_line(line: str, clean: CleanInScope) -> str:
    """Return a line of a log, or a whole JSON document, cleaned by `clean`.

    JSON is parsed first, so that a secret written with escapes such as `\u0041` is found.
    """
    if line.lstrip().startswith(("{", "[")):
        line = cleaned_json(line, lambda text: clean(text, ""))
    return clean(line, "")


def _rewrite(
    path: Path,
    changed: Callable[[str], str],
    files: dict[str, int],
    place: str,
    uncleaned: list[str],
    *,
    dry_run: bool,
) -> None:
    try:
        text = path.read_bytes().decode("utf-8", "surrogateescape")
        after = changed(text)
        if after == text:
            return
        content = after.encode("utf-8", "surrogateescape")
        if not dry_run:
            with path.open("r+b") as file:
                file.write(content)
                file.truncate()
        files[place] = files.get(place, 0) + 1
    except OSError as error:
        uncleaned.append(f"{path}: {error.strerror or error}.")
    except (ValueError, TypeError, LookupError, RecursionError) as error:
        uncleaned.append(
            f"{path}: it cannot be read ({error}); delete it, or see to that and run this again."
        )


def replaced_databases(home: Home) -> Iterable[Path]:
    """Return the paths of the databases in quarantine: former stores that were damaged or replaced."""
    return (path for path in _sorted(home.quarantine_dir) if path.suffix == ".db")
