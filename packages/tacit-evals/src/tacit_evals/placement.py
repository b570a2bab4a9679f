"""What a session's context looks like over its whole length. In: recorded sessions and a pool. Out: a scorecard.

Every session is replayed through the engine as a host that keeps nothing: each request is built anew from the prompts and
the bytes that the engine says it handed over for them. Counted over all sessions:

    repeats without cause   memories handed over again, unchanged, in one epoch
    within budget           blocks no larger than the surface's budget, as counted exactly where the tokenizer is installed
    within cap              blocks no longer than the host's cap
    prefix reuse            characters of a request that begin the next one / characters of that request

An epoch ends with a compaction, which is put in after every `COMPACT_AFTER` prompts; what follows it begins anew.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tacit.app.engine import Engine
from tacit.app.values import SignalAnswer
from tacit.app.wiring import open_engine
from tacit.config.settings import RecallSettings
from tacit.errors import InvalidInput
from tacit.hosts.opencode import OpenCode
from tacit.model.pack import Block
from tacit.model.session import SessionKey
from tacit.model.signal import Compacting, MessageEnded, PromptSubmitted, SessionEnded, SessionStarted, Signal
from tacit.providers.clock import FakeClock
from tacit.providers.tokens import ExactCounter
from tacit_evals.data import PoolRow, RecordedSession, folders_of, load_pool, load_sessions
from tacit_evals.running import SuiteRun
from tacit_evals.scorecard import Part, Scorecard

COMPACT_AFTER = 15
DEADLINE_MS = 60_000.0
MINUTE_MS = 60_000
COLUMNS = (
    "sessions", "prompts", "blocks", "repeats_without_cause", "within_budget", "within_cap", "prefix_reuse", "least_prefix_reuse",
    "tokens_per_prompt",
)  # fmt: skip
HOST = "opencode"


@dataclass(slots=True)
class Tally:
    """What was counted."""

    sessions: int = 0
    prompts: int = 0
    blocks: int = 0
    tokens: int = 0
    repeats: int = 0
    over_budget: int = 0
    over_cap: int = 0
    kept_chars: int = 0
    asked_chars: int = 0
    least_reuse: float = 1.0

    def figures(self) -> dict[str, float | None]:
        """The figures of the scorecard."""
        return {
            "sessions": float(self.sessions),
            "prompts": float(self.prompts),
            "blocks": float(self.blocks),
            "repeats_without_cause": float(self.repeats),
            "within_budget": 1 - self.over_budget / self.blocks if self.blocks else None,
            "within_cap": 1 - self.over_cap / self.blocks if self.blocks else None,
            "prefix_reuse": self.kept_chars / self.asked_chars if self.asked_chars else None,
            "least_prefix_reuse": self.least_reuse if self.asked_chars else None,
            "tokens_per_prompt": self.tokens / self.prompts if self.prompts else None,
        }

    def add(self, other: Tally) -> None:
        """Take in what another tally counted."""
        for name in (
            "sessions",
            "prompts",
            "blocks",
            "tokens",
            "repeats",
            "over_budget",
            "over_cap",
            "kept_chars",
            "asked_chars",
        ):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.least_reuse = min(self.least_reuse, other.least_reuse)


def run_placement(run: SuiteRun) -> Scorecard:
    """Replay every file of sessions below the run's folder."""
    whole = Tally()
    parts: list[Part] = []
    for folder in folders_of("placement", run.data):
        for path in sorted(folder.glob("*.jsonl")):
            sessions = load_sessions(path)
            pool = _pool(path.stem, run)
            if pool is None:
                run.say(f"{path}: no pool of the project {path.stem!r}, left out")
                continue
            run.say(f"{path.stem}: {len(sessions)} sessions, {len(pool)} memories")
            tally = replay(sessions, pool, run)
            whole.add(tally)
            parts.append(Part(name=path.stem, metrics=tally.figures()))
    if not parts:
        raise InvalidInput(
            f"No sessions of {run.data} have a pool of memories.",
            hint="Put it beside them as inject/<project>/memories.jsonl, or give it with --pool.",
        )
    return Scorecard(
        suite="placement",
        dataset=str(run.data),
        settings=run.described() | {"host": HOST, "compaction after prompts": COMPACT_AFTER},
        total=Part(name="all", metrics=whole.figures()),
        parts=tuple(parts) if len(parts) > 1 else (),
        columns=COLUMNS,
    )


def _pool(project: str, run: SuiteRun) -> tuple[PoolRow, ...] | None:
    pool = run.pool
    if pool is not None:
        return load_pool(pool / "memories.jsonl" if pool.is_dir() else pool)
    for root in (run.data, *run.data.absolute().parents[:3]):
        path = root / "inject" / project / "memories.jsonl"
        if path.is_file():
            return load_pool(path)
    return None


def replay(sessions: Sequence[RecordedSession], pool: Sequence[PoolRow], run: SuiteRun) -> Tally:
    """Replay `sessions` of one project, one after the other, over a fresh store that holds `pool`."""
    tally = Tally()
    with tempfile.TemporaryDirectory(prefix="tacit-eval-") as folder:
        root = Path(folder) / "project"
        (root / ".git" / "objects").mkdir(parents=True)
        clock = FakeClock(now_ms=min(session.at_ms for session in sessions))
        engine = open_engine(
            Path(folder) / "home",
            overrides={"capture": {"enabled": False, "rule_files": False}},
            clock=clock,
            embedder=run.embedder,
        )
        try:
            for row in pool:
                engine.remember(
                    row.content, kind=row.kind, cwd=os.fspath(root), files=row.files, source="evaluation"
                )
            for session in sorted(sessions, key=lambda session: (session.at_ms, session.id)):
                Replay(engine, session, clock=clock, cwd=os.fspath(root), tally=tally).run()
        finally:
            engine.close()
    return tally


class Replay:
    """One session on its way through the engine."""

    def __init__(
        self, engine: Engine, session: RecordedSession, *, clock: FakeClock, cwd: str, tally: Tally
    ) -> None:
        self._engine = engine
        self._session = session
        self._clock = clock
        self._cwd = cwd
        self._tally = tally
        self._key = SessionKey(host=HOST, session_id=session.id)
        self._settings: RecallSettings = engine.settings.recall
        self._capabilities = OpenCode().capabilities
        self._counter = ExactCounter()
        self._seen: dict[str, None] = {}
        self._system = ""
        self._messages: list[tuple[str, str, str]] = []
        self._request = ""

    def run(self) -> None:
        """Replay the whole session."""
        self._tally.sessions += 1
        self._begin("startup", 0)
        for number, exchange in enumerate(self._session.exchanges, start=1):
            self._clock.advance(MINUTE_MS)
            self._prompt(f"m{number}", exchange.prompt)
            self._tell(
                MessageEnded(
                    session=self._key,
                    key=f"e{number}",
                    at_ms=self._now(),
                    cwd=self._cwd,
                    text=exchange.answer,
                )
            )
            self._messages[-1] = (*self._messages[-1][:2], exchange.answer)
            if number % COMPACT_AFTER == 0:
                self._tell(Compacting(session=self._key, key=f"c{number}", at_ms=self._now(), cwd=self._cwd))
                self._begin("compact", number)
        self._tell(SessionEnded(session=self._key, key="end", at_ms=self._now(), cwd=self._cwd))

    def _now(self) -> int:
        return self._clock.now_ms()

    def _tell(self, signal: Signal) -> SignalAnswer:
        return self._engine.handle(signal, capabilities=self._capabilities, deadline_ms=DEADLINE_MS)

    def _begin(self, source: str, number: int) -> None:
        """A session's beginning, or what follows a compaction: nothing handed over before is in context any more."""
        self._seen.clear()
        self._messages.clear()
        self._request = ""
        signal = SessionStarted(
            session=self._key,
            key=f"s{number}",
            at_ms=self._now(),
            cwd=self._cwd,
            source="compact" if source == "compact" else "startup",
        )
        block = self._tell(signal).block
        self._judge(block)
        self._system = block.text

    def _prompt(self, message: str, text: str) -> None:
        signal = PromptSubmitted(
            session=self._key, key=message, at_ms=self._now(), cwd=self._cwd, text=text, message_id=message
        )
        block = self._tell(signal).block
        self._tally.prompts += 1
        self._tally.tokens += block.tokens
        self._judge(block)
        self._messages.append((message, text, ""))
        self._asked()

    def _judge(self, block: Block) -> None:
        if block.empty:
            return
        self._tally.blocks += 1
        budget = int(getattr(self._settings.budgets, block.surface.value))
        self._tally.over_budget += self._counter.count(block.text) > budget or block.tokens > budget
        self._tally.over_cap += len(block.text) > self._capabilities.cap_chars
        self._tally.repeats += sum(memory in self._seen for memory in block.memory_ids)
        self._seen.update(dict.fromkeys(block.memory_ids))

    def _asked(self) -> None:
        """The request that the host sends now, from the bytes that the engine kept; compared with the one before."""
        names = [name for name, _, _ in self._messages]
        answer = self._engine.hook(
            HOST,
            {"event": "replay", "sessionID": self._session.id, "messageIDs": ["start", *names]},
            deadline_ms=DEADLINE_MS,
        )
        texts: dict[str, str] = json.loads(answer)["texts"] if answer else {}
        request = texts.get("start", "") + "".join(
            f"\n[user] {text}\n{texts.get(name, '')}\n[agent] {answered}"
            for name, text, answered in self._messages
        )
        # The newest message has no answer yet: it ends where the answer will begin.
        before, self._request = self._request, request
        if before:
            same = common_prefix(before, request)
            self._tally.kept_chars += same
            self._tally.asked_chars += len(before)
            self._tally.least_reuse = min(self._tally.least_reuse, same / len(before))


def common_prefix(first: str, second: str) -> int:
    """How many characters two texts begin with alike."""
    if second.startswith(first):
        return len(first)
    pairs = zip(first, second, strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(first), len(second)))
