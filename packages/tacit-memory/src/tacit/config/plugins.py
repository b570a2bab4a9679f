"""Stores, models and hosts by name: the built-in names, and what other packages register as entry points.

In: the name of a group and a name in it. Out: all names, or the object that an entry point leads to. The built-in names stand here, so that
settings can be checked without a look at the installed packages. That look costs some milliseconds; it is taken only for other names.
Nothing of another package is imported before `load`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.fields import FieldInfo
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from tacit.errors import ProviderError


@dataclass(frozen=True, slots=True)
class PluginGroup:
    """A group of entry points. As an annotation of a setting it accepts only names of the group.

    A built-in name always means the built-in plugin: another package cannot replace it.

    Attributes:
        group: name of the entry-point group.
        built_in: names that need no other package.
        refused: names that the group of entry points has, but this setting does not take.
        why_refused: the reason, for the error message.
    """

    group: str
    built_in: tuple[str, ...]
    refused: tuple[str, ...] = ()
    why_refused: str = ""

    def names(self) -> tuple[str, ...]:
        """Return the built-in names in their own order, then the other installed ones, sorted; with those that this setting refuses."""
        from importlib.metadata import entry_points  # noqa: PLC0415 - most processes never look

        installed = {point.name for point in entry_points(group=self.group)}
        return (*self.built_in, *sorted(installed - set(self.built_in)))

    def load(self, name: str) -> Any:
        """Import what the entry point `name` refers to, and return it.

        Raises:
            KeyError: if no installed package registers `name`.
            ProviderError: if it cannot be imported.
        """
        from importlib.metadata import entry_points  # noqa: PLC0415 - as above

        for point in entry_points(group=self.group, name=name):
            try:
                return point.load()
            except (ImportError, AttributeError) as error:
                raise ProviderError(
                    f"{point.value}, which provides `{name}` ({self.group}), cannot be imported: {error}.",
                    hint="Reinstall its package, or name another one in the settings.",
                ) from error
        raise KeyError(name)

    def check(self, name: str) -> str:
        """Return `name` if the group has it and this setting takes it.

        Raises:
            ValueError: if it does not; the text lists the names it has.
        """
        installed = self.built_in if name in self.built_in else self.names()
        allowed = [plugin for plugin in installed if plugin not in self.refused]
        if name in allowed:
            return name
        listed = ", ".join(f"'{plugin}'" for plugin in allowed)
        why = f": {self.why_refused}" if name in self.refused else ""
        raise ValueError(
            f"{listed}, or the name of an installed package's entry point in `{self.group}`{why}"
        )

    def __get_pydantic_core_schema__(self, source: type, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self.check, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return {**handler(schema), "examples": list(self.built_in)}


def plugin_group(field: FieldInfo) -> PluginGroup | None:
    """Return the group of entry points whose names the setting `field` takes; None = it takes other values."""
    return next((rule for rule in field.metadata if isinstance(rule, PluginGroup)), None)


STORES = PluginGroup("tacit.stores", ("sqlite",))
EMBEDDERS = PluginGroup("tacit.embedders", ("minilm", "onnx", "openai", "ollama", "fake"))
COMMAND_LINES = ("claude", "opencode", "codex", "gemini")
"""The writers that are command lines of coding agents."""
MODEL_SERVERS = ("openai", "anthropic")
"""The writers that are APIs of model servers."""
WRITERS = PluginGroup("tacit.writers", ("off", *COMMAND_LINES, *MODEL_SERVERS, "fake"))
JUDGES = PluginGroup(
    WRITERS.group,
    ("off", *MODEL_SERVERS, "fake"),
    refused=COMMAND_LINES,
    why_refused="the command line of a coding agent takes seconds to start, and every prompt would wait for it; name an API or a "
    "local server (`openai` stands for any server with its chat completions API), or use the command line for `recall.anticipate`",
)
"""The writers that can be a judge: they answer fast enough for a prompt to wait for them."""
HOSTS = PluginGroup("tacit.hosts", ())
"""Hosts of other packages. The built-in hosts are in `hosts/registry.py`, and no setting names a host."""
