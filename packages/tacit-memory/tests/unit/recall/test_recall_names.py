"""A rare name that a prompt and one memory share."""

from __future__ import annotations

from collections.abc import Sequence

from samples import candidate, query
from tacit.model.evidence import Hit, Ranking
from tacit.recall.score import shared_names

TICKET = "Ticket QX9040 asks for idempotency keys in the payment worker."
PROMPT = "Is QX9040 done?"


class HeldBy:
    """A search in which these memories hold every name."""

    def __init__(self, *ids: str) -> None:
        self.ids = ids

    def lexical(self, text: str, *, scope: object, limit: int) -> Ranking:
        return self._ranking(limit)

    def entity(self, entities: Sequence[object], *, scope: object, limit: int) -> Ranking:
        return self._ranking(limit)

    def _ranking(self, limit: int) -> Ranking:
        return Ranking(space="lexical", hits=tuple(Hit(memory_id=i, score=1.0) for i in self.ids[:limit]))


def test_two_holders_share_a_name_where_a_least_cosine_is_asked_for():
    found = (candidate("Amounts are integers of cents.", id="other"), candidate(TICKET, id="ticket"))
    assert shared_names(query(PROMPT), found, search=HeldBy("ticket", "second")) == {"ticket": "qx9040"}
    assert shared_names(query(PROMPT), found, search=HeldBy("ticket", "second", "third")) == {}
    assert shared_names(query("Is the payment done?"), found, search=HeldBy("ticket")) == {}
