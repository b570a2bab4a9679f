"""Facts about the proxies of a home: a file for each running proxy. In: a home. Out: values. Never starts or ends a proxy."""

from __future__ import annotations

import json
import socket
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, cast

from tacit.config.home import Home
from tacit.frozen import frozen
from tacit.system.files import write_whole
from tacit.system.processes import is_running

PORT = 8484
"""The default port of a proxy."""
DEADLINE_MS = 400.0
"""The default of the longest time that a request waits for memories, in milliseconds."""
CONNECT_S = 1.0


@frozen
class ProxyFacts:
    """The facts of a running proxy, as its file `run/proxy-PORT.json` holds them.

    Attributes:
        pid: id of its process, which began at `born_at` (see `born`).
        port: port on 127.0.0.1.
        version: version of Tacit.
        project: the folder of the project of its conversations.
        openai, anthropic: addresses of the APIs.
        capture: whether it learns from the conversations.
    """

    pid: int
    port: int
    version: str
    project: str
    openai: str
    anthropic: str
    capture: bool
    born_at: int = 0

    @property
    def answers(self) -> bool:
        """Whether its port accepts a connection; tries to connect, for up to `CONNECT_S`."""
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=CONNECT_S):
                return True
        except OSError:
            return False


def read_proxies(home: Home) -> tuple[ProxyFacts, ...]:
    """Return the proxies of `home` whose processes are running, ordered by port."""
    found: list[ProxyFacts] = []
    for path in sorted(home.run_dir.glob("proxy-*.json")):
        try:
            value: object = json.loads(path.read_bytes())
            facts = ProxyFacts(**cast("dict[str, Any]", value)) if isinstance(value, Mapping) else None
        except (OSError, ValueError, TypeError):
            continue
        if facts is not None and is_running(facts.pid, born_at=facts.born_at):
            found.append(facts)
    return tuple(sorted(found, key=lambda facts: facts.port))


def write_proxy(home: Home, facts: ProxyFacts) -> None:
    """Write the file with the facts of a running proxy, and delete the files of proxies that have ended.

    Raises:
        OSError: the home cannot be written.
    """
    serving = {home.proxy_file(proxy.port) for proxy in read_proxies(home)}
    for left in set(home.run_dir.glob("proxy-*.json")) - serving:
        left.unlink(missing_ok=True)
    write_whole(home.proxy_file(facts.port), json.dumps(asdict(facts)).encode())
