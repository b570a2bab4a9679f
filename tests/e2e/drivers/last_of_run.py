"""Ends the long-lived programs of a test run that is itself killed. In: ids of group leaders. A process of its own waits for the end of the run."""

from __future__ import annotations

import functools
import subprocess
import sys

from tacit.system.processes import born, end_group, is_running


def end_with_run(pid: int) -> None:
    """Have the group that `pid` leads killed when this process is gone, however it ends."""
    asked = _watcher().stdin
    assert asked is not None
    asked.write(f"{pid} {born(pid)}\n")
    asked.flush()


@functools.cache
def _watcher() -> subprocess.Popen[str]:
    """Start the process that waits; it ends with this one."""
    return subprocess.Popen(
        [sys.executable, "-P", __file__], stdin=subprocess.PIPE, text=True, start_new_session=True
    )


def _watch() -> None:
    """Read ids until nobody can write any more, then kill those groups whose leaders still run."""
    for line in sys.stdin.readlines():
        pid, born_at = map(int, line.split())
        if is_running(pid, born_at=born_at):
            end_group(pid)


if __name__ == "__main__":
    _watch()
