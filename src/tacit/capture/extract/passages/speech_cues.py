"""Cues of how something is said, found word by word. In: a sentence. Out: a number whose bits are the cues. Pure.

A pattern that no match of holds a space is tried on every word once, and the outcome is kept; of the others only those are
tried on the sentence that one of its words lets through. Exactly what trying every pattern on the sentence finds, several times
as fast.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from tacit.capture.wording import (
    denials,
    has_leading_reference,
    has_loose_reference,
    imperative,
    is_negated,
    rule_like,
)
from tacit.reading.terms import identifiers, names_path
from tacit.text.lazy_regex import lazy_regex

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
_PATTERNS = tuple(lazy_regex(pattern) for _, pattern in _SAID)
_STARTS = tuple((1 << bit, _PATTERNS[bit]) for bit, (sort, _) in enumerate(_SAID) if sort == START)
_LETS = tuple(
    (1 << bit, lazy_regex(sort)) for bit, (sort, _) in enumerate(_SAID) if sort not in (WITHIN, START)
)
_WHOLE = {1 << bit: _PATTERNS[bit] for bit, (sort, _) in enumerate(_SAID) if sort not in (WITHIN, START)}
_WORDS = tuple((1 << bit, _PATTERNS[bit]) for bit, (sort, _) in enumerate(_SAID) if sort == WITHIN)
_Marks = tuple[tuple[int, re.Pattern[str]], ...]


def _spoken(pattern: re.Pattern[str]) -> bool:
    return re.search(r"[a-z]{2}", re.sub(r"\\.", "", pattern.pattern)) is not None


def _split(marks: _Marks) -> tuple[_Marks, _Marks]:
    """Those whose pattern holds words, and those of single signs."""
    return tuple(mark for mark in marks if _spoken(mark[1])), tuple(
        mark for mark in marks if not _spoken(mark[1])
    )


def _any_of(marks: _Marks) -> re.Pattern[str]:
    return lazy_regex("|".join(f"(?:{pattern.pattern})" for _, pattern in marks))


_SPOKEN_WORDS, _SIGN_WORDS = _split(_WORDS)
_SPOKEN_LETS, _SIGN_LETS = _split(_LETS)
_ANY_SPOKEN, _ANY_SIGN = _any_of((*_SPOKEN_WORDS, *_SPOKEN_LETS)), _any_of((*_SIGN_WORDS, *_SIGN_LETS))
_SHOUTED = lazy_regex(r"\b[A-Z]{3,}\b")
_SHOUTS = 1 << len(_SAID)
_SEEN_WORDS = 20_000
_PATH, _CODE, _IMPERATIVE, _NEGATED, _LOOSE, _LEADING, _RULE = (1 << len(_SAID) + 1 + at for at in range(7))
MARKS = len(_SAID) + 8
"""How many bits there are."""
_CONFIRMED: dict[int, Callable[[str], bool]] = {
    _PATH: names_path,
    _LOOSE: has_loose_reference,
    _RULE: rule_like,
}
"""Tried on the sentence only where one of its words lets it through."""
_NAMED_APART = ("CHANGELOG", "LICENSE")
"""Files that count only in a sentence that holds the sign of another name."""
_POINTS = lazy_regex(
    r"\b(?:this|that|these|those|here|above|below|there|following|latter|former|one|approach|variant|version|option|last|previous"
    r"|it|its|they|them|their)\b",
    re.IGNORECASE,
)
_RULES = lazy_regex(
    r"\b(?:always|must|should|shall|sure|ensure|requir|mandatory|need|has|have|only|never|no|don'?t|forbidden|allowed|prohibited"
    r"|avoid|stop|refrain)",
    re.IGNORECASE,
)


def marks_of(sentence: str) -> int:
    """The cues of a sentence, one bit each; at most 63."""
    cues = maybe = denied = 0
    for word in sentence.split():
        within, lets, times = _of_word(word)
        cues |= within
        maybe |= lets
        denied += times
    lower = sentence.lower()
    for bit, pattern in _STARTS:
        if pattern.match(lower):
            cues |= bit
    if has_leading_reference(sentence):
        cues |= _LEADING
    # Two words may deny together, but one of them does so alone, but for "must n't".
    if is_negated(sentence) if " n'" in lower else denied % 2:
        cues |= _NEGATED
    if imperative(sentence):
        cues |= _IMPERATIVE | _RULE
        maybe &= ~_RULE
    while maybe:
        bit = maybe & -maybe
        maybe ^= bit
        condition = _CONFIRMED.get(bit)
        if condition(sentence) if condition else _WHOLE[bit].search(lower):
            cues |= bit
    return cues


@lru_cache(maxsize=_SEEN_WORDS)
def _of_word(word: str) -> tuple[int, int, int]:
    """Cues that lie within the word, cues that it lets through, and how often it denies."""
    lower = word.lower()
    within = _SHOUTS if _SHOUTED.search(word) else 0
    lets = 0
    if _ANY_SPOKEN.search(lower):
        within |= _found_in(lower, _SPOKEN_WORDS)
        lets |= _found_in(lower, _SPOKEN_LETS)
    if _ANY_SIGN.search(lower):
        within |= _found_in(lower, _SIGN_WORDS)
        lets |= _found_in(lower, _SIGN_LETS)
    if identifiers(word):
        within |= _CODE
    if names_path(word) or _NAMED_APART[0] in word or _NAMED_APART[1] in word:
        lets |= _PATH
    if _POINTS.search(word):
        lets |= _LOOSE
    if _RULES.search(word):
        lets |= _RULE
    return within, lets, denials(word)


def _found_in(lower: str, marks: _Marks) -> int:
    cues = 0
    for bit, pattern in marks:
        if pattern.search(lower):
            cues |= bit
    return cues
