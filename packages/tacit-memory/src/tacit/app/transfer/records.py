"""The lossless export: one JSON object a line. In: histories, relations, projects. Out: lines, and back.

    {"tacit": 1, "at_ms": ..., "memories": n}
    {"project": {...}}
    {"memory": "mem_...", "uses": n, "versions": [{"at_ms": ..., "reason": "...", "why": {...}, "body": {...}}, ...]}
    {"relation": {...}}

`reason` says in words why the version was written, `why` as a value.
A body is the memory with every field of its own: trigger, provenance, validity, state. Vectors and folders of this machine
are left out: the first are made anew, the second mean nothing elsewhere. A line that cannot be read is refused by itself. Lines end with
the signature of the home that wrote them (`sig`).
"""

from __future__ import annotations

import hmac
import json
import os
import re
import secrets
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any, cast

import msgspec

from tacit.app.reasons import change_text
from tacit.capture.importing.items import RefusedEntry
from tacit.errors import StoreReadOnly, TacitError
from tacit.frozen import frozen
from tacit.model.change_reason import ChangeCause, ChangeReason
from tacit.model.memory import Memory, Relation
from tacit.model.scope import ScopeFilter
from tacit.ports.store import MemoryStore, ProjectRecord, Recorded
from tacit.safety.authority import LEFT_OUT
from tacit.safety.json_texts import cleaned_json
from tacit.system.files import open_handle

# Lines of an export that this home wrote itself. In: lines. Out: lines with a signature, and whether one is this home's.
#
# The signature is an HMAC-SHA256 of the line's bytes with a secret that stays in the home, written as the line's last field. A line that
# was changed, or comes from another home, is not signed. It says who wrote the line, nothing about what stands in it.

_PURPOSE = b"tacit export 1\n"
_SIGNED = re.compile(rb',"sig":"([0-9a-f]{64})"\}$')
_KEY_BYTES = 32


class Signer:
    """Signs and verifies lines with the secret of one home. Safe to use from several threads."""

    def __init__(self, key_file: Path) -> None:
        self._file = key_file

    def sign(self, line: bytes) -> bytes:
        """Return `line`, a JSON object that ends with "}", with its signature; the first call makes and stores the secret.

        Raises:
            StoreReadOnly: the secret cannot be read or written.
        """
        return line[:-1] + b',"sig":"' + self._mark(self._key(), line) + b'"}'

    def verified(self, line: bytes) -> bool:
        """Whether this home signed the line and nobody has changed it since."""
        line = line.strip()
        signature = _SIGNED.search(line)
        if not signature:
            return False
        try:
            key = self._file.read_bytes()
        except OSError:
            return False
        return len(key) == _KEY_BYTES and hmac.compare_digest(
            self._mark(key, line[: signature.start()] + b"}"), signature[1]
        )

    def _mark(self, key: bytes, line: bytes) -> bytes:
        return hmac.new(key, _PURPOSE + line, sha256).hexdigest().encode()

    def _key(self) -> bytes:
        try:
            if not self._file.exists() or self._file.stat().st_size != _KEY_BYTES:
                self._file.unlink(
                    missing_ok=True
                )  # damaged: what it signed counts as another home's from now on
                self._make()
            return self._file.read_bytes()
        except OSError as error:
            raise StoreReadOnly(
                f"The secret {self._file} that signs exports cannot be used: {error.strerror or error}.",
                hint="Make the home writable.",
            ) from error

    def _make(self) -> None:
        partial = self._file.with_name(f".{self._file.name}.{os.getpid()}.part")
        handle = open_handle(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, follow=False)
        try:
            os.write(handle, secrets.token_bytes(_KEY_BYTES))
            os.fsync(handle)
            os.link(partial, self._file)  # of two processes the first one's stays
        except FileExistsError:
            pass
        finally:
            os.close(handle)
            partial.unlink(missing_ok=True)


FORMAT = 1
MAX_LINE_BYTES = 4 << 20
MAX_VERSIONS = 10_000
MAX_LINES = 1_000_000
MAX_VERSIONS_READ = 1_000_000
MAX_REASON_CHARS = 500
MAX_REASON_BYTES = 4000
FUTURE_MS = 4_102_444_800_000
"""2100-01-01 in milliseconds; a later time in an export is refused as invalid."""


@frozen
class MemoryHistory:
    """One memory with all its versions, oldest first, and how often it was used."""

    versions: tuple[Recorded, ...]
    uses: int = 0

    @property
    def newest(self) -> Memory:
        """The newest version of the memory."""
        return self.versions[-1].memory


Line = MemoryHistory | Relation | ProjectRecord | RefusedEntry

_write = msgspec.json.Encoder().encode


def head_line(memories: int, *, at_ms: int, partial: bool = False) -> bytes:
    """Return the first line of an export; `partial` = it notes that some memories are left out."""
    fields = {"tacit": FORMAT, "at_ms": at_ms, "memories": memories}
    return _write({**fields, "note": LEFT_OUT} if partial else fields)


def write_line(value: MemoryHistory | Relation | ProjectRecord) -> bytes:
    """Return one record as a line, without the line's end."""
    match value:
        case MemoryHistory():
            versions = [
                {"at_ms": v.at_ms, **_reason_fields(v.reason), "body": v.memory} for v in value.versions
            ]
            return _write({"memory": value.newest.id, "uses": value.uses, "versions": versions})
        case Relation():
            return _write({"relation": value})
        case ProjectRecord():
            fields = {"id": value.id, "name": value.name, "remote": value.remote, "links": value.links}
            return _write({"project": {**fields, "first_seen_ms": value.first_seen_ms}})


def _reason_fields(reason: ChangeReason) -> dict[str, object]:
    """Return why a version was written, in words (`reason`) and as a value (`why`)."""
    return {"reason": change_text(reason), "why": reason}


def _reason_of(fields: Mapping[str, Any]) -> ChangeReason:
    """Read the reason of a version; only its words if a later version or another program wrote it."""
    with suppress(msgspec.ValidationError):
        if "why" in fields and len(_write(fields["why"])) <= MAX_REASON_BYTES:
            why = msgspec.convert(fields["why"], ChangeReason)
            if all(_is_id(name) for part in why.parts() for name in part.memory_ids):
                return why
    words = str(fields["reason"])[:MAX_REASON_CHARS]
    return ChangeReason(cause=ChangeCause.STORED_WORDS, detail=words)


def _is_id(name: str) -> bool:
    return name.startswith("mem_") and len(name) <= 80


def is_export(head: bytes) -> bool:
    """Whether a file that begins with `head` is a lossless export."""
    return head.lstrip(b"\xef\xbb\xbf \r\n\t").startswith(b'{"tacit":')


def stated_memories(head: bytes) -> int:
    """Return how many memories the first line of an export states; 0 if it states none."""
    try:
        count = json.loads(head.lstrip(b"\xef\xbb\xbf \r\n\t").split(b"\n", 1)[0])["memories"]
    except (ValueError, KeyError, TypeError):
        return 0
    return count if isinstance(count, int) and 0 <= count <= MAX_LINES else 0


def read_signed_lines(
    lines: Iterable[bytes], *, verified: Callable[[bytes], bool]
) -> Iterator[tuple[Line, bool]]:
    """Yield what each line holds, and whether the line is `verified`; an unreadable line gives a refusal that names it.

    Raises:
        Nothing: hostile lines are refused one by one, and what comes after `MAX_LINES` at once.
    """
    for number, line in enumerate(lines, start=1):
        where = f"line {number}"
        if number > MAX_LINES:
            yield (
                RefusedEntry(where=where, reason=f"more than {MAX_LINES} lines; the rest was not read"),
                False,
            )
            return
        if not line.strip():
            continue
        if len(line) > MAX_LINE_BYTES:
            yield RefusedEntry(where=where, reason=f"longer than {MAX_LINE_BYTES} bytes"), False
            continue
        try:
            value = _read(line)
        except (msgspec.MsgspecError, TacitError, ValueError, TypeError, KeyError, RecursionError) as error:
            yield RefusedEntry(where=where, reason=f"no record of an export: {_why(error)[:160]}"), False
            continue
        if value is not None:
            yield value, verified(line)


def line_without(
    line: str,
    clean: Callable[[str], str],
    *,
    ids: Collection[str],
    projects: Collection[str],
    notes: Collection[str],
    signer: Signer | None = None,
) -> str | None:
    """Return a line of an export without what was purged; None = drop it. The same line if it holds nothing of that.

    Records of the memories `ids`, of their relations and of `projects` go; in others `clean` takes what is gone out of reasons and of
    memories of the kinds `notes`, which quote others; `signer` signs what it had signed before. A line that is no record is cleaned as any
    text.
    """
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return clean(line)
    match record:
        case {"relation": {"source_id": str(one), "target_id": str(other)}}:
            return None if one in ids or other in ids else line
        case {"project": {"id": str(project)}}:
            return None if project in projects else line
        case {"memory": str(memory)} if memory in ids:
            return None
        case {"memory": str(), "versions": list()} if all(map(_is_version, record["versions"])):
            return _cleaned_versions(line, record, clean, notes, signer)
        case {"tacit": int()}:
            return line
        case _:
            return clean(cleaned_json(line, clean))


def _is_version(value: object) -> bool:
    match value:
        case {"reason": str(), "body": {"kind": str(), "content": str()}}:
            return True
        case _:
            return False


def _cleaned_versions(
    line: str,
    fields: dict[str, Any],
    clean: Callable[[str], str],
    notes: Collection[str],
    signer: Signer | None,
) -> str:
    changed = False
    for version in fields["versions"]:
        before = {name: version[name] for name in ("reason", "why", "body") if name in version}
        after, body = {**before, "reason": clean(version["reason"])}, version["body"]
        if "why" in version:
            after["why"] = json.loads(cleaned_json(json.dumps(version["why"]), clean))
        if body["kind"] in notes:
            body = json.loads(cleaned_json(json.dumps(body), clean))
        after["body"] = body
        changed = changed or after != before
        version.update(after)
    if not changed:
        return line
    fields.pop("sig", None)
    after = json.dumps(fields, ensure_ascii=line.isascii(), separators=(",", ":"))
    if signer is None or not signer.verified(line.encode("utf-8", "surrogatepass")):
        return after
    return signer.sign(after.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")


def _why(error: Exception) -> str:
    match error:
        case RecursionError():
            return "nested too deep"
        case KeyError():
            return f"{error} is missing"
        case TypeError() if "indices" in str(error) or "subscriptable" in str(error):
            return "a field has the wrong type"
        case _:
            return str(error)


def _read(line: bytes) -> Line | None:
    record = msgspec.json.decode(line)
    if not isinstance(record, dict):
        raise TypeError("no object")
    fields = cast(dict[str, Any], record)
    if "tacit" in fields:
        if fields["tacit"] != FORMAT:
            raise ValueError(f"format {fields['tacit']}, this version reads {FORMAT}; update Tacit")
        return None
    if "memory" in fields:
        return _history(fields)
    if "relation" in fields:
        return msgspec.convert(fields["relation"], Relation)
    if "project" in fields:
        return msgspec.convert({"root": "", **fields["project"]}, ProjectRecord)
    raise ValueError("neither memory, relation nor project")


def _history(fields: Mapping[str, Any]) -> MemoryHistory:
    rows = cast(Sequence[Mapping[str, Any]], fields["versions"])
    if not 0 < len(rows) <= MAX_VERSIONS:
        raise ValueError(f"{len(rows)} versions")
    versions: list[Recorded] = []
    for row in rows:
        memory = msgspec.convert(row["body"], Memory)
        at_ms = msgspec.convert(row["at_ms"], int)
        if memory.id != fields["memory"] or not _is_id(memory.id):
            raise ValueError(f"the id {memory.id[:80]!r} is invalid, or not that of the line")
        if not 0 <= at_ms < FUTURE_MS or (versions and at_ms < versions[-1].at_ms):
            raise ValueError(f"the time {at_ms} is invalid, or earlier than the version before")
        before = versions[-1].memory if versions else None
        versions.append(Recorded(memory=memory, before=before, at_ms=at_ms, reason=_reason_of(row)))
    uses = msgspec.convert(fields.get("uses", 0), int)
    if not 0 <= uses < 1 << 31:
        raise ValueError(f"{uses} uses")
    return MemoryHistory(versions=tuple(versions), uses=uses)


def versions_of(store: MemoryStore, memory_id: str) -> tuple[Recorded, ...]:
    """Return every version of a memory, oldest first; () = no memory has this id.

    A store lists versions by the scopes that hold memories now. A scope that the memory was moved out of may hold none any more.
    """
    scopes = set(store.scopes().scopes)
    while True:
        versions = store.recorded(scope=ScopeFilter.of(*scopes), limit=MAX_VERSIONS_READ, memory_id=memory_id)
        earlier = {version.before.scope for version in versions if version.before is not None} - scopes
        if not earlier:
            return tuple(reversed(versions))
        scopes |= earlier
