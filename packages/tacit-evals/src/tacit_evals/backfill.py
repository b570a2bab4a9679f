"""What `tacit import transcripts` makes of a folder: how fast, what it learns, and that a second run adds nothing.

Run: `python -m tacit_evals.backfill --data DIR [--embedder fake] [--samples 30] [--json FILE]`. DIR is searched as the command
searches it. Reading is timed alone, with extraction (all but redaction, embedding and storing) and with both, in processor time, on the
hosts' own JSON lines, on all JSON lines and on all files. The hosts' own are timed as the first a process reads (patterns
are still compiled) and again once it has read everything else, as most of a long import is: the median of `--repeat`
readings (at least 1). Then everything is imported twice into a throw-away home, and the time told beside what embedding took of it. Ends
with 1 when a file could not be read or the second run changed anything.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from tacit.app.engine import Engine
from tacit.app.wiring import open_engine
from tacit.capture.backfill import CaptureReport
from tacit.capture.session import SessionContext, extract_learnings
from tacit.config.settings import EmbedderSettings, PrivacySettings
from tacit.errors import TacitError
from tacit.hosts.registry import readable_hosts
from tacit.hosts.transcripts.rows import TranscriptInfo
from tacit.hosts.transcripts.sessions import Session, named_transcripts, read_sessions
from tacit.model.memory import Memory
from tacit.model.scope import project_scope
from tacit.model.session import SessionKey
from tacit.ports.models import Embedder, EmbedderIdentity, Vectors
from tacit.ports.store import MemoryFilter
from tacit.providers.embedding import make_embedder
from tacit.safety.redact import Redactor
from tacit.state.captured import Checkpoint, Position

SEED = 7
NOTES = ("digest", "todo")
_PLACE = SessionContext(session=SessionKey(host="plain", session_id="timed"), scope=project_scope("timed"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Speed:
    """Megabytes of transcripts a second of processor time: read, with everything extracted, and with its secrets taken out, too."""

    megabytes: float
    read_mb_s: float
    extracted_mb_s: float
    redacted_mb_s: float


def read_all(infos: Sequence[TranscriptInfo]) -> list[Session]:
    """Every session of every file that can be read."""
    sessions: list[Session] = []
    for info in infos:
        try:
            sessions += read_sessions(info.path, since=lambda host, name: Position())  # noqa: ARG005
        except TacitError:
            continue
    return sessions


def time_reading(infos: Sequence[TranscriptInfo], *, repeat: int = 1) -> Speed | None:
    """How fast `infos` are read, the median of `repeat` readings (of an even number the slower one); None where there are none."""
    whole = sum(info.size_bytes for info in infos) / 1e6
    if not whole:
        return None
    _extract(read_all(infos[:1]))  # what a process loads once is loaded before the clock starts
    taken = [_time_once(infos) for _ in range(repeat)]
    read, extracted, redacted = (
        round(whole / sorted(times)[repeat // 2], 1) for times in zip(*taken, strict=True)
    )
    return Speed(megabytes=round(whole, 1), read_mb_s=read, extracted_mb_s=extracted, redacted_mb_s=redacted)


def _time_once(infos: Sequence[TranscriptInfo]) -> tuple[float, float, float]:
    """Seconds of processor time until `infos` are read, until everything is extracted, and that with secrets taken out.

    What taking secrets out adds is the difference of two further extractions, with it and without, so that what only a first
    extraction costs stands in both sums.
    """
    began = time.process_time()
    sessions = read_all(infos)
    read = time.process_time() - began
    _extract(sessions)
    extracted = time.process_time() - began
    began = time.process_time()
    _extract(sessions)
    again = time.process_time() - began
    redactor = Redactor(PrivacySettings())
    began = time.process_time()
    _extract(sessions, lambda text: redactor.redact(text).text)
    return read, extracted, extracted + max(0.0, time.process_time() - began - again)


def _extract(sessions: Sequence[Session], redact: Callable[[str], str] = str) -> None:
    """Everything but embedding and storing."""
    for session in sessions:
        extract_learnings(
            session.transcript.turns, Checkpoint(), place=_PLACE, captured_hashes=frozenset(), redact=redact
        )


def memories_of(engine: Engine) -> list[Memory]:
    """Everything stored, in the order of ids."""
    memories: list[Memory] = []
    while True:
        page = engine.list_memories(MemoryFilter(statuses=None), limit=500, offset=len(memories))
        memories += page
        if not page:
            return sorted(memories, key=lambda memory: memory.id)


class TimedEmbedder:
    """Embeds as another one does, and counts the seconds, the texts and the calls. Not safe for several threads."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self.seconds = 0.0
        self.texts = self.calls = 0

    @property
    def identity(self) -> EmbedderIdentity:
        """Of the one that embeds."""
        return self._embedder.identity

    @property
    def inner(self) -> Embedder:
        """The one that embeds, which may know tokens too."""
        return self._embedder

    def embed(self, texts: Sequence[str]) -> Vectors:
        """As the other one; raises as it does."""
        began = time.perf_counter()
        try:
            return self._embedder.embed(texts)
        finally:
            self.seconds += time.perf_counter() - began
            self.texts += len(texts)
            self.calls += 1


def _import(engine: Engine, infos: Sequence[TranscriptInfo], say: Callable[[str], None]) -> CaptureReport:
    began = time.perf_counter()

    def progress(done: int, whole: int) -> None:
        if done % 50 == 0 or done == whole:
            say(f"  {done}/{whole} files, {time.perf_counter() - began:.0f} s")

    return engine.capture.backfill(infos, progress=progress)


def _counts(report: CaptureReport) -> dict[str, object]:
    counts = {name: value for name, value in asdict(report).items() if name != "files"}
    files = [file for file in report.files if file.sessions]
    by_host = Counter(file.host for file in files)
    return {
        **counts,
        "files": len(report.files),
        "files_with_sessions": dict(sorted(by_host.items())),
        "prompts": sum(file.prompts for file in files),
        "bad_lines": sum(file.bad_lines for file in files),
        "errors": [file.error for file in report.files if file.error],
    }


def _at_least_one(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number} is less than 1")
    return number


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="tacit_evals.backfill", description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--embedder", default="minilm")
    parser.add_argument("--samples", type=int, default=30)
    parser.add_argument("--repeat", type=_at_least_one, default=7)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    # Each folder counts as a project, so that what several of its sessions say is one memory.
    folders = sorted({path for path in options.data.iterdir() if path.is_dir()}) or [options.data]
    infos = [info for folder in folders for info in named_transcripts([folder], cwd=str(folder))]
    lines = [info for info in infos if info.path.suffix == ".jsonl"]
    hosts = [
        info
        for info in lines
        if info.host in {*(host.name for host in readable_hosts()), "specstory", "aider"}
    ]
    speeds = {"hosts": time_reading(hosts), "jsonl": time_reading(lines), "all": time_reading(infos)}
    speeds["hosts_again"] = time_reading(hosts, repeat=options.repeat)
    for name, speed in speeds.items():
        _say(f"{name}: {asdict(speed) if speed else 'nothing there'}")
    with tempfile.TemporaryDirectory(prefix="tacit-backfill-") as home:
        embedder = TimedEmbedder(make_embedder(EmbedderSettings(provider=options.embedder)))
        engine = open_engine(Path(home), embedder=embedder)
        try:
            began = time.perf_counter()
            first = _counts(_import(engine, infos, _say))
            seconds = {"whole": time.perf_counter() - began, "embedding": embedder.seconds}
            embedded = {"texts": embedder.texts, "calls": embedder.calls}
            _say(
                f"imported in {seconds['whole']:.1f} s, {seconds['embedding']:.1f} s of them embedding {embedded}"
            )
            before = memories_of(engine)
            second = _counts(_import(engine, infos, _say))
            changed = memories_of(engine) != before
        finally:
            engine.close()
    kinds = Counter(memory.kind for memory in before if memory.status == "active")
    result: dict[str, object] = {
        "speed": {name: asdict(speed) for name, speed in speeds.items() if speed},
        "seconds": {name: round(value, 1) for name, value in seconds.items()},
        "embedded": embedded,
        "first": first,
        "second": second,
        "second_run_changed_something": changed,
        "memories": dict(sorted(kinds.items())),
    }
    _say(json.dumps(result, indent=2))
    learned = [memory for memory in before if memory.kind not in NOTES and memory.status == "active"]
    shown = random.Random(SEED).sample(learned, min(options.samples, len(learned)))
    for memory in shown:
        _say(f"\n[{memory.kind}] {memory.content}\n    said: {memory.provenance.span[:200]!r}")
    if options.json:
        result["samples"] = [{"kind": m.kind, "content": m.content, "span": m.provenance.span} for m in shown]
        options.json.write_text(json.dumps(result, indent=2) + "\n", "utf-8")
    return int(changed or bool(first["errors"]) or bool(second["errors"]))


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
