"""Writes a tenant to a file, and reads it back. In: a transaction and a path. Out: a file with a row as JSON in each line; or the rows in an empty tenant.

An export is for one tenant; to back up a server, use the tools of PostgreSQL. The first line says what the file is, and the last line how many rows it has, so
that a truncated file is refused. The file does not hold derived rows; they are derived again.
"""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, cast

import msgspec
import numpy as np

from tacit.backends.codec import decode, decode_reason
from tacit.backends.postgres import journal, sessions, writing
from tacit.errors import NotFound, StoreCorrupt, StoreError
from tacit.model.memory import Memory, Relation
from tacit.model.session import SessionState
from tacit.model.trace import Trace
from tacit.ports.models import EmbedderIdentity
from tacit.ports.store import ProjectRecord, Recorded
from tacit.system.files import set_mode

if TYPE_CHECKING:
    from tacit.backends.postgres.store import PostgresStore
    from tacit.backends.postgres.transaction import Transaction

FORMAT, VERSION = "tacit-tenant", 1
_BATCH = 500

_M = "m.tenant = %(tenant)s"
_TABLES = {
    "versions": f"""
        SELECT v.body, v.reason, v.recorded_at_ms, v.change_id FROM versions AS v JOIN memories AS m ON {_M}
            AND m.number = v.number
        WHERE v.tenant = %(tenant)s ORDER BY v.number, v.version""",
    "counts": f"SELECT m.id, m.use_count, m.shown_count FROM memories AS m WHERE {_M} ORDER BY m.number",
    "vectors": f"""
        SELECT m.id, i.name, i.dimensions, v.vector::real[] FROM vectors AS v JOIN memories AS m ON {_M} AND m.number = v.number
        JOIN identities AS i ON i.tenant = %(tenant)s AND i.identity = v.identity
        WHERE v.tenant = %(tenant)s ORDER BY v.number""",
    "relations": f"""
        SELECT m.id, b.id, r.type, r.weight FROM relations AS r JOIN memories AS m ON {_M} AND m.number = r.source
        JOIN memories AS b ON b.tenant = %(tenant)s AND b.number = r.target
        WHERE r.tenant = %(tenant)s ORDER BY r.source, r.target, r.type""",
    "sessions": "SELECT body FROM sessions WHERE tenant = %(tenant)s ORDER BY host, session_id",
    "exposures": """
        SELECT host, session_id, memory_id, content_hash, epoch, turn, surface, tokens, at_ms FROM exposures
        WHERE tenant = %(tenant)s ORDER BY at_ms, host, session_id, memory_id""",
    "traces": "SELECT body FROM traces WHERE tenant = %(tenant)s ORDER BY at_ms, id",
    "handovers": """
        SELECT key, host, session_id, payload, at_ms, attempts, error, done_at_ms FROM handovers
        WHERE tenant = %(tenant)s ORDER BY at_ms, key""",
    "projects": "SELECT body FROM projects WHERE tenant = %(tenant)s ORDER BY id",
    "named_values": "SELECT name, value FROM named_values WHERE tenant = %(tenant)s ORDER BY name",
    "purges": "SELECT id, at_ms FROM purges WHERE tenant = %(tenant)s ORDER BY id",
}
_ADD_EXPOSURE = """
    INSERT INTO exposures (tenant, host, session_id, memory_id, content_hash, epoch, turn, surface, tokens, at_ms)
    VALUES (%(tenant)s, %(host)s, %(session_id)s, %(memory_id)s, %(content_hash)s, %(epoch)s, %(turn)s, %(surface)s,
        %(tokens)s, %(at_ms)s) ON CONFLICT DO NOTHING"""
_ADD_HANDOVER = """
    INSERT INTO handovers (tenant, key, host, session_id, payload, at_ms, attempts, error, done_at_ms)
    VALUES (%(tenant)s, %(key)s, %(host)s, %(session_id)s, %(payload)s, %(at_ms)s, %(attempts)s, %(error)s, %(done)s)"""
_ADD_PURGE = "INSERT INTO purges (tenant, id, at_ms) VALUES (%(tenant)s, %(id)s, %(at_ms)s)"
_ADD_VALUE = "INSERT INTO named_values (tenant, name, value) VALUES (%(tenant)s, %(name)s, %(value)s)"
_PLAIN = {
    "exposures": ("host session_id memory_id content_hash epoch turn surface tokens at_ms", _ADD_EXPOSURE),
    "handovers": ("key host session_id payload at_ms attempts error done", _ADD_HANDOVER),
    "named_values": ("name value", _ADD_VALUE),
    "purges": ("id at_ms", _ADD_PURGE),
}
"""Tables whose rows are written as they were read: the names of their values, and the statement."""
_SET_SHOWN = """
    UPDATE memories SET shown_count = %(shown)s
    WHERE tenant = %(tenant)s AND id = %(id)s"""
_IS_EMPTY = "SELECT count(*) FROM memories WHERE tenant = %(tenant)s"

Row = tuple[str, list[Any]]


def write_export(transaction: Transaction, target: Path, *, interrupted: Callable[[], bool]) -> bool:
    """Write everything that the tenant stores to `target`, which must not exist. Return False if it was interrupted; then there is no file.

    Raises:
        StoreError: `target` exists or cannot be written.
    """
    partial = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        with partial.open("x", encoding="utf-8") as file:
            set_mode(partial, 0o600)
            if not _write(transaction, file, interrupted):
                return False
            file.flush()
            os.fsync(file.fileno())
        # A hard link cannot replace a file that came to be in the meantime; a rename could.
        os.link(partial, target)
    except OSError as error:
        raise StoreError(
            f"The backup {target} cannot be written: {error.strerror or error}.",
            hint="Choose a file that does not exist, in a folder that can be written.",
        ) from error
    finally:
        with suppress(OSError):
            partial.unlink()
    return True


def _write(transaction: Transaction, file: TextIO, interrupted: Callable[[], bool]) -> bool:
    _put(file, {"format": FORMAT, "version": VERSION})
    count = 0
    for table, statement in _TABLES.items():
        for row in transaction.stream(statement):
            if count % _BATCH == 0 and interrupted():
                return False
            count += 1
            _put(file, [table, _packed(row) if table == "vectors" else list(row)])
    _put(file, {"rows": count})
    return not interrupted()


def _put(file: TextIO, value: object) -> None:
    file.write(json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n")


def _packed(row: tuple[Any, ...]) -> list[object]:
    vector = np.array(row[3], "<f2").tobytes()
    return [*row[:3], base64.b64encode(vector).decode()]


def _read(source: Path) -> Generator[Row]:
    """Yield the rows of an export.

    Raises:
        NotFound: there is no such file.
        StoreError: the file is not an export, or was truncated.
    """
    count, end = 0, cast("object", None)
    try:
        with source.open(encoding="utf-8") as file:
            if _value(file.readline()) != {"format": FORMAT, "version": VERSION}:
                raise StoreError(
                    f"{source} is no export of a tenant.", hint="Name a file that `backup` wrote."
                )
            for line in file:
                value = _value(line)
                if isinstance(value, dict):
                    end = cast("dict[str, object]", value).get("rows")
                elif isinstance(value, list) and cast("list[object]", value)[0] in _TABLES:
                    count += 1
                    table, row = cast("Row", value)
                    yield table, row
                else:
                    raise StoreCorrupt(
                        f"{source} is damaged behind row {count}.", hint="Take another backup."
                    )
    except FileNotFoundError as error:
        raise NotFound(f"There is no file {source}.") from error
    except (OSError, UnicodeDecodeError) as error:
        raise StoreError(
            f"{source} cannot be read: {error}.", hint="Name a file that `backup` wrote."
        ) from error
    if end != count:
        raise StoreCorrupt(f"{source} was cut off behind row {count}.", hint="Take another backup.")


def _value(line: str) -> object:
    try:
        return msgspec.json.decode(line.encode())
    except msgspec.DecodeError:
        return None


def examine_export(source: Path) -> int:
    """Return the number of memories in an export. Changes nothing.

    Raises:
        NotFound: there is no such file.
        StoreError: the file is not a complete export.
    """
    memories = 0
    for table, row in _read(source):
        memories += table == "counts"
        if table in _KINDS:
            decode(_KINDS[table], row[0])
    return memories


_KINDS: Mapping[str, type[object]] = {
    "versions": Memory, "sessions": SessionState, "traces": Trace, "projects": ProjectRecord,
}  # fmt: skip


def restore_export(source: Path, store: PostgresStore) -> int:
    """Load an export into a tenant without memories, in one transaction. Return the number of its memories.

    Raises:
        NotFound: there is no such file.
        StoreError: the file is not a complete export, or the tenant holds memories; nothing is changed.
    """
    examine_export(source)

    def work(transaction: Transaction) -> int:
        if transaction.number(_IS_EMPTY):
            raise StoreError(
                "The tenant holds memories already; nothing was changed.", hint="Name a new tenant."
            )
        for table, rows in _batches(_read(source)):
            _restore(transaction, table, rows)
        return transaction.number(_IS_EMPTY)

    return store.database.writing(work, durable=True, alone=True)


def _batches(rows: Iterator[Row]) -> Generator[tuple[str, list[list[Any]]]]:
    table, batch = "", list[list[Any]]()
    for name, row in rows:
        if batch and (name != table or len(batch) == _BATCH):
            yield table, batch
            batch = []
        table = name
        batch.append(row)
    if batch:
        yield table, batch


def _restore(transaction: Transaction, table: str, rows: list[list[Any]]) -> None:
    match table:
        case "versions":
            writing.restore(transaction, [_version(row) for row in rows], {})
        case "counts":
            _restore_counts(transaction, rows)
        case "vectors":
            _restore_vectors(transaction, rows)
        case "relations":
            edges = [Relation(source_id=row[0], target_id=row[1], type=row[2], weight=row[3]) for row in rows]
            writing.relate(transaction, edges)
        case "sessions":
            for (body,) in rows:
                sessions.save_session(transaction, decode(SessionState, body), body)
        case "traces":
            sessions.put_traces(transaction, [sessions.trace_values(decode(Trace, body)) for (body,) in rows])
        case "projects":
            for (body,) in rows:
                journal.put_project(transaction, decode(ProjectRecord, body))
        case _:
            names, statement = _PLAIN[table]
            for row in rows:
                transaction.execute(statement, dict(zip(names.split(), row, strict=True)))


def _version(row: list[Any]) -> Recorded:
    body, reason, at_ms, change_id = row
    memory = decode(Memory, body)
    return Recorded(
        memory=memory, before=None, at_ms=at_ms, reason=decode_reason(reason), change_id=change_id
    )


def _restore_counts(transaction: Transaction, rows: list[list[Any]]) -> None:
    writing.restore(transaction, (), {name: used for name, used, _ in rows})
    for name, _, shown in rows:
        if shown:
            transaction.execute(_SET_SHOWN, {"id": name, "shown": shown})


def _restore_vectors(transaction: Transaction, rows: list[list[Any]]) -> None:
    for name, dimensions in sorted({(row[1], row[2]) for row in rows}):
        some = [row for row in rows if (row[1], row[2]) == (name, dimensions)]
        vectors = np.stack([np.frombuffer(base64.b64decode(row[3]), "<f2") for row in some])
        identity = EmbedderIdentity(name=name, dimensions=dimensions)
        ids = [row[0] for row in some]
        writing.put_vectors(transaction, ids, vectors.astype(np.float32), identity=identity)
