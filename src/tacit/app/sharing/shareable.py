"""What may leave a home at all when its user shares it with others, by whatever way. In: a memory. Out: nothing, or a refusal."""

from __future__ import annotations

from tacit.capture.prepare import secrets_in, words_of
from tacit.errors import InvalidInput, RefusedByRedaction, RefusedByTrust
from tacit.model.memory import Memory, Sensitivity
from tacit.safety.redact import TextRedactor


def require_shareable(memory: Memory, *, redactor: TextRedactor, in_repository: bool = False) -> None:
    """Refuse what may not be shared with others.

    Args:
        memory: what is to be shared.
        redactor: finds secrets.
        in_repository: it becomes a file of the repository, which lies on the same branch as what it was learned on.

    Raises:
        InvalidInput: if it belongs to one session or to an unmerged branch, or holds no more.
        RefusedByTrust: if its sensitivity forbids it.
        RefusedByRedaction: if it holds a secret.
    """
    if memory.status != "active" or memory.is_session_note:
        what = "belongs to one session" if memory.is_session_note else f"is {memory.status}"
        raise InvalidInput(f"{memory.id} {what} and cannot be shared.", hint="Share an active memory.")
    if memory.branch is not None and not in_repository:
        raise InvalidInput(
            f"{memory.id} was learned on the branch {memory.branch.name}, which is not merged.",
            hint=f"Share it once it is merged; `tacit edit {memory.id} --all-branches` says that it holds everywhere.",
        )
    if memory.sensitivity > Sensitivity.PROJECT:
        raise RefusedByTrust(
            f"{memory.id} has the sensitivity {memory.sensitivity.name.lower()} and never leaves this machine.",
            hint=f"`tacit edit {memory.id} --sensitivity project` lifts that.",
        )
    if secrets := secrets_in((memory.content, *memory.files, *words_of(memory.trigger)), redactor):
        raise RefusedByRedaction(
            f"{memory.id} holds a secret ({secrets}); nothing was written.", hint="Edit it first."
        )
