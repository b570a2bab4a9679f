"""Properties of capture: the same thing twice never adds twice, and no text breaks it."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from tacit.backends.sqlite import SqliteStore
from tacit.capture.bootstrap.markdown import read_rules
from tacit.capture.pipeline import CapturePipeline
from tacit.capture.session import find_named_tasks, find_statements
from tacit.config.settings import CaptureSettings, PrivacySettings
from tacit.hosts.transcripts import Turn
from tacit.model.changes import Add, Draft
from tacit.model.kinds import KindRegistry
from tacit.model.memory import Provenance, TrustTier
from tacit.model.scope import project_scope
from tacit.ports.store import MemoryFilter
from tacit.providers.clock import FakeClock
from tacit.providers.embedding import FakeEmbedder
from tacit.providers.tokens import FakeTokenCounter
from tacit.reading.explicit import find_explicit
from tacit.safety.redact import Redactor
from tacit.state.captured import Checkpoint, Failure, Position, SessionWork
from tacit.state.registry import CHECKPOINT
from tacit.statements.same import same_statement

VOCABULARY = "use never always tabs spaces port 8080 9090 npm pnpm instead of not the in tests is go"
WORDS = st.sampled_from(VOCABULARY.split())
SENTENCES = st.lists(WORDS, min_size=1, max_size=8).map(" ".join)
TEXTS = st.one_of(st.text(max_size=300), SENTENCES, st.lists(SENTENCES, max_size=6).map("\n- ".join))


def pipeline() -> tuple[CapturePipeline, SqliteStore]:
    clock = FakeClock(now_ms=1_795_000_000_000)
    store = SqliteStore.temporary(clock=clock)
    capture = CapturePipeline(
        store=store, embedder=FakeEmbedder(), tokens=FakeTokenCounter(), clock=clock, redactor=Redactor(PrivacySettings()),
        kinds=KindRegistry(), settings=CaptureSettings(),
    )  # fmt: skip
    return capture, store


def draft(content: str, at_ms: int, session: str = "s") -> Draft:
    who = Provenance(
        tier=TrustTier.USER, source="session", host="h", session_id=session, turn=at_ms, span=content
    )
    return Draft(content=content, kind="preference", scope=project_scope("p"), provenance=who, at_ms=at_ms)


def active(store: SqliteStore) -> list[str]:
    return sorted(m.content for m in store.list_memories(MemoryFilter(), scope=store.scopes(), limit=100))


@given(st.lists(SENTENCES, min_size=1, max_size=5))
def test_the_same_drafts_twice_never_add_twice(contents: list[str]) -> None:
    capture, store = pipeline()
    drafts = [draft(content, at) for at, content in enumerate(contents, start=1)]
    capture.store_drafts(drafts[-1:])
    before = active(store)
    changes = capture.store_drafts(drafts[-1:])
    assert not any(isinstance(change, Add) for change in changes)
    assert active(store) == before


@given(SENTENCES, SENTENCES)
def test_two_statements_hold_alike_in_whichever_order_they_are_read(one: str, two: str) -> None:
    first, second = draft(one, 1, "a"), draft(two, 2, "b")
    results: list[list[str]] = []
    for order in ([first, second], [second, first]):
        capture, store = pipeline()
        for item in order:
            capture.store_drafts([item])
        results.append([content.casefold() for content in active(store)])
    # A merge keeps the words of the later one in the order of reading.
    if not same_statement(one, two):
        assert results[0] == results[1]


@given(TEXTS)
def test_no_text_breaks_the_extractors(text: str) -> None:
    turn = Turn(index=0, number=1, role="user", text=text)
    for statement in find_explicit(text):
        assert statement.content.strip() == statement.content != ""
        assert "\n" not in statement.content
    find_statements([turn])
    find_named_tasks([turn])
    for line in read_rules(text).lines:
        assert line.content.strip()
        assert 1 <= line.line <= text.count("\n") + text.count("\r") + 1


@given(st.text(max_size=50), st.lists(st.text(max_size=30), max_size=4), st.integers(0, 10**6))
def test_a_checkpoint_survives_the_round_trip(text: str, several: list[str], number: int) -> None:
    failure = Failure(
        command=text, error=text, signature=text, turn=number, at_ms=number, edited=tuple(several)
    )
    tasks = tuple((str(at), each, "pending") for at, each in enumerate(several))
    work = SessionWork(files=tuple(several), commits=(text, *several), tasks=tasks)
    checkpoint = Checkpoint(
        path=text,
        position=Position(offset=number, head=text, prompts=number),
        root=text,
        failures=(failure,),
        work=work,
    )
    assert CHECKPOINT.parse(CHECKPOINT.text(checkpoint)) == checkpoint


@given(st.text(max_size=60) | st.dictionaries(st.text(max_size=8), st.integers(), max_size=3).map(json.dumps))
def test_a_damaged_checkpoint_is_none_or_an_empty_one(text: str) -> None:
    assert CHECKPOINT.parse(text) in (None, Checkpoint())
