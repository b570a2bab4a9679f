"""Settings as the owner sees and changes them: every value with the layer it comes from, and what an agent or project overrides.

In: a folder, an agent's name, changes. Out: values with their origins; a changed settings file. Most of what is written
holds at once; each setting says whether it waits for the next start of the daemon. Writes nothing that does not pass the one typed model.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from threading import Lock
from typing import Any, Literal

from tacit.app.values import OpenStore
from tacit.config.describe import Described, describe_settings
from tacit.config.design_names import own_key
from tacit.config.environment import secret
from tacit.config.fields import unknown_setting
from tacit.config.layers import LayerName, Origin, SettingsReport, read_settings
from tacit.config.levels import levels_in_use, uses_levels
from tacit.config.overrides import (
    SettingsTarget,
    file_of,
    named_holders,
    overridden,
    reset_values,
    set_values,
)
from tacit.config.preset_files import preset_names
from tacit.config.settings import LevelName, Settings, WriterSettings
from tacit.errors import InvalidInput, ProviderError
from tacit.frozen import frozen
from tacit.model.pack import Surface
from tacit.ports.writer import Writer, WriterRequest
from tacit.providers.writing import key_variable

SESSIONS_READ = 500
ModelSection = Literal["capture.extractor", "recall.anticipate", "recall.judge"]
INJECTION = "recall."
"""Prefix of the injection settings; the ambient seed calls them `memory_injection`."""


@frozen
class LayerValue:
    """The value of one layer, with its place (file and line, or variable)."""

    layer: LayerName
    place: str
    value: Any


@frozen
class SettingRow:
    """One setting: its allowed values, its effective value, and the value of each layer, lowest first; the last one wins."""

    about: Described
    key: str
    value: Any
    layer: LayerName
    place: str
    origins: tuple[LayerValue, ...]


@frozen
class AgentSettings:
    """The settings of one agent.

    Attributes:
        name: of the agent.
        memory_injection_overridden: whether anything of its injection is its own, not the default.
        overridden: dotted names of its own settings.
        memory_injection: its injection settings (`recall`) as they hold.
        last_seen_ms: of its newest session; null = none is known.
    """

    name: str
    memory_injection_overridden: bool
    overridden: tuple[str, ...]
    memory_injection: Mapping[str, Any]
    last_seen_ms: int | None


@frozen
class ProjectSettingsRow:
    """The settings of one project in the user's file. `folder` = the name of its section, else its root."""

    id: str
    name: str
    root: str
    folder: str
    overridden: tuple[str, ...]


@frozen
class LevelRow:
    """One level of `recall.level`, with what was measured at it.

    Attributes:
        name: of the level.
        threshold: least relevance that is injected before a prompt.
        precision: share of the injected memories that were needed; null = not measured, here and below.
        coverage: share of the needed memories that prompts bring, in addition to the start pack.
        wrongful: share of the prompts that deserve nothing and get something.
        tokens: mean of all prompts.
        tuned: fitted to this store by `tacit config tune`.
    """

    name: LevelName
    threshold: float
    precision: float | None
    coverage: float | None
    wrongful: float | None
    tokens: float | None
    tuned: bool


@frozen
class SettingsView:
    """Everything that a page of settings shows.

    Attributes:
        etag: for `If-Match`; changes with the user's file.
        file, project_file: where the user's and the project's settings are, there or not; "" without a project.
        cwd, agent: asked for.
        settings: in the order of the documentation.
        kinds: kinds of the user's own, with their fields.
        warnings: what is wrong with a file, in sentences.
        presets: names.
        levels: of `recall.level`, from the quietest on; () where the preset has a threshold of its own.
        agents, projects: what they have of their own.
    """

    etag: str
    file: str
    project_file: str
    cwd: str
    agent: str
    settings: tuple[SettingRow, ...]
    kinds: Mapping[str, Any]
    warnings: tuple[str, ...]
    presets: tuple[str, ...]
    levels: tuple[LevelRow, ...]
    agents: tuple[AgentSettings, ...]
    projects: tuple[ProjectSettingsRow, ...]


class SettingsAdmin:
    """Reads and writes settings over the files of one home."""

    def __init__(self, opened: OpenStore) -> None:
        self._parts, self._projects, self._changed = opened.parts, opened.projects, opened.changed
        self._lock = Lock()

    # --- looking

    def view(self, *, cwd: str = "", agent: str = "") -> SettingsView:
        """Return the effective settings of an agent in a folder."""
        report = self._report(cwd, agent)
        root = self._root(cwd)
        project_file = (
            file_of(self._parts.home, SettingsTarget(holder="project_file", name=str(root))) if root else ""
        )
        return SettingsView(
            etag=self.etag(),
            file=str(self._parts.home.config_file),
            project_file=str(project_file),
            cwd=cwd,
            agent=agent,
            settings=tuple(_row(about, report.origins[key]) for key, about in describe_settings().items()),
            kinds={name: kind.model_dump(mode="json") for name, kind in report.settings.kinds.items()},
            warnings=tuple(str(warning) for warning in report.warnings),
            presets=preset_names(),
            levels=self._levels(report.settings),
            agents=self.agents(),
            projects=self._own_projects(),
        )

    def explain(self, key: str, *, cwd: str = "", agent: str = "") -> SettingRow:
        """Return one setting with the value of every layer.

        Raises:
            UnknownSetting: if there is none of this name; names the nearest one.
        """
        key = own_key(key)
        about = describe_settings().get(key)
        if about is None:
            raise unknown_setting(key, "settings")
        return _row(about, self._report(cwd, agent).origins[key])

    def agents(self) -> tuple[AgentSettings, ...]:
        """List agents with settings of their own and agents seen in sessions, by name."""
        last_signal_ms: dict[str, int] = {}
        for state in self._parts.store.list_sessions(limit=SESSIONS_READ):
            if state.agent:
                last_signal_ms.setdefault(state.agent, state.last_signal_at_ms)
        names = {*last_signal_ms, *named_holders(self._parts.home, "agents")}
        return tuple(self._agent(name, last_signal_ms.get(name)) for name in sorted(names))

    def agent(self, name: str) -> AgentSettings:
        """Return the settings of one agent, even if no such agent is known."""
        return next((agent for agent in self.agents() if agent.name == name), None) or self._agent(name, None)

    def etag(self) -> str:
        """Return a tag that changes with the user's file."""
        try:
            body = self._parts.home.config_file.read_bytes()
        except OSError:
            body = b""
        return hashlib.sha256(body).hexdigest()[:20]

    def trial(
        self, cwd: str, *, preset: str | None, surface: Surface, threshold: float | None
    ) -> Callable[[Settings], Settings]:
        """Return a function that changes settings for a trial: another preset, or another threshold of one surface; None = no change.

        Raises:
            InvalidSetting: if there is no such preset.
        """
        root, home = self._root(cwd), self._parts.home

        def adjust(settings: Settings) -> Settings:
            if preset is not None:
                settings = read_settings(home, root, overrides={"preset": preset}).settings
            if threshold is None:
                return settings
            thresholds = settings.recall.thresholds.model_copy(update={surface.value: threshold})
            recall = settings.recall.model_copy(update={"thresholds": thresholds})
            return settings.model_copy(update={"recall": recall})

        return adjust

    def try_model(self, section: ModelSection) -> ModelTrial:
        """Ask the optional model of `section` one question, with the settings on file. Blocks, at most 30 seconds."""
        settings = model_settings(self._parts.settings.current(), section)
        name = key_variable(settings)
        return ask_model(section, settings, self._parts.make_writer, key=secret(name), key_name=name)

    # --- changing

    def change(self, place: SettingsTarget, values: Mapping[str, object]) -> None:
        """Write values into one place of the settings; keys may be dotted names or nested.

        They hold at once, or from the next start of the daemon where the setting says so.

        Raises:
            UnknownSetting, InvalidSetting: naming what is wrong and what is allowed; nothing is written.
        """
        with self._lock:
            set_values(self._parts.home, self._resolved(place), values)
        self._settle()

    def revert(self, place: SettingsTarget, *, key: str = "") -> bool:
        """Remove what one place sets from its file: one dotted name, or all of it but the sections of agents and projects (`key` ""). Return False if there was nothing.

        Raises:
            InvalidInput: if `place` names no agent or no project.
            InvalidSetting: if the file cannot be read; nothing is written.
        """
        with self._lock:
            reverted = reset_values(self._parts.home, self._resolved(place), key=key)
        self._settle()
        return reverted

    def _settle(self) -> None:
        self._parts.settings.look_again()
        self._changed()

    def _resolved(self, place: SettingsTarget) -> SettingsTarget:
        """Return `place` with a project's folder replaced by the project's root; raise `InvalidInput` if no name is given."""
        if place.holder == "agents" and not place.name:
            raise InvalidInput("No agent was named.", hint="Name one.")
        if place.holder not in ("projects", "project_file"):
            return place
        root = self._root(place.name)
        if root is None:
            raise InvalidInput("No project was named.", hint="Name its folder.")
        return SettingsTarget(holder=place.holder, name=str(root))

    # --- parts

    def _root(self, cwd: str) -> Path | None:
        project = self._projects.of(str(Path(cwd).expanduser())) if cwd else None
        return Path(project.root) if project else None

    def _report(self, cwd: str, agent: str) -> SettingsReport:
        return self._parts.settings.report(self._root(cwd), agent=agent)

    def _levels(self, settings: Settings) -> tuple[LevelRow, ...]:
        if not uses_levels(settings.preset):
            return ()
        in_use = levels_in_use(settings.embedder, self._parts.home)
        return tuple(
            LevelRow(name=name, tuned=in_use.tuned, **asdict(level)) for name, level in in_use.levels.items()
        )

    def _agent(self, name: str, last_seen_ms: int | None) -> AgentSettings:
        report = self._parts.settings.report(None, agent=name)
        own = overridden(report, "agents")
        return AgentSettings(
            name=name,
            memory_injection_overridden=any(key.startswith(INJECTION) for key in own),
            overridden=own,
            memory_injection=report.settings.recall.model_dump(mode="json"),
            last_seen_ms=last_seen_ms,
        )

    def _own_projects(self) -> tuple[ProjectSettingsRow, ...]:
        names_by_root = {
            Path(name).expanduser(): name for name in named_holders(self._parts.home, "projects")
        }
        rows: list[ProjectSettingsRow] = []
        for project in self._parts.store.projects():
            if not project.root:  # imported; nobody has worked in it here yet
                continue
            root = Path(project.root)
            own = (
                overridden(read_settings(self._parts.home, root), "projects") if root in names_by_root else ()
            )
            rows.append(
                ProjectSettingsRow(
                    id=project.id,
                    name=project.name,
                    root=project.root,
                    folder=names_by_root.pop(root, str(root)),
                    overridden=own,
                )
            )
        for root, name in names_by_root.items():
            own = overridden(read_settings(self._parts.home, root), "projects")
            rows.append(
                ProjectSettingsRow(id="", name=root.name, root=str(root), folder=name, overridden=own)
            )
        return tuple(sorted(rows, key=lambda row: (row.name, row.root)))


def _row(about: Described, origins: tuple[Origin, ...]) -> SettingRow:
    values = tuple(
        LayerValue(layer=origin.layer, place=origin.place, value=origin.plain) for origin in origins
    )
    return SettingRow(
        about=about,
        key=about.key,
        value=values[-1].value,
        layer=values[-1].layer,
        place=values[-1].place,
        origins=values,
    )


# One question to an optional language model, to see whether it can be used. In: a section of the settings. Out: what was sent, what came, the cost, or what is wrong.
#
# It asks with the settings that are on file now, also where a running daemon reads them at its next start. No word of a memory or session is sent.

MOST_WAIT_MS = 30_000
MOST_TOKENS = 300
"""A model that thinks before it speaks needs more than the one word."""
_SYSTEM = "You are asked whether you can be reached."
_QUESTION = "Answer with the one word: ready"


@frozen
class ModelTrial:
    """The result of one question to a language model.

    Attributes:
        works: whether it answered.
        model: provider and model; "" = the section is off.
        sent: all that was sent.
        answer: what came back, at most 200 characters.
        seconds: how long it took.
        tokens_in, tokens_out: what it cost; 0 = not told.
        problem, hint: what is wrong, and what to do; "" = nothing is.
    """

    works: bool
    model: str = ""
    sent: str = ""
    answer: str = ""
    seconds: float = 0.0
    tokens_in: int = 0
    tokens_out: int = 0
    problem: str = ""
    hint: str = ""


def model_settings(settings: Settings, section: ModelSection) -> WriterSettings:
    """Return the settings of the model of one section, in the form of a writer's."""
    match section:
        case "capture.extractor":
            found = settings.capture.extractor
        case "recall.anticipate":
            found = settings.recall.anticipate.as_writer()
        case "recall.judge":
            found = settings.recall.judge.as_writer()
    return found.model_copy(update={"timeout_ms": min(found.timeout_ms, MOST_WAIT_MS)})


def ask_model(
    section: ModelSection,
    settings: WriterSettings,
    make: Callable[[str, WriterSettings], Writer | None],
    *,
    key: str,
    key_name: str,
) -> ModelTrial:
    """Ask the model of `section` one question. Blocks, at most 30 seconds; an expected failure is part of the result.

    Args:
        section: of the settings.
        settings: of the model.
        make: makes a writer from a section's name and settings.
        key: the API key, which is taken out of whatever is told; "" = there is none.
        key_name: the variable that should hold it; "" = none is needed.
    """
    begun = time.monotonic()
    sent = f"{_SYSTEM} {_QUESTION}"
    name = ""
    writer: Writer | None = None
    try:
        writer = make(section, settings)
        if writer is None:
            return ModelTrial(
                works=False, problem="No model is set here.", hint=f"Set {section}.provider first."
            )
        name = writer.name
        answer = writer.write(WriterRequest(system=_SYSTEM, user=_QUESTION, most_output_tokens=MOST_TOKENS))
    except ProviderError as error:
        hint = error.hint
        if key_name and not key:
            hint = f"The variable {key_name} is not set where the daemon runs. Set it there, then `tacit stop`. {hint}".strip()
        told = ModelTrial(works=False, model=name, sent=sent, problem=str(error), hint=hint)
    else:
        told = ModelTrial(
            works=True,
            model=name,
            sent=sent,
            answer=answer.text[:200],
            tokens_in=answer.tokens_in,
            tokens_out=answer.tokens_out,
        )
    finally:
        if writer is not None:
            writer.close()
    hidden = {field: _without(key, getattr(told, field)) for field in ("answer", "problem", "hint")}
    return replace(told, **hidden, seconds=round(time.monotonic() - begun, 2))


def _without(key: str, text: str) -> str:
    return text.replace(key, "[key]") if key else text
