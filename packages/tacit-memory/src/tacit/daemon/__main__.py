"""`python -m tacit.daemon [--start-handle N] [--http-port N] [--debug]`: become the daemon of this home, if none is.

In: arguments, TACIT_HOME. Out: exit code 0, also when another daemon is there already; 1 when the home cannot be used.
Loads as little as possible before the lock is taken.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import os
import sys


def main() -> int:
    """Become the daemon of the home and serve until it is told to stop, was idle for long, or its home is gone. Blocks; ends the process itself.

    Return 0 if another daemon of this version or a newer one runs already, 1 if the home cannot be used.
    """
    parser = argparse.ArgumentParser(prog="tacit.daemon")
    parser.add_argument(
        "--start-handle", type=int, default=-1, help="handle of the start lock, closed once we hold ours"
    )
    parser.add_argument(
        "--http-port", type=int, default=None, help="also listen on this loopback port; 0 = any"
    )
    parser.add_argument("--debug", action="store_true", help="log more, messages of errors included")
    arguments = parser.parse_args()
    # What is imported stays: collections would only walk it again and again. `DaemonProcess` turns them on.
    gc.disable()
    # Looking for plugins reads the metadata of every installed package.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")

    from tacit.config.home import Home  # noqa: PLC0415 - see the module docstring
    from tacit.daemon.lifecycle import claim  # noqa: PLC0415
    from tacit.errors import TacitError  # noqa: PLC0415

    try:
        home = Home.find()
        claimed = claim(home)
    except TacitError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    finally:
        if arguments.start_handle > 2:
            with contextlib.suppress(OSError):
                os.close(arguments.start_handle)
    if claimed is None:
        return 0

    from tacit.config.environment import one_thread_for_arrays  # noqa: PLC0415
    from tacit.daemon.allocator import limit_arenas  # noqa: PLC0415

    limit_arenas()
    one_thread_for_arrays()
    from tacit.daemon.process import DaemonProcess  # noqa: PLC0415

    code = DaemonProcess(home, claimed, http_port=arguments.http_port, debug=arguments.debug).run()
    sys.stderr.flush()
    os._exit(code)  # a thread that hangs in foreign code must not keep the process


if __name__ == "__main__":
    raise SystemExit(main())
