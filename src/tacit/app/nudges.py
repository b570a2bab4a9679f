"""Telling the agent that it may store things: a line in the start block, and the nudge after a message that may teach something.

In: prompts, after they were answered; blocks, before they are sent. Out: the sentence that a block carries besides its memories. A
sentence quotes nothing, costs no request, and never makes a block of its own. What a message may hold is looked for behind the answer; the next
block of that turn or of the following one carries the nudge. Only where a prompt of few words gets a block anyway is it looked into at once.
What is due and what was given stands in the session's record.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tacit.config.settings import Offer, RecallSettings
from tacit.model.ids import content_hash
from tacit.model.pack import Block, Surface
from tacit.model.query import Query
from tacit.model.session import Nudge, SessionState
from tacit.ports.clock import Clock
from tacit.ports.models import TokenCounter
from tacit.ports.store import Store
from tacit.recall.stage import Outcome
from tacit.state.registry import TOOLS_LISTED

LearningDetector = Callable[[str], bool]
START_LINE = "What is settled here can be kept for later sessions with memory_add."
NUDGE = "The user's last message may hold something for later sessions; if so, store it with memory_add."
NUDGED = frozenset({Surface.PROMPT, Surface.ACTION, Surface.FAILURE, Surface.COMPACTION})
"""Surfaces of a block that may carry a nudge."""
KNOWN_FOR_MS = 30 * 86_400_000
"""How long a host counts as one that has our tools after it listed them."""
_RENEWED_MS = 86_400_000
AT_ONCE_CHARS = 400
"""Longer prompts are looked into behind the answer alone: it takes a millisecond per hundred characters."""
_KEPT = 50
"""Nudges that a session's record keeps."""


class Nudges:
    """Decides which sentence a block carries. Safe to use from several threads."""

    def __init__(self, *, store: Store, clock: Clock, tokens: TokenCounter) -> None:
        """Work over one open store, which remembers the hosts that have our tools."""
        self._store = store
        self._clock = clock
        self._tokens = tokens
        self._known: dict[str, int] = {}
        self._teaches: LearningDetector | None = (
            None  # from the first message that was looked into: loading it takes long
        )

    def tools_listed(self, host: str) -> None:
        """Note that an agent of `host` was told our tools; the store is written at most once a day."""
        now = self._clock.now_ms()
        if host and now - self._listed_at(host) > _RENEWED_MS:
            self._store.apply((), values=TOOLS_LISTED.change(now, host))
            self._known[host] = now

    def heard(self, state: SessionState, *, text: str, teaches: LearningDetector) -> bool:
        """Return whether a nudge is due for a message of the user; see `with_nudge_due`.

        Args:
            state: the session's record.
            text: the message.
            teaches: says whether a message may hold something.
        """
        self._teaches = teaches
        return not _was_given(state, content_hash(text)) and teaches(text)

    def sentence(self, surface: Surface, state: SessionState, settings: RecallSettings) -> str:
        """The sentence for a block of `surface` if one is sent now; "" = none."""
        host = state.key.host
        if surface is Surface.START:
            return self.start_line(host, settings)
        if surface not in NUDGED or not self.offers(settings.nudge, host):
            return ""
        due = _due(state)
        if due is None or _given_in_turn(state) or state.turn - due.turn > 1:
            return ""
        return NUDGE

    def start_line(self, host: str, settings: RecallSettings) -> str:
        """The line for a start block of `host`; "" = none."""
        return START_LINE if self.offers(settings.tell_memory_add, host) else ""

    def cost(self, sentence: str) -> int:
        """Tokens of a sentence with its line break."""
        return self._tokens.count(sentence) + 1 if sentence else 0

    def room(
        self, outcome: Outcome[Query], state: SessionState, settings: RecallSettings
    ) -> tuple[str, Outcome[Query]]:
        """The sentence for a block, and the query with room for it in its budget, like for all that a block says."""
        sentence = self.sentence(outcome.kept.surface, state, settings)
        if not sentence:
            return "", outcome
        room = max(0, outcome.kept.budget_tokens - self.cost(sentence))
        return sentence, replace(outcome, kept=replace(outcome.kept, budget_tokens=room))

    def carried(
        self,
        sentence: str,
        block: Block,
        state: SessionState,
        *,
        prompt: str,
        budget_tokens: int,
        holds: Callable[[str], bool],
        settings: RecallSettings,
    ) -> tuple[Block, SessionState]:
        """`block` with a sentence as its last line, and the record of that; both as they are where nothing is to be said.

        Nothing is added to an empty block, nor to one at the host's cap.

        Args:
            sentence: what room was kept for; "" = nothing.
            block: what is about to be sent.
            state: the session's record.
            prompt: the prompt that the block is for, or "": where nothing else is to be said, it is looked into now.
            budget_tokens: most tokens of the block without the sentence.
            holds: whether a block with this text is within the host's caps.
            settings: of recall.
        """
        if block.empty:
            return block, state
        if not sentence and prompt and block.tokens + self.cost(NUDGE) <= budget_tokens:
            state = self._with_due_at_once(state, prompt, settings)
            sentence = self.sentence(Surface.PROMPT, state, settings) if _due(state) else ""
        fits = holds(f"{block.text}\n{sentence}")
        carried = self.with_line(block, sentence) if fits else block
        if sentence == NUDGE and carried is not block:
            state = _with_given(state, at_ms=self._clock.now_ms())
        return carried, state

    def with_line(self, block: Block, sentence: str) -> Block:
        """`block` with `sentence` as its last line; the same block where it or the sentence is empty."""
        head, line, foot = block.text.rpartition("\n")
        if not sentence or not line:
            return block
        return replace(block, text=f"{head}\n{sentence}\n{foot}", tokens=block.tokens + self.cost(sentence))

    def _with_due_at_once(self, state: SessionState, text: str, settings: RecallSettings) -> SessionState:
        """The record with a nudge due for this very prompt, where one is."""
        if (
            self._teaches is None
            or len(text) > AT_ONCE_CHARS
            or _given_in_turn(state)
            or not self.offers(settings.nudge, state.key.host)
        ):
            return state
        due = self.heard(state, text=text, teaches=self._teaches)
        return with_nudge_due(state, turn=state.turn, text=text, due=due)

    def offers(self, offer: Offer, host: str) -> bool:
        """Whether a setting lets an agent of `host` be told; `auto` = where it listed our tools lately."""
        if offer != "auto":
            return offer == "on"
        return self._clock.now_ms() - self._listed_at(host) <= KNOWN_FOR_MS

    def _listed_at(self, host: str) -> int:
        if host not in self._known:
            at_ms = TOOLS_LISTED.find(self._store, host)
            self._known[host] = -KNOWN_FOR_MS * 2 if at_ms is None else at_ms
        return self._known[host]


def with_nudge_due(state: SessionState, *, turn: int, text: str, due: bool) -> SessionState:
    """The record once a message was looked into: its nudge is due or not, and none of an earlier message any more."""
    stretch = content_hash(text)
    given_nudges = tuple(nudge for nudge in state.nudges if nudge.at_ms)
    due = due and not _was_given(state, stretch)
    nudges = (*given_nudges, Nudge(turn=turn, stretch=stretch)) if due else given_nudges
    return state if nudges == state.nudges else replace(state, nudges=nudges)


def _due(state: SessionState) -> Nudge | None:
    return next((nudge for nudge in state.nudges if not nudge.at_ms), None)


def _was_given(state: SessionState, stretch: str) -> bool:
    return any(nudge.at_ms and nudge.stretch == stretch for nudge in state.nudges)


def _given_in_turn(state: SessionState) -> bool:
    return any(nudge.at_ms and nudge.given_turn == state.turn for nudge in state.nudges)


def _with_given(state: SessionState, *, at_ms: int) -> SessionState:
    nudges = tuple(
        nudge if nudge.at_ms else replace(nudge, given_turn=state.turn, at_ms=at_ms) for nudge in state.nudges
    )
    return replace(state, nudges=nudges[-_KEPT:])
