"""The registry of named values: names and forms of existing homes, what a purge deletes, what retention removes."""

from __future__ import annotations

import json

import pytest

from tacit.backends.sqlite import SqliteStore
from tacit.model.change_reason import ChangeCause
from tacit.model.item import Item
from tacit.model.scope import UNIVERSAL, Scope, project_scope
from tacit.model.session import SessionKey
from tacit.ports.store import Salvage
from tacit.providers.clock import FakeClock
from tacit.state import registry
from tacit.state.captured import (
    BranchState,
    Checkpoint,
    ComparisonQueue,
    Failure,
    Message,
    PendingSession,
    Position,
    RuleFileState,
    SessionWork,
    StatementOutcome,
    TeamFileState,
    TeamState,
    UnfixedFailure,
)
from tacit.state.counted import (
    Mark,
    Marks,
    RequestRecord,
    SessionCounts,
    SessionSpending,
    SessionUsage,
    Spending,
    Totals,
    Verdict,
)

KEY = SessionKey(host="claude-code", session_id="s1")
SHOP = project_scope("shop-1")
FAILURE = Failure(command="make", error="e", signature="make | e", turn=2, at_ms=5, edited=("a.py",))
STORED_FAILURE = {
    "command": "make", "error": "e", "signature": "make | e", "turn": 2, "at_ms": 5, "edited": ["a.py"], "prepared": [], "cause": "", "times": 1,
    "elsewhere": False,
}  # fmt: skip
STORED = [
    (registry.COPIES, (), "copies", '["/b/1.db", "/b/2.jsonl"]', ("/b/1.db", "/b/2.jsonl")),
    (registry.DAMAGED_STORE, (), "damaged_store", '{"aside":"/q/x.db","at_ms":7,"recovered":2}', Salvage(aside="/q/x.db", at_ms=7, recovered=2)),
    (registry.SALVAGE_SHOWN, (), "told_salvage", "/q/x.db", "/q/x.db"),
    (registry.TOOLS_LISTED, ("opencode",), "tools/opencode", "1760000000000", 1_760_000_000_000),
    (registry.HOST_MEMORY, ("gemini", "0123456789abcdef"), "host-memory/gemini/0123456789abcdef", '{"digest":"d","items":{"h":"mem_1"},"lines":[],"open":false}',
     RuleFileState(digest="d", items={"h": "mem_1"})),
    (registry.VERDICTS, (), "feedback/verdicts", '[{"trace_id":"trc_1","memory_id":"mem_1","useful":true,"injected":false,"surface":"prompt","relevance":1.0,"threshold":0.2,"trace_at_ms":1,"at_ms":2}]',
     (Verdict(trace_id="trc_1", memory_id="mem_1", useful=True, injected=False, surface="prompt", relevance=1.0, threshold=0.2, trace_at_ms=1, at_ms=2),)),
    (registry.IMPORTED, ("mem0/0123456789ab/1",), "imported/mem0/0123456789ab/1", "aaaaaaaaaaaabbbbbbbbbbbb", ("a" * 12, "b" * 12)),
    (registry.PAIRS_SHOWN, (), "pairs", '{"mem_1 mem_2": ["claude-code/s1"]}', {"mem_1 mem_2": ("claude-code/s1",)}),
    (registry.FIRST_SESSION, ("",), "announced:", "1760000000000", 1_760_000_000_000),
    (registry.RELATED_SHOWN, ("shop-1",), "told:shop-1", "two folders", "two folders"),
    (registry.NOTED_SHOWN, ("shop-1",), "told_notes:shop-1", "1760000000000", 1_760_000_000_000),
    (registry.FOLLOWED_FOLDER, ("shop-1",), "init:shop-1", "/home/u/shop", "/home/u/shop"),
    (registry.LANGUAGES, ("shop-1",), "languages:shop-1", "go,python", ("go", "python")),
    (registry.ROOT_COMMITS, ("shop-1",), "root-commits:shop-1", "c1,c2", ("c1", "c2")),
    (registry.RULE_FILES, ("shop-1",), "rules/shop-1", '["AGENTS.md", "docs/a.md"]', ("AGENTS.md", "docs/a.md")),
    (registry.RULE_FILE, ("shop-1", "docs/a.md"), "rules/shop-1/docs/a.md", '{"digest":"d","items":{"h":"mem_1"}}', RuleFileState(digest="d", items={"h": "mem_1"})),
    (registry.TEAM_FILES, ("shop-1",), "team-files/shop-1", '{".tacit/team/a.md":{"digest":"d","memory_id":"mem_1"}}', {".tacit/team/a.md": TeamFileState(digest="d", memory_id="mem_1")}),
    (registry.TEAMS, (), "teams", '{"acme":{"cursor":"7.1","role":"writer","name":"Ana","own":{"mem_1":"mem_2"}}}', {"acme": TeamState(cursor="7.1", role="writer", name="Ana", own={"mem_1": "mem_2"})}),
    (registry.LOST_SHOWN, (), "told_lost", "mem_1,mem_2", ("mem_1", "mem_2")),
    (registry.TEAM_PURGES, (), "team-purges", '["mem_1"]', ("mem_1",)),
    (registry.TEAMS_HEARD, (), "teams-heard", "1700000000000", 1_700_000_000_000),
    (registry.TEAM_JOINED, ("shop-1",), "team-joined/shop-1", "/home/u/shop", "/home/u/shop"),
    (registry.BRANCHES, ("shop-1",), "branches/shop-1", '{"payments":{"folder":"/home/u/shop/.git","tip":"aa","ahead":true,"replaced":["mem_1"]}}',
     {"payments": BranchState(folder="/home/u/shop/.git", tip="aa", ahead=True, replaced=("mem_1",))}),
    (registry.RULES_CONFIRMED, ("shop-1",), "rules-confirmed/shop-1", "/home/u/shop", "/home/u/shop"),
    (registry.HOLDOUT_ERRORS, ("shop-1",), "trial/errors/shop-1", '{"00ff":["abcd",3]}', {"00ff": ("abcd", 3)}),
    (registry.REJECTED, (SHOP,), "capture/rejected/project:shop-1", '["Use caf\u00e9."]', ("Use caf\u00e9.",)),
    (registry.ITEM, ("memories/ana%2Fb", "k%201"), "items/memories/ana%2Fb/k%201",
     '[["memories","ana/b"],"k 1",["o",[["text","Hi."],["tags",["l",["a",null,2.5]]]]],5,6,"mem_1","Hi."]',
     Item(namespace=("memories", "ana/b"), key="k 1", value={"text": "Hi.", "tags": ["a", None, 2.5]}, created_at_ms=5, updated_at_ms=6, memory_id="mem_1", text="Hi.")),
    (registry.PENDING, (SHOP,), "capture/failures/project:shop-1", json.dumps([{"session": "h/s", "failure": one} for one in (STORED_FAILURE,)]), (UnfixedFailure(session="h/s", failure=FAILURE),)),
    (registry.CHECKPOINT, (KEY,), "capture/session/claude-code/s1", json.dumps({
        "version": 1, "path": "/t.jsonl", "position": {"offset": 9, "head": "h", "prompts": 2, "last": "k"}, "root": "k0", "failures": [STORED_FAILURE],
        "work": {"asked": "Do it", "files": ["a.py"], "decided": [], "left": [], "fixed": [], "commits": ["c1", "c2"], "tasks": [["1", "Do it", "pending"]]},
        "digest_id": "mem_d", "todo_id": "", "held": [{"content": "c"}], "agent_end": "Done.", "solution": {"content": "c", "files": ["a.py"]},
        "title": "Do it", "folder": "/w", "began_ms": 4, "heard_ms": 6,
     }), Checkpoint(
        path="/t.jsonl", position=Position(offset=9, head="h", prompts=2, last="k"), root="k0", failures=(FAILURE,), digest_id="mem_d",
        work=SessionWork(files=("a.py",), commits=("c1", "c2"), tasks=(("1", "Do it", "pending"),)),
        title="Do it", folder="/w", began_ms=4, heard_ms=6,
     )),
    (registry.CAPTURED_AT_ONCE, (KEY,), "capture/said/claude-code/s1", '["h1","h2"]', ("h1", "h2")),
    (registry.UTTERANCES_SEEN, ("k0",), "capture/seen/k0", '["k0","k1"]', ("k0", "k1")),
    (registry.REQUESTS_COUNTED, ("k0",), "capture/requests/k0", '["m1"]', ("m1",)),
    (registry.WAITING, (KEY,), "capture/unread/claude-code/s1", json.dumps({
        "root": "/w", "updated_ms": 5, "ended": True, "past": False, "tries": 2, "taken": 1, "key": {"host": "claude-code", "session_id": "s1"}, "scope": {"kind": "project", "key": "shop-1"},
        "messages": [{"prompt": 1, "role": "user", "text": "Hi \ud83d.", "at_ms": 4, "chance": 0}],
     }), PendingSession(key=KEY, scope=SHOP, root="/w", updated_ms=5, ended=True, tries=2, taken=1, messages=(Message(prompt=1, role="user", text="Hi \ud83d.", at_ms=4),))),
    (registry.SESSION_SPENDING, (KEY,), "capture/written/claude-code/s1", '{"day":"2026-11-21","tokens":7,"requests":[{"at_ms":1,"model":"m","causes":["not_quoted"]}]}',
     SessionSpending(day="2026-11-21", tokens=7, requests=(RequestRecord(at_ms=1, model="m", causes=(ChangeCause.NOT_QUOTED,)),))),
    (registry.OUTCOMES, (KEY,), "capture/learned/claude-code/s1", '[{"fate":"new","memory_id":"mem_1","turn":2}]', (StatementOutcome(fate="new", memory_id="mem_1", turn=2),)),
    (registry.USAGE, (KEY,), "usage/session/claude-code/s1", '{"seen":["00000000"],"used":[],"counted":["mem_1"]}', SessionUsage(seen=("00000000",), counted=("mem_1",))),
    (registry.SPENDING, (), "capture/extractor", '{"day":"2026-11-21","tokens":5,"error":"x"}', Spending(day="2026-11-21", tokens=5, error="x")),
    (registry.ANTICIPATION_SPENDING, (), "recall/anticipate", '{"day":"2026-11-21","tokens":5,"kept":3}', Spending(day="2026-11-21", tokens=5, kept=3)),
    (registry.JUDGE_SPENDING, (), "recall/judge", '{"day":"2026-11-21","tokens":5,"failed":1}', Spending(day="2026-11-21", tokens=5, failed=1)),
    (registry.COMPARISONS, (), "capture/compare", '{"newest_ms":9,"seen":[9,"mem_1"],"ids":["mem_2"]}', ComparisonQueue(newest_ms=9, seen=(9, "mem_1"), ids=("mem_2",))),
    (registry.TOTALS, (), "usage/totals", '{"shown":3,"by_cue":{"file":1}}', Totals(shown=3, by_cue={"file": 1})),
    (registry.HOLDOUT_SESSIONS, ("07",), "trial/sessions/07", '{"h/s":[1,9,2,3,4,5,6]}', {"h/s": SessionCounts(without=True, at_ms=9, turns=2, calls=3, failures=4, repeated=5, tokens=6)}),
    (registry.MARKS, (), "charts/marks", '{"marks":[{"at_ms":5,"what":"import","about":["mem0"],"count":900}],"settings":{"recall.level":"00"}}',
     Marks(marks=(Mark(at_ms=5, what="import", about=("mem0",), count=900),), settings={"recall.level": "00"})),
    (registry.CACHE_DAYS, (), "trial/cache", '{"20000": {"default": [1, 2, 3, 4, 5, 6, 7]}}', {"20000": {"default": (1, 2, 3, 4, 5, 6, 7)}}),
    (registry.CACHE_DAYS_OF_HOSTS, (), "trial/cache/hosts", '{"20000": {"opencode": [1, 0, 0, 0, 0, 6, 7]}}', {"20000": {"opencode": (1, 0, 0, 0, 0, 6, 7)}}),
]  # fmt: skip


@pytest.fixture
def store() -> SqliteStore:
    return SqliteStore.temporary(clock=FakeClock(now_ms=0))


@pytest.mark.parametrize("row", STORED, ids=[row[2] for row in STORED])
def test_names_and_forms_of_existing_homes_are_read(store, row):
    """A form that changes needs an upgrade, since homes hold it."""
    value, key, name, text, expected = row
    assert value.name(*key) == name
    assert registry.declaration_of(name) is value
    store.put_value(name, text)
    assert value.find(store, *key) == expected
    assert value.parse(value.text(expected)) == expected


def test_every_declaration_is_in_the_list_of_forms():
    assert {row[0].prefix for row in STORED} == {one.prefix for one in registry.DECLARED}
    assert len({id(row[0]) for row in STORED}) == len(registry.DECLARED)


@pytest.mark.parametrize("text", [None, "", "[", "null", "7", '[{"a": 1}]', "[" * 100_000, "\ud83d"])
def test_nonsense_counts_as_missing(text):
    for value in (
        registry.CHECKPOINT, registry.PENDING, registry.WAITING, registry.VERDICTS, registry.TOTALS, registry.COMPARISONS, registry.RULE_FILE,
        registry.HOLDOUT_SESSIONS, registry.HOLDOUT_ERRORS, registry.CACHE_DAYS, registry.SPENDING, registry.COPIES,
    ):  # fmt: skip
        assert value.parse(text) is None, value.prefix


def test_a_collection_keeps_its_last_entries_and_an_empty_one_is_removed(store):
    many = tuple(str(number) for number in range(400))
    registry.REJECTED.write(store, many, UNIVERSAL)
    assert registry.REJECTED.read(store, UNIVERSAL) == many[-300:]
    days = {str(number): {"default": (1, 2, 3, 4, 5, 6, 7)} for number in range(130)}
    registry.CACHE_DAYS.write(store, days)
    assert list(registry.CACHE_DAYS.read(store)) == [str(number) for number in range(10, 130)]
    registry.REJECTED.write(store, (), UNIVERSAL)
    assert not registry.REJECTED.is_stored(store, UNIVERSAL)


def _fill(store: SqliteStore) -> None:
    for _, _, name, text, _ in STORED:
        store.put_value(name, text)


def test_a_purge_of_a_project_deletes_what_belongs_to_it(store):
    _fill(store)
    below = Scope.parse("path:shop-1/web")
    registry.REJECTED.write(store, ("Use tabs.",), below)
    for other in ("shop-10", "sho"):
        registry.LANGUAGES.write(store, ("go",), other)
        registry.REJECTED.write(store, ("Use tabs.",), project_scope(other))
    assert sorted(registry.names_of_project(store, "shop-1")) == [
        "branches/shop-1",
        "capture/failures/project:shop-1",
        "capture/rejected/path:shop-1/web",
        "capture/rejected/project:shop-1",
        "init:shop-1",
        "languages:shop-1",
        "root-commits:shop-1",
        "rules-confirmed/shop-1",
        "rules/shop-1",
        "rules/shop-1/docs/a.md",
        "team-files/shop-1",
        "team-joined/shop-1",
        "told:shop-1",
        "told_notes:shop-1",
        "trial/errors/shop-1",
    ]


def test_a_purge_of_a_session_deletes_what_belongs_to_it(store):
    _fill(store)
    registry.CAPTURED_AT_ONCE.write(store, ("h",), SessionKey(host="claude-code", session_id="s10"))
    registry.PENDING.write(
        store, (UnfixedFailure(session=str(KEY), failure=FAILURE),), Scope.parse(f"session:{KEY}")
    )
    assert sorted(registry.names_of_sessions(store, [KEY])) == [
        "capture/failures/session:claude-code/s1",
        "capture/learned/claude-code/s1",
        "capture/said/claude-code/s1",
        "capture/session/claude-code/s1",
        "capture/unread/claude-code/s1",
        "capture/written/claude-code/s1",
        "usage/session/claude-code/s1",
    ]


def test_retention_removes_what_goes_with_the_record_of_a_session(store):
    _fill(store)
    before = set(store.value_names(""))
    registry.forget_session(store, KEY)
    gone = {"capture/learned/claude-code/s1", "usage/session/claude-code/s1"}
    assert before - set(store.value_names("")) == gone


def test_what_nobody_declared_may_hold_words_and_is_named(store):
    _fill(store)
    assert registry.undeclared(store) == ()
    store.put_value("capture/later/x", "1")
    assert registry.undeclared(store) == ("capture/later/x",)
    assert registry.may_hold_words("capture/later/x")
    assert registry.may_hold_words("capture/rejected/universal")
    assert not registry.may_hold_words("init:shop-1")
