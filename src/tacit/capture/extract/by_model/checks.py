"""Whether a model's statement is what the session says. In: a statement, the words it was made from. Out: the span, or why not.

Its quote has to stand in the utterance it names, word by word; its own words have to come from the session, numbers above all.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from tacit.capture.extract.by_model.questions import Extracted
from tacit.capture.wording import word_count
from tacit.reading.digest_lines import stems

GROUNDED = 0.5
"""Least share of a statement's word stems that the session holds."""
LEAST_WORDS, MOST_WORDS = 3, 60
_FIGURE = re.compile(r"[\w./:-]*\d[\w./:-]*")
_EDGES = "\"'`\u201c\u201d\u2018\u2019 .,;:!"


def span_of(quote: str, text: str) -> str:
    """The verbatim words of `text` that `quote` repeats, line breaks aside; "" = it does not."""
    words = quote.strip(_EDGES).split()
    if len(words) < LEAST_WORDS:
        return ""
    found = re.search(r"\s+".join(map(re.escape, words)), text)
    return found[0] if found else ""


def why_not(found: Extracted, said: Sequence[str]) -> str:
    """Why the statement is not to be believed; "" = nothing speaks against it. `said` = all that was read."""
    if not LEAST_WORDS <= word_count(found.content) <= MOST_WORDS:
        return "too short or too long"
    whole = "\n".join(said)
    figures = [figure.strip(".:-/") for figure in _FIGURE.findall(found.content)]
    if any(figure not in whole for figure in figures):
        return "names a figure that nobody said"
    own = stems(found.content)
    if not own or len(own & stems(whole)) / len(own) < GROUNDED:
        return "says what nobody said"
    return ""
