"""What each space means alone. In: the judged prompts. Out: a table of recall at 10 beside random, as text.

A space orders all memories of a project by its own score; equal scores, and those that it says nothing of, stand in random
order, so that recall is an expectation. `above` is the lower end of the 95 % interval (bootstrap over prompts) of the
difference to random. Relations are made as capture makes them.

Spaces of time say nothing in a pool whose dates are those of its curation. They are measured in dated replays: sessions whose
names tell when they began, every prompt against the memories of sessions said before it, each where and when it was said.

`changed` = share of the packs of `multispace` that are different without the space, over every fifth prompt.

Run: `python -m tacit_evals.suites.spaces --data DIR`.
"""

from __future__ import annotations

import argparse
import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from tacit.capture.prepare import infer_relations
from tacit.config.home import Home
from tacit.config.reload import SettingsWatcher
from tacit.config.settings import EmbedderSettings, RecallSettings
from tacit.model.evidence import Shortlist
from tacit.model.kinds import KindRegistry
from tacit.model.memory import Memory, Relation
from tacit.model.pack import Surface
from tacit.model.query import Query
from tacit.model.scope import ScopeFilter
from tacit.model.situation import Situation
from tacit.ports.models import Embedder
from tacit.presets import preset_of
from tacit.providers.embedding import make_embedder
from tacit.recall.spaces import SPACES
from tacit_evals.data.judged import LEARNED_PREFIX, Judgment, Project, load_inject
from tacit_evals.data.kept_vectors import KeptVectors
from tacit_evals.data.recognise import folders_of
from tacit_evals.fit.gate import Listener
from tacit_evals.fit.marks import WHOLE_PROMPTS
from tacit_evals.fit.parts import SHIPPED
from tacit_evals.suites.pool import Pool, Start, stored_memory
from tacit_evals.suites.running import FOCUSED, shipped_settings, without_spaces

TOP = 10
EVERY = 5
ALL = 1000
RELATED = 20
RESAMPLES, SEED = 2_000, 7
LEAST_BEFORE = 20
"""A replayed prompt has so many memories before it."""
MINUTE_MS = 60_000
_BEGAN = re.compile(r"(\d{4}-\d\d-\d\d)_(\d\d)-(\d\d)")
HOST = "replay"


@dataclass(slots=True)
class Alone:
    """What a space reached: per prompt its recall, that of random order, and whether it said anything."""

    recalls: list[float] = field(default_factory=list[float])
    random: list[float] = field(default_factory=list[float])
    spoke: list[bool] = field(default_factory=list[bool])
    packs: int = 0
    changed: int = 0

    def add(self, scores: Mapping[str, float], pool: Sequence[str], judgment: Judgment) -> None:
        """Count one prompt; memories that were judged marginal stand in no order."""
        ids = [name for name in pool if name not in judgment.marginal]
        needed = {name for name in judgment.needed if name in ids}
        if needed:
            self.recalls.append(expected_recall(scores, ids, needed))
            self.random.append(min(1.0, TOP / len(ids)))
            self.spoke.append(any(scores.get(name, 0.0) > 0 for name in ids))

    def above(self, *, spoken: bool = False) -> float:
        """Lower end of the 95 % interval of the difference to random; with `spoken` over prompts where it said anything."""
        differences = np.array(self.recalls) - np.array(self.random)
        if spoken:
            differences = differences[np.array(self.spoke)]
        chance = np.random.default_rng(SEED)
        means = chance.choice(differences, (RESAMPLES, len(differences))).mean(axis=1)
        return float(np.quantile(means, 0.025))


def expected_recall(scores: Mapping[str, float], ids: Sequence[str], needed: set[str]) -> float:
    """Recall at 10 of `ids` by score, equal ones in random order."""
    values = np.array([scores.get(name, 0.0) for name in ids])
    is_needed = np.array([name in needed for name in ids])
    last = np.sort(values)[::-1][min(TOP, len(values)) - 1]
    surely, maybe = values > last, values == last
    share = (min(TOP, len(values)) - surely.sum()) / maybe.sum()
    return float(((is_needed & surely).sum() + share * (is_needed & maybe).sum()) / is_needed.sum())


MULTISPACE = preset_of("multispace")


def relations_of(pool: Pool) -> tuple[Relation, ...]:
    """Relations as capture makes them when it stores the memories of the pool."""
    relations: dict[tuple[str, str], Relation] = {}
    for memory in pool.memories.values():
        if not memory.entities:
            continue
        hits = pool.store.search.entity(memory.entities, scope=pool.scope, limit=RELATED).hits
        others = [(pool.memories[hit.memory_id], hit.score) for hit in hits if hit.memory_id != memory.id]
        for relation in infer_relations(memory, others):
            relations.setdefault((relation.source_id, relation.target_id), relation)
    return tuple(relations.values())


def measure_pool(project: Project, embedder: Embedder, table: dict[str, Alone]) -> None:
    """Every prompt of a project asked of its own pool, with all spaces over all memories."""
    wide = shipped_settings().model_copy(update={"spaces": tuple(SPACES), "candidates_per_space": ALL})
    preset = replace(FOCUSED, spaces_prompt=(), shortlist=ALL)
    listener = Listener()
    fitted = replace(SHIPPED, transform=WHOLE_PROMPTS, gate=listener)
    pool = Pool(project, embedder=embedder, settings=wide, preset=preset, fitted=fitted)
    try:
        pool.store.relate(relations_of(pool))
        for prompt in project.prompts:
            before = len(listener.heard)
            pool.prompt(prompt, Start())
            if len(listener.heard) == before:  # nothing is asked
                continue
            candidates = listener.heard[-1][1]
            for name, space in SPACES.items():
                if space.topic_weight:
                    scores = {candidate.memory.id: candidate.score(name) or 0.0 for candidate in candidates}
                    table[name].add(scores, list(pool.memories), prompt.judgment)
    finally:
        pool.close()


def count_changes(
    project: Project, embedder: Embedder, settings: RecallSettings, table: dict[str, Alone]
) -> None:
    """How many packs of `multispace` change when a space is taken out."""
    pool = Pool(project, embedder=embedder, settings=settings, preset=MULTISPACE)
    whole = pool.settings
    try:
        pool.store.relate(relations_of(pool))
        for prompt in project.prompts[::EVERY]:
            pool.settings, pool.preset = whole, MULTISPACE
            pack = pool.prompt(prompt, Start()).pack
            for name in SPACES:
                pool.settings, pool.preset = without_spaces(whole, [name], preset=MULTISPACE)
                table[name].packs += 1
                table[name].changed += pool.prompt(prompt, Start()).pack != pack
    finally:
        pool.close()


_EMPTY = Query(
    surface=Surface.PROMPT, text="", raw_text="", situation=Situation(), scope=ScopeFilter.of(), at_ms=0, budget_tokens=0
)  # fmt: skip


def began_ms(session: str) -> int | None:
    """When a session began, as its name tells; None where it does not."""
    match = _BEGAN.search(session)
    if match is None:
        return None
    day, hour, minute = match.groups()
    return int(datetime.fromisoformat(f"{day}T{hour}:{minute}").replace(tzinfo=UTC).timestamp() * 1000)


def _said(memory: Memory, source: str) -> Memory | None:
    """The memory where and when it was said; None where its source does not tell."""
    session, _, turn = source.removeprefix(LEARNED_PREFIX).partition("#")
    began = began_ms(session) if source.startswith(LEARNED_PREFIX) else None
    if began is None:
        return None
    number = int("0" + "".join(digit for digit in turn if digit.isdigit()))
    at_ms = began + number * MINUTE_MS
    provenance = replace(memory.provenance, host=HOST, session_id=session, turn=max(1, number))
    return replace(memory, provenance=provenance, created_at_ms=at_ms, updated_at_ms=at_ms)


def replay(project: Project, table: dict[str, Alone]) -> None:
    """Every prompt of a dated session against what was learned in sessions before it."""
    kinds = KindRegistry()
    stored = (stored_memory(row, project=project.name, given=False) for row in project.memories)
    dated = [
        memory
        for row, undated in zip(project.memories, stored, strict=True)
        if (memory := _said(undated, row.source)) is not None
    ]
    for prompt in project.prompts:
        began = began_ms(prompt.session)
        if began is None:
            continue
        at_ms = began + prompt.turn * MINUTE_MS
        before = [memory for memory in dated if memory.created_at_ms < at_ms]
        if len(before) < LEAST_BEFORE:
            continue
        query = replace(
            _EMPTY,
            text=prompt.text,
            at_ms=at_ms,
            session=f"{HOST}/{prompt.session}",
            turn=max(1, prompt.turn),
        )
        shortlist = Shortlist(memories=tuple(before), kinds=kinds)
        ids = [memory.id for memory in before]
        for name, space in SPACES.items():
            if not space.topic_weight and space.measure is not None:
                table[name].add(space.measure(query, shortlist), ids, prompt.judgment)


def rows(table: Mapping[str, Alone]) -> list[str]:
    """The table, one line for each space: over all prompts, then over those where it said anything."""
    lines = [
        f"{'space':11}{'weight':>7}{'prompts':>9}{'R@10':>7}{'random':>8}{'above':>8}{'speaks':>8}{'R@10':>7}{'above':>8}{'changed':>9}"
    ]
    for name, alone in table.items():
        if not any(alone.spoke):
            continue
        weight = SPACES[name].topic_weight
        changed = f"{alone.changed}/{alone.packs}" if weight else "hints"
        spoken = np.mean(np.array(alone.recalls)[np.array(alone.spoke)])
        lines.append(
            f"{name:11}{weight:7.1f}{len(alone.recalls):9}{np.mean(alone.recalls):7.3f}{np.mean(alone.random):8.3f}"
            f"{alone.above():+8.3f}{sum(alone.spoke):8}{spoken:7.3f}{alone.above(spoken=True):+8.3f}{changed:>9}"
        )
    return lines


def preset_settings(preset: str) -> RecallSettings:
    """The read path's settings of a fresh home with `preset`."""
    with tempfile.TemporaryDirectory(prefix="tacit-eval-") as folder:
        home = Home(Path(folder))
        home.ensure()
        return SettingsWatcher(home, environ={"TACIT_PRESET": preset}).current().recall


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        prog="python -m tacit_evals.suites.spaces", description="What each space means alone."
    )
    parser.add_argument("--data", type=Path, required=True, help="folder of judged prompts")
    parser.add_argument(
        "--cache", type=Path, metavar="DIR", help="keep the vectors of texts here for later runs"
    )
    options = parser.parse_args()
    embedder: Embedder = make_embedder(EmbedderSettings(), cache_entries=100_000)
    cache = KeptVectors(embedder, options.cache) if options.cache else None
    table = {name: Alone() for name in SPACES}
    settings = preset_settings("multispace")
    for folder in folders_of("inject", options.data):
        project = load_inject(folder)
        measure_pool(project, cache or embedder, table)
        count_changes(project, cache or embedder, settings, table)
        replay(project, table)
        print(f"{project.name}: {len(project.prompts)} prompts", flush=True)
    if cache is not None:
        cache.save()
    print("\n".join(rows(table)))


if __name__ == "__main__":
    main()
