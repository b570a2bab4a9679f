"""The API over an engine of plain lists: what reaches the engine, what comes back, how errors look."""

from __future__ import annotations

import json
import logging
import threading
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from starlette.applications import Starlette
from starlette.routing import Route
from starlette.testclient import TestClient

from samples import memory_named
from tacit.api.endpoints import ENDPOINTS, MAX_BODY_BYTES
from tacit.api.routes import build_routes
from tacit.app.admin.learned import TaughtMemory
from tacit.app.values import EngineStatus, Recalled
from tacit.capture.backfill import CaptureReport
from tacit.capture.bootstrap.project_import import RulesImport
from tacit.errors import InvalidInput, NotFound, RefusedByRedaction, StoreBusy, TacitError
from tacit.hosts.transcripts.rows import TranscriptInfo
from tacit.model.change_reason import ChangeCause, ChangeReason
from tacit.model.changes import DUPLICATE, Add, Contradict, Merge, Retire, Rewrite, Skip, Supersede
from tacit.model.evidence import Candidate
from tacit.model.memory import Memory, Sensitivity, Speaker
from tacit.model.pack import Block, Pack, PackItem, Surface
from tacit.model.scope import UNIVERSAL, Scope, ScopeFilter
from tacit.model.session import SessionKey, SessionState
from tacit.model.trace import Drop, DropCause, DropReason, StageRecord, Trace
from tacit.model.trigger import Situation
from tacit.ports.store import StoreStats
from tacit.verbs import requests as ask
from user_voice import client_of, spoken_by

FOLDER = "/work/project"


def memory(number: int = 1, **more) -> Memory:
    values = {"kind": "preference", "scope": Scope.parse("language:python"), "at_ms": number, **more}
    return memory_named(f"mem_{number:04}", values.pop("content", f"Statement {number}."), **values)


TRACE = Trace(
    id="trc_1", session="claude-code/s", turn=2, epoch=0, surface=Surface.PROMPT, at_ms=5, preset="focused",
    text="words", situation=Situation(actions=(("commit", 0.8),)),
    stages=(StageRecord(stage="guard", took_ms=0.5, drops=(Drop(memory_id="mem_2", why=DropReason(cause=DropCause.QUARANTINED)),)),),
    injected=("mem_0001",),
)  # fmt: skip


@dataclass
class ListEngine:
    """An engine that keeps memories in a list and writes down how it was called."""

    stored: list[Memory] = field(default_factory=list)
    calls: list[tuple[str, dict]] = field(default_factory=list)
    raises: BaseException | None = None
    changes: tuple | None = None
    threads: set[int] = field(default_factory=set)

    def _called(self, name: str, **how) -> None:
        self.calls.append((name, how))
        self.threads.add(threading.get_ident())
        if self.raises is not None:
            raise self.raises

    def noting_changes(self):
        nothing = self.changes is not None and all(isinstance(change, Skip) for change in self.changes)
        return nullcontext([] if nothing else ["chg_1"])

    def facts_in(self, statement, cwd):
        return (statement,)

    def remember(self, content, **how):
        self._called("remember", content=content, **how)
        if self.changes is not None:
            return self.changes
        self.stored.append(memory(len(self.stored) + 1, content=content, kind=how["kind"] or "fact"))
        return (Add(memory=self.stored[-1]),)

    def recall(self, text, **how):
        self._called("recall", text=text, **how)
        items = tuple(
            PackItem(
                candidate=Candidate(memory=m, scores=(("lexical", 1.5),), relevance=0.9),
                text=m.content,
                tokens=3,
            )
            for m in self.stored
        )
        block = Block(surface=how["surface"], text="<memory>", tokens=9, memory_ids=("mem_0001",))
        return Recalled(
            pack=Pack(surface=how["surface"], items=items, budget_tokens=1000), block=block, trace=TRACE
        )

    def scope_called(self, name, cwd):
        self.calls.append(("scope_called", {"name": name, "cwd": cwd}))
        return Scope.parse("project:shop" if name == "project" else name)

    def visible(self, cwd, *, paths=()):
        self._called("visible", cwd=cwd, paths=paths)
        return ScopeFilter.of(UNIVERSAL)

    @property
    def admin(self):
        return self

    def count(self, where, *, scope):
        return len(self.stored)

    def list_memories(self, where, *, scope=None, limit=50, offset=0):
        self._called("list", where=where, scope=scope, limit=limit, offset=offset)
        return tuple(self.stored[offset : offset + limit])

    @property
    def memories(self):
        return self

    @property
    def agents(self):
        return self

    @property
    def store(self):
        return self

    @property
    def live(self):
        return self

    @property
    def capture(self):
        return self

    @property
    def maintenance(self):
        return self

    def visibility(self, speaker):
        return SimpleNamespace(memories=tuple)

    def scopes(self, scopes=(), *, within=None):
        return within or ScopeFilter.of(*(scopes or (UNIVERSAL,)))

    def given_times(self, ids):
        return {}

    def get_value(self, name):
        return None

    def require_may_change(self, caller, memory, what, *, user_words):
        self._called("require", what=what, user_words=user_words)

    def show(self, id_or_prefix, *, speaker=None):
        self._called("show", id=id_or_prefix)
        found = [m for m in self.stored if m.id.startswith(id_or_prefix)]
        if len(found) != 1:
            raise NotFound(
                f"{len(found)} memories begin with {id_or_prefix!r}.", hint="`tacit list` shows the ids."
            )
        return found[0]

    def history(self, memory_id, *, scope):
        return (replace(self.show(memory_id), content="Older."), self.show(memory_id))

    def edit(self, memory, **how):
        self._called("edit", id=memory.id, **how)
        return replace(memory, content=how["content"] or "Statement.")

    def retire(self, memory, *, reason):
        self._called("retire", id=memory.id, reason=reason.detail)

    def feedback(self, memory, *, useful):
        self._called("feedback", id=memory.id, useful=useful)

    @property
    def recalls(self):
        return self

    @property
    def learned(self):
        return self

    def of_turns(self, traces, *, visibility):
        return tuple(
            TaughtMemory(trace_id=trace.id, memory_id="mem_0001", kind="fact", content="x", status="active")
            for trace in traces
        )

    def heard(self):
        return {}

    def traces(self, where, **how):
        self._called("traces", where=where, **how)
        return (TRACE,)

    def mute(self, session, *, muted):
        self._called("mute", session=session, muted=muted)
        return SessionState(key=session, muted=muted)

    def init_project(self, cwd, *, speaker, dry_run=False):
        self._called("init", cwd=cwd)
        return RulesImport(files=(), changes=())

    def transcripts(self, cwd="", **how):
        self._called("transcripts", cwd=cwd)
        names = ("a.jsonl", "b.jsonl")
        return tuple(
            TranscriptInfo(host="plain", path=Path("/t", name), size_bytes=1, modified_ms=1, sessions=1)
            for name in names
        )

    def backfill(self, infos, options):
        self._called("backfill", paths=[str(info.path) for info in infos])
        return CaptureReport(added=len(infos))

    def status(self, *, speaker):
        self._called("status")
        counts = dict.fromkeys(StoreStats.__dataclass_fields__, 4)
        return EngineStatus(
            version="1",
            home="/h",
            preset="focused",
            store=StoreStats(**counts),
            embedder="e",
        )

    damaged = False

    def backup(self, target):
        self._called("backup", target=target)


@pytest.fixture
def engine() -> ListEngine:
    return ListEngine(stored=[memory(n) for n in range(1, 4)])


@pytest.fixture
def client(engine):
    with client_of(engine) as made:
        yield made


def problem(response, status: int, code: str) -> dict:
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    body = response.json()
    assert body["code"] == code
    assert body["status"] == status
    assert set(body) == {"type", "title", "status", "detail", "code", "hint"}
    return body


def test_remember_hands_everything_on(client, engine):
    answer = client.post(
        "/v1/memories",
        json={
            "content": "Always run make lint.", "kind": "guideline", "scope": "universal", "when": "before a commit",
            "headline": "before a commit: make lint", "cwd": FOLDER, "user_words": "as I said", "source": "my tool", "pinned": True, "files": ["Makefile"],
            "session": {"host": "opencode", "session_id": "s1"}, "sensitivity": "restricted",
        },
    )  # fmt: skip
    assert answer.status_code == 201
    assert answer.json()["changes"][0]["change"] == "add"
    assert answer.json()["changes"][0]["memory"]["content"] == "Always run make lint."
    assert engine.calls == [("scope_called", {"name": "universal", "cwd": FOLDER}), (
        "remember",
        {
            "content": "Always run make lint.", "kind": "guideline", "scope": UNIVERSAL, "when": "before a commit",
            "cwd": FOLDER, "speaker": Speaker.USER, "user_words": "as I said", "source": "my tool", "pinned": True, "files": ("Makefile",),
            "session": SessionKey(host="opencode", session_id="s1"), "sensitivity": Sensitivity.RESTRICTED,
            "replaces": (), "all_branches": False, "headline": "before a commit: make lint",
        },
    )]  # fmt: skip


def test_the_scope_of_a_folder_is_asked_of_the_engine(client, engine):
    for body in ({"scope": "project", "cwd": FOLDER}, {"content": "Use uv."}):
        client.patch("/v1/memories/mem_0001", json=body)
    assert ("scope_called", {"name": "project", "cwd": FOLDER}) in engine.calls
    scopes = [how["scope"] for name, how in engine.calls if name == "edit"]
    assert scopes == [Scope.parse("project:shop"), None]
    problem(client.patch("/v1/memories/mem_1", json={"cwd": FOLDER}), 422, "invalid_input")


def test_every_change_is_told(client, engine):
    m = memory()
    engine.changes = (
        Add(memory=m), Merge(memory=m), Rewrite(memory=m), Supersede(memory=m, old_id="mem_0", at_ms=4),
        Contradict(memory=m, other_id="mem_9"), Retire(memory_id="mem_5", at_ms=6), Skip(content="x", reason=ChangeReason(cause=ChangeCause.EMPTY)),
    )  # fmt: skip
    told = client.post("/v1/memories", json={"content": "x"}).json()["changes"]
    names = ["add", "merge", "edit", "supersede", "contradict", "retire", "skip"]
    assert [change["change"] for change in told] == names
    assert all(change["memory"]["id"] == m.id for change in told[:5])
    assert (told[3]["old_id"], told[3]["at_ms"]) == ("mem_0", 4)
    assert told[4]["other_id"] == "mem_9"
    assert told[5]["memory_id"] == "mem_5"
    assert told[6] == {"change": "skip", "reason": "empty", "cause": "empty", "content": "x", "memory": None}


def test_nothing_stored_is_200(client, engine):
    engine.changes = (Skip(content="x", reason=DUPLICATE),)
    assert client.post("/v1/memories", json={"content": "x"}).status_code == 200


def test_recall_answers_with_block_memories_and_trace(client, engine):
    body = client.post(
        "/v1/recall",
        json={
            "text": "how do I commit",
            "cwd": FOLDER,
            "surface": "prompt",
            "budget_tokens": 100,
            "as_of_ms": 9,
        },
    ).json()
    assert engine.calls[0][1] == {
        "text": "how do I commit", "cwd": FOLDER, "surface": Surface.PROMPT, "budget_tokens": 100, "as_of_ms": 9,
        "store_trace": True, "given": None, "session": None, "agent": "", "held": (), "speaker": Speaker.USER, "kinds": (), "most": None,
    }  # fmt: skip
    assert body["block"]["text"] == "<memory>"
    first = body["memories"][0]
    assert (first["id"], first["relevance"], first["scores"]) == ("mem_0001", 0.9, {"lexical": 1.5})
    assert (first["scope"], first["provenance"]["tier"], first["sensitivity"]) == (
        "language:python",
        "user",
        "project",
    )
    assert body["trace"]["stages"][0]["drops"][0]["reason"] == "it waits for you to confirm it"


def test_what_a_session_starts_with_needs_no_text(client, engine):
    body = {"surface": "start", "cwd": FOLDER, "store_trace": False}
    assert client.post("/v1/recall", json=body).json()["block"]["text"] == "<memory>"
    ((name, how),) = engine.calls
    assert (name, how["text"], how["surface"], how["store_trace"]) == ("recall", "", Surface.START, False)


def test_pages_follow_each_other_and_end(client):
    first = client.get("/v1/memories", params={"limit": 2}).json()
    assert [m["id"] for m in first["memories"]] == ["mem_0001", "mem_0002"]
    second = client.get("/v1/memories", params={"limit": 2, "offset": first["next_offset"]}).json()
    assert [m["id"] for m in second["memories"]] == ["mem_0003"]
    assert second["next_offset"] is None


def test_filters_reach_the_engine(client, engine):
    client.get("/v1/memories?kind=fact&kind=todo&status=retired&source=cli&as_of_ms=7")
    where = engine.calls[0][1]["where"]
    assert (where.kinds, where.statuses, where.source) == (("fact", "todo"), ("retired",), "cli")
    assert where.as_of_ms == 7
    assert engine.calls[0][1]["scope"] == ScopeFilter.of(UNIVERSAL)
    client.get("/v1/memories?status=all")
    assert engine.calls[1][1]["where"].statuses is None
    client.get("/v1/memories")
    assert engine.calls[2][1]["where"].statuses == ("active",)


def test_a_folder_limits_what_is_listed(client, engine):
    client.get("/v1/memories", params={"cwd": FOLDER, "path": ["a.py", "b.py"]})
    assert engine.calls[0] == ("visible", {"cwd": FOLDER, "paths": ("a.py", "b.py")})
    assert engine.calls[1][1]["scope"] == ScopeFilter.of(UNIVERSAL)


def test_one_memory_its_history_change_and_end(client, engine):
    assert client.get("/v1/memories/mem_0002").json()["memory"]["id"] == "mem_0002"
    versions = client.get("/v1/memories/mem_0002", params={"versions": True}).json()["versions"]
    assert [v["content"] for v in versions] == ["Older.", "Statement 2."]
    changed = client.patch(
        "/v1/memories/mem_0002", json={"content": "New.", "pinned": False, "scope": "universal"}
    )
    assert changed.json()["memory"]["content"] == "New."
    how = next(how for name, how in engine.calls if name == "edit")
    assert (how["pinned"], how["importance"], how["scope"]) == (False, None, UNIVERSAL)
    gone = client.delete("/v1/memories/mem_0002", params={"reason": "wrong"})
    assert gone.json()["memory"]["id"] == "mem_0002"
    assert engine.calls[-1] == ("retire", {"id": "mem_0002", "reason": "wrong"})


def test_feedback_answers_with_the_memory(client, engine):
    answer = client.post("/v1/feedback", json={"id": "mem_0001", "useful": False}).json()
    assert (answer["memory"]["id"], answer["counted"], answer["verdicts"]) == ("mem_0001", True, [])
    assert ("feedback", {"id": "mem_0001", "useful": False}) in engine.calls


def test_traces_and_mute(client, engine):
    asked = {"session": "claude-code/s", "surface": "prompt", "limit": 3}
    lines = client.get("/v1/traces", params=asked).json()
    assert (lines["recalls"][0]["id"], lines["traces"], lines["replayed"]) == ("trc_1", [], [])
    assert lines["learned"] == []
    where, how = engine.calls[-1][1]["where"], engine.calls[-1][1]
    assert (where.sessions, where.surface) == (("claude-code/s",), Surface.PROMPT)
    assert (how["limit"], how["with_contents"]) == (4, False)
    whole = client.get("/v1/traces", params={**asked, "whole": True}).json()
    assert whole["traces"][0]["id"] == whole["recalls"][0]["id"] == "trc_1"
    assert engine.calls[-1][1]["with_contents"]
    assert [one["trace_id"] for one in whole["learned"]] == ["trc_1"]
    muted = client.patch("/v1/sessions/claude-code/s 1").json()
    assert muted == {"session": "claude-code/s 1", "muted": True}
    assert not client.patch("/v1/sessions/claude-code/s", json={"muted": False}).json()["muted"]


def test_upkeep(client, engine, tmp_path):
    assert client.post("/v1/projects", json={"cwd": FOLDER}).json() == {"files": [], "changes": []}
    found = client.get("/v1/transcripts", params={"cwd": FOLDER}).json()["transcripts"]
    assert [t["path"] for t in found] == ["/t/a.jsonl", "/t/b.jsonl"]
    assert client.post("/v1/transcripts", json={"cwd": FOLDER}).json()["added"] == 2
    assert client.post("/v1/transcripts", json={"cwd": FOLDER, "paths": ["/t/b.jsonl"]}).json()["added"] == 1
    assert engine.calls[-1] == ("backfill", {"paths": ["/t/b.jsonl"]})
    assert client.get("/v1/status").json()["store"]["memories_active"] == 4
    target = str(tmp_path / "copy.db")
    assert client.post("/v1/backups", json={"target": target}).status_code == 201
    assert engine.calls[-1] == ("backup", {"target": Path(target)})


def test_only_listed_transcripts_are_read(client, engine):
    body = problem(
        client.post("/v1/transcripts", json={"cwd": FOLDER, "paths": ["/etc/passwd"]}), 404, "not_found"
    )
    assert "/etc/passwd" in body["detail"]
    assert [name for name, _ in engine.calls] == ["transcripts"]


def test_handlers_run_away_from_the_event_loop(client, engine):
    client.get("/v1/status")
    assert engine.threads
    assert threading.get_ident() not in engine.threads


def test_the_daemon_may_bring_its_own_pool(engine):
    ran = []

    async def run(work):
        ran.append(1)
        return work()

    with TestClient(spoken_by(Speaker.USER, Starlette(routes=build_routes(engine, run=run)))) as made:
        assert made.get("/v1/status").status_code == 200
    assert ran == [1]


def test_what_a_turn_waits_for_has_its_own_way(engine):
    ran = []

    async def run(work):
        ran.append("behind")
        return work()

    async def run_ahead(work):
        ran.append("ahead")
        return work()

    routes = build_routes(engine, run=run, run_ahead=run_ahead)
    with TestClient(Starlette(routes=routes)) as made:
        assert made.post("/v1/injections", json={}).status_code == 422  # checked where it runs
        assert made.get("/v1/status").status_code == 200
    assert ran == ["ahead", "behind"]
    assert [one.path for one in ENDPOINTS if one.ahead] == ["/v1/injections"]


def test_a_name_in_a_path_that_is_too_long_is_told_by_its_own_name(engine):
    below = Starlette(routes=[Route("/v1/{rest:path}", Starlette(routes=build_routes(engine)))])
    with TestClient(below) as made:
        told = problem(made.get(f"/v1/memories/{'m' * 3000}"), 422, "invalid_input")
    assert told["detail"].startswith("`id` has 3000 characters")


@pytest.mark.parametrize(
    ("body", "parts"),
    [
        ({}, ["`content`", "missing"]),
        ({"content": ""}, ["`content`", "expected some words"]),
        ({"content": 5}, ["`content`", "5", "a text"]),
        ({"content": "x", "knd": "fact"}, ["`knd`", "kind"]),
        ({"content": "x", "scope": "planet"}, ["`scope`", "'planet'", "universal"]),
        ({"content": "x", "scope": "language"}, ["`scope`", "language:python"]),
        ({"content": "x", "cwd": "relative/path"}, ["`cwd`", "absolute path"]),
        ({"content": "x", "cwd": "/home\0/ana"}, ["`cwd`", "NUL"]),
        ({"content": "x", "cwd": "user: "}, ["`cwd`", "name of a user"]),
        ({"content": "x", "cwd": "user:a\0"}, ["`cwd`", "name of a user"]),
        ({"content": "x", "tier": "owner"}, ["`tier`"]),
        ({"content": "x", "session": {"host": "h"}}, ["`session.session_id`", "missing"]),
        (
            {"content": "x" * (ask.MAX_CONTENT_CHARS + 1)},
            ["`content`", "expected at most 1000000 characters"],
        ),
    ],
)
def test_a_wrong_request_says_what_is_wrong_and_stores_nothing(client, engine, body, parts):
    told = problem(client.post("/v1/memories", json=body), 422, "invalid_input")
    for part in parts:
        assert part in told["detail"] + told["hint"], told
    assert len(told["detail"]) < 300
    assert engine.calls == []


@pytest.mark.parametrize(
    "raw",
    [
        b"{",
        b"[1]",
        b'"x"',
        b"null",
        b'{"content": "\xff"}',
        b'{"content": "\\ud800"}',
        b"[" * 5000,
        b'{"content": "one", "content": "other"}',
    ],
)
def test_a_body_that_is_no_json_object_is_refused(client, engine, raw):
    answer = client.post("/v1/memories", content=raw, headers={"content-type": "application/json"})
    assert answer.status_code in {400, 422}
    assert answer.json()["code"] in {"invalid_payload", "invalid_input"}
    assert engine.calls == []


def test_a_name_that_stands_twice_is_refused_however_many_there_are(client, engine):
    names = ",".join(f'"n{number}":1' for number in range(60_000))
    raw = f'{{{names},"n59999":2}}'
    reply = client.post("/v1/recall", content=raw, headers={"content-type": "application/json"})
    assert (reply.status_code, reply.json()["detail"]) == (422, "`n59999` is given 2 times.")


def test_a_field_that_may_be_of_two_types_is_refused_in_one_sentence(client, engine):
    told = problem(client.post("/v1/memories", json={"content": "x", "when": {"a": 1}}), 422, "invalid_input")
    assert told["detail"] == "`when` is {'a': 1}; expected a text or a list."
    told = problem(client.get("/v1/memories?status=dead"), 422, "invalid_input")
    assert told["detail"].startswith("`status.0` is 'dead'; expected 'active', ")
    assert "'all'" in told["detail"]


def test_a_body_where_the_query_string_is_read_is_refused(client, engine):
    for method, path in (("GET", "/v1/memories"), ("DELETE", "/v1/memories/mem_1")):
        told = problem(client.request(method, path, json={"limit": 1}), 422, "invalid_input")
        assert "query string" in told["hint"]
    assert engine.calls == []


def test_another_media_type_is_refused(client, engine):
    answer = client.post("/v1/memories", content=b'{"content": "x"}', headers={"content-type": "text/plain"})
    assert "application/json" in problem(answer, 415, "unsupported_media_type")["hint"]
    assert engine.calls == []


def test_a_large_body_is_refused_by_its_header_and_by_its_bytes(client, engine):
    headers = {"content-type": "application/json"}
    problem(
        client.post("/v1/memories", content=b"x" * (MAX_BODY_BYTES + 1), headers=headers), 413, "too_large"
    )

    def stream():
        for _ in range(MAX_BODY_BYTES // 500_000 + 1):
            yield b" " * 500_000

    problem(client.post("/v1/memories", content=stream(), headers=headers), 413, "too_large")
    assert engine.calls == []


def test_the_longest_content_is_taken(client, engine):
    content = "🙂" * ask.MAX_CONTENT_CHARS
    body = json.dumps({"content": content}, ensure_ascii=False).encode()
    answer = client.post("/v1/memories", content=body, headers={"content-type": "application/json"})
    assert answer.status_code == 201
    assert engine.calls[0][1]["content"] == content


@pytest.mark.parametrize(
    ("query", "part"),
    [("limit=0", "`limit`"), ("limit=999", "500"), ("offset=-1", "`offset`"), ("limit=1&limit=2", "2 times"),
     ("colour=red", "`colour`"), ("status=lost", "`status"), ("as_of_ms=soon", "'soon'")],
)  # fmt: skip
def test_a_wrong_query_is_told(client, engine, query, part):
    assert part in problem(client.get(f"/v1/memories?{query}"), 422, "invalid_input")["detail"]
    assert engine.calls == []


def test_a_query_where_a_body_is_expected_is_told(client):
    assert "`content`" in problem(client.post("/v1/memories?content=x"), 422, "invalid_input")["detail"]


def test_an_edit_needs_something_to_change(client):
    assert (
        "at least one field"
        in problem(client.patch("/v1/memories/mem_1", json={}), 422, "invalid_input")["detail"]
    )


def test_what_is_not_there(client):
    told = problem(client.get("/v1/memories/mem_9"), 404, "not_found")
    assert told["hint"] == "`tacit list` shows the ids."
    problem(client.get("/v1/nothing/here"), 404, "no_such_path")
    wrong = client.delete("/v1/status")
    assert "GET" in problem(wrong, 405, "method_not_allowed")["hint"]
    assert wrong.headers["allow"] == "GET, HEAD"


def test_a_busy_store_says_when_to_come_back(client, engine):
    engine.raises = StoreBusy("Another writer holds the lock.", hint="Try again.")
    answer = client.get("/v1/status")
    problem(answer, 503, "store_busy")
    assert answer.headers["retry-after"] == "1"


def test_a_refusal_is_told(client, engine):
    engine.raises = RefusedByRedaction("A secret was found.", hint="Leave it out.")
    told = problem(client.post("/v1/memories", json={"content": "x"}), 403, "refused_by_redaction")
    assert told["detail"] == "A secret was found."
    assert told["hint"] == "Leave it out."


def test_an_error_of_a_newer_class_has_its_parents_status(client, engine):
    class OddInput(InvalidInput):
        code = "odd_input"

    engine.raises = OddInput("Odd.")
    problem(client.get("/v1/status"), 422, "odd_input")
    engine.raises = TacitError("Broken.")
    problem(client.get("/v1/status"), 500, "error")


def test_an_unexpected_error_shows_nothing_of_what_was_said(client, engine, caplog):
    engine.raises = RuntimeError("the secret text of a memory")
    with caplog.at_level(logging.INFO):
        told = problem(client.post("/v1/recall", json={"text": "private words"}), 500, "internal")
    assert "RuntimeError" in told["detail"]
    assert "secret" not in json.dumps(told)
    assert "POST /v1/recall failed: RuntimeError" in caplog.text
    assert "secret text" not in caplog.text
    assert "private words" not in caplog.text


def test_a_memory_with_a_lone_surrogate_or_a_nul_can_be_shown(client, engine):
    engine.stored = [memory(1, content="broken \ud800 and \x00 here")]
    assert client.get("/v1/memories/mem_0001").json()["memory"]["content"] == "broken \ud800 and \x00 here"


def test_a_value_that_is_no_json_is_an_internal_error(client, engine):
    engine.stored = [memory(1)]
    object.__setattr__(engine.stored[0], "importance", float("nan"))
    problem(client.get("/v1/memories/mem_0001"), 500, "internal")


def test_every_endpoint_has_a_route_and_another_method_does_not(client):
    served = {(e.method, e.path) for e in ENDPOINTS}
    assert len(served) == len(ENDPOINTS)
    for endpoint in ENDPOINTS:
        path = endpoint.path.replace("{id}", "x").replace("{host}", "h").replace("{session_id}", "s")
        problem(client.request("OPTIONS", path), 405, "method_not_allowed")
