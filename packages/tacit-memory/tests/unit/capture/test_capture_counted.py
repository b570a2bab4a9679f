"""How often a statement counts: once in a session, whichever path captured it and in which order; again in another session."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tacit.backends.sqlite import SqliteStore, open_sqlite_store
from tacit.capture.pipeline import CapturePipeline
from tacit.config.home import Home
from tacit.model.changes import Draft
from tacit.model.memory import Memory, Provenance, TrustTier
from tacit.model.scope import project_scope
from tacit.model.session import SessionKey
from tacit.ports.store import Handover, MemoryFilter, Step, Store, no_step
from tacit.providers.clock import FakeClock
from unit.capture.pipelines import make_pipeline

P = project_scope("p")
RULE = "Never mock the clock in tests"
NOW = 1_795_169_810_000


class Desk:
    """A write path, with the transcripts of sessions in which the user says the rule."""

    def __init__(self, store: Store, clock: FakeClock, folder: Path, *, step: Step = no_step) -> None:
        self.store, self.clock, self.folder = store, clock, folder
        self.capture: CapturePipeline = make_pipeline(store, clock, project="p", step=step)

    def prompt(self, session: str, words: str = RULE) -> None:
        """The prompt is captured, in real time."""
        self.clock.advance(1000)
        self.capture.capture_prompt(words, scope=P, session=key(session), turn=1)

    def end(self, session: str, *words: str) -> None:
        """The transcript of the session is captured; each of `words` is a prompt in it."""
        path = self.folder / f"{session}.jsonl"
        path.write_text("".join(said(text, session, n) for n, text in enumerate(words or (RULE,))))
        self.clock.advance(1000)
        payload = {"host": "claude-code", "session_id": session, "transcript_path": str(path), "cwd": "/w"}
        self.store.hand_over(
            Handover(
                key=f"h-{session}-{self.clock.now_ms()}",
                session=key(session),
                payload=json.dumps(payload),
                at_ms=NOW,
            )
        )
        report = self.capture.capture_pending()
        assert (report.handovers, report.failed) == (1, 0)

    def know(self, tier: TrustTier, source: str) -> None:
        """The rule is stored by something that belongs to no session."""
        given = Provenance(tier=tier, source=source, span=RULE)
        self.capture.store_drafts(
            [
                Draft(
                    content=RULE,
                    kind="anti_pattern",
                    scope=P,
                    provenance=given,
                    at_ms=self.clock.now_ms(),
                    explicit=True,
                )
            ]
        )

    def rule(self) -> Memory:
        """The one memory that holds the rule."""
        (found,) = self.store.list_memories(
            MemoryFilter(kinds=("anti_pattern",)), scope=self.store.scopes(), limit=9
        )
        return found


def key(session: str) -> SessionKey:
    return SessionKey(host="claude-code", session_id=session)


def said(words: str, session: str, number: int) -> str:
    """A line of a transcript; sessions that begin at the same moment with the same words would be copies of one another."""
    at = f"2026-11-20T1{session[1:]}:{number:02d}:00Z"
    message = {"role": "user", "content": f"{words}."}
    return json.dumps({"type": "user", "message": message, "timestamp": at, "cwd": "/w"}) + "\n"


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    clock = FakeClock(now_ms=NOW)
    return Desk(SqliteStore.temporary(clock=clock), clock, tmp_path)


def prompt_first(desk: Desk, session: str) -> None:
    desk.prompt(session)
    desk.end(session)


def transcript_first(desk: Desk, session: str) -> None:
    desk.end(session)
    desk.prompt(session)


def prompt_between(desk: Desk, session: str) -> None:
    """The prompt is captured while its transcript is: what is known of the session was read, and nothing is stored yet."""
    due = [session]

    def step(name: str) -> None:
        if name == "session learned" and due:
            desk.prompt(due.pop())

    Desk(desk.store, desk.clock, desk.folder, step=step).end(session)
    assert not due


ORDERS = pytest.mark.parametrize("both", [prompt_first, transcript_first, prompt_between])


@ORDERS
@pytest.mark.parametrize(
    ("tier", "source"),
    [
        (TrustTier.USER, "cli"),
        (TrustTier.USER, "api"),
        (TrustTier.IMPORT, "CLAUDE.md"),
        (TrustTier.IMPORT, "mcp"),
    ],
)
def test_each_session_counts_once_after_what_belongs_to_no_session(
    desk: Desk, both: Callable[[Desk, str], None], tier: TrustTier, source: str
) -> None:
    desk.know(tier, source)
    for n in range(3):
        both(desk, f"s{n}")
        assert desk.rule().frequency == 2 + n  # the first store, and n + 1 sessions


@ORDERS
def test_each_session_counts_once_where_a_session_said_it_first(
    desk: Desk, both: Callable[[Desk, str], None]
) -> None:
    for n in range(3):
        both(desk, f"s{n}")
        assert desk.rule().frequency == 1 + n
    desk.prompt("s0")  # the first session goes on
    assert desk.rule().frequency == 3


def test_other_words_for_it_in_the_same_session_count_no_more(desk: Desk) -> None:
    desk.know(TrustTier.USER, "cli")
    desk.prompt("s1")
    desk.prompt("s1", "never mock the clock in tests!")
    desk.end("s1", "Never mock the clock in tests", "never mock the clock in tests!")
    assert desk.rule().frequency == 2


@pytest.fixture
def reopened(tmp_path: Path) -> Iterator[Callable[[], Desk]]:
    """A desk over the same file, each time as after a restart."""
    clock, opened = FakeClock(now_ms=NOW), []

    def restart() -> Desk:
        while opened:
            opened.pop().close()
        opened.append(open_sqlite_store(Home(tmp_path / "home"), clock=clock))
        return Desk(opened[-1], clock, tmp_path)

    yield restart
    for store in opened:
        store.close()


@pytest.mark.parametrize("first", ["prompt", "end"])
def test_a_restart_between_the_two_paths_counts_nothing_twice(
    reopened: Callable[[], Desk], first: str
) -> None:
    reopened().know(TrustTier.USER, "cli")
    second = "end" if first == "prompt" else "prompt"
    for n in range(2):
        getattr(reopened(), first)(f"s{n}")
        getattr(reopened(), second)(f"s{n}")
        reopened().prompt(f"s{n}")
    assert reopened().rule().frequency == 3
