"""What a prompt asks in the `typed` preset: the types of its task, and the file at hand where it points at one.

Source: the typed seed, section 2.2. Its query names recent files beside the words of every prompt. Where the words do not
point at a file, one more name only draws the vector away from what they ask, so it is added where they do.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from tacit.config.settings import RecallSettings
from tacit.model.kinds import KindRegistry
from tacit.model.pack import Surface
from tacit.model.query import Query
from tacit.reading.terms import find_paths
from tacit.recall.presets.typed.score import serves_task, task_of
from tacit.text.lazy_regex import lazy_regex

_POINTS_AT_FILE = lazy_regex(
    r"\b(?:this|that|the same|the current|these|those)\s+(?:file|module|class|function|method|component|script|code|test|view|helper"
    r"|handler|page|one)s?\b|\bhere\b|\b(?:in|of|to|with|from|about)\s+(?:it|this|that)\b"
    r"|\b(?:explain|refactor|test|document|simplify|review|describe|clean|split|move|fix)\s+(?:it|this|that)\b",
    re.IGNORECASE,
)
_ASKED_FOR = (Surface.START, Surface.COMPACTION, Surface.ON_DEMAND, Surface.FAILURE)
"""Surfaces that no prompt or task asks."""


def kinds_for_task(task: str, enabled: Sequence[str], kinds: KindRegistry) -> tuple[str, ...]:
    """Names of the kinds that a task looks at, of those that are on."""
    return tuple(kind.name for kind in kinds if serves_task(kind.name, task, enabled))


def typed_query(query: Query, settings: RecallSettings, kinds: KindRegistry) -> Query:
    """The query for the types of its task alone, with the newest file at hand where the words point at one."""
    if query.surface in _ASKED_FOR:
        return query
    if settings.floors.by_task:
        query = replace(query, kinds=kinds_for_task(task_of(query), settings.kinds, kinds))
    words = query.raw_text
    if query.files and _POINTS_AT_FILE.search(words) and not find_paths(words):
        query = replace(query, text=f"{query.text} ({query.files[-1]})")
    return query
