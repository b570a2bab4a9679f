"""The notice line for the user at a session's start: a project's first session, what agents noted since, memories that may belong here, a repair.

In: the signal of a session that starts. Out: the line; an empty text where there is nothing to say.
"""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock

from tacit.app.projects import Projects
from tacit.app.sessions import LiveSessions
from tacit.app.stats import salvage_notice
from tacit.config.settings import Settings
from tacit.model.memory import Memory
from tacit.model.pack import Block
from tacit.model.scope import ScopeFilter
from tacit.model.signal import SessionStarted, Signal
from tacit.ports.clock import Clock
from tacit.ports.store import MemoryFilter, ProjectRecord, Salvage, Store, ValueChanges, ValueName
from tacit.safety.trust import visible_levels
from tacit.state.registry import FIRST_SESSION, NOTED_SHOWN, RELATED_SHOWN, SALVAGE_SHOWN

LATELY = 200
"""The newest memories, among which notes of agents are looked for."""
NAMED_NOTES, NOTE_CHARS = 3, 60


def noted_line(notes: Sequence[Memory]) -> str:
    """One line for the user on what agents noted, newest first, and how to take it back; "" if there is nothing."""
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


class Notices:
    """Makes the line and remembers what was said. Safe to use from several threads.

    What was said is stored behind the answer. Until then it is held here, so that a session that starts at once does not
    repeat it.
    """

    def __init__(
        self,
        *,
        store: Store,
        projects: Projects,
        sessions: LiveSessions,
        clock: Clock,
        salvaged: Salvage | None = None,
    ) -> None:
        self._store = store
        self._projects = projects
        self._sessions = sessions
        self._clock = clock
        self._salvaged = salvaged
        self._lock = Lock()
        self._unwritten: dict[ValueName, str | None] = {}
        self._lately: tuple[tuple[int, ScopeFilter], tuple[Memory, ...]] | None = None
        """The notes of the scope asked for last, with the change of the store that they were read at."""

    def line(
        self, signal: Signal, block: Block | None, project: ProjectRecord | None, settings: Settings
    ) -> str:
        """The line for `signal`; "" for none. `block` is None where the settings have no start pack.

        With `statusline` on every session has one. A session whose hook did not wait for this answer is told nothing: nobody would see it.
        """
        if not isinstance(signal, SessionStarted) or signal.source == "compact" or signal.answered:
            return ""
        scope = self._projects.visible(project, share_preferences=settings.project.share_preferences)
        unanswered = self._projects.unanswered(project.root) if project else ""
        with self._lock:  # of two sessions that start at once, one says it
            first, related, repaired, noted, shown_values = self._news(project, unanswered, scope, settings)
            self._unwritten |= shown_values
        if shown_values:
            self._sessions.later(signal.session, lambda: self._store_values(shown_values))
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
        """Whether it is the project's first session, what else was not said yet, and the values that note it as said."""
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
        notes = [memory for memory in self._notes(scope) if memory.created_at_ms > seen_ms]
        if notes:
            shown_values |= NOTED_SHOWN.change(notes[0].created_at_ms, project_id)
        if settings.privacy.incognito:
            shown_values = {}
        repaired = ""
        if self._salvaged and self._stored(SALVAGE_SHOWN.name()) != self._salvaged.aside:
            repaired = salvage_notice(self._salvaged)
            # Stored after an incognito session, too: it tells nothing of what the user does.
            shown_values |= SALVAGE_SHOWN.change(self._salvaged.aside)
        # Before a project's first session there was no last time.
        return first, related, repaired, "" if first else noted_line(notes), shown_values

    def _notes(self, scope: ScopeFilter) -> tuple[Memory, ...]:
        """What agents noted lately and still holds or waits, newest first."""
        key = (self._store.change(), scope)
        if self._lately is not None and self._lately[0] == key:
            return self._lately[1]
        lately = self._store.list_memories(
            MemoryFilter(statuses=("active", "quarantined"), sensitivities=visible_levels(by_user=False)),
            scope=scope,
            limit=LATELY,
        )
        notes = tuple(memory for memory in lately if memory.provenance.by_agent)
        self._lately = (key, notes)
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
