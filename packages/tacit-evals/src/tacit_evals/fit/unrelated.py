"""Measure the cosines of unrelated pairs, by which the presets' bars are set. In: judged projects, an embedder. Out: a fitted file, a report.

Unrelated is a pair of a prompt and a memory of the same project that no judge gave anything; marginal pairs are left out. Every
project counts by its pairs. A preset states for each bar the share of such pairs that may reach it (`false_passes` in its file), chosen
as the least share with which the examples of its design come out as the design says; the file has the cosine of each share.

Run: `python -m tacit_evals.fit.unrelated --data DIR --date 2026-11-23`. It writes `fitted/unrelated_cosines.json` and prints each bar with
the design's number, the share, the cosine, and what that share becomes on each project when the cosine comes from the others.
`--provider` and `--model` name another embedder, whose file `--out` is then: nothing that ships changes.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

import tacit
from tacit.config.cosine_bars import NAME, UnrelatedCosines, bars_from, details_of, stated_shares
from tacit.config.fields import default_values
from tacit.config.preset_files import preset_names
from tacit.config.settings import EmbedderSettings
from tacit.fitted import Artifact, FitOrigin, encode_artifact
from tacit.ports.models import Embedder
from tacit.providers.embedding import make_embedder
from tacit.recall.retrieve import QUERY_CHARS
from tacit_evals.data import Project
from tacit_evals.fit.fitted import judged_projects

SHIPPED = Path(tacit.__file__).parent / "fitted" / f"{NAME}.json"
Numbers = NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class PairCosines:
    """The cosines of the prompts of one project with its memories: of unrelated pairs, and of needed ones."""

    project: str
    unrelated: Numbers
    needed: Numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedBar:
    """One bar of a preset: the setting (with the name in it, where it is a mapping), the design's number, the stated share."""

    preset: str
    setting: str
    design: float
    share: float


def cosines_of(project: Project, *, embedder: Embedder) -> PairCosines:
    """The cosines of `project`, as recall would measure them."""
    memories = embedder.embed([memory.content for memory in project.memories])
    prompts = embedder.embed([prompt.text[:QUERY_CHARS] for prompt in project.prompts])
    whole = np.asarray(prompts @ memories.T, np.float32)
    needed = np.array([[m.id in p.judgment.needed for m in project.memories] for p in project.prompts], bool)
    marginal = np.array(
        [[m.id in p.judgment.marginal for m in project.memories] for p in project.prompts], bool
    )
    return PairCosines(project=project.name, unrelated=whole[~needed & ~marginal], needed=whole[needed])


def unrelated_artifact(
    pairs: Sequence[PairCosines], *, embedder: Embedder, settings: EmbedderSettings, date: str, command: str
) -> Artifact[UnrelatedCosines]:
    """The content of the file."""
    return Artifact(
        name=NAME,
        origin=FitOrigin(
            what="cosines that a share of the unrelated pairs of a prompt and a memory of its project reaches",
            made_by=command,
            projects=tuple(sorted(cosines.project for cosines in pairs)),
            date=date,
            embedder=str(embedder.identity),
            details={**details_of(settings), "pairs": sum(len(cosines.unrelated) for cosines in pairs)},
        ),
        values=bars_of(pairs),
    )


def bars_of(pairs: Sequence[PairCosines]) -> UnrelatedCosines:
    """The bars of all pairs together."""
    return bars_from([float(cosine) for cosines in pairs for cosine in cosines.unrelated])


def stated_bars() -> Iterator[StatedBar]:
    """Every bar of every preset."""
    for preset in preset_names():
        for key, share in stated_shares(preset).items():
            design: Any = default_values()[key]
            if isinstance(share, float):
                yield StatedBar(preset=preset, setting=key, design=design, share=share)
                continue
            for name, value in cast("Mapping[str, float]", share).items():
                yield StatedBar(preset=preset, setting=f"{key}.{name}", design=design[name], share=value)


def report(pairs: Sequence[PairCosines]) -> Iterator[str]:
    """A table in Markdown: a row for each bar."""
    whole = {bar.share: bar.cosine for bar in bars_of(pairs)}
    without = {
        cosines.project: {
            bar.share: bar.cosine for bar in bars_of([other for other in pairs if other is not cosines])
        }
        for cosines in pairs
    }
    needed = np.concatenate([cosines.needed for cosines in pairs])
    names = " | ".join(cosines.project for cosines in pairs)
    yield f"| preset | setting | design | share | cosine | needed pairs that pass | {names} |"
    yield "|---|---|---|---|---|---|" + "---|" * len(pairs)
    for bar in stated_bars():
        cosine = whole[bar.share]
        left_out = " | ".join(
            f"{float((cosines.unrelated >= without[cosines.project][bar.share]).mean()):.4f}"
            for cosines in pairs
        )
        passing = float((needed >= cosine).mean())
        yield f"| {bar.preset} | {bar.setting} | {bar.design:.2f} | {bar.share} | {cosine:.3f} | {passing:.2f} | {left_out} |"


def main() -> int:
    """Measure, write and print; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tacit_evals.fit.unrelated", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, action="append", help="folder of labelled data")
    parser.add_argument("--date", required=True, help="date for the file, such as 2026-11-23")
    parser.add_argument("--provider", default=EmbedderSettings().provider, help="embedder.provider")
    parser.add_argument("--model", default="", help="embedder.model")
    parser.add_argument("--out", type=Path, default=SHIPPED, help="the file that is written")
    arguments = parser.parse_args()
    settings = EmbedderSettings(provider=arguments.provider, model=arguments.model)
    embedder = make_embedder(settings, cache_entries=100_000)
    projects = judged_projects(arguments.data, exclude_projects=())
    pairs = [cosines_of(project, embedder=embedder) for project in projects]
    artifact = unrelated_artifact(
        pairs, embedder=embedder, settings=settings, date=arguments.date,
        command="python -m tacit_evals.fit.unrelated --data DATA --date DATE",
    )  # fmt: skip
    arguments.out.write_bytes(encode_artifact(artifact))
    print("\n".join(report(pairs)))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
