"""Solutions that the user confirms: "that was it" proves the one before it. In: prompts, the agent's words and actions. Out: texts.

A confirmation is a sentence of a few words that says that it works now and takes nothing back. The problem is stated by the user,
cause and solution by the agent's own closing message or by what was run; without a problem or without a name in the solution nothing is
kept. Pure.
"""

from __future__ import annotations

import re

from tacit.capture.prose import spoken_sentences
from tacit.capture.turn import Turn
from tacit.capture.wording import has_loose_reference, imperative
from tacit.reading.sentences import split_sentences
from tacit.reading.terms import IDENTIFIER, code_spans, find_paths
from tacit.text.lazy_regex import lazy_regex

_MAX_WORDS, _MAX_PROBLEM_WORDS, _MAX_SAID_WORDS = 12, 40, 45
_THANKS = r"(?:(?:yes|yep|yeah|yup|ok|okay|great|perfect|nice|awesome|excellent|cool|good|ah+|oh|wow|thanks?|thank you|brilliant|super|finally)\b[\s,!.:-]*)*"
_CONFIRMS = lazy_regex(
    rf"^\W*{_THANKS}(?:that(?:'s| is| was)? (?:it|the (?:problem|issue|bug|cause|fix|culprit)|(?:did|fixed|solved) (?:it|the \w+(?: \w+)?)|did the trick|worked|works|helped)\b"
    r"|(?:it|this|everything|all(?: of it)?|the \w+(?: \w+)?)(?:'s|'re| is| are)? (?:(?:all )?(?:works?|worked|working|fixed|solved|passes|passing|gone|green))\b(?:\s+(?:fine|great|well|perfectly|now|again|for me))*"
    r"|(?:works|working|worked|fixed|solved|passes|confirmed)\b(?:\s+(?:fine|great|well|perfectly|now|again|for me))*(?=\W*$|[,.;!]|\s+(?:keep|thanks|thank|leave|and)\b)"
    r"|(?:problem|issue|bug) (?:is )?(?:solved|fixed|gone)\b)",
    re.IGNORECASE,
)
_TAKES_BACK = lazy_regex(
    r"\b(?:but|except|however|although|though|almost|nearly|partly|half|still|not|n't|unless|if|only|until|when|should|hope|once|whether|before|so that)\b"
    r"|n['\u2019]t\b|\?",
    re.IGNORECASE,
)
_PROBLEM = lazy_regex(
    r"\b(?:errors?|exceptions?|fail(?:s|ed|ing|ure)?|crash\w*|broken|breaks|bugs?|hangs?|hanging|stuck|slow|blank|missing|wrong|timed? ?out|times out|refused"
    r"|denied|(?:does|is|are|do|was|can|could|will|wo)(?:n['\u2019]?t| not)|cannot|no longer|nothing|keeps? \w+ing|leaks?|duplicated?|lost|traceback|panics?)\b",
    re.IGNORECASE,
)
_STILL = lazy_regex(
    r"^\W*(?:no\b|nope|still|same|hm+|again|it still|that did(?:n'?t| not)|not yet)", re.IGNORECASE
)
_OPENING = lazy_regex(
    r"^(?:\W*(?:hey|hi|hello|hm+|ok|okay|so|and|but|also|now|please|well|(?:can|could) you (?:please )?fix|fix(?: this| that)?)\b[\s,:.!]*)+",
    re.IGNORECASE,
)
_ORDER = lazy_regex(r"^(?:don['\u2019]?t|do not|never|always|make sure|use)\b", re.IGNORECASE)
_CAUSE = lazy_regex(
    r"\b(?:because|(?:the|root) (?:actual |real |root )?(?:issue|problem|cause|reason|bug|culprit) (?:is|was)|caused by|due to|root cause)\b",
    re.IGNORECASE,
)
_DONE = (
    "add|chang|set|mov|replac|remov|switch|updat|pin|renam|rais|lower|increas|decreas|wrapp|us|configur|enabl|disabl|call|pass|await|clear|reset|delet"
    "|upgrad|downgrad|restart|reinstall|regenerat|export|escap|quot|convert|initiali[sz]|install"
)
_FIX = lazy_regex(
    rf"^\W*(?:(?:so|now|then|also|and)\s+)?(?:i(?:['\u2019]ve| have)?\s+(?:now\s+|just\s+)?(?=(?:{_DONE})\w*|fixed|made|put|ran)|(?:the )?fix(?: is| was)?:?\s+(?:to\s+)?|fixed (?:it )?by\s+|(?=(?:{_DONE})(?:ed|d)\b))(?P<done>.+)$",
    re.IGNORECASE | re.DOTALL,
)
_BY_USER = lazy_regex(r"\b(?:i|we)\s+(?:just\s+)?(?:had|needed) to\s+(?P<done>[^.;!?]{6,160})", re.IGNORECASE)
_DOUBT = lazy_regex(
    r"\b(?:might|may|maybe|perhaps|probably|possibly|could be|should (?:fix|help|work)|try|if that|not sure|i think|likely|suspect|guess)\b|\?",
    re.IGNORECASE,
)


def confirms(text: str) -> bool:
    """Whether a prompt says that what was done before it solved the problem."""
    first = next((sentence.text for sentence in spoken_sentences(text) if sentence.own), "")
    if re.fullmatch(rf"\W*{_THANKS}\W*", first, re.IGNORECASE):  # "Perfect!" and then what is
        first = next((sentence.text for sentence in spoken_sentences(text)[1:2] if sentence.own), "")
    match = _CONFIRMS.match(first)
    return match is not None and len(first.split()) <= _MAX_WORDS and not _TAKES_BACK.search(first)


def problem_in(text: str, before: str = "") -> str:
    """The sentence of a prompt that states a problem; `before` stands on where the prompt only says that it is still there."""
    if _STILL.match(text) and len(text.split()) <= _MAX_WORDS:
        return before
    for sentence in spoken_sentences(text):
        words = _OPENING.sub("", sentence.text).strip()
        if (
            sentence.own
            and 4 <= len(words.split()) <= _MAX_PROBLEM_WORDS
            and _PROBLEM.search(words)
            and not has_loose_reference(words)
            and not (imperative(words) or _ORDER.match(words))
        ):
            return words
    return ""


def explained(problem: str, turn: Turn) -> str:
    """Problem, cause and fix, where the agent's closing message after a change names them; "" = it does not."""
    if not problem or not any(_changes(use.tool) and use.finished and not use.failed for use in turn.tools):
        return ""
    cause, fix = "", ""
    for sentence in split_sentences(turn.text):
        words = " ".join(sentence.split())
        if "```" in words or len(words.split()) > _MAX_SAID_WORDS or _DOUBT.search(words):
            continue
        if not cause and _CAUSE.search(words):
            cause = words
        elif not fix and (match := _FIX.match(words)):
            fix = match["done"]
    return _worded(problem, cause=cause, fix=fix)


def solved_by_user(problem: str, text: str) -> str:
    """Problem and fix, where the user says in the confirmation what they had to do; "" = they do not."""
    match = _BY_USER.search(text) if problem else None
    return _worded(problem, cause="", fix=match["done"].strip()) if match else ""


def _worded(problem: str, *, cause: str, fix: str) -> str:
    solution = f"{cause} {fix}"
    if not (code_spans(solution) or find_paths(solution) or IDENTIFIER.search(solution) or (cause and fix)):
        return ""
    closed = problem if problem.endswith(("?", "!")) else problem.rstrip(".") + "."
    sentences = [closed[:1].upper() + closed[1:]]
    if cause:
        sentences.append(f"Cause: {cause.rstrip('.')}.")
    if fix:
        sentences.append(f"Fix: {fix.rstrip('.')}.")
    return " ".join(sentences)


def _changes(tool: str) -> bool:
    return tool in ("edit", "write", "bash")
