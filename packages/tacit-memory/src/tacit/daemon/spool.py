"""Events that hooks kept while no daemon answered.

In: files in `spool/`, a line of JSON (`host`, `event`, `at_ms`, `project_dir`) and then what the hook kept of the host's payload. Out: the engine has
handled them, oldest first, and the files are gone. A file that cannot be read is removed and counted; one that the engine could not
take yet stays, a week at most; one that holds words of a conversation, an hour at most. What a hook did not finish is read, too, once
that hook is gone.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Mapping
from pathlib import Path
from threading import Lock
from typing import Protocol, cast

from tacit.errors import InvalidPayload, NotFound, TacitError
from tacit.frozen import frozen
from tacit.text.decoding import decode_text

MOST_AT_ONCE = 200
KEPT_S = 7 * 86_400.0
UNFINISHED_S = 10.0
"""Seconds after which the hook that began to write a file is assumed to have ended."""
TEXT_KEPT_S = 3_600.0
"""Events with words in them are deleted unread after this; `tacit_hook` does the same while no daemon runs."""
EVENT, WITH_TEXT, START_GIVEN, UNFINISHED = ".event", "-text.event", "-start.event", ".tmp"
"""Ends of the names: any event, one with words in it, the start of a session that has its block already, one that its hook has not finished."""
_SESSION_FIELDS = ("session_id", "conversation_id", "session", "key")

_LOG = logging.getLogger(__name__)


class Take(Protocol):
    """A function that handles one kept event. `at_ms` = when it happened, None = unknown; `given` = the session has its start block already."""

    def __call__(
        self, host: str, payload: Mapping[str, object], *, at_ms: int | None, given: bool, project_dir: str
    ) -> object:
        """Handle the event `payload` of `host`. InvalidPayload or NotFound = it is unusable; another TacitError = keep it for later."""
        ...


@frozen
class DrainReport:
    """How many events of a drain were handled, deleted as unusable, and left for later."""

    taken: int = 0
    refused: int = 0
    left: int = 0


class Spool:
    """The folder of events that hooks kept while no daemon answered. Thread-safe; each event is handled once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = Lock()

    def drain(self, take: Take, *, now_s: float | None = None) -> DrainReport:
        """Hand the waiting events to `take`, oldest first, at most `MOST_AT_ONCE`, and delete their files; stop at the first that cannot be handled yet."""
        now = time.time() if now_s is None else now_s
        counts = {"taken": 0, "refused": 0, "left": 0}
        paths = sorted(self._folder.iterdir()) if self._folder.is_dir() else []
        for path in [path for path in paths if _is_due(path, now)][:MOST_AT_ONCE]:
            if path.name.removesuffix(UNFINISHED).endswith(WITH_TEXT) and not _is_younger(
                path, TEXT_KEPT_S, now
            ):
                path.unlink(missing_ok=True)
                continue
            with self._lock:
                outcome = _taken(path, take, now)
            if outcome:
                counts[outcome] += 1
            if outcome == "left" and path.exists():
                break
        return DrainReport(**counts)

    def take_start(self, payload: Mapping[str, object], take: Take, *, timeout_s: float) -> None:
        """Have `take` handle the kept start event of the session of `payload`, if a hook gave its start block without a daemon, and delete its file.

        `timeout_s` is the longest wait for a drain on another thread. It must come before the event of `payload`.
        """
        if not self._folder.is_dir():
            return
        for path in sorted(self._folder.glob(f"*{START_GIVEN}")):
            if not self._lock.acquire(timeout=max(0.0, timeout_s)):
                return
            try:
                if _session_of(_read_event(path)[1]) == _session_of(payload):
                    _taken(path, take, time.time())
            except (OSError, InvalidPayload):
                continue  # the next drain sees to it
            finally:
                self._lock.release()


def _taken(path: Path, take: Take, now_s: float) -> str:
    """Handle one event and delete its file. Return `taken`, `refused` (unusable) or `left` (kept for later, up to a week); "" = the file was gone."""
    outcome = "taken"
    try:
        host, payload, at_ms, project_dir = _read_event(path)
        given = path.name.endswith(START_GIVEN)
        take(host, payload, at_ms=at_ms, given=given, project_dir=project_dir)
    except FileNotFoundError:
        return ""
    except (InvalidPayload, NotFound) as error:
        _LOG.warning("an event from the spool is not usable: %s", type(error).__name__)
        outcome = "refused"
    except (TacitError, OSError) as error:
        _LOG.warning("an event stays in the spool: %s", type(error).__name__)
        outcome = "left"
        if _is_younger(path, KEPT_S, now_s):
            return outcome
    path.unlink(missing_ok=True)
    return outcome


def _read_event(path: Path) -> tuple[str, Mapping[str, object], int | None, str]:
    """Return host, payload, time (None = unknown) and project folder ("" = unknown) of one event file.

    Raises:
        InvalidPayload: if it is not what a hook writes.
        OSError: if it cannot be read.
    """
    first, _, body = path.read_bytes().partition(b"\n")
    try:
        head: object = json.loads(first)
        payload = parse_payload(body)
    except ValueError as error:
        raise InvalidPayload(f"{path.name} in the spool is no JSON.", hint="It is removed.") from error
    fields = cast(dict[str, object], head) if isinstance(head, dict) else {}
    host, at_ms = fields.get("host"), fields.get("at_ms")
    if not isinstance(host, str):
        raise InvalidPayload(f"{path.name} in the spool names no host.", hint="It is removed.")
    project_dir = fields.get("project_dir")
    return (
        host,
        payload,
        at_ms if isinstance(at_ms, int) and at_ms > 0 else None,
        project_dir if isinstance(project_dir, str) else "",
    )


def _session_of(payload: Mapping[str, object]) -> object:
    return next((payload[name] for name in _SESSION_FIELDS if name in payload), None)


def parse_payload(body: bytes) -> Mapping[str, object]:
    """Return a host's payload, parsed from JSON.

    Raises:
        InvalidPayload: if it is no JSON object.
    """
    try:
        payload: object = json.loads(decode_text(body))
    except (ValueError, RecursionError) as error:
        raise InvalidPayload(
            f"The payload of {len(body)} bytes is no JSON.", hint="A host sends one JSON object."
        ) from error
    if not isinstance(payload, dict):
        raise InvalidPayload(
            f"The payload is a {type(payload).__name__}.", hint="A host sends one JSON object."
        )
    return cast(dict[str, object], payload)


def _is_due(path: Path, now_s: float) -> bool:
    """Whether an event can be read now: its file is complete, or so old that the hook that wrote it has ended."""
    return path.suffix == EVENT or (path.suffix == UNFINISHED and not _is_younger(path, UNFINISHED_S, now_s))


def _is_younger(path: Path, age_s: float, now_s: float) -> bool:
    """Whether a file was written less than `age_s` seconds before or after `now_s`; False if there is no file."""
    try:
        return abs(now_s - path.stat().st_mtime) <= age_s
    except OSError:
        return False
