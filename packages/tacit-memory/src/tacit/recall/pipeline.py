"""The read path in one sentence: signal -> query -> retrieve -> fuse -> score -> guard -> dedupe -> budget -> render -> deliver.

In: a query and what the session holds. Out: a block and its trace. Steps that are bound to tools are probes, which read the
store, a model or a file; all others are pure.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import lru_cache, partial

from tacit.config.settings import RecallSettings
from tacit.model.kinds import KindRegistry
from tacit.model.pack import Surface
from tacit.model.query import Query
from tacit.model.situation import Situation
from tacit.model.trace import Trace
from tacit.ports.models import TokenCounter
from tacit.reading.entities import find_entities
from tacit.reading.languages import languages_in, languages_of
from tacit.reading.match import shipped_match
from tacit.reading.situation import asks_about_past, read_situation
from tacit.recall import on_demand
from tacit.recall.answer_cut import cut_answer, order_answer
from tacit.recall.ask_model import ask_judge
from tacit.recall.budget import budget
from tacit.recall.dedupe import drop_known, find_pairs
from tacit.recall.deliver import deliver, render, trace_of
from tacit.recall.freshness import FreshnessProbe, mark_unheard
from tacit.recall.fuse import fuse
from tacit.recall.guard import guard
from tacit.recall.index import index
from tacit.recall.measure import load, measure
from tacit.recall.need import NeedModel
from tacit.recall.presets import LAYOUTS, SCORES, START_POOLS
from tacit.recall.presets.ambient import add_pinned
from tacit.recall.presets.multispace.probe import read_sections
from tacit.recall.render import renderer
from tacit.recall.retrieve import ask, embed, find_nothing, require_vector, spaces_at
from tacit.recall.score import judge
from tacit.recall.score.armed import ArmedWeights
from tacit.recall.score.floors import floors, of_enabled_kinds
from tacit.recall.score.gate import Gate, cover, shipped_gate
from tacit.recall.score.names import find_shared_names
from tacit.recall.score.prompt_transform import PromptTransform, load_prompt_transform
from tacit.recall.second_stage import read_again
from tacit.recall.stage import Context, Delivered, RecallState, Source, Stages, Tools, run_stages
from tacit.recall.stage_log import StageLog
from tacit.recall.start_pool import StartPools, keep_changes

_LOG = logging.getLogger(__name__)
CHARS_PER_TOKEN = 4
KEPT_LINES = 8192
"""Lines whose size is remembered; every session of a project costs the same ones."""


class RecallPipeline:
    """Runs the ten stages over one store. What it remembers only saves time; safe to use from several threads."""

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
        self._count = lru_cache(maxsize=KEPT_LINES)(surely(tokens))
        self._prompt_transform = prompt_transform or load_prompt_transform()
        self.start_pools = pool = StartPools(store=tools.store, kinds=kinds, need=need)

        list_found: Stages = (
            ("fuse", partial(read_sections, tools)),
            ("fuse", partial(load, tools)),
            ("fuse", measure),
            ("fuse", partial(cover, tools)),
        )
        # Both may wait for a server: before the search, which holds one transaction.
        self._ask_models: Stages = (("retrieve", ask_judge), ("retrieve", partial(embed, tools)))
        self._find: dict[Source, Stages] = {
            "search": (
                ("retrieve", partial(ask, tools)),
                ("retrieve", require_vector),
                ("fuse", fuse),
                *list_found,
            ),
            "answer": (
                ("retrieve", partial(on_demand.ask_wide, tools)),
                ("fuse", partial(on_demand.weigh, tools)),
                *list_found,
            ),
            "pool": (("retrieve", pool.read), ("fuse", pool.order)),
            "nothing": (("retrieve", find_nothing),),
        }
        self._choose: Stages = (
            ("score", partial(judge, gate or shipped_gate(), weights=armed)),
            ("score", order_answer),
            ("score", FreshnessProbe().stage),
            ("score", partial(mark_unheard, tools)),
            ("score", partial(find_shared_names, tools)),
            ("score", floors),
            ("score", partial(read_again, tools)),
            ("guard", guard),
            ("guard", cut_answer),
            ("guard", partial(add_pinned, tools)),
            ("dedupe", keep_changes),
            ("dedupe", drop_known),
            ("dedupe", partial(find_pairs, tools)),
            ("budget", budget),
            ("budget", partial(index, tools)),
            ("render", render),
            ("deliver", deliver),
        )

    def warm(self) -> None:
        """Load what the first prompt would load, and read one, which builds the tables of the rules."""
        shipped_match()
        read_situation(
            "warm up, then fix the bug in src/warm.py and run the tests", previous_end="Shall I begin?"
        )

    def read_question(self, text: str, settings: RecallSettings) -> Situation:
        """The situation of a question: only its languages where nothing of an answer looks at what is about to happen."""
        if not text.strip():
            return Situation()
        if not SCORES[settings.score].by_match or "intent" in spaces_at(settings, Surface.ON_DEMAND):
            return read_situation(text)
        files = (entity.key for entity in find_entities(text) if entity.kind == "file")
        return Situation(languages=tuple(dict.fromkeys((*languages_in(text), *languages_of(files)))))

    def run(
        self, query: Query, *, settings: RecallSettings, context: Context, trace_id: str
    ) -> tuple[Delivered, Trace]:
        """Answer `query`: the block (empty = silence), what it holds, and the trace."""
        state, log = self.follow(query, settings=settings, context=context)
        assert state.delivered is not None
        return state.delivered, trace_of(state, log, trace_id)

    def follow(
        self, query: Query, *, settings: RecallSettings, context: Context
    ) -> tuple[RecallState, StageLog]:
        """The state after the last stage, and what each stage kept and dropped."""
        log = context.log or StageLog()
        log.begin(query.surface.value, facts=context.facts)
        state = self._begin(query, settings, context)
        state = run_stages(self._ask_models, state, log)
        with self._transaction(state):
            state = run_stages(self._find[state.source], state, log)
        return run_stages(self._choose, state, log), log

    def _begin(self, query: Query, settings: RecallSettings, context: Context) -> RecallState:
        """The state before the first stage: the settings as the surface wants them, and the parts that they name."""
        score, layout = SCORES[settings.score], LAYOUTS[settings.render].at(query.surface)
        settings = score.adapt(settings, query.surface)
        query = score.ask(of_enabled_kinds(query, settings), settings, self._kinds)
        if query.surface is Surface.ON_DEMAND and asks_about_past(query.text):
            query = replace(query, about_past=True)
        gated = score.gated and query.surface is Surface.PROMPT
        transform_fits = gated and self._prompt_transform.speaks_of(self.tools.embedder.identity)
        return RecallState(
            query=query,
            settings=settings,
            context=context,
            kinds=self._kinds,
            count=self._count,
            score=score,
            layout=layout,
            render=context.render or renderer(self._kinds, str, layout),
            start_pool=START_POOLS[settings.start_pool],
            spaces=spaces_at(settings, query.surface),
            reference=self._prompt_transform if transform_fits else None,
        )

    def _transaction(self, state: RecallState) -> AbstractContextManager[None]:
        """One transaction for the whole search, unless something is embedded on the way, which none may wait for."""
        rewords = state.query.surface is Surface.ON_DEMAND and on_demand.has_heading(state.query.text)
        searches = state.source in ("search", "answer")
        if not searches or rewords or state.settings.sections:
            return nullcontext()
        return self.tools.store.at_once()


def surely(tokens: TokenCounter) -> Callable[[str], int]:
    """`tokens.count`, with an estimate where it breaks or gives nonsense: counting never fails a turn.

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
