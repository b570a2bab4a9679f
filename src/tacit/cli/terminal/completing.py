"""Shell completions for values: ids of memories, names of kinds.

In: what was typed so far. Out: values with a short explanation. Starts no daemon and never fails: completion that cannot
know offers nothing.
"""

from __future__ import annotations

from pathlib import Path

MOST_OFFERED = 100
TIMEOUT_S = 2.0


def complete_memory(incomplete: str) -> list[tuple[str, str]]:
    """Ids that begin or end with what was typed: of what waits for review, then of what this folder sees."""
    from tacit.cli.connection import ask_running
    from tacit.cli.terminal.output import shorten_line
    from tacit.errors import TacitError

    found: dict[str, str] = {}
    try:
        folder = {"cwd": str(Path.cwd()), "limit": MOST_OFFERED}
        waiting = ask_running("GET", "/v1/review", folder, timeout_s=TIMEOUT_S)["review"]
        listed = ask_running("GET", "/v1/memories", folder, timeout_s=TIMEOUT_S)["memories"]
        for memory in (*(entry["memory"] for entry in waiting), *listed):
            found[memory["id"]] = shorten_line(memory["content"], 60)
    except (TacitError, OSError):  # no daemon runs, or it cannot answer
        return []
    begin = [(name, text) for name, text in found.items() if name.startswith(incomplete)]
    return begin or [(name, text) for name, text in found.items() if name.endswith(incomplete)]


def complete_kind(incomplete: str) -> list[tuple[str, str]]:
    """Kinds that begin with what was typed, those of the user's settings too."""
    from tacit.cli.context import current_context
    from tacit.config.layers import read_settings
    from tacit.model.kinds import KindRegistry

    own = read_settings(current_context().home).settings.kinds
    offered = {kind.name: kind.label for kind in KindRegistry()} | {
        name: kind.label for name, kind in own.items()
    }
    return [(name, label) for name, label in offered.items() if name.startswith(incomplete)]
