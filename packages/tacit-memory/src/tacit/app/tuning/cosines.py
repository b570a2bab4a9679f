"""The cosine bars of the presets for the user's own embedder, from the user's own store. In: stored prompts. Out: a report; a file in the home.

Each stored prompt is compared with every memory of its project. Nobody judged those pairs, but hardly one in a hundred is needed, so
they stand for unrelated ones; the bars come out slightly too high, never too low. For an embedder whose cosines ship nothing is measured.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from tacit.app.parts import Parts
from tacit.config.cosine_bars import (
    NAME,
    UnrelatedCosines,
    bars_from,
    cosine_at,
    details_of,
    is_shipped,
    stated_shares,
)
from tacit.fitted import Artifact, Origin, write_artifact
from tacit.model.scope import ScopeFilter, project_scope
from tacit.model.trace import Trace
from tacit.recall.retrieve import QUERY_CHARS

LEAST_COSINES = 2000
"""Of fewer pairs no share below a percent means anything."""
MEMORIES_READ = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredBar:
    """One cosine bar of the preset in use.

    Attributes:
        setting: its dotted name, with the kind where it is a mapping.
        share: of unrelated pairs that may reach it.
        before, after: cosines.
    """

    setting: str
    share: float
    before: float
    after: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CosineReport:
    """The cosine bars of the preset in use, as this store has them. `pairs` 0 = the embedder's cosines ship; no bars = too few pairs."""

    embedder: str = ""
    pairs: int = 0
    bars: tuple[MeasuredBar, ...] = ()


def measure_cosines(
    parts: Parts, traces: Sequence[Trace], projects: Mapping[str, str], *, apply: bool
) -> CosineReport:
    """Measure the embedder in use; with `apply`, keep what was measured in the home.

    Args:
        parts: the store and its embedder.
        traces: of stored prompts.
        projects: project by session of the traces.
        apply: whether to write the file.
    """
    settings = parts.settings.current()
    identity = str(parts.embedder.identity)
    if is_shipped(settings.embedder):
        return CosineReport(embedder=identity)
    prompts = [trace for trace in traces if trace.session in projects]
    vectors = parts.embedder.embed([trace.text[:QUERY_CHARS] for trace in prompts]) if prompts else ()
    cosines = [
        hit.score
        for trace, vector in zip(prompts, vectors, strict=True)
        for hit in parts.store.search.semantic(
            vector,
            identity=parts.embedder.identity,
            scope=ScopeFilter.of(project_scope(projects[trace.session])),
            limit=MEMORIES_READ,
        ).hits
    ]
    if len(cosines) < LEAST_COSINES:
        return CosineReport(embedder=identity, pairs=len(cosines))
    measured = bars_from(cosines)
    if apply:
        origin = Origin(
            what="cosines that a share of the pairs of a prompt and a memory of its project reaches",
            made_by="tacit tune",
            embedder=identity,
            details={**details_of(settings.embedder), "pairs": len(cosines)},
        )
        write_artifact(parts.home.unrelated_cosines_file, Artifact(name=NAME, origin=origin, values=measured))
        parts.settings.look_again()
    return CosineReport(embedder=identity, pairs=len(cosines), bars=_told(parts, measured))


def _told(parts: Parts, measured: UnrelatedCosines) -> tuple[MeasuredBar, ...]:
    """The bars of the preset in use before and after."""
    settings = parts.settings.current()
    bars: list[MeasuredBar] = []
    for key, share in stated_shares(settings.preset).items():
        before: object = settings
        for attribute in key.split("."):
            before = getattr(before, attribute)
        if isinstance(share, float):
            bars.append(
                MeasuredBar(
                    setting=key, share=share, before=cast(float, before), after=cosine_at(share, measured)
                )
            )
            continue
        for name, single_share in cast("Mapping[str, float]", share).items():
            current = cast("Mapping[str, float]", before).get(name, 0.0)
            bars.append(
                MeasuredBar(
                    setting=f"{key}.{name}",
                    share=single_share,
                    before=current,
                    after=cosine_at(single_share, measured),
                )
            )
    return tuple(bars)
