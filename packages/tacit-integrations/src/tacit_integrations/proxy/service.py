"""The proxy as a server: its socket, its conversations, its HTTP client, and the file with its facts.

In: options. Out: a server that runs until it is stopped. It binds only 127.0.0.1, because every program that reaches it can send the
memory to a model of its choice.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import signal
import socket
import threading
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from pathlib import Path

import httpx2 as httpx
import uvicorn

from tacit import __version__
from tacit.client.proxy_facts import DEADLINE_MS, PORT, ProxyFacts, write_proxy
from tacit.config.home import Home
from tacit.errors import InvalidInput
from tacit.library.tacit import Tacit
from tacit.system.processes import born
from tacit.system.transport import listen_on_loopback
from tacit_integrations.conversations import Conversations
from tacit_integrations.exchange import Exchange
from tacit_integrations.proxy.app import Proxy
from tacit_integrations.proxy.journal import FileJournal
from tacit_integrations.proxy.upstreams import Upstreams

CONNECT_S = 30.0
BACKLOG = 512
SHUTDOWN_S = 5
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxyOptions:
    """The options of a proxy.

    Attributes:
        project: the folder of the project for requests that name none.
        port: port on 127.0.0.1; 0 = any free port.
        upstreams: the addresses of the APIs.
        capture: whether Tacit learns from the conversations.
        deadline_ms: longest time that the memory may take for one request.
    """

    project: Path
    port: int = PORT
    upstreams: Upstreams = field(default_factory=Upstreams.parse)
    capture: bool = False
    deadline_ms: float = DEADLINE_MS


class ProxyServer:
    """One proxy of a home. Call `run` on the main thread or a separate one; `stop` ends it."""

    def __init__(self, home: Home, options: ProxyOptions, memory: Tacit) -> None:
        """Listen on the port. The caller closes `memory`.

        Raises:
            InvalidInput: the port cannot be opened.
            StoreReadOnly: the home cannot be used.
        """
        home.ensure()
        self._home, self._options = home, options
        self._socket = _listen(options.port)
        self.port: int = self._socket.getsockname()[1]

        conversations = Conversations(
            lambda name, folder: memory.session(
                name,
                cwd=folder if os.path.isabs(folder) else options.project,  # noqa: PTH117 - what a header says is a text
                deadline_ms=options.deadline_ms,
                capture=options.capture,
            ),
            journal=FileJournal(home.proxy_journal),
        )
        self._exchange = Exchange(conversations, session="")
        self._server: uvicorn.Server | None = None
        self._stopped = False

    @property
    def facts(self) -> ProxyFacts:
        """Return the facts that `tacit status` shows."""
        return ProxyFacts(
            pid=os.getpid(),
            born_at=born(os.getpid()),
            port=self.port,
            version=__version__,
            project=str(self._options.project),
            openai=str(self._options.upstreams.openai),
            anthropic=str(self._options.upstreams.anthropic),
            capture=self._options.capture,
        )

    def run(self, *, ready: Callable[[], None] = lambda: None) -> None:
        """Serve until `stop` is called, or a signal arrives on the main thread. `ready` is called when the proxy accepts requests."""
        asyncio.run(self._serve(ready))

    async def _serve(self, ready: Callable[[], None]) -> None:
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=100)
        timeout = httpx.Timeout(
            None, connect=CONNECT_S
        )  # no read timeout: a model may take long, and the programs have timeouts of their own
        async with httpx.AsyncClient(limits=limits, timeout=timeout) as client:
            proxy = Proxy(
                self._exchange,
                self._options.upstreams,
                client,
                deadline_ms=self._options.deadline_ms,
                reads_answers=self._options.capture,
            )
            config = uvicorn.Config(
                proxy,
                http="httptools",
                ws="none",
                lifespan="off",
                log_config=None,
                log_level="critical",
                access_log=False,
                server_header=False,
                date_header=False,
                timeout_graceful_shutdown=SHUTDOWN_S,
                backlog=BACKLOG,
            )
            self._server = _ProxyServer(config)
            self._server.should_exit = self._stopped
            write_proxy(self._home, self.facts)
            try:
                with self._stopped_by_signals():
                    ready()
                    await self._server.serve(sockets=[self._socket])
            finally:
                with contextlib.suppress(OSError):
                    self._home.proxy_file(self.port).unlink()
                await asyncio.to_thread(proxy.close)

    def stop(self) -> None:
        """End `run`. Running streams get `SHUTDOWN_S` seconds, and none after a second call. Safe to call from another thread."""
        if self._server is not None:
            self._server.force_exit = self._stopped
            self._server.should_exit = True
        self._stopped = True

    def _on_signal(self, *_: object) -> None:
        self.stop()

    @contextlib.contextmanager
    def _stopped_by_signals(self) -> Generator[None]:
        """Stop the server at Ctrl-C and SIGTERM, so that the last answers are processed before the process ends."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        former = {number: signal.signal(number, self._on_signal) for number in _SIGNALS}
        try:
            yield
        finally:
            for number, handler in former.items():
                signal.signal(number, handler)


class _ProxyServer(uvicorn.Server):
    """A uvicorn server without signal handlers: those of uvicorn end the process before the proxy is closed."""

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        """Leave signals to `ProxyServer`."""
        yield


def _listen(port: int) -> socket.socket:
    try:
        return listen_on_loopback(port, backlog=BACKLOG)
    except OSError as error:
        reason = "is in use" if error.errno == errno.EADDRINUSE else f"cannot be opened: {error.strerror}"
        raise InvalidInput(
            f"Port {port} of 127.0.0.1 {reason}.",
            hint="`tacit status` shows whether a proxy runs; `--port 0` takes any free port.",
        ) from error
