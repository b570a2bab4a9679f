"""Events that hooks kept while no daemon answered.

In: `spool/*.event`, a line of JSON (`host`, `event`, `reason`, `at_ms`) and then what the hook kept of the host's payload. Out:
the engine has handled them, oldest first, and the files are gone. A file that cannot be read is removed and counted; one
that the engine could not take yet stays, a week at most; one that holds words of a conversation, an hour at most.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from tacit.errors import InvalidPayload, NotFound, TacitError
from tacit.text.decoding import decode_text

MOST_AT_ONCE = 200
KEPT_S = 7 * 86_400.0
UNFINISHED_S = 3_600.0
TEXT_KEPT_S = 3_600.0
"""Events with words in them are deleted unread after this; `tacit_hook` does the same while no daemon runs."""
WITH_TEXT = "-text.event"

_LOG = logging.getLogger(__name__)

Take = Callable[[str, Mapping[str, object]], object]
"""Handles one event: host, payload."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DrainReport:
    """How many events were taken, thrown away as unreadable, and left for later."""

    taken: int = 0
    refused: int = 0
    left: int = 0


def drain(folder: Path, take: Take, *, now_s: float | None = None) -> DrainReport:
    """Hand every waiting event to `take`, oldest first; stops at the first that cannot be taken yet."""
    now = time.time() if now_s is None else now_s
    taken = refused = waiting = 0
    names = sorted(folder.iterdir()) if folder.is_dir() else []
    _sweep(names, now)
    for path in [name for name in names if name.suffix == ".event" and name.exists()][:MOST_AT_ONCE]:
        try:
            host, payload = read_event(path)
            take(host, payload)
        except FileNotFoundError:
            continue
        except (InvalidPayload, NotFound) as error:
            _LOG.warning("an event from the spool is not usable: %s", type(error).__name__)
            refused += 1
        except (TacitError, OSError) as error:
            _LOG.warning("an event stays in the spool: %s", type(error).__name__)
            waiting += 1
            if _age_s(path, now) < KEPT_S:
                break
        else:
            taken += 1
        path.unlink(missing_ok=True)
    return DrainReport(taken=taken, refused=refused, left=waiting)


def read_event(path: Path) -> tuple[str, Mapping[str, object]]:
    """Host and payload of one file.

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
    host = cast(dict[str, object], head).get("host") if isinstance(head, dict) else None
    if not isinstance(host, str):
        raise InvalidPayload(f"{path.name} in the spool names no host.", hint="It is removed.")
    return host, payload


def parse_payload(body: bytes) -> Mapping[str, object]:
    """A host's payload.

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


def _age_s(path: Path, now_s: float) -> float:
    try:
        return now_s - path.stat().st_mtime
    except OSError:
        return 0.0


def _sweep(names: list[Path], now_s: float) -> None:
    for path in names:
        old = UNFINISHED_S if path.suffix == ".tmp" else TEXT_KEPT_S
        if path.name.endswith((".tmp", WITH_TEXT)) and not -UNFINISHED_S <= _age_s(path, now_s) <= old:
            path.unlink(missing_ok=True)
