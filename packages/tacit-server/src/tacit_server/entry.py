"""The console script `tacit-server`. In: arguments. Out: an exit code. If the extra `server` is not installed, it says which package is missing."""

from __future__ import annotations

import sys

from tacit.errors import install_extra


def main() -> None:
    """Run the command `tacit-server`. If its dependencies are not installed, say how to install them and exit with 1."""
    try:
        from tacit_server.main import main as run  # noqa: PLC0415 - needs the extra
    except ImportError as error:
        sys.stderr.write(f"error {error.name} is not installed.\n      {install_extra('server')}\n")
        sys.exit(1)
    run()
