"""Change a memory: by the user's hand, which confirms it, or on an agent's word, which does not."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Literal, Self

from pydantic import Field, model_validator

from tacit.app.engine import Engine
from tacit.app.values import Caller
from tacit.errors import InvalidInput
from tacit.model.changes import Change, Rewrite
from tacit.model.memory import BY_TOOL, Memory, Sensitivity, SensitivityName, TrustTier
from tacit.safety.trust import ENDED_STATUSES
from tacit.verbs.answers import Changed, Edited
from tacit.verbs.requests import MAX_CONTENT_CHARS, NewScope, OfMemory, Place, UserWords, Whens
from tacit.verbs.show import find


class Edit(OfMemory):
    """A request to change a memory. Fields that are left out stay as they are."""

    content: str | None = Field(
        default=None, min_length=1, max_length=MAX_CONTENT_CHARS, description="the statement"
    )
    headline: str | None = Field(
        default=None, max_length=200, description="what an index shows of it; empty: made from the words"
    )
    kind: str | None = Field(default=None, max_length=100, description="its kind")
    when: str | None = Field(default=None, max_length=2000, description="when it applies, in words")
    scope: NewScope | None = Field(
        default=None,
        description="who may see it: `universal`, `language:python`, `project` (that of `cwd`), `project:...`",
    )
    cwd: Place = Field(default="", description="working folder, for the scope `project`")
    importance: float | None = Field(default=None, ge=0.0, le=1.0, description="0 to 1")
    pinned: bool | None = Field(default=None, description="packed first in presets that pin")
    sensitivity: SensitivityName | None = Field(default=None, description="where it may appear")
    all_branches: Literal[True] | None = Field(
        default=None,
        description="true = from now on it holds on all branches, not only on the one it was learned on",
    )
    supersede: bool = Field(
        default=False,
        description="`content` becomes a memory of its own that replaces this one; only with `kind`, `when` and `scope`",
    )
    into: str | None = Field(
        default=None,
        min_length=1,
        max_length=100,
        description="merge it into this memory, which says the same and stays; nothing else is changed with it",
    )

    @property
    def wanted_sensitivity(self) -> Sensitivity | None:
        """The new sensitivity of the memory; None = it stays."""
        return Sensitivity.parse(self.sensitivity) if self.sensitivity else None

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        changed = {
            name
            for name in type(self).model_fields
            if name not in ("id", "cwd", "supersede") and getattr(self, name) is not None
        }
        if not changed:
            raise ValueError("at least one field to change")
        if self.supersede and not {"content"} <= changed <= {"content", "kind", "when", "scope"}:
            raise ValueError("content, and at most kind, when and scope, to supersede a memory")
        if self.into is not None and (changed != {"into"} or self.supersede):
            raise ValueError("into alone")
        return self


class Update(OfMemory):
    """A request of an agent to change a memory. Fields that are left out stay as they are."""

    content: str | None = Field(default=None, max_length=MAX_CONTENT_CHARS, description="the statement")
    kind: str | None = Field(default=None, max_length=100, description="its kind")
    when: Whens | None = Field(default=None, description="when it applies")
    user_words: UserWords = ""


def edit_memory(engine: Engine, caller: Caller, request: Edit) -> Edited:
    """Change parts of a memory, replace it by another statement, or merge it into a memory that says the same.

    Fields that you leave out do not change. With `supersede` the new statement becomes a memory of its own, and
    takes the kind, `when` and scope of the old one unless you name others. With `into` the memory ends, and the
    other one counts its evidence, too. The history keeps the old version, and `POST /v1/undo` takes the change
    back. Send `If-Match` so that you do not overwrite a change that somebody else made meanwhile.

    Raises:
        NotFound: no memory has this id.
        Ambiguous: several memories have it.
        RefusedByRedaction: the text holds a secret.
    """
    memory = engine.show(request.id)
    if request.into is not None:
        return _edited(engine, memory, engine.review.decide(memory.id, "merge", into=request.into))
    scope = None if request.scope is None else engine.scope_called(request.scope, request.cwd)
    if request.supersede:
        changes = engine.memories.supersede(
            memory, request.content or "", kind=request.kind, when=request.when, scope=scope
        )
        return _edited(engine, memory, changes)
    changed = engine.memories.edit(
        memory,
        content=request.content,
        kind=request.kind,
        when=request.when,
        scope=scope,
        importance=request.importance,
        pinned=request.pinned,
        sensitivity=request.wanted_sensitivity,
        all_branches=request.all_branches is True,
        headline=request.headline,
    )
    return Edited(memory=changed, changes=(Rewrite(memory=changed),))


def _edited(engine: Engine, memory: Memory, changes: Sequence[Change]) -> Edited:
    return Edited(memory=engine.show(memory.id), changes=changes)


def update_memory(engine: Engine, caller: Caller, request: Update) -> Changed:
    """Change a memory on an agent's word; the memory is not confirmed by it.

    An agent's own statement that nobody confirmed is changed in place. Other words take the place of anything else as a new
    statement does (`remember` with `replaces`): what a person said stays until the user agrees, unless `user_words` prove that
    they do: words that they typed in the session of `caller` (None = the only one at work).

    Raises:
        InvalidInput: nothing is to be changed, or the memory does not hold any more.
        NotFound: no memory that may be seen has this id.
        RefusedByTrust: kind or `when` of a person's statement is to be changed without the user's words, or nothing is noted.
    """
    memory = find(engine, caller, request.id)
    content, kind, when = request.content or None, request.kind or None, request.when or None
    if memory.status in ENDED_STATUSES:
        raise InvalidInput(f"{memory.id} does not hold any more.", hint="Store what holds now instead.")
    same = content is None or content.strip() == memory.content
    if same and kind is None and when is None:
        raise InvalidInput("Nothing is to be changed.", hint="Give content, kind or when.")
    unconfirmed = memory.status == "quarantined" and memory.provenance.tier < TrustTier.ASSISTANT
    if same or (unconfirmed and not request.user_words):
        engine.agents.require_may_change(caller, memory, "change", user_words=request.user_words)
        changed = engine.memories.edit(memory, content=content, kind=kind, when=when, confirms=False)
        return Changed(changes=(Rewrite(memory=engine.agents.with_clean_content(caller, changed)),))
    root = engine.project(caller.cwd).root if caller.cwd else ""
    changes = engine.remember(
        content or "",
        kind=kind or memory.kind,
        scope=memory.scope,
        when=when or (memory.trigger if memory.trigger.maker in ("user", "agent") else None),
        cwd=caller.cwd,
        speaker=caller.speaker,
        source=BY_TOOL,
        session=caller.session,
        files=[os.path.join(root, file) for file in memory.files],  # noqa: PTH118
        user_words=request.user_words,
        sensitivity=memory.sensitivity,
        replaces=(memory.id,),
    )
    return Changed(changes=changes)
