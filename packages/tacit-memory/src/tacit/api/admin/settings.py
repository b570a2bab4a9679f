"""Settings over HTTP: every value with its layer, changes that hold at once, agents with what they override.

In: checked requests. Out: models of the answers. The ambient seed's partial update, `memory_injection_overridden` and
`reset_memory_injection_override` are here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from tacit.api import answers as shapes
from tacit.api.admin import requests as ask
from tacit.api.answering import Answer, Parameters, Service
from tacit.api.cursors import part_of
from tacit.api.requests import LongPage, NoBody
from tacit.config.describe import describe_settings
from tacit.config.overrides import SettingsTarget
from tacit.config.reference import settings_schema
from tacit.errors import InvalidInput


def get_settings(engine: Service, at: Parameters, request: ask.AtPlace) -> Answer[shapes.SettingsAnswer]:  # noqa: ARG001
    """List every setting with its allowed values, its effective value and the value of each layer, and the settings of agents and projects.

    With `cwd` and `agent` the values are those that hold in that project and for that agent. The answer has
    an `etag` for `If-Match`.
    """
    return _view(engine, cwd=request.cwd, agent=request.agent)


def _view(engine: Service, *, cwd: str = "", agent: str = "") -> Answer[shapes.SettingsAnswer]:
    view = engine.admin.options.view(cwd=cwd, agent=agent)
    return Answer(shapes.SettingsAnswer(settings=view), etag=view.etag)


def explain_setting(engine: Service, at: Parameters, request: ask.AtPlace) -> Answer[shapes.OneSetting]:
    """Get one setting by its dotted name: the layer that won, and the value of each layer.

    Layers are listed from the weakest to the strongest; docs/reference/settings.md explains them.
    """
    row = engine.admin.options.explain(at["key"], cwd=request.cwd, agent=request.agent)
    return Answer(shapes.OneSetting(setting=row))


def list_setting_differences(
    engine: Service,
    at: Parameters,  # noqa: ARG001
    request: ask.AtPlace,
) -> Answer[shapes.Differences]:
    """List the settings that differ from the defaults.

    Each row has the value that holds, its layer, and the value of every layer.
    """
    rows = engine.admin.options.differences(cwd=request.cwd, agent=request.agent)
    return Answer(shapes.Differences(settings=rows))


def get_settings_schema(engine: Service, at: Parameters, request: NoBody) -> Answer[shapes.Document]:  # noqa: ARG001
    """Get the JSON schema of a settings file, for editors.

    Editors that read JSON schemas complete and check config.yaml with it.
    """
    return Answer(shapes.Document(**settings_schema()))


def change_settings(
    engine: Service,
    at: Parameters,  # noqa: ARG001
    request: ask.ChangeSettings,
) -> Answer[shapes.SettingsAnswer]:
    """Write values into one layer. They take effect at once. `null` resets a value.

    The file keeps its comments and order. A value that is not allowed is refused, and nothing is written.
    """
    options = engine.admin.options
    place = SettingsTarget(holder=request.holder, name=request.name)
    written, reset_keys = _parted(request.values)
    if written:
        options.change(place, written)
    for key in reset_keys:
        options.revert(place, key=key)
    return _view(
        engine,
        cwd=request.name if place.holder in ("projects", "project_file") else "",
        agent=request.name if place.holder == "agents" else "",
    )


def _parted(values: Mapping[str, Any], prefix: str = "") -> tuple[dict[str, Any], list[str]]:
    """Values to write by dotted name, and names to take back. A kind is one value."""
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


def revert_settings(engine: Service, at: Parameters, request: ask.RevertSettings) -> Answer[shapes.Reverted]:  # noqa: ARG001
    """Reset one layer, or one setting in it. The layer below takes effect at once.

    Without `key` every value of the layer is reset.
    """
    place = SettingsTarget(holder=request.holder, name=request.name)
    reverted = engine.admin.options.revert(place, key=request.key)
    view = engine.admin.options.view()
    return Answer(shapes.Reverted(reverted=reverted, settings=view), etag=view.etag)


def list_agents(engine: Service, at: Parameters, request: LongPage) -> Answer[shapes.Agents]:  # noqa: ARG001
    """List agents that have settings or occurred in sessions, and whether they override the injection settings.

    An agent is a named role of a host, such as a subagent; settings can differ by agent.
    """
    rows, following = part_of(lambda _: engine.admin.options.agents(), request, lambda agent: agent.name)
    return Answer(shapes.Agents(agents=rows, next_cursor=following))


def get_agent(engine: Service, at: Parameters, request: NoBody) -> Answer[shapes.OneAgent]:  # noqa: ARG001
    """Get one agent: its effective injection settings, and whether it overrides them.

    `memory_injection_overridden` says whether the agent has injection settings of its own.
    """
    return Answer(shapes.OneAgent(agent=engine.admin.options.agent(at["name"])))


def change_agent(engine: Service, at: Parameters, request: ask.ChangeAgent) -> Answer[shapes.OneAgent]:
    """Change some of an agent's injection settings, or let it follow the default again.

    Settings below `recall` are named without that prefix.
    """
    options = engine.admin.options
    place = SettingsTarget(holder="agents", name=at["name"])
    if request.reset_memory_injection_override:
        options.revert(place, key="recall")
    if request.memory_injection:
        written, reset_keys = _parted(request.memory_injection, "recall.")
        if written:
            options.change(place, written)
        for key in reset_keys:
            options.revert(place, key=key)
    return Answer(shapes.OneAgent(agent=options.agent(at["name"])))
