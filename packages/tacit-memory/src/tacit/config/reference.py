"""The settings as a page and as a schema, made from the model itself so that they cannot go stale.

In: nothing. Out: `docs/reference/settings.md` as text, and a JSON schema that editors can check config.yaml with.
`python -m tacit.config.reference` prints the page, with `--schema` the schema.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from copy import deepcopy
from typing import Any, cast

from pydantic import BaseModel

from tacit.config.design_names import ALIASES, DESIGN_SECTIONS
from tacit.config.fields import Setting, allowed_words, settings_by_key
from tacit.config.layers import AGENT_SECTIONS
from tacit.config.preset_files import preset_names
from tacit.config.project_rules import ALLOWED
from tacit.config.settings import KindSettings, Settings

_INTRODUCTION = """\
# Settings

Made from `packages/tacit-memory/src/tacit/config/settings.py` by `python -m tacit.config.reference`; do not edit by hand.

Your settings are in `~/.tacit/config.yaml` (or `config.yaml` below `TACIT_HOME`). Everything has a default, so a file
holds only your changes:

```yaml
preset: focused
recall:
  budgets:
    start: 1500
agents:
  plan:            # for the agent `plan` alone
    recall:
      max_items: 4
projects:
  ~/work/shop:     # for the project in this folder alone
    preset: typed
```

`tacit config` alone shows what you changed; `get`, `set` and `reset` read and change settings, and `get --why` shows the value of every layer and
which layer won. `tune` fits the prompt threshold to your own use.
`--agent NAME`, `--project` and `--project-file` select one agent or project. A file that the command creates names its JSON schema for editors.
`tacit config get --schema` prints the schema; [settings.schema.json](settings.schema.json) is a copy. Over HTTP: `/v1/settings` and
`/v1/agents`.

## Layers

A higher layer wins, value by value:

| layer | where |
|---|---|
| call | arguments of the library, options of a command |
| environment | `TACIT_RECALL__BUDGETS__START=1500`: two underscores separate levels, commas separate the items of a list |
| agent | `agents.<name>` in your file; may hold {agent_sections} |
| project | `.tacit/config.yaml` in the project; may restrict, never widen |
| own project | `projects.<folder>` in your file, the folder absolute or from `~`; may hold the same |
| user | your `config.yaml` |
| level | the prompt threshold of `recall.level`, with what was measured at it ([ADR 53](../adr/0053-three-levels.md)) |
| embedder | similarity thresholds of the preset for the embedder in use, where it was measured ([ADR 46](../adr/0046-cosine-bars-by-false-passes.md)) |
| preset | one of {presets} |
| default | the tables below |

A project's file comes with other people's code. It may move a setting only in the direction that the column *project* names. Anything
else is ignored and reported.

An unknown key or an invalid value is reported with its file and line. Commands stop there; an agent's turn continues without that
key. While a file cannot be read, or its `privacy` or `capture` section is wrong, nothing is stored (`privacy.incognito`), because the
intended protection is unknown. A running daemon keeps the last good settings and follows the files within a second, except `daemon`, `store`, `embedder`, `capture.extractor`,
`recall.anticipate`, `recall.judge` and `kinds`, which it reads only at its start.

A preset may have settings of its own, as `recall.ambient.pinned_kinds`: see [presets](presets.md). In another preset they do nothing.

Files are YAML without anchors, aliases, tags or repeated keys, at most 64 kB.
"""

_KINDS = """\
## kinds

`kinds.<name>` adds a kind, or changes a built-in one (then list only the changes):

```yaml
kinds:
  ritual:
    label: Ritual
    prefix: RIT
    importance: 0.7
    standing: true
```

| field | default | values | meaning |
|---|---|---|---|
"""

_BOUNDS = {
    "lower": "lower only",
    "higher": "raise only",
    "turn_off": "off only",
    "turn_on": "the safe value only",
    "subset": "fewer only",
    "more": "add only",
    "stricter": "stricter only",
}


def settings_page() -> str:
    """Return the text of `docs/reference/settings.md`."""
    sections = [
        _INTRODUCTION.format(
            agent_sections=", ".join(f"`{name}`" for name in AGENT_SECTIONS),
            presets=", ".join(f"`{name}`" for name in preset_names()),
        )
    ]
    for title, settings in _by_section().items():
        heading = f"## {title}" if title else "## At the top"
        about = (settings[0].section.__doc__ or "").strip() if title else "Settings without a section."
        sections.append(
            f"{heading}\n\n{about}\n\n| setting | default | values | project | meaning |\n|---|---|---|---|---|"
        )
        sections[-1] += "".join(f"\n{_row(setting)}" for setting in settings) + "\n"
    rows = [
        f"| `{name}` | {_default(field)} | {allowed_words(field)} | {field.description} |"
        for name, field in KindSettings.model_fields.items()
    ]
    sections.append(_KINDS + "\n".join(rows) + "\n")
    return "\n".join(sections)


def settings_schema() -> dict[str, Any]:
    """Return a JSON schema (draft 2020-12) for the user's config.yaml, with its sections of agents."""
    schema = Settings.model_json_schema()
    properties = cast(dict[str, Any], schema["properties"])
    properties["preset"]["enum"] = list(preset_names())
    kind = cast(dict[str, Any], schema["$defs"]["KindSettings"])
    kind.pop("required", None)  # a built-in kind needs only what changes
    for alias, key in ALIASES.items():
        section, name = alias.split(".")
        holder = schema["$defs"][properties[section]["$ref"].rpartition("/")[2]]
        holder["properties"][name] = {"description": f"the same as `{key}`"}
    for theirs, ours in DESIGN_SECTIONS.items():
        properties[theirs] = {**properties[ours], "description": f"the same as `{ours}`"}
    of_agent = {name: deepcopy(properties[name]) for name in (*AGENT_SECTIONS, *DESIGN_SECTIONS)}
    for value in of_agent.values():
        value.pop("default", None)
    properties["agents"] = {
        "type": "object",
        "description": "settings of one agent, by its name",
        "additionalProperties": {"type": "object", "additionalProperties": False, "properties": of_agent},
    }
    properties["projects"] = {**properties["agents"], "description": "settings of one project, by its folder"}
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["title"] = "Tacit settings"
    return schema


def schema_text() -> str:
    """Return `settings_schema` as the text of a file."""
    return f"{json.dumps(settings_schema(), indent=2)}\n"


def _by_section() -> dict[str, list[Setting]]:
    sections: dict[str, list[Setting]] = {}
    of_presets = tuple(f"recall.{name}." for name in preset_names())
    for setting in settings_by_key().values():
        if setting.key.startswith(of_presets):
            continue  # they stand in the README of their preset
        sections.setdefault(setting.key.rpartition(".")[0], []).append(setting)
    return sections


def _row(setting: Setting) -> str:
    bound = _BOUNDS[ALLOWED[setting.key]] if setting.key in ALLOWED else "-"
    meaning = setting.field.description or ""
    return f"| `{setting.key}` | {_default(setting.field)} | {allowed_words(setting.field)} | {bound} | {meaning} |"


def _default(field: Any) -> str:
    if field.is_required():
        return "(required)"
    value = field.get_default(call_default_factory=True)
    if isinstance(value, BaseModel):
        return ""
    return f"`{json.dumps(value)}`"


def main(arguments: Sequence[str]) -> int:
    """Print the page of the settings or, with `--schema`, the JSON schema."""
    sys.stdout.write(schema_text() if "--schema" in arguments else settings_page())
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
