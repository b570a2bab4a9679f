"""Work of earlier days in the store of a live machine: stated and told to hooks at the dates that a clock is set to.

No daemon may run meanwhile; the next hook starts one.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from e2e.drivers.machine import Machine
from samples import DAY_MS
from tacit.app.engine import Engine
from tacit.app.wiring import open_engine
from tacit.providers.clock import FakeClock

FIRST_DAY = 200


class Past:
    """A machine's engine whose clock goes from day to day, up to the present."""

    def __init__(self, machine: Machine, engine: Engine, clock: FakeClock, now_ms: int) -> None:
        self._machine, self._engine, self._clock, self._now_ms = machine, engine, clock, now_ms

    def state(self, content: str, *, days_ago: float, kind: str = "fact") -> None:
        """State a memory."""
        self._clock.set(self._now_ms - int(days_ago * DAY_MS))
        self._engine.remember(content, kind=kind, cwd=str(self._machine.project), source="cli")

    def hook(self, event: str, *, days_ago: float, session: str, **fields: Any) -> str:
        """Send an event of Claude Code; the reply."""
        self._clock.set(self._now_ms - int(days_ago * DAY_MS))
        payload = {
            "hook_event_name": event,
            "session_id": session,
            "cwd": str(self._machine.project),
            **fields,
        }
        reply = self._engine.hook("claude-code", payload, deadline_ms=20_000)
        self._engine.flush()
        return json.loads(reply).get("hookSpecificOutput", {}).get("additionalContext", "") if reply else ""


@contextmanager
def past_of(machine: Machine) -> Iterator[Past]:
    """The past of `machine`, which has no daemon yet; what comes later must be older by fewer days."""
    now_ms = time.time_ns() // 1_000_000
    clock = FakeClock(now_ms=now_ms - FIRST_DAY * DAY_MS)
    engine = open_engine(machine.home.root, clock=clock)
    try:
        yield Past(machine, engine, clock, now_ms)
    finally:
        engine.close()
