"""Settings: every value with its layer, changes that hold at once, agents with what they override."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, Self, cast

from pydantic import Field, model_validator

from tacit.app.admin.settings import ModelSection, ModelTrial
from tacit.app.engine import Engine
from tacit.app.values import Caller
from tacit.config.describe import describe_settings
from tacit.config.overrides import SettingsTarget
from tacit.errors import InvalidInput
from tacit.verbs.answers import Agents, OneAgent, SettingsAnswer
from tacit.verbs.requests import Folder, LongPage, Name, Request, part_of


class AtPlace(Request):
    """A request for the settings that hold in a folder's project and for an agent."""

    cwd: Folder = Field(default="", description="as they hold in this folder's project")
    agent: str = Field(default="", max_length=200, description="effective values for this agent")


class ListAgents(LongPage):
    """A request for a page of the agents."""

    name: str = Field(default="", max_length=500, description="only the agent of this name")


class ChangeSettings(Request):
    """A request to write settings into one layer."""

    holder: Literal["user", "agents", "projects", "project_file"] = Field(
        default="user",
        description="`user` = for everything; `agents` = for one agent; `projects` = your own for one project;"
        " `project_file` = the file that comes with its code, which can only restrict",
    )
    name: str = Field(default="", max_length=4096, description="the agent's name, or a folder of the project")
    values: dict[str, Any] = Field(
        default_factory=dict[str, Any],
        description="settings by dotted name, or nested; null resets a setting that has no null value",
    )
    reset: tuple[Annotated[str, Field(min_length=1, max_length=200)], ...] = Field(
        default=(), max_length=200, description="instead of `values`: dotted names to reset; `*` = everything"
    )

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if bool(self.values) == bool(self.reset):
            raise ValueError("either values to write, or names to reset")
        return self


class TryModel(Request):
    """A request to test an optional language model."""

    section: ModelSection = Field(description="section of the settings that names the model")


class ChangeAgent(Request):
    """A request to change the injection settings of an agent."""

    name: Name = Field(description="name of the agent")

    memory_injection: dict[str, Any] = Field(
        default_factory=dict[str, Any], description="settings below `recall`; others stay unchanged"
    )
    reset_memory_injection_override: bool = Field(
        default=False, description="first reset all of the agent's settings there"
    )

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if not self.memory_injection and not self.reset_memory_injection_override:
            raise ValueError("settings to change, or reset_memory_injection_override")
        return self


def get_settings(engine: Engine, caller: Caller, request: AtPlace) -> SettingsAnswer:
    """List every setting with its allowed values, its effective value and the value of each layer, and the settings of agents and projects.

    With `cwd` and `agent` the values are those that hold in that project and for that agent. The answer has
    an `etag` for `If-Match`.
    """
    return SettingsAnswer(settings=engine.admin.options.view(cwd=request.cwd, agent=request.agent))


def change_settings(
    engine: Engine,
    caller: Caller,
    request: ChangeSettings,
) -> SettingsAnswer:
    """Write values into one layer, or reset them, so that the layer below takes effect.

    The change holds at once; of the settings whose `restart` is true, when the daemon starts anew.
    The file keeps its comments and order. A value that is not allowed is refused, and nothing is written.
    """
    place = SettingsTarget(holder=request.holder, name=request.name)
    reverted = _change(engine, place, request.values, ["" if key == "*" else key for key in request.reset])
    view = engine.admin.options.view(
        cwd=request.name if place.holder in ("projects", "project_file") else "",
        agent=request.name if place.holder == "agents" else "",
    )
    return SettingsAnswer(settings=view, reverted=reverted)


def _change(
    engine: Engine, place: SettingsTarget, values: Mapping[str, Any], reset: Sequence[str], prefix: str = ""
) -> bool:
    """Reset settings of one layer, then write values into it. Return whether something was reset."""
    options = engine.admin.options
    written, without_value = _parted(values, prefix)
    reverted = [options.revert(place, key=key) for key in reset]
    if written:
        options.change(place, written)
    return any([*reverted, *(options.revert(place, key=key) for key in without_value)])


def _parted(values: Mapping[str, Any], prefix: str = "") -> tuple[dict[str, Any], list[str]]:
    """Split settings to write into values by dotted name, and the dotted names to reset. A kind stays one value. Raises InvalidInput for an empty name."""
    written: dict[str, Any] = {}
    reset_keys: list[str] = []
    for name, value in values.items():
        if not name.strip():
            raise InvalidInput("A setting has no name.", hint="GET /v1/settings lists them.")
        key = f"{prefix}{name}"
        about = describe_settings().get(key)
        if value is None and (about is None or not about.nullable):
            reset_keys.append(key)
        elif isinstance(value, dict) and not key.startswith("kinds.") and value:
            below, above = _parted(cast(dict[str, Any], value), f"{key}.")
            written |= below
            reset_keys += above
        else:
            written[key] = value
    return written, reset_keys


def try_model(engine: Engine, caller: Caller, request: TryModel) -> ModelTrial:
    """Ask an optional language model one question, to see whether it can be used.

    It tells what was sent, what came, the seconds and the tokens; or what is wrong and what to do. The settings on file are used, also those that
    the daemon reads only when it starts. Neither the answer nor the log holds the API key.
    """
    return engine.admin.options.try_model(request.section)


def list_agents(engine: Engine, caller: Caller, request: ListAgents) -> Agents:
    """List agents that have settings or occurred in sessions, with their injection settings, and whether they override them.

    An agent is a named role of a host, such as a subagent; settings can differ by agent. With `name` the answer has
    that one, even if nothing is known of it. `memory_injection_overridden` says whether an agent has injection
    settings of its own.
    """
    options = engine.admin.options
    if request.name:
        return Agents(agents=(options.agent(request.name),), next_cursor=None)
    rows, following = part_of(lambda _: options.agents(), request, lambda agent: agent.name)
    return Agents(agents=rows, next_cursor=following)


def change_agent(engine: Engine, caller: Caller, request: ChangeAgent) -> OneAgent:
    """Change some of an agent's injection settings, or let it follow the default again.

    Settings below `recall` are named without that prefix.
    """
    reset = ["recall"] if request.reset_memory_injection_override else []
    place = SettingsTarget(holder="agents", name=request.name)
    _change(engine, place, request.memory_injection, reset, "recall.")
    return OneAgent(agent=engine.admin.options.agent(request.name))
