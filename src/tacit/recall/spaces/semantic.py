"""Semantic space (E1): cosine of sentence embeddings, -1 to 1. Source: Reimers and Gurevych, Sentence-BERT, 2019."""

from __future__ import annotations

from tacit.model.evidence import Ranking
from tacit.model.query import Query
from tacit.ports.models import EmbedderIdentity, Vectors
from tacit.ports.search import Search
from tacit.recall.spaces.marks import MARKS

LOW, HIGH = MARKS["semantic"]


def retrieve(
    search: Search, query: Query, limit: int, *, vector: Vectors, identity: EmbedderIdentity
) -> Ranking:
    """Nearest memories by cosine with `vector`, shape (dimensions,), of unit length."""
    return search.semantic(vector, identity=identity, scope=query.scope, limit=limit)
