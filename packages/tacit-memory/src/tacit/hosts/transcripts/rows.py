"""Rows of a transcript file. In: a file and the position where reading stopped. Out: JSON objects, and where to go on.

A file of JSON lines grows: it is read from the position on, from the start when it is another one or has shrunk, and a
last line that was not written to its end is left for the next reading. Other files are read whole, or not at all when
nothing changed. Never writes, never fails on a bad line.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import BinaryIO, TypeVar, cast

import msgspec

from tacit.hosts.transcripts.assemble import TurnBuilder
from tacit.hosts.transcripts.turn import Transcript
from tacit.state.captured import Position
from tacit.text.decoding import decode_text, utf_16_of

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
    """A reading of a file of JSON lines; iterate it once, then ask for `end`. Mutable.

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

    def __iter__(self) -> Iterator[Fields]:
        """The rows, in order.

        Raises:
            OSError: if the file cannot be read.
        """
        return cast("Iterator[Fields]", self.read(parse_json, dict))

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

    def builder(self) -> TurnBuilder:
        """A builder that counts on from where the earlier reading stopped; ask after the first row."""
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
