"""What the memory hands over at real tool calls. In: judged calls and their pool. Out: a scorecard.

Every call is asked on its own: the session knows its governing prompt, then the call starts (and fails, where it did), as the
host reports it. The context holds the start pack, and nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from tacit.errors import InvalidInput
from tacit_evals.data import (
    LEFT_OUT,
    Project,
    RecordedCall,
    folders_of,
    is_inject,
    load_action,
    load_inject,
    read_text,
)
from tacit_evals.figures import ItemResult, binomial_interval, count, figures, intervals
from tacit_evals.fit.labelled import same_project
from tacit_evals.inject import MAIN_BUDGET, START_BUDGETS, prompt_baselines
from tacit_evals.pool import DAY_MS, Pool
from tacit_evals.running import SuiteRun
from tacit_evals.scorecard import ProjectResult, Scorecard, scorecard

POOL_FILE = "memories.jsonl"


def run_action(run: SuiteRun) -> Scorecard:
    """Measure every folder of judged calls below the run's folder."""
    measured: list[ProjectResult] = []
    notes: list[str] = []
    described = run.described()
    for folder in folders_of("action", run.data):
        pool_file = _pool_file(folder, run)
        name = pool_file.parent.name
        calls = load_action(folder, pool=pool_file, name=name, triggers=run.labels_of(name))
        run.triggers_of(name)
        described[f"pool of {folder.name}"] = str(pool_file)
        measured.append(_measure(calls, run, notes))
    card = scorecard(measured, suite="action", dataset=str(run.data), settings=described)
    return replace(card, notes=(*notes, *card.notes))


def _pool_file(folder: Path, run: SuiteRun) -> Path:
    """The pool of the calls in `folder`: the one given, the one inside, else that of the project that they name.

    Raises:
        InvalidInput: if it cannot be told.
    """
    if run.pool is not None:
        pool_file = run.pool / POOL_FILE if run.pool.is_dir() else run.pool
        if not pool_file.is_file():
            raise InvalidInput(f"{pool_file} is missing.", hint=f"Give --pool a {POOL_FILE} or its folder.")
        return pool_file
    if (folder / POOL_FILE).is_file():
        return folder / POOL_FILE
    text = read_text(folder / "calls.jsonl").lower()
    near = [
        root for root in (run.data, run.data.parent, folder.parent) if any(map(is_inject, _projects(root)))
    ]
    mentions = sorted(
        ((text.count(project.name.lower()), project) for root in near[:1] for project in _projects(root)),
        key=lambda mention: (-mention[0], mention[1]),
    )
    if not mentions or mentions[0][0] == 0 or (len(mentions) > 1 and mentions[0][0] == mentions[1][0]):
        raise InvalidInput(
            f"{folder} has no {POOL_FILE}, and no project beside it is named by its calls.",
            hint=f"Give the pool with --pool: a {POOL_FILE} or its folder.",
        )
    return mentions[0][1] / POOL_FILE


def _projects(root: Path) -> list[Path]:
    folders = (*root.iterdir(), *(root / "inject").glob("*")) if root.is_dir() else ()
    return sorted(path for path in folders if path.is_dir() and is_inject(path))


def _measure(project: Project, run: SuiteRun, notes: list[str]) -> ProjectResult:
    """Measure the calls of `project`; what they get on their own is added to `notes`."""
    run.say(f"{project.name}: {len(project.memories)} memories, {len(project.calls)} calls")
    pool = Pool(
        project,
        embedder=run.embedder,
        settings=run.settings,
        preset=run.preset,
        given=run.triggers is not None,
        fitted=run.fitted(project.name),
    )
    at_ms = max(row.created_ms for row in project.memories) + DAY_MS
    try:
        handed = {
            budget: [
                pool.call(call, pool.start(tokens=budget, at_ms=at_ms), at_ms=at_ms) for call in project.calls
            ]
            for budget in START_BUDGETS
        }
        texts = {f"{project.name}/{call.id}": words_of(call) for call in project.calls}
        simpler = prompt_baselines(pool, handed[0], texts, run)
        notes.extend(lines(project.name, handed[0], simpler, left_out=project.left_out))
        return ProjectResult(
            name=project.name,
            learned=project.learned,
            handed=handed,
            main=MAIN_BUDGET,
            baselines=prompt_baselines(pool, handed[MAIN_BUDGET], texts, run),
            cross=_cross(pool, project, run, at_ms=at_ms),
            more=_delivered(handed),
        )
    finally:
        pool.close()


def words_of(call: RecordedCall) -> str:
    """What a search would be asked: the tool, its input, the prompt."""
    return " ".join((call.tool, *(str(value) for value in call.input.values()), call.error, call.prompt))


def _delivered(handed: dict[int, list[ItemResult]]) -> dict[str, float | None]:
    """Pairs of grade 2 that the action and failure packs handed over, and those that were in context by then."""
    main = handed[MAIN_BUDGET]
    return {
        "pairs_grade2": float(sum(len(grade2(result)) for result in main)),
        "delivered_grade2": float(delivered(main)),
        "in_context_grade2": float(
            sum(len(grade2(result) & (result.start | set(result.pack))) for result in main)
        ),
        **alone(handed[0]),
    }


def _cross(pool: Pool, project: Project, run: SuiteRun, *, at_ms: int) -> Sequence[tuple[bool, bool]]:
    """The calls against the stores of other projects beside the pool's own; () where there are none."""
    del pool
    root = next((place for place in (run.data, run.data.parent) if _projects(place)), None)
    verdicts: list[tuple[bool, bool]] = []
    for folder in _projects(root) if root is not None else ():
        if same_project(folder.name, project.name):
            continue
        other = load_inject(folder, triggers=run.labels_of(folder.name))
        run.triggers_of(other.name)
        store = Pool(
            other,
            embedder=run.embedder,
            settings=run.settings,
            preset=run.preset,
            given=run.triggers is not None,
            fitted=run.fitted(project.name, other.name),
        )
        try:
            generic = store.generic()
            start = store.start(tokens=MAIN_BUDGET, at_ms=at_ms)
            packs = [store.call(call, start, at_ms=at_ms).pack for call in project.calls]
        finally:
            store.close()
        verdicts += [(bool(pack), not generic.issuperset(pack)) for pack in packs]
    return verdicts


WANTED_PRECISION = 0.40
WANTED_GRADE2 = 7
MOST_WRONGFUL = 0.10


def grade2(result: ItemResult) -> set[str]:
    """The memories that a call needs most."""
    return {memory for memory, grade in result.judgment.needed.items() if grade == 2}


def delivered(items: Sequence[ItemResult]) -> int:
    """Pairs of grade 2 that the packs at the calls handed over."""
    return sum(len(grade2(result) & set(result.pack)) for result in items)


def alone(items: Sequence[ItemResult]) -> dict[str, float | None]:
    """Figures of calls that were asked with an empty context, with intervals (precision: bootstrap; wrongful: exact)."""
    values = figures(count(items, learned=frozenset()))
    low, high = intervals(count(items, learned=frozenset()))["prompt_precision"]
    wrong, silent = _wrongful(items)
    least, most = binomial_interval(wrong, silent)
    return {
        "alone_precision": values["prompt_precision"],
        "alone_precision_low": low,
        "alone_precision_high": high,
        "alone_handed": float(sum(len(result.counted) for result in items)),
        "alone_right": float(sum(result.right for result in items)),
        "alone_delivered_grade2": float(delivered(items)),
        "alone_pairs_grade2": float(sum(len(grade2(result)) for result in items)),
        "alone_wrongful": float(wrong),
        "alone_nothing": float(silent),
        "alone_wrongful_rate": values["wrongful_rate"],
        "alone_wrongful_low": least,
        "alone_wrongful_high": most,
    }


def lines(
    name: str, items: Sequence[ItemResult], baselines: Mapping[str, Sequence[ItemResult]], *, left_out: int
) -> tuple[str, ...]:
    """What `alone` found, beside what was wanted and what simpler methods reach with the same calls."""
    f = {key: value or 0.0 for key, value in alone(items).items()}
    ids = ", ".join(sorted(call for call, _ in LEFT_OUT))
    headline = (
        f"{name}, {len(items)} calls on their own (nothing in context): precision {f['alone_precision']:.3f}"
        f" [{f['alone_precision_low']:.2f}-{f['alone_precision_high']:.2f}] (wanted {WANTED_PRECISION:.2f}),"
        f" {f['alone_right']:.0f} right of {f['alone_handed']:.0f};"
        f" {f['alone_delivered_grade2']:.0f} of {f['alone_pairs_grade2']:.0f} pairs of grade 2 delivered (wanted {WANTED_GRADE2});"
        f" wrongful {f['alone_wrongful_rate']:.3f} [{f['alone_wrongful_low']:.3f}-{f['alone_wrongful_high']:.3f}]"
        f" (at most {MOST_WRONGFUL:.2f}), {f['alone_wrongful']:.0f} of {f['alone_nothing']:.0f} calls that need nothing"
    )
    notes = [headline, *_by_surface(items)]
    for method, own in baselines.items():
        figure = figures(count(own, learned=frozenset()))
        notes.append(
            f"{method}: precision {figure['prompt_precision']:.3f}, {delivered(own)} pairs of grade 2, wrongful {figure['wrongful_rate']:.3f}"
        )
    if left_out:
        notes.append(
            f"{left_out} call left out ({ids}): its memories were made from the very same session; its pairs count nowhere"
        )
    return tuple(notes)


def _by_surface(items: Sequence[ItemResult]) -> list[str]:
    names = sorted({surface for result in items for surface in result.surfaces})
    notes: list[str] = []
    for name in names:
        packs = [(result, result.surfaces.get(name, ())) for result in items]
        hits = sum(memory in result.judgment.needed for result, pack in packs for memory in pack)
        most = sum(len(grade2(result) & set(pack)) for result, pack in packs)
        calls = sum(name in result.surfaces for result in items)
        handed = sum(memory not in result.judgment.marginal for result, pack in packs for memory in pack)
        notes.append(
            f"surface {name}: asked at {calls} calls, {hits} right of {handed}, {most} pairs of grade 2"
        )
    return notes


def _wrongful(items: Sequence[ItemResult]) -> tuple[int, int]:
    silent = [result for result in items if result.judgment.nothing]
    return sum(bool(result.pack) for result in silent), len(silent)
