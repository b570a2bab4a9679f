"""Recordings: made by the code of a checkout, written, read.

In: a plan, a checkout or a commit. Out: a recording, as JSON holds it. Never writes one into the project.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

from tacit_evals.plain_install import SOURCE, code_of

FORMAT = 1
RECORDER = Path(__file__).with_name("recorder.py")

Recording = dict[str, Any]


def record(plan: Mapping[str, Any], *, source: Path, commit: str) -> Recording:
    """Carry out `plan` with the code of the checkout `source`, in a process of its own.

    Raises:
        SystemExit: if that code cannot do it, with what it printed.
    """
    with tempfile.TemporaryDirectory(prefix="same-packs-") as name:
        work = Path(name).resolve()
        plan_file, out = work / "plan.json", work / "out.json"
        plan_file.write_text(json.dumps(plan), "utf-8")
        (work / "user").mkdir()
        folder = work / "work"
        folder.mkdir()
        command = [sys.executable, "-P", str(RECORDER), str(plan_file), str(folder), str(out), str(source)]
        done = subprocess.run(
            command,
            env=_environment(source, work / "user"),
            cwd=work,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise SystemExit(f"The recorder failed with the code of {commit}:\n{done.stderr[-4000:]}")
        output = json.loads(out.read_text("utf-8"))
    hashes = {preset: hash_of(recalls) for preset, recalls in output["presets"].items()}
    return {"format": FORMAT, "commit": commit, "hashes": hashes, "plan": plan, **output}


def _environment(source: Path, user: Path) -> dict[str, str]:
    """The environment without the user's settings and home, with the code of `source` and one thread for arithmetic."""
    env = {name: value for name, value in os.environ.items() if not name.startswith(("TACIT_", "PYTHON"))}
    threads = dict.fromkeys(("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"), "1")
    return {**env, **threads, "HOME": str(user), "PYTHONPATH": str(code_of(source))}


def hash_of(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]


def write_recording(recording: Recording, file: Path) -> None:
    """Write a recording, compressed.

    Raises:
        SystemExit: if `file` is in the project.
    """
    if file.resolve().is_relative_to(SOURCE.resolve()):
        raise SystemExit(
            f"{file} is in the project; a recording may hold private statements. Name a file elsewhere."
        )
    with gzip.GzipFile(file, "wb", mtime=0) as target:
        target.write(json.dumps(recording).encode())


def read_recording(file: Path) -> Recording:
    """Read a recording.

    Raises:
        SystemExit: if `file` is none, or one of another format.
    """
    try:
        with gzip.open(file, "rb") as opened:
            recording = json.loads(opened.read())
    except (OSError, ValueError, EOFError) as error:
        raise SystemExit(f"{file} is no recording: {error}") from None
    if recording.get("format") != FORMAT:
        raise SystemExit(f"{file} has format {recording.get('format')}; this program knows {FORMAT}.")
    return cast(Recording, recording)


@contextmanager
def checkout(commit: str) -> Generator[tuple[Path, str]]:
    """The files of `commit` in a folder of their own, and its short name.

    Raises:
        SystemExit: if there is no such commit.
    """
    git = ["git", "-C", str(SOURCE)]
    revision = subprocess.run(
        [*git, "rev-parse", "--short", f"{commit}^{{commit}}"], capture_output=True, text=True, check=False
    )
    if revision.returncode:
        raise SystemExit(f"There is no commit {commit!r} here.")
    with tempfile.TemporaryDirectory(prefix="same-packs-") as name:
        archive = subprocess.run([*git, "archive", commit], capture_output=True, check=True)
        subprocess.run(["tar", "-x", "-C", name], input=archive.stdout, check=True)
        yield Path(name), revision.stdout.strip()


def present_commit() -> str:
    """The commit of this checkout, with a plus sign where files differ from it."""
    git = ["git", "-C", str(SOURCE)]
    revision = subprocess.run(
        [*git, "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False
    )
    changed = subprocess.run([*git, "status", "--porcelain"], capture_output=True, text=True, check=False)
    return f"{revision.stdout.strip() or 'unknown'}{'+' if changed.stdout.strip() else ''}"
