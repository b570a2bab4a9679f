"""The outcome of a torture run on a server. In: counts and errors. Out: whether there is any error, and lines of text."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

_SHOWN = 10
"""At most this many errors of a kind are printed."""


@dataclass(slots=True, kw_only=True)
class Outcome:
    """What a run did, and the errors that it found.

    Attributes:
        acknowledged: number of acknowledged writes, by kind.
        kills: number of killed processes, by kind.
        lost: acknowledged writes that are not stored.
        doubled: rows that are stored more than once.
        returned: purged rows that are stored again.
        different: differences between devices of one account.
        unsound: other problems.
    """

    acknowledged: Counter[str] = field(default_factory=Counter[str])
    kills: Counter[str] = field(default_factory=Counter[str])
    lost: list[str] = field(default_factory=list[str])
    doubled: list[str] = field(default_factory=list[str])
    returned: list[str] = field(default_factory=list[str])
    different: list[str] = field(default_factory=list[str])
    unsound: list[str] = field(default_factory=list[str])

    @property
    def errors(self) -> dict[str, list[str]]:
        """Return the errors, by kind."""
        return {
            "lost": self.lost,
            "doubled": self.doubled,
            "returned": self.returned,
            "different": self.different,
            "unsound": self.unsound,
        }

    @property
    def sound(self) -> bool:
        """Return whether there is no error."""
        return not any(self.errors.values())

    def print_errors(self) -> None:
        """Print the number of errors of each kind, and the first of them."""
        for name, found in self.errors.items():
            print(f"{name}: {len(found)}")
            for line in found[:_SHOWN]:
                print(f"  {line}")
