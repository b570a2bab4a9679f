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

from tacit.frozen import frozen
from tacit.hosts.transcripts import Transcript, TurnBuilder, text_of, time_of
from tacit.state.captured import Position
from tacit.text.decoding import decode_text, utf_16_of
from tacit.text.lazy_regex import lazy_regex

HEAD_BYTES = 256
MAX_FIRST_BYTES = 2_000_000
Fields = Mapping[str, object]
_PADDING = b"\0 \t\r\n"
MAX_PADDING = 100_000
"""The most NUL bytes that may stand between two rows of a line."""
MAX_FAILED = 1_000
"""The most starts of objects that are tried in a damaged line."""
_CARRIAGE_RETURN = re.compile(rb"(?<=\r)(?!\n)")
_JSON = json.JSONDecoder()
_Row = TypeVar("_Row")
_decode = msgspec.json.Decoder().decode


def parse_json(text: str | bytes) -> object:
    """Parse JSON; None = it is not JSON, or is `null`."""
    try:
        return _decode(text)
    except (ValueError, RecursionError):
        return _parse_loosely(text)


def _parse_loosely(text: str | bytes) -> object:
    """Parse JSON as `parse_json` does, but also accept lone surrogates, a byte order mark and `NaN`, which programs write although JSON forbids them."""
    try:
        return cast("object", json.loads(text))
    except (ValueError, RecursionError):
        return None


def split_rows(line: bytes, parse: Callable[[bytes], object] = parse_json) -> tuple[list[object], bool]:
    """Return (the JSON values in one line, whether the line holds nothing else).

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
    """Return `value` if it is a mapping, else an empty one."""
    return cast("Fields", value) if isinstance(value, dict | Mapping) else {}


def list_of(value: object) -> list[object]:
    """Return `value` if it is a list, else an empty one."""
    return cast("list[object]", value) if isinstance(value, list) else []


def text_in(fields: Fields, name: str) -> str:
    """Return the text in the field `name`; "" = it is missing or no text."""
    value = fields.get(name)
    return value if isinstance(value, str) else ""


@dataclass(slots=True, kw_only=True)
class RowReader:
    """The reader of a file of JSON lines, used once: `walk` goes through the lines after `since` and returns a builder with turns, which `transcript` then makes the result of.

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
        """Yield each line parsed by `parse`, if it is of `kind`; others count as bad. An incomplete last line is left for the next reading.

        Sets `since` back to the start if the file is another one or has shrunk.

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
        """Parse each line as JSON, call `take(builder, row)` for each object, and return the builder with the turns that it added.

        Raises:
            OSError: if the file cannot be read.
        """
        return self.walk_parsed(parse_json, dict, take)

    def walk_parsed(
        self, parse: Callable[[bytes], object], kind: type[_Row], take: Callable[[TurnBuilder, _Row], None]
    ) -> TurnBuilder:
        """Parse each line with `parse`, call `take(builder, row)` for each row of `kind`, and return the builder with the turns that it added.

        Raises:
            OSError: if the file cannot be read.
        """
        for row in self.read(parse, kind):
            take(self._builder or self._begin(), row)
        return self._builder or self._begin()

    def _begin(self) -> TurnBuilder:
        """Make and keep the builder, with prompt numbers that continue from `since`, which `read` may have corrected."""
        self._builder = TurnBuilder(prompts=self.since.prompts, last=self.since.last)
        return self._builder

    def first(self) -> Fields:
        """Return the first row of the file, whatever `since` is; empty = there is no row in its first `MAX_FIRST_BYTES`.

        Raises:
            OSError: if the file cannot be read.
        """
        with self.path.open("rb") as file:
            head = file.read(MAX_FIRST_BYTES)
        lines = _lines(io.BytesIO(head), utf_16_of(head))
        return next((fields_of(row) for line, _ in lines for row in split_rows(line)[0]), fields_of(None))

    def transcript(self, builder: TurnBuilder, *, session_id: str = "", cwd: str = "") -> Transcript:
        """Return what the walk read as a transcript, with the position at which the next reading goes on."""
        waits, turns = builder.waits, builder.done()
        end = Position(offset=self._offset, head=self._head, prompts=builder.prompts, last=builder.last)
        unfinished = replace(end, offset=self._turn_offset) if waits else None
        return Transcript(
            turns=turns, end=end, session_id=session_id, cwd=cwd, bad_lines=self.bad, unfinished=unfinished
        )


def _lines(file: BinaryIO, wide: str) -> Iterator[tuple[bytes, int]]:
    """Yield the lines of a file as UTF-8, each with its length in the file; `wide` = the UTF-16 encoding of the file, "" = it is UTF-8."""
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
    """Return the text of a file, and the position that means all of it was read (its count of prompts is still 0).

    Raises:
        OSError: if the file cannot be read.
    """
    raw = path.read_bytes()
    end = Position(offset=len(raw), head=hashlib.sha256(raw).hexdigest()[:16])
    return decode_text(raw).replace("\0", ""), end


def unchanged(since: Position | None, end: Position) -> Transcript | None:
    """Return an empty transcript if the file is as it was when it was read up to `since`; None = it changed, or was never read."""
    same = since is not None and since.head == end.head and since.offset == end.offset
    return Transcript(end=since) if since is not None and same else None


def whole_transcript(
    builder: TurnBuilder, end: Position, *, session_id: str = "", cwd: str = "", bad: int = 0
) -> Transcript:
    """End the turns in `builder` and return them as the transcript of a file that is always read whole. Its end is `end` with the builder's count of prompts."""
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
_STAMP = lazy_regex(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?Z?$")


def take_message(builder: TurnBuilder, message: Fields) -> None:
    """Add one message with a role to `builder`, with its tool calls and results. Messages of other roles are ignored."""
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
    """Return the words inside Cursor's `<user_query>`, without what Cursor adds to a prompt; the whole text if there is none."""
    query, closed, _ = text.partition("<user_query>")[2].partition("</user_query>")
    return query.strip() if closed else text


def _when(value: object) -> int:
    """Convert a time to milliseconds since the epoch, also one at the end of a note ("model 2026-01-16 22:18:20Z"); 0 = it is no time."""
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
    """A function that reads the one session of a file from a position on; `subagents` = include what subagents were told."""

    def __call__(
        self, path: Path, since: Position | None = None, /, *, subagents: bool = False
    ) -> Transcript:
        """Read the session.

        Raises:
            OSError: if the file cannot be read.
        """
        ...


Readers = Mapping[str, Reader]
"""The reader of each format of a host, by the format's name."""


@frozen
class DetectedFormat:
    """The format of a transcript file, with what its beginning says about the session.

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


@frozen
class TranscriptInfo:
    """What is known of a file of past sessions before it is read.

    Attributes:
        host: whose it is; empty where only its content tells.
        path: the file.
        size_bytes, modified_ms: of the file.
        sessions: how many sessions it holds, as far as that is known without reading it.
        session_ids: their ids, oldest first; () = all there are.
        cwd: the project root it was looked up for.
    """

    host: str
    path: Path
    size_bytes: int
    modified_ms: int
    sessions: int
    session_ids: tuple[str, ...] = ()
    cwd: str = ""


def transcript_info(host: str, path: Path, session_ids: tuple[str, ...], root: str) -> TranscriptInfo | None:
    """Return what is known of a file of sessions without reading it; None = the file does not exist."""
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
