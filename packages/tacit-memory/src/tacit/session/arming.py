"""Whether what a model in the pause named still holds for a session. In: a record. Out: what is armed, or None. Pure."""

from __future__ import annotations

from tacit.model.session import Armed, SessionState

TURNS = 1
"""What is armed serves the turn that begins with the next prompt; after it another answer is due."""


def still_armed(state: SessionState, armed: Armed | None = None) -> Armed | None:
    """What is armed in `state`, or would be if `armed` were put into it; None where the epoch or the turn has passed."""
    armed = armed or state.armed
    if armed is None or armed.epoch != state.epoch:
        return None
    return armed if 0 <= state.turn - armed.turn <= TURNS else None
