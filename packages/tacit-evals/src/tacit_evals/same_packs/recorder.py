"""Carry out a plan with whatever `tacit` this interpreter imports, and write down what came back.

In: a plan as JSON (`plan.py`), an empty folder. Out: a JSON file: what storing did, and per preset every answer with its traces.

Run as a program: `python -P recorder.py PLAN FOLDER OUT SOURCE`. It runs against older code, too, so it uses only the standard
library and `open_engine`, `remember`, `hook`, `recall`, `why`, `flush` and `close`. Settings go through the home's `config.yaml`, where an unknown one
is a warning. Time is made up, ids follow from it, durations are left out: equal code gives equal files.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

START_MS = 1_790_000_000_000
STATEMENT_MS = 61_000
SIGNAL_MS = 7_000
DAY_MS = 86_400_000
LIMIT_MS = 60_000.0
ID = re.compile(r"\b(mem|trc|chg)_[0-9a-z]{16}\b")


class StillClock:
    """A clock that stands still during a call. Random bytes follow from the time, so an id depends on nothing else."""

    def __init__(self) -> None:
        self._at_ms = START_MS
        self._drawn = 0

    def now_ms(self) -> int:
        return self._at_ms

    def monotonic_ms(self) -> float:
        return float(self._at_ms - START_MS)

    def local_offset_ms(self, at_ms: int) -> int:
        del at_ms
        return 0

    def entropy(self, size: int) -> bytes:
        self._drawn += 1
        seed = f"{self._at_ms}:{self._drawn}".encode()
        return hashlib.shake_128(seed).digest(size)

    def advance(self, ms: int) -> None:
        self._at_ms += ms
        self._drawn = 0


class Names:
    """Texts with the plan's names in place of ids and of the folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = str(folder)
        self._by_id: dict[str, str] = {}

    def give(self, memory_id: str, name: str) -> str:
        return self._by_id.setdefault(memory_id, name)

    def of(self, memory_id: str) -> str:
        return self._by_id.get(memory_id, "other" if memory_id else "")

    def clean(self, text: str) -> str:
        text = ID.sub(lambda match: self._by_id.get(match[0], f"{match[1]}_other"), text)
        for memory_id, name in self._by_id.items():
            if memory_id[-7:] in text:
                text = text.replace(memory_id[-7:], f"<{name}>")
        return text.replace(self._folder, "<folder>")


def words(value: object) -> str:
    """A reason, a note or a cause as text, whether the code keeps it as text or as a value."""
    if value is None:
        return ""
    text = getattr(value, "text", value)
    return str(text() if callable(text) else text)


def in_words(trace: Any) -> Any:
    """The trace with its reasons as text: later code keeps values and puts them into words where a trace is shown."""
    try:
        from tacit.app import reasons
    except ImportError:
        return trace
    return reasons.in_words(trace)


def record_trace(trace: Any, names: Names) -> dict[str, object]:
    """What one trace says, without times and ids."""
    trace = in_words(trace)
    relevance = {candidate.memory_id: round(candidate.relevance, 4) for candidate in trace.candidates}
    drops = [
        f"{stage.stage}: {names.of(drop.memory_id)}: {names.clean(words(drop.reason))}".replace(": : ", ": ")
        for stage in trace.stages
        for drop in stage.drops
    ]
    return {
        "surface": words(trace.surface),
        "silence": names.clean(words(trace.silence)),
        "threshold": round(trace.threshold, 6),
        "budget": trace.budget_tokens,
        "injected": [
            f"{names.of(memory_id)} {relevance.get(memory_id, '')}".strip() for memory_id in trace.injected
        ],
        "block": names.clean(trace.block),
        "stages": [stage.stage for stage in trace.stages],
        "drops": sorted(drops),
    }


def project_folder(folder: Path, name: str) -> Path:
    """A project that is known by its remote, so its identity does not depend on where it lies."""
    root = folder / name
    git = root / ".git"
    if not git.exists():
        git.mkdir(parents=True)
        (git / "HEAD").write_text("ref: refs/heads/main\n", "utf-8")
        remote = f'[remote "origin"]\n\turl = https://example.invalid/{name}.git\n'
        (git / "config").write_text(remote, "utf-8")
    return root


def store(plan: dict[str, Any], folder: Path, home: Path, clock: StillClock, names: Names) -> list[list[str]]:
    """Store the statements; returns for each of them the names of the memories that it made or changed."""
    from tacit import open_engine

    engine: Any = open_engine(home, clock=clock)
    touched: list[list[str]] = []
    try:
        for statement in plan["statements"]:
            clock.advance(STATEMENT_MS)
            project = statement["project"]
            changes: Iterable[Any] = engine.remember(
                statement["content"],
                kind=statement["kind"],
                when=statement["when"],
                files=statement["files"],
                pinned=statement["pinned"],
                cwd=str(project_folder(folder, project)) if project else "",
            )
            memories = [change.memory for change in changes if hasattr(change, "memory")]
            touched.append([names.give(memory.id, statement["name"]) for memory in memories])
        engine.flush()
    finally:
        engine.close()
    return touched


def send(
    plan: dict[str, Any], folder: Path, home: Path, clock: StillClock, names: Names
) -> list[dict[str, object]]:
    """Send the signals; returns what came back for each of them."""
    from tacit import open_engine

    engine: Any = open_engine(home, clock=clock)
    recorded: set[str] = set()
    answers: list[dict[str, object]] = []
    try:
        for signal in plan["signals"]:
            clock.advance(SIGNAL_MS)
            cwd, payload = str(project_folder(folder, signal["project"])), signal["payload"]
            if signal["sort"] == "question":
                recalled = engine.recall(payload["text"], cwd=cwd)
                answer, traces = recalled.block.text, [recalled.trace]
                recorded.add(recalled.trace.id)
            else:
                answer = engine.hook("claude-code", {**payload, "cwd": cwd}, deadline_ms=LIMIT_MS)
                engine.flush()
                traces = [trace for trace in reversed(engine.why(limit=3)) if trace.id not in recorded]
                recorded.update(trace.id for trace in traces)
            answers.append(
                {
                    "label": signal["label"],
                    "asks": signal["asks"],
                    "asked": str(
                        payload.get("prompt") or payload.get("text") or payload.get("tool_input") or ""
                    ),
                    "answer": names.clean(_readable(answer)),
                    "traces": [record_trace(trace, names) for trace in traces],
                }
            )
    finally:
        engine.close()
    return answers


def _readable(answer: str) -> str:
    """The texts of a hook's answer by themselves, so that a difference can be read line by line."""
    try:
        fields = json.loads(answer)
    except ValueError:
        return answer
    specific = dict(fields.pop("hookSpecificOutput", {}))
    context = specific.pop("additionalContext", "")
    rest = json.dumps({**fields, **specific}, sort_keys=True)
    return f"{context}\n{rest}"


def main(plan_file: Path, folder: Path, out: Path, source: Path) -> None:
    import tacit

    imported = Path(tacit.__file__).resolve()
    if not imported.is_relative_to(source.resolve()):
        raise SystemExit(f"tacit was imported from {imported}, not from {source}.")
    plan = json.loads(plan_file.read_text("utf-8"))
    names, clock = Names(folder), StillClock()
    touched = store(plan, folder, folder / "home", clock, names)
    presets: dict[str, list[dict[str, object]]] = {}
    for preset in plan["presets"]:
        home = folder / f"home-{preset}"
        shutil.copytree(folder / "home", home, ignore=shutil.ignore_patterns("run"))
        (home / "config.yaml").write_text(f"preset: {preset}\n", "utf-8")
        later = StillClock()
        later.advance(len(touched) * STATEMENT_MS + DAY_MS)
        presets[preset] = send(plan, folder, home, later, names)
        shutil.rmtree(home)
    out.write_text(json.dumps({"stored": touched, "presets": presets}), "utf-8")


if __name__ == "__main__":
    main(*(Path(argument) for argument in sys.argv[1:5]))
