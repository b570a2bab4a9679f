"""The memory and what belongs to it: provenance, validity, trust, relations. Frozen values, no I/O."""

from __future__ import annotations

from dataclasses import field, replace
from datetime import UTC, datetime
from enum import Enum, IntEnum
from functools import lru_cache
from typing import Literal

from tacit.errors import InvalidInput
from tacit.frozen import frozen
from tacit.model.ids import content_hash, newest_id_first
from tacit.model.kinds import RULES, SESSION_NOTES
from tacit.model.scope import Lent, Scope, ScopeKind
from tacit.model.trigger import Trigger


class TrustTier(Enum):
    """Who vouches for a statement, from the least trusted to the most trusted. A lower tier never supersedes a higher one.

    The values are what is stored; the order is that of this list.
    """

    IMPORT = 0
    TOOL = 1
    ASSISTANT = 2
    TEAMMATE = 4
    USER = 3

    __hash__ = object.__hash__  # there is one of each; the hash of `Enum` is a function in Python, and a block compares tiers by the hundred

    def __lt__(self, other: TrustTier) -> bool:
        return _RANKS[self] < _RANKS[other]

    def __le__(self, other: TrustTier) -> bool:
        return _RANKS[self] <= _RANKS[other]

    def __gt__(self, other: TrustTier) -> bool:
        return _RANKS[self] > _RANKS[other]

    def __ge__(self, other: TrustTier) -> bool:
        return _RANKS[self] >= _RANKS[other]

    @property
    def rank(self) -> int:
        """The tier's place in the order of trust; the least trusted tier has 0."""
        return _RANKS[self]


_RANKS = {tier: rank for rank, tier in enumerate(TrustTier)}
DAY_MS = 86_400_000
PROVEN = 2
"""Proofs from which on a fix counts like the user's word."""
BY_TOOL = "mcp"
"""Source of what an agent states through a tool of ours."""
BY_AGENT = "agent"
"""Source of what an agent, or a program without the user's authority, states by another way in."""
AGENT_SOURCES = frozenset({BY_TOOL, BY_AGENT})


_TEAM = "team "


def team_source(team: str) -> str:
    """Return the `Provenance.source` of memories that `team` shares through a server; `Provenance.team` reads it back."""
    return f"{_TEAM}{team}"


class Speaker(Enum):
    """Whose word a statement is, `USER` or `AGENT`; it decides the statement's trust tier.

    The entry point sets it; nothing in a request may.
    """

    USER = "user"
    AGENT = "agent"


class Sensitivity(IntEnum):
    """Limit on where a memory may appear, beside its scope; a higher level is stricter.

    PUBLIC: wherever its scope is visible, and in other projects if `project.others` says so. PROJECT: only where its project is visible. SESSION: only in the session it
    was stated in. RESTRICTED: never in an agent's context; the user sees it when they ask for it.
    """

    PUBLIC = 0
    PROJECT = 1
    SESSION = 2
    RESTRICTED = 3

    @classmethod
    def parse(cls, name: str) -> Sensitivity:
        """Return the level called `name`, in any case.

        Raises:
            InvalidInput: naming the known levels.
        """
        try:
            return cls[name.strip().upper()]
        except KeyError:
            names = ", ".join(level.name.lower() for level in cls)
            raise InvalidInput(f"There is no sensitivity {name!r}.", hint=f"Known: {names}.") from None


SensitivityName = Literal["public", "project", "session", "restricted"]


RelationType = Literal["related_to", "updates", "contradicts", "caused_by", "result_of", "part_of"]
MemoryStatus = Literal["active", "quarantined", "superseded", "retired"]


@frozen
class Provenance:
    """Who said a statement, where, and who vouches for it.

    Attributes:
        tier: the trust tier.
        source: where it came from in one line, e.g. `CLAUDE.md`, `session`, `cli`, `mcp`.
        host: host name, or empty.
        session_id: host session id, or empty.
        turn: turn in that session, from 1; 0 = unknown.
        span: the verbatim words it was made from, or empty.
        extractor: name of the model of language that found it; empty = it was found without one.
        original_tier: the tier that another home's export claims; None = it came from none. It grants nothing.
        author: name of the teammate who shared it, or empty.
    """

    tier: TrustTier
    source: str = ""
    host: str = ""
    session_id: str = ""
    turn: int = 0
    span: str = ""
    extractor: str = ""
    original_tier: TrustTier | None = None
    author: str = ""

    @property
    def speaker(self) -> str:
        """Who said the statement, in one word: the name of the tier in lower case, but `agent` for an agent's statement of tier IMPORT."""
        by_agent = self.tier is TrustTier.IMPORT and (self.source in AGENT_SOURCES or self.extractor)
        return "agent" if by_agent else self.tier.name.lower()

    @property
    def read_from(self) -> str:
        """The file that the statement was read from by an import that nobody vouches for; `commits` = the commits of the project; "" = somebody said it."""
        if self.tier is not TrustTier.IMPORT or self.source in AGENT_SOURCES or self.extractor:
            return ""
        return "commits" if self.source == ".git" else self.source

    @property
    def team(self) -> str:
        """The team that shares the statement through a server, such as `acme/core`; "" = none does, or the user made it their own."""
        return (
            self.source.removeprefix(_TEAM)
            if self.source.startswith(_TEAM) and self.tier is not TrustTier.USER
            else ""
        )

    @property
    def by_agent(self) -> bool:
        """Whether an agent, or a program without the user's authority, handed the statement in, whatever its trust tier."""
        return self.source in AGENT_SOURCES

    @property
    def by_user(self) -> bool:
        """Whether the user said the statement themselves: no agent handed it in, and it was read from no file."""
        return self.tier is TrustTier.USER and not self.by_agent and not self.from_file

    @property
    def from_file(self) -> bool:
        """Whether the statement was read from a file, such as a rule file."""
        return "." in self.source or "/" in self.source

    @property
    def own_note(self) -> bool:
        """Whether the statement is an agent's own note from its session that nobody confirmed."""
        return self.tier is TrustTier.ASSISTANT and self.source in AGENT_SOURCES

    @property
    def vouched(self) -> bool:
        """Whether an agent handed the statement in and it has the user's tier: the agent quoted the user for it, or the user confirmed or edited it later."""
        return self.tier is TrustTier.USER and self.source in AGENT_SOURCES


def day(at_ms: int, offset_ms: int = 0) -> str:
    """Return the absolute date of a moment, e.g. `2026-11-20`, on a clock that is `offset_ms` ahead of UTC."""
    return _day((at_ms + offset_ms) // DAY_MS)


@lru_cache(maxsize=4096)
def _day(number: int) -> str:
    return datetime.fromtimestamp(number * 86_400, tz=UTC).strftime("%Y-%m-%d")


@frozen
class Validity:
    """The time in which the statement holds in the world, in milliseconds since the Unix epoch. Transaction time stands on the memory.

    `superseded_by` of a memory that ended names what replaced it; of an active one, what ranks before it because an agent saw it hold.
    `valid_to_ms` None = still holds. The interval is half open: from <= t < to. `offset_ms` = how far the clock of whoever stated it was
    ahead of UTC, negative to the west. It is kept, so that a day stays the same day wherever and whenever it is read.
    """

    valid_from_ms: int
    valid_to_ms: int | None = None
    superseded_by: str | None = None
    offset_ms: int = 0

    @property
    def first_day(self) -> str:
        """The date since which the statement holds, on the clock of whoever stated it."""
        return day(self.valid_from_ms, self.offset_ms)

    def holds_at(self, at_ms: int) -> bool:
        """Whether the statement holds at `at_ms`."""
        return self.valid_from_ms <= at_ms and (self.valid_to_ms is None or at_ms < self.valid_to_ms)


@frozen
class LearnedOn:
    """The unmerged branch that a statement about the code was learned on.

    Attributes:
        name: the name of the branch in git, e.g. `payments-redis`.
        commit: the commit at the tip of the branch at that time, or empty.
        replaces: ids of the memories that end when the branch is merged. Until then they are hidden on the branch unless somebody asks for them.
        gone: the branch no longer exists and it is not known whether it was merged; the user is asked.
    """

    name: str
    commit: str = ""
    replaces: tuple[str, ...] = ()
    gone: bool = False


@frozen
class Entity:
    """A thing a memory names: kind is file, symbol, package, command or error; `moment` stands for a call that its words name."""

    kind: Literal["file", "symbol", "package", "command", "error", "moment"]
    key: str


@frozen
class Memory:
    """An atomic, self-contained, durable statement.

    Attributes:
        id: `mem_...`.
        kind: name of a registered kind.
        content: the statement, already redacted.
        scope: who may see it.
        provenance: who said it.
        validity: when it holds.
        created_at_ms, updated_at_ms: transaction time.
        importance, confidence: 0-1.
        trigger: when it applies.
        status: only `active` memories are recalled; `quarantined` ones on demand only.
        sensitivity: where it may appear.
        entities: what it names.
        files: paths it speaks of, relative to the project root.
        error_signature: for error patterns, the normalized signature, else empty.
        frequency: how often it was stated (merges raise it).
        use_count: in how many sessions an injection of it was used.
        shown_count: in how many sessions it was injected and the transcript was read for a use of it.
        tokens: size of `content` as counted at write time (o200k).
        pinned: packed first where a preset pins.
        evidence: further verbatim spans, newest last.
        proofs: of a fix, in how many sessions it made the same thing pass; the user's confirmation counts as `PROVEN`.
        branch: the unmerged branch that it is bound to; None = it holds on all branches.
        headline: what an index shows of it, as its writer worded it; "" = it is made from the content.
    """

    id: str
    kind: str
    content: str
    scope: Scope
    provenance: Provenance
    validity: Validity
    created_at_ms: int
    updated_at_ms: int
    importance: float = 0.5
    confidence: float = 1.0
    trigger: Trigger = field(default_factory=Trigger)
    status: MemoryStatus = "active"
    sensitivity: Sensitivity = Sensitivity.PROJECT
    entities: tuple[Entity, ...] = ()
    files: tuple[str, ...] = ()
    error_signature: str = ""
    frequency: int = 1
    use_count: int = 0
    shown_count: int = 0
    tokens: int = 0
    pinned: bool = False
    evidence: tuple[str, ...] = ()
    proofs: int = 0
    branch: LearnedOn | None = None
    headline: str = ""

    def __post_init__(self) -> None:
        if not self.content.strip():
            raise InvalidInput("A memory needs content; the given text is empty.")
        for name, value in (("importance", self.importance), ("confidence", self.confidence)):
            if not 0.0 <= value <= 1.0:
                raise InvalidInput(f"Memory {self.id}: {name} is {value}, must be between 0 and 1.")

    @property
    def ranks_behind(self) -> str:
        """The id of the memory that ranks before this active one, because an agent saw that one hold instead; "" = none. An agent cannot end this one."""
        return (self.validity.superseded_by or "") if self.status == "active" else ""

    def leading(self) -> Memory:
        """Return a copy that ranks behind no other memory (see `ranks_behind`); the memory itself if it ranks behind none."""
        if not self.ranks_behind:
            return self
        return replace(self, validity=replace(self.validity, superseded_by=None))

    def ended_by(self, memory_id: str, *, at_ms: int) -> Memory:
        """Return a copy that ended at `at_ms`, but not before it began to hold, because the memory `memory_id` took its place."""
        until = max(at_ms, self.validity.valid_from_ms)
        validity = replace(self.validity, valid_to_ms=until, superseded_by=memory_id)
        return replace(self, status="superseded", validity=validity, updated_at_ms=at_ms)

    @property
    def lent_as(self) -> Lent | Literal[""]:
        """Why other projects may see this memory: "public" (its sensitivity is public), "preferences" (it is a rule of the user, see `RULES`), or "" (they may not).

        Only what the user said themselves of a whole project, on no unmerged branch. Whether they do see it depends on the setting `project.others`.
        """
        whole_project = (
            self.scope.kind is ScopeKind.PROJECT and not self.scope.task and not self.scope.of_user
        )
        if not (whole_project and self.provenance.by_user) or self.branch is not None or self.is_session_note:
            return ""
        if self.sensitivity is Sensitivity.PUBLIC:
            return "public"
        return "preferences" if self.sensitivity is Sensitivity.PROJECT and self.kind in RULES else ""

    @property
    def newest_first(self) -> tuple[int, str]:
        """A sort key that puts the newest memory first: by the time it was stated, then by id."""
        return (-(self.validity.valid_from_ms or self.created_at_ms), newest_id_first(self.id))

    @property
    def proven(self) -> bool:
        """Whether the memory is a fix that worked twice, or once and the user confirmed it."""
        return self.proofs >= PROVEN and self.provenance.tier in (TrustTier.TOOL, TrustTier.ASSISTANT)

    @property
    def is_session_note(self) -> bool:
        """Whether Tacit wrote the memory for a session and rewrites it as the session goes on, such as its digest; it quotes nobody."""
        provenance = self.provenance
        return self.kind in SESSION_NOTES and provenance.source == "session" and not provenance.span

    @property
    def session(self) -> str:
        """`host/id` of the session in which the memory was stated; "" = in none."""
        provenance = self.provenance
        return f"{provenance.host}/{provenance.session_id}" if provenance.session_id else ""

    @property
    def branch_name(self) -> str:
        """The name of the unmerged branch that the memory is bound to; "" = none."""
        return self.branch.name if self.branch is not None else ""

    @property
    def search_text(self) -> str:
        """The text that the word indexes hold: the statement, and its headline below it where there is one."""
        return f"{self.content}\n{self.headline}" if self.headline else self.content

    @property
    def content_hash(self) -> str:
        """Hash of the normalized content: changes exactly when the statement changes."""
        return content_hash(self.content)


@frozen
class Relation:
    """A typed, weighted edge from one memory to another.

    `contradicts` of weight 1 = somebody, or the words, said that the two may not both hold; of less = they are near, and nothing more is known;
    of 0 = both hold, as somebody settled.
    """

    source_id: str
    target_id: str
    type: RelationType
    weight: float = 1.0

    @property
    def both_ways(self) -> tuple[tuple[str, str], tuple[str, str]]:
        """The ids of both ends, in both orders: for what goes along it in either direction."""
        return (self.source_id, self.target_id), (self.target_id, self.source_id)

    @property
    def asks(self) -> bool:
        """Whether it is still open which of the two memories holds: a contradiction of weight 1."""
        return self.type == "contradicts" and self.weight >= 1

    @property
    def may_disagree(self) -> bool:
        """Whether the two memories may not both hold: a contradiction of any weight above 0, which nobody has settled."""
        return self.type == "contradicts" and self.weight > 0
