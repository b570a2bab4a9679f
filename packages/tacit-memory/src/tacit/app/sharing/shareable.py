"""Decides whether a memory may be shared with other people, through a server or a repository. In: a memory. Out: nothing, or an error."""

from __future__ import annotations

from tacit.capture.prepare import secrets_in, words_of
from tacit.errors import InvalidInput, RefusedByRedaction, RefusedByTrust
from tacit.model.memory import Memory, Sensitivity
from tacit.safety.redact import TextRedactor


def require_shareable(memory: Memory, *, redactor: TextRedactor, in_repository: bool = False) -> None:
    """Refuse a memory that may not be shared with other people.

    Args:
        memory: the memory to share.
        redactor: finds secrets.
        in_repository: whether it becomes a file of the repository. Such a file is on the same branch as the code, so the memory may be bound to a branch.

    Raises:
        InvalidInput: it belongs to one session or to an unmerged branch, or it is not active.
        RefusedByTrust: its sensitivity forbids it.
        RefusedByRedaction: it holds a secret.
    """
    if memory.status != "active" or memory.is_session_note:
        what = "belongs to one session" if memory.is_session_note else f"is {memory.status}"
        raise InvalidInput(f"{memory.id} {what} and cannot be shared.", hint="Share an active memory.")
    if memory.branch is not None and not in_repository:
        raise InvalidInput(
            f"{memory.id} was learned on the branch {memory.branch.name}, which is not merged.",
            hint=f"Share it after the merge, or let it hold everywhere: `tacit edit {memory.id} --all-branches`.",
        )
    if memory.sensitivity > Sensitivity.PROJECT:
        raise RefusedByTrust(
            f"{memory.id} has the sensitivity {memory.sensitivity.name.lower()} and never leaves this machine.",
            hint=f"`tacit edit {memory.id} --sensitivity project` lifts that.",
        )
    if secrets := secrets_in((memory.content, *memory.files, *words_of(memory.trigger)), redactor):
        raise RefusedByRedaction(
            f"{memory.id} holds a secret ({secrets}) and was not shared.", hint="Edit it first."
        )
