"""The evidence of the gate: one row of numbers for every candidate, one column per name in `EVIDENCE`. Pure; knows no weights.

    intent         ln((p + 0.01) / (1.01 - p)), p = the intent score (0-1)
    breadth        breadth of the trigger / 3
    character      3 x set cosine of character 3-grams
    cosine         deviations above the scope's usual cosine (`recall.spaces.semantic.make_similarity_z`), of what is the prompt's own
                   (`usual`)
    rare           greatest ln((n + 1) / (k + 0.5)) of the prompt's words that the memory holds too, at least 0; n = length of
                   the list, `LEAST_LIST` at least, k = how many of it hold that word (the idf of Robertson and Sparck Jones,
                   1976, in the smoothed form of Lucene); 0 without one
    nearness       deviations by which the best cosines of the scope lie above what is usual (`recall.spaces.semantic.domain_similarity_z`): a
                   prompt that this project has nothing to say to is far from all of it; the same for all candidates

If the embedder does not read the language of a text, the cosine is no evidence. It is replaced by that of English pairs with the same number of
shared runs of letters (`expected_cosine`).

Only `rare` looks at the list: which words are usual in a project is best told by what it has to say on this matter.

What is said in a prompt that only accepts a proposal ("yup") tells nothing: its character and cosine are those of no evidence
either way, `MEAN_CANDIDATE`, and its situation decides.

More than forty others were tried and left out, because a project left out was not told better with them (ADRs 0014 and 0018).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tacit.model.evidence import Candidate
from tacit.model.query import Query
from tacit.text.natural_language import ENGLISH, natural_language_of
from tacit.text.stemming import leading_letters, stem_list
from tacit.text.tokens import is_closed_up

Row = NDArray[np.float64]

EVIDENCE: tuple[str, ...] = ("intent", "breadth", "character", "cosine", "rare", "nearness")
"""Names of the columns."""

MIN_DOUBT = 0.01
"""An intent score is never taken for surer than this."""
GREATEST_BREADTH = 3.0
CHARACTER_SCALE = 3.0
PROMPT_CHARS = 480
"""So much of a prompt is looked at for words: what is embedded of it."""
LEAST_CHARS = 3
"""Of a stem; a shorter one stands in too many other words."""
LEAST_LIST = 4
"""In a shorter list every word that is shared would be a usual one."""

MEAN_CANDIDATE = (0.18, 1.3)
"""Character and cosine of the mean candidate of the judged short lists."""
COSINE_PER_CHARACTER, UNRELATED_CHARACTER = 3.9, 0.1
"""Slope and zero of `expected_cosine`."""
MEAN_INTENT = -1.7
"""The same of the intent. If the words of a language are not read, an unknown action is no evidence against a memory."""
MEAN_DOMAIN_SIMILARITY = 2.5
"""Of a mean prompt in its own project; taken where nothing is known."""


def evidence_of(
    query: Query, candidates: Sequence[Candidate], *, domain_similarity: float | None = None
) -> Row:
    """The evidence of all candidates, shape (candidates, columns of `EVIDENCE`); `domain_similarity` is None where it is not known."""
    # One by one: for a list as short as this, setting up arrays takes longer than the numbers.
    if not candidates:
        return np.zeros((0, len(EVIDENCE)))
    rare = rarest_shared(query.raw_text, [candidate.memory.content for candidate in candidates])
    near = MEAN_DOMAIN_SIMILARITY if domain_similarity is None else domain_similarity
    rows: list[tuple[float, ...]] = []
    for candidate, rarity in zip(candidates, rare, strict=True):
        scores = dict(candidate.scores)
        intent = scores.get("intent", 0.0)
        character, cosine = (
            MEAN_CANDIDATE
            if query.situation.accepted
            else (scores.get("character", 0.0), candidate.similarity_z)
        )
        if cosine is None:
            cosine = expected_cosine(character * CHARACTER_SCALE)
        logit = math.log((intent + MIN_DOUBT) / (1 + MIN_DOUBT - intent))
        if candidate.similarity_z is None:
            logit = max(logit, MEAN_INTENT)
        breadth = candidate.memory.trigger.breadth / GREATEST_BREADTH
        rows.append((logit, breadth, character * CHARACTER_SCALE, cosine, rarity, near))
    return np.array(rows)


def expected_cosine(character: float) -> float:
    """Return the cosine of English pairs with this character evidence, in standard deviations above the mean.

    A line through unrelated pairs (0 by definition) and the judged pairs of two projects with an evidence above 1.2 (5).
    """
    return COSINE_PER_CHARACTER * (character - UNRELATED_CHARACTER)


def rarest_shared(text: str, contents: Sequence[str]) -> list[float]:
    """How rare, among `contents`, the rarest word of `text` is that each of them holds; 0 where they share none."""
    words = _shared_parts(text[:PROMPT_CHARS])
    rarities = [0.0] * len(contents)
    lowered = [content.lower() for content in contents]
    longest = math.log(max(len(contents), LEAST_LIST) + 1)
    for word in words:
        holding = [at for at, content in enumerate(lowered) if word in content]
        if holding:
            rarity = longest - math.log(len(holding) + 0.5)
            for at in holding:
                rarities[at] = max(rarities[at], rarity)
    return rarities


def _shared_parts(text: str) -> set[str]:
    """Return the parts of words to look for in memories: stems in English, leading letters in other languages."""
    parts = stem_list(text) if natural_language_of(text) == ENGLISH else leading_letters(text)
    return {part for part in parts if len(part) >= LEAST_CHARS or is_closed_up(part)}
