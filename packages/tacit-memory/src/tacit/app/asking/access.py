"""What both ways to ask a model for memories share: who may be asked, what it sees, what it costs. In: settings, a session. Out: requests.

The limits are those of the write-up: nothing where the user is incognito; memories of the project and of universal scope, neither
restricted nor of one session; every text redacted, whatever `privacy.redact` says.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from tacit.app.parts import Parts
from tacit.app.projects import Projects
from tacit.app.redaction import clean_session, outgoing
from tacit.config.settings import RecallSettings, Settings
from tacit.model.scope import ScopeFilter, ScopeKind
from tacit.model.session import SessionState
from tacit.ports.store import ProjectRecord
from tacit.ports.writer import WriterRequest
from tacit.presets import preset_of
from tacit.providers.tokens import EstimateCounter
from tacit.recall.ask_model import PoolList, PoolLists, make_request
from tacit.recall.stage import Preset
from tacit.session.holdout import held_out

REQUEST_MARGIN = 1.0
"""As for the write-up: for a whole request the usual estimate is a quarter too high."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedNaming:
    """A request, ready to be sent, the list it chooses from, and what it costs to send, estimated."""

    request: WriterRequest
    listed: PoolList
    tokens: int


class NamingAccess:
    """Makes the requests of one open store. Safe to use from several threads."""

    def __init__(self, parts: Parts, projects: Projects) -> None:
        self._parts = parts
        self._projects = projects
        self._lists = PoolLists(store=parts.store, kinds=parts.kinds)
        self._tokens = EstimateCounter(margin=REQUEST_MARGIN)

    def settings_of(self, state: SessionState) -> Settings:
        """The settings that hold for a session now."""
        return self._parts.settings.current(state.project_root or None, agent=state.agent)

    def prepare(
        self,
        state: SessionState,
        project: ProjectRecord | None,
        settings: Settings,
        *,
        prompt: str | None,
    ) -> PreparedNaming | None:
        """The request for a session; None = there is no memory to choose from.

        Args:
            state: of the session.
            project: of the session.
            settings: that hold for it.
            prompt: what was just sent; None = it is not known yet.
        """
        clean = outgoing(settings, self._parts.redactor)
        listed = self._lists.of(
            self._scope(state, project, settings),
            kinds=settings.recall.kinds,
            prepare=clean,
            at_ms=self._parts.clock.now_ms(),
        )
        if not listed.memories:
            return None
        request = make_request(
            listed,
            clean_session(state, clean),
            prompt=prompt,
            prepare=clean,
        )
        texts = (request.system, request.user, json.dumps(request.schema))
        tokens = sum(self._tokens.count(text) for text in texts)
        return PreparedNaming(request=request, listed=listed, tokens=tokens)

    def _scope(self, state: SessionState, project: ProjectRecord | None, settings: Settings) -> ScopeFilter:
        """What the session's project may see, without the memories of linked projects."""
        visible = self._projects.visible(
            project, agent=state.agent, share_preferences=settings.project.share_preferences
        )
        own_id = project.id if project else ""
        return ScopeFilter.of(
            *(scope for scope in visible.scopes if scope.kind is not ScopeKind.PROJECT or scope.key == own_id)
        )


def may_ask(state: SessionState, settings: Settings) -> bool:
    """Whether a model may be asked for this session: its answer would be used, and its texts may leave."""
    return not (settings.privacy.incognito or state.incognito) and _uses_answer(
        state, settings.recall, preset_of(settings.preset)
    )


def _uses_answer(state: SessionState, settings: RecallSettings, preset: Preset) -> bool:
    recall_active = settings.enabled and not state.muted and not held_out(state, settings.holdout)
    return recall_active and preset.gated
