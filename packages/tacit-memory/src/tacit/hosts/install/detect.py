"""Which hosts are on this machine.

In: the user's home and PATH. Out: name, version, folder. Starts a host only to ask its version where no package file
tells it. Never writes.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tacit.hosts.built_in import BuiltInHost
from tacit.hosts.registry import BUILT_IN

_VERSION = re.compile(r"\d+\.\d+\.\d+(?:[-+.\w]*)?")
_TIMEOUT_S = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class DetectedHost:
    """A host that was found. `version` may be empty."""

    name: str
    version: str
    executable: Path


def detect(user_home: Path, path_env: str) -> tuple[DetectedHost, ...]:
    """Find the hosts on `path_env` and in the places where their own installers put them."""
    detected: list[DetectedHost] = []
    for host in BUILT_IN.values():
        executable = _executable(host, user_home, path_env)
        if executable is not None:
            version = _package_version(executable, host.npm_packages) or _asked_version(
                executable, user_home, path_env
            )
            detected.append(DetectedHost(name=host.name, version=version, executable=executable))
    return tuple(detected)


def find_executable(host: str, user_home: Path, path_env: str) -> Path | None:
    """The host's program, found as `detect` finds it but without asking for its version; None = not on this machine."""
    known = BUILT_IN.get(host)
    return _executable(known, user_home, path_env) if known else None


def _executable(host: BuiltInHost, user_home: Path, path_env: str) -> Path | None:
    on_path = shutil.which(host.program, path=path_env) if path_env else None
    if on_path:
        return Path(on_path)
    for place in host.places:
        file = user_home / place
        if os.access(file, os.X_OK) and file.is_file():
            return file
    return None


def _package_version(executable: Path, packages: tuple[str, ...]) -> str:
    """The version in the `package.json` above the executable, if that is the host's own package."""
    try:
        for folder in executable.resolve().parents[:4]:
            file = folder / "package.json"
            if file.is_file():
                facts = json.loads(file.read_text(encoding="utf-8"))
                if isinstance(facts, dict) and facts.get("name") in packages:  # pyright: ignore[reportUnknownMemberType]
                    return str(facts.get("version", ""))  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
    except (OSError, ValueError):
        return ""
    return ""


def _asked_version(executable: Path, user_home: Path, path_env: str) -> str:
    try:
        answer = subprocess.run(
            [str(executable), "--version"],
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_S,
            check=False,
            stdin=subprocess.DEVNULL,
            env={"HOME": str(user_home), "PATH": path_env, "TERM": "dumb"},
        )
    except (OSError, subprocess.SubprocessError, ValueError):
        return ""
    match = _VERSION.search(answer.stdout)
    return match.group() if match else ""
