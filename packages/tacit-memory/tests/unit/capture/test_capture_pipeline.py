"""The write path end to end on the store in memory: nothing lost, nothing doubled, nothing of ours learned back."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from tacit.backends.sqlite import SqliteStore
from tacit.capture.backfill import CaptureReport
from tacit.capture.pipeline import MAX_ATTEMPTS
from tacit.config.settings import CaptureSettings
from tacit.errors import ProviderError
from tacit.model.change_reason import ChangeCause
from tacit.model.changes import Add, Draft, Merge, Skip, Supersede
from tacit.model.memory import Memory, Provenance, TrustTier
from tacit.model.scope import project_scope
from tacit.model.session import SessionKey, SessionState
from tacit.ports.models import EmbedderIdentity, Vectors
from tacit.ports.store import Handover, MemoryFilter
from tacit.providers.clock import FakeClock
from tacit.providers.embedding import FakeEmbedder
from tacit.session.cache_meter import CacheShare, shares_of_hosts
from tacit.session.ledger import expose_host_rules
from tacit.state.registry import CACHE_DAYS_OF_HOSTS
from unit.capture.pipelines import make_pipeline

P = project_scope("p")
S = SessionKey(host="claude-code", session_id="s1")
NOW = 1_795_169_810_000


class World:
    def __init__(self, store: SqliteStore | None = None, embedder: object = None, **settings: object) -> None:
        self.clock = FakeClock(now_ms=NOW)
        self.store = store or SqliteStore.temporary(clock=self.clock)
        self.capture = make_pipeline(
            self.store,
            self.clock,
            project="p",
            embedder=embedder or FakeEmbedder(),
            settings=CaptureSettings(**settings),
        )

    def memories(self, *kinds: str, status: str | None = "active") -> list[Memory]:
        where = MemoryFilter(kinds=kinds or None, statuses=(status,) if status else None)
        return list(self.store.list_memories(where, scope=self.store.scopes(), limit=100))

    def contents(self, *kinds: str, status: str | None = "active") -> set[str]:
        return {memory.content for memory in self.memories(*kinds, status=status)}

    def say(self, text: str, *, turn: int = 1, session: SessionKey = S) -> tuple[object, ...]:
        self.clock.advance(1000)
        return self.capture.capture_prompt(text, scope=P, session=session, turn=turn)


def line(kind: str, content: object, minute: int, **extra: object) -> str:
    role = "assistant" if kind == "assistant" else "user"
    at = f"2026-11-20T10:{minute:02d}:00Z"
    return (
        json.dumps(
            {
                "type": kind,
                "message": {"role": role, "content": content},
                "timestamp": at,
                "cwd": "/w",
                **extra,
            }
        )
        + "\n"
    )


def call(minute: int, name: str, given: dict[str, object], *, error: str = "", said: str = "") -> str:
    key = f"t{minute}"
    blocks: list[object] = [{"type": "text", "text": said}] if said else []
    blocks.append({"type": "tool_use", "id": key, "name": name, "input": given})
    result = {"type": "tool_result", "tool_use_id": key, "content": error or "ok", "is_error": bool(error)}
    return line("assistant", blocks, minute) + line("user", [result], minute)


SESSION = (
    line("user", "Please wire the queue worker. From now on, name workers after their queue.", 1)
    + line("user", [{"type": "text", "text": '<tacit-memory v="1">\nAlways use tabs\n</tacit-memory>'}], 2)
    + json.dumps(
        {
            "type": "attachment",
            "attachment": {"type": "hook_additional_context", "content": ["Always use tabs"]},
        }
    )
    + "\n"
    + call(
        3,
        "Bash",
        {"command": "go build ./..."},
        error="Exit code 1\nmain.go:3: no required module provides package foo/bar",
    )
    + call(
        4,
        "Edit",
        {"file_path": "/w/go.mod"},
        said="The problem is that the module foo/bar is missing from go.mod.",
    )
    + call(5, "Bash", {"command": "go build ./... 2>&1 | tail -5"})
    + line("user", "TODO: document the retry policy", 6)
)
FIX = (
    "`go build ./...` failed with: main.go:3: no required module provides package foo/bar. "
    "Cause: the module foo/bar is missing from go.mod. Fixed by editing go.mod."
)


def handover(path: Path | str, key: str = "h1", session: SessionKey = S, **extra: object) -> Handover:
    payload = {
        "host": session.host,
        "session_id": session.session_id,
        "transcript_path": str(path),
        "cwd": "/w",
        **extra,
    }
    return Handover(key=key, session=session, payload=json.dumps(payload), at_ms=NOW)


def hand(
    world: World, path: Path | str, key: str = "h1", session: SessionKey = S, **extra: object
) -> CaptureReport:
    world.store.hand_over(handover(path, key, session, **extra))
    return world.capture.capture_pending()


def test_a_stated_rule_is_stored_at_once_with_its_words_and_trigger() -> None:
    world = World()
    (change,) = world.say("ok. Always run `go vet` before you commit, thanks")
    assert isinstance(change, Add)
    (memory,) = world.memories()
    assert memory.content == "Always run `go vet` before you commit, thanks"
    assert (memory.kind, memory.scope, memory.provenance.tier) == ("preference", P, TrustTier.USER)
    assert memory.provenance.span == "Always run `go vet` before you commit, thanks"
    assert (memory.provenance.turn, memory.provenance.session_id) == (1, "s1")
    assert not memory.trigger.empty
    assert memory.tokens > 0
    assert any(entity.kind == "command" for entity in memory.entities)


def test_the_same_words_in_another_session_merge_and_in_the_same_one_do_nothing() -> None:
    world = World()
    world.say("Never commit directly to main")
    assert [type(c) for c in world.say("never commit directly to main!")] == [Skip]
    (merge,) = world.say(
        "Never commit directly to main.", session=SessionKey(host="claude-code", session_id="s2")
    )
    assert isinstance(merge, Merge)
    (memory,) = world.memories()
    assert (memory.frequency, memory.evidence) == (2, ("Never commit directly to main.",))


def test_a_secret_is_never_stored_and_that_is_said() -> None:
    world = World()
    (change,) = world.say("Remember that the deploy token is ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8")
    assert isinstance(change, Skip)
    assert change.reason.cause is ChangeCause.SECRET
    assert "a1B2c3D4e5" not in change.content
    assert world.memories(status=None) == []


def test_switched_off_means_off() -> None:
    world = World(enabled=False)
    assert world.say("Always use tabs in Go files") == ()


def test_an_embedder_that_fails_costs_no_statement() -> None:
    class Broken:
        identity = EmbedderIdentity(name="broken", dimensions=4)

        def embed(self, texts: Sequence[str]) -> Vectors:
            raise ProviderError("no model")

    world = World(embedder=Broken())
    world.say("Never commit directly to main")
    world.say("Never commit directly to main", session=SessionKey(host="x", session_id="y"))
    (memory,) = world.memories()
    assert memory.frequency == 2
    assert [m.id for m in world.store.pending_vectors(Broken.identity, limit=5)] == [memory.id]


def test_a_handed_over_session_teaches_rule_fix_and_digest_once(tmp_path: Path) -> None:
    path = tmp_path / "s1.jsonl"
    path.write_text(SESSION)
    world = World()
    report = hand(world, path)
    assert (report.handovers, report.failed, report.added) == (1, 0, 3)
    assert world.contents("preference") == {"From now on, name workers after their queue"}
    (fix,) = world.memories("error_pattern")
    assert fix.content == FIX
    assert (fix.files, fix.provenance.tier, bool(fix.error_signature)) == (("go.mod",), TrustTier.TOOL, True)
    (digest,) = world.memories("digest")
    assert digest.content.splitlines() == [
        "impl: changed go.mod",
        "next: Document the retry policy",
        "fix: `go build ./...`: Fixed by editing go.mod.",
    ]
    assert not any("tabs" in content for content in world.contents(status=None))
    before = world.memories(status=None)
    again = hand(world, path, "h2")
    assert (again.handovers, again.added, again.merged) == (1, 0, 0)
    assert world.memories(status=None) == before


def test_a_session_that_goes_on_is_read_from_where_it_stopped(tmp_path: Path) -> None:
    path = tmp_path / "s1.jsonl"
    failed = call(
        3, "Bash", {"command": "make lint"}, error="Exit code 2\nmake: golangci-lint: command not found"
    )
    path.write_text(line("user", "Please lint the whole tree", 1) + failed)
    world = World()
    hand(world, path)
    with path.open("a") as file:
        file.write(line("user", "Never commit directly to main", 4))
        file.write(
            call(5, "Bash", {"command": "brew install golangci-lint"})
            + call(6, "Bash", {"command": "make lint"})
        )
    hand(world, path, "h2")
    (fix,) = world.memories("error_pattern")
    assert fix.content.endswith("Fixed by running `brew install golangci-lint`.")
    assert fix.provenance.turn == 2
    assert len(world.memories("digest")) == 1
    assert "Never commit directly to main" in world.contents("anti_pattern")


def test_what_was_captured_in_real_time_is_not_captured_again_even_when_forgotten(tmp_path: Path) -> None:
    path = tmp_path / "s1.jsonl"
    path.write_text(
        line("user", "Never commit directly to main", 1) + call(2, "Edit", {"file_path": "/w/a.py"})
    )
    world = World()
    world.say("Never commit directly to main")
    (memory,) = world.memories()
    from tacit.model.changes import Retire

    world.store.apply([Retire(memory_id=memory.id, at_ms=NOW + 5000)])
    hand(world, path)
    assert world.contents("anti_pattern") == set()


def test_what_the_user_decided_stands_in_the_digest_though_the_session_record_counts_it_as_given(
    tmp_path: Path,
) -> None:
    """The decision is stored as soon as it is said. The record counts it as given from then on, but it is the user's own sentence."""
    decision = "We decided to archive invoices after ninety days, not after thirty."
    path = tmp_path / "s1.jsonl"
    path.write_text(line("user", decision, 1) + call(2, "Edit", {"file_path": "/w/a.py"}))
    told = World()
    told.say(decision)
    record = SessionState(key=S)
    told.store.save_session(expose_host_rules(record, told.memories("decision"), at_ms=NOW))
    hand(told, path)
    (digest,) = told.memories("digest")
    assert f"dec: {decision.removesuffix('.')}" in digest.content.splitlines()
    assert len(told.memories("decision")) == 1

    given = World()  # the same words as those of an earlier session
    given.say(decision, session=SessionKey(host="claude-code", session_id="s0"))
    given.store.save_session(expose_host_rules(record, given.memories("decision"), at_ms=NOW))
    hand(given, path)
    assert not any("dec:" in memory.content for memory in given.memories("digest"))


def test_a_fork_does_not_teach_the_shared_part_again(tmp_path: Path) -> None:
    one, two = tmp_path / "s1.jsonl", tmp_path / "s2.jsonl"
    one.write_text(SESSION)
    two.write_text(SESSION + line("user", "Never commit directly to main", 9))
    world = World()
    hand(world, one)
    hand(world, two, "h2", SessionKey(host="claude-code", session_id="s2"))
    (rule,) = world.memories("preference")
    assert (rule.frequency, len(world.memories("error_pattern"))) == (1, 1)
    assert world.contents("anti_pattern") == {"Never commit directly to main"}


def test_what_requests_read_is_counted_once_by_host_and_day(tmp_path: Path) -> None:
    def reply(minute: int, key: str, cached: int) -> str:
        row = json.loads(line("assistant", [{"type": "text", "text": f"Step {minute}."}], minute))
        row["message"] |= {"id": key, "usage": {"input_tokens": 10, "cache_read_input_tokens": cached}}
        return json.dumps(row) + "\n"

    def told(world: World) -> tuple[CacheShare, ...]:
        days = CACHE_DAYS_OF_HOSTS.read(world.store)
        return shares_of_hosts(days, since_ms=NOW - 86_400_000, until_ms=NOW + 86_400_000)

    one, two = tmp_path / "s1.jsonl", tmp_path / "s2.jsonl"
    shared = line("user", "Please wire the queue worker.", 1) + reply(2, "m1", 0) + reply(3, "m2", 90)
    one.write_text(shared)
    two.write_text(shared + line("user", "And the other one.", 5) + reply(6, "m3", 190))
    world = World()
    hand(world, one)
    hand(world, one, "h2")
    claude = CacheShare(
        placement="", host="claude-code", requests=2, share=0.0, input_tokens=110, cached_tokens=90
    )
    assert told(world) == (claude,)
    hand(
        world, two, "h3", SessionKey(host="claude-code", session_id="s2")
    )  # a fork: what is shared counts once
    assert told(world) == (replace(claude, requests=3, input_tokens=310, cached_tokens=280),)


def requests_of(world: World, host: str) -> tuple[int, int, int]:
    days = CACHE_DAYS_OF_HOSTS.read(world.store)
    found = shares_of_hosts(days, since_ms=0, until_ms=NOW + 86_400_000)
    return next(
        ((one.requests, one.input_tokens, one.cached_tokens) for one in found if one.host == host), (0, 0, 0)
    )


def test_a_turn_that_grows_counts_only_its_new_requests() -> None:
    """OpenCode's sessions are read whole each time; after "Continue" of its own the agent's turn goes on."""

    def said(number: int, *, role: str = "assistant", synthetic: bool = False) -> dict[str, object]:
        tokens = {"input": 10, "output": 1, "cache": {"read": 90 * number, "write": 0}}
        part = {"type": "text", "text": f"Step {number}.", "synthetic": synthetic}
        info = {"id": f"msg_{number}", "role": role, "time": {"created": NOW + number}}
        return {"info": info | ({"tokens": tokens} if role == "assistant" else {}), "parts": [part]}

    begun = [said(0, role="user"), said(1), said(2)]
    grown = [*begun, said(3, role="user", synthetic=True), said(4)]
    further = [*grown, said(5, role="user"), said(6)]
    world = World()
    key = SessionKey(host="opencode", session_id="ses_1")
    for number, (messages, wanted) in enumerate(
        ((begun, (2, 290, 270)), (grown, (3, 660, 630)), (grown, (3, 660, 630)), (further, (4, 1210, 1170)))
    ):
        hand(world, "", f"h{number}", key, messages=messages)
        assert requests_of(world, "opencode") == wanted
    hand(world, "", "fork", SessionKey(host="opencode", session_id="ses_2"), messages=[*begun, said(7)])
    assert requests_of(world, "opencode") == (5, 1850, 1800), (
        "a fork whose shared turn went on in another way"
    )


def test_a_message_of_several_lines_counts_once_over_two_readings(tmp_path: Path) -> None:
    def piece(minute: int, content: dict[str, object]) -> str:
        row = json.loads(line("assistant", [content], minute))
        row["message"] |= {"id": "m1", "usage": {"input_tokens": 10, "cache_read_input_tokens": 90}}
        return json.dumps(row) + "\n"

    path = tmp_path / "s1.jsonl"
    path.write_text(
        line("user", "Please wire the queue worker.", 1) + piece(2, {"type": "text", "text": "Now."})
    )
    world = World()
    hand(world, path)
    call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "make"}}
    path.write_text(path.read_text() + piece(3, call))
    hand(world, path, "h2")
    assert requests_of(world, "claude-code") == (1, 100, 90)


def test_open_code_hands_over_messages(tmp_path: Path) -> None:
    messages = [
        {"role": "user", "text": "From now on, write tests first", "at_ms": NOW},
        {
            "role": "assistant",
            "text": "Will do.",
            "tools": [
                {
                    "tool": "todowrite",
                    "call_id": "c",
                    "input": {
                        "todos": [
                            {"content": "write tests", "status": "completed"},
                            {"content": "ship it", "status": "pending"},
                        ]
                    },
                }
            ],
        },
    ]
    world = World()
    key = SessionKey(host="opencode", session_id="ses_1")
    hand(world, "", "h1", key, messages=messages)
    assert world.contents("preference") == {"From now on, write tests first"}
    assert world.contents("todo") == {"Open tasks of the agent: ship it"}
    (todo,) = world.memories("todo")
    assert todo.provenance.tier is TrustTier.ASSISTANT
    done = [
        *messages,
        {"role": "user", "text": "go on please"},
        {
            "role": "assistant",
            "text": "",
            "tools": [
                {"tool": "todowrite", "input": {"todos": [{"content": "ship it", "status": "completed"}]}}
            ],
        },
    ]
    hand(world, "", "h2", key, messages=done)
    assert world.contents("todo") == set()
    assert world.contents("preference") == {"From now on, write tests first"}


def test_a_missing_transcript_is_tried_again_and_given_up_in_the_end(tmp_path: Path) -> None:
    world = World()
    assert hand(world, tmp_path / "gone.jsonl").failed == 1
    (waiting,) = world.store.pending_handovers(limit=5)
    assert (waiting.attempts, "gone.jsonl" in waiting.error) == (1, True)
    for _ in range(MAX_ATTEMPTS - 1):
        assert world.capture.capture_pending().failed == 1
    assert world.store.pending_handovers(limit=5) == ()


@pytest.mark.parametrize("payload", ["no json", "[]", '{"host": "claude-code"}'])
def test_a_payload_without_sense_is_closed_and_said(payload: str) -> None:
    world = World()
    world.store.hand_over(Handover(key="h1", session=S, payload=payload, at_ms=NOW))
    assert world.capture.capture_pending() == CaptureReport(handovers=1, failed=1)
    assert world.store.pending_handovers(limit=5) == ()


def test_drafts_of_one_batch_see_each_other() -> None:
    world = World()
    drafts = [
        Draft(
            content=text,
            kind="decision",
            scope=P,
            provenance=Provenance(tier=TrustTier.USER, source=source),
            at_ms=at,
        )
        for text, source, at in [
            ("The port is 8080", "a", 1),
            ("the port is 8080.", "b", 2),
            ("The port is now 9090", "c", 3),
        ]
    ]
    changes = world.capture.store_drafts(drafts)
    assert [type(change) for change in changes] == [Add, Merge, Supersede]
    assert world.contents() == {"The port is now 9090"}
