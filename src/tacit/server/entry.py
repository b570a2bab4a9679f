"""The console script `tacit-server`. In: arguments. Out: an exit code. If the extra `server` is not installed, it says which package is missing."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command."""
    try:
        from tacit.server.main import main as run  # noqa: PLC0415 - needs the extra
    except ImportError as error:
        sys.stderr.write(
            f'error {error.name} is not installed.\n      `pip install "tacit[server]"` installs what the server needs.\n'
        )
        sys.exit(1)
    run()
