"""Finding memories. One ranking per space; a search never fuses and never forgets the scope."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from tacit.model.evidence import Ranking, WordTable
from tacit.model.memory import Entity
from tacit.model.scope import ScopeFilter
from tacit.ports.models import EmbedderIdentity, Vectors


class Search(Protocol):
    """The search over stored memories. Each method ranks, by one measure, the active memories in a scope that are valid now; an empty scope gives none.

    Every method returns at most `limit` hits, best first, ties broken by memory id, the newest first; `limit` <= 0 gives none. `kinds` names
    those that are wanted; None = any. How rare a word or an entity is, is counted over all memories in scope.
    """

    def semantic(
        self,
        vector: Vectors,
        *,
        identity: EmbedderIdentity,
        scope: ScopeFilter,
        limit: int,
        kinds: Sequence[str] | None = None,
    ) -> Ranking:
        """Rank by cosine (-1 to 1) with `vector`, shape (dimensions,), of unit length.

        Memories whose stored vector has another identity are not found; `EmbedderMismatch` is raised when
        the scope holds vectors but none of this identity. The ranking tells its background, of a sample where there are many.
        """
        ...

    def lexical(
        self, text: str, *, scope: ScopeFilter, limit: int, kinds: Sequence[str] | None = None
    ) -> Ranking:
        """Rank by BM25 (higher is better, above 0) over stemmed words; the query is bounded by document frequency."""
        ...

    def word_table(
        self,
        words: Sequence[str],
        *,
        scope: ScopeFilter,
        limit: int,
        also: Sequence[str] = (),
        kinds: Sequence[str] | None = None,
    ) -> WordTable:
        """Return for each memory and each word the score that `lexical` would give that word alone; rows = the `limit` memories with the best sum and those in `also`.

        `words` are single words, one for each stem; anything else scores 0. The table also has the weight (idf) of each word. An id
        of `also` is left out if its memory is not in scope or is no longer valid. Common words are read, too, which takes long in a
        large store: it is for a question that somebody asks.
        """
        ...

    def word_shares(
        self,
        words: Sequence[str],
        *,
        among: Sequence[str],
        scope: ScopeFilter,
        kinds: Sequence[str] | None = None,
    ) -> Mapping[str, float]:
        """Return for each memory of `among` the share (0 to 1) of `words` that it holds, weighted by idf in scope; {} if no word was read.

        `words` are single words, one for each stem. Only the rarest are read, as `lexical` does. An id is left out if its memory is
        not in scope, not of `kinds` or no longer valid.
        """
        ...

    def code(
        self, text: str, *, scope: ScopeFilter, limit: int, kinds: Sequence[str] | None = None
    ) -> Ranking:
        """Rank by BM25 over identifiers and paths split by case and punctuation."""
        ...

    def entity(
        self,
        entities: Sequence[Entity],
        *,
        scope: ScopeFilter,
        limit: int,
        kinds: Sequence[str] | None = None,
    ) -> Ranking:
        """Rank by idf-weighted overlap (0 to 1) of linked entities: matched idf / idf of all asked-for entities."""
        ...

    def intent(
        self,
        actions: Sequence[tuple[str, float]],
        *,
        scope: ScopeFilter,
        limit: int,
        kinds: Sequence[str] | None = None,
    ) -> Ranking:
        """Rank by the best product of situation probability and trigger weight (0 to 1).

        `always` counts 0.25, and so does a trigger that names only places (paths, commands, ...): the caller matches them.

        Finds only memories with a trigger that is not empty.
        """
        ...

    def standing(
        self, kinds: Sequence[str], *, scope: ScopeFilter, limit: int, broadest: bool = False
    ) -> Ranking:
        """Rank the memories of these kinds by importance (0 to 1), pinned first, whatever is asked; start pools are made of it.

        With `broadest` the breadth of the trigger comes before importance (`always` counts as the greatest).
        """
        ...

    def error(self, signature: str, *, scope: ScopeFilter, limit: int) -> Ranking:
        """Return the memories stored for exactly this error signature, each with score 1."""
        ...
