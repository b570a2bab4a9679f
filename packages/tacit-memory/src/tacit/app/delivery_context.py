"""Texts of a delivery besides memories: failures, that nothing is on record, earlier sessions.

In: traces, errors, session records. Out: values. Source: the error states and EC-P5-01 of the multispace seed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tacit.app.reasons import loss_text, silence_text
from tacit.app.sessions import LiveSessions
from tacit.app.values import Failure
from tacit.config.settings import RecallSettings
from tacit.errors import ProviderError
from tacit.model.pack import Block, Surface
from tacit.model.query import Query
from tacit.model.scope import ScopeFilter
from tacit.model.session import SessionState
from tacit.model.signal import PromptSubmitted, Signal
from tacit.model.trace import SilenceCause, Trace
from tacit.ports.store import Salvage, Store
from tacit.recall.budget import adjusted_budget
from tacit.recall.stage import Preset, UseCounts
from tacit.session import ledger
from tacit.state.registry import TOTALS

SESSIONS_READ = 20
WINDOW_MS = 2 * 3_600_000
"""What was said so long ago in another session is work of now."""
CHARS_PER_TOKEN = 4
"""Good enough to tell a long prompt from a short one."""
NOTHING_FOUND_CAUSES = (SilenceCause.NOTHING_FOUND, SilenceCause.NOT_RELEVANT)


def failure_of_error(error: Exception) -> Failure:
    """Translate an exception of recall into a failure for the caller."""
    if isinstance(error, ProviderError):
        return Failure(reason="embedding", message=f"Failed to embed query: {error}")
    return Failure(reason="store", message=f"Failed to retrieve memories: {error}")


def failure_of_trace(trace: Trace, settings: RecallSettings) -> Failure | None:
    """The timeout that a trace tells of, with the spaces that came too late; None when all came in time."""
    losses = [loss for stage in trace.stages for loss in stage.losses]
    late = [loss_text(loss) for loss in losses if loss.cause == "late"]
    if not late and trace.cause is not SilenceCause.LATE:
        return None
    message = f"Context injection timed out after {settings.deadline_ms}ms"
    return Failure(reason="timeout", message=message, detail="; ".join(late) or silence_text(trace))


def announce_nothing_found(
    block: Block,
    trace: Trace,
    state: SessionState,
    settings: RecallSettings,
    preset: Preset,
    *,
    salvaged: Salvage | None,
) -> tuple[Block, SessionState]:
    """Return the block that says that nothing was found, once per session; not over a damaged store that lost statements."""
    if (
        preset.nothing_text is None
        or (salvaged is not None and salvaged.incomplete)
        or settings.shadow
        or state.announced_empty
        or trace.surface is not Surface.PROMPT
        or not block.empty
        or trace.cause not in NOTHING_FOUND_CAUSES
        or failure_of_trace(trace, settings)
    ):
        return block, state
    return replace(block, text=preset.nothing_text(Surface.PROMPT)), replace(state, announced_empty=True)


def other_sessions_of_project(
    live: LiveSessions, state: SessionState, preset: Preset
) -> tuple[SessionState, ...]:
    """Records of the project's other sessions, newest first, where the preset tells of them."""
    if not preset.tells_time:
        return ()
    newest = live.newest(limit=SESSIONS_READ)
    return tuple(s for s in newest if s.project_id == state.project_id and s.key != state.key)


def turns_before(
    state: SessionState, other_sessions: Sequence[SessionState], *, at_ms: int, preset: Preset
) -> tuple[str, ...]:
    """What was said within two hours in `other_sessions`, then in this session before its prompt, oldest first."""
    if not preset.tells_time:
        return ()
    lately = [s for s in reversed(other_sessions) if 0 <= at_ms - s.last_signal_at_ms <= WINDOW_MS]
    own = state.recent_prompts[:-1]
    answer = (state.last_message_end,) if own and state.last_message_end else ()
    return (*(prompt for session in lately for prompt in session.recent_prompts), *own, *answer)


def current_hashes(store: Store, ids: tuple[str, ...], scope: ScopeFilter) -> dict[str, str]:
    """Content hash by id of those of `ids` that are still active."""
    return {m.id: m.content_hash for m in store.get(ids, scope=scope) if m.status == "active"}


def use_counts(store: Store) -> UseCounts:
    """Over all sessions of the home, how many memories were given and used."""
    totals = TOTALS.read(store)
    return UseCounts(
        shown=totals.shown,
        used=totals.used,
        control_shown=totals.control_shown,
        control_used=totals.control_used,
    )


def adjust_query_budget(
    query: Query, signal: Signal, state: SessionState, settings: RecallSettings, preset: Preset
) -> Query:
    """The query with the budget that prompt, context window and use so far leave it."""
    prompt = signal.text if isinstance(signal, PromptSubmitted) else ""
    budget = adjusted_budget(
        query.budget_tokens,
        by=preset.shrinks,
        window_tokens=preset.window_tokens(settings),
        prompt_tokens=len(prompt) // CHARS_PER_TOKEN,
        recent_share=ledger.recent_share(state, surface=query.surface, budget=query.budget_tokens),
    )
    return query if budget == query.budget_tokens else replace(query, budget_tokens=budget)
