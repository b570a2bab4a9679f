"""What a session taught beyond its explicit statements. In: the turns of a session. Out: statements with their turn.

Only what the user said counts as knowledge here: decisions, standing wishes, what a file is for, what is left to do.
The assistant's words become nothing. Silence when in doubt. Never reads files, never calls a model.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from tacit.capture.extract.explicit import MAX_WORDS, Statement, find_explicit, tidy
from tacit.capture.prose import hide_quotes, pasted_document, show_quotes, spoken_sentences
from tacit.capture.turn import Turn
from tacit.capture.wording import IMPERATIVES, kind_of, loose_reference, word_count
from tacit.late_pattern import late_pattern

MIN_WORDS = 4
_LEAD = late_pattern(
    r"^(?:(?:ok(?:ay)?|so|and|also|but|well|please|yes|yeah|yep|no|then|actually|alright|great|thanks|now)\b[\s,.:;!-]*)+",
    re.IGNORECASE,
)
_HEDGED = late_pattern(
    r"\b(?:maybe|perhaps|might|not sure|i think|i guess|i wonder|could|would|if|for now|this time|temporar|try|what about)\b",
    re.IGNORECASE,
)
_NOW = late_pattern(
    r"\b(?:now|right away|again|next|first|today|please|run|rerun|commit|push|fix|look at|check|show|open|continue|proceed"
    r"|start|stop|delete|revert|merge|rebase)\b",
    re.IGNORECASE,
)
_DECIDED = late_pattern(
    r"^(?:we (?:have )?(?:decided|agreed|chose)(?: to| on| that)?\b|decision\s*:|the decision is\b|we'?re (?:going|sticking) with\b"
    r"|let'?s (?:go with|stick with|standardi[sz]e on|settle on|use)\b|we(?:'ll| will) (?:use|go with|stick with|keep)\b"
    r"|i(?:'ve| have) decided\b)(?P<rest>.+)$",
    re.IGNORECASE | re.DOTALL,
)
_OUR_WAY = late_pattern(
    r"^(?:we|our (?:team|project|convention|policy|style|tests?|code|api|ci|docs?|users?))\b.{0,40}?"
    r"\b(?:always|never|only|don'?t|do not|doesn'?t|must|require|prefer|expect|support|no longer)\b.+$"
    r"|^(?:it'?s|it is) our (?:convention|policy|standard|practice) (?:to|that)\b.+$",
    re.IGNORECASE | re.DOTALL,
)
_UNWANTED = late_pattern(
    r"^(?:(?:we|i)(?: really)? (?:don'?t|do not|never) (?:want|like|allow|use|support|need)\b|you should(?:n'?t| not)\b"
    r"|you must(?:n'?t| not)\b|(?:do not|don'?t) (?:ever )?(?:add|use|put|write|create|include|mention|hardcode|hard-code|mock|commit)\b)"
    r".+$",
    re.IGNORECASE | re.DOTALL,
)
_GENERIC = late_pattern(
    r"\b(?:any|every|all|each|ever|anywhere|comments|tests|files|commits|branches|imports|errors|logs|docs|mocks"
    r"|dependencies|messages|names|types|secrets|emojis?|unless|without asking|in (?:the )?(?:code|tests|docs|commits?"
    r"|codebase|repo|project|ui|readme))\b",
    re.IGNORECASE,
)
_EACH_TIME = late_pattern(
    r"^(?:please )?(?:make sure|be sure|ensure|remember)\b.+\b(?:every|each|whenever|any ?time|after (?:every|each|any)|always)\b.+$"
    r"|^(?:whenever|every time|each time|any ?time|after (?:every|each)|before (?:every|each)) [^,]{3,80},\s*.+$",
    re.IGNORECASE | re.DOTALL,
)
_FILE_IS_FOR = late_pattern(
    r"^(?:the )?`?(?:[\w.-]+/)*[\w-]+\.\w{1,5}`? (?:is|contains|holds|has|defines|handles|is where|is for|is used)\b.+$"
    r"|^(?:the )?(?:[\w-]+ ){1,4}(?:lives?|is defined|is stored|are stored|is kept|are kept) in `?(?:[\w.@-]+/)+[\w.*-]*`?.*$",
    re.IGNORECASE | re.DOTALL,
)
_POSITIVE = late_pattern(
    r"\b(?:always|never|only|must|require|prefer|expect|convention|policy|standard)\b", re.IGNORECASE
)
_PASSING = late_pattern(
    r"\bwe (?:don'?t|do not) (?:have|care|know|see|think|even)\b|\bwe should\b|\balready\b|\bpresumably\b|\b(?:will|going to)\b",
    re.IGNORECASE,
)
_POINTS = late_pattern(
    r"\(\d|\b(?:option|improvement|approach|number|step|phase|plan) [\da-z]\b|#\d|\bmode:|\bwith the \w+$",
    re.IGNORECASE,
)
_STATE = late_pattern(
    r"^(?:currently|still)\b|\b(?:is|are|has) (?:missing|wrong|broken|empty|still|out of date|not|no|an? (?:bug|error|typo)|in \S+$|too|now)\b",
    re.IGNORECASE,
)
_OPEN = late_pattern(
    r"^(?:todo\s*:?\s+|next steps?\s*:\s*|(?:the )?next (?:time|session)[,:]?\s+|we still (?:need|have) to\s+"
    r"|later,? we(?:'ll| will| should| need to| have to)\s+|remind me (?:later )?to\s+"
    r"|later,? (?:let'?s)\s+)(?P<rest>(?!that\b).+)$",
    re.IGNORECASE | re.DOTALL,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A statement and the turn it was said in. `explicit` = the real-time patterns found it too."""

    statement: Statement
    turn: Turn
    explicit: bool


def find_statements(turns: Iterable[Turn]) -> tuple[Found, ...]:
    """Everything durable that the user said, in order; a repeated content counts once."""
    found: dict[str, Found] = {}
    for turn in turns:
        if turn.role != "user":
            continue
        explicit = find_explicit(turn.text)
        spans = {statement.span for statement in explicit}
        for statement in explicit:
            found.setdefault(statement.content.lower(), Found(statement=statement, turn=turn, explicit=True))
        if pasted_document(turn.text):
            continue
        for sentence in spoken_sentences(turn.text):
            if sentence.doubted or sentence.text in spans:
                continue
            if statement := _moderate(sentence.text):
                statement = replace(statement, doubtful=not sentence.own)
                found.setdefault(
                    statement.content.lower(), Found(statement=statement, turn=turn, explicit=False)
                )
    return tuple(found.values())


def open_loops(turns: Iterable[Turn]) -> tuple[str, ...]:
    """What the user said is left to do, in order, without repeats."""
    found: dict[str, None] = {}
    for turn in turns:
        if turn.role == "user" and not pasted_document(turn.text):
            for sentence in spoken_sentences(turn.text):
                match = _OPEN.match(_LEAD.sub("", sentence.text, count=1))
                if (
                    match
                    and sentence.own
                    and not sentence.text.rstrip().endswith("?")
                    and word_count(match["rest"]) >= 2
                ):
                    found.setdefault(tidy(match["rest"]))
    return tuple(found)


def _moderate(sentence: str) -> Statement | None:
    said, quotes = hide_quotes(sentence)
    body = _LEAD.sub("", said, count=1)
    if body.rstrip(" )").endswith("?") or not MIN_WORDS <= word_count(body) <= MAX_WORDS // 2:
        return None
    if loose_reference(body) or _HEDGED.search(body):
        return None
    found = _classify(body)
    if found is None:
        return None
    content = show_quotes(tidy(found.content), quotes)
    return replace(found, content=content, span=sentence) if word_count(content) >= MIN_WORDS else None


def _classify(body: str) -> Statement | None:
    def made(kind: str, confidence: float, cue: str) -> Statement:
        return Statement(content=body, span=body, kind=kind, confidence=confidence, cue=cue)

    if _DECIDED.match(body) and not _POINTS.search(body) and not _NOW.search(_DECIDED.sub(r"\g<rest>", body)):
        return made("decision", 0.7, "decided")
    if _EACH_TIME.match(body) or _after_each(body):
        return made(kind_of(body) if kind_of(body) != "fact" else "preference", 0.75, "each time")
    if (
        _OUR_WAY.match(body)
        and (_POSITIVE.search(body) or _GENERIC.search(body))
        and not _PASSING.search(body)
    ):
        kind = kind_of(body)
        return made("decision" if kind == "fact" else kind, 0.7, "our way")
    if _UNWANTED.match(body) and _GENERIC.search(body):
        return made("anti_pattern", 0.7, "unwanted")
    if _FILE_IS_FOR.match(body) and not _STATE.search(body):
        return made("file_context", 0.7, "what a file is for")
    return None


def _after_each(body: str) -> bool:
    """An instruction tied to a recurring moment: "commit after every task"."""
    verb = re.match(r"(?:git )?(?P<verb>[a-z]+)\b.{0,80}\bafter (?:each|every) ", body, re.IGNORECASE)
    return verb is not None and verb["verb"].lower() in IMPERATIVES and word_count(body) <= 25
