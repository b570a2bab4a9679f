"""Telling the agent that it may store things: a line in the start block, and the nudge after a message that may teach something.

In: prompts, after they were answered; blocks, before they are sent. Out: the sentence that a block carries besides its memories. A
sentence quotes nothing, costs no request, and never makes a block of its own. What a message may hold is looked for behind the answer; the next
block of that turn or of the following one carries the nudge. Only where a prompt of few words gets a block anyway is it looked into at once.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from tacit.config.settings import Offer, RecallSettings
from tacit.model.ids import content_hash
from tacit.model.pack import Block, Surface
from tacit.model.query import Query
from tacit.model.session import SessionKey, SessionState
from tacit.ports.clock import Clock
from tacit.ports.models import TokenCounter
from tacit.ports.store import Store
from tacit.recall.outcome import Outcome

Teaches = Callable[[str, str], bool]
START_LINE = "What is settled here can be kept for later sessions with memory_add."
NUDGE = "The user's last message may hold something for later sessions; if so, store it with memory_add."
NUDGED = frozenset({Surface.PROMPT, Surface.ACTION, Surface.FAILURE, Surface.COMPACTION})
"""Surfaces of a block that may carry a nudge."""
KNOWN_FOR_MS = 30 * 86_400_000
"""How long a host counts as one that has our tools after it listed them."""
_RENEWED_MS = 86_400_000
AT_ONCE_CHARS = 400
"""Longer prompts are looked into behind the answer alone: it takes a millisecond per hundred characters."""
_SESSIONS = 200
"""Sessions that are kept in mind; of an older one a nudge is forgotten."""


@dataclass(slots=True)
class _Session:
    """What is to be said to one session: the turn and the hash of a message that may teach something, and what was said."""

    turn: int = 0
    waiting: str = ""
    nudged_turn: int = 0
    told: set[str] = field(default_factory=set[str])


class Nudges:
    """Decides which sentence a block carries. Safe to use from several threads; forgets with the process."""

    def __init__(self, *, store: Store, clock: Clock, tokens: TokenCounter) -> None:
        """Work over one open store, which remembers the hosts that have our tools."""
        self._store = store
        self._clock = clock
        self._tokens = tokens
        self._sessions: OrderedDict[SessionKey, _Session] = OrderedDict()
        self._known: dict[str, int] = {}
        self._teaches: Teaches | None = (
            None  # from the first message that was looked into: loading it takes long
        )
        self._lock = threading.Lock()

    def tools_listed(self, host: str) -> None:
        """Note that an agent of `host` was told our tools; the store is written at most once a day."""
        now = self._clock.now_ms()
        if host and now - self._listed_at(host) > _RENEWED_MS:
            self._store.apply((), values={_name(host): str(now)})
            self._known[host] = now

    def heard(self, key: SessionKey, *, turn: int, text: str, before: str, teaches: Teaches) -> None:
        """Look into a message of the user, behind its answer.

        Args:
            key: the session.
            turn: its turn.
            text: the message.
            before: end of what the agent said before it.
            teaches: says whether a message may hold something, of the message and of `before`.
        """
        self._teaches = teaches
        stretch = content_hash(text)
        with self._lock:
            known = stretch in self._of(key).told
        found = not known and teaches(text, before)
        with self._lock:
            session = self._of(key)
            session.turn, session.waiting = turn, stretch if found else ""

    def sentence(self, surface: Surface, key: SessionKey, *, turn: int, settings: RecallSettings) -> str:
        """The sentence for a block of `surface` if one is sent now; "" = none."""
        if surface is Surface.START:
            return START_LINE if self.offers(settings.tell_memory_add, key.host) else ""
        if surface not in NUDGED or not self.offers(settings.nudge, key.host):
            return ""
        with self._lock:
            session = self._sessions.get(key)
        if session is None or not session.waiting or session.nudged_turn == turn or turn - session.turn > 1:
            return ""
        return NUDGE

    def cost(self, sentence: str) -> int:
        """Tokens of a sentence with its line break."""
        return self._tokens.count(sentence) + 1 if sentence else 0

    def room(
        self, asked: Outcome[Query], state: SessionState, settings: RecallSettings
    ) -> tuple[str, Outcome[Query]]:
        """The sentence for a block, and the query with room for it in its budget, like for all that a block says."""
        sentence = self.sentence(asked.kept.surface, state.key, turn=state.turn, settings=settings)
        if not sentence:
            return "", asked
        left = max(0, asked.kept.budget_tokens - self.cost(sentence))
        return sentence, replace(asked, kept=replace(asked.kept, budget_tokens=left))

    def carried(
        self,
        sentence: str,
        block: Block,
        state: SessionState,
        *,
        prompt: str,
        budget_tokens: int,
        cap_chars: int,
        settings: RecallSettings,
    ) -> Block:
        """`block` with a sentence as its last line; the same block where it is empty or at the host's cap.

        Args:
            sentence: what room was kept for; "" = nothing.
            block: what is about to be sent.
            state: the session's record.
            prompt: the prompt that the block is for, or "": where nothing else is to be said, it is looked into now.
            budget_tokens: most tokens of the block without the sentence.
            cap_chars: the host's cap; 0 = none.
            settings: of recall.
        """
        if block.empty:
            return block
        if not sentence and prompt and block.tokens + self.cost(NUDGE) <= budget_tokens:
            sentence = self._at_once(state, prompt, settings)
        head, line, foot = block.text.rpartition("\n")
        fits = not cap_chars or len(block.text) + len(sentence) + 1 <= cap_chars
        if not sentence or not line or not fits:
            return block
        if sentence == NUDGE:
            with self._lock:
                session = self._of(state.key)
                session.told.add(session.waiting)
                session.waiting, session.nudged_turn = "", state.turn
        return replace(block, text=f"{head}\n{sentence}\n{foot}", tokens=block.tokens + self.cost(sentence))

    def _at_once(self, state: SessionState, text: str, settings: RecallSettings) -> str:
        """The sentence for the block of this very prompt; "" = none."""
        key, turn = state.key, state.turn
        with self._lock:
            session = self._of(key)
            said = session.nudged_turn == turn or content_hash(text) in session.told
        if (
            said
            or self._teaches is None
            or len(text) > AT_ONCE_CHARS
            or not self.offers(settings.nudge, key.host)
        ):
            return ""
        self.heard(key, turn=turn, text=text, before=state.last_message_end, teaches=self._teaches)
        return self.sentence(Surface.PROMPT, key, turn=turn, settings=settings)

    def offers(self, offer: Offer, host: str) -> bool:
        """Whether a setting lets an agent of `host` be told; `auto` = where it listed our tools lately."""
        if offer != "auto":
            return offer == "on"
        return self._clock.now_ms() - self._listed_at(host) <= KNOWN_FOR_MS

    def _listed_at(self, host: str) -> int:
        if host not in self._known:
            text = self._store.get_value(_name(host)) or ""
            self._known[host] = int(text) if text.isdigit() else -KNOWN_FOR_MS * 2
        return self._known[host]

    def _of(self, key: SessionKey) -> _Session:
        found = self._sessions.setdefault(key, _Session())
        self._sessions.move_to_end(key)
        while len(self._sessions) > _SESSIONS:
            self._sessions.popitem(last=False)
        return found


def _name(host: str) -> str:
    """Name of the value that says when a host listed our tools last."""
    return f"tools/{host}"
