"""What start-up costs without other packages."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.slow
def test_built_in_stores_and_models_are_opened_without_a_look_at_the_installed_packages(tmp_path: Path):
    code = (
        "import sys\n"
        "read = []\n"
        "def note(event, given):\n"
        "    if event == 'open' and str(given[0]).endswith('entry_points.txt'):\n"
        "        read.append(given[0])\n"
        "sys.addaudithook(note)\n"
        "from tacit.app.wiring import Hosts, open_engine\n"
        "engine = open_engine()\n"
        "engine.hook('plain', {'event': 'start', 'session': 's', 'cwd': '/'}, deadline_ms=10000)\n"
        "engine.close()\n"
        "print(read)\n"
        "assert list(Hosts()) and read, 'the check itself sees nothing'\n"
    )
    environ = {
        **os.environ,
        "TACIT_HOME": str(tmp_path / "home"),
        "TACIT_EMBEDDER__PROVIDER": "fake",
        "PYDANTIC_DISABLE_PLUGINS": "__all__",  # as the daemon does it
    }
    done = subprocess.run(
        [sys.executable, "-c", code], env=environ, capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")
