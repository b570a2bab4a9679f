"""The torture run finds losses, and a short one finds none."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path

import pytest

from tacit_evals.torture.home import expected_once, torture
from tacit_evals.torture.worker import Worker, statement


def test_lost_and_doubled_statements_are_named():
    assert expected_once(["a", "b"], ["a", "b", "never told"]) == ([], [])
    assert expected_once(["a", "b"], ["a"]) == (["b"], [])
    assert expected_once(["a"], ["a", "a", "c", "c"]) == ([], ["a", "c"])


def test_statements_share_few_words():
    chance = random.Random(1)
    texts = [statement(chance, "w", number) for number in range(200)]
    words = [set(text.split()) - {"The", "holds", "for"} for text in texts]
    assert max(len(a & b) for i, a in enumerate(words) for b in words[:i]) <= 3


def test_a_reader_never_takes_a_half_written_line(tmp_path):
    worker = Worker("read-socket", 0, tmp_path)
    assert worker.acknowledged() is None
    worker.acknowledge("first", "mem_1")
    with (tmp_path / "acknowledged-write-direct-1").open("a") as opened:
        opened.write('{"id": "mem_2", "cont')
    assert all(worker.acknowledged() in (None, {"id": "mem_1", "content": "first"}) for _ in range(20))


@pytest.mark.slow
@pytest.mark.long
def test_a_short_run_with_a_killed_daemon_loses_nothing():
    # Below /tmp and not in `tmp_path`: the socket's path has to be short.
    with tempfile.TemporaryDirectory(prefix="tt-", dir="/tmp") as folder:
        outcome = torture(Path(folder), seconds=6.0, writers=4, readers=4, kill_every_s=3.0)
        assert outcome.sound, outcome
        assert outcome.kills >= 1
