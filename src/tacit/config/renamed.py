"""Settings that have a new name. The old one works for one more release, with a warning that names the successor.

In: nothing. Out: a table. To rename a setting, add a row; to end the grace period, remove it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


def _as_it_is(value: object) -> object:
    return value


def _tokens_of_chars(value: object) -> object:
    """A number of characters as tokens, four characters each, within the limits of the successor."""
    if isinstance(value, bool) or not isinstance(value, int | str):
        return value
    try:
        chars = int(value)
    except ValueError:
        return value
    return min(200_000, max(3_000, chars // 4))


@dataclass(frozen=True, slots=True, kw_only=True)
class RenamedSetting:
    """One setting under its old name.

    Attributes:
        old, new: dotted keys.
        since: version with the new name.
        convert: makes the new value of the old one; what it cannot read it returns unchanged, for the check to name.
    """

    old: str
    new: str
    since: str
    convert: Callable[[object], object] = _as_it_is


RENAMED: dict[str, RenamedSetting] = {
    renamed.old: renamed
    for renamed in (
        RenamedSetting(
            old="capture.extractor.most_chars",
            new="capture.extractor.tokens_per_session",
            since="0.1.0",
            convert=_tokens_of_chars,
        ),
    )
}
"""Old key -> what became of it."""
