"""The command line's way to the daemon. In: method, path, values. Out: what it answered. Starts it when needed."""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Mapping
from typing import Any

from tacit.cli.context import current_context
from tacit.cli.terminal.interaction import Progress
from tacit.errors import TacitError

START_TIMEOUT_S = 15.0
LOOK_EVERY_S, LOOK_TIMEOUT_S = 0.15, 5.0
"""Seconds between two questions about the daemon's progress, and the time limit of each."""
REQUEST_TIMEOUT_S = 600.0


def ask(method: str, path: str, values: Mapping[str, object] | None = None) -> Any:
    """Send a request to the daemon and return its answer; starts a daemon if none runs.

    `values` go into the braces of `path`, and into the query string or a JSON body.

    Raises:
        TacitError: what the daemon answered, or that none could be started.
    """
    place = current_context()
    place.connect(place.home).ensure_running(START_TIMEOUT_S)
    return ask_running(method, path, values)


def ask_all(path: str, name: str, values: Mapping[str, object] | None = None) -> dict[str, Any]:
    """Get a list with all its pages: return the answer of `GET path`, with the rows of every page under `name`."""
    answer: dict[str, Any] = ask("GET", path, values)
    while cursor := answer["next_cursor"]:
        part: dict[str, Any] = ask("GET", path, {**(values or {}), "cursor": cursor})
        answer = {**part, name: [*answer[name], *part[name]]}
    return answer


def ask_with_progress(
    method: str, path: str, values: Mapping[str, object], job: str, what: str, *, quiet: bool
) -> Any:
    """Send a request as `ask` does, and wait for the answer while a bar shows the progress of the daemon's job `job` (from `GET /v1/jobs`).

    `what` says what is being done; `quiet` = no bar.

    Raises:
        TacitError: what the daemon answered, or that none could be started.
    """
    if quiet:
        return ask(method, path, values)
    from concurrent.futures import ThreadPoolExecutor

    context = contextvars.copy_context()
    with ThreadPoolExecutor(max_workers=1) as executor, Progress(what) as progress:
        answer = executor.submit(context.run, ask, method, path, values)
        while not answer.done():
            jobs: list[dict[str, Any]] = []
            with contextlib.suppress(TacitError):  # it is being started, or is too busy to say
                jobs = ask_running("GET", "/v1/jobs", timeout_s=LOOK_TIMEOUT_S)["jobs"]
            for entry in jobs:
                if entry["name"] == job and entry["state"] == "running":
                    progress.update(entry["done"], entry["whole"])
            with contextlib.suppress(TimeoutError):
                answer.exception(timeout=LOOK_EVERY_S)
        return answer.result()


def ask_running(
    method: str,
    path: str,
    values: Mapping[str, object] | None = None,
    *,
    timeout_s: float = REQUEST_TIMEOUT_S,
) -> Any:
    """Send a request to the running daemon and return its answer, as `ask` does, but start none."""
    from tacit.client.http_request import path_and_body

    place = current_context()
    path, body = path_and_body(method, path, values or {})
    return place.connect(place.home).request(method, path, body, timeout_s=timeout_s)[1]
