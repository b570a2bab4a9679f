"""What a session taught besides its plain statements. In: turns, what was held back before. Out: learnings, what to hold now.

The user's passages are learned as said. The agent's are held until the user's next prompt: they become knowledge when the
user accepts them, goes on without objecting, or says that it works; an objection drops them, silence leaves them held. When a
session is over, what a success proved needs no prompt. What the agent says keeps the agent's trust, confirmed or not. Never
reads files, never calls a model of language.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from tacit.capture.extract.explicit import Statement
from tacit.capture.extract.passages.cues import Reading
from tacit.capture.extract.passages.cut import MAX_WORDS, Message, Passage, messages_of, passages_of
from tacit.capture.extract.passages.model import PassageModel, VectorsOf
from tacit.capture.extract.passages.proof import proved
from tacit.capture.extract.passages.resolve import content_of
from tacit.capture.prose import spoken_sentences
from tacit.capture.turn import Role, Turn
from tacit.capture.wording import word_count
from tacit.reading.prompts.proposals import read_reply
from tacit.reading.sentences import split_sentences

LEAST_CHANCE: dict[Role, float] = {"user": 0.25, "assistant": 0.33}
"""A passage with a smaller chance is not kept. Chosen on sessions left out (docs/adr/0020-passages-worth-keeping.md)."""
MOST: dict[Role, int] = {"user": 1, "assistant": 1}
"""Passages kept of one message."""
ASKING = 0.4
"""Most confidence in words that ask something too: on sessions left out they were right less often than their chance says."""
CUE = "passage"
ASKED_CHARS = 300
_OBJECTS = re.compile(
    r"^\W*(?:no+|nope|nah|wrong|incorrect|not (?:quite|right|true|correct)|that'?s (?:not|wrong|incorrect)|still (?:not|fails?|broken|wrong)"
    r"|(?:it|that|this) (?:did ?n'?t|does ?n'?t|is ?n'?t|still|failed)|why (?:did|are|is|did ?n'?t|do|would)|are you sure|you (?:did ?n'?t|forgot|missed|are wrong)"
    r"|uh+m*|hmm+|wait|actually|dude|stop|revert|undo)\b"
    r"|\b(?:did ?n'?t work|does ?n'?t work|not working|is ?n'?t (?:true|right|correct|working)|hallucinat\w+)\b",
    re.IGNORECASE,
)


_STANDS = re.compile(
    r"\b(?:should|must|never|always|not|instead|only|want|wrong|rather|sure)\b|n['\u2019]t\b"
    r"|\b(?:do|does|did|is|are|was|were|should|could|would|ca|wo|have|has|had)nt\b",
    re.IGNORECASE,
)
_MAY_STAND = re.compile(
    r"\b(?:should\w*|no|without|wanted|prefer|like|needs?|because|since|cause|keep|leave|why|rules?|convention|pattern|default|version"
    r"|already|your?|too|than|so|when|if|cant|wasnt)\b",
    re.IGNORECASE,
)
_TODAY = re.compile(
    r"\b(?:today|tonight|for now|right now|at the moment|just this once|temporar(?:y|ily))\b", re.IGNORECASE
)
_ALWAYS = re.compile(r"\b(?:always|never|from now on|every|each)\b", re.IGNORECASE)
_STANDING = re.compile(
    r"\b(?:always|never|from now on|going forward|henceforth|in (?:the )?future|we(?:'ve| have)? (?:decided|agreed)|remember)\b",
    re.IGNORECASE,
)
_FOR_NOW = re.compile(
    r"^\W*(?:(?:ok(?:ay)?|and|so|now|hmm+|yes|yup|k|please|great|thanks|just)\W+)*(?:what|how|where|which|who|when|does|do|is|are|can|could|tell me|explain"
    r"|look|take a look|check|show|read|run|try|go|continue|proceed|commit|push|let'?s)\b",
    re.IGNORECASE,
)
_ONE_MOMENT = re.compile(
    r"\bon line \d+"
    r"|^\W*(?:(?:no+|nope|ok(?:ay)?|so|and|hmm+|yes|well|also)\W+)*i (?:did|selected|clicked|opened|ran|tried|chose|typed|restarted)\b",
    re.IGNORECASE,
)
"""Points at a line of a file, or tells what was just tried: of other sessions' labelled prompts 2 of 19 such passages teach anything."""
_EXPLAINS = re.compile(
    r"^\W*(?:(?:ok(?:ay)?|and|so|now|hmm+|please|no|actually)\W+)*(?:think (?:\w+ )?(?:carefully |hard )?(?:about|through)|(?:tell|give|show|walk) me\b|explain\b"
    r"|i want to (?:understand|know|see)\b|i(?:'m|\u2019m| am) (?:\w+ )?(?:asking|wondering|curious)\b)",
    re.IGNORECASE,
)
"""Asks to be told something."""
_OPENS = re.compile(
    r"^\W*(?:good )?(?:morning|afternoon|evening|hi|hello|hey there|welcome back)\b", re.IGNORECASE
)
_PRINTED = re.compile(
    r"\"\w+\"\s*:\s*[\"\d{[]|\bprocess completed with exit code\b|\bexit(?:ed with)? code \d|^\W*\[[\w-]+\]\s|^\s*[\u2300-\u27bf\U0001f300-\U0001faff]"
    r"|^\W*(?:(?:unexpected |fatal )?error\b[.:]|warning:|failed to [\w ]+:)",
    re.IGNORECASE,
)
"""What a program printed and nobody said."""
_BLAMES = re.compile(r"\b(?:did|have|are|were|why (?:are|did|do|would)) you\b|\bwhy not\b", re.IGNORECASE)
"""A question that says how it should have been."""
_LASTS = re.compile(r"\b(?:should|must|never|always|from now on|every|each)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """An agent's passage that waits for the user's next prompt; `proved` = a success of its own followed it."""

    content: str
    span: str
    kind: str
    confidence: float
    number: int
    at_ms: int = 0
    asked: str = ""
    proved: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Learning:
    """A passage to keep.

    Attributes:
        statement: its content, verbatim span, kind and chance.
        role: whose words it is.
        number: the user prompt it belongs to.
        at_ms: when it was said.
        accepted: the user said yes to it; not merely went on.
        asked: head of the prompt that was being worked on; it shapes the trigger.
        doubtful: it may be a text that the user handed over; it waits for them.
    """

    statement: Statement
    role: Role
    number: int
    at_ms: int
    accepted: bool = False
    asked: str = ""
    doubtful: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class _Chosen:
    """A passage to keep whose kind is not known yet."""

    statement: Statement
    passage: Passage
    reading: Reading


def find_learnings(
    turns: Sequence[Turn],
    *,
    held: Sequence[Held] = (),
    before: str = "",
    known: Collection[str] = (),
    model: PassageModel,
    vectors: VectorsOf | None = None,
    over: bool = False,
) -> tuple[tuple[Learning, ...], tuple[Held, ...]]:
    """Learnings of `turns`, in order, and what is held for the next reading.

    Args:
        turns: what was said since the last reading.
        held: what that reading held.
        before: end of what the agent said before the first of them.
        known: verbatim sentences that other patterns found already; no passage repeats them.
        model: the weights.
        vectors: gives the unit vectors of texts by the embedder that `model` knows; they help to tell kinds.
        over: nobody will say more; what a success proved is learned, the rest goes on waiting.
    """
    chosen = [(message, _chosen(message, known, model)) for message in messages_of(turns, before=before)]
    kinds = iter(_kinds([one for _, own in chosen for one in own], model, vectors))
    found: list[Learning] = []
    waiting = list(held)
    asked = ""
    for message, own in chosen:
        turn = message.turn
        statements = [replace(one.statement, kind=next(kinds)) for one in own]
        if turn.role == "user":
            if waiting and not objects(turn.text):
                found += [_confirmed(one, accepted=read_reply(turn.text).accepts) for one in waiting]
            waiting = []
            asked = turn.text[:ASKED_CHARS]
            found += [
                Learning(
                    statement=statement,
                    role="user",
                    number=turn.number,
                    at_ms=turn.at_ms,
                    asked=asked,
                    doubtful=_may_be_foreign(statement, turn),
                )
                for statement in statements
            ]
        else:
            waiting += [_waits(statement, turn, asked) for statement in statements]
    if over:
        found += [_confirmed(one, accepted=False) for one in waiting if one.proved]
        waiting = [one for one in waiting if not one.proved]
    unique = {one.statement.content.lower(): one for one in reversed(found)}
    return tuple(one for one in found if unique[one.statement.content.lower()] is one), tuple(waiting)


def _may_be_foreign(statement: Statement, turn: Turn) -> bool:
    """Whether a passage of a prompt may not be the user's own word.

    That is so when the prompt contains pasted text. It is also so when the passage states a rule ("always", "we decided") that
    the patterns for the user's own statements did not accept: the rule may be quoted from somebody else.
    """
    return bool(_STANDING.search(statement.content)) or any(
        not sentence.own for sentence in spoken_sentences(turn.text)
    )


def objects(text: str) -> bool:
    """Whether a prompt objects to what the agent said before it."""
    return read_reply(text).refuses or bool(_OBJECTS.search(text[:300]))


def passing(text: str) -> bool:
    """Whether words of the user ask or order something for the moment: nothing in them says how things are or shall be."""
    if _PRINTED.search(text) or _ONE_MOMENT.search(text):
        return True
    if (_TODAY.search(text) or _OPENS.search(text)) and not _ALWAYS.search(text):
        return True
    sentences = split_sentences(text)
    told = [one for one in sentences if not one.rstrip(" )").endswith("?")]
    if any(map(_EXPLAINS.search, sentences)) and not any(map(_LASTS.search, told)):
        return True
    if _STANDS.search(text):
        return False
    if not told and not _BLAMES.search(text):
        return True
    return bool(_FOR_NOW.search(text)) or not _MAY_STAND.search(text)


def _waits(statement: Statement, turn: Turn, asked: str) -> Held:
    return Held(
        content=statement.content,
        span=statement.span,
        kind=statement.kind,
        confidence=statement.confidence,
        number=turn.number,
        at_ms=turn.at_ms,
        asked=asked,
        proved=proved(statement.span, statement.kind, turn.tools),
    )


def _confirmed(one: Held, *, accepted: bool) -> Learning:
    statement = Statement(
        content=one.content, span=one.span, kind=one.kind, confidence=one.confidence, cue=CUE
    )
    return Learning(
        statement=statement,
        role="assistant",
        number=one.number,
        at_ms=one.at_ms,
        accepted=accepted,
        asked=one.asked,
    )


def _chosen(message: Message, known: Collection[str], model: PassageModel) -> list[_Chosen]:
    """The best passages of a message that do not overlap, in their order; ties go to the earlier and shorter."""
    role = message.turn.role
    near = model.promising(message) if role == "assistant" else None
    passages = list(passages_of(message, near=near))
    only = role == "user" and len(passages) == 1
    if not passages or (only and passing(passages[0].text)):
        return []
    reading = Reading(message)
    ranked = sorted(
        model.likely(passages, reading, LEAST_CHANCE[role]),
        key=lambda pair: (-pair[0], pair[1].first, pair[1].last),
    )
    chosen: list[tuple[float, Passage]] = []
    for chance, one in ranked:
        if len(chosen) == MOST[role]:
            break
        if role == "user" and not only and passing(one.text):
            continue
        if any(one.first < other.last and other.first < one.last for _, other in chosen):
            continue
        if not any(sentence in known for sentence in message.sentences[one.first : one.last]):
            chosen.append((chance, one))
    return [
        _Chosen(
            statement=Statement(
                content=content,
                span=one.span,
                kind="",
                confidence=round(min(chance, ASKING) if "?" in one.text else chance, 2),
                cue=CUE,
            ),
            passage=one,
            reading=reading,
        )
        for chance, one in sorted(chosen, key=lambda pair: pair[1].first)
        if word_count(content := content_of(one)) <= MAX_WORDS
    ]


def _kinds(chosen: Sequence[_Chosen], model: PassageModel, vectors: VectorsOf | None) -> list[str]:
    if not chosen:
        return []
    found = vectors([one.passage.text for one in chosen]) if vectors else None
    return model.kinds_of([one.passage for one in chosen], [one.reading for one in chosen], found)
