"""What `refresh` stores of a request to remember: each fact as a memory of its own, so that each can move in the block by itself.

In: a statement. Out: its sentences, if every one of them stands alone; else the statement as it is. When in doubt it stays whole:
a memory of two facts is found by either, half a thought by none.
"""

from __future__ import annotations

import re

from tacit.reading.sentences import split_sentences

LEAST_WORDS, MOST_WORDS, MOST_FACTS = 4, 40, 6
_LEANING_TEXT = """
it its they them their these those this that he him his she her here there such both one ones former latter same otherwise instead then
therefore thus hence so because since also too but and or yet however never always only not no neither nor else again nobody nothing us
"""
_LEANING = frozenset(_LEANING_TEXT.split())
"""A sentence with one of these leans on another one, or forbids and orders what another one is about."""
_VERBS_TEXT = """
is are has have uses use runs run lives live holds hold goes go needs need comes come stores store keeps keep belongs belong requires
require listens listen sends send means mean works work reads read writes write depends depend starts start ends end takes take
"""
_VERBS = frozenset(_VERBS_TEXT.split())
_WORD = re.compile(r"[a-z']+")


def facts_in(statement: str) -> tuple[str, ...]:
    """Return the facts of `statement`: its sentences, if there are several and each stands alone, else `statement` alone."""
    sentences = split_sentences(statement) if "\n" not in statement.strip() else ()
    if 1 < len(sentences) <= MOST_FACTS and all(map(_stands_alone, sentences)):
        return sentences
    return (statement,)


def _stands_alone(sentence: str) -> bool:
    """Whether a sentence states a fact without leaning on another one: a subject before its verb, a full stop, no word that points elsewhere."""
    words = _WORD.findall(sentence.casefold())
    return (
        LEAST_WORDS <= len(words) <= MOST_WORDS
        and sentence[0].isupper()
        and sentence.endswith(".")
        and not _LEANING.intersection(words)
        and words[0] not in _VERBS
        and not _VERBS.isdisjoint(words[1:6])
    )
