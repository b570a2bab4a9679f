"""Decisions of the agent that answer the user's question: "JWT or sessions?", "I decided to use JWT with RS256".

Kept is only what is certain: the user named the alternatives in a question, and a plain sentence of the agent's next message
says that it decided, naming one of them. What the user accepts with their next words is proven; until then it waits for them.
Source: the typed seed, sections 4.2 (words of a decision) and 9.4. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from tacit.capture.prose import spoken_sentences
from tacit.capture.turn import Turn
from tacit.reading.prompts.proposals import read_reply
from tacit.reading.sentences import split_sentences
from tacit.state.captured import Solution
from tacit.text.lazy_regex import lazy_regex
from tacit.text.stemming import content_words

_MAX_QUESTION_WORDS, _MAX_WORDS = 30, 45
_EITHER = lazy_regex(r"(?P<left>[^,;:.?!]+?),?\s+(?:or|vs\.?|versus)\s+(?P<right>[^,;:.?!]+)", re.IGNORECASE)
_NEAR = 4
"""Words on either side of the "or" that may name an alternative."""
_CHOOSING = frozenset({"use", "using", "go", "choose", "pick", "take", "prefer", "want", "keep"})
"""Words of choosing, which name no alternative."""
_DECIDED = lazy_regex(
    r"^\W*(?:(?:ok(?:ay)?|so|then|therefore|in the end|after \w+[^,]{0,40}|given (?:that|this)[^,]{0,60})[\s,:]+)*"
    r"(?:(?:i|we)(?:['\u2019]ve| have)?\s+(?:now\s+)?(?:decided (?:to |on |for |that |in favou?r of )|chose |chosen |picked |opted for |settled on )"
    r"|(?:i|we)(?:['\u2019]ll| will| am|['\u2019]m| are|['\u2019]re)\s+(?:use |using |go with |going with |choosing |opting for )"
    r"|(?:going with|choosing|opting for)\s+|(?:the )?decision(?: is)?:?\s+(?:to\s+)?)(?P<what>.+)$",
    re.IGNORECASE | re.DOTALL,
)
_DOUBT = lazy_regex(
    r"\b(?:might|may|maybe|perhaps|probably|possibly|could|would|should|if you|unless|for now|until|not sure|i think|suggest|recommend|propose|prefer)\b|\?",
    re.IGNORECASE,
)
_RESERVED = lazy_regex(
    r"\b(?:but|however|though|although|except|unless|until|if|wait|hold on|first|instead|rather|not|never|no|nope|stop|later|maybe|perhaps|might|hmm*|why"
    r"|really|sure (?:about|that)|doubt|worr\w+|revert|undo|change)\b|n['\u2019]t\b|\?",
    re.IGNORECASE,
)
"""What makes a yes one with a reservation."""
_DECIDED_MARK = " Decided: "
_RULED_OUT = lazy_regex(r"\b(?:instead of|rather than|over|not)\b.*$", re.IGNORECASE | re.DOTALL)


def alternatives_in(text: str) -> tuple[str, frozenset[str]]:
    """The last question of a prompt that names alternatives, and the words that name them; ("", nothing) without one."""
    alternatives: tuple[str, frozenset[str]] = ("", frozenset())
    for sentence in spoken_sentences(text):
        either = (
            _EITHER.search(sentence.text) if sentence.own and sentence.text.rstrip().endswith("?") else None
        )
        if either is None or len(sentence.text.split()) > _MAX_QUESTION_WORDS:
            continue
        left, right = content_words(either["left"])[-_NEAR:], content_words(either["right"])[:_NEAR]
        words = (frozenset(left) ^ frozenset(right)) - _CHOOSING
        if words:
            alternatives = (" ".join(sentence.text.split()), words)
    return alternatives


def decided(question: str, turn: Turn) -> Solution | None:
    """The agent's decision on `question`; None where no plain sentence of its turn says one."""
    _, words = alternatives_in(question)
    if not words or turn.role != "assistant":
        return None
    for sentence in split_sentences(turn.text):
        line = " ".join(sentence.split())
        match = _DECIDED.match(line)
        if match is None or "```" in line or len(line.split()) > _MAX_WORDS or _DOUBT.search(line):
            continue
        if words & frozenset(content_words(match["what"])):
            content = f"{question}{_DECIDED_MARK}{match['what'].strip().rstrip('.')}."
            return Solution(content=content, span=line, turn=turn.number, at_ms=turn.at_ms)
    return None


def accepts(text: str, choice: Solution) -> bool:
    """Whether the user's next words are a yes to the agent's decision, without doubt, and do not name another alternative."""
    reply = read_reply(text)
    if not reply.accepts or reply.picks or _RESERVED.search(reply.rest):
        return False
    question, _, decision = choice.content.rpartition(_DECIDED_MARK)
    _, words = alternatives_in(question)
    other_words = words - frozenset(content_words(_RULED_OUT.sub("", decision)))
    return not other_words & frozenset(content_words(reply.rest))


def find_choices(
    turns: Sequence[Turn], question: str, choice: Solution | None
) -> tuple[tuple[tuple[Solution, bool], ...], str, Solution | None]:
    """Decisions with whether the user accepted them; the question that waits for one, and the one that waits for an answer.

    Args:
        turns: what was said since the last reading.
        question: the user's last question with alternatives before them, if the agent has not decided it.
        choice: the agent's last decision before them, if the user has not answered it.
    """
    choices: dict[str, tuple[Solution, bool]] = {}
    for turn in turns:
        if turn.role == "user":
            if choice is not None and accepts(turn.text, choice):
                choices[choice.content] = (choice, True)
            choice = None
            question, _ = alternatives_in(turn.text)
        elif question and (decision := decided(question, turn)) is not None:
            choices[decision.content] = (decision, False)
            question, choice = "", decision
    return tuple(choices.values()), question, choice
