"""`tacit ui`: open the web page.

In: arguments. Out: the page in a browser, signed in by a code that works once and travels in the URL's fragment, which no
browser sends and no log sees. Starts the daemon where none runs.
"""

from __future__ import annotations

from typing import Annotated, Any

import typer

from tacit.cli.context import current_context
from tacit.cli.terminal.arguments import AsJson
from tacit.cli.terminal.output import print_json, print_line
from tacit.errors import DaemonError

PORT = 8423
"""The port that is tried first, so that a browser recognizes the page; if it is taken, any other is used."""
NEEDS_NODE = (
    "The page is not built here.",
    "With Node 20.19 or newer: `bash scripts/build_page.sh` in the clone. Everything else works without it.",
)


def ui(
    port: Annotated[
        int | None,
        typer.Option(help=f"Loopback port; 0 = any. Default: the one in the settings, else {PORT}."),
    ] = None,
    open_browser: Annotated[
        bool, typer.Option("--open/--no-open", help="Open a browser, or only print the address.")
    ] = True,
    as_json: AsJson = False,
) -> None:
    """Open the web page: what was given and why, all memories, settings."""
    import webbrowser

    from tacit.daemon.page.files import is_built

    if not is_built():
        raise DaemonError(NEEDS_NODE[0], hint=NEEDS_NODE[1])
    place = current_context()
    daemon = place.connect(place.home)
    daemon.ensure_running(15.0)
    listening = _listen(daemon, port)
    _, issued = daemon.request("POST", "/ui/code", timeout_s=10.0)
    url = f"http://127.0.0.1:{listening}/ui/#code={issued['code']}"
    opened = open_browser and not as_json and webbrowser.open(url)
    if as_json:
        print_json({"url": url, "port": listening})
        return
    if port not in (None, 0, listening):
        print_line(f"The daemon listens on {listening} already; `tacit stop` frees it.", style="yellow")
    print_line(
        "Opened in your browser:" if opened else "Open this address within two minutes; it works once:"
    )
    print_line(f"  {url}")


def _listen(daemon: Any, port: int | None) -> int:
    """Ask the daemon to listen on loopback TCP and return the port that it listens on. `port` None = `PORT`, or any free one if that is taken."""
    ports = (PORT, 0) if port is None else (port,)
    for number in ports[:-1]:
        try:
            return int(daemon.request("POST", "/listen", {"port": number}, timeout_s=10.0)[1]["port"])
        except DaemonError:
            continue
    return int(daemon.request("POST", "/listen", {"port": ports[-1]}, timeout_s=10.0)[1]["port"])
