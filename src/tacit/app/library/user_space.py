"""The space of one user of a program with many. In: their name. Out: what stands for a folder, session ids, checks. Never reads the store."""

from __future__ import annotations

import os
from collections.abc import Sequence

from tacit.app.library.values import MemoryRecord
from tacit.errors import InvalidInput, NotFound
from tacit.model.scope import MAX_USER_CHARS, USER_FOLDER, Scope, is_user_name, project_scope, user_project_id


class UserSpace:
    """What belongs to one user. Immutable."""

    def __init__(self, user: str, *, cwd_given: bool = False) -> None:
        """Name the user.

        Raises:
            InvalidInput: for an empty or too long name, or if a folder is given as well.
        """
        if not is_user_name(user):
            raise InvalidInput(f"The name of a user is a text of 1 to {MAX_USER_CHARS} characters.")
        if cwd_given:
            self._refuse_folder()
        self._folder = f"{USER_FOLDER}{user}"
        self._project = user_project_id(user)

    def place(self, cwd: str | os.PathLike[str] | None) -> str:
        """What stands for the working folder.

        Raises:
            InvalidInput: if a folder is given.
        """
        if cwd is not None:
            self._refuse_folder()
        return self._folder

    def session_id(self, session: str) -> str:
        """The id of a session, which no other user's session has."""
        return f"{session}@{self._project}"

    def own(self, memory: MemoryRecord, named: str) -> MemoryRecord:
        """`memory`, which was asked for as `named`, if it belongs to this user.

        Raises:
            NotFound: if it does not.
        """
        if not self._owns(memory):
            raise NotFound(f"No memory is called {named!r}.", hint="`list()` shows the ids.")
        return memory

    def own_change(self, change_id: str, memories: Sequence[MemoryRecord]) -> None:
        """Check that a change wrote memories of this user alone.

        Raises:
            NotFound: if it did not.
        """
        if not memories or not all(map(self._owns, memories)):
            raise NotFound(
                f"There is no change {change_id}.", hint="Give the `change_id` of what a call returned."
            )

    def _owns(self, memory: MemoryRecord) -> bool:
        scope = Scope.parse(memory.scope)
        return scope == project_scope(self._project) or scope.project_id == self._project

    @staticmethod
    def _refuse_folder() -> None:
        raise InvalidInput("What belongs to one user belongs to no folder.", hint="Leave `cwd` out.")
