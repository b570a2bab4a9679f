"""The evidence of the gate: one row of numbers for every candidate, one column per name in `EVIDENCE`. Knows no weights; `cover` alone reads the store.

    character      3 x set cosine of character 3-grams
    cosine         deviations above the scope's usual cosine (`recall.spaces.semantic.make_similarity_z`)
    rare           greatest ln((n + 1) / (k + 0.5)) of the prompt's words that the memory holds too, at least 0; n = length of
                   the list, `LEAST_LIST` at least, k = how many of it hold that word (the idf of Robertson and Sparck Jones,
                   1976, in the smoothed form of Lucene); 0 without one
    nearness       deviations by which the best cosines of the scope lie above what is usual (`recall.spaces.semantic.domain_similarity_z`): a
                   prompt that this project has nothing to say to is far from all of it; the same for all candidates
    covered        how much of what the prompt names the memory holds: idf of the words that both hold / idf of the prompt's words
                   that any memory in scope holds (`cover`)

If the embedder does not read the language of a text, the cosine is no evidence. It is replaced by that of English pairs with the same number of
shared runs of letters (`expected_cosine`).

What the prompt makes the agent do next and what a memory's trigger says is no evidence here: on projects left out it told nothing that
the words did not tell (ADR 87). It serves tool calls, where the action is certain.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tacit.model.evidence import Candidate
from tacit.model.pack import Surface
from tacit.model.query import Query
from tacit.recall.stage import Outcome, RecallState, Tools
from tacit.text.natural_language import ENGLISH, natural_language_of
from tacit.text.stemming import content_words, leading_letters, stem_list
from tacit.text.tokens import is_closed_up

Row = NDArray[np.float64]

EVIDENCE: tuple[str, ...] = ("character", "cosine", "rare", "nearness", "covered")
"""Names of the columns."""
COVERED = "covered"
"""Name of the score that `cover` gives."""

CHARACTER_SCALE = 3.0
PROMPT_CHARS = 480
"""So much of a prompt is looked at for words: what is embedded of it."""
LEAST_CHARS = 3
"""Of a stem; a shorter one stands in too many other words."""
LEAST_LIST = 4
"""In a shorter list every word that is shared would be a usual one."""
COSINE_PER_CHARACTER, UNRELATED_CHARACTER = 3.9, 0.1
"""Slope and zero of `expected_cosine`."""
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
        character = scores.get("character", 0.0) * CHARACTER_SCALE
        cosine = candidate.similarity_z
        if cosine is None:
            cosine = expected_cosine(character)
        rows.append((character, cosine, rarity, near, scores.get(COVERED, 0.0)))
    return np.array(rows)


def cover(tools: Tools, state: RecallState) -> Outcome[RecallState]:
    """The candidates of a prompt that the fitted gate judges, with how much of what it names each of them holds (`COVERED`)."""
    query, candidates = state.query, state.found or ()
    if not (state.score.gated and query.surface is Surface.PROMPT and candidates):
        return Outcome(kept=state)
    words = content_words(query.raw_text[:PROMPT_CHARS])
    names = tuple(candidate.memory.id for candidate in candidates)
    if not words:
        return Outcome(kept=state)
    table = tools.store.search.word_table(
        words, scope=query.scope, limit=1, also=names, kinds=query.kinds, common=False
    )
    whole = float(table.weights.sum())
    if whole <= 0.0:
        return Outcome(kept=state)
    shares = ((table.scores > 0.0) @ table.weights / whole).round(4).tolist()
    share_of = dict(zip(table.ids, shares, strict=True))
    found = tuple(
        replace(candidate, scores=(*candidate.scores, (COVERED, share_of.get(candidate.memory.id, 0.0))))
        for candidate in candidates
    )
    return Outcome(kept=state.changed(found=found))


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
