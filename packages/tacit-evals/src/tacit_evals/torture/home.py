"""Many processes on one store while its daemon is killed again and again: nothing that was acknowledged may be lost.

Run: `python -m tacit_evals.torture [--seconds 60] [--embedder fake|minilm] [--json FILE]`; exit code 1 on any loss.

Eight writers (half through the daemon's socket, half with an engine of their own) and sixteen readers (twelve through the
socket, four with an engine) work in processes of their own. Every five seconds the daemon is killed with SIGKILL; the next
request starts another, as the hook client does. A writer puts every acknowledged statement into its own file before it
goes on. In the end each of them must be in the store exactly once, the store must be sound, and no process may be left.
"""

from __future__ import annotations

import argparse
import json
import os
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tacit.backends.sqlite import open_sqlite_store
from tacit.config.home import TOKEN_VARIABLE, Home
from tacit.errors import NotFound
from tacit.ports.store import MemoryFilter
from tacit.providers.clock import SystemClock
from tacit.safety.authority import Authority
from tacit_evals.daemon_under_test import post

WRITERS = 8
READERS = 16
DIRECT_READERS = 4
KILL_EVERY_S = 5.0
MARK = "TACIT_TORTURE_MARK"
_EVERYTHING = 10_000_000
_LEAVE_S = 20.0
_READY_S = 30.0
_FIRST_S = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class HomeCounts:
    """What was counted.

    Attributes:
        acknowledged: statements that a writer was told are stored; `by_socket`: those of them by the daemon.
        unacknowledged: tries whose answer never came; they may be stored or not.
        lost: acknowledged statements that are not in the store.
        doubled: statements that are in the store more than once.
        memories: active memories in the end.
        reads: answers that readers got; `unread`: tries without an answer, daemon gone or busy.
        bad_reads: answers that were wrong: half a reply, an error of ours, an acknowledged memory that is not there.
        kills: how often the daemon was killed; `daemons`: how many different ones were.
        problems: what the store's own check found.
        orphans: processes of this run that were alive after its end.
        stuck: workers that did not end by themselves.
    """

    acknowledged: int
    by_socket: int
    unacknowledged: int
    lost: int
    doubled: int
    memories: int
    reads: int
    unread: int
    bad_reads: int
    kills: int
    daemons: int
    problems: tuple[str, ...]
    orphans: tuple[int, ...]
    stuck: int

    @property
    def sound(self) -> bool:
        """Whether nothing was lost, doubled, damaged or left over, and something was done at all."""
        bad = self.lost or self.doubled or self.bad_reads or self.problems or self.orphans or self.stuck
        return not bad and self.acknowledged > self.by_socket > 0 and self.reads > 0


def expected_once(acknowledged: list[str], stored: list[str]) -> tuple[list[str], list[str]]:
    """Of what was acknowledged: what is lost; of what is stored: what is there more than once."""
    counts = Counter(stored)
    return [text for text in acknowledged if not counts[text]], [text for text, n in counts.items() if n > 1]


def torture(
    root: Path,
    *,
    seconds: float,
    embedder: str = "fake",
    writers: int = WRITERS,
    readers: int = READERS,
) -> HomeCounts:
    """Run everything on a home below `root` and look at what is left."""
    home = Home(root / "home")
    home.ensure()
    mark = secrets.token_hex(8)
    environment = {
        **os.environ,
        "TACIT_HOME": str(home.root),
        TOKEN_VARIABLE: Authority(home).create("torture"),
        "TACIT_EMBEDDER__PROVIDER": embedder,
        MARK: mark,
        "TACIT_TORTURE_FOLDER": str(root),
    }
    roles = [("write-direct" if number % 2 else "write-socket", number) for number in range(writers)]
    direct = min(DIRECT_READERS, readers // 4)
    roles += [("read-direct" if number < direct else "read-socket", number) for number in range(readers)]
    stop = root / "stop"
    workers = [_worker(role, number, environment) for role, number in roles]
    pids: set[int] = set()
    try:
        _wait_ready(root, len(workers))
        kills = _keep_killing(root, home, seconds, KILL_EVERY_S, pids)
    finally:
        stop.touch()
        stuck = sum(_ended(worker) for worker in workers)
        _end_daemon(home)
    orphans = _marked(mark)
    outcome = _examined(root, home, kills=kills, daemons=len(pids), orphans=orphans, stuck=stuck)
    for pid in orphans:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return outcome


def _worker(role: str, number: int, environment: dict[str, str]) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "tacit_evals.torture.worker", role, str(number)]
    return subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL)


def _wait_ready(root: Path, workers: int) -> None:
    """Let everybody load what they need before the clock starts; whoever is late joins later."""
    until = time.monotonic() + _READY_S
    while len(list(root.glob("ready-*"))) < workers and time.monotonic() < until:
        time.sleep(0.05)
    (root / "go").touch()


def _ended(worker: subprocess.Popen[bytes]) -> bool:
    """Wait for a worker; True when it had to be killed or failed."""
    try:
        return worker.wait(timeout=60) != 0
    except subprocess.TimeoutExpired:
        worker.kill()
        worker.wait()
        return True


def _keep_killing(root: Path, home: Home, seconds: float, every_s: float, pids: set[int]) -> int:
    """Kill the daemon every `every_s` for `seconds`; returns how often.

    On a slow machine it goes on for up to `_FIRST_S`, until a daemon was killed once and one write by socket was acknowledged.
    """
    until = time.monotonic() + seconds
    kills = 0
    while (seconds_left := until - time.monotonic()) > 0:
        time.sleep(min(every_s, seconds_left))
        if time.monotonic() >= until:
            break
        kills += _kill_daemon(home, pids)
    latest = time.monotonic() + _FIRST_S
    while time.monotonic() < latest and not (kills and _written_by_socket(root)):
        time.sleep(0.1)
        if not kills:
            kills += _kill_daemon(home, pids)
    return kills


def _kill_daemon(home: Home, pids: set[int]) -> bool:
    """Whether there was a daemon to kill."""
    pid = _daemon_pid(home)
    if not pid:
        return False
    pids.add(pid)
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def _written_by_socket(root: Path) -> bool:
    return any(path.stat().st_size for path in root.glob("acknowledged-write-socket-*"))


def _daemon_pid(home: Home) -> int:
    try:
        return int(json.loads(home.daemon_file.read_bytes())["pid"])
    except (OSError, ValueError, KeyError):
        return 0


def _end_daemon(home: Home) -> None:
    with suppress(OSError):
        post(home, "/stop", b"", timeout_s=5.0)
    until = time.monotonic() + _LEAVE_S
    while home.daemon_file.exists() and time.monotonic() < until:
        time.sleep(0.05)


def _marked(mark: str) -> tuple[int, ...]:
    """Living processes whose environment carries `mark`; gives those that are leaving a moment."""
    variable = f"{MARK}={mark}".encode()
    until = time.monotonic() + 5.0
    while True:
        pids = [
            int(entry.name)
            for entry in Path("/proc").iterdir()
            if entry.name.isdigit() and _holds(entry, variable)
        ]
        if not pids or time.monotonic() > until:
            return tuple(pids)
        time.sleep(0.1)


def _holds(entry: Path, variable: bytes) -> bool:
    try:
        return variable in (entry / "environ").read_bytes().split(b"\0")
    except OSError:
        return False


def _examined(
    root: Path, home: Home, *, kills: int, daemons: int, orphans: tuple[int, ...], stuck: int
) -> HomeCounts:
    acknowledged: list[str] = []
    by_socket = 0
    counts: Counter[str] = Counter()
    lost_ids = 0
    store = open_sqlite_store(home, clock=SystemClock())
    try:
        everything = store.scopes()
        for path in sorted(root.glob("acknowledged-*")):
            for line in path.read_text("utf-8").splitlines():
                entry = json.loads(line)
                acknowledged.append(entry["content"])
                by_socket += "socket" in path.name
                try:
                    lost_ids += store.resolve(entry["id"], scope=everything).content != entry["content"]
                except NotFound:
                    lost_ids += 1
        for path in root.glob("counts-*"):
            counts.update(json.loads(path.read_text("utf-8")))
        stored = [m.content for m in store.list_memories(MemoryFilter(), scope=everything, limit=_EVERYTHING)]
        problems = store.check()
    finally:
        store.close()
    lost, doubled = expected_once(acknowledged, stored)
    return HomeCounts(
        acknowledged=len(acknowledged),
        by_socket=by_socket,
        unacknowledged=counts["unacknowledged"],
        lost=max(len(lost), lost_ids),
        doubled=len(doubled),
        memories=len(stored),
        reads=counts["reads"],
        unread=counts["unread"],
        bad_reads=counts["bad"],
        kills=kills,
        daemons=daemons,
        problems=problems,
        orphans=orphans,
        stuck=stuck,
    )


def main() -> None:
    """Run, print the counts, exit 1 on any loss."""
    parser = argparse.ArgumentParser(
        prog="tacit_evals.torture", description=__doc__.splitlines()[0] if __doc__ else ""
    )
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--embedder", choices=("fake", "minilm"), default="fake")
    parser.add_argument("--writers", type=int, default=WRITERS)
    parser.add_argument("--readers", type=int, default=READERS)
    parser.add_argument("--json", type=Path, help="also write the counts to this file")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tt-", dir="/tmp") as folder:
        outcome = torture(
            Path(folder),
            seconds=options.seconds,
            embedder=options.embedder,
            writers=options.writers,
            readers=options.readers,
        )
    table = Table(
        title=f"{options.writers} writers, {options.readers} readers, {options.seconds:g} s, {options.embedder} embedder"
    )
    table.add_column("counted")
    table.add_column("", justify="right")
    for name, value in asdict(outcome).items():
        table.add_row(name, str(value if isinstance(value, int) else list(value)))
    table.add_row("verdict", "sound" if outcome.sound else "NOT SOUND")
    Console().print(table)
    if options.json:
        options.json.write_text(json.dumps(asdict(outcome), indent=1) + "\n", "utf-8")
    raise SystemExit(0 if outcome.sound else 1)
