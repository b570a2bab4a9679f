"""Cues of how something is said, found word by word. In: a sentence. Out: a number whose bits are the cues. Pure.

A pattern that no match of holds a space is tried on every word once, and the outcome is kept; of the others only those are
tried on the sentence that one of its words lets through. Exactly what trying every pattern on the sentence finds, several times
as fast.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from tacit.capture.wording import imperative, leading_reference, loose_reference, negated, rule_like
from tacit.model.late_pattern import late_pattern
from tacit.reading.terms import identifiers, names_path

WITHIN = ""
"""Every match lies within one word."""
START = "^"
"""Only tried at the start of the sentence."""
_SAID: tuple[tuple[str, str], ...] = (
    # Said about what the other side did.
    (
        r"\b(?:you|u)\b",
        r"\b(?:you|u) (?:did ?n[o']?t|do ?n[o']?t|did|just|are|were|should|shouldn'?t|need|forgot|missed|seem|modified|updated|put|added|changed|never|still|haven'?t)\b",
    ),
    (r"\bwhy\b", r"\bwhy (?:are|did|didn'?t|do|don'?t|is|isn'?t|were|would)\b"),
    (START, r"^\W*(?:no+|nope|nah|uhh*|hmm+|dude|wait|actually|hm)\b"),
    (
        r"\b(?:wrong|incorrect|not|isn|mistake|vague|hallucinat|failed|did|does)",
        r"\b(?:wrong|incorrect|(?:not|isn'?t) (?:right|correct|true)|mistake|vague|hallucinat\w+|failed|(?:did|does)n'?t work|not working)\b",
    ),
    (r"\byou\b", r"\b(?:are you sure|did you|have you)\b"),
    (WITHIN, r"\b(?:again|already|still|earlier|previous(?:ly)?|before)\b"),
    (
        r"\b(?:apologi|sorry|mistake|right|good|should)",
        r"\b(?:i apologi[sz]e|sorry|my mistake|you'?re (?:absolutely )?right|good (?:catch|eye|point|call)|should have)\b",
    ),
    # Asked for, forbidden, preferred.
    (
        r"\b(?:do|should|never|not|is|are|was|does|did|can't|won't)",
        r"\b(?:do ?n'?t|do not|should ?n'?t|should not|never|not|is ?n'?t|are ?n'?t|was ?n'?t|does ?n'?t|did ?n'?t|can'?t|won'?t)\b",
    ),
    (
        r"\b(?:should|must|need|have|has|always|never|make|ensure|require)",
        r"\b(?:should|must|needs? to|have to|has to|always|never|make sure|ensure|required?)\b",
    ),
    (r"\b(?:want|prefer|rather|expect|like)", r"\b(?:want|prefer|would like|rather|i'?d like|expect|like)\b"),
    (WITHIN, r"\blet'?s\b"),
    (
        r"\b(?:instead|rather|just|only|except|longer)",
        r"\b(?:instead|rather than|not just|only|except|no longer)\b",
    ),
    (
        r"\b(?:convention|pattern|standard|rule|style|consisten|policy|workflow|design|deliberate|intentional|per)",
        r"\b(?:convention|pattern|standard|rules?|style|consisten\w+|policy|workflow|by design|deliberate\w*|intentional\w*|house rules?|per (?:your|the))\b",
    ),
    (
        r"\b(?:decided|going|go|agreed|keep|leave|drop|choose|chose|stick)",
        r"\b(?:decided|going with|go with|agreed|keep|leave|drop|choose|chose|stick with)\b",
    ),
    (
        r"\b(?:option|finding|approach|step|phase|chunk|number)",
        r"\b(?:option|finding|approach|step|phase|chunk|number) ?[\da-d]\b",
    ),
    # Why, what went wrong, what repaired it.
    (
        r"\b(?:because|since|so|otherwise|due|that'?s|which|hence|therefore)",
        r"\b(?:because|since|so that|otherwise|due to|that'?s why|which is why|hence|therefore)\b",
    ),
    (
        r"\b(?:caused|cause|issue|problem|bug|culprit|reason|turns)",
        r"\b(?:caused by|root cause|the (?:issue|problem|bug|culprit|reason) (?:is|was)|turns out)\b",
    ),
    (
        r"\b(?:error|fail|bug|broken|crash|missing|found|lost|stale|race|invalid)",
        r"\b(?:errors?|fail(?:s|ed|ures?|ing)?|bugs?|broken|crash\w*|missing|not found|lost|stale|race|invalid)\b",
    ),
    (WITHIN, r"\b(?:fix(?:ed|es)?|changed|replaced|added|removed|switched|updated|refactored)\b"),
    (
        WITHIN,
        r"\b(?:is|are|lives?|uses?|stores?|contains?|reads?|writes?|runs?|has|needs?|supports?|requires?)\b",
    ),
    (
        r"\b(?:todo|remaining|left|later|follow|deferred|yet|open|next)",
        r"\b(?:todo|remaining|left|later|follow-?up|deferred|not yet|open|next steps?)\b",
    ),
    (
        r"\u2705|\b(?:pass|works|verified|confirmed)",
        r"(?:\u2705|\b(?:tests? pass(?:es|ed)?|all pass|works|verified|confirmed)\b)",
    ),
    # Talk that passes.
    (
        START,
        r"^\W*(?:let me|now let|i'?ll|i will|i need|i'?m going|now i|next|first|perfect|great|good|excellent|done|all |looking|i see|i'?ve)\b",
    ),
    (
        START,
        r"^\W*(?:what|how|where|which|who|when|does|do|is|are|can|could|tell me|explain|look|take a look|check|show|read|run|try|go|continue|proceed|commit|push|create|make|write|add|update|fix|implement)\b",
    ),
    (r"\b(?:think|thoughts|about|one)", r"\b(?:what do (?:you|we) think|thoughts|how about|this one)\b"),
    (START, r"^\W*(?:ok(?:ay)?|yes|yup|yep|yeah|sure|great|good|perfect|cool|nice|thanks|mmk|k)\b"),
    (r"\b(?:now|then|away)", r"\b(?:now|then|right away)\b"),
    (WITHIN, r"\b(?:review|comments?|consider|feedback)\b"),
    # Who and what.
    (WITHIN, r"\bwe(?:'re|'ve|'ll)?\b"),
    (WITHIN, r"\bour\b"),
    (WITHIN, r"\bi(?:'m|'ve|'ll|'d)?\b"),
    (WITHIN, r"\byour?\b"),
    (WITHIN, r"\btests?\b"),
    (WITHIN, r"\b(?:commit\w*|pr|branch\w*|merge\w*|push\w*)\b"),
    (WITHIN, r"\b(?:files?|director(?:y|ies)|folders?|repos?)\b"),
    (WITHIN, r"\?"),
    (r"\?", r"\?\W*$"),
    (":", r":\s*$"),
    (WITHIN, r"!"),
    (WITHIN, r"\.\.\.|\u2026"),
    (r"[\u2014\u2013]|^-$", r"[\u2014\u2013]| - "),
    (WITHIN, r"\("),
    (WITHIN, r"\"|\u201c"),
    (WITHIN, r"\d"),
    (WITHIN, r"`"),
    (WITHIN, r"\[image|https?://"),
    (r"error:|code|command|\[\d\d/|\d\d:\d\d", r"(?:\berror:|exit code|command not found|\[\d\d/|\d\d:\d\d)"),
)
"""What lets a sentence through (a pattern found in one of its words, `WITHIN`, or `START`), and the pattern; for lower case."""
_PATTERNS = tuple(late_pattern(pattern) for _, pattern in _SAID)
_STARTS = tuple((1 << bit, _PATTERNS[bit]) for bit, (sort, _) in enumerate(_SAID) if sort == START)
_LETS = tuple(
    (1 << bit, late_pattern(sort)) for bit, (sort, _) in enumerate(_SAID) if sort not in (WITHIN, START)
)
_WHOLE = {1 << bit: _PATTERNS[bit] for bit, (sort, _) in enumerate(_SAID) if sort not in (WITHIN, START)}
_WORDS = tuple((1 << bit, _PATTERNS[bit]) for bit, (sort, _) in enumerate(_SAID) if sort == WITHIN)
_ANY = late_pattern("|".join(f"(?:{pattern.pattern})" for _, pattern in (*_WORDS, *_LETS)))
_SHOUTED = late_pattern(r"\b[A-Z]{3,}\b")
_SHOUTS = 1 << len(_SAID)
_SEEN_WORDS = 20_000


def _names_code(sentence: str) -> bool:
    return bool(identifiers(sentence))


_MORE: tuple[Callable[[str], bool], ...] = (
    names_path, _names_code, imperative, negated, loose_reference, leading_reference, rule_like,
)  # fmt: skip
MARKS = len(_SAID) + 1 + len(_MORE)
"""How many bits there are."""


def marks_of(sentence: str) -> int:
    """The cues of a sentence, one bit each; at most 63."""
    found = maybe = 0
    for word in sentence.split():
        within, lets = _of_word(word)
        found |= within
        maybe |= lets
    lower = sentence.lower()
    for bit, pattern in _STARTS:
        if pattern.match(lower):
            found |= bit
    while maybe:
        bit = maybe & -maybe
        maybe ^= bit
        if _WHOLE[bit].search(lower):
            found |= bit
    for number, holds in enumerate(_MORE, start=len(_SAID) + 1):
        if holds(sentence):
            found |= 1 << number
    return found


@lru_cache(maxsize=_SEEN_WORDS)
def _of_word(word: str) -> tuple[int, int]:
    """Cues that lie within the word, and cues that it lets through."""
    lower = word.lower()
    if not _ANY.search(lower) and not _SHOUTED.search(word):
        return 0, 0
    within = sum(bit for bit, pattern in _WORDS if pattern.search(lower))
    lets = sum(bit for bit, pattern in _LETS if pattern.search(lower))
    return within | (_SHOUTS if _SHOUTED.search(word) else 0), lets
