"""What mostly comes right before a command or an edit that a rule forbids: its trial run, what it sends, a look at the same file.

In: what is forbidden, what a call does. Out: whether the call is the step before.
"""

from __future__ import annotations

from collections.abc import Sequence

from tacit.reading.moments.moment import Command, Target
from tacit.reading.moments.places import touches

_STEPS: dict[str, frozenset[str]] = {
    "plan": frozenset({"apply", "destroy"}),
    "preview": frozenset({"up", "destroy"}),
    "diff": frozenset({"apply", "upgrade", "deploy", "sync"}),
    "synth": frozenset({"deploy"}),
    "build": frozenset({"push", "publish", "upload", "deploy"}),
    "pack": frozenset({"publish", "push"}),
    "package": frozenset({"publish", "deploy"}),
}
"""A subcommand, and those of the same program that it mostly leads to."""


def leads_to_command(target_command: Command, commands: Sequence[Command]) -> bool:
    """A step of the same program that mostly leads to `target_command`: `terraform plan` before `terraform apply`."""
    return any(
        command[0] == target_command[0] and not _STEPS.get(word, frozenset()).isdisjoint(target_command[1:])
        for command in commands
        for word in command[1:3]
    )


def leads_to_path(target: Target, viewed_paths: Sequence[str]) -> bool:
    """A look at the files themselves."""
    return any(touches(pattern, path) for pattern in target.paths for path in viewed_paths)
