"""Names that the presets' design documents use for what a setting here says, for people who know those.

In: nothing. Out: a table. A name that could be a setting's is accepted in its place; for others the error names the setting that is
meant. docs/reference/presets.md lists all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from tacit.model.kinds import BUILTIN, DIGEST, RULES

DESIGN_NAMES: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "ambient": {
        "search_limit": ("recall.candidates_per_space",),
        "graph_seed_threshold": ("recall.spaces", "recall.ambient.cosine"),
        "graph_seed_limit": ("recall.spaces", "recall.candidates_per_space"),
        "contextual_min_score": ("recall.ambient.ratio",),
        "semantic_threshold": ("capture.near_cosine",),
        "context_window_depth": ("recall.reinject_after",),
        "ambient_enabled": ("recall.ambient.enabled",),
        "pinned_types": ("recall.ambient.pinned_kinds",),
        "pinned_limit": ("recall.ambient.pinned_limit",),
        "pinned_sort": ("recall.ambient.pinned_sort",),
        "max_total": ("recall.max_items",),
        "max_injected_blocks_in_history": ("recall.history_blocks",),
    },
    "refresh": {
        "ENABLE_PER_TURN_REFRESH": ("recall.refresh.top",),
        "Similarity threshold per-turn": ("recall.refresh.similarity_later",),
        "Max semantic results": ("recall.refresh.top",),
    },
    "scoped": {
        "MEMORY_BUDGET.universal": ("recall.scoped.universal",),
        "MEMORY_BUDGET.language": ("recall.scoped.language",),
        "MEMORY_BUDGET.project": ("recall.scoped.project",),
        "MEMORY_BUDGET.reserve": ("recall.scoped.reserve",),
        "SESSION_CODES_BUDGET": ("recall.scoped.done", "recall.scoped.decided", "recall.scoped.open"),
        "QUERY_BUDGET.universal": ("recall.scoped.asked_universal",),
        "QUERY_BUDGET.language": ("recall.scoped.asked_language",),
        "QUERY_BUDGET.project": ("recall.scoped.asked_project",),
        "STARTUP_TOTAL": ("recall.budgets.start",),
        "STARTUP_BUDGET": ("recall.budgets.start",),
        "QUERY_TOTAL": ("recall.budgets.on_demand",),
        "SESSION_CAP": ("recall.scoped.session_tokens",),
    },
    "typed": {
        "injection.enabled": ("recall.enabled",),
        "session_start.enabled": ("recall.budgets.start",),
        "session_start.budget_tokens": ("recall.budgets.start",),
        "per_prompt.enabled": ("recall.budgets.prompt",),
        "per_prompt.budget_tokens": ("recall.budgets.prompt",),
        "per_prompt.min_relevance_score": ("recall.thresholds.prompt",),
        "error_context.enabled": ("recall.budgets.failure",),
        "error_context.budget_tokens": ("recall.budgets.failure",),
        "learning_capture.enabled": ("capture.enabled",),
        "learning_capture.capture_decisions": ("capture.kinds",),
        "learning_capture.capture_preferences": ("capture.kinds",),
        "learning_capture.capture_errors": ("capture.kinds",),
        "learning_capture.capture_outcomes": ("capture.kinds",),
        "learning_capture.deduplication_threshold": ("capture.near_cosine",),
        "scoring.semantic_similarity_weight": ("recall.typed.semantic",),
        "scoring.recency_weight": ("recall.typed.recency",),
        "scoring.importance_weight": ("recall.typed.importance",),
        "scoring.access_frequency_weight": ("recall.typed.access",),
        "scoring.type_priority_weight": ("recall.typed.kind",),
        "type_thresholds": ("recall.typed.similarity",),
        "types": ("recall.kinds",),
        "isolation.enabled": ("project.link",),
        "isolation.share_preferences": ("project.others",),
    },
}
"""For each preset: the names of settings in its original design, and the settings here with the same meaning."""
NOTES: Mapping[str, str] = {
    "graph_seed_threshold": "relations start from memories that share words or a name with the prompt; importance starts none",
    "graph_seed_limit": "relations start from memories that share words or a name with the prompt; what they bring has the limit of every source",
    "ENABLE_PER_TURN_REFRESH": "0 = off",
    "semantic_threshold": "drops nothing: from this cosine on two statements are linked as near",
    "learning_capture.deduplication_threshold": "merges nothing: from this cosine on two statements are linked as near",
    "session_start.enabled": "0 = off",
    "per_prompt.enabled": "0 = off",
    "error_context.enabled": "0 = off",
    "learning_capture.capture_decisions": "the list of kinds that are learned",
    "learning_capture.capture_preferences": "the list of kinds that are learned; preference stands for all rules",
    "learning_capture.capture_errors": "the list of kinds that are learned",
    "learning_capture.capture_outcomes": "the list of kinds that are learned; digests stand for outcomes",
    "isolation.enabled": 'false = `["*"]`: the memories of every project may be read',
    "isolation.share_preferences": "true = `preferences`, false = `public`: only memories marked public are seen",
}
"""For a name in a design: how its meaning differs here."""
DESIGN_ROOTS = frozenset({"memory", "memory.injection"})
"""The sections that contain the settings in the design of `typed`. A configuration after its section 6.1 is accepted as it is."""
_CAPTURED: Mapping[str, tuple[str, ...]] = {
    "capture_decisions": ("decision",),
    "capture_preferences": tuple(sorted(RULES)),
    "capture_errors": ("error_pattern",),
    "capture_outcomes": ("outcome", DIGEST),
}
"""For a switch of the design: the kinds that are not learned if it is off."""
_SWITCHES: Mapping[str, tuple[str, object]] = {
    "session_start.enabled": ("recall.budgets.start", 0),
    "per_prompt.enabled": ("recall.budgets.prompt", 0),
    "error_context.enabled": ("recall.budgets.failure", 0),
    "isolation.enabled": ("project.link", ["*"]),
}
"""For a switch of the design: the setting here, and its value if the switch is off."""
DESIGN_SECTIONS = {"memory_injection": "recall"}
"""For a section of a design: the section here that has its settings."""
_INJECTION = {
    name.removeprefix("injection."): settings[0] for name, settings in DESIGN_NAMES["typed"].items()
}
ALIASES: Mapping[str, str] = {
    f"recall.{name}": settings[0]
    for names in DESIGN_NAMES.values()
    for name, settings in names.items()
    if name.isidentifier() and name.islower() and len(settings) == 1 and settings[0].startswith("recall.")
}
"""For an accepted key: the setting that it stands for."""


def own_key(key: str) -> str:
    """Return the key of the setting that `key` of a design stands for; any other key is returned unchanged."""
    top, _, name = key.partition(".")
    below = f"{DESIGN_SECTIONS.get(top, top)}.{name}" if name else key
    return ALIASES.get(below, below)


def names_of(key: str) -> tuple[str, ...]:
    """Return every key under which a file may hold the setting `key`, its own key first."""
    own = own_key(key)
    own_names = (own, *(alias for alias, setting in ALIASES.items() if setting == own))
    theirs = {ours: design for design, ours in DESIGN_SECTIONS.items()}
    parted = (name.partition(".") for name in own_names)
    design_names = (f"{theirs[top]}{dot}{remainder}" for top, dot, remainder in parted if top in theirs)
    injection = (name for name, setting in _INJECTION.items() if setting == own)
    return (*own_names, *design_names, *(f"memory.injection.{name}" for name in injection))


def with_own_names(values: Mapping[str, object]) -> dict[str, object]:
    """Return nested `values` with the names of a design replaced by those of the settings. If a file has both, the setting's own name wins."""
    renamed = _with_injection_read(values)
    for theirs, ours in DESIGN_SECTIONS.items():
        section_values = renamed.pop(theirs, None)
        if isinstance(section_values, Mapping):
            renamed[ours] = {**cast("Mapping[str, object]", section_values), **_section(renamed, ours)}
        elif section_values is not None:
            renamed[theirs] = section_values
    for alias, key in ALIASES.items():
        section, name = alias.split(".")
        section_values = _section(renamed, section)
        if name in section_values:
            value = section_values.pop(name)
            renamed[section] = section_values
            _put(renamed, key.split("."), value)
    return renamed


def _with_injection_read(values: Mapping[str, object]) -> dict[str, object]:
    """Return `values` with the section `memory.injection` of the design of `typed` turned into settings.

    What it does not know stays where it is, so that the check names it.
    """
    renamed = dict(values)
    memory = _section(renamed, "memory")
    injection = memory.pop("injection", None)
    if not isinstance(injection, Mapping):
        return renamed
    found: dict[str, object] = {}
    unread: dict[str, object] = {}
    off: set[str] = set()
    for name, value in _leaves(cast("Mapping[str, object]", injection)):
        if name in _SWITCHES:
            setting, when_off = _SWITCHES[name]
            if value is not True:
                found[setting] = when_off if value is False else value
        elif (kinds := _CAPTURED.get(name.removeprefix("learning_capture."))) and isinstance(value, bool):
            off.update(() if value else kinds)
        elif name == "isolation.share_preferences" and isinstance(value, bool):
            found["project.others"] = "preferences" if value else "public"
        elif name in _INJECTION:
            found.setdefault(_INJECTION[name], value)
        else:
            _put(unread, name.split("."), value)
    if off:
        found["capture.kinds"] = [kind.name for kind in BUILTIN if kind.name not in off]
    if unread:
        memory["injection"] = unread
    renamed["memory"] = memory
    if not memory:
        del renamed["memory"]
    for key, value in found.items():
        _put(renamed, key.split("."), value)
    return renamed


def _leaves(section: Mapping[str, object], prefix: str = "") -> Iterator[tuple[str, object]]:
    """Yield the dotted names in a section of the design with their values. A mapping that is the value of a setting is not split."""
    for name, value in section.items():
        path = f"{prefix}{name}"
        if isinstance(value, Mapping) and path not in _INJECTION:
            yield from _leaves(cast("Mapping[str, object]", value), f"{path}.")
        else:
            yield path, value


def _put(values: dict[str, object], path: Sequence[str], value: object) -> None:
    """Set a nested value, unless there is one already."""
    *parents, last = path
    at = values
    for parent in parents:
        at[parent] = at = _section(at, parent)
    at.setdefault(last, value)


def _section(values: Mapping[str, object], name: str) -> dict[str, object]:
    section = values.get(name)
    return dict(cast("Mapping[str, object]", section)) if isinstance(section, Mapping) else {}


def settings_called(key: str) -> tuple[str, ...]:
    """Return the settings that a design calls `key`, whatever the case and the section before it; () = none."""
    ending = f".{key}".casefold()
    pairs = [(f".{name}".casefold(), own) for names in DESIGN_NAMES.values() for name, own in names.items()]
    matches = [
        own for name, own in pairs if ending.endswith(name) or (name.count(".") > 1 and name.endswith(ending))
    ]
    below = [own for name, own in pairs if name.startswith(f"{ending}.")]
    return tuple(dict.fromkeys(setting for own in matches[:1] or below for setting in own))


def note_on(key: str) -> str:
    """Return how the meaning of `key` of a design differs here; "" = it does not differ."""
    ending = f".{key}".casefold()
    return next((note for name, note in NOTES.items() if ending.endswith(f".{name.casefold()}")), "")
