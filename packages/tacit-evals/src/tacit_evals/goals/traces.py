"""Recalls of an agent's sessions, asked again in the playground, and the rows of their traces.

An agent of one's own sends the events of its sessions to the daemon; every trace is then asked again with the request that the page's
"Try in the playground" sends. Out: how many give the same memories in the same order, and how many rows have words and a reason.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any
from urllib.parse import quote

from tacit_evals.goals.goal import Goal, counted
from tacit_evals.goals.home import Place, place, statements
from tacit_evals.goals.search import searches

TRACES = 200
LEAST = 0.99
SEED = 23
TURNS = 5
PROPOSALS = (
    "All tests pass. Shall I commit this and open a pull request?",
    "I would write the migration next, with the new column and its index. Should I?",
    "The import fails with a connection error. Want me to retry with a longer timeout?",
    "Done. The page shows the new prices.",
    "I can write the tests for the decoder first, if you like.",
    "Shall I add the dependency and update the lock file?",
)
ANSWERS = ("yup", "yes, go on", "ok do it", "thanks, looks good", "sure", "no, leave it")
CALLS = (
    {"tool": "bash", "command": "git commit -m 'Add the refund page'"},
    {"tool": "bash", "command": "cargo clippy --all-targets"},
    {"tool": "bash", "command": "uv run pytest -n 4"},
    {"tool": "bash", "command": "pnpm prisma migrate dev"},
    {"tool": "edit", "paths": ["server/billing/router.ts"]},
    {"tool": "edit", "paths": ["messages/nl.json", "messages/en.json"]},
    {"tool": "read", "paths": ["src/decoder/frame.rs"]},
)
ERRORS = (
    "error: PrismaClient is unable to run in this browser environment",
    "x509: certificate signed by unknown authority",
    "Error: too many open files (os error 24)",
    "lxml.etree.XMLSyntaxError: Extra content at the end of the document, line 3",
    "PG::UniqueViolation: duplicate key value violates unique constraint on postings",
)

Trace = dict[str, Any]


def work(here: Place, number: int, chance: random.Random, prompts: Sequence[str]) -> None:
    """One session: its start, and turns of a message, a prompt, a call of a tool that may fail."""
    session = f"s{number}"
    here.event("start", session=session, key=f"{session}-start")
    for turn in range(TURNS):
        key = f"{session}-{turn}"
        accepts = chance.random() < 0.4
        here.event("message_end", session=session, text=chance.choice(PROPOSALS), key=f"{key}-message")
        prompt = chance.choice(ANSWERS if accepts else prompts)
        here.event("prompt", session=session, text=prompt, key=f"{key}-prompt")
        call = {**chance.choice(CALLS), "call_id": key}
        here.event("tool_start", session=session, **call, key=f"{key}-call")
        if chance.random() < 0.5:
            error = chance.choice(ERRORS)
            here.event("tool_failed", session=session, **call, error=error, key=f"{key}-failure")


def question_of(trace: Trace, cwd: str) -> dict[str, Any]:
    """What the playground sends for a trace that it was opened with."""
    host, _, session = trace["session"].partition("/")
    dedupe = (stage for stage in trace["stages"] if stage["stage"] == "dedupe")
    held = [drop["memory_id"] for stage in dedupe for drop in stage["drops"]]
    return {
        **(trace["asked"] or {"text": trace["text"]}),
        "cwd": cwd,
        "surface": trace["surface"],
        "preset": None,
        "store_trace": False,
        "held": held,
        "session": {"host": host, "session_id": session},
    }


def differences(trace: Trace, again: Trace) -> list[str]:
    """What the second answer lacks or adds, or that only its order differs; empty = the same pack."""
    first, second = trace["injected"], again["injected"]
    lacks = [f"lacks {name}" for name in first if name not in second]
    adds = [f"adds {name}" for name in second if name not in first]
    moved = ["another order"] if not lacks and not adds and first != second else []
    return lacks + adds + moved


def incomplete_rows(trace: Trace) -> tuple[int, list[str]]:
    """How many memories a trace names, and which rows of the page lack words or a reason."""
    reasons = {drop["memory_id"]: drop["reason"] for stage in trace["stages"] for drop in stage["drops"]}
    words = {one["memory_id"]: one["content"] for one in trace["candidates"]}
    names = {name for name in (*trace["injected"], *words, *reasons) if name}
    given = {*trace["injected"]}
    faults = [f"{name} has no words" for name in sorted(names) if not words.get(name, "").strip()]
    faults += [
        f"{name} has no reason"
        for name in sorted(names - given)
        if not (reasons.get(name) or trace["silence"])
    ]
    return len(names), faults


def _traces(here: Place) -> list[Trace]:
    """All traces, the newest first; the daemon stores them shortly after it answers."""
    before, found = -1, list[Trace]()
    while len(found) != before:
        before, found = len(found), []
        time.sleep(1.0)
        cursor = ""
        while cursor is not None:
            part = here.api("GET", f"/v1/traces?limit=200{cursor and f'&cursor={quote(cursor)}'}")
            found += part["traces"]
            cursor = part["next_cursor"]
    return found


def measure(traces: int = TRACES) -> list[Goal]:
    """Record sessions until there are `traces` recalls with a question; ask each again."""
    with place() as here:
        here.fill()
        chance = random.Random(SEED)
        prompts = [one.query for one in searches()] + [one.content for one in statements()[::9]]
        for number in range(traces // (TURNS * 2)):
            work(here, number, chance, prompts)
        recorded = _traces(here)
        asked = [one for one in recorded if one["surface"] != "start"][:traces]
        pairs = [
            (one, here.api("POST", "/v1/recall", question_of(one, str(here.work)))["trace"]) for one in asked
        ]
    return [_replayed(pairs), _rows(recorded)]


def _replayed(pairs: Sequence[tuple[Trace, Trace]]) -> Goal:
    surfaces = Counter(trace["surface"] for trace, _ in pairs)
    with_memories = sum(bool(trace["injected"]) for trace, _ in pairs)
    faults = [
        f"{trace['surface']}, {trace['text'][:80]!r}: {'; '.join(found)}"
        for trace, again in pairs
        if (found := differences(trace, again))
    ]
    listed = ", ".join(f"{count} {surface}" for surface, count in surfaces.most_common())
    return counted(
        "traces replayed in the playground with the same pack",
        len(pairs) - len(faults),
        len(pairs),
        target=f">= {LEAST:.0%} of {TRACES}",
        least=LEAST,
        more=f"{listed}; {with_memories} with memories",
        shown_by=("python -m tacit_evals.goals traces",),
        faults=faults,
    )


def _rows(traces: Iterable[Trace]) -> Goal:
    rows, faults = 0, list[str]()
    starts = 0
    for trace in traces:
        count, found = incomplete_rows(trace)
        rows += count
        starts += count if trace["surface"] == "start" else 0
        faults += [f"{trace['surface']} {trace['id']}: {fault}" for fault in found]
    return counted(
        "trace rows with words and a reason",
        rows - len({fault.rpartition(" has no")[0] for fault in faults}),
        rows,
        target="all",
        least=1.0,
        more=f"{starts} of them in starts",
        shown_by=("python -m tacit_evals.goals traces",),
        faults=faults,
    )
