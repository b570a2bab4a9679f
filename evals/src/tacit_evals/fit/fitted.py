"""Everything that is fitted, as one value that can be put into the engine. None = what ships."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitted:
    """The fitted parts of one run.

    Attributes:
        situation: reads what is about to happen.
        trigger: says when a memory applies.
        need: orders the start pack.
        gate: relevance with its thresholds.
        left_out: projects of which no row was used.
        rows: how many rows each part was fitted on.
    """

    situation: object | None = None
    trigger: object | None = None
    need: object | None = None
    gate: object | None = None
    left_out: tuple[str, ...] = ()
    rows: tuple[tuple[str, int], ...] = ()


SHIPPED = Fitted()
"""Nothing of our own: the engine as it ships."""


def fit_all(dirs: Sequence[Path], *, exclude_projects: Sequence[str]) -> Fitted:
    """Fit all parts on rows of `dirs`, without any row of `exclude_projects`."""
    raise NotImplementedError
