"""For every run: time limits, threads, examples of Hypothesis, and what is cheaper done once than by some test.

A time limit only ends what hangs, so it is many times what a test takes: machines are slow, and busy with other things.
"""

from __future__ import annotations

import difflib
import gc
import os
import signal
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tacit.config.environment import one_thread_for_arrays
from tacit.config.home import Home

SLOW_S = 600
IN_MEMORY = "/dev/shm"
ROOM_BYTES = 4 << 30
pytest_plugins = ["engine_fixtures"]


def keep_files_in_memory() -> None:
    """Put the files of tests into memory where there is room for them: a store waits for a disk longer than it works."""
    if sys.platform != "linux" or "TMPDIR" in os.environ or not os.path.isdir(IN_MEMORY):  # noqa: PTH112
        return
    found = os.statvfs(IN_MEMORY)
    if found.f_bavail * found.f_frsize >= ROOM_BYTES and not found.f_flag & os.ST_NOEXEC:
        os.environ["TMPDIR"] = tempfile.tempdir = IN_MEMORY


keep_files_in_memory()

# Else every process of a run compiles every module anew: that doubles what collecting takes, and a command takes seconds.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
# As the daemon does it, and before numpy is loaded: the workers of a run are as many as the processors already.
one_thread_for_arrays()
# Collecting only adds objects that stay: a collector that walks all of them again and again takes a third of the time.
gc.disable()
# A shell that starts a run in the background ignores SIGINT, and every program started from it would do so too.
signal.signal(signal.SIGINT, signal.default_int_handler)

# How long an example takes says how busy the machine is, not whether the code is right. CI tries the same examples each time, so
# that a change is judged by what it changed; runs elsewhere and `just thorough` look for new ones.
settings.register_profile(
    "tacit",
    max_examples=20,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize="CI" in os.environ,
)
settings.register_profile("thorough", settings.get_profile("tacit"), max_examples=400, derandomize=False)
settings.load_profile("tacit")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--renew-golden", action="store_true", help="write the golden texts instead of comparing them"
    )


@pytest.fixture
def check_golden(pytestconfig: pytest.Config) -> Callable[[Path, str], None]:
    """Compare a golden file with the text that it must hold; with `--renew-golden`, write it."""
    renew = pytestconfig.getoption("--renew-golden")

    def check(file: Path, text: str) -> None:
        if renew:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, "utf-8")
        kept = file.read_text("utf-8") if file.is_file() else ""
        if text != kept:
            diff = "\n".join(
                difflib.unified_diff(kept.split("\n"), text.split("\n"), "kept", "now", n=1, lineterm="")
            )
            pytest.fail(f"{file.name} differs. `just golden` renews it.\n{diff}", pytrace=False)

    return check


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """A home that is ready for use."""
    made = Home(tmp_path / "home")
    made.ensure()
    return made


LONGEST = (
    "test_e2e_bad_input",
    "test_web_",
    "test_e2e_",
    "test_evals_",
    "test_why_not_properties",
)
"""Files that take minutes: with each file in one process, none of them is begun when the others are nearly done."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: not item.path.name.startswith(LONGEST))
    for item in items:
        slow = item.get_closest_marker("slow") or item.get_closest_marker("e2e")
        if slow and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(SLOW_S))


def pytest_collection_finish() -> None:
    """Two seconds that would count for some test; and what was collected is left alone by the collector from now on."""

    @settings(max_examples=1, database=None)
    @given(st.text())
    def draw(_text: str) -> None: ...

    draw()
    gc.freeze()
    gc.enable()
