"""`tacit proxy`. In: arguments. Out: a proxy that runs until it is stopped. `tacit` finds it as an entry point of the group `tacit.commands`."""

from __future__ import annotations

import logging
import sys
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from threading import Thread
from typing import Annotated

import typer

from tacit.cli.context import current_context
from tacit.cli.terminal.arguments import AsJson
from tacit.cli.terminal.output import print_json, print_line
from tacit.client.daemon_client import DaemonClient
from tacit.client.proxy_facts import DEADLINE_MS, PORT, ProxyFacts
from tacit.config.home import Home
from tacit.errors import TacitError
from tacit.library.tacit import Tacit
from tacit_integrations.proxy.service import ProxyOptions, ProxyServer
from tacit_integrations.proxy.upstreams import Upstreams

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command()
def proxy(
    port: Annotated[int, typer.Option(min=0, max=65_535, help="Loopback port; 0 = any.")] = PORT,
    project: Annotated[Path, typer.Option(help="Folder whose project the conversations are about.")] = Path(),
    openai: Annotated[
        str, typer.Option(metavar="URL", help="The OpenAI API, as OPENAI_BASE_URL names it.")
    ] = "https://api.openai.com/v1",
    anthropic: Annotated[
        str, typer.Option(metavar="URL", help="The Anthropic API, as ANTHROPIC_BASE_URL names it.")
    ] = "https://api.anthropic.com",
    capture: Annotated[
        bool, typer.Option("--capture/--no-capture", help="Learn from the conversations.")
    ] = False,
    deadline_ms: Annotated[
        float,
        typer.Option(
            min=50, max=10_000, help="Longest time in milliseconds that a request waits for memories."
        ),
    ] = DEADLINE_MS,
    as_json: AsJson = False,
) -> None:
    """Run a proxy that gives a memory to programs that speak the OpenAI or Anthropic API.

    It listens on 127.0.0.1 and sends every request on to its API, with the memories that it needs. Answers come back unchanged.
    """
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(levelname)s %(message)s")
    home = current_context().home
    options = ProxyOptions(
        project=project.absolute(),
        port=port,
        upstreams=Upstreams.parse(openai=openai, anthropic=anthropic),
        capture=capture,
        deadline_ms=deadline_ms,
    )
    if not options.project.is_dir():
        raise typer.BadParameter(f"{options.project} is not a folder.", param_hint="--project")
    with Tacit.connect(home.root, cwd=options.project) as memory:
        server = ProxyServer(home, options, memory)
        # Start the daemon now, so that the first request does not wait for it.
        Thread(target=_start_daemon, args=(home,), name="tacit-proxy-daemon", daemon=True).start()
        server.run(ready=lambda: _say_how(server.facts, as_json=as_json))


def _start_daemon(home: Home) -> None:
    with suppress(TacitError):  # requests are sent without memories, and the log has the reason
        DaemonClient(home).ensure_running()


def _say_how(facts: ProxyFacts, *, as_json: bool) -> None:
    address = f"http://127.0.0.1:{facts.port}"
    if as_json:
        print_json({**asdict(facts), "url": address})
        sys.stdout.flush()  # a program that started this command may wait for the address
        return
    learns = "it learns from them" if facts.capture else "it learns nothing from them (--capture)"
    print_line(f"Tacit proxy on {address}, for conversations about {facts.project}; {learns}")
    print_line(f"  OpenAI     export OPENAI_BASE_URL={address}/v1      -> {facts.openai}")
    print_line(f"  Anthropic  export ANTHROPIC_BASE_URL={address}      -> {facts.anthropic}")
    print_line("  Headers    X-Tacit: off, X-Tacit-Session: NAME, X-Tacit-Project: FOLDER")
    sys.stdout.flush()
