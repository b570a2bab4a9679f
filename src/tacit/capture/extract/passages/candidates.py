"""Candidates: passages that may hold something for later sessions. In: turns. Out: verbatim spans, each with a chance. Pure.

A candidate is no statement: it is never stored as a memory, never injected, and no review entry. It tells where it is worth
asking a model. The chance comes from fitted weights; nothing here calls a model of language.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tacit.capture.extract.passages.features import SentenceFeatures
from tacit.capture.extract.passages.model import PassageModel, shipped_passages
from tacit.capture.extract.passages.segmentation import Message, messages_of, passages_of
from tacit.capture.turn import Role, Turn
from tacit.reading.prompts.proposals import read_reply
from tacit.reading.sentences import split_sentences

MIN_PROBABILITY: Mapping[Role, float] = {"user": 0.25, "assistant": 0.33}
"""A passage with a smaller chance is no candidate."""
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
"""Points at a line of a file, or tells what was just tried: of other sessions' labeled prompts 2 of 19 such passages teach anything."""
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
class Candidate:
    """A passage that may hold something worth keeping.

    Attributes:
        index: `Turn.index` of the message it stands in.
        number: the user prompt that the message belongs to.
        role: whose words it is.
        text: its verbatim words.
        chance: how likely it holds something that lasts, 0 to 1.
    """

    index: int
    number: int
    role: Role
    text: str
    chance: float


def find_candidates(
    turns: Sequence[Turn],
    *,
    before: str = "",
    least: Mapping[Role, float] = MIN_PROBABILITY,
    model: PassageModel | None = None,
) -> tuple[Candidate, ...]:
    """The best passage of each message of `turns`, in order; messages without a likely one give none.

    Args:
        turns: messages of one session, in order.
        before: end of what the agent said before the first of them, where it is not among them.
        least: least chance, by speaker.
        model: the weights; None = what ships.
    """
    model = model or shipped_passages()
    best = (_best(message, least[message.turn.role], model) for message in messages_of(turns, before=before))
    return tuple(candidate for candidate in best if candidate is not None)


def is_objection(text: str) -> bool:
    """Whether a prompt objects to what the agent said before it."""
    return read_reply(text).refuses or bool(_OBJECTS.search(text[:300]))


def is_momentary(text: str) -> bool:
    """Whether words of the user ask or order something for the moment: nothing in them says how things are or shall be."""
    if _PRINTED.search(text) or _ONE_MOMENT.search(text):
        return True
    if (_TODAY.search(text) or _OPENS.search(text)) and not _ALWAYS.search(text):
        return True
    sentences = split_sentences(text)
    statements = [sentence for sentence in sentences if not sentence.rstrip(" )").endswith("?")]
    if any(map(_EXPLAINS.search, sentences)) and not any(map(_LASTS.search, statements)):
        return True
    if _STANDS.search(text):
        return False
    if not statements and not _BLAMES.search(text):
        return True
    return bool(_FOR_NOW.search(text)) or not _MAY_STAND.search(text)


def _best(message: Message, least: float, model: PassageModel) -> Candidate | None:
    """The likeliest passage; ties go to the earlier and shorter one."""
    turn = message.turn
    near = model.promising(message) if turn.role == "assistant" else None
    passages = [
        passage
        for passage in passages_of(message, near=near)
        if turn.role == "assistant" or not is_momentary(passage.text)
    ]
    likely = model.likely(passages, SentenceFeatures(message), least)
    if not likely:
        return None
    chance, passage = min(likely, key=lambda pair: (-pair[0], pair[1].first, pair[1].last))
    return Candidate(
        index=turn.index, number=turn.number, role=turn.role, text=passage.span, chance=round(chance, 2)
    )
