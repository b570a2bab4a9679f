"""Named points of work that stores, so that a test can end the process at each of them. In: a name. Out: nothing.

Whoever is given no `Step` calls `no_step`. A step decides nothing and is never skipped.
"""

from __future__ import annotations

from collections.abc import Callable

Step = Callable[[str], None]


def no_step(name: str) -> None:
    """Go on."""
