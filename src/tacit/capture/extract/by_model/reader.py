"""A model of language reads what was said since it last did. In: new turns of a session. Out: drafts, and what to store with them.

It is asked when a session ends or enough was said, within the day's tokens, and never twice for the same words. Whatever goes
wrong, the drafts found without it stand: a failure is one line in the log and a count in `status`. What the agent said counts
only where the user answered and did not object.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

from tacit.capture.extract.by_model.checks import span_of, why_not
from tacit.capture.extract.by_model.questions import (
    INSTRUCTIONS,
    Extracted,
    Utterance,
    question,
    read_answer,
    schema,
)
from tacit.capture.extract.by_model.spending import NAME, PAUSE_MS, Spending, read_spending, write_spending
from tacit.capture.extract.by_model.unread import Waiting, read_unread, unread_name, with_turns, write_unread
from tacit.capture.extract.echoes import Echoes
from tacit.capture.extract.explicit import tidy
from tacit.capture.extract.passages.find import objects
from tacit.capture.prose import in_own_voice
from tacit.capture.turn import Turn
from tacit.config.settings import WriterSettings
from tacit.errors import ProviderError
from tacit.model.changes import Draft
from tacit.model.ids import content_hash
from tacit.model.kinds import KindRegistry
from tacit.model.memory import Provenance, TrustTier
from tacit.model.scope import Scope
from tacit.model.session import SessionKey
from tacit.ports.clock import Clock
from tacit.ports.models import TokenCounter
from tacit.ports.store import Store
from tacit.ports.writer import Writer, WriterRequest
from tacit.reading.prompts.proposals import read_reply
from tacit.reading.situation import read_situation
from tacit.reading.trigger import make_trigger

_LOG = logging.getLogger(__name__)
MOST_CONFIDENCE = 0.9
ASKING = 0.4
"""Most confidence in words that ask something, as for passages."""
QUESTION_TOKENS = 1000
"""What instructions and schema cost besides the words, estimated from above."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """Whose words are read: its key, the scope its learnings belong to, and whether it is over."""

    key: SessionKey
    scope: Scope
    ended: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """What a reading yields: drafts, and named values to store in the same transaction."""

    drafts: tuple[Draft, ...] = ()
    values: tuple[tuple[str, str | None], ...] = ()


class ModelReader:
    """Asks one writer. Called from the one thread that learns."""

    def __init__(
        self,
        *,
        writer: Writer,
        prepare: Callable[[str], str],
        store: Store,
        tokens: TokenCounter,
        clock: Clock,
        settings: WriterSettings,
        kinds: KindRegistry,
    ) -> None:
        """Read with `writer`; `prepare` takes secrets out of each message before a question is made of them."""
        self._writer = writer
        self._prepare = prepare
        self._store = store
        self._tokens = tokens
        self._clock = clock
        self._settings = settings
        # Kinds that tell of the moment are not asked for: a session's own notes do that.
        self._kinds = tuple(kind.name for kind in kinds if not kind.episodic)

    def read(
        self,
        turns: Sequence[Turn],
        session: Session,
        *,
        redact: Callable[[str], str],
        given: Sequence[str] = (),
        said: Collection[str] = (),
    ) -> Read:
        """Read what waits of `session` with `turns`, if it is time.

        Args:
            turns: what was said since the last reading of the transcript.
            session: whose.
            redact: takes secrets out, before anything waits or leaves.
            given: what was put into the session's context; who repeats it has said nothing.
            said: content hashes of what was captured in real time.
        """
        name = unread_name(session.key.host, session.key.session_id)
        stored = self._store.get_value(name)
        waiting = with_turns(read_unread(stored), turns, redact=redact, most_chars=self._settings.most_chars)
        chars = sum(len(one.text) for one in waiting)
        spoken = any(one.role == "user" for one in waiting)
        if spoken and (session.ended or chars >= self._settings.least_chars):
            answer = self._ask([_utterance(number, one) for number, one in enumerate(waiting, start=1)])
            if answer is not None:
                drafts = self._drafts(answer, waiting, session, Echoes(given), said)
                return Read(drafts=drafts, values=((name, None),))
        text = write_unread(waiting)
        return Read(values=((name, text),) if text != stored else ())

    def _ask(self, utterances: Sequence[Utterance]) -> tuple[Extracted, ...] | None:
        """The answer; None = none was asked for or none came, and what waits goes on waiting."""
        now_ms = self._clock.now_ms()
        spent = read_spending(self._store.get_value(NAME)).on(now_ms)
        if now_ms < spent.paused_until_ms:
            return None
        reserve = self._reserve(utterances)
        if spent.tokens + reserve > self._settings.tokens_per_day:
            self._keep(replace(spent, over_budget=spent.over_budget + 1))
            return None
        reserved = replace(
            spent, tokens=spent.tokens + reserve, asked=spent.asked + 1, paused_until_ms=0, error=""
        )
        self._keep(reserved)
        try:
            request = WriterRequest(
                system=INSTRUCTIONS,
                user=question(utterances, self._kinds, self._prepare),
                most_output_tokens=self._settings.most_output_tokens,
                schema=schema(self._kinds),
            )
            answer = self._writer.write(request)
            found = read_answer(answer.text, kinds=self._kinds)
        except ProviderError as error:
            _LOG.warning("the writer failed: %s", error.reason or error.code, extra={"detail": str(error)})
            until = self._clock.now_ms() + PAUSE_MS
            self._keep(
                replace(reserved, failed=reserved.failed + 1, paused_until_ms=until, error=str(error)[:300])
            )
            return None
        if tokens := answer.tokens_in + answer.tokens_out:
            self._keep(replace(reserved, tokens=spent.tokens + tokens))
        return found

    def _reserve(self, utterances: Sequence[Utterance]) -> int:
        words = sum(self._tokens.count(one.text) for one in utterances)
        return words + QUESTION_TOKENS + self._settings.most_output_tokens

    def _keep(self, spending: Spending) -> None:
        self._store.put_value(NAME, write_spending(spending))

    def _drafts(
        self,
        found: Sequence[Extracted],
        waiting: Sequence[Waiting],
        session: Session,
        echoes: Echoes,
        said: Collection[str],
    ) -> tuple[Draft, ...]:
        made = [draft for one in found if (draft := self._draft(one, waiting, session, echoes)) is not None]
        kept = [draft for draft in made if content_hash(draft.content) not in said]
        spent = read_spending(self._store.get_value(NAME))
        self._keep(
            replace(spent, kept=spent.kept + len(made), dropped=spent.dropped + len(found) - len(made))
        )
        return tuple(kept)

    def _draft(
        self, found: Extracted, waiting: Sequence[Waiting], session: Session, echoes: Echoes
    ) -> Draft | None:
        """The statement as a draft, or None where the session does not say it."""
        if not 1 <= found.number <= len(waiting):
            return None
        one = waiting[found.number - 1]
        span = span_of(found.quote, one.text)
        if not span or why_not(found, [each.text for each in waiting]):
            return None
        accepted = False
        if one.role == "user":
            if echoes.of_user(span):
                return None
        else:
            reply = next((each for each in waiting[found.number :] if each.role == "user"), None)
            if reply is None or objects(reply.text) or echoes.of_agent(found.content, span):
                return None
            accepted = read_reply(reply.text).accepts
        asked = next((each.text for each in waiting[found.number - 1 :: -1] if each.role == "user"), "")
        confidence = min(found.confidence, ASKING if "?" in span else MOST_CONFIDENCE)
        content = tidy(found.content)
        users = one.role == "user" and in_own_voice(span, one.text)
        return Draft(
            content=content,
            kind=found.kind,
            scope=session.scope,
            provenance=Provenance(
                tier=TrustTier.USER if users else TrustTier.ASSISTANT,
                source="session",
                host=session.key.host,
                session_id=session.key.session_id,
                turn=one.prompt,
                span=span,
                extractor=self._writer.name,
            ),
            at_ms=one.at_ms,
            confidence=round(confidence, 2),
            explicit=accepted,
            trigger=make_trigger(content, kind=found.kind, situation=read_situation(asked[:300])),
        )


def _utterance(number: int, one: Waiting) -> Utterance:
    return Utterance(number=number, role=one.role, text=one.text)
