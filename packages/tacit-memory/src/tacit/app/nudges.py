"""Telling the agent that it may store things: a line in the start block, and a reminder by rhythm.

In: the session's record, blocks before they are sent. Out: the sentence that a block carries besides its memories. A sentence quotes nothing and costs
no request. What is worth keeping no rule can tell, so the agent is reminded by rhythm: with the first prompt block after five messages of the user in
which nothing was noted, and at once where the user marked something and it was not kept. Only the latter makes a block of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from tacit.config.settings import Offer, RecallSettings
from tacit.model.memory import Relation
from tacit.model.pack import Block, Pack, Surface
from tacit.model.query import Query
from tacit.model.session import SessionKey, SessionState
from tacit.ports.clock import Clock
from tacit.ports.models import TokenCounter
from tacit.ports.store import Store
from tacit.recall.render import frame_text
from tacit.recall.stage import Outcome
from tacit.state.registry import PAIRS_SHOWN, TOOLS_LISTED

START_LINE = "What is settled here can be kept for later sessions with memory_add."
NUDGE = "The user's last messages may hold something for later sessions; if so, store it with memory_add."
NOT_KEPT = (
    "The user asked to remember something that was not stored: store it with memory_add, in their words."
)
NUDGED = frozenset({Surface.PROMPT, Surface.COMPACTION})
"""Surfaces of a block that may carry a reminder."""
EVERY = 5
"""Messages of the user from a note, or a reminder, to the next reminder."""
SESSIONS_TO_SETTLE = 3
"""Sessions that are told of two memories that may not both hold; then the user is asked, or nobody."""
KNOWN_FOR_MS = 30 * 86_400_000
"""How long a host counts as one that has our tools after it listed them."""
_RENEWED_MS = 86_400_000
_KEPT = 50
"""Reminders that a session's record keeps."""


def pair_key(pair: Relation) -> str:
    """The name under which the sessions that were told of a pair are counted."""
    return f"{min(pair.source_id, pair.target_id)} {max(pair.source_id, pair.target_id)}"


class Nudges:
    """Decides which sentence a block carries. Safe to use from several threads."""

    def __init__(self, *, store: Store, clock: Clock, tokens: TokenCounter) -> None:
        """Work over one open store, which remembers the hosts that have our tools."""
        self._store = store
        self._clock = clock
        self._tokens = tokens
        self._known: dict[str, int] = {}

    def tools_listed(self, host: str) -> None:
        """Note that an agent of `host` was told our tools; the store is written at most once a day."""
        now = self._clock.now_ms()
        if host and now - self._listed_at(host) > _RENEWED_MS:
            self._store.apply((), values=TOOLS_LISTED.change(now, host))
            self._known[host] = now

    def sentence(
        self, surface: Surface, state: SessionState, settings: RecallSettings, *, machine: bool = False
    ) -> str:
        """The sentence for a block of `surface` if one is sent now; "" = none. `machine` = the prompt was made by a program."""
        host = state.key.host
        if surface is Surface.START:
            return self.start_line(host, settings)
        if surface not in NUDGED or machine or settings.shadow or not self.offers(settings.nudge, host):
            return ""
        last = max(state.noted_turn, *state.reminded[-1:], 0)
        if state.unkept_turn > last:
            return NOT_KEPT
        return NUDGE if state.turn - last >= EVERY else ""

    def start_line(self, host: str, settings: RecallSettings) -> str:
        """The line for a start block of `host`; "" = none."""
        return START_LINE if self.offers(settings.tell_memory_add, host) else ""

    def cost(self, sentence: str) -> int:
        """Tokens of a sentence with its line break."""
        return self._tokens.count(sentence) + 1 if sentence else 0

    def room(
        self, outcome: Outcome[Query], state: SessionState, settings: RecallSettings, *, machine: bool
    ) -> tuple[str, Outcome[Query]]:
        """The sentence for a block, and the query with room for it in its budget, like for all that a block says."""
        sentence = self.sentence(outcome.kept.surface, state, settings, machine=machine)
        if not sentence:
            return "", outcome
        room = max(0, outcome.kept.budget_tokens - self.cost(sentence))
        return sentence, replace(outcome, kept=replace(outcome.kept, budget_tokens=room))

    def carried(
        self, sentence: str, block: Block, state: SessionState, *, holds: Callable[[str], bool]
    ) -> tuple[Block, SessionState]:
        """`block` with a sentence as its last line, and the record of that; both as they are where nothing is to be said or it does not fit.

        Args:
            sentence: what room was kept for; "" = nothing.
            block: what is about to be sent. An empty one stays empty, unless something that the user marked was not kept.
            state: the session's record.
            holds: whether a block with this text is within the host's caps.
        """
        carried = self.with_line(block, sentence)
        if block.empty and sentence == NOT_KEPT:
            first, last = frame_text(block.surface)
            tag = first.partition("\n")[0]
            carried = replace(
                block, text=f"{tag}\n{sentence}\n{last}", tokens=self.cost(f"{tag}\n{sentence}\n{last}")
            )
        if carried is block or not holds(carried.text):
            return block, state
        if block.surface is not Surface.START:
            state = replace(state, reminded=(*state.reminded, state.turn)[-_KEPT:])
        return carried, state

    def with_line(self, block: Block, sentence: str) -> Block:
        """`block` with `sentence` as its last line; the same block where it or the sentence is empty."""
        head, line, foot = block.text.rpartition("\n")
        if not sentence or not line:
            return block
        return replace(block, text=f"{head}\n{sentence}\n{foot}", tokens=block.tokens + self.cost(sentence))

    def settles(self, settings: RecallSettings, host: str | None) -> Callable[[Relation], bool] | None:
        """Of a pair that may not both hold, whether an agent of `host` (None = one that called a tool of ours) may be told; None = none may."""
        offer = settings.tell_memory_add
        if settings.shadow or not (offer != "off" if host is None else self.offers(offer, host)):
            return None
        shown = PAIRS_SHOWN.read(self._store)
        return lambda pair: len(shown.get(pair_key(pair), ())) < SESSIONS_TO_SETTLE

    def settles_anywhere(self, settings: RecallSettings) -> Callable[[Relation], bool] | None:
        """The same, of an agent of any host that listed our tools lately."""
        hosts = (
            "",
            *(
                name.removeprefix(TOOLS_LISTED.prefix)
                for name in self._store.value_names(TOOLS_LISTED.prefix)
            ),
        )
        host = next((host for host in hosts if self.offers(settings.tell_memory_add, host)), None)
        return None if host is None else self.settles(settings, host)

    def pairs_shown(self, pack: Pack, session: SessionKey) -> None:
        """Note that a session was told of the pairs of a block; each session counts once."""
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
        """Whether a setting lets an agent of `host` be told; `auto` = where it listed our tools lately."""
        if offer != "auto":
            return offer == "on"
        return self._clock.now_ms() - self._listed_at(host) <= KNOWN_FOR_MS

    def _listed_at(self, host: str) -> int:
        if host not in self._known:
            at_ms = TOOLS_LISTED.find(self._store, host)
            self._known[host] = -KNOWN_FOR_MS * 2 if at_ms is None else at_ms
        return self._known[host]
