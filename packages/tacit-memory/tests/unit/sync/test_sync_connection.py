"""What a server can do to who asks it: answer at length, slowly, or with words that a terminal would obey."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import httpx2 as httpx
import msgspec
import pytest

from tacit.errors import NotFound, SyncError
from tacit.sync import connection
from tacit.sync.connection import MAX_SAID, ServerConnection

URL = "https://sync.example"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What is asked for."""

    words: str = ""


class Stream(httpx.SyncByteStream):
    """A body in pieces; `pieces` counts those that were read."""

    def __init__(self, piece: bytes, *, most: int) -> None:
        self.piece, self.most, self.pieces = piece, most, 0

    def __iter__(self) -> Iterator[bytes]:
        while self.pieces < self.most:
            self.pieces += 1
            yield self.piece


def asking(reply: httpx.Response, **more: object) -> ServerConnection:
    client = httpx.Client(transport=httpx.MockTransport(lambda _: reply))
    return ServerConnection(URL, "ana.x", client=client, **more)  # type: ignore[arg-type]


def test_an_answer_is_read(monkeypatch):
    raw = msgspec.json.encode(Answer(words="yes"))
    assert asking(httpx.Response(200, content=raw)).ask(Answer, "GET", "/x") == Answer(words="yes")


def test_an_answer_without_end_is_given_up(monkeypatch):
    monkeypatch.setattr(connection, "MAX_ANSWER_BYTES", 10_000)
    stream = Stream(b"x" * 1_000, most=1_000)
    with pytest.raises(SyncError, match="too large"):
        asking(httpx.Response(200, stream=stream)).ask(Answer, "GET", "/x")
    assert stream.pieces == 11


def test_an_answer_that_drips_is_given_up():
    times = iter(range(0, 10_000, 100))
    stream = Stream(b"x", most=1_000)
    with pytest.raises(SyncError, match="does not come to its end"):
        asking(httpx.Response(200, stream=stream), monotonic_s=lambda: next(times)).ask(Answer, "GET", "/x")
    assert stream.pieces == 4


def test_what_a_server_says_of_an_error_is_short_and_cannot_be_obeyed():
    problem = {
        "code": "not_found",
        "detail": "No\x1b[2J team.\n" + "x" * 10_000,
        "hint": ["no text"],
        "more": 1,
    }
    with pytest.raises(NotFound) as error:
        asking(httpx.Response(404, json=problem)).ask(Answer, "GET", "/x")
    assert error.value.message.startswith("No [2J team. xx")
    assert len(error.value.message) == MAX_SAID
    assert error.value.hint == ""


@pytest.mark.parametrize("raw", [b"", b"[]", b"null", b"{", b"\xff", b'{"code": 1}', b"[" * 100_000])
def test_an_error_that_says_nothing_is_one_of_a_stranger(raw):
    with pytest.raises(SyncError, match="no Tacit server"):
        asking(httpx.Response(500, content=raw)).ask(Answer, "GET", "/x")


def test_a_closed_connection_says_so():
    closed = asking(httpx.Response(200, content=b"{}"))
    closed.close()
    with pytest.raises(SyncError, match="cannot be reached"):
        closed.ask(Answer, "GET", "/x")


def test_a_path_that_the_server_does_not_know_is_told_from_what_is_not_there():
    unknown = Answer(words="none")
    reply = httpx.Response(404, content=b"Not Found")
    assert asking(reply).ask(Answer, "GET", "/x", unknown=unknown) == unknown
    with pytest.raises(SyncError, match="no Tacit server"):
        asking(reply).ask(Answer, "GET", "/x")
    problem = httpx.Response(404, json={"code": "not_found", "detail": "No team."})
    with pytest.raises(NotFound):
        asking(problem).ask(Answer, "GET", "/x", unknown=unknown)
