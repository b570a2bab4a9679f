"""Injection as a library call: `inject_context(query, session_id)` returns what was chosen and why, as values.

In: the user's words, a session id. Out: an `InjectionResult` with nine fields, or an `InjectionFailed` that carries one: empty
when the words could not be embedded or the store failed, complete in itself when only the time ran out. Source: REQ-P5-05,
-06 and the error states of the multispace seed. Works with every preset; alerts, counts and hints are there where it has them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from tacit.app.values import SignalAnswer
from tacit.config.settings import Settings
from tacit.frozen import frozen
from tacit.model.pack import DivergenceAlert, PackItem, Surface
from tacit.model.session import SessionKey
from tacit.model.signal import PromptSubmitted
from tacit.ports.host import HostCapabilities
from tacit.presets.multispace.settings import Categories, MultispaceSettings, RecencyWeights

if TYPE_CHECKING:
    from tacit.app.engine import Engine

HOST = "library"
"""The host name under which the sessions of programs are kept."""
LIBRARY = HostCapabilities(
    arrival=((Surface.PROMPT, "before"),), cap_chars=0, stored=True, post_compaction=False
)
"""Capabilities of a program that calls this: it gets the text before its model reads the prompt, and keeps it."""
HTTP_STATUS = {"embedding": 500, "store": 500, "timeout": 408}


@frozen
class InjectionResult:
    """The text to put before a prompt, with facts about it.

    Attributes:
        formatted_context: the block in Markdown; "" = nothing.
        total_tokens: its size.
        divergence_alerts: signs that the work has shifted, lowest similarity first.
        high_relevance_count: memories on which spaces agree with 2.5 or more.
        single_space_count: memories with less.
        session_summary_included: whether the last session is told of.
        temporal_badges: hints of time.
        memories_included: ids in the order of the block.
        latency_ms: whole time.
    """

    formatted_context: str = ""
    total_tokens: int = 0
    divergence_alerts: tuple[DivergenceAlert, ...] = ()
    high_relevance_count: int = 0
    single_space_count: int = 0
    session_summary_included: bool = False
    temporal_badges: tuple[str, ...] = ()
    memories_included: tuple[str, ...] = ()
    latency_ms: int = 0


@frozen
class InjectionFailed:
    """A failed injection. `reason` is embedding, store or timeout; `http_status` = what an HTTP server answers with.

    `result` may be used as it is: it is empty, or, after a timeout, what was found in time.
    """

    reason: str
    message: str
    result: InjectionResult

    @property
    def http_status(self) -> int:
        """The HTTP status for `reason`: 500, or 408 for a timeout."""
        return HTTP_STATUS[self.reason]


class Injection:
    """Injects memories into prompts of one program. What the setters set holds for later calls."""

    def __init__(self, engine: Engine, *, cwd: str = "") -> None:
        """Ask `engine`; `cwd` is the folder of calls that name none."""
        self._engine = engine
        self._clock = engine.clock
        self._cwd = cwd
        self._categories: Categories | None = None
        self._recency: RecencyWeights | None = None

    def set_token_budget(self, budget: Categories) -> None:
        """Set the tokens per category for later calls; their sum becomes the budget of the whole."""
        self._categories = budget

    def configure_recency_weights(self, weights: RecencyWeights) -> None:
        """Set the factors on the priority by age, for later calls."""
        self._recency = weights

    def inject_context(
        self,
        query: str,
        session_id: str,
        *,
        cwd: str | None = None,
        deadline_ms: float | None = None,
        hand_over: Callable[[SignalAnswer], bool] | None = None,
    ) -> InjectionResult | InjectionFailed:
        """Return the text to put before `query` in the session `session_id`, with facts about it, or the failure.

        Args:
            query: the user's words.
            session_id: names the conversation; what was handed over in it does not come again.
            cwd: folder whose project it is about; None = that of this object, "" = none.
            deadline_ms: milliseconds; None = as the settings say.
            hand_over: whether what was found is taken; only then it counts as given. None = it is.
        """
        started = self._clock.monotonic_ms()
        now = self._clock.now_ms()
        session = SessionKey(host=HOST, session_id=session_id)
        signal = PromptSubmitted(
            session=session,
            key=f"inject:{now}:{self._clock.entropy(4).hex()}",
            at_ms=now,
            cwd=self._cwd if cwd is None else cwd,
            text=query,
        )
        limit = float("inf") if deadline_ms is None else deadline_ms
        delivery = self._engine.handle(
            signal, capabilities=LIBRARY, deadline_ms=limit, adjust=self._adjusted, hand_over=hand_over
        )
        took_ms = max(0, round(self._clock.monotonic_ms() - started))
        return self._answer(delivery, took_ms)

    def _adjusted(self, settings: Settings) -> Settings:
        recall = settings.recall
        changed: dict[str, object] = {}
        if self._categories is not None:
            changed["multispace"] = recall.multispace.model_copy(update={"categories": self._categories})
            whole = sum(self._categories.model_dump().values())
            changed["budgets"] = recall.budgets.model_copy(update={"prompt": whole})
        if self._recency is not None:
            multispace = changed.get("multispace", recall.multispace)
            assert isinstance(multispace, MultispaceSettings)
            changed["multispace"] = multispace.model_copy(update={"recency": self._recency})
        return (
            settings.model_copy(update={"recall": recall.model_copy(update=changed)}) if changed else settings
        )

    def _answer(self, delivery: SignalAnswer, took_ms: int) -> InjectionResult | InjectionFailed:
        result = replace(_result_of(delivery), latency_ms=took_ms)
        failure = delivery.failure
        if failure is None:
            return result
        if failure.reason != "timeout":
            result = InjectionResult(latency_ms=took_ms)
        return InjectionFailed(reason=failure.reason, message=failure.message, result=result)


def _result_of(delivery: SignalAnswer) -> InjectionResult:
    block, pack = delivery.block, delivery.pack
    if block.empty:
        return InjectionResult()
    items: tuple[PackItem, ...] = pack.items if pack else ()
    memories = [item for item in items if item.category != "session"]
    return InjectionResult(
        formatted_context=block.text,
        total_tokens=block.tokens,
        divergence_alerts=pack.sections.alerts if pack else (),
        high_relevance_count=sum(1 for item in memories if item.category == "cluster"),
        single_space_count=sum(1 for item in memories if item.category != "cluster"),
        session_summary_included=len(memories) < len(items),
        temporal_badges=pack.sections.badges if pack else (),
        memories_included=block.memory_ids,
    )
