"""The `refresh` preset's cadence: sections fixed per epoch, one section refreshed each turn, all in the system prompt.

Source: the fifth seed (per-turn memory refresh). Sections are made at the first chance in an epoch and stay byte for byte
until the next one, or until a memory in them was changed or forgotten; "Relevant to Current Task" follows the newest prompt
(a lower bar in the first turn; later a higher one, at most three and the project alone). A subagent's task is its first prompt. A low-information turn keeps what was
there, and so does a search that failed.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from tacit.config.settings import RecallSettings
from tacit.errors import TacitError
from tacit.model.kinds import KindRegistry
from tacit.model.memory import Memory
from tacit.model.pack import Block, Pack, Surface
from tacit.model.query import Query
from tacit.model.scope import ScopeFilter, ScopeKind
from tacit.model.session import SessionState
from tacit.model.trace import DropCause, DropReason, Trace
from tacit.model.trigger import Situation
from tacit.presets.refresh.preset import (
    CLOSE,
    OPEN,
    PRESET,
    memory_text,
    relevant_text,
    sections_text,
)
from tacit.recall.pipeline import RecallPipeline
from tacit.recall.render import cleaned
from tacit.recall.stage import Context, Delivered, StageLog
from tacit.session import ledger

_LOG = logging.getLogger(__name__)
SECTIONS_BLOCK = "refresh:sections"
RELEVANT_BLOCK = "refresh:relevant"
EMPTY = f"{OPEN}\n{CLOSE}"
LOW_INFORMATION_WORDS = 3
FIRST_TURN_ITEMS = 20
_SEARCHED = (Surface.PROMPT, Surface.SUBAGENT)
"""What has words to search by."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LowInformation:
    """What tells whether a prompt says enough to refresh by."""

    nothing_coming: bool
    words: int

    @property
    def holds(self) -> bool:
        """Whether the prompt is too thin ("ok", "yes do it") to replace what is there."""
        return self.nothing_coming or self.words < LOW_INFORMATION_WORDS


class RefreshBlock:
    """Advances the `[MEMORY]` block of one session by one signal."""

    def __init__(
        self,
        *,
        pipeline: RecallPipeline,
        settings: RecallSettings,
        new_id: Callable[[], str],
        kinds: KindRegistry,
        clean: Callable[[str], str],
        current: Callable[[tuple[str, ...]], Mapping[str, str]] | None = None,
        log: StageLog | None = None,
    ) -> None:
        """Ask `pipeline` under `settings`.

        Args:
            pipeline: asked for both parts of the block.
            settings: of the read path.
            new_id: makes ids of traces.
            kinds: of the settings.
            clean: takes secrets out of every text that is rendered.
            current: content hash by id of those memories that are still active; without it nothing is looked up.
            log: the stages before recall; None = the time starts here.
        """
        self._log = log
        self._current = current
        self._pipeline = pipeline
        self._settings = settings
        self._new_id = new_id
        self._kinds = kinds
        self._clean = clean

    def advance(
        self, query: Query, *, state: SessionState, low: LowInformation, cap: int
    ) -> tuple[Block, Trace | None, SessionState]:
        """The block after `query`, its trace, and the session's new record."""
        trace: Trace | None = None
        sections = ledger.kept_block(state, SECTIONS_BLOCK)
        if sections is not None and self._outdated(state, Surface.START):
            sections = None
            state = ledger.without_surface(state, Surface.START)
        if sections is None:
            done, trace = self._sections(query, state)
            sections = done.block.text
            state = ledger.record(
                state, items=done.pack.items, block=done.block, message_id=SECTIONS_BLOCK, at_ms=query.at_ms
            )
        relevant = ledger.kept_block(state, RELEVANT_BLOCK) or self._carried(state)
        shown = bool(sections or relevant)
        if relevant and self._outdated(state, Surface.PROMPT):
            relevant = ""
            state = ledger.without_surface(state, Surface.PROMPT)
            state = ledger.keep_block(state, message_id=RELEVANT_BLOCK, text="")
        if query.surface in _SEARCHED and query.text.strip() and not low.holds:
            fresh = self._refreshed(query, state)
            if fresh is not None:
                done, trace = fresh
                relevant = done.block.text
                state = ledger.record(
                    ledger.without_surface(state, Surface.PROMPT),
                    items=done.pack.items,
                    block=done.block,
                    message_id=RELEVANT_BLOCK,
                    at_ms=query.at_ms,
                )
        text = memory_text(sections, relevant)
        if not text and shown:
            text = EMPTY  # what a host is not told anew stays in its system prompt
        if cap and len(text) > cap:
            text = memory_text(sections, "") if len(memory_text(sections, "")) <= cap else ""
        injected = trace.injected if trace else ()
        block = Block(surface=query.surface, text=text, memory_ids=injected, placement="system")
        if trace is not None:
            trace = replace(trace, block=text)
        return block, trace, state

    def _outdated(self, state: SessionState, surface: Surface) -> bool:
        """Whether a memory that stands there for `surface` was changed, superseded or forgotten since."""
        if self._current is None:
            return False
        shown = {
            e.memory_id: e.content_hash
            for e in state.ledger
            if e.surface is surface and (e.epoch == state.epoch or surface is Surface.PROMPT)
        }
        if not shown:
            return False
        current_hashes = self._current(tuple(shown))
        return any(current_hashes.get(name) != content for name, content in shown.items())

    def _refreshed(self, query: Query, state: SessionState) -> tuple[Delivered, Trace] | None:
        """The section for this turn; None when the search failed, so that the one before stays."""
        if not self._settings.refresh.top:
            return None
        try:
            done, trace = self._relevant(query, state)
        except TacitError as error:
            _LOG.warning("the refresh of this turn failed: %s", error)
            return None
        if any(loss.source == "semantic" for stage in trace.stages for loss in stage.losses):
            return None
        return done, trace

    def _carried(self, state: SessionState) -> str:
        """The refreshed section of the epoch before: a compaction must not lose it."""
        return next((b.text for b in reversed(state.blocks) if b.message_id == RELEVANT_BLOCK), "")

    def _sections(self, query: Query, state: SessionState) -> tuple[Delivered, Trace]:
        budget = self._settings.budgets.start
        start = replace(query, surface=Surface.START, text="", situation=Situation(), budget_tokens=budget)
        context = Context(
            turn=state.turn,
            epoch=state.epoch,
            log=self._log.again() if self._log else None,
            in_context=self._loaded_by_host(state),
            render=lambda pack: sections_text(cleaned(pack, self._clean).items, self._kinds),
        )
        return self._pipeline.run(
            start, preset=PRESET, settings=self._settings, context=context, trace_id=self._new_id()
        )

    def _relevant(self, query: Query, state: SessionState) -> tuple[Delivered, Trace]:
        first = state.turn <= 1
        limit = self._settings.refresh.similarity_first if first else self._settings.refresh.similarity_later
        items = FIRST_TURN_ITEMS if first else self._settings.refresh.top
        if not first:
            query = replace(query, scope=_of_project(query.scope))
        budget = min(query.budget_tokens, self._settings.budgets.prompt)
        query = replace(query, surface=Surface.PROMPT, budget_tokens=budget)
        refresh = self._settings.refresh.model_copy(update={"cosine": limit})
        settings = self._settings.model_copy(update={"refresh": refresh, "max_items": items})
        fixed = {e.memory_id for e in state.ledger if e.epoch == state.epoch and e.surface is Surface.START}
        loaded = self._loaded_by_host(state)

        def in_context_reason(memory: Memory) -> DropReason | None:
            if memory.id not in fixed:
                return loaded(memory)
            return DropReason(cause=DropCause.IN_CONTEXT, detail="a fixed section")

        def render(pack: Pack) -> str:
            return relevant_text(cleaned(pack, self._clean).items, self._kinds)

        context = Context(
            in_context=in_context_reason,
            turn=state.turn,
            epoch=state.epoch,
            log=self._log.again() if self._log else None,
            render=render,
        )
        return self._pipeline.run(
            query, preset=PRESET, settings=settings, context=context, trace_id=self._new_id()
        )

    @staticmethod
    def _loaded_by_host(state: SessionState) -> Callable[[Memory], DropReason | None]:
        """Says of a memory that the host has loaded its rule file. What the user said in this session may be looked up again."""

        def why(memory: Memory) -> DropReason | None:
            if memory.provenance.source not in state.host_rule_files:
                return None
            return ledger.why_in_context(state, memory, surface=Surface.START, reinject_after=0)

        return why


def _of_project(scope: ScopeFilter) -> ScopeFilter:
    """What belongs to a project; the whole scope where there is none. Preferences stand in the sections already."""
    own = [
        visible_scope
        for visible_scope in scope.scopes
        if visible_scope.kind in (ScopeKind.PROJECT, ScopeKind.PATH)
    ]
    return ScopeFilter.of(*own) if own else scope
