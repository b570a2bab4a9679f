"""The searchable parts of a memory: its words, code, entities and trigger. In: a memory and its row. Out: derived rows.

Only active memories have derived rows. Everything here can be made again from the memories. Never reads a derived row
to decide what a memory says.
"""

from __future__ import annotations

import sqlite3
import struct
from collections.abc import Iterable

from tacit.backends.codec import linked_entities, memory_code_words
from tacit.model.memory import Entity, Memory
from tacit.model.trigger import Trigger
from tacit.text.tokens import segmented

WEIGHT_STEPS = 200
"""Trigger weights (0-1) are kept as 0-200: the usual weights 1, 0.67, 0.33 and 0.25 are exact."""

ALWAYS = 0
"""Action number of `applies always`; real actions count from 1."""

ALWAYS_WEIGHT = 0.25

TEXT_INDEXES = ("text_words", "text_code")
WORTH_MERGING = 4
"""Number of segments from which on a text index is merged into one: a search looks into every segment."""
_MERGED_PAGES = 64

PAIR = struct.Struct("<HB")
"""Binary form of one action of a trigger: its number, and its weight in `WEIGHT_STEPS`."""


def scope_token(scope: int) -> str:
    """Return the word that stands for a scope (by its row number) inside the text indexes."""
    return f"scope{scope}"


def index_memory(connection: sqlite3.Connection, number: int, scope: int, memory: Memory) -> None:
    """Delete and rewrite the index rows of one memory: words, code, entities, trigger. A memory that is not active gets none."""
    connection.execute("DELETE FROM documents WHERE memory = ?", (number,))
    connection.execute("DELETE FROM memory_entities WHERE memory = ?", (number,))
    connection.execute("DELETE FROM intents WHERE memory = ?", (number,))
    if memory.status != "active":
        return
    connection.execute(
        "INSERT INTO documents (memory, scope, words, code) VALUES (?, ?, ?, ?)",
        (number, scope_token(scope), segmented(memory.search_text), " ".join(memory_code_words(memory))),
    )
    _link(connection, number, scope, linked_entities(memory))
    weights = _weights(connection, memory.trigger)
    if weights:
        connection.execute("INSERT INTO intents (memory, weights) VALUES (?, ?)", (number, weights))


def _link(connection: sqlite3.Connection, number: int, scope: int, entities: Iterable[Entity]) -> None:
    for entity in dict.fromkeys(entities):
        connection.execute(
            "INSERT OR IGNORE INTO memory_entities (entity, scope, memory) VALUES (?, ?, ?)",
            (_entity_number(connection, entity.kind, entity.key), scope, number),
        )


def _entity_number(connection: sqlite3.Connection, kind: str, key: str) -> int:
    row = connection.execute("SELECT number FROM entities WHERE kind = ? AND key = ?", (kind, key)).fetchone()
    if row is None:
        row = connection.execute(
            "INSERT INTO entities (kind, key) VALUES (?, ?) RETURNING number", (kind, key)
        ).fetchone()
    return int(row[0])


def _weights(connection: sqlite3.Connection, trigger: Trigger) -> bytes:
    weights: dict[int, int] = {}
    if trigger.always or trigger.places_only:
        weights[ALWAYS] = round(ALWAYS_WEIGHT * WEIGHT_STEPS)
    for name, weight in trigger.actions:
        number = _action_number(connection, name)
        weights[number] = max(weights.get(number, 0), 1, round(weight * WEIGHT_STEPS))
    return b"".join(PAIR.pack(number, weight) for number, weight in sorted(weights.items()))


def _action_number(connection: sqlite3.Connection, name: str) -> int:
    row = connection.execute("SELECT number FROM actions WHERE name = ?", (name,)).fetchone()
    if row is None:
        row = connection.execute("INSERT INTO actions (name) VALUES (?) RETURNING number", (name,)).fetchone()
    return int(row[0])


def count_segments(connection: sqlite3.Connection, index: str) -> int:
    """Return the number of segments of an FTS5 text index."""
    return int(connection.execute(f"SELECT count(DISTINCT segid) FROM {index}_idx").fetchone()[0])


def merge_segments(connection: sqlite3.Connection, index: str, *, begin: bool) -> bool:
    """Do one step of merging the segments of a text index, some pages; return whether there was anything to merge.

    `begin` = start a merge of all segments; False = continue it.
    """
    before = connection.total_changes
    # Of FTS5: less than zero takes all pieces for one merge, more goes on with it; it says by its changes when it is done.
    pages = -_MERGED_PAGES if begin else _MERGED_PAGES
    connection.execute(f"INSERT INTO {index} ({index}, rank) VALUES ('merge', ?)", (pages,))
    return connection.total_changes - before > 1
