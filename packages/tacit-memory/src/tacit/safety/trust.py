"""The tables of trust: what only the user may do, who may store, change and end what, where it may appear, and what it may replace.

In: verbs, speakers, trust tiers, kinds, memories, surfaces. Out: decisions with a reason. Pure; only functions called `require_...` raise for a
refusal, and every entry point calls these.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

from tacit.config.settings import Notes
from tacit.errors import InvalidInput, RefusedByTrust
from tacit.model.change_reason import ChangeCause, ChangeReason
from tacit.model.kinds import Kind
from tacit.model.memory import Memory, MemoryStatus, Sensitivity, Speaker, TrustTier
from tacit.model.pack import Surface
from tacit.model.scope import Scope, ScopeKind
from tacit.model.trace import DropCause, DropReason
from tacit.safety.authority import HOW_TO_SPEAK, require

ENDED_STATUSES: tuple[MemoryStatus, ...] = ("superseded", "retired")
"""The statuses of memories that no longer hold."""
_SURFACES: dict[TrustTier, frozenset[Surface]] = {
    TrustTier.USER: frozenset(Surface),
    TrustTier.TEAMMATE: frozenset(Surface),
    TrustTier.ASSISTANT: frozenset({Surface.PROMPT, Surface.FAILURE, Surface.ON_DEMAND}),
    TrustTier.TOOL: frozenset({Surface.FAILURE, Surface.ON_DEMAND}),
    TrustTier.IMPORT: frozenset({Surface.ON_DEMAND}),
}


_OWN_NOTES = frozenset({Surface.START, Surface.COMPACTION, Surface.PROMPT, Surface.ON_DEMAND})
"""The surfaces on which an agent's own notes may be injected. They are marked, and rank behind what people said."""

_REVIEW = "decide what waits for review"
_SHARING = "decide which folders share a project"
_DEVICES = "decide which devices share this memory"
_TEAM = "decide what is shared with a team, and which team is believed"
USERS_ALONE: Mapping[str, str] = {
    "edit_memory": "change memories",
    "undo_change": "take changes back",
    "purge_memories": "remove memories for good",
    "import_memories": "import memories",
    "restore_backup": "replace your store by another one",
    "import_transcripts": "have past sessions learned from, since they count as your words",
    "write_up_session": "have sessions sent to a language model",
    "try_model": "have a language model asked",
    "decide_reviews": _REVIEW,
    "put_folder_project": _SHARING,
    **dict.fromkeys(
        ("sync", "log_in", "sign_in", "log_out", "change_devices"),
        _DEVICES,
    ),
    **dict.fromkeys(
        (
            "put_repository_team",
            "share_memory",
            "add_team",
            "change_team",
            "put_member",
            "decide_share_request",
        ),
        _TEAM,
    ),
}
"""The verbs that only the user may use, and what they do in words. Any caller may use the others."""
_NO_TRIALS = frozenset({"import_memories"})
"""Verbs that only the user may use even with `dry_run`, because the trial shows what a file holds."""
NOTING = frozenset({"remember", "update_memory", "forget_memory", "rate_memory"})
"""Verbs with which an agent stores notes. They are refused where nothing may be noted."""


def require_user(verb: str, speaker: Speaker, *, trial: bool = False) -> None:
    """Return if `speaker` may use `verb`, else refuse. `trial` = it is a dry run, which most verbs allow to anybody.

    Raises:
        RefusedByTrust: naming what only the user may do, and how.
    """
    what = USERS_ALONE.get(verb, "")
    free = not what or (trial and verb not in _NO_TRIALS)
    require(authorized=free or speaker is Speaker.USER, what=what)


def require_may_change(
    memory: Memory,
    what: Literal["end", "change"],
    *,
    speaker: Speaker,
    noting: Notes,
    quoted: Callable[[], bool],
) -> None:
    """Return if `speaker` may end or change `memory`, else refuse.

    Args:
        memory: the memory to end or to change.
        what: whether it is to end or to change.
        speaker: who asks. The user may; for an agent the rest is decided.
        noting: the setting `capture.notes`: with `review` an agent changes nothing that holds.
        quoted: returns whether the agent quotes words of the user that ask for it; called only if that decides.

    Raises:
        RefusedByTrust: if the user reviews notes first, or the user or a teammate said it and the user's words do not ask for it.
    """
    if speaker is Speaker.USER:
        return
    if memory.status == "active" and noting == "review":
        raise RefusedByTrust(
            f"{memory.id} stays as it is: capture.notes is review, so only the user changes what holds.",
            hint=f"Ask them to run `tacit forget {memory.id}`, or note what holds now with memory_add and `replaces`.",
        )
    if memory.provenance.tier >= TrustTier.TEAMMATE and not quoted():
        raise RefusedByTrust(
            f"{memory.id} was said by the user or a teammate: an agent may {what} it only with the user's words.",
            hint=f"Ask them; then call again with their words from this conversation, verbatim, in user_words. For the user: {HOW_TO_SPEAK}",
        )


def status_to_store(
    tier: TrustTier, kind: Kind, *, confirmed: bool = False, read_off: bool = False, own_note: bool = False
) -> MemoryStatus | ChangeReason:
    """Return the status with which a statement of `kind` from `tier` is stored, or the reason why it may not be stored.

    Args:
        tier: who vouches for it.
        kind: what it is to be stored as.
        confirmed: the user confirmed it, or a success proved it (a fix after which the command passed).
        own_note: it is an agent's own note: active at once, but marked, for its project, and behind what people said.
        read_off: it was read off the project's own files; its tier keeps it to answers on demand, so nobody needs to be asked.

    Returns:
        `active`, `quarantined` (it waits for the user), or the reason. Source: the specification's table of trust.
    """
    if tier is TrustTier.TOOL and not kind.from_tools:
        return ChangeReason(cause=ChangeCause.TOOL_KIND, terms=(kind.label.lower(),))
    if tier >= TrustTier.TEAMMATE or tier is TrustTier.TOOL or confirmed:
        return "active"
    trusted = own_note or not kind.standing if tier is TrustTier.ASSISTANT else read_off
    return "active" if trusted else "quarantined"


def why_hidden(memory: Memory, *, session: str = "", by_user: bool = False) -> DropReason | None:
    """Return why the caller may not see `memory` because of its sensitivity; None = they may. Scopes are checked elsewhere, in every search.

    Args:
        memory: what is asked for.
        session: `host/id` of the session that asks, or empty.
        by_user: the user asks by hand; they see everything of theirs.
    """
    level = memory.sensitivity
    if by_user or level <= Sensitivity.PROJECT:
        return None
    if level is Sensitivity.SESSION and session and memory.session == session:
        return None
    return DropReason(cause=DropCause.SENSITIVE, detail=level.name.lower())


def may_leave(memory: Memory) -> bool:
    """Whether a language model may read the memory: it is not a session's note, and its sensitivity is neither `session` nor `restricted`."""
    return not memory.is_session_note and memory.sensitivity <= Sensitivity.PROJECT


def visible_levels(
    wanted: tuple[Sensitivity, ...] | None = None, *, by_user: bool
) -> tuple[Sensitivity, ...] | None:
    """Return those of the levels `wanted` (None = any) that `why_hidden` allows without a session; None = no limit."""
    if by_user:
        return wanted
    levels = tuple(Sensitivity) if wanted is None else wanted
    return tuple(level for level in levels if level <= Sensitivity.PROJECT)


def sensitivity_of(
    level: Sensitivity | None, *, scope: Scope, session: bool, before: Sensitivity = Sensitivity.PROJECT
) -> Sensitivity:
    """Return the sensitivity to store a statement with.

    Args:
        level: what was asked for; None = `before`.
        scope: who may see the statement.
        session: whether it is known in which session it was stated.
        before: the level it has, or the default.

    Raises:
        InvalidInput: if the level cannot be kept with this scope or without a session.
    """
    if level is Sensitivity.PROJECT and scope.project_id is None and scope.kind is not ScopeKind.SESSION:
        raise InvalidInput(
            f"The scope {scope} is wider than a project, so the statement cannot have the sensitivity project.",
            hint="Use the scope of the project, or the sensitivity public.",
        )
    if level is Sensitivity.SESSION and not session:
        raise InvalidInput(
            "The sensitivity session needs the session it was stated in, and none is at work here.",
            hint="State it while one session is at work in this folder, or use restricted.",
        )
    return before if level is None else level


def why_not_on(
    memory: Memory, surface: Surface, *, session: str = "", by_user: bool = False, ended: bool = False
) -> DropReason | None:
    """Return why `memory` may not be injected on `surface`, by its status, trust tier and sensitivity; None = it may.

    `session` and `by_user` are as for `why_hidden`; an answer on demand alone can be for the user. `ended`: what holds no
    more may be handed over too.
    """
    if memory.status in ENDED_STATUSES and not ended:
        return DropReason(cause=DropCause.ENDED, detail=memory.status)
    if memory.status == "quarantined" and surface is not Surface.ON_DEMAND:
        return DropReason(cause=DropCause.QUARANTINED)
    tier = memory.provenance.tier
    surfaces = _OWN_NOTES if memory.provenance.own_note else _SURFACES[tier]
    if surface not in surfaces and not memory.proven:
        return DropReason(cause=DropCause.UNTRUSTED, detail=f"{tier.name.lower()} not on {surface.value}")
    return why_hidden(memory, session=session, by_user=by_user and surface is Surface.ON_DEMAND)


def why_not_supersede(new: TrustTier, old: TrustTier) -> ChangeReason | None:
    """Return why a statement of tier `new` may not replace one of tier `old`: a lower tier never does; None = it may."""
    if new >= old:
        return None
    return ChangeReason(cause=ChangeCause.LOWER_TIER, terms=(new.name.lower(), old.name.lower()))


def may_rank(new: Memory, old: Memory, against: ChangeReason) -> bool:
    """Return whether a note of an agent ranks before `old`, which it may not end for the reason `against`.

    What an agent saw in its session, or quotes the user for, stands first; what a person said stays behind it, until the person's own words end it.
    """
    noted = new.provenance.own_note or new.provenance.vouched
    by_trust = against.cause in (ChangeCause.LOWER_TIER, ChangeCause.NOT_SPOKEN_OF)
    return noted and by_trust and old.status == "active"


def is_marked(memory: Memory) -> bool:
    """Whether the block must say that `memory` is unconfirmed."""
    vouched = memory.provenance.tier >= TrustTier.TEAMMATE or memory.proven
    return not vouched or memory.status == "quarantined"


def most_sensitive(*levels: Sensitivity) -> Sensitivity:
    """Return the strictest of `levels`, for what is derived from several memories; `public` if there are none."""
    return max(levels, default=Sensitivity.PUBLIC)
