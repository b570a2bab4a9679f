"""Completion in a real bash, with the script that typer installs, against a real daemon."""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

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
    tacit.write_text(
        f"#!{sys.executable}\nfrom tacit.cli.terminal.console_script import main\nmain()\n", encoding="utf-8"
    )
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
def test_bash_completes_ids_kinds_scopes_and_settings(sandbox, shell, report):
    assert shell("tacit show mem_") == [], "no daemon runs, and none is started"
    sandbox.tacit("remember", "Run make lint before every commit.")
    sandbox.tacit("remember", "The billing service listens on port 9090.")
    both = shell("tacit show mem_")
    assert [line.partition("  ")[2] for line in both] == [
        "The billing service listens on port 9090.",
        "Run make lint before every commit.",
    ]
    name = both[1].partition("  ")[0]
    assert shell(f"tacit why-not {name[-6:]}") == [name], "an ending becomes the whole id"
    assert shell("tacit list --kind anti") == ["anti_pattern"]
    assert any(scope.startswith("project:") for scope in shell("tacit edit x --scope pro"))
    assert shell("tacit remember --scope language : pyth") == ["python"], "bash breaks words at colons"
    assert shell("tacit config set recall.spaces sem") == ["semantic"]
    assert "recall.level" in shell("tacit config set recall.l")
    took: list[float] = []
    for _ in range(7):
        since = time.perf_counter()
        shell("tacit show mem_")
        took.append((time.perf_counter() - since) * 1000)
    report("completion of ids, bash and process included, median of 7, ms", f"{statistics.median(took):.0f}")


def test_the_console_script_is_the_one_that_completes():
    text = (Path(__file__).parents[2] / "packages/tacit-memory/pyproject.toml").read_text("utf-8")
    assert 'tacit = "tacit.cli.terminal.console_script:main"' in text
