"""The registry of kinds. A kind is data; an unknown kind is an error that names the known ones."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from functools import lru_cache

from tacit.errors import InvalidInput, UnknownKind
from tacit.frozen import frozen

_NOT_PLAIN = re.compile(r"[^\w .-]")


@frozen
class Kind:
    """The kind of a memory. What Tacit does differently for a kind, presets aside, is declared here; presets weigh and list kinds in their folders.

    Attributes:
        name: the word used in data, e.g. `preference`.
        label: the word shown to people.
        prefix: the short code used in rendered lines and digests, e.g. `PREF`.
        importance: base importance, 0-1.
        half_life_days: after so many days its freshness is one half; None = never ages.
        relevance_floor: a candidate of this kind below this calibrated relevance is never injected, 0-1.
        standing: a standing rule applies until it is superseded and is exempt from age gating.
        episodic: tells what happened; ages, and another moment never ends it.
        description: what statements of this kind say, for a model that reads sessions.
        offered: such a model may choose it; not what it cannot tell from another kind, nor what only tells of one moment.
        separate: two statements of this kind that differ in a name or value speak of two things, as two episodes do.
        session_note: Tacit writes one for a session and renews it; see `Memory.is_session_note`.
        at_start: belongs to the broad part of the start pack, as standing kinds do.
        in_profile: part of the profile of the user and the project, as an agent may ask for it.
        always: applies whatever is being done.
        from_tools: tool output may become a memory of this kind.
        describes_code: says what a file holds, so that a changed file makes it doubtful.
        explains_errors: its first side is a symptom, its second one the cause or the fix.
        is_symptom, is_result: of one exchange of a session, what went wrong, or what came of it.
        action_worth: how much a memory of this kind is worth at the moment of acting, 0-1; None = by its nature.
        actions: action classes at which it usually matters, with their chance, for the trigger that is guessed of a statement. Before a
            tool call such a guess brings nothing unless the words name the command or file.
        breadth: what the kind adds to the breadth of a trigger that was made from the words alone.
    """

    name: str
    label: str
    prefix: str
    importance: float
    half_life_days: float | None = None
    relevance_floor: float = 0.0
    standing: bool = False
    episodic: bool = False
    description: str = ""
    offered: bool = True
    separate: bool = False
    session_note: bool = False
    at_start: bool = False
    in_profile: bool = False
    always: bool = False
    from_tools: bool = False
    describes_code: bool = False
    explains_errors: bool = False
    is_symptom: bool = False
    is_result: bool = False
    action_worth: float | None = None
    actions: tuple[tuple[str, float], ...] = (("edit_code", 0.3),)
    breadth: float = 0.0

    def __post_init__(self) -> None:
        if not 0.0 <= self.importance <= 1.0:
            raise InvalidInput(
                f"Kind {self.name!r}: importance is {self.importance}, must be between 0 and 1."
            )
        if self.half_life_days is not None and self.half_life_days <= 0:
            raise InvalidInput(
                f"Kind {self.name!r}: half_life_days is {self.half_life_days}, must be above 0."
            )
        if self.standing and self.episodic:
            raise InvalidInput(
                f"Kind {self.name!r} is both standing and episodic; it can be only one of them."
            )


BUILTIN: tuple[Kind, ...] = (
    Kind(
        name="identity", label="Identity", prefix="ID", importance=0.9, standing=True, always=True, in_profile=True,
        description="who the user is", action_worth=0.2, breadth=1.9,
    ),
    Kind(
        name="preference", label="Preference", prefix="PREF", importance=0.8, standing=True, in_profile=True,
        description="how the user wants things done, from now on",
        actions=(("edit_code", 0.4), ("implement_feature", 0.25)), breadth=0.6,
    ),
    Kind(
        name="correction", label="Correction", prefix="CORR", importance=0.9, standing=True, in_profile=True,
        description="what the agent got wrong and how it is right", is_symptom=True,
        actions=(("edit_code", 0.6), ("implement_feature", 0.4), ("debug_investigate", 0.25)), breadth=0.35,
    ),
    Kind(
        name="anti_pattern", label="Rule", prefix="ANTI", importance=0.85, standing=True, in_profile=True,
        description="what must not be done", offered=False,
        actions=(("edit_code", 0.55), ("review_code", 0.3)), breadth=0.4,
    ),
    Kind(
        name="decision", label="Decision", prefix="DEC", importance=0.8, standing=True, is_result=True,
        description="what was chosen, with the reason",
        actions=(("edit_code", 0.5), ("implement_feature", 0.4), ("plan_or_spec", 0.35)), breadth=0.25,
    ),
    Kind(
        name="goal", label="Goal", prefix="GOAL", importance=0.7, half_life_days=90, at_start=True, in_profile=True,
        description="what the project is to achieve", action_worth=0.4,
        actions=(("plan_or_spec", 0.6), ("implement_feature", 0.4)),
    ),
    Kind(
        name="todo", label="Open task", prefix="TODO", importance=0.5, half_life_days=14, episodic=True,
        description="work that was agreed or asked for and is still open at the end",
        session_note=True, at_start=True, is_symptom=True, breadth=-0.1,
        actions=(("plan_or_spec", 0.45), ("edit_code", 0.4), ("implement_feature", 0.35), ("execute_plan", 0.3)),
    ),
    Kind(
        name="fact", label="Fact", prefix="FACT", importance=0.5, half_life_days=180, description="how something is",
        describes_code=True, is_symptom=True, action_worth=1.0, breadth=0.1,
        actions=(("edit_code", 0.38), ("explain_code", 0.32), ("debug_investigate", 0.25), ("answer_question", 0.15)),
    ),
    Kind(
        name="file_context", label="File", prefix="FILE", importance=0.5, half_life_days=90,
        description="what a file or folder is for", separate=True, describes_code=True, is_result=True,
        action_worth=0.5, breadth=0.2,
        actions=(("edit_code", 0.58), ("explain_code", 0.42), ("implement_feature", 0.2)),
    ),
    Kind(
        name="error_pattern", label="Error and fix", prefix="ERR", importance=0.7, half_life_days=180,
        description="an error with its cause and what fixed it", separate=True, from_tools=True,
        explains_errors=True, is_symptom=True, action_worth=0.9, breadth=0.05,
        actions=(("debug_investigate", 0.75), ("fix_bug", 0.6), ("edit_code", 0.25)),
    ),
    Kind(
        name="research", label="Research", prefix="RES", importance=0.5, half_life_days=60,
        description="what was found out by looking into it", action_worth=0.4, breadth=-0.1,
        actions=(("edit_code", 0.4), ("plan_or_spec", 0.35), ("answer_question", 0.35), ("offer_options", 0.25)),
    ),
    Kind(
        name="outcome", label="Outcome", prefix="OUT", importance=0.4, half_life_days=30, episodic=True,
        offered=False, is_result=True, breadth=-0.1,
        actions=(("edit_code", 0.5), ("explain_code", 0.25), ("answer_question", 0.2)),
    ),
    Kind(
        name="event", label="Event", prefix="EVT", importance=0.3, half_life_days=14, episodic=True, offered=False,
        actions=(("answer_question", 0.4),), breadth=-0.1,
    ),
    Kind(
        name="observation", label="Observation", prefix="OBS", importance=0.3, half_life_days=30, episodic=True,
        offered=False, from_tools=True, actions=(("debug_investigate", 0.4), ("answer_question", 0.3)),
    ),
    Kind(
        name="guideline", label="Guideline", prefix="RULE", importance=0.75, standing=True, in_profile=True,
        description="a rule of the project", offered=False, actions=(("edit_code", 0.4), ("implement_feature", 0.25)), breadth=0.6,
    ),
    Kind(
        name="digest", label="Session digest", prefix="DIG", importance=0.4, half_life_days=14, episodic=True,
        offered=False, session_note=True, at_start=True, breadth=-0.1,
        actions=(("execute_plan", 0.4), ("plan_or_spec", 0.35)),
    ),
)  # fmt: skip
DIGEST, TODO = "digest", "todo"
RULES: frozenset[str] = frozenset(kind.name for kind in BUILTIN if kind.standing and kind.name != "decision")
"""Kinds that say how somebody wants the work to be done; the `typed` design calls them preferences."""
UNSAID = "fact"
"""The kind of a statement that does not say in so many words what it is: it may be anything, also a rule."""
SESSION_NOTES: tuple[str, ...] = tuple(kind.name for kind in BUILTIN if kind.session_note)
"""Names of the kinds that Tacit itself writes for a session; users cannot add such kinds."""


class KindRegistry:
    """Known kinds by name, in a fixed order. Immutable: `extended` returns a new one."""

    __slots__ = ("_by_name",)

    def __init__(self, kinds: Iterable[Kind] = BUILTIN) -> None:
        self._by_name: dict[str, Kind] = {kind.name: kind for kind in kinds}

    def __iter__(self) -> Iterator[Kind]:
        return iter(self._by_name.values())

    def __contains__(self, name: object) -> bool:
        return name in self._by_name

    def get(self, name: str) -> Kind:
        """Return the kind called `name`.

        Raises:
            UnknownKind: naming the known kinds and the nearest one.
        """
        kind = self._by_name.get(name)
        if kind is None:
            near = get_close_matches(name, self._by_name, n=1)
            hint = f"Did you mean {near[0]!r}? " if near else ""
            raise UnknownKind(
                f"Unknown kind {name!r}.", hint=f"{hint}Known kinds: {', '.join(self._by_name)}."
            )
        return kind

    def of_stored(self, name: str) -> Kind:
        """Return the kind called `name` for a stored memory. A kind that the settings no longer define gets default weights under its own name; never raises."""
        return self._by_name.get(name) or _removed(name)

    def unknown(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return the names among `names` that no registered kind has, sorted."""
        return tuple(sorted(set(names) - self._by_name.keys()))

    def extended(self, kinds: Iterable[Kind]) -> KindRegistry:
        """Return a registry in which `kinds` are added or replace those of the same name."""
        merged = dict(self._by_name)
        merged.update({kind.name: kind for kind in kinds})
        return KindRegistry(merged.values())


BUILTIN_KINDS = KindRegistry()
"""The kinds that ship, without those of a user."""


@lru_cache(maxsize=256)
def _removed(name: str) -> Kind:
    """Return a stand-in for a kind that the settings no longer define, with default weights. Its label is shown, so only plain characters of `name` go into it."""
    label = _NOT_PLAIN.sub("", name)[:40] or "memory"
    return Kind(name=name, label=label, prefix="MEM", importance=0.5)
