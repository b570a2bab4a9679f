"""What is done to the store while nobody waits: rescans for secrets, upkeep. In: the parts. Out: reports.

Never decides what is injected; never touches a memory that the user stated but to take a secret out of it.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tacit.app.parts import Parts
from tacit.model.scope import Scope
from tacit.upkeep.reindex import reindex
from tacit.upkeep.rescan import Rescan, note_copy, rescan
from tacit.upkeep.retention import apply_retention


class Care:
    """Looks after one open store. `settle` waits until everything said so far is written."""

    def __init__(self, parts: Parts, *, settle: Callable[[], None]) -> None:
        self._parts = parts
        self._settle = settle

    def rescan(self, *, dry_run: bool) -> Rescan:
        """Take out of everything stored what the rules of today find; with `dry_run` only count it.

        Raises:
            StoreError: if the store cannot be written; nothing of it is changed then.
        """
        self._settle()
        redactors = self._parts.redactor
        known: dict[str, Callable[[str], str]] = {}

        def clean(text: str, scope: str) -> str:
            if scope not in known:
                redactor = redactors.at(Scope.parse(scope)) if scope else redactors
                known[scope] = lambda words: redactor.redact(words).text
            return known[scope](text)

        done = rescan(self._parts.store, self._parts.home, clean, dry_run=dry_run)
        if done.rows and not dry_run:
            reindex(self._parts.store, self._parts.embedder)
        return done

    def backup(self, target: Path) -> None:
        """Write a consistent copy of the store to `target`, which must not exist, and remember where."""
        self._settle()
        self._parts.store.backup(target)
        note_copy(self._parts.store, target.absolute())

    def upkeep(self) -> None:
        """Let old traces and sessions go, as the retention settings say; memories stay until someone forgets them."""
        apply_retention(self._parts.store, self._parts.settings.current().retention, clock=self._parts.clock)
