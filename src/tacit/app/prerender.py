"""Start blocks written ahead, for a session that starts while no daemon answers. Bytes only; the hook client prints them.

One file per working folder, `start/<first 24 hexadecimal digits of the folder's SHA-256>.json`:
`{"cwd", "at_ms", "replies": {host: the exact reply to its session start}}`. Written whole or not at all.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from tacit.config.home import Home
from tacit.model.pack import Block
from tacit.ports.clock import Clock
from tacit.ports.host import Host

START_PAYLOADS: Mapping[str, Mapping[str, object]] = {
    "claude-code": {"hook_event_name": "SessionStart"},
    "opencode": {"event": "session.start"},
}
"""What tells an adapter that it answers a session start."""


def start_file(home: Home, cwd: str) -> Path:
    """Where the start block for `cwd` is kept."""
    digest = hashlib.sha256(cwd.encode("utf-8", "surrogatepass")).hexdigest()[:24]
    return home.start_dir / f"{digest}.json"


class StartBlocks:
    """Writes the files; the store is not read here."""

    def __init__(self, *, home: Home, hosts: Mapping[str, Host], clock: Clock) -> None:
        self._home = home
        self._hosts = hosts
        self._clock = clock

    def write(self, folders: Iterable[str], context: Callable[[str], Block]) -> int:
        """Write the block of every folder; returns how many there are now."""
        count = 0
        self._home.start_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
        for cwd in folders:
            block = context(cwd)
            replies = {
                name: self._hosts[name].encode(payload, block)
                for name, payload in START_PAYLOADS.items()
                if name in self._hosts and len(block.text) <= self._hosts[name].capabilities.cap_chars
            }
            path = start_file(self._home, cwd)
            text = json.dumps({"cwd": cwd, "at_ms": self._clock.now_ms(), "replies": replies})
            part = path.with_suffix(f".{os.getpid()}.tmp")
            part.write_text(text, "utf-8", "surrogatepass")
            part.replace(path)
            count += 1
        return count
