"""How a test speaks as the user: with a personal token, or at a terminal of its own.

A subprocess of a test has no terminal, so that what it states counts as an agent's. A test that means the user runs it with
`as_user(environ, home)`, asks a daemon with `DaemonClient(home, token=user_token(home))`, or runs it `at_terminal`.
"""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx2 as httpx
from starlette.applications import Starlette
from starlette.testclient import TestClient

from tacit.api.endpoints import ENDPOINTS
from tacit.api.routes import build_routes
from tacit.app.engine import Engine
from tacit.config.home import TOKEN_VARIABLE, Home
from tacit.hosts.registry import shell_variables
from tacit.model.changes import Change
from tacit.model.memory import Speaker, TrustTier
from tacit.safety.authority import SPEAKER_KEY, Authority

_made: dict[str, str] = {}


def user_token(home: Home | Path | str) -> str:
    """A personal token of `home`, made when there is none that holds."""
    place = home if isinstance(home, Home) else Home(Path(home))
    authority = Authority(place)
    token = _made.get(str(place.root), "")
    if not authority.admits_token(token):
        token = _made[str(place.root)] = authority.create(f"test {time.monotonic_ns()}")
    return token


def as_user(environ: Mapping[str, str], home: Home | Path | str) -> dict[str, str]:
    """`environ` for a program that speaks as the user of `home`."""
    return {**environ, TOKEN_VARIABLE: user_token(home)}


def store_as(tier: TrustTier, engine: Engine, content: str, **said: Any) -> tuple[Change, ...]:
    """Store what no entry point of the engine takes from a caller: a statement of a tier of its own, as capture does."""
    given = {
        "kind": None, "scope": None, "when": None, "cwd": "", "source": "session", "session": None, "pinned": False,
        "files": (), **said,
    }  # fmt: skip
    return engine._writing().memories.remember(content, tier=tier, **given)


def spoken_by(speaker: Speaker, app: Any) -> Any:
    """The ASGI application `app` as behind a server that knows that `speaker` speaks."""

    async def serve(scope: dict[str, Any], receive: object, send: object) -> None:
        await app({**scope, SPEAKER_KEY: speaker}, receive, send)

    return serve


def client_of(engine: Any, speaker: Speaker = Speaker.USER) -> TestClient:
    """A client of the API of `engine` in this process, through which `speaker` speaks; it fails on a status that the document lacks."""
    client = TestClient(spoken_by(speaker, Starlette(routes=build_routes(engine))), base_url="http://tacit")
    client.event_hooks = {"response": [_require_declared_status]}
    return client


def _require_declared_status(response: httpx.Response) -> None:
    for endpoint in ENDPOINTS:
        pattern = re.sub(r"\\{\w+\\}", "[^/]+", re.escape(endpoint.path))
        if endpoint.method == response.request.method and re.fullmatch(pattern, response.request.url.path):
            declared = {*endpoint.statuses, *endpoint.errors}
            assert response.status_code in declared, (
                f"{endpoint.name} does not declare {response.status_code}"
            )
            return


def at_terminal(
    command: Sequence[str],
    *,
    environ: Mapping[str, str],
    cwd: Path,
    typed: str = "",
    timeout_s: float = 120.0,
) -> tuple[int, str]:
    """Run `command` at a terminal of its own where `typed` is typed; its exit code and all that the terminal showed."""
    left_out = {*shell_variables(), TOKEN_VARIABLE}
    clean = {name: value for name, value in environ.items() if name not in left_out}
    ours, theirs = pty.openpty()
    with closing(os.fdopen(ours, "rb+", buffering=0)) as terminal:
        started = subprocess.Popen(
            command, stdin=theirs, stdout=theirs, stderr=theirs, cwd=cwd, env=clean, start_new_session=True
        )
        os.close(theirs)
        terminal.write(typed.encode())
        shown = b""
        until = time.monotonic() + timeout_s
        while time.monotonic() < until:
            if select.select([terminal], [], [], 0.05)[0]:
                try:
                    part = terminal.read(65_536)
                except OSError:  # the other end is closed
                    break
                if not part:
                    break
                shown += part
            elif started.poll() is not None:
                break
        else:
            started.kill()
        return started.wait(10), shown.decode("utf-8", "replace").replace("\r\n", "\n")
