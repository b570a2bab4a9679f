"""The named levels: how readily `focused` speaks before a prompt. In: a level, a home. Out: a threshold, with what was measured at it.

A level is a threshold of relevance. `fitted/levels.json` has the thresholds that were fitted on judged projects, with precision, coverage,
wrongful rate and tokens on projects left out of the fit. A file of the same format in the home has those that `tacit config tune` fitted to
this store. It holds for the embedder that it was tuned with; for any other one the shipped levels hold.

A level means something where the fitted gate judges, in `focused`. A preset that states a threshold of its own is left as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, cast, get_args

from tacit.config.cosine_bars import details_of
from tacit.config.home import Home
from tacit.config.preset_files import preset_file
from tacit.config.settings import EmbedderSettings, LevelName
from tacit.errors import InvalidInput
from tacit.frozen import frozen

if TYPE_CHECKING:
    from tacit.fitted import Artifact

NAME = "levels"
"""The name of the fitted file."""
KEY = "recall.level"
THRESHOLD = "recall.thresholds.prompt"
LEVELS: tuple[LevelName, ...] = get_args(LevelName)
"""The names of the levels, from the one that injects least to the one that injects most."""


@frozen
class Level:
    """A level: its threshold before a prompt, and what was measured at it.

    Attributes:
        threshold: least relevance of a memory that is injected before a prompt.
        precision: share of the injected memories that were needed; None = not measured, here and below.
        coverage: share of the needed memories that prompts bring, in addition to the start pack.
        wrongful: share of the prompts that need no memory and get one.
        tokens: mean number of injected tokens per prompt.
    """

    threshold: float
    precision: float | None = None
    coverage: float | None = None
    wrongful: float | None = None
    tokens: float | None = None

    def __post_init__(self) -> None:
        if not 0.0 <= self.threshold <= 1.0:
            raise ValueError(f"a threshold between 0 and 1, not {self.threshold}")


@frozen
class Levels:
    """The three levels; the threshold never rises from a quieter level to the next."""

    quiet: Level
    balanced: Level
    eager: Level

    def __post_init__(self) -> None:
        if not self.quiet.threshold >= self.balanced.threshold >= self.eager.threshold:
            raise ValueError("a quieter level with a lower threshold")

    def of(self, name: LevelName) -> Level:
        """Return the level called `name`."""
        match name:
            case "quiet":
                return self.quiet
            case "balanced":
                return self.balanced
            case "eager":
                return self.eager

    def items(self) -> Iterator[tuple[LevelName, Level]]:
        """Yield names and levels, in the order of `LEVELS`."""
        return ((name, self.of(name)) for name in LEVELS)


@frozen
class LevelsInUse:
    """The levels that hold in one home.

    Attributes:
        levels: the three levels.
        tuned: whether they were fitted to the home's store by `tacit config tune`.
        problem: the error in the home's file, which is then not used; None = it is sound or absent.
    """

    levels: Levels
    tuned: bool = False
    problem: InvalidInput | None = None

    def place(self, name: LevelName) -> str:
        """Return words that say where the threshold of the level `name` comes from, with what was measured at it."""
        source = f"level {name}, tuned to this store" if self.tuned else f"level {name}"
        return f"{source}: {measured_text(self.levels.of(name))}"


def measured_text(level: Level) -> str:
    """Return what was measured at `level` for people, such as "precision .91, 57 tokens a prompt"; "not measured" if nothing was."""
    measures = [
        "" if level.precision is None else f"precision {_without_zero(level.precision)}",
        "" if level.tokens is None else f"{level.tokens:.0f} tokens a prompt",
        "" if level.wrongful is None else f"{100 * level.wrongful:.0f} % of the prompts that deserve nothing",
    ]
    return ", ".join(measure for measure in measures if measure) or "not measured"


def uses_levels(preset: str) -> bool:
    """Whether a level sets the prompt threshold of `preset`, because the preset states none of its own."""
    recall = cast("Mapping[str, Any]", preset_file(preset).values.get("recall", {}))
    return "prompt" not in recall.get("thresholds", {})


def shipped_levels() -> Levels:
    """Return the levels that are shipped with Tacit.

    Raises:
        InvalidInput: if the file is missing or damaged.
    """
    from tacit.fitted import load_fitted, values_of  # noqa: PLC0415 - presets without levels need none of this

    return load_fitted(NAME, Levels, values_of)


def levels_in_use(embedder: EmbedderSettings, home: Home) -> LevelsInUse:
    """Return the levels that hold in `home`: those tuned there with `embedder`, else the shipped ones.

    Raises:
        InvalidInput: if the file that ships is missing or damaged.
    """
    from tacit.fitted import read_artifact  # noqa: PLC0415 - as above

    try:
        tuned = read_artifact(home.levels_file, Levels, name=NAME)
    except InvalidInput as error:
        return LevelsInUse(levels=shipped_levels(), problem=error)
    if tuned is not None and _was_tuned_with(embedder, tuned):
        return LevelsInUse(levels=tuned.values, tuned=True)
    return LevelsInUse(levels=shipped_levels())


def _was_tuned_with(embedder: EmbedderSettings, artifact: Artifact[Levels]) -> bool:
    return dict(artifact.origin.details).items() >= details_of(embedder).items()


def _without_zero(share: float) -> str:
    return f"{share:.2f}".removeprefix("0")
