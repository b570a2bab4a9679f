"""Expanded space (E13): relevance-model feedback (RM3) over the short list, 0 to 1.

    P(w | R)  = sum over feedback memories of P(w | m) * share of m in their lexical scores
    P'(w)     = 0.5 * P(w | query) + 0.5 * P(w | R), R cut to its 20 likeliest words
    score(m)  = sum_w P'(w) * idf(w) * tf(w) * 2.2 / (tf(w) + 1.2 * (0.25 + 0.75 * length / mean))  /  sum_w P'(w) * idf(w) * 2.2

Source: Lavrenko and Croft, Relevance-based language models, SIGIR 2001; interpolated as in Abdul-Jaleel et al., UMass at
TREC 2004 (RM3, weight 0.5); the memories are scored by BM25 (k1 = 1.2, b = 0.75) with the expanded words' weights, as a
share of the most it could be. Feedback memories are the eight best of the lexical space. idf = ln(1 + (N - n + 0.5) / (n + 0.5))
over the short list.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from tacit.model.evidence import Shortlist
from tacit.model.query import Query
from tacit.recall.spaces.space import SPACE_THRESHOLDS, Space
from tacit.text.stemming import stem_list

LOW, HIGH = SPACE_THRESHOLDS["expanded"]
FEEDBACK_MEMORIES = 8
EXPANSION_WORDS = 20
ORIGINAL_SHARE = 0.5
_K1, _B = 1.2, 0.75


def relevance_model(documents: Mapping[str, Sequence[str]], shares: Mapping[str, float]) -> dict[str, float]:
    """P(w | R): the 20 likeliest words of the feedback memories, sum 1.

    Args:
        documents: stems by memory id.
        shares: share of each feedback memory, sum 1.
    """
    words: defaultdict[str, float] = defaultdict(float)
    for name, share in shares.items():
        document = documents[name]
        for word, times in Counter(document).items():
            words[word] += share * times / len(document)
    likeliest = sorted(words.items(), key=lambda item: (-item[1], item[0]))[:EXPANSION_WORDS]
    whole = math.fsum(value for _, value in likeliest)
    return {word: value / whole for word, value in likeliest} if whole > 0 else {}


def expand_query(query_stems: Sequence[str], model: Mapping[str, float]) -> dict[str, float]:
    """P'(w): the query's own words and the model's, half each."""
    own = Counter(query_stems)
    mixed: defaultdict[str, float] = defaultdict(float)
    share = ORIGINAL_SHARE if model else 1.0
    for word, times in own.items():
        mixed[word] += share * times / len(query_stems)
    for word, value in model.items():
        mixed[word] += (1 - ORIGINAL_SHARE) * value
    return dict(mixed)


def measure(query: Query, shortlist: Shortlist) -> dict[str, float]:
    """Score of every memory of the short list that holds an expanded word, by memory id."""
    query_stems = stem_list(query.text)
    documents = {memory.id: stem_list(memory.content) for memory in shortlist.memories}
    documents = {name: document for name, document in documents.items() if document}
    if not query_stems or not documents:
        return {}
    lexical = shortlist.found.get("lexical", {})
    best = sorted((-lexical[name], name) for name in documents if lexical.get(name, 0.0) > 0)[
        :FEEDBACK_MEMORIES
    ]
    whole = math.fsum(-score for score, _ in best)
    model = relevance_model(documents, {name: -score / whole for score, name in best})
    return _scores(documents, expand_query(query_stems, model))


def _scores(documents: Mapping[str, Sequence[str]], words: Mapping[str, float]) -> dict[str, float]:
    mean = sum(map(len, documents.values())) / len(documents)
    total = len(documents)
    times: dict[str, dict[str, int]] = {word: {} for word in words}
    for name, document in documents.items():
        for word in document:
            counts = times.get(word)
            if counts is not None:
                counts[name] = counts.get(name, 0) + 1
    norms = {name: _K1 * (1 - _B + _B * len(document) / mean) for name, document in documents.items()}
    weights: list[float] = []
    contributions: defaultdict[str, list[float]] = defaultdict(list)
    for word, share in words.items():
        holding = len(times[word])
        weight = share * math.log(1 + (total - holding + 0.5) / (holding + 0.5))
        weights.append(weight)
        for name, count in times[word].items():
            contributions[name].append(weight * count * (_K1 + 1) / (count + norms[name]))
    most = math.fsum(weights) * (_K1 + 1)
    values = {name: math.fsum(contributions[name]) for name in documents if name in contributions}
    return {name: value / most for name, value in values.items() if value > 0}


SPACE = Space(
    name="expanded",
    family="words",
    summary="words that often stand beside the asked ones",
    topic_weight=1.0,
    high=HIGH,
    low=LOW,
    measure=measure,
)
