"""No two statements that differ are one: not when they are stored, not when they are shown."""

from __future__ import annotations

from itertools import product

from tacit.backends.sqlite import SqliteStore
from tacit.capture.pipeline import CapturePipeline
from tacit.config.settings import CaptureSettings, PrivacySettings
from tacit.model.changes import Draft, Merge, Skip
from tacit.model.evidence import Candidate
from tacit.model.ids import content_hash
from tacit.model.kinds import KindRegistry
from tacit.model.memory import Provenance, TrustTier
from tacit.model.scope import project_scope
from tacit.ports.store import MemoryFilter
from tacit.providers.clock import FakeClock
from tacit.providers.embedding import FakeEmbedder
from tacit.providers.tokens import FakeTokenCounter
from tacit.recall.guard import dedupe
from tacit.safety.redact import Redactor
from tacit.statements.same import same_statement

SUBJECTS = (
    "the kiln in hall {n}",
    "sensor {n} of the greenhouse",
    "the {n}th conveyor",
    "pump {n}",
    "the gate of yard {n}",
    "robot {n}",
)
"""Frames of the generated pairs: each kind of difference is put behind every one of them."""
KINDS: dict[str, tuple[tuple[str, str], ...]] = {
    "sign": (("is set to 15 degrees", "is set to -15 degrees"), ("drifts by +3", "drifts by -3")),
    "minus of Unicode": (("is set to \u22127", "is set to 7"), ("starts at \u20134", "starts at 4")),
    "comparison": (("stops at >70 bar", "stops at <70 bar"), ("stops at >= 70 bar", "stops at > 70 bar")),
    "operator": (("fails if x == 0", "fails if x != 0"), ("reads in -> out", "reads in <- out"), ("masks a & b", "masks a | b")),
    "flag": (("runs with --dry", "runs with dry"), ("runs with -v", "runs with -V")),
    "leading slash": (("logs to /var/k", "logs to var/k"), ("logs to ./k", "logs to k")),
    "path": (("reads conf/a.toml", "reads conf.d/a.toml"), ("reads `~/k`", "reads `/k`"), ("reads k/..", "reads k/.")),
    "glob": (("matches k/*", "matches k/**"), ("matches k?", "matches k*")),
    "unit": (("needs 9 mA", "needs 9 MA"), ("holds 3 l", "holds 3 ml"), ("waits 5 s", "waits 5 min")),
    "percent": (("runs at 40%", "runs at 40"), ("runs at 4%", "runs at 4\u2030")),
    "case": (("sends ON", "sends on"), ("is named Ada", "is named ADA"), ("emits Mb", "emits MB")),
    "emoji": (("shows \u2705 at night", "shows \u274c at night"), ("shows \U0001f44d", "shows \U0001f44e")),
    "negation": (("may be opened", "may not be opened"), ("is never cleaned", "is always cleaned"), ("runs with oil", "runs without oil")),
    "one word more": (("is checked", "is partly checked"), ("is cleaned daily", "is cleaned twice daily"), ("is open to staff", "is open to former staff")),
    "number": (("has 12 valves", "has 13 valves"), ("runs v1.2", "runs v1.20"), ("has two doors", "has three doors")),
    "name": (("belongs to Mia", "belongs to Max"), ("runs on Zeta", "runs on Z\u00e9ta")),
    "order of words": (("feeds line A before line B", "feeds line B before line A"), ("sends to x from y", "sends from x to y")),
    "quotes": (("prints `done`", "prints done"), ('prints "done"', "prints 'done'")),
    "currency": (("costs $9", "costs \u20ac9"), ("costs 9", "costs \u00a39")),
    "time zone": (("starts at 6:00 UTC+1", "starts at 6:00 UTC-1"), ("starts at 6 am", "starts at 6 pm")),
    "symbol": (("is built in C#", "is built in C"), ("is built in C++", "is built in C"), ("pings @ops", "pings ops")),
    "question": (("is on", "is on?"), ("is on", "is on ...")),
    "article or preposition": (("stands in the yard", "stands on the yard"), ("is a spare", "is the spare")),
    "brackets": (("stores [a]", "stores (a)"), ("stores {a}", "stores a")),
}  # fmt: skip
OTHER_LANGUAGES = (
    ("استخدم الخادم الجديد للنشر.", "لا تستخدم الخادم الجديد للنشر."),
    ("Τρέξε τα τεστ πριν από το deploy.", "Μην τρέξεις τα τεστ πριν από το deploy."),
    ("פתח ענף לכל משימה.", "אל תפתח ענף לכל משימה."),
    ("हर शाम बैकअप लें।", "हर शाम बैकअप न लें।"),
    ("هر شب پشتیبان بگیر.", "هر شب پشتیبان نگیر."),
    ("Verwijder oude takken elke week.", "Verwijder oude takken niet elke week."),
    ("Usuwaj stare gałęzie co tydzień.", "Nie usuwaj starych gałęzi co tydzień."),
    ("Töröld a régi ágakat hetente.", "Ne töröld a régi ágakat hetente."),
    ("Lösche alte Zweige jede Woche.", "Lösche alte Zweige nie jede Woche."),
    ("Supprime les branches chaque semaine.", "Ne supprime pas les branches chaque semaine."),
    ("每周删除旧分支。", "每周不删除旧分支。"),
    ("毎週古いブランチを削除する。", "毎週古いブランチを削除しない。"),
    ("매주 오래된 브랜치를 삭제한다.", "매주 오래된 브랜치를 삭제하지 않는다."),
    ("Удаляй старые ветки каждую неделю.", "Не удаляй старые ветки каждую неделю."),
)


def pairs() -> list[tuple[str, str, str]]:
    made: list[tuple[str, str, str]] = []
    for number, (kind, (frame, (left, right))) in enumerate(
        (kind, pair) for kind, forms in KINDS.items() for pair in product(SUBJECTS, forms)
    ):
        subject = frame.format(n=number + 2)
        made.append((kind, f"As a rule {subject} {left}", f"As a rule {subject} {right}"))
    return made + [("language", left, right) for left, right in OTHER_LANGUAGES]


PAIRS = pairs()


def test_there_are_enough_pairs() -> None:
    assert len(PAIRS) >= 300
    assert len(KINDS) >= 20


def test_of_two_that_differ_none_is_merged_when_stored() -> None:
    clock = FakeClock(now_ms=1_795_000_000_000)
    store = SqliteStore.temporary(clock=clock)
    capture = CapturePipeline(
        store=store, embedder=FakeEmbedder(), tokens=FakeTokenCounter(), clock=clock, redactor=Redactor(PrivacySettings()),
        kinds=KindRegistry(), settings=CaptureSettings(),
    )  # fmt: skip
    lost: list[tuple[str, str, str]] = []
    for number, (kind, *texts) in enumerate(PAIRS):
        scope = project_scope(f"p{number}")
        turned = number // 2 % 2  # each difference in both orders, with other subjects
        for at, text in enumerate(reversed(texts) if turned else texts, start=1):
            who = Provenance(tier=TrustTier.USER, source="cli", span=text)
            draft = Draft(content=text, kind="fact", scope=scope, provenance=who, at_ms=at, explicit=True)
            (change,) = capture.store_drafts([draft])
            if isinstance(change, Merge | Skip):
                lost.append((kind, *texts))
    assert lost == []
    kept = {
        m.content
        for m in store.list_memories(
            MemoryFilter(statuses=("active", "superseded")), scope=store.scopes(), limit=2000
        )
    }
    assert {text for _, *texts in PAIRS for text in texts} <= kept


def test_of_two_that_differ_none_is_left_out_of_a_block() -> None:
    from samples import memory_named

    for kind, left, right in PAIRS:
        both = [
            Candidate(memory=memory_named(name, content=text)) for name, text in (("a", left), ("b", right))
        ]
        assert len(dedupe(both, in_context={}).kept) == 2, (kind, left, right)


def test_the_hash_says_the_same_as_the_comparison() -> None:
    for _, left, right in PAIRS:
        assert not same_statement(left, right)
        assert content_hash(left) != content_hash(right)
