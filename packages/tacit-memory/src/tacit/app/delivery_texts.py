"""What a delivery says besides memories: failures, that nothing is on record, the line for the user, what the agent may store."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from threading import Lock

from tacit.app.reasons import loss_text, silence_text
from tacit.app.sessions import LiveSessions
from tacit.app.stats import salvage_notice
from tacit.app.values import OpenStore, Parts, RecallFailure
from tacit.config.settings import Offer, RecallSettings, Settings
from tacit.errors import ProviderError
from tacit.model.ids import SHORT_ID
from tacit.model.memory import Memory, Relation
from tacit.model.pack import Block, Pack, Surface
from tacit.model.query import Query
from tacit.model.scope import ScopeFilter
from tacit.model.session import SessionKey, SessionState
from tacit.model.signal import PromptSubmitted, SessionStarted, Signal
from tacit.model.trace import SilenceCause, Trace
from tacit.ports.store import MemoryFilter, ProjectRecord, Salvage, Store, ValueChanges, ValueName
from tacit.recall.budget import adjusted_budget
from tacit.recall.render import delimiters
from tacit.recall.stage import Outcome, Preset, UseCounts
from tacit.safety.trust import visible_levels
from tacit.session import ledger
from tacit.state.registry import (
    FIRST_SESSION,
    LOST_SHOWN,
    NOTED_SHOWN,
    PAIRS_SHOWN,
    RELATED_SHOWN,
    SALVAGE_SHOWN,
    TEAMS,
    TOOLS_LISTED,
    TOTALS,
)
from tacit.text.stemming import stems

# Texts of a delivery besides memories: failures, that nothing is on record, earlier sessions.
#
# In: traces, errors, session records. Out: values. Source: the error states and EC-P5-01 of the multispace seed.

SESSIONS_READ = 20
WINDOW_MS = 2 * 3_600_000
"""Prompts of other sessions that are at most so many milliseconds old count as present work."""
CHARS_PER_TOKEN = 4
"""A rough estimate, good enough to tell a long prompt from a short one."""
NOTHING_FOUND_CAUSES = (SilenceCause.NOTHING_FOUND, SilenceCause.NOT_RELEVANT)


def failure_of_error(error: Exception) -> RecallFailure:
    """Translate an exception of recall into a failure for the caller."""
    if isinstance(error, ProviderError):
        return RecallFailure(reason="embedding", message=f"Failed to embed query: {error}")
    return RecallFailure(reason="store", message=f"Failed to retrieve memories: {error}")


def failure_of_trace(trace: Trace, settings: RecallSettings) -> RecallFailure | None:
    """Return the timeout that a trace reports, with the spaces that came too late; None = all came in time."""
    losses = [loss for stage in trace.stages for loss in stage.losses]
    late = [loss_text(loss) for loss in losses if loss.cause == "late"]
    if not late and trace.cause is not SilenceCause.LATE:
        return None
    message = f"Context injection timed out after {settings.deadline_ms}ms"
    return RecallFailure(reason="timeout", message=message, detail="; ".join(late) or silence_text(trace))


def with_nothing_found_text(
    block: Block,
    trace: Trace,
    state: SessionState,
    settings: RecallSettings,
    text: str,
    *,
    salvaged: Salvage | None,
) -> tuple[Block, SessionState]:
    """Return the block with `text` in it if it is empty because a prompt on a new topic found nothing, once per session; and the session's record.

    Both come back unchanged in shadow mode, after a timeout, and if the store was repaired and lost statements
    (`salvaged.incomplete`).
    """
    if (
        (salvaged is not None and salvaged.incomplete)
        or settings.shadow
        or state.announced_empty
        or trace.surface is not Surface.PROMPT
        or not block.empty
        or trace.cause not in NOTHING_FOUND_CAUSES
        or not _is_new_topic(state.recent_prompts)
        or failure_of_trace(trace, settings)
    ):
        return block, state
    return replace(block, text=text), replace(state, announced_empty=True)


def _is_new_topic(prompts: Sequence[str]) -> bool:
    """Whether the last of a session's prompts shares no word stem with those before it."""
    return not prompts or stems(prompts[-1]).isdisjoint(stems("\n".join(prompts[:-1])))


def other_sessions_of_project(live: LiveSessions, state: SessionState) -> tuple[SessionState, ...]:
    """Return the records of this project's other sessions, running or ended, newest first.

    Only the newest `SESSIONS_READ` sessions of the home are looked at.
    """
    newest = live.newest(limit=SESSIONS_READ)
    return tuple(s for s in newest if s.project_id == state.project_id and s.key != state.key)


def prompts_before(
    state: SessionState, other_sessions: Sequence[SessionState], *, at_ms: int
) -> tuple[str, ...]:
    """Return the prompts of the last two hours in `other_sessions`, then this session's earlier prompts, oldest first."""
    lately = [s for s in reversed(other_sessions) if 0 <= at_ms - s.last_signal_at_ms <= WINDOW_MS]
    return (*(prompt for session in lately for prompt in session.recent_prompts), *state.recent_prompts[:-1])


def current_hashes(store: Store, ids: tuple[str, ...], scope: ScopeFilter) -> dict[str, str]:
    """Return `{id: content hash}` for those of `ids` that are active and visible in `scope`."""
    return {m.id: m.content_hash for m in store.get(ids, scope=scope) if m.status == "active"}


def use_counts(store: Store) -> UseCounts:
    """Read how many memories were given and how many of them used, over all sessions of the home."""
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
    """Return the query with its token budget reduced for a long prompt, a small context window or recent use, as the preset says."""
    prompt = signal.text if isinstance(signal, PromptSubmitted) else ""
    budget = adjusted_budget(
        query.budget_tokens,
        by=preset.shrinks,
        window_tokens=preset.window_tokens(settings),
        prompt_tokens=len(prompt) // CHARS_PER_TOKEN,
        recent_share=ledger.recent_share(state, surface=query.surface, budget=query.budget_tokens)
        if "usage" in preset.shrinks
        else 0.0,
    )
    return query if budget == query.budget_tokens else replace(query, budget_tokens=budget)


# The notice line for the user at a session's start: a project's first session, what agents noted since, memories that may belong here, a repair.
#
# In: the signal of a session that starts. Out: the line; an empty text where there is nothing to say.

LATELY = 200
"""How many of the newest memories are searched for notes of agents."""
NAMED_NOTES, NOTE_CHARS = 3, 60


def noted_line(notes: Sequence[Memory]) -> str:
    """Return one line that tells the user what agents noted, newest first, and how to undo it; "" without notes."""
    if not notes:
        return ""
    texts = [" ".join(memory.content.split()) for memory in notes[:NAMED_NOTES]]
    quoted = [
        f'"{text if len(text) <= NOTE_CHARS else text[: NOTE_CHARS - 3].rstrip() + "..."}"' for text in texts
    ]
    more = f" and {len(notes) - len(texts)} more" if len(notes) > len(texts) else ""
    noun = "thing" if len(notes) == 1 else "things"
    waiting = sum(memory.status == "quarantined" for memory in notes)
    waits = f"; {waiting} {'waits' if waiting == 1 else 'wait'} for you: tacit review" if waiting else ""
    session = next((memory.session for memory in notes if memory.session), "")
    undo = f" (tacit undo --session {session})" if session else ""
    return f"Tacit noted {len(notes)} {noun} since last time: {', '.join(quoted)}{more}{waits}{undo}"


def lost_line(ids: Sequence[str]) -> str:
    """Return one line that asks the user to share memories of theirs again that a restored server lost; "" without any."""
    if not ids:
        return ""
    what = "a memory" if len(ids) == 1 else f"{len(ids)} memories"
    named = ", ".join(name[-SHORT_ID:] for name in ids[:NAMED_NOTES])
    return f"Your team's server was restored and lost {what} that you shared; tacit share ID shares it again ({named})"


class Notices:
    """Makes the notice line of a session's start and stores what was told, so that it is told once. Safe to use from several threads.

    What was said is stored behind the answer. Until then it is held here, so that a session that starts at once does not
    repeat it.
    """

    def __init__(self, opened: OpenStore) -> None:
        parts = opened.parts
        self._store, self._clock, self._salvaged = parts.store, parts.clock, parts.salvaged
        self._projects, self._sessions = opened.projects, opened.sessions
        self._lock = Lock()
        self._unwritten: dict[ValueName, str | None] = {}
        self._lately: tuple[ScopeFilter | None, int, tuple[Memory, ...]] = (None, 0, ())
        """The notes that were read last, with the scope and the change number of the store they were read for."""

    def line(
        self, signal: Signal, block: Block | None, project: ProjectRecord | None, settings: Settings
    ) -> str:
        """Return the notice line for `signal`; "" = nothing to say. `block` is None where the settings have no start pack.

        With `statusline` on every session has one. A session whose hook did not wait for this answer is told nothing: nobody would see it.
        """
        if not isinstance(signal, SessionStarted) or signal.source == "compact" or signal.answered:
            return ""
        scope = self._projects.visible(project, share_preferences=settings.project.share_preferences)
        unanswered = self._projects.unanswered(project.root) if project else ""
        with self._lock, self._store.at_once():  # of two sessions that start at once, one says it
            first, related, repaired, noted, shown_values = self._news(project, unanswered, scope, settings)
            self._unwritten |= shown_values
        if shown_values:
            self._sessions.write_later(signal.session, lambda: self._store_values(shown_values))
        if not (first or related or repaired or settings.statusline):
            return noted
        memory_count = self._store.count_active(scope=scope)
        noun = "memory" if memory_count == 1 else "memories"
        if block is None:
            pack = f"; the preset {settings.preset} has no start pack"
        else:
            pack = f", {len(block.memory_ids)} in the start pack"
        line = f"Tacit on: {memory_count} {noun}{pack}"
        if repaired:
            line = f"{repaired} {line}"
        more = " ".join(filter(None, (related, noted)))
        return f"{line}. {more}" if more else line

    def _news(
        self, project: ProjectRecord | None, unanswered: str, scope: ScopeFilter, settings: Settings
    ) -> tuple[bool, str, str, str, dict[ValueName, str | None]]:
        """Return what this start tells for the first time.

        Returns:
            Whether it is the project's first session; the texts about related projects, a repair, and notes and losses ("" = told before, or
            nothing to tell); and the values to store once they are told.
        """
        shown_values: dict[ValueName, str | None] = {}
        project_id = project.id if project else ""
        first = self._stored(FIRST_SESSION.name(project_id)) is None
        if first:
            shown_values |= FIRST_SESSION.change(self._clock.now_ms(), project_id)
        related = unanswered
        if project and related:
            if self._stored(RELATED_SHOWN.name(project_id)) == related:
                related = ""
            else:
                shown_values |= RELATED_SHOWN.change(related, project_id)
        seen_ms = int(self._stored(NOTED_SHOWN.name(project_id)) or 0)
        notes = [memory for memory in self._recent_agent_notes(scope) if memory.created_at_ms > seen_ms]
        if notes:
            shown_values |= NOTED_SHOWN.change(notes[0].created_at_ms, project_id)
        if settings.privacy.incognito:
            shown_values = {}
        repaired = ""
        if self._salvaged and self._stored(SALVAGE_SHOWN.name()) != self._salvaged.aside:
            repaired = salvage_notice(self._salvaged)
            # Stored after an incognito session, too: it tells nothing of what the user does.
            shown_values |= SALVAGE_SHOWN.change(self._salvaged.aside)
        noted = "" if first else noted_line(notes)  # before a project's first session there was no last time
        lost = self._lost_own()
        if set(lost) - set(LOST_SHOWN.codec.read(self._stored(LOST_SHOWN.name()) or "")):
            noted = " ".join(filter(None, (noted, lost_line(lost))))
            shown_values |= LOST_SHOWN.change(lost)
        return first, related, repaired, noted, shown_values

    def _lost_own(self) -> tuple[str, ...]:
        """Return the ids of the user's own memories that a restored server of their team lost."""
        teams = TEAMS.read(self._store).values()
        lost = {own for team in teams for own in team.own.values() if own in team.lost}
        found = self._store.get(sorted(lost), scope=self._store.scopes()) if lost else ()
        return tuple(memory.id for memory in found if memory.status == "active")

    def _recent_agent_notes(self, scope: ScopeFilter) -> tuple[Memory, ...]:
        """Return the memories that agents stored themselves, newest first: of the newest `LATELY` of `scope`, and of what was written since."""
        change = self._store.change()
        where = MemoryFilter(statuses=("active", "quarantined"), sensitivities=visible_levels(by_user=False))
        of_scope, before, notes = self._lately
        written = self._store.changed(before, scope=scope, limit=LATELY) if of_scope == scope else None
        if written is None:
            notes = self._store.list_memories(where, scope=scope, limit=LATELY)
        elif written:
            now = [memory for memory in self._store.get(written, scope=scope) if where.fits(memory)]
            notes = (*now, *(memory for memory in notes if memory.id not in written))
        notes = tuple(memory for memory in notes if memory.provenance.by_agent)
        notes = tuple(sorted(notes, key=lambda memory: (-memory.created_at_ms, memory.id))[:LATELY])
        self._lately = (scope, change, notes)
        return notes

    def _stored(self, name: ValueName) -> str | None:
        value = self._unwritten.get(name)
        return self._store.get_value(name) if value is None else value

    def _store_values(self, values: ValueChanges) -> None:
        for name, value in values.items():
            self._store.put_value(name, value)
        with self._lock:
            for name in values:
                self._unwritten.pop(name, None)


# Telling the agent that it may store things: a line in the start block, and a reminder by rhythm.
#
# In: the session's record, blocks before they are sent. Out: the sentence that a block carries besides its memories. A sentence quotes nothing and costs
# no request. What is worth keeping no rule can tell, so the agent is reminded by rhythm: with the first prompt block after five messages of the user in
# which nothing was noted, and at once where the user marked something and it was not kept. Only the latter makes a block of its own.

START_LINE = "What is settled here can be kept for later sessions with memory_add."
NUDGE = "The user's last messages may hold something for later sessions; if so, store it with memory_add."
NOT_KEPT = (
    "The user asked to remember something that was not stored: store it with memory_add, in their words."
)
NUDGED = frozenset({Surface.PROMPT, Surface.COMPACTION})
"""Surfaces of a block that may carry a reminder."""
EVERY = 5
"""So many messages of the user pass after a note or a reminder before the next reminder."""
SESSIONS_TO_SETTLE = 3
"""So many sessions are told of a pair of memories that may not both hold; after that no agent is told."""
KNOWN_FOR_MS = 30 * 86_400_000
"""A host counts as one that has Tacit's tools for so many milliseconds after it listed them."""
_RENEWED_MS = 86_400_000
_KEPT = 50
"""How many reminders a session's record keeps."""


def pair_key(pair: Relation) -> str:
    """Return the key of a pair, the same for both directions, under which the sessions that were told of it are stored."""
    return f"{min(pair.source_id, pair.target_id)} {max(pair.source_id, pair.target_id)}"


class Nudges:
    """Decides which sentence a block carries besides its memories. Safe to use from several threads."""

    def __init__(self, parts: Parts) -> None:
        """Work over the store of `parts`, which remembers the hosts that listed Tacit's tools."""
        self._store, self._clock, self._tokens = parts.store, parts.clock, parts.tokens
        self._known: dict[str, int] = {}

    def record_tools_listed(self, host: str) -> None:
        """Record that an agent of `host` was shown Tacit's tools. Writes the store at most once a day."""
        now = self._clock.now_ms()
        if host and now - self._listed_at(host) > _RENEWED_MS:
            self._store.apply((), values=TOOLS_LISTED.change(now, host))
            self._known[host] = now

    def sentence(
        self, surface: Surface, state: SessionState, settings: RecallSettings, *, machine: bool = False
    ) -> str:
        """Return the sentence that a block of `surface` carries now; "" = none. `machine` = a program made the prompt."""
        host = state.key.host
        if surface is Surface.START:
            return self.start_line(host, settings)
        if (
            surface not in NUDGED
            or machine
            or settings.shadow
            or not self.offers(settings.tell_memory_add, host)
        ):
            return ""
        last = max(state.noted_turn, *state.reminded[-1:], 0)
        if state.unkept_turn > last:
            return NOT_KEPT
        return NUDGE if state.turn - last >= EVERY else ""

    def start_line(self, host: str, settings: RecallSettings) -> str:
        """Return the sentence for a start block of `host`; "" = none."""
        return START_LINE if self.offers(settings.tell_memory_add, host) else ""

    def cost(self, sentence: str) -> int:
        """Count the tokens of a sentence and its line break; 0 = no sentence."""
        return self._tokens.count(sentence) + 1 if sentence else 0

    def reserve_room(
        self, outcome: Outcome[Query], state: SessionState, settings: RecallSettings, *, machine: bool
    ) -> tuple[str, Outcome[Query]]:
        """Choose the sentence for a block and reserve its room: return it, and `outcome` with its tokens taken from the query's budget.

        "" = no sentence; the budget stays.
        """
        sentence = self.sentence(outcome.kept.surface, state, settings, machine=machine)
        if not sentence:
            return "", outcome
        room = max(0, outcome.kept.budget_tokens - self.cost(sentence))
        return sentence, replace(outcome, kept=replace(outcome.kept, budget_tokens=room))

    def with_sentence(
        self, sentence: str, block: Block, state: SessionState, *, holds: Callable[[str], bool]
    ) -> tuple[Block, SessionState]:
        """Return `block` with `sentence` as its last line, and the record with the reminder; both unchanged if it is "" or does not fit.

        Args:
            sentence: what room was kept for; "" = nothing.
            block: what is about to be sent. An empty one stays empty, unless something that the user marked was not kept.
            state: the session's record.
            holds: whether a block with this text is within the host's caps.
        """
        carried = self.with_line(block, sentence)
        if block.empty and sentence == NOT_KEPT:
            tag, last = delimiters(block.surface)
            carried = replace(
                block, text=f"{tag}\n{sentence}\n{last}", tokens=self.cost(f"{tag}\n{sentence}\n{last}")
            )
        if carried is block or not holds(carried.text):
            return block, state
        if block.surface is not Surface.START:
            state = replace(state, reminded=(*state.reminded, state.turn)[-_KEPT:])
        return carried, state

    def with_line(self, block: Block, sentence: str) -> Block:
        """Return `block` with `sentence` as its last line; the same block where it or the sentence is empty."""
        head, line, foot = block.text.rpartition("\n")
        if not sentence or not line:
            return block
        return replace(block, text=f"{head}\n{sentence}\n{foot}", tokens=block.tokens + self.cost(sentence))

    def settling_test(self, settings: RecallSettings, host: str | None) -> Callable[[Relation], bool] | None:
        """Return a function that tells whether a pair that may not both hold may be shown to an agent of `host`, which may settle it; None = no pair may.

        `host` None = an agent that called one of Tacit's tools.
        """
        offer = settings.tell_memory_add
        if settings.shadow or not (offer != "off" if host is None else self.offers(offer, host)):
            return None
        shown = PAIRS_SHOWN.read(self._store)
        return lambda pair: len(shown.get(pair_key(pair), ())) < SESSIONS_TO_SETTLE

    def settling_test_of_any_host(self, settings: RecallSettings) -> Callable[[Relation], bool] | None:
        """Return `settling_test` for a host whose agents may settle pairs; None = agents of no host may."""
        hosts = (
            "",
            *(
                name.removeprefix(TOOLS_LISTED.prefix)
                for name in self._store.value_names(TOOLS_LISTED.prefix)
            ),
        )
        host = next((host for host in hosts if self.offers(settings.tell_memory_add, host)), None)
        return None if host is None else self.settling_test(settings, host)

    def record_shown_pairs(self, pack: Pack, session: SessionKey) -> None:
        """Record in the store that `session` was shown the pairs of `pack`; each session counts once for a pair."""
        keys = [f"{min(pair.first, pair.second)} {max(pair.first, pair.second)}" for pair in pack.shown_pairs]
        before: Mapping[str, tuple[str, ...]] = PAIRS_SHOWN.read(self._store) if keys else {}
        told = {
            key: (*before.get(key, ()), str(session))
            for key in keys
            if str(session) not in before.get(key, ())
        }
        if told:
            kept = {key: sessions for key, sessions in before.items() if key not in told}
            self._store.apply((), values=PAIRS_SHOWN.change({**kept, **told}))

    def offers(self, offer: Offer, host: str) -> bool:
        """Whether the setting `offer` lets an agent of `host` be told; `auto` = only if the host listed Tacit's tools lately."""
        if offer != "auto":
            return offer == "on"
        return self._clock.now_ms() - self._listed_at(host) <= KNOWN_FOR_MS

    def _listed_at(self, host: str) -> int:
        if host not in self._known:
            at_ms = TOOLS_LISTED.find(self._store, host)
            self._known[host] = -KNOWN_FOR_MS * 2 if at_ms is None else at_ms
        return self._known[host]
