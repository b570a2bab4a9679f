"""Captures in child processes, each killed at another step, and prints what is in the store after a restart.

Run as a program with a folder. Prints one JSON object: the steps of an undisturbed run, the state it leaves, and for every
step the state after a child was killed there and another one went on.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

from tacit.backends.sqlite import open_sqlite_store
from tacit.capture.pipeline import CapturePipeline
from tacit.capture.write_up.session_writer import WriterAccess
from tacit.config.home import Home
from tacit.config.settings import CaptureSettings, PrivacySettings, WriterSettings
from tacit.model.changes import Draft
from tacit.model.kinds import KindRegistry
from tacit.model.memory import Provenance, TrustTier
from tacit.model.scope import project_scope
from tacit.model.session import SessionKey
from tacit.ports.store import Handover, MemoryFilter, ProjectRecord
from tacit.providers.clock import FakeClock
from tacit.providers.embedding import FakeEmbedder
from tacit.providers.tokens import FakeTokenCounter
from tacit.providers.writing.fake import FakeWriter
from tacit.safety.redact import Redactor

NOW = 1_795_169_810_000
SCOPE = project_scope("p")
KEY = SessionKey(host="claude-code", session_id="s1")


def line(kind, content, minute):
    role = "assistant" if kind == "assistant" else "user"
    message = {"role": role, "content": content}
    at = f"2026-11-20T10:{minute:02d}:00Z"
    return json.dumps({"type": kind, "message": message, "timestamp": at, "cwd": "/w"}) + "\n"


def call(minute, name, given, error=""):
    key = f"t{minute}"
    result = {"type": "tool_result", "tool_use_id": key, "content": error or "ok", "is_error": bool(error)}
    used = {"type": "tool_use", "id": key, "name": name, "input": given}
    return line("assistant", [used], minute) + line("user", [result], minute)


FIRST = (
    line("user", "Please wire the queue worker. From now on, name workers after their queue.", 1)
    + call(2, "Bash", {"command": "make check"}, "Error: cannot find module yaml")
    + line(
        "user",
        "We decided to use Postgres for the job queue. Worth knowing: the worker pool restarts every night at two.",
        3,
    )
)
MORE = (
    call(4, "Bash", {"command": "pip install pyyaml"})
    + call(5, "Bash", {"command": "make check"})
    + line("user", "No, that is wrong: never retry a payment without asking.", 6)
    + call(7, "TodoWrite", {"todos": [{"content": "Write the migration", "status": "pending"}]})
)


def operations(home, pipeline, store):
    """What happens, in order; each one is acknowledged once it has returned."""
    transcript = home / "session.jsonl"

    def hand_over(name, text):
        transcript.write_text(text)
        payload = json.dumps({"transcript_path": str(transcript), "cwd": "/w", "ended": True})
        store.hand_over(Handover(key=name, session=KEY, payload=payload, at_ms=NOW))

    def remember():
        told = Provenance(tier=TrustTier.USER, source="cli", span="Run make lint before every commit.")
        pipeline.store_drafts(
            [
                Draft(
                    content="Run make lint before every commit.",
                    kind="preference",
                    scope=SCOPE,
                    provenance=told,
                    at_ms=NOW,
                )
            ]
        )

    return (
        ("handed over", lambda: hand_over("k1", FIRST)),
        ("captured", pipeline.capture_pending),
        ("said", lambda: pipeline.capture_prompt("Remember that we always deploy from main.", scope=SCOPE, session=KEY, turn=3)),
        ("handed over again", lambda: hand_over("k2", FIRST + MORE)),
        ("captured again", pipeline.capture_pending),
        ("written up", pipeline.session_writer.write_up_next),
        ("remembered", remember),
    )  # fmt: skip


def run(home, kill_at=0):
    """Do what is not acknowledged yet; die at step `kill_at` (from 1; 0 = never). Returns the names of the steps."""
    steps = []

    def step(name):
        steps.append(name)
        if len(steps) == kill_at:
            os.kill(os.getpid(), signal.SIGKILL)

    clock = FakeClock(now_ms=NOW)
    acknowledged = home / "acknowledged"
    done = acknowledged.read_text().splitlines() if acknowledged.exists() else []
    store = open_sqlite_store(Home(home), clock=clock, step=step)
    pipeline = CapturePipeline(
        store=store,
        embedder=FakeEmbedder(),
        tokens=FakeTokenCounter(),
        clock=clock,
        redactor=Redactor(PrivacySettings()),
        kinds=KindRegistry(),
        settings=CaptureSettings(),
        identify=lambda cwd: ProjectRecord(id="p", name="p", root=cwd),
        step=step,
        model=WriterAccess(
            writer=FakeWriter(),
            prepare=str,
            tokens=FakeTokenCounter(),
            settings=WriterSettings(provider="fake", least_chars=0),
            vouches=lambda *_: "",
        ),
    )
    for name, work in operations(home, pipeline, store):
        clock.advance(1000)
        if name not in done:
            work()
            with acknowledged.open("a") as file:
                file.write(name + "\n")
    # What was handed over before the end is captured at the next start, whoever asked for it.
    pipeline.capture_pending()
    while pipeline.session_writer.write_up_next() is not None:
        pass
    store.close()
    return steps


def state(home):
    """What the store holds, without what differs by chance (ids, times)."""
    store = open_sqlite_store(Home(home), clock=FakeClock(now_ms=NOW))
    memories = store.list_memories(MemoryFilter(statuses=None), scope=store.scopes(), limit=100)
    found = {
        "memories": sorted(
            [
                m.kind,
                m.content,
                m.status,
                m.frequency,
                round(m.importance, 3),
                list(m.evidence),
                m.error_signature,
            ]
            for m in memories
        ),
        "vectors missing": store.stats().vectors_missing,
        "pending": len(store.pending_handovers(limit=10)),
        "waiting": list(store.value_names("capture/unread/")),
        "failures": store.get_value(f"capture/failures/{SCOPE}") or "",
        "problems": list(store.check()),
        "acknowledged": (home / "acknowledged").read_text().splitlines(),
    }
    store.close()
    return found


def in_child(work):
    """Run `work` in a forked child; return how it ended: a signal's number, negative, or its exit code."""
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - the child's edge: the parent sees the code
            sys.stderr.write(f"{error!r}\n")
            os._exit(3)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    return -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


def main(root):
    """Every case; see the top."""
    calm = root / "calm"
    calm.mkdir()
    steps = run(calm)
    killed = []
    for number in range(1, len(steps) + 1):
        home = root / f"case{number}"
        home.mkdir()
        died = in_child(lambda home=home, number=number: run(home, number))
        went_on = in_child(lambda home=home: run(home))
        killed.append({"step": steps[number - 1], "died": died, "went on": went_on, "state": state(home)})
    sys.stdout.write(json.dumps({"steps": steps, "state": state(calm), "killed": killed}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
