"""Whether a question asks for what held once. In: a question. Out: yes or no. Rules alone; never reads a store.

"Before" is no sign by itself: "what do I run before a commit?" asks for a rule that holds. It counts after a verb of the past in
the same sentence, where the sentence ends there, goes on with a word for now, or names a thing by its capital ("before Vonage").
"""

from __future__ import annotations

from tacit.text.lazy_regex import lazy_regex

_ALWAYS = (
    r"(?:since|until|till)\s+when",
    r"formerly|previously|originally|initially|no\s+longer|any\s*more|back\s+then",
    r"in\s+the\s+past|at\s+first|at\s+that\s+time|history\s+of",
    r"(?:we|they|you|i|it|that|there|who|what)\s+used\s+to|did\b[^.!?\n]*\buse\s+to",
    r"(?:former|previous|superseded|retired)\s+(?!step|line|message|commit|turn|section|paragraph|example|prompt|answer)\w+",
    r"when\s+(?:did|was|were)\b[^.!?\n]*\b(?:stop|switch|chang|mov|replac|drop|migrat|retir|abandon|g[ai]ve\s+up|given\s+up)",
    r"before\s+(?:we|they|you|i|it\s+was)\s+(?:switched|changed|moved|replaced|dropped|migrated|had|adopted|introduced)",
)
_BEFORE = (
    r"(?i:\b(?:did|was|were|had|used)\b[^.!?\n]*\bbefore)"
    r"(?=\s*(?:[?.!]|$)|\s+(?i:that|then|now|this|it|the\s+(?:switch|change|move|migration))\b|\s+[A-Z])"
)
_PAST = lazy_regex(f"(?i:\\b(?:{'|'.join(_ALWAYS)}))|{_BEFORE}")


def asks_about_past(text: str) -> bool:
    """Whether `text` asks for what held before, since when something holds, or when it ended."""
    return _PAST.search(text) is not None
