"""Forget a memory: it is never recalled again, and its history stays."""

from __future__ import annotations

from pydantic import Field

from tacit.app.engine import Engine
from tacit.app.values import Caller
from tacit.model.change_reason import ChangeCause, ChangeReason
from tacit.verbs.answers import OneMemory
from tacit.verbs.requests import OfMemory, Place, UserWords
from tacit.verbs.show import find


class Forget(OfMemory):
    """A request to retire a memory, with the reason."""

    reason: str = Field(default="", max_length=500, description="kept in the history")
    cwd: Place = Field(
        default="", description="for an agent: the working folder of the session of `user_words`"
    )
    user_words: UserWords = ""


def forget_memory(engine: Engine, caller: Caller, request: Forget) -> OneMemory:
    """Retire a memory: it is never recalled again, and its history stays.

    It is no longer recalled or listed as active. `POST /v1/undo` makes it active again; `POST /v1/purge`
    removes it from all stored data instead. An agent ends what the user or a teammate said only with the user's own
    words: `user_words` quotes them.

    Raises:
        NotFound: no memory has this id.
        Ambiguous: several memories have it.
        RefusedByTrust: an agent may not forget this memory.
    """
    memory = find(engine, caller, request.id)
    # A command that the user typed for the agent to run may have ended it already.
    if memory.status != "retired" or caller.by_user:
        engine.agents.require_may_change(caller, memory, "end", user_words=request.user_words)
        session = engine.agents.session_of(caller) if caller.by_tool else None
        reason = ChangeReason(
            cause=ChangeCause.FORGOTTEN_BY_AGENT if caller.by_tool else ChangeCause.FORGOTTEN,
            terms=(str(session),) if session else (),
            detail=request.reason,
        )
        engine.memories.retire(memory, reason=reason)
    return OneMemory(memory=engine.agents.with_clean_content(caller, memory) if caller.by_tool else memory)
