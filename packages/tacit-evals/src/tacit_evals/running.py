"""What every suite is given: where the data is, which models to use, what may be said while it works."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tacit.config.settings import RecallSettings
from tacit.errors import InvalidInput
from tacit.model.pack import Surface
from tacit.ports.models import Embedder
from tacit.recall.stage import Preset
from tacit_evals.data import triggers_for
from tacit_evals.fit.fitted import fit_all
from tacit_evals.pool import FOCUSED, SHIPPED, Fitted, shipped_settings


@dataclass(slots=True, kw_only=True)
class SuiteRun:
    """One run of a suite.

    Attributes:
        data: the folder given.
        embedder: makes the vectors.
        settings, preset: of the read path.
        fit: folders to fit on; () = what ships.
        triggers: folder with labelled triggers; None = the local trigger maker.
        pool: the pool of the suite `action`, where it is not found by itself.
        say: called with one line of progress.
    """

    data: Path
    embedder: Embedder
    settings: RecallSettings = field(default_factory=shipped_settings)
    preset: Preset = FOCUSED
    fit: tuple[Path, ...] = ()
    triggers: Path | None = None
    pool: Path | None = None
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
            "fit": [str(folder) for folder in self.fit] or "shipped",
            "embedder": str(self.embedder.identity),
            "thresholds": {
                name: getattr(self.settings.thresholds, name) for name in ("prompt", "action", "failure")
            },
            "spaces": list(self.settings.spaces),
            "spaces_prompt": list(self.preset.spaces_at(Surface.PROMPT, self.settings.spaces)),
            "spaces_on_demand": list(self.preset.spaces_on_demand),
        }
