"""A model that reads sessions: what is asked, what is believed, what it may cost, and what happens without an answer."""

from __future__ import annotations

import json
import logging
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import pytest

from samples import DAY_MS, NOW_MS
from tacit.app.wiring import open_engine
from tacit.backends.fake import FakeStore
from tacit.capture.extract.by_model.checks import span_of, why_not
from tacit.capture.extract.by_model.questions import MOST_ENTRIES, Extracted, read_answer
from tacit.capture.extract.by_model.reader import QUESTION_TOKENS, ModelReader, Session
from tacit.capture.extract.by_model.spending import NAME, PAUSE_MS, Spending, read_spending, write_spending
from tacit.capture.extract.by_model.unread import (
    LONGEST,
    Waiting,
    read_unread,
    unread_name,
    with_turns,
    write_unread,
)
from tacit.capture.turn import Turn
from tacit.config.settings import WriterSettings
from tacit.errors import ProviderError
from tacit.model.ids import content_hash
from tacit.model.kinds import BUILTIN_KINDS, KindRegistry
from tacit.model.memory import TrustTier
from tacit.model.scope import project_scope
from tacit.model.session import SessionKey
from tacit.ports.store import Handover, MemoryFilter
from tacit.ports.writer import WriterAnswer
from tacit.providers.clock import FakeClock
from tacit.providers.embedding import FakeEmbedder
from tacit.providers.tokens import EstimateCounter
from tacit.providers.writing.fake import FakeWriter

KEY = SessionKey(host="plain", session_id="s")
OVER = Session(key=KEY, scope=project_scope("p"), ended=True)
OPEN = Session(key=KEY, scope=project_scope("p"))
ASKED = "Put the rate limiter into the gateway, the billing service must stay free of it. Go."
SAID = "I moved the limiter. The gateway keeps its counters in Redis because several gateways share them."


def turns(*said):
    found = []
    for index, text in enumerate(said):
        role = "assistant" if index % 2 else "user"
        found.append(Turn(index=index, number=index // 2 + 1, role=role, text=text, at_ms=NOW_MS + index))
    return tuple(found)


def one(quote, content="", *, number=1, kind="decision", confidence=0.8):
    return Extracted(content=content or quote, kind=kind, quote=quote, number=number, confidence=confidence)


class Bench:
    """A reader over a fake store, with what it was told to answer."""

    def __init__(self, *answers, **settings):
        self.clock = FakeClock(now_ms=NOW_MS)
        self.store = FakeStore(clock=self.clock)
        self.writer = FakeWriter(answers)
        self.settings = WriterSettings(provider="fake", **{"least_chars": 0, **settings})
        self.reader = ModelReader(
            writer=self.writer, prepare=str, store=self.store, tokens=EstimateCounter(), clock=self.clock, settings=self.settings,
            kinds=KindRegistry([BUILTIN_KINDS.get("decision"), BUILTIN_KINDS.get("digest")]),
        )  # fmt: skip

    def read(self, *said, session=OPEN, redact=str, **more):
        done = self.reader.read(turns(*said), session, redact=redact, **more)
        for name, value in done.values:
            self.store.put_value(name, value)
        return done.drafts

    @property
    def asked(self):
        """The texts of each question's messages."""
        questions = [request.user.partition("\nMessages:\n")[2] for request in self.writer.requests]
        return [[message["text"] for message in json.loads(each)] for each in questions]

    @property
    def spent(self):
        return read_spending(self.store.get_value(NAME))

    @property
    def waits(self):
        return read_unread(self.store.get_value(unread_name("plain", "s")))


def answer(*found, tokens=50):
    """The writer's answer that says these statements."""
    entries = [
        {
            "content": each.content,
            "kind": each.kind,
            "quote": each.quote,
            "message": each.number,
            "confidence": each.confidence,
        }
        for each in found
    ]
    return WriterAnswer(text=json.dumps({"learnings": entries}), model="m", tokens_in=tokens)


def test_a_statement_carries_who_found_it_where_it_was_said_and_how_sure_that_is():
    quote = "the billing service must stay free of it"
    bench = Bench(
        answer(one(quote, "The billing service must stay free of the rate limiter", confidence=0.7))
    )
    (draft,) = bench.read(ASKED, SAID)
    assert draft.content == "The billing service must stay free of the rate limiter"
    assert (draft.kind, draft.confidence, draft.explicit) == ("decision", 0.7, False)
    told = draft.provenance
    assert (told.extractor, told.tier, told.span, told.turn) == ("fake-writer@1", TrustTier.USER, quote, 1)
    assert (bench.spent.asked, bench.spent.kept, bench.spent.dropped) == (1, 1, 0)
    assert bench.asked[0][1] == SAID


@pytest.mark.parametrize(
    ("found", "why"),
    [
        (one("The billing service must never see it"), "its quote is nowhere"),
        (one("must stay free of it", number=2), "its quote is in another message"),
        (one("must stay free of it", number=9), "there is no such message"),
        (one("free of"), "its quote is too short to prove anything"),
        (one("must stay free of it", "Deploy every service on Fridays after lunch"), "nobody said that"),
        (
            one("must stay free of it", "The billing service must stay free of the 20 rate limiter"),
            "nobody said 20",
        ),
        (one("must stay free of it", "Free"), "one word is no statement"),
    ],
)
def test_what_the_session_does_not_say_is_dropped(found, why):
    bench = Bench(answer(found))
    assert bench.read(ASKED, SAID) == (), why
    assert (bench.spent.kept, bench.spent.dropped) == (0, 1)


def test_the_agents_words_count_once_the_user_answered_and_did_not_object():
    quote = "The gateway keeps its counters in Redis because several gateways share them"
    for reply, expected in (
        ("Go on with the docs then please.", [False]),
        ("Yes, do that.", [True]),
        ("No, that is wrong.", []),
    ):
        (bench := Bench(answer(one(quote, number=2)))).read()
        found = bench.read(ASKED, SAID, reply)
        assert [draft.explicit for draft in found] == expected
        assert all(draft.provenance.tier is TrustTier.ASSISTANT for draft in found)
    assert Bench(answer(one(quote, number=2))).read(ASKED, SAID) == (), "nobody answered yet"


def test_what_was_handed_over_or_learned_already_is_nobodys_own():
    quote = "the billing service must stay free of it"
    assert Bench(answer(one(quote))).read(ASKED, given=(ASKED,)) == ()
    assert (
        Bench(answer(one(quote))).read(ASKED, said={content_hash("The billing service must stay free of it")})
        == ()
    )
    (draft,) = Bench(answer(one("Shall we keep it free of limits?"))).read("Shall we keep it free of limits?")
    assert draft.confidence < 0.5, "words that ask wait for the user"


def test_words_wait_until_enough_was_said_or_the_session_is_over():
    bench = Bench(least_chars=500)
    bench.read(ASKED, SAID)
    assert bench.asked == []
    assert [each.role for each in bench.waits] == ["user", "assistant"]
    bench.read("And now the docs.", "Done.", session=OVER)
    (asked,) = bench.asked
    assert asked == [ASKED, SAID, "And now the docs.", "Done."]
    sent = json.loads(bench.writer.requests[0].user.partition("\nMessages:\n")[2])
    assert [each["message"] for each in sent] == [1, 2, 3, 4]
    assert bench.waits == ()
    bench.read(session=OVER)
    assert len(bench.asked) == 1, "nothing was said since"


def test_secrets_are_taken_out_before_anything_waits():
    bench = Bench(least_chars=10_000)
    bench.read("The word is swordfish.", redact=lambda text: text.replace("swordfish", "[redacted:word]"))
    assert "swordfish" not in bench.store.get_value(unread_name("plain", "s"))


def test_the_newest_words_are_kept_and_a_long_one_is_shortened():
    long = "a" * LONGEST + "b" * LONGEST
    (kept,) = with_turns((), turns(long), redact=str, most_chars=100_000)
    assert len(kept.text) <= LONGEST
    assert kept.text.startswith("aaa")
    assert kept.text.endswith("bbb")
    newest = with_turns(
        (Waiting(prompt=1, role="user", text="x" * 300),), turns("y" * 300), redact=str, most_chars=500
    )
    assert [each.text[0] for each in newest] == ["y"]
    assert read_unread(write_unread(newest)) == newest
    assert read_unread("[1") == read_unread('[{"prompt": 1}]') == ()


def test_the_days_tokens_are_counted_reserved_and_come_back_the_next_day():
    reserve = EstimateCounter().count(ASKED) + QUESTION_TOKENS + WriterSettings().most_output_tokens
    bench = Bench(
        answer(tokens=400), answer(tokens=0), answer(tokens=9), tokens_per_day=400 + 2 * reserve - 1
    )
    bench.read(ASKED)
    assert bench.spent.tokens == 400
    bench.read(ASKED)
    assert bench.spent.tokens == 400 + reserve, "a server that does not tell costs what was reserved"
    bench.read(ASKED)
    assert (bench.spent.asked, bench.spent.over_budget) == (2, 1)
    assert len(bench.waits) == 1, "what could not be read goes on waiting"
    bench.clock.advance(DAY_MS)
    bench.read("Go on.", "Done.")
    assert (bench.spent.asked, bench.spent.tokens) == (3, 9)


def test_without_an_answer_nothing_is_asked_for_a_while_and_nothing_is_lost(caplog):
    bench = Bench(ProviderError("The server is down.", reason="refused"), answer())
    with caplog.at_level(logging.WARNING):
        assert bench.read(ASKED, SAID) == ()
        assert bench.read("Go on.", "Done.") == ()
    assert [record.message for record in caplog.records] == ["the writer failed: refused"]
    assert (bench.spent.failed, bench.spent.error) == (1, "The server is down.")
    assert len(bench.asked) == 1
    bench.clock.advance(PAUSE_MS)
    bench.read("And the docs.", "Done.")
    assert bench.asked[1][:2] == [ASKED, SAID]
    assert bench.spent.error == ""


def test_counts_survive_nonsense_and_a_restart():
    told = Spending(day="2026-11-21", tokens=5, asked=2, error="x")
    assert read_spending(write_spending(told)) == told
    assert read_spending("[]") == read_spending("{") == read_spending(None) == Spending()
    assert read_spending('{"tokens": "many", "asked": 3}') == Spending(asked=3)
    morning = int(datetime(2026, 11, 21, 0, 5, tzinfo=UTC).timestamp() * 1000)
    assert told.on(morning).tokens == 5
    assert told.on(morning + DAY_MS).tokens == 0


def test_a_quote_is_verbatim_line_breaks_aside():
    text = "We keep\n  the cache in `memory`, never on disk."
    assert span_of("the cache in `memory`, never on disk", text) == "the cache in `memory`, never on disk"
    assert span_of('"We keep the cache in `memory`."', text) == "We keep\n  the cache in `memory"
    assert span_of("we keep the cache", text) == ""
    assert why_not(one("x", "Keep the cache in memory, never on disk"), [text]) == ""


def test_an_entry_of_another_shape_is_left_out() -> None:
    right = {
        "content": "Tests come first",
        "kind": "fact",
        "message": 1,
        "quote": "tests come first",
        "confidence": 2,
    }
    wrong = [
        7, {}, {**right, "kind": "poem"}, {**right, "message": True}, {**right, "message": "1"}, {**right, "content": " "},
        {**right, "quote": ""}, {**right, "quote": 7},
    ]  # fmt: skip
    (found,) = read_answer(json.dumps({"learnings": [*wrong, right]}), kinds=("fact",))
    assert (found.content, found.confidence) == ("Tests come first", 0.5)
    most = read_answer(json.dumps({"learnings": [right] * 99}), kinds=("fact",))
    assert len(most) == MOST_ENTRIES


def test_an_answer_of_another_shape_is_a_failure():
    bench = Bench(WriterAnswer(text='{"learnings": "none"}', model="m"))
    assert bench.read(ASKED, SAID) == ()
    assert (bench.spent.failed, len(bench.waits)) == (1, 2)


@pytest.fixture
def engine(tmp_path):
    opened = open_engine(
        tmp_path / "home",
        overrides={"capture": {"extractor": {"provider": "fake", "least_chars": 0}}},
        clock=FakeClock(now_ms=NOW_MS),
        embedder=FakeEmbedder(),
    )
    yield opened
    opened.close()


def hand_over(engine, *said, **fields):
    messages = [{"role": "assistant" if n % 2 else "user", "content": text} for n, text in enumerate(said)]
    payload = {"host": "plain", "session_id": "s", "messages": messages, **fields}
    engine._parts.store.hand_over(Handover(key="h", session=KEY, payload=json.dumps(payload), at_ms=1))
    return engine.capture_pending()


def test_a_finished_session_is_read_by_both_and_status_tells_what_it_cost(engine, tmp_path):
    (tmp_path / "shop").mkdir()
    report = hand_over(
        engine, "Note well: invoices are archived after ninety days.", "Fine.", cwd=str(tmp_path / "shop")
    )
    assert (report.handovers, report.failed) == (1, 0)
    (found,) = [m for m in engine.list_memories(MemoryFilter(statuses=None)) if m.provenance.extractor]
    assert found.content == "Invoices are archived after ninety days"
    assert (found.provenance.span, found.confidence) == (
        "Note well: invoices are archived after ninety days",
        0.8,
    )
    told = engine.status().extractor
    assert (told.name, told.asked, told.kept, told.failed) == ("fake-writer@1", 1, 1, 0)
    assert told.tokens > 0


def test_two_runs_at_once_pay_for_the_same_words_once(engine, tmp_path):
    messages = [{"role": "user", "content": "Note well: invoices are archived after ninety days."}]
    payload = json.dumps({"host": "plain", "session_id": "s", "messages": messages})
    engine._parts.store.hand_over(Handover(key="h", session=KEY, payload=payload, at_ms=1))
    with ThreadPoolExecutor(max_workers=3) as pool:
        reports = list(pool.map(lambda _: engine.capture_pending(), range(3)))
    assert sorted(report.handovers for report in reports) == [0, 0, 1]
    assert engine.status().extractor.asked == 1


def test_an_import_of_the_past_is_not_read_by_the_model(engine, tmp_path):
    (tmp_path / "old.json").write_text(
        json.dumps(
            {
                "session_id": "o",
                "messages": [{"role": "user", "content": "Note well: pages are cached for an hour."}],
            }
        )
    )
    engine.backfill(engine.transcripts(cwd="", paths=[tmp_path / "old.json"]))
    assert engine.status().extractor.asked == 0
