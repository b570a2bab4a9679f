"""Counting what capture did. In: changes. Out: a report. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tacit.model.changes import Add, Change, Contradict, Edit, Merge, Retire, Skip, Supersede


@dataclass(frozen=True, slots=True, kw_only=True)
class FileReport:
    """The result for one transcript file.

    Attributes:
        path: the file.
        host: whose sessions these are; empty where it holds no conversation.
        sessions: sessions in it.
        prompts: what people said in them that was not read before.
        bad_lines: lines that made no sense; the others were read.
        error: why it could not be read, or empty.
    """

    path: str
    host: str = ""
    sessions: int = 0
    prompts: int = 0
    bad_lines: int = 0
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptureReport:
    """The result of one capture run.

    `handovers` counts sessions worked through, `failed` those (or whole files) that could not be, `files` tells more of
    each where a run reads files.
    """

    handovers: int = 0
    added: int = 0
    merged: int = 0
    superseded: int = 0
    contradicted: int = 0
    retired: int = 0
    skipped: int = 0
    failed: int = 0
    files: tuple[FileReport, ...] = ()

    def __add__(self, other: CaptureReport) -> CaptureReport:
        return CaptureReport(
            handovers=self.handovers + other.handovers,
            added=self.added + other.added,
            merged=self.merged + other.merged,
            superseded=self.superseded + other.superseded,
            contradicted=self.contradicted + other.contradicted,
            retired=self.retired + other.retired,
            skipped=self.skipped + other.skipped,
            failed=self.failed + other.failed,
            files=(*self.files, *other.files),
        )


def report_of(changes: Iterable[Change], *, handovers: int = 0) -> CaptureReport:
    """Count `changes`. An edit of a session's own note counts as merged."""
    counts = dict.fromkeys(("added", "merged", "superseded", "contradicted", "retired", "skipped"), 0)
    for change in changes:
        match change:
            case Add():
                counts["added"] += 1
            case Merge() | Edit():
                counts["merged"] += 1
            case Supersede():
                counts["superseded"] += 1
            case Contradict():
                counts["contradicted"] += 1
            case Retire():
                counts["retired"] += 1
            case Skip():
                counts["skipped"] += 1
    return CaptureReport(handovers=handovers, **counts)
