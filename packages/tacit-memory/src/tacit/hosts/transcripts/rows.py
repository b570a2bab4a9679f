"""What the readers of transcripts share: rows of JSON lines, messages with roles, and the values that a host's module `transcript` gives.

In: a file and the position where reading stopped. Out: JSON objects, turns, and where to go on. A file of JSON lines grows: it is read from the
position on, from the start when it is another one or has shrunk, and a last line that was not written to its end is left for the next reading.
Other files are read whole, or not at all when nothing changed. Never writes, never fails on a bad line.

A message of a plain list has a `role`, and `content` or `text` (a string or blocks); a time in `timestamp`, `at_ms` or `time`; tool calls
in `tools` or `tool_calls`, each with `tool` or `name`, `input` or `arguments`, and `error`, `failed`, `exit` or `status` saying how it went.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import BinaryIO, Protocol, TypeVar, cast

import msgspec

from tacit.errors import InvalidPayload
from tacit.hosts.transcripts import Transcript, TurnBuilder, text_of, time_of
from tacit.state.captured import Position
from tacit.text.decoding import decode_text, utf_16_of
from tacit.text.lazy_regex import lazy_regex

HEAD_BYTES = 256
MAX_FIRST_BYTES = 2_000_000
Fields = Mapping[str, object]
_PADDING = b"\0 \t\r\n"
MAX_PADDING = 100_000
"""Most NUL bytes between two rows of a line."""
MAX_FAILED = 1_000
"""Most beginnings of objects that are tried in a damaged line."""
_CARRIAGE_RETURN = re.compile(rb"(?<=\r)(?!\n)")
_JSON = json.JSONDecoder()
_Row = TypeVar("_Row")
_decode = msgspec.json.Decoder().decode


def parse_json(text: str | bytes) -> object:
    """The value, or None where it is no JSON."""
    try:
        return _decode(text)
    except (ValueError, RecursionError):
        return _parse_loosely(text)


def _parse_loosely(text: str | bytes) -> object:
    """The same, for half a pair of surrogates, a mark of byte order and `NaN`, too, which are no JSON, but written as such."""
    try:
        return cast("object", json.loads(text))
    except (ValueError, RecursionError):
        return None


def split_rows(line: bytes, parse: Callable[[bytes], object] = parse_json) -> tuple[list[object], bool]:
    """The rows of one line, and whether the line holds nothing else.

    Most lines hold one row. After a crash, NUL bytes can stand around it, and a row that was cut off can stand in front of it. What follows a row is then
    another one: what an object is followed by inside a row is no row of its own.
    """
    bare = line.strip(_PADDING)
    value = parse(bare) if bare else None
    if value is not None or not bare:
        return [] if value is None else [value], True
    text = bare.decode("utf-8", "replace")
    rows: list[object] = []
    whole_line, at, failed = True, 0, 0
    while failed < MAX_FAILED and (start := text.find('{"', at)) >= 0:
        try:
            _, end = _JSON.raw_decode(text, start)
        except (ValueError, RecursionError):
            whole_line, at, failed = False, start + 2, failed + 1
            continue
        if (follows := text[end : end + MAX_PADDING].lstrip("\0 \t")) and follows[0] != "{":
            whole_line, at = False, end
            continue
        whole_line &= not text[at:start].strip("\0 \t")
        if (row := parse(text[start:end].encode("utf-8", "replace"))) is not None:
            rows.append(row)
        at = end
    return rows, whole_line and not text[at:].strip("\0 \t")


def is_object(value: object) -> bool:
    """Whether `value` is a JSON object."""
    return isinstance(value, dict)


def is_list(value: object) -> bool:
    """Whether `value` is a JSON list."""
    return isinstance(value, list)


def fields_of(value: object) -> Fields:
    """The mapping, or an empty one."""
    return cast("Fields", value) if isinstance(value, dict | Mapping) else {}


def list_of(value: object) -> list[object]:
    """The list, or an empty one."""
    return cast("list[object]", value) if isinstance(value, list) else []


def text_in(fields: Fields, name: str) -> str:
    """The text under `name`, or empty."""
    value = fields.get(name)
    return value if isinstance(value, str) else ""


@dataclass(slots=True, kw_only=True)
class RowReader:
    """A reading of a file of JSON lines: walk through it once, then ask for the transcript. Mutable.

    Attributes:
        path: the file.
        since: where an earlier reading stopped; corrected when the file is another one.
        bad: lines that were no JSON object.
    """

    path: Path
    since: Position = field(default_factory=Position)
    bad: int = 0
    _offset: int = 0
    _turn_offset: int = 0
    _head: str = ""
    _builder: TurnBuilder | None = None

    def read(self, parse: Callable[[bytes], object], kind: type[_Row]) -> Iterator[_Row]:
        """Yield what `parse` makes of the lines, in order, where it is of `kind`; it gives None for what is no JSON.

        Raises:
            OSError: if the file cannot be read.
        """
        with self.path.open("rb") as file:
            head = file.read(HEAD_BYTES)
            self._head = hashlib.sha256(head).hexdigest()[:16]
            size = file.seek(0, 2)
            start = self.since
            if start.offset > size or (
                start.head and start.head != self._head and start.offset >= HEAD_BYTES
            ):
                self.since = start = Position()
            self._offset = self._turn_offset = start.offset
            file.seek(start.offset)
            for line, length in _lines(file, utf_16_of(head)):
                rows, clean = split_rows(line, parse)
                if not (clean and rows) and not line.endswith((b"\n", b"\r")):
                    break
                if self._builder is None or not self._builder.is_open:
                    self._turn_offset = self._offset
                self._offset += length
                self.bad += not clean or not all(isinstance(row, kind) for row in rows)
                yield from (row for row in rows if isinstance(row, kind))

    def walk(self, take: Callable[[TurnBuilder, Fields], None]) -> TurnBuilder:
        """Give each row to `take`, which says what it means; return the builder with the turns.

        Raises:
            OSError: if the file cannot be read.
        """
        return self.walk_parsed(parse_json, dict, take)

    def walk_parsed(
        self, parse: Callable[[bytes], object], kind: type[_Row], take: Callable[[TurnBuilder, _Row], None]
    ) -> TurnBuilder:
        """Give each row that `parse` makes of the lines to `take`, where it is of `kind`; return the builder with the turns.

        Raises:
            OSError: if the file cannot be read.
        """
        for row in self.read(parse, kind):
            take(self._builder or self._begin(), row)
        return self._builder or self._begin()

    def _begin(self) -> TurnBuilder:
        """Make the builder, which counts on from where the earlier reading stopped: known with the first row."""
        self._builder = TurnBuilder(prompts=self.since.prompts, last=self.since.last)
        return self._builder

    def first(self) -> Fields:
        """The first row of the file, which says whose it is; empty when it cannot be read.

        Raises:
            OSError: if the file cannot be read.
        """
        with self.path.open("rb") as file:
            head = file.read(MAX_FIRST_BYTES)
        lines = _lines(io.BytesIO(head), utf_16_of(head))
        return next((fields_of(row) for line, _ in lines for row in split_rows(line)[0]), fields_of(None))

    def transcript(self, builder: TurnBuilder, *, session_id: str = "", cwd: str = "") -> Transcript:
        """Return the transcript that was read."""
        waits, turns = builder.waits, builder.done()
        end = Position(offset=self._offset, head=self._head, prompts=builder.prompts, last=builder.last)
        unfinished = replace(end, offset=self._turn_offset) if waits else None
        return Transcript(
            turns=turns, end=end, session_id=session_id, cwd=cwd, bad_lines=self.bad, unfinished=unfinished
        )


def _lines(file: BinaryIO, wide: str) -> Iterator[tuple[bytes, int]]:
    """Return the lines of a file in UTF-8, each with its length in the file; `wide` names the encoding if that is UTF-16."""
    if not wide:
        for line in file:
            pieces = _CARRIAGE_RETURN.split(line) if b"\r" in line[:-2] else (line,)
            yield from ((piece, len(piece)) for piece in pieces if piece)
        return
    data = file.read()
    whole_bytes = len(data) - len(data) % 2  # half a character is still being written
    text = data[:whole_bytes].decode(wide, "replace")
    for line in io.StringIO(text, newline="\n"):
        yield line.removeprefix("\ufeff").encode("utf-8", "replace"), len(line.encode(wide, "surrogatepass"))


def read_whole(path: Path) -> tuple[str, Position]:
    """A file's text, and the position that stands for having read all of it (its prompts are still to be counted).

    Raises:
        OSError: if the file cannot be read.
    """
    raw = path.read_bytes()
    end = Position(offset=len(raw), head=hashlib.sha256(raw).hexdigest()[:16])
    return decode_text(raw).replace("\0", ""), end


def unchanged(since: Position | None, end: Position) -> Transcript | None:
    """Return the empty transcript of a file that is as it was when it was read up to `since`; None = it changed."""
    same = since is not None and since.head == end.head and since.offset == end.offset
    return Transcript(end=since) if since is not None and same else None


def whole(
    builder: TurnBuilder, end: Position, *, session_id: str = "", cwd: str = "", bad: int = 0
) -> Transcript:
    """Return the transcript of a file that was read at once."""
    waits, turns = builder.waits, builder.done()
    position = Position(offset=end.offset, head=end.head, prompts=builder.prompts, last=builder.last)
    return Transcript(
        turns=turns,
        end=position,
        session_id=session_id,
        cwd=cwd,
        bad_lines=bad,
        unfinished=Position() if waits else None,
    )


_TIMES = ("at_ms", "timestamp", "time", "created_at", "meta")
_QUERY = lazy_regex(r"<user_query>(.*?)</user_query>", re.DOTALL)
_STAMP = lazy_regex(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?Z?$")


def read_messages(messages: object) -> Transcript:
    """Read a list of messages, or a mapping that holds one under `messages` or `turns`.

    Raises:
        InvalidPayload: if there is no list of messages.
    """
    if isinstance(messages, Mapping):
        outer = cast("Fields", messages)
        messages = outer.get("messages", outer.get("turns"))
    if not isinstance(messages, list):
        raise InvalidPayload(
            "A plain transcript is a list of messages.", hint='Expected [{"role": ..., "content": ...}].'
        )
    builder = TurnBuilder()
    bad = 0
    for message in cast("list[object]", messages):
        if isinstance(message, Mapping):
            take_message(builder, cast("Fields", message))
        else:
            bad += 1
    turns = builder.done()
    return Transcript(turns=turns, end=Position(prompts=builder.prompts), bad_lines=bad)


def take_message(builder: TurnBuilder, message: Fields) -> None:
    """Add one message to `builder`."""
    inner = message.get("message")
    if isinstance(inner, Mapping) and "content" in inner:  # Cursor wraps what was said once more
        message = {**message, **cast("Fields", inner), "role": message.get("role")}
    at_ms = next((t for name in _TIMES if name in message and (t := _when(message[name]))), 0)
    content = message.get("content", message.get("text"))
    match message.get("role"):
        case "user" | "human":
            for block in _blocks(content, "tool_result"):
                _take_result(builder, block, str(block.get("tool_use_id", "")), at_ms)
            builder.user(_asked(text_of(content)), at_ms)
        case "assistant" | "ai" | "model":
            builder.reply(text_of(content), at_ms)
            for block in _blocks(content, "tool_use"):
                builder.call(str(block.get("name", "")), str(block.get("id", "")), block.get("input"), at_ms)
            for name in ("tools", "tool_calls"):
                for number, call in enumerate(_mappings(message.get(name))):
                    _take_call(builder, call, f"{name}-{number}", at_ms)
        case "tool":
            _take_result(builder, message, str(message.get("tool_call_id", "")), at_ms)
        case _:
            pass


def _asked(text: str) -> str:
    """Return the words in Cursor's `<user_query>`, without what Cursor adds to a prompt; else the whole text."""
    query = _QUERY.search(text)
    return query[1].strip() if query else text


def _when(value: object) -> int:
    """A time, also one that stands at the end of a note ("model 2026-01-16 22:18:20Z")."""
    if isinstance(value, str) and len(value) > 32 and (stamp := _STAMP.search(value)):
        return time_of(stamp[0].replace(" ", "T"))
    return time_of(value.strip().replace(" ", "T", 1) if isinstance(value, str) else value)


def _take_call(builder: TurnBuilder, call: Fields, fallback_id: str, at_ms: int) -> None:
    function = call.get("function")
    fields: Fields = cast("Fields", function) if isinstance(function, Mapping) else call
    name = fields.get("tool") or fields.get("name") or ""
    raw = fields.get("input", fields.get("arguments", fields.get("args")))
    if isinstance(raw, str):
        try:
            raw = cast("object", json.loads(raw))
        except ValueError:
            raw = {"command": raw}
    if raw is None:
        paths = call.get("paths")
        first = cast("list[object]", paths)[0] if isinstance(paths, list) and paths else ""
        raw = {"command": call.get("command", ""), "path": first, "todos": call.get("todos")}
    call_id = str(call.get("call_id") or call.get("callID") or call.get("id") or fallback_id)
    builder.call(str(name), call_id, raw, at_ms)
    if function is None:
        _take_result(builder, call, call_id, at_ms)


def _take_result(builder: TurnBuilder, fields: Fields, call_id: str, at_ms: int) -> None:
    exit_code = fields.get("exit", fields.get("exit_code"))
    error = fields.get("error")
    failed = (
        bool(fields.get("is_error") or fields.get("failed") or error)
        or fields.get("status") == "error"
        or (isinstance(exit_code, int) and exit_code != 0)
    )
    text = (
        error if isinstance(error, str) and error else text_of(fields.get("content") or fields.get("output"))
    )
    builder.result(call_id, failed=failed, text=text, at_ms=at_ms)


def _blocks(content: object, kind: str) -> Iterable[Fields]:
    return (block for block in _mappings(content) if block.get("type") == kind)


def _mappings(value: object) -> Iterable[Fields]:
    if isinstance(value, list):
        for item in cast("list[object]", value):
            if isinstance(item, Mapping):
                yield cast("Fields", item)


class Reader(Protocol):
    """Reads the one session of a file from a position on, with what subagents were told if that is wanted."""

    def __call__(
        self, path: Path, since: Position | None = None, /, *, subagents: bool = False
    ) -> Transcript:
        """Read it.

        Raises:
            OSError: if the file cannot be read.
        """
        ...


Readers = Mapping[str, Reader]
"""How a host reads each of its formats."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DetectedFormat:
    """The format of a file, and its metadata.

    Attributes:
        format: how it is read; "" = it holds no conversation.
        host: whose conversations these are, where the file says it.
        session_id: the id of its one session; empty where it says none, or holds several.
        cwd: where the session ran, or empty.
        reason: why there is no format.
    """

    format: str
    host: str = ""
    session_id: str = ""
    cwd: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TranscriptInfo:
    """A file of past sessions.

    Attributes:
        host: whose it is; empty where only its content tells.
        path: the file.
        size_bytes, modified_ms: of the file.
        sessions: how many sessions it holds, as far as that is known without reading it.
        session_ids: their ids, oldest first; () = all there are.
        cwd: the project root it was looked up for.
        server: address of the server that tells of them, instead of a file.
    """

    host: str
    path: Path
    size_bytes: int
    modified_ms: int
    sessions: int
    session_ids: tuple[str, ...] = ()
    cwd: str = ""
    server: str = ""

    @property
    def place(self) -> str:
        """The place of the sessions: the file, or the server."""
        return self.server or str(self.path)


def transcript_info(host: str, path: Path, session_ids: tuple[str, ...], root: str) -> TranscriptInfo | None:
    """Return what is known of a file of sessions without reading it; None = it is gone."""
    try:
        stat = path.stat()
    except OSError:
        return None
    return TranscriptInfo(
        host=host,
        path=path,
        size_bytes=stat.st_size,
        modified_ms=stat.st_mtime_ns // 1_000_000,
        sessions=max(1, len(session_ids)),
        session_ids=session_ids,
        cwd=root,
    )
