"""Learning from past transcripts, and counting what capture did. In: files, changes. Out: a report. One way for `init` and `import`.

Every session is a transaction of its own with its checkpoint, so that an interruption loses at most one and a second run
adds nothing. A file that cannot be read is named in the report; the others are read all the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields, replace

from tacit.capture.transcript import TranscriptSource
from tacit.errors import HostError, InvalidPayload
from tacit.frozen import frozen
from tacit.hosts.transcripts.rows import TranscriptInfo
from tacit.hosts.transcripts.sessions import FileSession, detect_format, read_sessions
from tacit.model.changes import Add, Change, Contradict, Merge, Retire, Rewrite, Skip, Supersede
from tacit.ports.writer import is_headless_folder
from tacit.state.captured import Position


@frozen
class FileReport:
    """What was learned from one transcript file.

    Attributes:
        path: the file.
        host: the host of its sessions; "" = it holds no conversation.
        sessions: number of sessions in it.
        prompts: number of messages of the user in it that were not read before.
        bad_lines: number of lines that could not be read; the others were.
        error: why the file could not be read; "" = it could.
    """

    path: str
    host: str = ""
    sessions: int = 0
    prompts: int = 0
    bad_lines: int = 0
    error: str = ""


@frozen
class CaptureReport:
    """Counts of what one capture run did; `+` adds two reports.

    `handovers` counts the sessions that were read, `failed` the sessions or whole files that could not be
    read. `files` has one report for each file, if the run read files.
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
        names = [field.name for field in fields(self)]
        return CaptureReport(**{name: getattr(self, name) + getattr(other, name) for name in names})


_COUNTED_AS: dict[type[Change], str] = {
    Add: "added",
    Merge: "merged",
    Rewrite: "merged",
    Supersede: "superseded",
    Contradict: "contradicted",
    Retire: "retired",
    Skip: "skipped",
}


def report_of(changes: Iterable[Change]) -> CaptureReport:
    """Return a report on one session that was read: the counts of its `changes` by kind. An edit of its own note counts as merged."""
    return replace(CaptureReport(handovers=1), **Counter(_COUNTED_AS[type(change)] for change in changes))


@frozen
class BackfillOptions:
    """Which past sessions are read, and whether anything is stored.

    Attributes:
        since_ms: leave out sessions that ended before this time; 0 = leave out none.
        subagents: include what subagents were told.
        dry_run: only look; nothing is stored.
        write_up: the sessions wait for the writer, which is asked only when the user says so.
    """

    since_ms: int = 0
    subagents: bool = False
    dry_run: bool = False
    write_up: bool = False


ALL_TRANSCRIPTS = BackfillOptions()


def capture_file(
    info: TranscriptInfo,
    options: BackfillOptions,
    *,
    since: Callable[[TranscriptSource], Position],
    unread: Callable[[TranscriptSource, FileSession], int],
    capture: Callable[[TranscriptSource, FileSession], Sequence[Change]],
) -> CaptureReport:
    """Learn from one past transcript, one session after the other, and return the report. A file that cannot be read counts as failed.

    Args:
        info: the file.
        options: which of its sessions are read, and whether anything is stored.
        since: returns the position up to which a session was read before.
        unread: returns how many prompts of a session were not captured before.
        capture: learns from one session, stores what it taught, and returns the changes; not called in a dry run.

    Raises:
        StoreError: as the store; sessions stored before it stay stored.
    """
    report = CaptureReport()
    sessions = prompts = bad = 0
    host, error = info.host, ""

    def source_of(host: str, session_id: str) -> TranscriptSource:
        return TranscriptSource(host=host, session_id=session_id, path=str(info.path), cwd=info.cwd)

    try:
        detected = detect_format(info.path)
        host = info.host or detected.host
        read = read_sessions(
            info.path,
            since=lambda host, session_id: since(source_of(host, session_id)),
            host=info.host,
            session_ids=info.session_ids,
            subagents=options.subagents,
            detected=detected,
        )
        for session in read:
            if _is_older_than(session, info, options.since_ms) or is_headless_folder(
                session.transcript.cwd or info.cwd
            ):
                continue
            source = source_of(session.host, session.session_id)
            sessions += 1
            prompts += unread(source, session)
            bad += session.transcript.bad_lines
            report += report_of(() if options.dry_run else capture(source, session))
    except (OSError, HostError, InvalidPayload) as failure:
        error = str(failure)
        report += CaptureReport(failed=1)
    file_report = FileReport(
        path=str(info.path),
        host=host if sessions or error else "",
        sessions=sessions,
        prompts=prompts,
        bad_lines=bad,
        error=error,
    )
    return report + CaptureReport(files=(file_report,))


def _is_older_than(session: FileSession, info: TranscriptInfo, since_ms: int) -> bool:
    if not since_ms:
        return False
    newest = max((turn.at_ms for turn in session.transcript.turns), default=0)
    return (newest or info.modified_ms) < since_ms
