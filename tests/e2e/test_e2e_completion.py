"""Completion in a real bash, with the script that typer installs, against a real daemon."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]
BASH = shutil.which("bash") or ""


@pytest.fixture
def shell(sandbox, tmp_path):
    """Types a line into bash and gives what the tab key would offer; `tacit` is the console script of this environment."""
    script = sandbox.tacit("--show-completion", "bash").stdout
    bin_folder = tmp_path / "bin"
    bin_folder.mkdir()
    tacit = bin_folder / "tacit"
    tacit.write_text(f"#!{sys.executable}\nfrom tacit.cli.main import main\nmain()\n", encoding="utf-8")
    tacit.chmod(0o755)

    def offered(line: str) -> list[str]:
        words = line.split(" ")
        typed = " ".join(f"'{word}'" for word in words)
        program = (
            f"{script}\nCOMP_WORDS=({typed})\nCOMP_CWORD={len(words) - 1}\n"
            "_tacit_completion tacit\nprintf '%s\\n' \"${COMPREPLY[@]}\"\n"
        )
        environment = sandbox.environment()
        path = f"{bin_folder}{os.pathsep}{environment['PATH']}"
        done = subprocess.run(
            [BASH, "--norc", "-c", program], cwd=sandbox.project, env={**environment, "PATH": path},
            capture_output=True, text=True, timeout=60,
        )  # fmt: skip
        assert done.stderr == ""
        return [line for line in done.stdout.splitlines() if line]

    return offered


@pytest.mark.skipif(not BASH, reason="no bash")
def test_bash_completes_commands_options_and_ids(sandbox, shell):
    assert shell("tacit show mem_") == [], "no daemon runs, and none is started"
    sandbox.tacit("remember", "Run make lint before every commit.")
    sandbox.tacit("remember", "The billing service listens on port 9090.")
    both = shell("tacit show mem_")
    assert len(both) == 2
    assert all(name.startswith("mem_") for name in both)
    assert shell("tacit forg") == ["forget"]
    assert "--pin" in shell("tacit remember --p")
