"""The cosine bars of a preset for the embedder in use. In: shares that a preset states, measured cosines. Out: a layer of settings.

A cosine means something for one embedder alone. A preset therefore states beside each of its bars which share of unrelated
pairs may reach it (`false_passes` of its file). For an embedder that was measured, the bar is the cosine that this share of the
pairs reaches: `fitted/unrelated_cosines.json` speaks of the shipped embedder, a file of the same format in the home of the one
that `tacit config tune` measured there. For any other embedder the number of the preset's design holds.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from tacit.config.fields import Flat, settings_by_key
from tacit.config.home import Home
from tacit.config.preset_files import false_passes
from tacit.config.settings import EmbedderSettings
from tacit.frozen import frozen

if TYPE_CHECKING:
    from tacit.fitted import Artifact

NAME = "unrelated_cosines"
"""The name of the fitted file."""
SHARES = (0.2, 0.15, 0.13, 0.1, 0.07, 0.05, 0.04, 0.03, 0.02, 0.01, 0.005, 0.002, 0.001, 0.0002)
"""The shares of unrelated pairs that a preset may state for a cosine bar."""


@frozen
class CosineBar:
    """A cosine bar, and the share of unrelated pairs whose cosine reaches it."""

    share: float
    cosine: float


UnrelatedCosines = tuple[CosineBar, ...]
"""One bar for each of `SHARES` for which enough pairs were measured."""


@frozen
class EmbedderBars:
    """The cosine bars of a preset for one embedder: values by setting, and the shares that they follow from."""

    values: Flat
    embedder: str
    shares: Mapping[str, object]

    def place(self, key: str) -> str:
        """Return words that say where the value of the setting `key` comes from."""
        share = self.shares[key]
        share_text = f"{share:.2%}".replace(".00%", "%") if isinstance(share, float) else "a stated share"
        return f"{self.embedder}: {share_text} of unrelated pairs reach it"


def bars_from(cosines: list[float]) -> UnrelatedCosines:
    """Return a bar for each of `SHARES`: the cosine that this share of `cosines`, which were measured of unrelated pairs, reaches.

    A share of less than one pair gets no bar.
    """
    ordered = sorted(cosines, reverse=True)
    counts = [(share, int(share * len(ordered))) for share in SHARES]
    return tuple(
        CosineBar(share=share, cosine=round(min(1.0, max(0.0, ordered[count - 1])), 3))
        for share, count in counts
        if count
    )


def details_of(embedder: EmbedderSettings) -> dict[str, int | float | str]:
    """Return {"provider", "model", "dimensions"} of an embedder's settings: what a fitted file notes of the embedder that it was made with."""
    return {"provider": embedder.provider, "model": embedder.model, "dimensions": embedder.dimensions}


def stated_shares(preset: str) -> dict[str, object]:
    """Return, for each cosine bar of `preset`, the share of unrelated pairs that may reach it: dotted setting -> a number, or name -> number for a setting that is a mapping."""
    nested, shares = false_passes(preset), dict[str, object]()
    for key in settings_by_key() if nested else ():
        at: Any = nested
        for segment in key.split("."):
            at = cast("Mapping[str, Any]", at).get(segment) if isinstance(at, Mapping) else None
        if at is not None:
            shares[key] = at
    return shares


def embedder_bars(preset: str, embedder: EmbedderSettings, home: Home) -> EmbedderBars | None:
    """Return the bars of `preset` for `embedder`; None = the preset states no share, or the embedder was not measured.

    Raises:
        InvalidInput: if the file in the home is damaged.
    """
    shares = stated_shares(preset)
    measured = _measured(embedder, home) if shares else None
    if measured is None:
        return None
    bars = measured.values
    values: Flat = {}
    for key, share in shares.items():
        if isinstance(share, Mapping):
            stated = cast("Mapping[str, float]", share)
            values[key] = {name: cosine_at(value, bars) for name, value in stated.items()}
        else:
            values[key] = cosine_at(cast(float, share), bars)
    return EmbedderBars(values=values, embedder=measured.origin.embedder, shares=shares)


def is_shipped(embedder: EmbedderSettings) -> bool:
    """Whether measured cosines of `embedder` are shipped with Tacit."""
    return _speaks_of(embedder, _read(_shipped_file()))


def cosine_at(share: float, bars: UnrelatedCosines) -> float:
    """Return the cosine that `share` of unrelated pairs reaches. If too few pairs were measured for it, return the highest bar, or 1 if there is none."""
    return next(
        (bar.cosine for bar in bars if bar.share == share), max((b.cosine for b in bars), default=1.0)
    )


def _measured(embedder: EmbedderSettings, home: Home) -> Artifact[UnrelatedCosines] | None:
    """Return what was measured of `embedder`: the file in the home, else the shipped one; None = neither is of this embedder."""
    artifacts = (_read(path) for path in (home.unrelated_cosines_file, _shipped_file()))
    return next((artifact for artifact in artifacts if _speaks_of(embedder, artifact)), None)


def _speaks_of(embedder: EmbedderSettings, artifact: Artifact[UnrelatedCosines] | None) -> bool:
    return artifact is not None and dict(artifact.origin.details).items() >= details_of(embedder).items()


def _shipped_file() -> Path:
    from tacit.fitted import FOLDER  # noqa: PLC0415 - the default preset states no share and needs none of this

    return FOLDER / f"{NAME}.json"


def _read(path: Path) -> Artifact[UnrelatedCosines] | None:
    from tacit.fitted import read_artifact  # noqa: PLC0415 - as above

    artifact: Artifact[UnrelatedCosines] | None = read_artifact(path, cast(Any, UnrelatedCosines), name=NAME)
    return artifact
