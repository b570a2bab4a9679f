"""Fifty streams through one proxy at once, one of them killed: each program gets its own answer, whole and as it comes."""

from __future__ import annotations

import json
import re
import threading
from pathlib import Path

import httpx2 as httpx
import pytest

from proxies import ScriptedMemory, api, proxy, without_blocks

pytestmark = pytest.mark.slow

STREAMS = 50
PIECES = 20
KILLED = 7


def pieces_of(body: bytes) -> list[bytes]:
    """Return the pieces of an answer. Each names the number of its request."""
    found = re.search(rb"stream-(\d+)-", body)
    assert found
    return [b"data: %s.%d %s\n\n" % (found[1], number, b"x" * 2_000) for number in range(PIECES)]


def test_fifty_streams_at_once_one_of_them_killed(tmp_path: Path) -> None:
    memory = ScriptedMemory()
    memory.delay_s = 0.02
    begun = threading.Barrier(STREAMS + 1)
    answers: dict[int, bytes] = {}
    bodies = {
        number: json.dumps(
            {"model": "m", "stream": True, "messages": [{"role": "user", "content": f"stream-{number}- go on"}]}
        ).encode()
        for number in range(STREAMS)
    }  # fmt: skip

    with api() as upstream, proxy(tmp_path / "home", memory, upstream.url) as running:
        upstream.answers = pieces_of
        upstream.headers = [("content-type", "text/event-stream")]

        def one(number: int) -> None:
            url = f"{running.url}/v1/messages"
            with (
                httpx.Client(timeout=30) as client,
                client.stream("POST", url, content=bodies[number]) as answer,
            ):
                arriving = answer.iter_raw()
                first = next(arriving)
                begun.wait(30)
                if number == KILLED:
                    return  # closes its connection in the middle
                answers[number] = first + b"".join(arriving)

        threads = [threading.Thread(target=one, args=(number,)) for number in range(STREAMS)]
        for thread in threads:
            thread.start()
        begun.wait(30)  # every program has the first piece of its answer, while the API holds back all others
        upstream.go.set()
        for thread in threads:
            thread.join(30)

        assert sorted(answers) == [number for number in range(STREAMS) if number != KILLED]
        for number, answer in answers.items():
            assert answer == b"".join(pieces_of(b"stream-%d-" % number))
        arrived = sorted(without_blocks(request.body) for request in upstream.arrived)
        assert arrived == sorted(bodies.values())
        assert all(request.body.count(b"<tacit-memory") == 2 for request in upstream.arrived)
        assert running.post("/v1/messages", bodies[0]).status_code == 200
