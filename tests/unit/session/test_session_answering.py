"""What follows an answer waits for it, and is done whatever happens."""

from __future__ import annotations

from threading import Thread

import pytest

from tacit.session.answering import answering, when_answered


def test_jobs_wait_for_the_answer_in_order() -> None:
    done: list[str] = []
    with answering():
        when_answered(lambda: done.append("first"))
        when_answered(lambda: done.append("second"))
        assert done == []
    assert done == ["first", "second"]
    when_answered(lambda: done.append("at once"))
    assert done[-1] == "at once"


def test_a_failed_answer_loses_no_job() -> None:
    done: list[str] = []

    def answer() -> None:
        with answering():
            when_answered(lambda: done.append("kept"))
            raise OSError("gone")

    with pytest.raises(OSError, match="gone"):
        answer()
    assert done == ["kept"]


def test_other_threads_owe_nothing() -> None:
    done: list[str] = []
    with answering():
        other = Thread(target=lambda: when_answered(lambda: done.append("other")))
        other.start()
        other.join()
        assert done == ["other"]
