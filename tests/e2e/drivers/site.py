"""A team server in this process, on the PostgreSQL of the run, with an organization of its own."""

from __future__ import annotations

import itertools
import os
import threading

import uvicorn

from e2e.drivers.machine import wait_for
from postgres_server import server as postgres
from tacit.ports.models import Embedder
from tacit_server.app import make_app
from tacit_server.postgres.connection import Connections
from tacit_server.postgres_logs import PostgresLogs
from tacit_server.teams import open_teams

_names = itertools.count()


class Site:
    """A server that can be stopped and started again at the same address."""

    def __init__(self, embedder: Embedder | None = None, *, organization: str = "") -> None:
        self.connections = Connections(postgres().dsn(), min_size=1, max_size=4)
        self.logs = PostgresLogs(self.connections)
        self.teams = open_teams(self.connections, self.logs, embedder=embedder)
        self.tag = f"{os.getpid()}-{next(_names)}"
        self.organization = organization or f"acme-{self.tag}"
        self.paths: list[str] = []
        self.port = 0
        self.start()

    def start(self) -> None:
        app = make_app(self.logs, teams=self.teams)

        async def noting(scope, receive, send):
            if scope["type"] == "http":
                self.paths.append(f"{scope['method']} {scope['path']}")
            await app(scope, receive, send)

        config = uvicorn.Config(noting, host="127.0.0.1", port=self.port, log_level="warning", lifespan="off")
        self.server = uvicorn.Server(config)
        self.thread = threading.Thread(target=self.server.run, daemon=True)
        self.thread.start()
        wait_for(lambda: self.server.started)
        self.port = self.server.servers[0].sockets[0].getsockname()[1]

    def stop(self) -> None:
        self.server.force_exit = True
        self.server.should_exit = True
        self.thread.join(timeout=20)

    def close(self) -> None:
        """Stop it, and let go of the database."""
        self.stop()
        self.connections.close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"
