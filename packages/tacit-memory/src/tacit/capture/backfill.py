"""Learning from past transcripts. In: files. Out: a report. One way for `init` and `import`.

Every session is a transaction of its own with its checkpoint, so that an interruption loses at most one and a second run
adds nothing. A file that cannot be read is named in the report; the others are read all the same.

Counting what capture did. In: changes. Out: a report. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from tacit.capture.transcript import TranscriptSource
from tacit.errors import HostError, InvalidPayload
from tacit.hosts.opencode.transcript import read_served, served_sessions
from tacit.hosts.transcripts.rows import TranscriptInfo
from tacit.hosts.transcripts.sessions import FileSession, detect_format, read_sessions
from tacit.model.changes import Add, Change, Contradict, Merge, Retire, Rewrite, Skip, Supersede
from tacit.ports.writer import is_headless_folder
from tacit.state.captured import Position


@dataclass(frozen=True, slots=True, kw_only=True)
class FileReport:
    """Says what was learned from one transcript file.

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


@dataclass(frozen=True, slots=True, kw_only=True)
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
    """Return the counts of `changes` by kind as a report. An edit of a session's own note counts as merged."""
    counts = dict.fromkeys(("added", "merged", "superseded", "contradicted", "retired", "skipped"), 0)
    for change in changes:
        match change:
            case Add():
                counts["added"] += 1
            case Merge() | Rewrite():
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


Capture = Callable[[TranscriptSource, FileSession], Sequence[Change]]


@dataclass(frozen=True, slots=True, kw_only=True)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class TranscriptBackfill:
    """Learns from past transcript files, one session per transaction.

    Attributes:
        since: returns the position up to which a session of a file was read before.
        unread: returns how many prompts of a session were not captured before.
        capture: learns from one session and stores it.
    """

    since: Callable[[TranscriptSource], Position]
    unread: Callable[[TranscriptSource, FileSession], int]
    capture: Capture

    def run(
        self,
        infos: Sequence[TranscriptInfo],
        *,
        options: BackfillOptions,
        progress: Callable[[int, int], None] | None = None,
    ) -> CaptureReport:
        """Learn from the transcripts in `infos` and return the sum of their reports; calls `progress` with (files done, files in all).

        Raises:
            StoreError: as the store; sessions stored before it stay stored.
        """
        report = CaptureReport()
        for number, info in enumerate(infos, start=1):
            report += self._file(info, options)
            if progress:
                progress(number, len(infos))
        return report

    def _file(self, info: TranscriptInfo, options: BackfillOptions) -> CaptureReport:
        report = CaptureReport()
        sessions = prompts = bad = 0
        host, error = info.host, ""

        def source_of(host: str, session_id: str) -> TranscriptSource:
            return TranscriptSource(host=host, session_id=session_id, path=info.place, cwd=info.cwd)

        def since(host: str, session_id: str) -> Position:
            return self.since(source_of(host, session_id))

        try:
            detected = detect_format(info.path) if not info.server else None
            host = info.host or (detected.host if detected else "")
            read = (
                _served(info)
                if info.server
                else read_sessions(
                    info.path,
                    since=since,
                    host=info.host,
                    session_ids=info.session_ids,
                    subagents=options.subagents,
                    detected=detected,
                )
            )
            for session in read:
                if _is_older_than(session, info, options.since_ms) or is_headless_folder(
                    session.transcript.cwd or info.cwd
                ):
                    continue
                source = source_of(session.host, session.session_id)
                sessions += 1
                prompts += self.unread(source, session)
                bad += session.transcript.bad_lines
                changes = () if options.dry_run else self.capture(source, session)
                report += report_of(changes, handovers=1)
        except (OSError, HostError, InvalidPayload) as failure:
            error = str(failure)
            report += CaptureReport(failed=1)
        file_report = FileReport(
            path=info.place,
            host=host if sessions or error else "",
            sessions=sessions,
            prompts=prompts,
            bad_lines=bad,
            error=error,
        )
        return report + CaptureReport(files=(file_report,))


def _served(info: TranscriptInfo) -> Iterator[FileSession]:
    sessions = tuple(
        session for session in served_sessions(info.server) if session.session_id in info.session_ids
    )
    for transcript in read_served(info.server, sessions):
        yield FileSession(host=info.host, session_id=transcript.session_id, transcript=transcript)


def _is_older_than(session: FileSession, info: TranscriptInfo, since_ms: int) -> bool:
    if not since_ms:
        return False
    newest = max((turn.at_ms for turn in session.transcript.turns), default=0)
    return (newest or info.modified_ms) < since_ms
