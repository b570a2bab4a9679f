"""What every suite is given: where the data is, which models to use, what may be said while it works."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from tacit.config.home import Home
from tacit.config.reload import SettingsWatcher
from tacit.config.settings import RecallSettings
from tacit.errors import InvalidInput
from tacit.model.pack import Surface
from tacit.ports.models import Embedder
from tacit.recall.stage import Preset
from tacit_evals.data.named import Moment
from tacit_evals.data.recognise import triggers_for
from tacit_evals.fit.fitted import fit_all
from tacit_evals.fit.parts import SHIPPED, Fitted
from tacit_evals.suites.pool import FOCUSED


def shipped_settings() -> RecallSettings:
    """The read path's settings of a fresh home: the default preset, nothing of the user's."""
    with tempfile.TemporaryDirectory(prefix="tacit-eval-") as folder:
        home = Home(Path(folder))
        home.ensure()
        return SettingsWatcher(home, environ={}).current().recall


def without_spaces(
    settings: RecallSettings, names: Sequence[str], *, preset: Preset = FOCUSED
) -> tuple[RecallSettings, Preset]:
    """The settings and the preset with these spaces switched off, before prompts and on demand.

    Raises:
        InvalidInput: for a space that is not on.
    """
    on = tuple(dict.fromkeys((*settings.spaces, *preset.spaces_on_demand)))
    unknown = sorted(set(names) - set(on))
    if unknown:
        raise InvalidInput(f"{unknown[0]!r} is no space that is on.", hint=f"On: {', '.join(on)}.")
    remaining = tuple(space for space in settings.spaces if space not in names)
    return settings.model_copy(update={"spaces": remaining}), replace(
        preset,
        spaces_prompt=tuple(space for space in preset.spaces_prompt if space not in names),
        spaces_on_demand=tuple(space for space in preset.spaces_on_demand if space not in names),
    )


@dataclass(slots=True, kw_only=True)
class Run:
    """One run of a suite.

    Attributes:
        data: the folder given.
        embedder: makes the vectors.
        settings, preset: of the read path.
        fit: folders to fit on; () = what ships.
        as_shipped: what ships was asked for, even where it was fitted on what is evaluated.
        triggers: folder with labelled triggers; None = the local trigger maker.
        phrases: for `inject`: folder with a file PROJECT.jsonl of `when` phrases; projects without one are left out.
        pool: the pool of the suite `action`, where it is not found by itself.
        answers: folder with a language model's recorded answers, for the suites `capture`, `update` and `inject`; None = without one.
        moment: for `inject` with answers: when the model was asked.
        requests: folder that requests without an answer are written to.
        trec: folder for judgments and rankings as TREC files; None = none are written.
        say: called with one line of progress.
    """

    data: Path
    embedder: Embedder
    settings: RecallSettings = field(default_factory=shipped_settings)
    preset: Preset = FOCUSED
    fit: tuple[Path, ...] = ()
    as_shipped: bool = False
    triggers: Path | None = None
    phrases: Path | None = None
    pool: Path | None = None
    answers: Path | None = None
    moment: Moment | None = None
    requests: Path | None = None
    trec: Path | None = None
    say: Callable[[str], None] = field(default=lambda _line: None)
    _fits: dict[tuple[str, ...], Fitted] = field(default_factory=dict[tuple[str, ...], Fitted])

    def fitted(self, *evaluated: str) -> Fitted:
        """The models for evaluating these projects: fitted without any row of theirs, or what ships."""
        if not self.fit:
            return SHIPPED
        names = tuple(sorted(set(evaluated)))
        if names not in self._fits:
            self.say(f"fitting without {', '.join(names)}")
            self._fits[names] = fit_all(
                self.fit, exclude_projects=names, embedder=self.embedder, settings=self.settings
            )
        return self._fits[names]

    def triggers_of(self, project: str) -> Path | None:
        """The labelled triggers of `project`; None in a run with local triggers.

        Raises:
            InvalidInput: if labelled triggers were asked for and there are none for it.
        """
        if self.triggers is None:
            return None
        path = triggers_for(project, self.triggers)
        if path is None:
            raise InvalidInput(
                f"{self.triggers} has no triggers for the project {project!r}.",
                hint=f"It needs {project}/triggers.jsonl; --local-triggers does without.",
            )
        return path

    def labels_of(self, project: str) -> Path | None:
        """Labelled triggers of `project` wherever the data has them, to tell generic rules by; not used for recall."""
        return triggers_for(project, self.triggers or self.data) or triggers_for(project, self.data.parent)

    def described(self) -> dict[str, object]:
        """The settings of the run, for its scorecard."""
        return {
            "triggers": "given" if self.triggers else "local",
            "phrases": str(self.phrases or ""),
            "fit": [str(folder) for folder in self.fit] or "shipped",
            "embedder": str(self.embedder.identity),
            "thresholds": {
                name: getattr(self.settings.thresholds, name) for name in ("prompt", "action", "failure")
            },
            "spaces": list(self.settings.spaces),
            "spaces_prompt": list(self.preset.spaces_at(Surface.PROMPT, self.settings.spaces)),
            "spaces_on_demand": list(self.preset.spaces_on_demand),
        }
