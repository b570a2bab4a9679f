"""The write side of one open store, put together: capture, the memories themselves, review, upkeep.

In: the parts. Out: objects that share one capture. Loaded late (`LazyWriting`); answers no hook.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from tacit.app.maintenance.maintenance import Maintenance
from tacit.app.maintenance.review import Review
from tacit.app.memories import Memories
from tacit.app.redaction import outgoing
from tacit.app.user_words import vouch
from tacit.app.values import OpenStore, Parts
from tacit.capture.pipeline import CapturePipeline
from tacit.capture.write_up.session_writer import WriterAccess
from tacit.config.settings import CaptureSettings
from tacit.model.query import Query
from tacit.model.scope import Scope
from tacit.model.session import SessionKey
from tacit.ports.store import ProjectRecord
from tacit.providers.tokens import EstimateCounter
from tacit.recall.pipeline import RecallPipeline

if TYPE_CHECKING:
    from tacit.app.admin.admin import Admin
    from tacit.app.sharing.shared_teams import SharedTeams
    from tacit.app.sharing.syncing import Syncing
    from tacit.app.sharing.team import Team
    from tacit.app.transfer.transfer import Transfer

REQUEST_MARGIN = 1.0
"""Factor on the estimated tokens of a request; without more, the estimate was 1.14 times the exact count on 25 real sessions."""


class Writing:
    """Builds and holds all objects that write memories of one open store."""

    def __init__(self, opened: OpenStore) -> None:
        self._opened = opened
        self._parts = parts = opened.parts
        self.capture = CapturePipeline(
            store=parts.store,
            embedder=parts.embedder,
            tokens=parts.tokens,
            clock=parts.clock,
            redactor=parts.redactor,
            kinds=parts.kinds,
            settings=parts.settings.current().capture,
            settings_of=self._capture_settings,
            identify=self._project_of,
            session_of=opened.sessions.load,
            model=_model(parts),
        )
        self.memories = Memories(opened, capture=self.capture)
        self.maintenance = Maintenance(opened)
        self.review = Review(opened, memories=self.memories)

    def _project_of(self, cwd: str) -> ProjectRecord:
        """Register the project that what is learned in `cwd` belongs to, and return it, so that no other folder gets its name."""
        projects = self._opened.projects
        return projects.register(projects.membership(cwd).project)

    def _capture_settings(self, scope: Scope, session: SessionKey | None) -> CaptureSettings:
        """Return the capture settings of the session's project and agent, else of the project that the scope belongs to."""
        state = self._opened.sessions.load(session) if session else None
        if state is not None and state.project_root:
            return self._parts.settings.current(state.project_root, agent=state.agent).capture
        return self._parts.settings.current(self._parts.redactor.root_at(scope)).capture

    def follow_settings(self) -> None:
        """Give capture the present settings, so that a changed file takes effect without a restart."""
        self.capture.follow(self._parts.settings.current().capture)

    @cached_property
    def admin(self) -> Admin:
        """The owner's views and edits."""
        from tacit.app.admin.admin import Admin  # noqa: PLC0415 - for pages and programs alone

        return Admin(self._opened, memories=self.memories, jobs=self.maintenance.jobs)

    @cached_property
    def transfer(self) -> Transfer:
        """Export and import."""
        from tacit.app.transfer.transfer import Transfer  # noqa: PLC0415 - hardly ever asked for

        return Transfer(self._opened, capture=self.capture, memories=self.memories)

    @cached_property
    def syncing(self) -> Syncing:
        """The sync with other devices."""
        from tacit.app.sharing.syncing import Syncing  # noqa: PLC0415 - for those who logged in

        return Syncing(self._opened, purger=self.admin.purging, teams=lambda: self.shared_teams)

    @cached_property
    def shared_teams(self) -> SharedTeams:
        """Sharing with teams through a server."""
        from tacit.app.sharing.shared_teams import SharedTeams  # noqa: PLC0415 - for those who logged in

        return SharedTeams(
            self._opened, capture=self.capture, purger=self.admin.purging, asking=self.syncing.ask_teams
        )

    def close(self) -> None:
        """Stop the sync, the writer and the jobs; waits for the running job."""
        if "syncing" in self.__dict__:
            self.syncing.close()
        if self.capture.paid is not None:
            self.capture.paid.stop()
        self.maintenance.jobs.close()

    @cached_property
    def team(self) -> Team:
        """Sharing through team files in the repository."""
        from tacit.app.sharing.team import Team  # noqa: PLC0415 - hardly ever asked for

        return Team(self._opened, capture=self.capture)

    def as_of(self, query: Query, as_of_ms: int) -> RecallPipeline:
        """Return a recall pipeline over a copy in memory of what was known at `as_of_ms`."""
        from tacit.app.queries.store_copies import pipeline_as_of  # noqa: PLC0415 - a store in memory, which hardly anybody asks

        return pipeline_as_of(self._parts, query, as_of_ms)


def _model(parts: Parts) -> WriterAccess | None:
    if parts.writer is None:
        return None

    def may_send(root: str) -> bool:
        settings = parts.settings.current(root or None)
        return settings.capture.enabled and not settings.privacy.incognito

    def vouches(content: str, words: str, prompts: Sequence[str]) -> str:
        return vouch(content, words, prompts).statement

    return WriterAccess(
        writer=parts.writer,
        prepare=outgoing(parts.settings.current(), parts.redactor),
        # For one text the usual estimate is rather too high; for a whole request that is a quarter of what may be sent.
        tokens=EstimateCounter(margin=REQUEST_MARGIN),
        settings=parts.settings.current().capture.extractor,
        vouches=vouches,
        may_send=may_send,
    )
