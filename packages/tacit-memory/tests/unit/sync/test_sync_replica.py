"""The database of logs on a device, used by several threads."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from tacit.sync.replica import Replica


@pytest.mark.skipif(sys.version_info < (3, 12), reason="before Python 3.12 no statement is shared")
def test_threads_that_ask_at_once_get_the_answers_to_their_own_questions(tmp_path):
    replica = Replica(tmp_path / "sync.db")
    replica.put_fact("held", b"value")

    def wrong(name: str, expected: bytes | None) -> int:
        return sum(replica.fact(name) != expected for _ in range(3000))

    with ThreadPoolExecutor(3) as pool:
        asked = [
            pool.submit(wrong, *each) for each in (("held", b"value"), ("absent", None), ("held", b"value"))
        ]
        assert [one.result() for one in asked] == [0, 0, 0]
    replica.close()
