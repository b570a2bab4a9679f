"""A rare name that a prompt and one memory share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from samples import candidate, query
from tacit.model.evidence import Hit, Ranking
from tacit.recall.score.names import NAMED, NAMED_RELEVANCE, raise_named, shared_names

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


def found(*, similarity_z: float = 2.0, relevance: float = 0.02, **fields: object):
    held = replace(candidate(TICKET, id="ticket", relevance=relevance, **fields), similarity_z=similarity_z)
    return (candidate("Amounts are integers of cents.", id="other", relevance=0.2), held)


def relevances(prompt: str, candidates, search) -> dict[str, float]:
    raised = raise_named(query(prompt), candidates, search=search)
    return {one.memory.id: one.relevance for one in raised}


def test_the_memory_that_alone_holds_the_name_is_worth_saying():
    raised = raise_named(query(PROMPT), found(), search=HeldBy("ticket"))
    assert [(one.memory.id, one.relevance) for one in raised] == [("ticket", NAMED_RELEVANCE), ("other", 0.2)]
    assert raised[0].reasons == (NAMED,)


@pytest.mark.parametrize(
    ("prompt", "candidates", "holders"),
    [
        pytest.param(PROMPT, found(), ("ticket", "second"), id="a second memory holds the name"),
        pytest.param(PROMPT, found(similarity_z=1.4), ("ticket",), id="its cosine does not stand out"),
        pytest.param("Is the payment done?", found(), ("ticket",), id="the prompt has no name"),
        pytest.param(PROMPT + " word" * 80, found(), ("ticket",), id="a long prompt names it in passing"),
        pytest.param(PROMPT, found(kind="digest"), ("ticket",), id="a digest repeats names"),
    ],
)
def test_otherwise_nothing_changes(prompt, candidates, holders):
    assert relevances(prompt, candidates, HeldBy(*holders)) == {"other": 0.2, "ticket": 0.02}


def test_what_is_more_relevant_already_stays():
    assert relevances(PROMPT, found(relevance=0.9), HeldBy("ticket"))["ticket"] == 0.9


def test_two_holders_share_a_name_where_a_least_cosine_is_asked_for():
    assert shared_names(query(PROMPT), found(), search=HeldBy("ticket", "second")) == {"ticket": "qx9040"}
