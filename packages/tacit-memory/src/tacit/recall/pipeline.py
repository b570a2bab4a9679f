"""Runs a recall: signal -> query -> retrieve -> fuse -> score -> guard -> dedupe -> budget -> render -> deliver.

In: a query and what the session holds. Out: a block and its trace. What happens on a surface stands in the pipeline of the preset
(`recall/pipelines`, `presets/<name>`); this module carries it out and notes what each step kept, dropped and took.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from functools import lru_cache

from tacit.config.settings import RecallSettings
from tacit.model.kinds import KindRegistry
from tacit.model.pack import Surface
from tacit.model.query import Query
from tacit.model.trace import Trace
from tacit.model.trigger import Situation
from tacit.ports.models import TokenCounter
from tacit.reading.languages import languages_in, languages_of
from tacit.reading.match import shipped_match
from tacit.reading.situation import asks_about_past, read_situation
from tacit.reading.terms import find_entities
from tacit.recall.guard import FreshnessProbe
from tacit.recall.pipelines.start import StartPools
from tacit.recall.render import renderer, trace_of
from tacit.recall.score import (
    ArmedWeights,
    Gate,
    NeedModel,
    PromptTransform,
    load_prompt_transform,
    shipped_gate,
)
from tacit.recall.stage import Context, Delivered, Kit, Outcome, Preset, RecallState, StageLog, Tools

_LOG = logging.getLogger(__name__)
CHARS_PER_TOKEN = 4
KEPT_LINES = 8192
"""How many lines' token counts are cached."""


class RecallPipeline:
    """Runs recalls over one store. Its caches only save time. Safe to use from several threads."""

    def __init__(
        self,
        tools: Tools,
        *,
        tokens: TokenCounter,
        kinds: KindRegistry,
        need: NeedModel | None = None,
        gate: Gate | None = None,
        prompt_transform: PromptTransform | None = None,
        armed: ArmedWeights | None = None,
    ) -> None:
        self.tools = tools
        self._kinds = kinds
        self._count = lru_cache(maxsize=KEPT_LINES)(safe_token_counter(tokens))
        self.start_pools = StartPools(store=tools.store, kinds=kinds, need=need)
        transform = prompt_transform or load_prompt_transform()
        self._kit = Kit(
            tools=tools,
            gate=gate or shipped_gate(),
            armed=armed,
            pools=self.start_pools,
            files=FreshnessProbe(),
            reference=transform if transform.speaks_of(tools.embedder.identity) else None,
        )

    def warm(self) -> None:
        """Load the fitted models and word tables that reading a prompt needs, so that the first prompt does not wait for them. Blocks."""
        shipped_match()
        read_situation(
            "warm up, then fix the bug in src/warm.py and run the tests", previous_end="Shall I begin?"
        )

    def read_question(self, text: str, settings: RecallSettings, preset: Preset) -> Situation:
        """Return the situation that a question speaks of, for an answer on demand.

        With a preset whose answers do not ask the space `intent`, only its languages are read. Blank text gives an empty situation.
        """
        if not text.strip():
            return Situation()
        if "intent" in preset.spaces_at(Surface.ON_DEMAND, settings.spaces):
            return read_situation(text)
        files = (entity.key for entity in find_entities(text) if entity.kind == "file")
        return Situation(languages=tuple(dict.fromkeys((*languages_in(text), *languages_of(files)))))

    def run(
        self, query: Query, *, preset: Preset, settings: RecallSettings, context: Context, trace_id: str
    ) -> tuple[Delivered, Trace]:
        """Run the recall of `query`; return what is delivered (an empty block = silence) and the trace."""
        state, log = self.follow(query, preset=preset, settings=settings, context=context)
        assert state.delivered is not None
        return state.delivered, trace_of(state, log, trace_id)

    def follow(
        self, query: Query, *, preset: Preset, settings: RecallSettings, context: Context
    ) -> tuple[RecallState, StageLog]:
        """Run the recall of `query`; return the state after the last step and the log of what each stage kept and dropped.

        `run` does the same and makes a trace of it; use this one to see the intermediate results.
        """
        surface = query.surface
        log = context.log or StageLog()
        log.begin(surface.value, facts=context.facts)
        settings = preset.adapt(settings, surface)
        if surface is not Surface.ON_DEMAND and query.kinds is None:
            # Kinds that are not handed over unasked must not take the places of others in the search.
            query = replace(query, kinds=settings.kinds or None)
        query = preset.ask(query, settings, self._kinds)
        if surface is Surface.ON_DEMAND and asks_about_past(query.text):
            query = replace(query, about_past=True)
        layout = preset.layout.at(surface)
        state = RecallState(
            query=query,
            settings=settings,
            context=context,
            kinds=self._kinds,
            preset=preset,
            count=self._count,
            layout=layout,
            render=context.render or renderer(self._kinds, str, layout),
            spaces=preset.spaces_at(surface, settings.spaces),
        )
        pipeline = preset.pipelines[surface](self._kit, state)
        steps = (*pipeline.ask, *pipeline.find, *pipeline.choose)
        ended: list[Outcome[RecallState]] = []
        with ExitStack() as moment:
            for number, (stage, step) in enumerate(steps):
                if number == len(pipeline.ask) and pipeline.at_once:
                    # One view of the store, and one connection, for all that is read from here on.
                    moment.enter_context(self.tools.store.at_once())
                done = step(state)
                state = done.kept
                ended.append(done)
                if number + 1 == len(steps) or steps[number + 1][0] != stage:
                    log.end(stage, state, ended)
                    ended = []
        return state, log


def safe_token_counter(tokens: TokenCounter) -> Callable[[str], int]:
    """Return a function that counts with `tokens`, but on an error or a negative count logs a warning and estimates characters / 4.

    Source: ERR-P5-02 of the multispace seed.
    """

    def count(text: str) -> int:
        try:
            counted = tokens.count(text)
        except (ArithmeticError, LookupError, OSError, RuntimeError, TypeError, ValueError) as error:
            _LOG.warning("Token counting failed: %s; four characters count as one token", error)
        else:
            if counted >= 0:
                return counted
            _LOG.warning("Token counting failed: %s tokens; four characters count as one token", counted)
        return math.ceil(len(text) / CHARS_PER_TOKEN)

    return count
