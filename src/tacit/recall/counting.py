"""Counting that never fails a turn. In: a token counter. Out: a function from text to tokens.

Source: ERR-P5-02 of the multispace seed. Where the counter breaks or gives nonsense, four characters count as a token, and
the log says so.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable

from tacit.ports.models import TokenCounter

_LOG = logging.getLogger(__name__)
CHARS_PER_TOKEN = 4


def surely(tokens: TokenCounter) -> Callable[[str], int]:
    """`tokens.count`, with an estimate where it fails."""

    def count(text: str) -> int:
        try:
            counted = tokens.count(text)
        except (ArithmeticError, LookupError, OSError, RuntimeError, TypeError, ValueError) as error:
            _LOG.warning("Token counting failed: %s; four characters count as one token", error)
        else:
            if counted >= 0:
                return counted
            _LOG.warning("Token counting failed: %s tokens; four characters count as one token", counted)
        return math.ceil(len(text) / CHARS_PER_TOKEN)

    return count
