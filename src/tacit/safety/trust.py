"""The table of trust: who may store what, where it may appear, and what it may replace.

In: trust tiers, kinds, memories, surfaces. Out: decisions with a reason. Pure; never raises for an expected refusal.
"""

from __future__ import annotations

from dataclasses import dataclass

from tacit.model.kinds import Kind
from tacit.model.memory import Memory, MemoryStatus, Sensitivity, TrustTier
from tacit.model.pack import Surface

_TOOL_KINDS = frozenset({"observation", "error_pattern"})

_SURFACES: dict[TrustTier, frozenset[Surface]] = {
    TrustTier.USER: frozenset(Surface),
    TrustTier.ASSISTANT: frozenset({Surface.PROMPT, Surface.FAILURE, Surface.ON_DEMAND}),
    TrustTier.TOOL: frozenset({Surface.FAILURE, Surface.ON_DEMAND}),
    TrustTier.IMPORT: frozenset({Surface.ON_DEMAND}),
}
_SENSITIVE: dict[Sensitivity, frozenset[Surface]] = {
    Sensitivity.PUBLIC: frozenset(Surface),
    Sensitivity.PROJECT: frozenset(Surface),
    Sensitivity.SESSION: frozenset(Surface),
    Sensitivity.RESTRICTED: frozenset({Surface.ON_DEMAND}),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruling:
    """A decision and its reason. `allowed` False always has a reason; the trace shows it."""

    allowed: bool
    reason: str = ""

    def __bool__(self) -> bool:
        return self.allowed


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreRuling:
    """How a draft may be stored: `status` None = not at all, and why."""

    status: MemoryStatus | None
    reason: str = ""


def may_store_as(tier: TrustTier, kind: Kind, *, confirmed: bool = False) -> StoreRuling:
    """Decide how a statement of `kind` from `tier` may be stored.

    Args:
        tier: who vouches for it.
        kind: what it is to be stored as.
        confirmed: the user confirmed it, or a success proved it (a fix after which the command passed).

    Returns:
        `active`, `quarantined`, or None with the reason. Source: the specification's table of trust.
    """
    if tier is TrustTier.USER:
        return StoreRuling(status="active", reason="stated by the user")
    if tier is TrustTier.ASSISTANT:
        if confirmed:
            return StoreRuling(status="active", reason="confirmed")
        if kind.standing:
            return StoreRuling(status="quarantined", reason="a standing rule needs the user's confirmation")
        return StoreRuling(status="active", reason="unconfirmed, not a standing rule")
    if tier is TrustTier.TOOL:
        if kind.name in _TOOL_KINDS:
            return StoreRuling(status="active", reason="seen in tool output")
        return StoreRuling(status=None, reason=f"tool output may not become a {kind.label.lower()}")
    if confirmed:
        return StoreRuling(status="active", reason="confirmed")
    return StoreRuling(status="quarantined", reason="not confirmed by the user")


def may_appear(memory: Memory, surface: Surface) -> Ruling:
    """Decide whether `memory` may be handed over on `surface`, by status, trust tier and sensitivity."""
    if memory.status in ("superseded", "retired"):
        return Ruling(allowed=False, reason=memory.status)
    if memory.status == "quarantined" and surface is not Surface.ON_DEMAND:
        return Ruling(allowed=False, reason="quarantined")
    tier = memory.provenance.tier
    if surface not in _SURFACES[tier]:
        return Ruling(allowed=False, reason=f"trust: {tier.name.lower()} not on {surface.value}")
    if surface not in _SENSITIVE[memory.sensitivity]:
        return Ruling(allowed=False, reason=f"sensitivity: {memory.sensitivity.name.lower()}")
    return Ruling(allowed=True)


def may_supersede(new: TrustTier, old: TrustTier) -> Ruling:
    """Decide whether a statement of tier `new` may replace one of tier `old`: a lower tier never does."""
    if new < old:
        return Ruling(allowed=False, reason=f"{new.name.lower()} never supersedes {old.name.lower()}")
    return Ruling(allowed=True)


def is_marked(memory: Memory) -> bool:
    """Whether the block must say that `memory` is unconfirmed."""
    return memory.provenance.tier is not TrustTier.USER or memory.status == "quarantined"


def most_sensitive(*levels: Sensitivity) -> Sensitivity:
    """The strictest of `levels`; what is derived from several memories is as sensitive as its strictest source."""
    return max(levels, default=Sensitivity.PUBLIC)
