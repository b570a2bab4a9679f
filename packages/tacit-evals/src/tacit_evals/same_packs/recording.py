"""Recordings: made by the code of a checkout, written, read.

In: a plan, a checkout or a commit. Out: a recording, as JSON holds it. Never writes one into the project.
"""

from __future__ import annotations

import difflib
import gzip
import hashlib
import itertools
import json
import os
import random
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

from tacit.model.scope import project_scope
from tacit.model.trigger import Trigger
from tacit_evals.data import read_rows
from tacit_evals.plain_install import SOURCE, code_of
from tacit_evals.workload import PROMPTS, Generator

GENERATED = "generated"
"""Name of the project whose statements and prompts are made up."""
STATEMENTS = 400
PROMPTS_PER_SESSION = 6
"""Of longer real sessions only the beginning is sent, so that a plan meets many sessions."""
FAILURE = "ModuleNotFoundError: No module named 'settings' while reading {file}"
FIRST_FILES = ("src/app.py", "src/auth/session.py", "tests/test_orders.py", "docs/guide.md")

Sort = Literal["hook", "question"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedStatement:
    """One statement to store. `project` "" = it holds in every project; `when` None = its trigger is read from its words."""

    name: str
    content: str
    kind: str
    project: str
    when: str | None = None
    files: tuple[str, ...] = ()
    pinned: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedSignal:
    """One signal.

    Attributes:
        label: what a reader calls it: number, project and event.
        project: in whose folder it happens.
        sort: a hook of the host, or a question on demand.
        payload: of a hook, without the folder; of a question `text`.
        asks: whether a block may come back; such signals are counted.
    """

    label: str
    project: str
    sort: Sort
    payload: dict[str, object]
    asks: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Statements in the order of storing, signals in the order of sending."""

    statements: tuple[PlannedStatement, ...]
    signals: tuple[PlannedSignal, ...]

    @property
    def recalls(self) -> int:
        """How many signals ask for something."""
        return sum(signal.asks for signal in self.signals)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Turn:
    text: str
    previous: str = ""
    files: tuple[str, ...] = ()


def make_plan(*, recalls: int, statements: int = STATEMENTS, data: Path | None = None, seed: int = 1) -> Plan:
    """A plan with exactly `recalls` recalls; with `data` also the statements and prompts of `<project>/` below it.

    Raises:
        InvalidInput: for data that cannot be read, naming file and line.
        SystemExit: if `data` holds no pool.
    """
    pools = sorted(path.parent for path in data.glob("*/memories.jsonl")) if data else []
    if data and not pools:
        raise SystemExit(f"No pool in {data}: it holds no <project>/memories.jsonl.")
    stored = [
        *_generated_statements(statements, seed=seed),
        *itertools.chain.from_iterable(map(_real, pools)),
    ]
    sources = [_generated_sessions(seed), *(_real_sessions(pool) for pool in pools)]
    signals: list[PlannedSignal] = []
    planned = 0
    for project, name, turns in _in_rotation(sources):
        for signal in _session(project, name, turns, first=len(signals)):
            signals.append(signal)
            planned += signal.asks
            if planned == recalls:
                return Plan(statements=tuple(stored), signals=tuple(signals))
    raise AssertionError("Generated sessions never end.")


def _generated_statements(count: int, *, seed: int) -> Iterator[PlannedStatement]:
    maker = Generator(seed=seed)
    for number in range(count):
        memory = maker.memory(number, project_scope(GENERATED))
        yield PlannedStatement(
            name=f"{GENERATED}/{number}",
            content=memory.content,
            kind=memory.kind,
            when=_words(memory.trigger),
            project="" if number % 20 == 7 else GENERATED,
            files=memory.files,
            pinned=number % 40 == 3,
        )


def _words(trigger: Trigger) -> str | None:
    """A trigger in the words of `when`; None where there are none for it."""
    if trigger.always:
        return "always"
    actions = [f"{name}={weight}" if weight < 1 else name for name, weight in trigger.actions]
    about = [f"about:{word}" for word in trigger.objects]
    return ", ".join([*actions, *about, f"breadth:{trigger.breadth:g}"]) if actions else None


def _real(pool: Path) -> Iterator[PlannedStatement]:
    for row in read_rows(pool / "memories.jsonl"):
        yield PlannedStatement(
            name=f"{pool.name}/{row.text('id')}",
            content=row.text("content"),
            kind=row.text("kind"),
            project=pool.name,
            files=row.texts("files"),
        )


def _generated_sessions(seed: int) -> Iterator[tuple[str, str, list[_Turn]]]:
    chance = random.Random(seed)
    for number in itertools.count():
        texts = chance.sample(PROMPTS, PROMPTS_PER_SESSION)
        files = [chance.choice(FIRST_FILES) for _ in texts]
        turns = [
            _Turn(text=text, files=(file,) if chance.random() < 0.6 else ())
            for text, file in zip(texts, files, strict=True)
        ]
        yield GENERATED, f"{GENERATED}-{number}", turns


def _real_sessions(pool: Path) -> Iterator[tuple[str, str, list[_Turn]]]:
    by_session: dict[str, list[_Turn]] = {}
    for row in read_rows(pool / "prompts.jsonl"):
        files = tuple(file for file in row.texts("recent_files") if not file.startswith(("/", "~")))
        turn = _Turn(text=row.text("text"), previous=row.maybe("previous_assistant"), files=files[:1])
        by_session.setdefault(row.text("session"), []).append(turn)
    for name, turns in by_session.items():
        yield pool.name, name, turns[:PROMPTS_PER_SESSION]


def _in_rotation(
    sources: Sequence[Iterator[tuple[str, str, list[_Turn]]]],
) -> Iterator[tuple[str, str, list[_Turn]]]:
    """One session of each source after the other, so that a short plan meets all of them."""
    remaining = list(sources)
    while remaining:
        for source in list(remaining):
            session = next(source, None)
            if session is None:
                remaining.remove(source)
            else:
                yield session


def _session(project: str, name: str, turns: Sequence[_Turn], *, first: int) -> Iterator[PlannedSignal]:
    """The signals of one session: its start, its turns, now and then a resume, a compaction, a subagent, a question."""
    numbers = itertools.count(first)

    def hook(event: str, *, asks: bool = True, **fields: object) -> PlannedSignal:
        number = next(numbers)
        payload = {"hook_event_name": event, "session_id": name, "prompt_id": f"p{number}", **fields}
        return PlannedSignal(
            label=f"{number} {project} {event}", project=project, sort="hook", payload=payload, asks=asks
        )

    yield hook("SessionStart", source="startup")
    for place, turn in enumerate(turns):
        if turn.previous:
            yield hook("Stop", asks=False, last_assistant_message=turn.previous)
        if place == 2:
            yield hook("SessionStart", source="resume")
        if place == 3:
            yield hook("PreCompact", asks=False, trigger="auto")
            yield hook("SessionStart", source="compact")
        yield hook("UserPromptSubmit", prompt=turn.text)
        for file in turn.files:
            change: dict[str, object] = {"file_path": file, "old_string": "a", "new_string": turn.text[:80]}
            call: dict[str, Any] = {
                "tool_name": "Edit",
                "tool_input": change,
                "tool_use_id": f"e{place}{file}",
            }
            yield hook("PreToolUse", **call)
            yield hook("PostToolUse", **call, tool_response={"success": True})
        if place % 2 == 1:
            command = "git commit -am 'wip'" if place % 4 == 1 else "python -m pytest -q"
            ran: dict[str, Any] = {
                "tool_name": "Bash",
                "tool_input": {"command": command},
                "tool_use_id": f"b{place}",
            }
            error = FAILURE.format(file=turn.files[0] if turn.files else "the settings")
            yield hook("PreToolUse", **ran)
            yield hook("PostToolUseFailure", **ran, error=error)
        if place == 1:
            yield hook("SubagentStart", agent_id=f"a{first}", agent_type="reviewer")
            number = next(numbers)
            yield PlannedSignal(
                label=f"{number} {project} question",
                project=project,
                sort="question",
                payload={"text": turn.text},
            )
    yield hook("SessionEnd", asks=False, reason="exit")


FORMAT = 1
RECORDER = Path(__file__).with_name("recorder.py")

Recording = dict[str, Any]


def record(plan: Mapping[str, Any], *, source: Path, commit: str) -> Recording:
    """Carry out `plan` with the code of the checkout `source`, in a process of its own.

    Raises:
        SystemExit: if that code cannot do it, with what it printed.
    """
    with tempfile.TemporaryDirectory(prefix="same-packs-") as name:
        work = Path(name).resolve()
        plan_file, out = work / "plan.json", work / "out.json"
        plan_file.write_text(json.dumps(plan), "utf-8")
        (work / "user").mkdir()
        folder = work / "work"
        folder.mkdir()
        command = [sys.executable, "-P", str(RECORDER), str(plan_file), str(folder), str(out), str(source)]
        done = subprocess.run(
            command,
            env=_environment(source, work / "user"),
            cwd=work,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise SystemExit(f"The recorder failed with the code of {commit}:\n{done.stderr[-4000:]}")
        output = json.loads(out.read_text("utf-8"))
    hashes = {preset: hash_of(recalls) for preset, recalls in output["presets"].items()}
    return {"format": FORMAT, "commit": commit, "hashes": hashes, "plan": plan, **output}


def _environment(source: Path, user: Path) -> dict[str, str]:
    """The environment without the user's settings and home, with the code of `source` and one thread for arithmetic."""
    env = {name: value for name, value in os.environ.items() if not name.startswith(("TACIT_", "PYTHON"))}
    threads = dict.fromkeys(("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"), "1")
    return {**env, **threads, "HOME": str(user), "PYTHONPATH": str(code_of(source))}


def hash_of(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]


def write_recording(recording: Recording, file: Path) -> None:
    """Write a recording, compressed.

    Raises:
        SystemExit: if `file` is in the project.
    """
    if file.resolve().is_relative_to(SOURCE.resolve()):
        raise SystemExit(
            f"{file} is in the project; a recording may hold private statements. Name a file elsewhere."
        )
    with gzip.GzipFile(file, "wb", mtime=0) as target:
        target.write(json.dumps(recording).encode())


def read_recording(file: Path) -> Recording:
    """Read a recording.

    Raises:
        SystemExit: if `file` is none, or one of another format.
    """
    try:
        with gzip.open(file, "rb") as opened:
            recording = json.loads(opened.read())
    except (OSError, ValueError, EOFError) as error:
        raise SystemExit(f"{file} is no recording: {error}") from None
    if recording.get("format") != FORMAT:
        raise SystemExit(f"{file} has format {recording.get('format')}; this program knows {FORMAT}.")
    return cast(Recording, recording)


@contextmanager
def checkout(commit: str) -> Iterator[tuple[Path, str]]:
    """The files of `commit` in a folder of their own, and its short name.

    Raises:
        SystemExit: if there is no such commit.
    """
    git = ["git", "-C", str(SOURCE)]
    revision = subprocess.run(
        [*git, "rev-parse", "--short", f"{commit}^{{commit}}"], capture_output=True, text=True, check=False
    )
    if revision.returncode:
        raise SystemExit(f"There is no commit {commit!r} here.")
    with tempfile.TemporaryDirectory(prefix="same-packs-") as name:
        archive = subprocess.run([*git, "archive", commit], capture_output=True, check=True)
        subprocess.run(["tar", "-x", "-C", name], input=archive.stdout, check=True)
        yield Path(name), revision.stdout.strip()


def present_commit() -> str:
    """The commit of this checkout, with a plus sign where files differ from it."""
    git = ["git", "-C", str(SOURCE)]
    revision = subprocess.run(
        [*git, "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False
    )
    changed = subprocess.run([*git, "status", "--porcelain"], capture_output=True, text=True, check=False)
    return f"{revision.stdout.strip() or 'unknown'}{'+' if changed.stdout.strip() else ''}"


SHOWN = 3
"""Differences to print per preset; those that a host would see come first."""
LINES = 4
LINE_CHARS = 240


def compare(before: Recording, after: Recording, *, shown: int = SHOWN) -> list[str]:
    """The lines of the report; the first is empty where nothing differs."""
    lines: list[str] = []
    stored = [
        (statement["name"], old, new)
        for statement, old, new in zip(
            before["plan"]["statements"], before["stored"], after["stored"], strict=True
        )
        if old != new
    ]
    summary = f"different: {len(stored)} of {len(before['stored'])} statements" if stored else "identical"
    lines.append(
        f"store: {summary} ({len(before['stored'])} statements)" if not stored else f"store: {summary}"
    )
    lines += [f"  {name} made or changed {old} before, {new} now" for name, old, new in stored[:shown]]
    for preset in before["presets"]:
        lines += _compare_preset(preset, before["presets"][preset], after["presets"].get(preset), shown)
    return lines


def _compare_preset(
    preset: str, before: list[dict[str, Any]], after: list[dict[str, Any]] | None, shown: int
) -> list[str]:
    recalls = sum(signal["asks"] for signal in before)
    if after is None:
        return [f"{preset}: different: there is no such preset now"]
    pairs = [(old, new) for old, new in zip(before, after, strict=True) if old != new]
    if not pairs:
        with_block = sum(bool(_texts(signal)) for signal in before)
        return [
            f"{preset}: identical ({recalls} recalls, {with_block} of them with a block; {hash_of(before)})"
        ]
    counted = Counter(field for old, new in pairs for field in _fields(old, new))
    fields = ", ".join(f"{field} {count}" for field, count in counted.most_common())
    lines = [f"{preset}: different: {len(pairs)} of {len(before)} signals ({fields})"]
    pairs.sort(key=lambda pair: pair[0]["answer"] == pair[1]["answer"])
    for old, new in pairs[:shown]:
        lines.append(f"  {old['label']}: {' '.join(old['asked'].split())[:100]}")
        lines += [f"    {line}" for line in _differences(old, new)]
    if len(pairs) > shown:
        lines.append(f"  and {len(pairs) - shown} more")
    return lines


def _texts(signal: Mapping[str, Any]) -> list[str]:
    return [trace["block"] for trace in signal["traces"] if trace["block"]]


def _fields(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """Which parts of a recall differ."""
    fields = ["answer"] if old["answer"] != new["answer"] else []
    if len(old["traces"]) != len(new["traces"]):
        return [*fields, "number of traces"]
    differing = {
        field: None
        for before, after in zip(old["traces"], new["traces"], strict=True)
        for field in before
        if before[field] != after[field]
    }
    return [*fields, *differing]


def _differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    """What differs in one recall, part by part: the first lines that were, then those that are."""
    before, after = _parts(old), _parts(new)
    for part in sorted({*before, *after}, key=lambda part: (part == "drops", part)):
        diff = difflib.unified_diff(before.get(part, []), after.get(part, []), lineterm="", n=0)
        lines = [line for line in diff if not line.startswith(("---", "+++", "@@"))]
        gone = [line for line in lines if line.startswith("-")]
        come = [line for line in lines if line.startswith("+")]
        for some in (gone, come):
            yield from (f"{line[0]} {part}: {line[1:]}"[:LINE_CHARS] for line in some[:LINES])
            if len(some) > LINES:
                yield f"{some[0][0]} {part}: and {len(some) - LINES} more lines"


def _parts(recall: Mapping[str, Any]) -> dict[str, list[str]]:
    """The lines of each part of a recall; the block is left out, the answer shows it."""
    by_part: dict[str, list[str]] = {"answer": recall["answer"].splitlines()}
    for trace in recall["traces"]:
        for field, value in trace.items():
            if field != "block":
                lines = cast(list[str], value) if isinstance(value, list) else str(value).splitlines()
                by_part.setdefault(field, []).extend(lines)
    return by_part


def differs(before: Recording, after: Recording) -> bool:
    """Whether anything differs."""
    return any(before[key] != after[key] for key in ("stored", "presets"))
