"""A store of a million memories in minutes. In: a folder, projects, a size, topics. Out: the file that the store's own calls
would have written.

The store's write path reads, checks and cleans one memory after the other, as it must for what people say: about 0.4 ms
each, and as much again for the statement. Here the same statements (templates over words that follow Zipf's law) are drawn
in bulk and their rows written by the statement. A test holds every table of such a file to that of a store which was given
the same memories through `apply`. Never used on a store that somebody works with.
"""

from __future__ import annotations

import itertools
import json
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tacit.backends.codec import encode_reason
from tacit.backends.sqlite import open_sqlite_store
from tacit.backends.sqlite.documents import ALWAYS, ALWAYS_WEIGHT, PAIR, WEIGHT_STEPS, scope_token
from tacit.backends.text import clean_value
from tacit.config.home import Home
from tacit.model.changes import NEW
from tacit.model.kinds import KindRegistry
from tacit.model.memory import Provenance, TrustTier
from tacit.model.scope import project_scope
from tacit.model.trigger import Trigger
from tacit.ports.models import EmbedderIdentity, Vectors
from tacit.providers.clock import SystemClock
from tacit.reading.moment_calls import keys_of_rule
from tacit.text.tokens import code_words
from tacit_evals.data.workload import (
    KIND_SHARES,
    TEMPLATES,
    Generator,
    clustered,
    moment_ms,
    vocabulary,
)

BATCH = 2000
"""Memories of one change of the store."""
COMMITTED = 50_000
SHAPES = 2000
"""Different triggers, objects aside, for standing rules and for the rest."""
_Tables = dict[str, list[tuple[Any, ...]]]
_A, _B = "object-a", "object-b"
_CACHE_KB = 1 << 20

_INSERTS = {
    "memories": "INSERT INTO memories (number, id, scope, kind, status, source, valid_from_ms, valid_to_ms, created_at_ms,"
    " importance, pinned, error_signature, use_count, change, version, body, breadth)"
    " VALUES (?, ?, ?, ?, 'active', 'session', ?, NULL, ?, ?, 0, ?, 0, ?, 1, ?, ?)",
    "versions": f"INSERT INTO versions (memory, version, recorded_at_ms, scope, reason, body) VALUES (?, 1, ?, ?, '{encode_reason(NEW)}', ?)",
    "documents": "INSERT INTO documents (memory, scope, words, code) VALUES (?, ?, ?, ?)",
    "entities": "INSERT INTO entities (number, kind, key) VALUES (?, ?, ?)",
    "memory_entities": "INSERT INTO memory_entities (entity, scope, memory) VALUES (?, ?, ?)",
    "actions": "INSERT INTO actions (number, name) VALUES (?, ?)",
    "intents": "INSERT INTO intents (memory, weights) VALUES (?, ?)",
    "vectors": "INSERT INTO vectors (memory, identity, vector) VALUES (?, 1, ?)",
}


@dataclass(slots=True)
class _Numbers:
    """Numbers of names in the order in which they first came."""

    known: dict[Any, int] = field(default_factory=dict[Any, int])
    new: list[tuple[Any, ...]] = field(default_factory=list[tuple[Any, ...]])

    def of(self, *name: str) -> int:
        number = self.known.get(name)
        if number is None:
            number = self.known[name] = len(self.known) + 1
            self.new.append((number, *name))
        return number


@dataclass(frozen=True, slots=True)
class _Shape:
    """A trigger without the words of its objects."""

    trigger: Trigger
    parts: tuple[str, ...]
    reach: float

    def json(self, a: str, b: str) -> str:
        parts = self.parts
        if len(parts) == 1:
            return parts[0]
        if len(parts) == 2:
            return f"{parts[0]}{a}{parts[1]}"
        return f"{parts[0]}{a}{parts[1]}{b}{parts[2]}"


def _shapes(maker: Generator, kind: str) -> list[_Shape]:
    from tacit.backends.codec import encode

    triggers = [maker.trigger(kind, _A, _B) for _ in range(SHAPES)]
    return [
        _Shape(trigger, tuple(encode(trigger).replace(_B, _A).split(_A)), trigger.reach)
        for trigger in triggers
    ]


@lru_cache(maxsize=1)
def _provenance() -> str:
    from tacit.backends.codec import encode

    return encode(Provenance(tier=TrustTier.USER, source="session"))


@lru_cache(maxsize=1 << 17)
def _code(text: str) -> tuple[str, ...]:
    return code_words(text)


class _Put(NamedTuple):
    """What every memory of a change has in common."""

    projects: Sequence[str]
    change: int
    now_ms: int


class _Said(NamedTuple):
    """One statement as it was drawn; `named_words` are the first three words of its template."""

    kind: str
    content: str
    named: list[tuple[str, str]]
    shape: _Shape
    named_words: tuple[str, str, str]
    importance: float


class _Rows:
    """Makes the rows of one memory after the other."""

    def __init__(self, *, seed: int) -> None:
        self.words = np.array(vocabulary())
        self.cumulated: NDArray[np.float64] = np.cumsum(1 / (np.arange(len(self.words)) + 3))
        self.kinds = KindRegistry()
        self.names = list(KIND_SHARES)
        shares = np.array(list(KIND_SHARES.values()), dtype=np.float64)
        self.shares = shares / shares.sum()
        maker = Generator(seed=seed)
        standing, other = _shapes(maker, "guideline"), _shapes(maker, "fact")
        self.shapes = {name: standing if self.kinds.get(name).standing else other for name in self.names}
        self.chance = np.random.default_rng(seed)
        self.entities = _Numbers()
        self.actions = _Numbers()
        self._weights: dict[int, bytes] = {}

    def _drawn(self, shape: tuple[int, ...]) -> NDArray[np.str_]:
        drawn: NDArray[np.float64] = self.chance.random(shape) * self.cumulated[-1]
        at: NDArray[np.intp] = np.searchsorted(self.cumulated, drawn)
        return self.words[np.minimum(at, len(self.words) - 1)]

    def batch(self, first: int, count: int, put: _Put) -> _Tables:
        """Rows by table for memories `first` to `first + count - 1`; their vectors are not among them."""
        chance = self.chance
        drawn: list[list[str]] = self._drawn((count, 5)).tolist()
        kinds: list[int] = chance.choice(len(self.names), size=count, p=self.shares).tolist()
        folders: list[str] = self.words[chance.integers(0, 60, count)].tolist()
        stems: list[str] = self.words[chance.integers(0, 900, count)].tolist()
        weights: list[float] = chance.uniform(0.7, 1.1, count).tolist()
        has_symbol: list[bool] = (chance.random(count) < 0.3).tolist()
        picks: list[int] = chance.integers(0, SHAPES, count).tolist()
        templates: list[int] = chance.integers(0, 1 << 16, count).tolist()
        tables: _Tables = {name: [] for name in _INSERTS}
        for at in range(count):
            number = first + at
            name = self.names[kinds[at]]
            own = TEMPLATES[name]
            template = own[templates[at] % len(own)]
            a, b, c, d, tail = drawn[at]
            file = f"src/{folders[at]}/{stems[at]}.py"
            content = f"{template.format(a=a, b=b, c=c, d=d, f=file)} See {tail} {number}."
            entities: list[tuple[str, str]] = [("file", file)] if "{f}" in template else []
            if has_symbol[at]:
                entities.append(("symbol", f"{b}_{c}"))
            importance = round(min(1.0, self.kinds.get(name).importance * weights[at]), 3)
            shape = self.shapes[name][picks[at]]
            statement = _Said(name, content, entities, shape, (a, b, c), importance)
            self._add(tables, number, statement, put)
        tables["entities"], self.entities.new = self.entities.new, []
        tables["actions"], self.actions.new = self.actions.new, []
        return tables

    def _add(self, tables: _Tables, number: int, statement: _Said, put: _Put) -> None:
        kind, content, entities, shape = statement.kind, statement.content, statement.named, statement.shape
        a, b, c = statement.named_words
        project = number % len(put.projects)
        key = put.projects[project]
        row, scope, at_ms = number + 1, project + 1, moment_ms(number)
        memory_id = f"mem_{number:016d}"
        signature = f"{b}error: {c} #" if kind == "error_pattern" else ""
        files = [path for sort, path in entities if sort == "file"]
        listed = ",".join(f'{{"kind":"{sort}","key":"{entity_key}"}}' for sort, entity_key in entities)
        body = (
            f'{{"id":"{memory_id}","kind":"{kind}","content":"{content}","scope":{{"kind":"project","key":{json.dumps(key)}}},'
            f'"provenance":{_provenance()},'
            f'"validity":{{"valid_from_ms":{at_ms},"valid_to_ms":null,"superseded_by":null,"offset_ms":0}},"created_at_ms":{at_ms},'
            f'"updated_at_ms":{at_ms},"importance":{statement.importance!r},"confidence":1.0,"trigger":{shape.json(a, b)},'
            f'"status":"active","sensitivity":1,"entities":[{listed}],"files":{json.dumps(files)},'
            f'"error_signature":"{signature}","frequency":1,"use_count":0,"shown_count":0,"tokens":{len(content) // 4 + 2},"pinned":false,"evidence":[],"proofs":0,"branch":null,"headline":""}}'
        )
        tables["memories"].append(
            (
                row,
                memory_id,
                scope,
                kind,
                at_ms,
                at_ms,
                statement.importance,
                signature,
                put.change,
                body,
                shape.reach,
            )
        )
        tables["versions"].append((row, put.now_ms, scope, body))
        # In the order of `memory_code_words`: the text, its files, the keys of its entities.
        shaped = (f"{b}Error",) if kind == "error_pattern" else ()
        code = (
            *itertools.chain.from_iterable(map(_code, (*shaped, *files) if shaped else files)),
            *itertools.chain.from_iterable(map(_code, files)),
            *itertools.chain.from_iterable(_code(entity_key) for _, entity_key in entities),
        )
        tables["documents"].append((row, scope_token(scope), content, " ".join(code)))
        moments = [(entity.kind, entity.key) for entity in clean_value(keys_of_rule(content))]
        tables["memory_entities"] += [
            (self.entities.of(*entity), scope, row) for entity in (*entities, *moments)
        ]
        packed = self._packed(shape)
        if packed:
            tables["intents"].append((row, packed))

    def _packed(self, shape: _Shape) -> bytes:
        packed = self._weights.get(id(shape))
        if packed is None:
            trigger = shape.trigger
            weights = (
                {ALWAYS: round(ALWAYS_WEIGHT * WEIGHT_STEPS)} if trigger.always or trigger.places_only else {}
            )
            weights |= {
                self.actions.of(name): max(1, round(value * WEIGHT_STEPS)) for name, value in trigger.actions
            }
            packed = b"".join(PAIR.pack(number, value) for number, value in sorted(weights.items()))
            self._weights[id(shape)] = packed
        return packed


def build_bulk(
    root: Path,
    *,
    projects: Sequence[str],
    size: int,
    topics: Vectors,
    identity: EmbedderIdentity,
    seed: int = 1,
) -> None:
    """Write `size` memories, spread evenly over `projects`, into the new home `root`.

    Args:
        root: the home; its store must not exist yet.
        projects: ids of projects; memory n belongs to project n modulo their number.
        size: memories in all.
        topics: what their vectors gather round, shape (topics, dimensions).
        identity: of the embedder that made `topics`.
        seed: equal seeds make equal files.
    """
    home = Home(root)
    open_sqlite_store(home, clock=SystemClock()).close()  # the newest schema
    now_ms = SystemClock().now_ms()
    rows = _Rows(seed=seed)
    connection = sqlite3.connect(home.database, isolation_level=None)
    try:
        for pragma in (
            "journal_mode = OFF",
            "synchronous = OFF",
            f"cache_size = -{_CACHE_KB}",
            "foreign_keys = OFF",
        ):
            connection.execute(f"PRAGMA {pragma}").fetchone()
        connection.execute("BEGIN")
        connection.execute(
            "INSERT INTO identities (number, name, dimensions) VALUES (1, ?, ?)",
            (identity.name, identity.dimensions),
        )
        change = 0
        for change, (first, count) in enumerate(_parts(size), start=1):
            tables = rows.batch(first, count, _Put(projects, change, now_ms))
            vectors = clustered(topics, count, seed=seed + change - 1).astype("<f2")
            tables["vectors"] = [(first + at + 1, vector.tobytes()) for at, vector in enumerate(vectors)]
            for name, statement in _INSERTS.items():
                connection.executemany(statement, tables[name])
            if (first + count) % COMMITTED < BATCH:
                connection.execute("COMMIT")
                connection.execute("BEGIN")
        _write_scopes(connection, projects, size)
        connection.execute("UPDATE state SET change = ?", (change,))
        connection.execute("COMMIT")
        connection.execute("PRAGMA journal_mode = WAL").fetchone()
    finally:
        connection.close()


def _parts(size: int) -> Iterator[tuple[int, int]]:
    for first in range(0, size, BATCH):
        yield first, min(BATCH, size - first)


def _write_scopes(connection: sqlite3.Connection, projects: Sequence[str], size: int) -> None:
    for at, project in enumerate(projects):
        own = range(at, size, len(projects))
        if own:
            name, last = str(project_scope(project)), own[-1] // BATCH + 1
            connection.execute(
                "INSERT INTO scopes (number, name, change, moved, total, active) VALUES (?, ?, ?, 0, ?, ?)",
                (at + 1, name, last, len(own), len(own)),
            )
