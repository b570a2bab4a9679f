"""The owner's verdicts on injections: useful, or unwanted. In: verdicts. Out: the same, bounded in number.

A verdict names a recall and a memory of it; the last one of a pair holds. Kept as one named value of the store: ids, numbers
and times, no text. `tune` reads them.
"""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock

from tacit.errors import InvalidInput
from tacit.model.trace import Trace
from tacit.ports.store import ValueStore
from tacit.state.counted import Verdict
from tacit.state.registry import VERDICTS


class Verdicts:
    """Keeps what was said. Safe to use from several threads."""

    def __init__(self, store: ValueStore) -> None:
        self._store = store
        self._lock = Lock()

    def all(self) -> tuple[Verdict, ...]:
        """Return all stored verdicts, oldest first."""
        return VERDICTS.read(self._store)

    def of(self, trace_id: str) -> tuple[Verdict, ...]:
        """Return the verdicts on one recall."""
        return tuple(one for one in self.all() if one.trace_id == trace_id)

    def say(
        self, trace: Trace, memory_ids: Sequence[str], *, useful: bool, at_ms: int
    ) -> tuple[tuple[Verdict, ...], tuple[Verdict, ...]]:
        """Keep a verdict on each of `memory_ids`; () = on everything that was handed over.

        Returns:
            The verdicts, and those of them that say something new.

        Raises:
            InvalidInput: if one of them was no candidate of the recall, or nothing was handed over and none is named.
        """
        known = {one.memory_id: one.relevance for one in trace.candidates}
        named = tuple(dict.fromkeys(memory_ids)) or trace.injected
        if not named:
            raise InvalidInput(f"{trace.id} injected nothing.", hint="Name the memory that should have come.")
        for name in named:
            if name not in known and name not in trace.injected:
                raise InvalidInput(
                    f"{name} was no candidate of {trace.id}.",
                    hint="Name one of its candidates by its whole id.",
                )
        said = tuple(
            Verdict(
                trace_id=trace.id, memory_id=name, useful=useful, injected=name in trace.injected,
                surface=trace.surface.value, relevance=known.get(name, 1.0), threshold=trace.threshold,
                trace_at_ms=trace.at_ms, at_ms=at_ms,
            )
            for name in named
        )  # fmt: skip
        with self._lock:
            before = {(one.trace_id, one.memory_id): one for one in self.all()}
            new = tuple(
                one
                for one in said
                if (known_one := before.pop((one.trace_id, one.memory_id), None)) is None
                or known_one.useful != useful
            )
            VERDICTS.write(self._store, (*before.values(), *said))
        return said, new
