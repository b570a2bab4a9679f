"""What follows an answer waits for it, and is done whatever happens; other calls give way to it."""

from __future__ import annotations

from threading import Event, Thread

import pytest

from tacit.session.answer_priority import pending_answer, run_after_answer, wait_for_pending_answers


def test_jobs_wait_for_the_answer_in_order() -> None:
    done: list[str] = []
    with pending_answer():
        run_after_answer(lambda: done.append("first"))
        run_after_answer(lambda: done.append("second"))
        assert done == []
    assert done == ["first", "second"]
    run_after_answer(lambda: done.append("at once"))
    assert done[-1] == "at once"


def test_a_failed_answer_loses_no_job() -> None:
    done: list[str] = []

    def answer() -> None:
        with pending_answer():
            run_after_answer(lambda: done.append("kept"))
            raise OSError("gone")

    with pytest.raises(OSError, match="gone"):
        answer()
    assert done == ["kept"]


def test_other_threads_owe_nothing() -> None:
    done: list[str] = []
    with pending_answer():
        other = Thread(target=lambda: run_after_answer(lambda: done.append("other")))
        other.start()
        other.join()
        assert done == ["other"]


def test_calls_give_way_until_the_last_answer_is_out() -> None:
    owed, out, gone = Event(), Event(), Event()

    def answer() -> None:
        with pending_answer():
            owed.set()
            out.wait(3)

    def call() -> None:
        if wait_for_pending_answers(3):
            gone.set()

    assert wait_for_pending_answers(0)
    threads = [Thread(target=answer), Thread(target=call)]
    threads[0].start()
    assert owed.wait(3)
    threads[1].start()
    assert not gone.wait(0.05)
    out.set()
    assert gone.wait(3)
    for thread in threads:
        thread.join()


def test_nobody_gives_way_for_ever() -> None:
    with pending_answer():
        assert not wait_for_pending_answers(0.01)
    assert wait_for_pending_answers(0)
