"""Whether what we inject comes back as a memory. In: whole sessions. Out: a scorecard. Nothing is fitted.

A store is given rules that nobody says in the sessions. Then each session is replayed with injection on, and the transcript is
written as a host writes it and as agents and users treat it: the block in a reminder and as an attachment, the agent quoting it in
its answer and in a commit, a tool printing it, the user quoting it back. What is captured must rest on what user and agent said of
their own in that session.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from tacit.app.engine import Engine
from tacit.app.wiring import open_engine
from tacit.model.memory import Memory
from tacit.ports.models import Embedder
from tacit.ports.store import MemoryFilter
from tacit_evals.data.recognise import folders_of
from tacit_evals.data.sessions import RecordedSession, load_sessions
from tacit_evals.report.scorecard import Listing, Part, Scorecard
from tacit_evals.suites.running import Run

SESSIONS = 20
MOST_PROMPTS = 12
RULES = (
    ("Always run `make quartzlint` before every commit.", "preference", "commit"),
    ("Never push to the branch zirconium without asking.", "anti_pattern", "push"),
    ("We decided to keep the cache in obsidianstore, not in memory.", "decision", "always"),
    ("Write the tests of a change in the folder beryltests.", "preference", "always"),
    ("From now on answer in whole sentences about topazplan.", "correction", "always"),
    ("The file garnet.toml holds the limits of the queue.", "file_context", "always"),
)
"""What the store knows beforehand: each with a word that no session holds."""
_HOST = "claude-code"
_LINE = re.compile(r"^- (?:\[[^\]]*\] )?(?P<said>.+?)(?: \([^()]*\))?$", re.MULTILINE)
_SPACES = re.compile(r"\s+")


@dataclass(slots=True, kw_only=True)
class Replay:
    """What one replay of sessions did.

    Attributes:
        injected: blocks handed over.
        captured: memories that were there afterwards and not before.
        ours: those whose evidence nobody said, with why.
    """

    injected: int = 0
    captured: int = 0
    ours: list[tuple[Memory, str]] = field(default_factory=list[tuple[Memory, str]])


def run_loop(run: Run) -> Scorecard:
    """Replay the busiest sessions of every folder below the run's folder."""
    sessions = [
        session
        for folder in folders_of("loop", run.data)
        for file in sorted(folder.glob("*.jsonl"))
        for session in load_sessions(file)
    ]
    chosen = busiest(sessions, SESSIONS)
    run.say(f"{len(chosen)} of {len(sessions)} sessions, each with its blocks echoed back")
    replay = replay_sessions(chosen, embedder=run.embedder)
    return Scorecard(
        suite="loop",
        dataset=str(run.data),
        settings={"embedder": str(run.embedder.identity), "rules": len(RULES)},
        total=Part(
            name="all",
            metrics={
                "from_our_text": float(len(replay.ours)),
                "sessions": float(len(chosen)),
                "blocks": float(replay.injected),
                "captured": float(replay.captured),
            },
        ),
        columns=("from_our_text", "sessions", "blocks", "captured"),
        listings=(
            Listing(
                title="memories from our own text",
                counts=Counter(why for _, why in replay.ours),
                columns=("kind", "content", "evidence", "why"),
                rows=[(m.kind, m.content, m.provenance.span, why) for m, why in replay.ours],
            ),
        ),
    )


def busiest(sessions: Sequence[RecordedSession], count: int) -> list[RecordedSession]:
    """The `count` sessions with the most prompts, in the order given; ties by id."""
    chosen = sorted(sessions, key=lambda session: (-len(session.exchanges), session.id))[:count]
    return [session for session in sessions if session in chosen]


def replay_sessions(sessions: Sequence[RecordedSession], *, embedder: Embedder) -> Replay:
    """Replay `sessions` in one throw-away home and judge what was captured."""
    replay = Replay()
    with tempfile.TemporaryDirectory(prefix="tacit-loop-") as place:
        project = Path(place) / "project"
        project.mkdir()
        engine = open_engine(Path(place) / "home", embedder=embedder)
        try:
            for content, kind, when in RULES:
                engine.remember(content, kind=kind, when=when, cwd=str(project))
            for number, session in enumerate(sessions):
                _replay(engine, session, project, number, replay)
        finally:
            engine.close()
    return replay


def _replay(engine: Engine, session: RecordedSession, project: Path, number: int, replay: Replay) -> None:
    name = f"loop-{number}"
    before = {memory.id: memory for memory in _all(engine)}
    blocks: list[str] = []

    def send(event: str, **fields: object) -> str:
        payload = {"session_id": name, "cwd": str(project), "hook_event_name": event, **fields}
        return _context(engine.hook(_HOST, payload, deadline_ms=5000))

    lines = [_injected("SessionStart", send("SessionStart", source="startup"), blocks)]
    human: list[str] = []
    for exchange in session.exchanges[:MOST_PROMPTS]:
        block = send("UserPromptSubmit", prompt=exchange.prompt)
        human += [exchange.prompt, exchange.answer]
        lines += [_said("user", exchange.prompt), _injected("UserPromptSubmit", block, blocks)]
        lines += list(_echoes(blocks, exchange.answer, len(lines)))
        send("Stop", last_assistant_message=exchange.answer[-2000:])
    transcript = project / f"{name}.jsonl"
    written = (
        json.dumps(_numbered(line, at, name, project))
        for at, line in enumerate(line for line in lines if line)
    )
    transcript.write_text("\n".join(written) + "\n", "utf-8")
    send("SessionEnd", reason="exit", transcript_path=str(transcript))
    engine.flush()
    engine.learning.capture_pending()
    replay.injected += sum(bool(block) for block in blocks)
    for memory in _all(engine):
        old = before.get(memory.id)
        if old is None:
            replay.captured += 1
        # A count of sessions or uses is no new evidence.
        if old is None or replace(old, shown_count=memory.shown_count, use_count=memory.use_count) != memory:
            why = _not_said(memory, old, human, blocks)
            if why:
                replay.ours.append((memory, why))


def _all(engine: Engine) -> tuple[Memory, ...]:
    return engine.list_memories(MemoryFilter(statuses=None), limit=10_000)


def _context(reply: str) -> str:
    """The text that a reply hands to the model."""
    try:
        answer = json.loads(reply) if reply else {}
    except ValueError:
        return reply
    return (
        str(answer.get("hookSpecificOutput", {}).get("additionalContext", ""))
        if isinstance(answer, dict)
        else ""
    )


def _said(role: str, content: object) -> dict[str, object]:
    return {"type": role, "message": {"role": role, "content": content}}


def _injected(event: str, block: str, blocks: list[str]) -> dict[str, object]:
    blocks.append(block)
    if not block:
        return {}
    reminder = f"<system-reminder>\n{event} hook additional context: {block}\n</system-reminder>"
    if len(blocks) % 2:
        return {"type": "attachment", "attachment": {"type": "hook_additional_context", "content": [block]}}
    return _said("user", [{"type": "text", "text": reminder}])


def _echoes(blocks: Sequence[str], answer: str, number: int) -> Iterator[dict[str, object]]:
    """What agents, tools and users do with what was injected."""
    statements = [match["said"] for block in blocks[-2:] for match in _LINE.finditer(block)]
    if not statements:
        yield _said("assistant", [{"type": "text", "text": answer}])
        return
    first, listing = statements[number % len(statements)], "\n".join(f"- {line}" for line in statements)
    yield _said(
        "assistant", [{"type": "text", "text": f"As the notes say:\n{listing}\n\n{first}\n\n{answer}"}]
    )
    key = f"t{number}"
    run = {"command": f'git commit -m "{first[:60]}"'}
    yield _said("assistant", [{"type": "tool_use", "id": key, "name": "Bash", "input": run}])
    output = f"{blocks[-1] or listing}\n{listing}"
    yield _said("user", [{"type": "tool_result", "tool_use_id": key, "content": output, "is_error": False}])
    sort = number % 4
    if sort == 0:
        yield _said("user", f"> {first}\n\nok, go on")
    elif sort == 1:
        yield _said("user", f"{blocks[-1] or listing}\n\nwhat does this mean?")
    elif sort == 2:
        yield _said("user", f'You wrote "{first}" above. Why?')
    else:
        yield _said("user", f"```\n{listing}\n```\nwhere does that come from?")


def _numbered(line: dict[str, object], number: int, session: str, project: Path) -> dict[str, object]:
    at = f"2026-01-{1 + number // 1000 % 28:02d}T{number // 60 % 24:02d}:{number % 60:02d}:00.000Z"
    return {**line, "uuid": f"{session}-{number}", "sessionId": session, "cwd": str(project), "timestamp": at}


def _not_said(memory: Memory, old: Memory | None, human: Sequence[str], blocks: Sequence[str]) -> str:
    """Why the evidence of a new or changed memory is not what user and agent said of their own; "" = it is."""
    if memory.kind in ("digest", "todo"):
        evidence = [
            line.partition(": ")[2]
            for line in memory.content.splitlines()
            if line.startswith(("dec", "next"))
        ]
    else:
        spans = {memory.provenance.span, *memory.evidence}
        evidence = sorted(spans - ({old.provenance.span, *old.evidence} if old else set()))
        if old is not None and not evidence:
            if memory.frequency == old.frequency:
                return ""
            evidence = [old.provenance.span]  # stated again: then somebody said it here too
    spoken, ours = _plain(" ".join(human)), _plain(" ".join(blocks))
    for span in evidence:
        words = _plain(span)
        if words and words not in spoken and (words in ours or old is not None):
            return "words of a block" if words in ours else "counted again without new words"
        if words and any(mark in words for mark in _MARKS) and words not in spoken:
            return "a rule that nobody said"
    return ""


_MARKS = ("quartzlint", "zirconium", "obsidianstore", "beryltests", "topazplan", "garnet.toml")


def _plain(text: str) -> str:
    return _SPACES.sub(" ", re.sub(r"[`*_>\"]", "", text)).strip(" .").casefold()
