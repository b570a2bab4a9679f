"""Who asks for something: one value that every entry point fills in. In: nothing. Out: a frozen value."""

from __future__ import annotations

from dataclasses import dataclass

from tacit.model.memory import Speaker
from tacit.model.session import SessionKey


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Who asks, as the entry point knows it.

    Attributes:
        speaker: whose word it is.
        by_tool: an agent calls a tool. It sees what its folder shows; a program or the user sees all folders.
        cwd: working folder of the agent; "" = unknown, then a tool shows only universal memories.
        client: names the process that asks, for as long as it lives; "" = unknown.
        session: the session that calls a tool that writes; None = unknown.
    """

    speaker: Speaker = Speaker.AGENT
    by_tool: bool = True
    cwd: str = ""
    client: str = ""
    session: SessionKey | None = None

    @property
    def by_user(self) -> bool:
        """Whether the user asks, who sees everything of theirs."""
        return self.speaker is Speaker.USER


PROGRAM = Caller(by_tool=False)
"""A program that does not prove to be the user."""
USER = Caller(speaker=Speaker.USER, by_tool=False)
"""The user, by hand."""
