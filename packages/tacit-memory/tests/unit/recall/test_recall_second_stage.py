"""Second-stage models: what they take out, and what they leave when there is no time."""

from __future__ import annotations

from dataclasses import replace

from samples import candidate, memory, query
from tacit.app.reasons import loss_text, reason_text
from tacit.errors import ProviderError
from tacit.model.evidence import PINNED
from tacit.model.trace import Loss
from tacit.recall.guard import CANDIDATES, rerank
from tacit.text.tokens import WORD


class FakeReranker:
    """The share of the asked words that a text holds. Ready at once, unless it is told to be loading."""

    name = "fake-reranker@1"

    def __init__(self, *, ready: bool = True) -> None:
        self.ready = ready
        self.read: list[str] = []

    def score(self, text: str, other: str) -> float:
        self.read.append(other)
        words = set(WORD.findall(text.casefold()))
        return len(words & set(WORD.findall(other.casefold()))) / len(words) if words else 0.0


class Broken(FakeReranker):
    def score(self, text: str, other: str) -> float:
        raise ProviderError("no such layer")


class Clock:
    """Milliseconds left: so many at each look."""

    def __init__(self, *left: float) -> None:
        self._left = list(left)

    def __call__(self) -> float:
        return self._left.pop(0) if len(self._left) > 1 else self._left[0]


def read(candidates, model, *, remaining_ms=lambda: 1e9):
    return rerank(
        query("run the linter"), candidates, model=model, least=0.5, threshold=0.2, remaining_ms=remaining_ms
    )  # fmt: skip


def ranked(*contents, relevance=0.9):
    return [
        replace(candidate(id=f"m{number}", relevance=relevance), memory=memory(content, id=f"m{number}"))
        for number, content in enumerate(contents, start=1)
    ]


def ids(outcome):
    return [c.memory.id for c in outcome.kept]


def test_what_the_model_calls_no_answer_stays_away():
    """Two thirds of the words for m1, none for m2; the least is one half."""
    done = read(ranked("the linter", "something else"), FakeReranker())
    assert ids(done) == ["m1"]
    assert [(d.memory_id, reason_text(d.why)) for d in done.drops] == [
        ("m2", "fake-reranker@1 says 0.00 below 0.50")
    ]


def test_only_what_would_be_handed_over_is_read():
    low = replace(ranked("something else")[0], relevance=0.1)
    assert ids(read([low], FakeReranker())) == ["m1"]
    pinned = replace(ranked("something else")[0], reasons=(PINNED,))
    assert ids(read([pinned], FakeReranker())) == ["m1"]
    model = FakeReranker()
    read(ranked(*"abcdefghijkl"), model)
    assert len(model.read) == CANDIDATES


def test_no_pass_begins_after_the_deadline():
    done = read(ranked("x", "y"), FakeReranker(), remaining_ms=Clock(100.0, 0.0))
    assert ids(done) == ["m1"]
    assert done.losses == (Loss(source="fake-reranker@1", cause="late", detail="after 1 of 2"),)


def test_a_model_that_is_being_loaded_or_broken_is_named_and_changes_nothing():
    loading = read(ranked("x"), FakeReranker(ready=False))
    assert ids(loading) == ["m1"]
    assert list(map(loss_text, loading.losses)) == ["fake-reranker@1 missed the deadline: it is being loaded"]
    broken = read(ranked("x"), Broken())
    assert ids(broken) == ["m1"]
    assert list(map(loss_text, broken.losses)) == ["fake-reranker@1 failed: no such layer"]
