"""What the memory hands over on real prompts: coverage, precision and wrongful injections, beside BM25 and dense.

Run: `python -m tacit_evals.inject --data DIR`, where DIR holds `inject/<project>/{memories,prompts}.jsonl, qrels.tsv`
(and `situation/<project>/triggers.jsonl` for `--triggers given`). Nothing is fitted here.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tacit.backends.fake import FakeStore
from tacit.config.settings import Budgets, EmbedderSettings, RecallSettings, Thresholds
from tacit.model.changes import Add
from tacit.model.kinds import KindRegistry
from tacit.model.memory import Memory, Provenance, TrustTier, Validity
from tacit.model.pack import Surface
from tacit.model.scope import ScopeFilter, project_scope
from tacit.model.session import SessionKey, SessionState
from tacit.model.signal import PromptSubmitted
from tacit.model.trace import Trace
from tacit.model.trigger import Trigger
from tacit.ports.models import Embedder
from tacit.providers.clock import FakeClock
from tacit.providers.embedding import make_embedder
from tacit.providers.tokens import EstimateCounter
from tacit.reading.entities import find_entities
from tacit.reading.trigger import make_trigger
from tacit.recall.pipeline import Context, RecallPipeline
from tacit.recall.query import build_query

NOW_MS = 1_790_000_000_000
BOOTSTRAPS = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """One real prompt with what it needed: memory id -> grade (2, 1), and the marginal ones, left out of every count."""

    id: str
    text: str
    previous: str
    files: tuple[str, ...]
    needed: dict[str, int] = field(default_factory=dict[str, int])
    marginal: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """One project's pool of memories and its prompts."""

    name: str
    memories: tuple[Memory, ...]
    prompts: tuple[Prompt, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """What one prompt was given by one method."""

    prompt: Prompt
    start: frozenset[str]
    prompt_pack: tuple[str, ...]
    trace: Trace | None = None


def read_lines(path: Path) -> list[dict[str, object]]:
    """Objects of a JSON Lines file."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]


def load_project(folder: Path, triggers: Path | None) -> Project:
    """Read one project; memories superseded by others are left out, as the data's protocol says."""
    rows = read_lines(folder / "memories.jsonl")
    gone = {row["supersedes"] for row in rows if row.get("supersedes")}
    given = {row["id"]: row for row in read_lines(triggers)} if triggers is not None else {}
    scope = project_scope(folder.name)
    memories: list[Memory] = []
    for row in rows:
        if row["id"] in gone:
            continue
        at_ms = int(datetime.fromisoformat(str(row["created"])).replace(tzinfo=UTC).timestamp() * 1000)
        kind, content, files = str(row["kind"]), str(row["content"]), tuple(row.get("files") or ())
        trigger = (
            _given_trigger(given[row["id"]])
            if row["id"] in given
            else make_trigger(content, kind=kind, files=files)
        )
        memories.append(
            Memory(
                id=str(row["id"]),
                kind=kind,
                content=content,
                scope=scope,
                provenance=Provenance(tier=TrustTier.USER, source=str(row["source"])),
                validity=Validity(valid_from_ms=at_ms),
                created_at_ms=at_ms,
                updated_at_ms=at_ms,
                importance=KindRegistry().get(kind).importance,
                trigger=trigger,
                entities=find_entities(" ".join((content, *files))),
                files=files,
            )
        )
    grades: dict[str, dict[str, str]] = {}
    for line in (folder / "qrels.tsv").read_text("utf-8").splitlines():
        prompt, memory, grade = line.split("\t")
        if memory != "-":
            grades.setdefault(prompt, {})[memory] = grade
    prompts = tuple(
        Prompt(
            id=str(row["id"]),
            text=str(row["text"]),
            previous=str(row["previous_assistant"]),
            files=tuple(row["recent_files"]),
            needed={m: int(g) for m, g in grades.get(str(row["id"]), {}).items() if g in ("1", "2")},
            marginal=frozenset(m for m, g in grades.get(str(row["id"]), {}).items() if g == "m"),
        )
        for row in read_lines(folder / "prompts.jsonl")
    )
    return Project(name=folder.name, memories=tuple(memories), prompts=prompts)


def _given_trigger(row: dict[str, object]) -> Trigger:
    actions = sorted(dict(row["actions"]).items(), key=lambda item: (-item[1], item[0]))
    return Trigger(
        actions=tuple((name, weight / 3) for name, weight in actions if name != "none"),
        objects=tuple(row["objects"]),
        breadth=float(row["breadth"]),
        maker="agent",
    )


class Runner:
    """Runs the shipped pipeline over one project's pool."""

    def __init__(self, project: Project, *, embedder: Embedder, settings: RecallSettings) -> None:
        self.project = project
        self.settings = settings
        self.embedder = embedder
        self.store = FakeStore(clock=FakeClock(now_ms=NOW_MS))
        changes = [Add(memory=memory) for memory in project.memories]
        vectors = embedder.embed([memory.content for memory in project.memories])
        self.store.apply(changes, vectors=vectors, identity=embedder.identity)
        self.scope = ScopeFilter.of(project_scope(project.name))
        self.pipeline = RecallPipeline(
            store=self.store,
            embedder=embedder,
            tokens=EstimateCounter(),
            kinds=KindRegistry(),
            executor=ThreadPoolExecutor(1),
        )

    def start(self) -> frozenset[str]:
        """Ids in the start pack: one for all prompts, because nothing later than the session's start may order it."""
        signal = PromptSubmitted(
            session=SessionKey(host="plain", session_id="s"), key="k", at_ms=NOW_MS, text=""
        )
        query = build_query(
            signal, surface=Surface.START, state=SessionState(key=signal.session), scope=self.scope,
            budgets=self.settings.budgets, at_ms=NOW_MS,
        ).kept  # fmt: skip
        _, trace = self.pipeline.run(query, settings=self.settings, context=Context(), trace_id="t")
        return frozenset(trace.injected)

    def prompt(self, prompt: Prompt, start: frozenset[str]) -> Given:
        """What the prompt surface adds to a context that holds the start pack."""
        key = SessionKey(host="plain", session_id="s")
        state = SessionState(
            key=key,
            turn=2,
            last_message_end=prompt.previous,
            recent_files=prompt.files,
            recent_prompts=(prompt.text,),
        )
        signal = PromptSubmitted(session=key, key="k", at_ms=NOW_MS, text=prompt.text)
        query = build_query(
            signal,
            surface=Surface.PROMPT,
            state=state,
            scope=self.scope,
            budgets=self.settings.budgets,
            at_ms=NOW_MS,
        ).kept
        context = Context(in_context=lambda memory: "in the start pack" if memory.id in start else "")
        _, trace = self.pipeline.run(query, settings=self.settings, context=context, trace_id="t")
        return Given(prompt=prompt, start=start, prompt_pack=trace.injected, trace=trace)


def measure(given: Sequence[Given]) -> dict[str, float]:
    """Coverage, precision, wrongful rate and injections per prompt of one project."""
    needed = [(m, g, item) for item in given for m, g in item.prompt.needed.items()]
    grade2 = [entry for entry in needed if entry[1] == 2]
    silent = [item for item in given if not item.prompt.needed]
    handed = [(m, item) for item in given for m in item.prompt_pack if m not in item.prompt.marginal]

    def covered(rows: Iterable[tuple[str, int, Given]], *, start_only: bool) -> float:
        rows = list(rows)
        hits = sum(1 for m, _, item in rows if m in item.start or (not start_only and m in item.prompt_pack))
        return hits / len(rows) if rows else 0.0

    return {
        "start_coverage_all": covered(needed, start_only=True),
        "start_coverage_grade2": covered(grade2, start_only=True),
        "coverage_all": covered(needed, start_only=False),
        "coverage_grade2": covered(grade2, start_only=False),
        "prompt_precision": sum(m in item.prompt.needed for m, item in handed) / len(handed)
        if handed
        else 0.0,
        "wrongful_rate": sum(bool(item.prompt_pack) for item in silent) / len(silent) if silent else 0.0,
        "injections_per_prompt": len(handed) / len(given),
    }


def top_k(
    runner: Runner, rank: Callable[[Prompt], Sequence[str]], start: frozenset[str], k: int
) -> list[Given]:
    """A baseline: always the best `k` that the start pack does not hold."""
    return [
        Given(prompt=p, start=start, prompt_pack=tuple([m for m in rank(p) if m not in start][:k]))
        for p in runner.project.prompts
    ]


def interval(given: Sequence[Given], metric: str) -> tuple[float, float]:
    """95 % bootstrap interval over prompts."""
    chance = random.Random(7)
    values = sorted(measure(chance.choices(given, k=len(given)))[metric] for _ in range(BOOTSTRAPS))
    return values[int(0.025 * BOOTSTRAPS)], values[int(0.975 * BOOTSTRAPS) - 1]


def run_project(project: Project, *, embedder: Embedder, settings: RecallSettings) -> dict[str, list[Given]]:
    """Tacit beside BM25 and dense top-3, all after the same start pack."""
    runner = Runner(project, embedder=embedder, settings=settings)
    start = runner.start()

    def bm25(prompt: Prompt) -> list[str]:
        return [
            h.memory_id for h in runner.store.search.lexical(prompt.text, scope=runner.scope, limit=60).hits
        ]

    def dense(prompt: Prompt) -> list[str]:
        vector = embedder.embed([prompt.text])[0]
        ranking = runner.store.search.semantic(
            vector, identity=embedder.identity, scope=runner.scope, limit=60
        )
        return [h.memory_id for h in ranking.hits]

    return {
        "tacit": [runner.prompt(p, start) for p in project.prompts],
        "BM25 top-3": top_k(runner, bm25, start, 3),
        "dense top-3": top_k(runner, dense, start, 3),
    }


def main(argv: Sequence[str] | None = None) -> int:
    """Print the scorecard."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--triggers", choices=("local", "given"), default="local")
    parser.add_argument("--start-tokens", type=int, default=1000)
    parser.add_argument("--threshold", type=float, default=None)
    parser.add_argument("--without", nargs="*", default=[], help="spaces to switch off, for an ablation")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args(argv)
    defaults = RecallSettings()
    threshold = defaults.thresholds.prompt if args.threshold is None else args.threshold
    settings = defaults.model_copy(
        update={
            "budgets": Budgets(start=args.start_tokens),
            "thresholds": Thresholds(prompt=threshold),
            "deadline_ms": 60_000,
            "spaces": tuple(space for space in defaults.spaces if space not in args.without),
        }
    )
    embedder = make_embedder(EmbedderSettings())
    table = Table(
        title=f"inject: {args.triggers} triggers, start pack {args.start_tokens} tokens, threshold {threshold}"
    )
    columns = ("start_coverage_all", "start_coverage_grade2", "coverage_all", "coverage_grade2", "prompt_precision", "wrongful_rate", "injections_per_prompt")  # fmt: skip
    for name in ("project", "method", *columns):
        table.add_column(name.replace("_", " "), justify="left" if name in ("project", "method") else "right")
    out: dict[str, dict[str, dict[str, float]]] = {}
    for folder in sorted(p for p in (args.data / "inject").iterdir() if p.is_dir()):
        triggers = (
            args.data / "situation" / folder.name / "triggers.jsonl" if args.triggers == "given" else None
        )
        results = run_project(load_project(folder, triggers), embedder=embedder, settings=settings)
        for method, given in results.items():
            values = measure(given)
            out.setdefault(folder.name, {})[method] = values
            cells = [f"{values[c]:.2f}" for c in columns]
            if method == "tacit":
                low, high = interval(given, "coverage_all")
                cells[2] += f" [{low:.2f}-{high:.2f}]"
                low, high = interval(given, "prompt_precision")
                cells[4] += f" [{low:.2f}-{high:.2f}]"
            table.add_row(folder.name, method, *cells)
    macro = {
        m: {c: sum(out[p][m][c] for p in out) / len(out) for c in columns} for m in next(iter(out.values()))
    }
    for method, values in macro.items():
        table.add_row("macro", method, *(f"{values[c]:.2f}" for c in columns), style="bold")
    Console(width=200).print(table)
    if args.json:
        report = {
            "suite": "inject",
            "settings": {
                "triggers": args.triggers,
                "start_tokens": args.start_tokens,
                "threshold": threshold,
            },
            "projects": out,
            "macro": macro,
        }
        args.json.write_text(json.dumps(report, indent=1), "utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
