"""Tells whether words mean another day depending on when they are read ("yesterday", "in three days"). In: a text. Out: yes or no."""

from __future__ import annotations

from functools import lru_cache

from tacit.text.lazy_regex import wording

_TIMES = wording("relative_time")


@lru_cache(maxsize=8192)
def has_relative_time(text: str) -> bool:
    """Whether a text contains words such as "yesterday" or "in three days", whose meaning depends on the day they were said."""
    return _TIMES.relative.search(text) is not None
