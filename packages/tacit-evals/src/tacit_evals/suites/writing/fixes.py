"""Whether a stored fix comes back when its error does. In: raw sessions with failing tools. Out: a scorecard. Nothing is fitted.

Every session goes through the capture path into one throw-away store, oldest first. Then every failure of the sessions happens
once more, in a session of its own and with other paths, numbers and times, and the failure surface is asked through the host's hook.
The right answer is a fix of the same error (the same program, class and words) that a session proved; a failure for which none was
proved deserves nothing.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tacit.app.engine import Engine
from tacit.app.wiring import open_engine
from tacit.capture.fixes import find_fixes, open_after, open_before, stopped_from_outside
from tacit.hosts.transcripts import ToolUse, Transcript
from tacit.hosts.transcripts.exports import read_specstory
from tacit.model.pack import Surface
from tacit.model.session import SessionKey
from tacit.model.trace import Trace
from tacit.ports.store import Handover
from tacit.reading.errors import error_signature
from tacit.state.captured import Failure, Pending
from tacit_evals.data.recognise import folders_of
from tacit_evals.report.scorecard import Listing, Part, Scorecard
from tacit_evals.suites.running import Run

_HOST = "claude-code"
_TOOLS = {"bash": "Bash", "edit": "Edit", "write": "Write", "read": "Read"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Again:
    """One failure that happens again: as it was, what was proved to fix it, and what was handed over."""

    session: str
    tool: str
    command: str
    error: str
    signature: str
    proved: bool
    given: tuple[str, ...] = ()
    right: bool = False
    wrong: bool = False


def run_fixes(run: Run) -> Scorecard:
    """Measure every folder of raw sessions below the run's folder."""
    files = [file for folder in folders_of("fixes", run.data) for file in sorted(folder.glob("*.md"))]
    read = [(file, read_specstory(file)) for file in files]
    sessions = [(file, transcript) for file, transcript in read if any(_failing(transcript))]
    run.say(f"{len(sessions)} of {len(files)} sessions hold a failing tool")
    with tempfile.TemporaryDirectory(prefix="tacit-fixes-") as place:
        project = Path(place) / "project"
        project.mkdir()
        engine = open_engine(Path(place) / "home", embedder=run.embedder)
        try:
            for file, _ in sorted(sessions, key=lambda pair: pair[0].name):
                _capture(engine, file, project)
            proved = _proved(sessions)
            replayed = [
                _ask(engine, failure, project, number)
                for number, failure in enumerate(_happened(sessions, proved))
            ]
        finally:
            engine.close()
    return _card(replayed, run)


def _failing(transcript: Transcript) -> Iterator[ToolUse]:
    for turn in transcript.turns:
        for use in turn.tools:
            if use.failed and use.error.strip() and not stopped_from_outside(use.error):
                yield use


def _capture(engine: Engine, file: Path, project: Path) -> None:
    key = SessionKey(host="specstory", session_id=file.stem)
    payload = {
        "host": key.host,
        "session_id": key.session_id,
        "transcript_path": str(file),
        "cwd": str(project),
    }
    engine.store.hand_over(Handover(key=f"{key}:end", session=key, payload=json.dumps(payload), at_ms=1))
    engine.learning.capture_pending()


def _proved(sessions: list[tuple[Path, Transcript]]) -> set[str]:
    """Signatures of the errors that a session proved a fix for, found as capture finds them: in order, over sessions."""
    pending: tuple[Pending, ...] = ()
    signatures: set[str] = set()
    for file, transcript in sorted(sessions, key=lambda pair: pair[0].name):
        before: tuple[Failure, ...] = open_before(pending, (), file.stem)
        fixes, unfixed = find_fixes(transcript.turns, before)
        pending, _ = open_after(pending, unfixed, file.stem)
        signatures.update(fix.failure.signature for fix in fixes)
    return signatures


def _happened(sessions: list[tuple[Path, Transcript]], proved: set[str]) -> Iterator[Again]:
    for file, transcript in sessions:
        for use in _failing(transcript):
            if use.tool not in _TOOLS:
                continue
            signature = error_signature(use.error, command=use.command or use.tool)
            yield Again(
                session=file.stem,
                tool=use.tool,
                command=use.command,
                error=use.error,
                signature=signature,
                proved=signature in proved,
            )


def changed(text: str, number: int) -> str:
    """`text` as another run would say it: other line numbers, times, folders; the words stay."""
    text = re.sub(r"(?<=:)\d+(?=:\d|:\s)", lambda match: str(int(match[0]) % 900 + 7 + number % 5), text)
    text = re.sub(r"\b\d{1,2}:\d\d:\d\d\b", "04:05:06", text)
    text = re.sub(r"\b\d{4}/\d\d/\d\d\b", "2026/11/21", text)
    text = re.sub(r"/home/\w+/(?:[Ss]ource/)?", f"/srv/build{number % 3}/", text)
    return re.sub(r"\b\d+\.\d+s\b", "1.25s", text)


def _ask(engine: Engine, failure: Again, project: Path, number: int) -> Again:
    session = f"again-{number}"

    def send(event: str, **fields: object) -> None:
        payload = {"session_id": session, "cwd": str(project), "hook_event_name": event, **fields}
        engine.hook(_HOST, payload, deadline_ms=5000)

    arguments = (
        {"command": failure.command} if failure.tool == "bash" else {"file_path": str(project / "other.go")}
    )
    call = {"tool_name": _TOOLS[failure.tool], "tool_use_id": f"t{number}", "tool_input": arguments}
    send("SessionStart", source="startup")
    send("UserPromptSubmit", prompt="go on with the plan")
    send("PostToolUseFailure", **call, error=changed(failure.error, number))
    engine.flush()
    traces = engine.why(session=f"{_HOST}/{session}", surface=Surface.FAILURE, limit=1)
    return _judged(engine, failure, traces[0] if traces else None)


def _judged(engine: Engine, failure: Again, trace: Trace | None) -> Again:
    handed = [engine.show(name) for name in (trace.injected if trace else ())]
    fixes = [memory for memory in handed if memory.kind == "error_pattern"]
    right = [memory for memory in fixes if memory.error_signature == failure.signature]
    wrong = [memory for memory in fixes if not same_error(memory.error_signature, failure.signature)]
    return Again(
        session=failure.session,
        tool=failure.tool,
        command=failure.command,
        error=failure.error,
        signature=failure.signature,
        proved=failure.proved,
        given=tuple(memory.content for memory in fixes),
        right=bool(right),
        wrong=bool(wrong),
    )


def same_error(left: str, right: str) -> bool:
    """Whether two signatures name one error: the same program and, of what else they say, at least half of the shorter one."""
    left_parts, right_parts = left.split(" | "), right.split(" | ")
    if len(left_parts) < 2 or len(right_parts) < 2 or left_parts[0] != right_parts[0]:
        return left == right
    ours, theirs = (
        {w for part in left_parts[1:] for w in part.split()},
        {w for part in right_parts[1:] for w in part.split()},
    )
    return 2 * len(ours & theirs) >= min(len(ours), len(theirs))


def _card(failures: list[Again], run: Run) -> Scorecard:
    proved = [failure for failure in failures if failure.proved]
    unproved = [failure for failure in failures if not failure.proved]
    kinds = Counter(failure.signature.split(" | ")[0] for failure in proved)
    return Scorecard(
        suite="fixes",
        dataset=str(run.data),
        settings={"embedder": str(run.embedder.identity)},
        total=Part(
            name="all",
            metrics={
                "offered": sum(failure.right for failure in proved) / len(proved) if proved else None,
                "wrong": sum(failure.wrong for failure in failures) / len(failures) if failures else None,
                "replayed": float(len(failures)),
                "with_fix": float(len(proved)),
                "errors_with_fix": float(len({failure.signature for failure in proved})),
                "wrong_where_none": sum(bool(failure.given) for failure in unproved) / len(unproved)
                if unproved
                else None,
            },
            curves={"programs": dict(kinds)},
        ),
        columns=("offered", "wrong", "replayed", "with_fix", "errors_with_fix", "wrong_where_none"),
        listings=(
            _listing("fixes not offered", [failure for failure in proved if not failure.right]),
            _listing("wrong fixes offered", [failure for failure in failures if failure.wrong]),
            _listing(
                "something offered where nothing was proved",
                [failure for failure in unproved if failure.given],
            ),
        ),
    )


def _listing(title: str, failures: list[Again]) -> Listing:
    return Listing(
        title=title,
        counts=Counter(failure.signature[:60] for failure in failures),
        columns=("session", "failed", "error", "given"),
        rows=[
            (failure.session, failure.command or failure.tool, failure.error[:200], "\n".join(failure.given))
            for failure in failures
        ],
    )
