"""The table of trust, row by row."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import pytest

from samples import memory_named
from tacit.errors import InvalidInput
from tacit.model.change_reason import ChangeCause, ChangeReason
from tacit.model.kinds import BUILTIN, KindRegistry
from tacit.model.memory import Memory, MemoryStatus, Provenance, Sensitivity, TrustTier
from tacit.model.pack import Surface
from tacit.model.scope import UNIVERSAL, project_scope
from tacit.model.trace import DropCause, DropReason
from tacit.safety.trust import (
    is_marked,
    most_sensitive,
    sensitivity_of,
    status_to_store,
    why_not_on,
    why_not_supersede,
)

KINDS = KindRegistry()


def memory(tier: TrustTier, **fields: object) -> Memory:
    return memory_named("mem_1", "x", tier=tier, **fields)


@pytest.mark.parametrize("kind", BUILTIN, ids=lambda kind: kind.name)
def test_the_user_may_store_anything(kind: object) -> None:
    assert status_to_store(TrustTier.USER, KINDS.get(kind.name)) == "active"  # type: ignore[attr-defined]


@pytest.mark.parametrize("kind", BUILTIN, ids=lambda kind: kind.name)
def test_a_teammate_may_store_anything_and_ends_nothing_of_the_users(kind: object) -> None:
    assert status_to_store(TrustTier.TEAMMATE, KINDS.get(kind.name)) == "active"  # type: ignore[attr-defined]
    assert why_not_supersede(TrustTier.TEAMMATE, TrustTier.USER)
    assert not why_not_supersede(TrustTier.USER, TrustTier.TEAMMATE)
    assert not why_not_supersede(TrustTier.TEAMMATE, TrustTier.ASSISTANT)
    assert not is_marked(memory(TrustTier.TEAMMATE))


def test_the_order_of_tiers() -> None:
    assert sorted(TrustTier, key=lambda tier: tier.rank) == sorted(TrustTier) == list(TrustTier)
    assert TrustTier.USER > TrustTier.TEAMMATE > TrustTier.ASSISTANT > TrustTier.TOOL > TrustTier.IMPORT
    assert [tier.value for tier in TrustTier] == [0, 1, 2, 4, 3], "the values stand in stored memories"


def test_the_assistant_may_not_make_rules_alone() -> None:
    assert status_to_store(TrustTier.ASSISTANT, KINDS.get("preference")) == "quarantined"
    assert status_to_store(TrustTier.ASSISTANT, KINDS.get("preference"), confirmed=True) == "active"
    assert status_to_store(TrustTier.ASSISTANT, KINDS.get("outcome")) == "active"


def test_tool_output_is_only_observed() -> None:
    assert status_to_store(TrustTier.TOOL, KINDS.get("observation")) == "active"
    assert status_to_store(TrustTier.TOOL, KINDS.get("error_pattern")) == "active"
    refused = status_to_store(TrustTier.TOOL, KINDS.get("preference"), confirmed=True)
    assert isinstance(refused, ChangeReason)
    assert refused.cause is ChangeCause.TOOL_KIND


def test_imports_wait() -> None:
    assert status_to_store(TrustTier.IMPORT, KINDS.get("fact")) == "quarantined"
    assert status_to_store(TrustTier.IMPORT, KINDS.get("fact"), confirmed=True) == "active"


ALLOWED = {
    TrustTier.USER: set(Surface),
    TrustTier.TEAMMATE: set(Surface),
    TrustTier.ASSISTANT: {Surface.PROMPT, Surface.FAILURE, Surface.ON_DEMAND},
    TrustTier.TOOL: {Surface.FAILURE, Surface.ON_DEMAND},
    TrustTier.IMPORT: {Surface.ON_DEMAND},
}


@pytest.mark.parametrize("tier", TrustTier)
@pytest.mark.parametrize("surface", Surface)
def test_where_a_tier_may_appear(tier: TrustTier, surface: Surface) -> None:
    why = why_not_on(memory(tier), surface)
    if surface in ALLOWED[tier]:
        assert why is None
    else:
        assert why == DropReason(
            cause=DropCause.UNTRUSTED, detail=f"{tier.name.lower()} not on {surface.value}"
        )


def test_quarantine_is_on_demand_only() -> None:
    waiting = memory(TrustTier.USER, status="quarantined")
    assert not why_not_on(waiting, Surface.ON_DEMAND)
    assert why_not_on(waiting, Surface.PROMPT) == DropReason(cause=DropCause.QUARANTINED)


def test_what_no_longer_holds_appears_nowhere() -> None:
    for status in ("superseded", "retired"):
        assert status in get_args(MemoryStatus)
        assert all(why_not_on(memory(TrustTier.USER, status=status), surface) for surface in Surface)


def test_restricted_is_for_the_user_alone() -> None:
    secret = memory(TrustTier.USER, sensitivity=Sensitivity.RESTRICTED)
    for surface in Surface:
        assert why_not_on(secret, surface, session="h/s") == DropReason(
            cause=DropCause.SENSITIVE, detail="restricted"
        )
        assert (why_not_on(secret, surface, by_user=True) is None) == (surface is Surface.ON_DEMAND)


@pytest.mark.parametrize("surface", Surface)
@pytest.mark.parametrize("level", Sensitivity)
def test_where_a_level_may_appear(level: Sensitivity, surface: Surface) -> None:
    said = Provenance(tier=TrustTier.USER, host="h", session_id="s")
    one = replace(memory(TrustTier.USER, sensitivity=level), provenance=said)
    allowed = {
        "same session": level <= Sensitivity.SESSION,
        "other session": level <= Sensitivity.PROJECT,
        "no session": level <= Sensitivity.PROJECT,
    }
    asked = {"same session": "h/s", "other session": "h/s2", "no session": ""}
    for name, session in asked.items():
        assert (why_not_on(one, surface, session=session) is None) == allowed[name], name


def test_a_session_level_without_a_session_appears_nowhere_by_itself() -> None:
    one = memory(TrustTier.USER, sensitivity=Sensitivity.SESSION)
    assert all(why_not_on(one, surface, session="h/s") for surface in Surface)
    assert not why_not_on(one, Surface.ON_DEMAND, by_user=True)


def test_a_level_must_fit_its_scope_and_session() -> None:
    project = project_scope("p1")
    keep = sensitivity_of(None, scope=UNIVERSAL, session=False, before=Sensitivity.RESTRICTED)
    assert keep is Sensitivity.RESTRICTED
    assert sensitivity_of(Sensitivity.PROJECT, scope=project, session=False) is Sensitivity.PROJECT
    with pytest.raises(InvalidInput, match="wider than a project"):
        sensitivity_of(Sensitivity.PROJECT, scope=UNIVERSAL, session=True)
    with pytest.raises(InvalidInput, match="session"):
        sensitivity_of(Sensitivity.SESSION, scope=project, session=False)
    with pytest.raises(InvalidInput, match="no sensitivity") as failure:
        Sensitivity.parse("secret")
    assert failure.value.hint == "Known: public, project, session, restricted."


@pytest.mark.parametrize("new", TrustTier)
@pytest.mark.parametrize("old", TrustTier)
def test_a_lower_tier_never_supersedes(new: TrustTier, old: TrustTier) -> None:
    assert bool(why_not_supersede(new, old)) == (new < old)


def test_what_is_not_the_users_is_marked() -> None:
    assert not is_marked(memory(TrustTier.USER))
    assert is_marked(memory(TrustTier.ASSISTANT))
    assert is_marked(memory(TrustTier.USER, status="quarantined"))


def test_the_strictest_source_counts() -> None:
    assert (
        most_sensitive(Sensitivity.PUBLIC, Sensitivity.RESTRICTED, Sensitivity.PROJECT)
        is Sensitivity.RESTRICTED
    )
    assert most_sensitive() is Sensitivity.PUBLIC
