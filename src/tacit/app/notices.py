"""The notice line for the user at a session's start: a project's first session, memories that may belong here, a repair.

In: the signal of a session that starts. Out: the line; an empty text where there is nothing to say.
"""

from __future__ import annotations

from threading import Lock

from tacit.app.projects import Projects
from tacit.app.sessions import LiveSessions
from tacit.app.stats import salvage_notice
from tacit.config.settings import Settings
from tacit.model.pack import Block
from tacit.model.signal import SessionStarted, Signal
from tacit.ports.clock import Clock
from tacit.ports.store import ProjectRecord, Salvage, Store, ValueChanges, ValueName
from tacit.state.registry import FIRST_SESSION, RELATED_SHOWN, SALVAGE_SHOWN


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

    def line(
        self, signal: Signal, block: Block | None, project: ProjectRecord | None, settings: Settings
    ) -> str:
        """The line for `signal`; "" for none. `block` is None where the settings have no start pack.

        With `statusline` on every session has one.
        """
        if not isinstance(signal, SessionStarted) or signal.source == "compact":
            return ""
        unanswered = self._projects.unanswered(project.root) if project else ""
        with self._lock:  # of two sessions that start at once, one says it
            first, related, repaired, shown_values = self._news(project, unanswered, settings)
            self._unwritten |= shown_values
        if not (first or related or repaired or settings.statusline):
            return ""
        if shown_values:
            self._sessions.later(signal.session, lambda: self._store_values(shown_values))
        scope = self._projects.visible(project, share_preferences=settings.project.share_preferences)
        memory_count = self._store.count_active(scope=scope)
        noun = "memory" if memory_count == 1 else "memories"
        if block is None:
            pack = f"; the preset {settings.preset} has no start pack"
        else:
            pack = f", {len(block.memory_ids)} in the start pack"
        line = f"Tacit on: {memory_count} {noun}{pack}"
        if repaired:
            line = f"{repaired} {line}"
        return f"{line}. {related}" if related else line

    def _news(
        self, project: ProjectRecord | None, unanswered: str, settings: Settings
    ) -> tuple[bool, str, str, dict[ValueName, str | None]]:
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
        if settings.privacy.incognito:
            shown_values = {}
        repaired = ""
        if self._salvaged and self._stored(SALVAGE_SHOWN.name()) != self._salvaged.aside:
            repaired = salvage_notice(self._salvaged)
            # Stored after an incognito session, too: it tells nothing of what the user does.
            shown_values |= SALVAGE_SHOWN.change(self._salvaged.aside)
        return first, related, repaired, shown_values

    def _stored(self, name: ValueName) -> str | None:
        value = self._unwritten.get(name)
        return self._store.get_value(name) if value is None else value

    def _store_values(self, values: ValueChanges) -> None:
        for name, value in values.items():
            self._store.put_value(name, value)
        with self._lock:
            for name in values:
                self._unwritten.pop(name, None)
