"""What the scenarios of `scoped` share: a machine with the preset, memories of any age, a project's language, questions.

Memories of an earlier day are stored by the engine with a clock of that day, before the daemon starts.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from e2e.drivers.machine import Machine
from e2e.test_e2e_sensitivity import mcp
from presets.driving import track
from samples import DAY_MS
from tacit.app.wiring import open_engine
from tacit.model.scope import Scope
from tacit.providers.clock import FakeClock
from tacit.providers.tokens import ExactCounter

SETTINGS = "preset: scoped"
NOTHING = "Nothing fits this question."
TOPICS = (
    "orders carts refunds coupons shipments invoices exports imports reports payments sessions tokens images emails"
    " webhooks caches backups metrics alerts quotas"
).split()
FORMS = (
    "{} wait for {} before the job of {} begins",
    "A page with {} shows {} beside {}",
    "One worker writes {}, then {}, and last {}",
    "The gateway logs {} with {} and {}",
    "{} of a batch are counted with {} and {}",
    "Import {} ahead of {} and never with {}",
)


@contextmanager
def scoped_machine(settings: str = SETTINGS) -> Iterator[Machine]:
    """A machine with the shipped model and the preset."""
    with Machine(TACIT_EMBEDDER__PROVIDER="minilm") as machine:
        machine.home.root.mkdir(mode=0o700, exist_ok=True)
        (machine.home.root / "config.yaml").write_text(settings + "\n", encoding="utf-8")
        yield machine


def speaks(folder: Path, *names: str) -> None:
    """Make `folder` a repository that tracks files with these names; nothing else tells of its language."""
    (folder / ".git" / "objects").mkdir(parents=True, exist_ok=True)
    track(folder, *names)


def remember_at(machine: Machine, days_ago: float, *statements: tuple[str, dict[str, Any]]) -> None:
    """Store statements as they were made `days_ago` days ago; no daemon may run."""
    clock = FakeClock(now_ms=int(time.time() * 1000 - days_ago * DAY_MS))
    with closing(open_engine(machine.home.root, clock=clock)) as engine:
        for content, said in statements:
            scope = said.get("scope")
            given = {**said, "scope": Scope.parse(scope) if scope else None}
            assert engine.remember(content, cwd=str(machine.project), **given), content
            clock.advance(1000)


def decisions(first: int, last: int, forms: Sequence[str] = FORMS) -> list[str]:
    """Decisions that are no copies of one another: every form for the topics from `first` to `last`."""
    named = [[TOPICS[(n + step) % len(TOPICS)] for step in (0, 3, 7)] for n in range(first, last)]
    texts = [form.format(*topics) for topics in named for form in forms]
    return [text[0].upper() + text[1:] for text in texts]


def ask(machine: Machine, query: str = "", **narrowed: str) -> str:
    """The answer of the tool `memory_context`."""
    return mcp(machine, "memory_context", **({"query": query} if query else {}), **narrowed)


def lines(block: str, heading: str) -> list[str]:
    """The lines under a heading, without the ids that an answer shows."""
    found = block.splitlines()
    if heading not in found:
        return []
    rest = found[found.index(heading) + 1 :]
    return rest[: next((i for i, line in enumerate(rest) if line.startswith(("#", "<"))), len(rest))]


def tokens(text: str) -> int:
    """Tokens of a text, at most a few too many."""
    return ExactCounter().count(text)
