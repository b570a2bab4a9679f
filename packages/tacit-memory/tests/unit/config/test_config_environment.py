"""What the environment of a process is told before numpy is loaded."""

from __future__ import annotations

from tacit.config.environment import ARRAY_THREADS, one_thread_for_arrays


def test_arrays_get_one_thread_unless_the_user_says_otherwise() -> None:
    environ = {"OMP_NUM_THREADS": "3"}
    one_thread_for_arrays(environ)
    assert environ == dict.fromkeys(ARRAY_THREADS, "1") | {"OMP_NUM_THREADS": "3"}
