"""The contents of host files before the installation, so that removal restores the same bytes. One JSON file per host in the home.

In: its text. Out: its text. Damaged or of an unknown form = nothing is known, and removal takes only ours out.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from tacit.config.home import Home


@dataclass(frozen=True, slots=True, kw_only=True)
class OriginalFile:
    """What a file held before us (None = it did not exist), the hash of what it held just after, and the folders made for it.

    `made` = outermost first; None = an earlier version did not note them.
    """

    text: str | None
    after_sha256: str
    made: tuple[Path, ...] | None = None


def record_file(home: Home, host: str) -> Path:
    """Where the record of `host` is; one each, so that plans for several hosts can be carried out together."""
    return home.root / "hosts" / host / "installs.json"


def sha256(text: str) -> str:
    """Hash of a file's text."""
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def read(text: str | None) -> dict[Path, OriginalFile]:
    """The record by path."""
    try:
        found = json.loads(text or "{}")
    except ValueError:
        return {}
    if not isinstance(found, Mapping):
        return {}
    known: dict[Path, OriginalFile] = {}
    for path, entry in cast("Mapping[str, object]", found).items():
        if not isinstance(entry, Mapping):
            continue
        fields = cast("Mapping[str, object]", entry)
        before, after = fields.get("before"), fields.get("after_sha256")
        if isinstance(after, str) and (before is None or isinstance(before, str)):
            known[Path(path)] = OriginalFile(
                text=before, after_sha256=after, made=_folders(fields.get("made"))
            )
    return known


def write(record: Mapping[Path, OriginalFile]) -> str | None:
    """The record as text; None when nothing is left to remember."""
    if not record:
        return None
    rows = {
        str(path): {
            "before": entry.text,
            "after_sha256": entry.after_sha256,
            **({} if entry.made is None else {"made": [str(folder) for folder in entry.made]}),
        }
        for path, entry in sorted(record.items())
    }
    return json.dumps(rows, indent=1) + "\n"


def _folders(given: object) -> tuple[Path, ...] | None:
    if not isinstance(given, list):
        return None
    return tuple(Path(str(folder)) for folder in cast("list[object]", given))
