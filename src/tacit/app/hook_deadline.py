"""How long hooks wait for the answer to a prompt. In: the settings of sessions that start. Out: one small file for the hook client.

The hook client gives up after 0.8 seconds, so that a daemon that hangs costs little. Settings may allow a recall more than
that (`multispace`: two seconds). Before it can matter, when a session starts, the daemon writes the time to `run/prompt_ms`.
"""

from __future__ import annotations

from tacit.config.home import Home

USUAL_MS = 650
"""A recall that may take no longer is answered within the hook client's own deadline."""
REPLY_MS = 150
"""For the way to the daemon and back."""


class HookDeadline:
    """Remembers the longest time that a session of this process needs."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._told_ms: int | None = None

    def tell(self, recall_ms: int) -> None:
        """Let hooks wait for recalls of `recall_ms`; it only grows until the process ends."""
        wanted_ms = max(self._told_ms or 0, recall_ms + REPLY_MS if recall_ms > USUAL_MS else 0)
        if wanted_ms == self._told_ms:
            return
        path = self._home.prompt_ms_file
        if wanted_ms:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            path.write_text(str(wanted_ms), encoding="ascii")
        else:
            path.unlink(missing_ok=True)
        self._told_ms = wanted_ms
