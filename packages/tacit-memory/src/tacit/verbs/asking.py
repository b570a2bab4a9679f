"""How an entry point asks a verb: trust first, then the verb, then the name of the change. In: an engine, who asks, a checked request. Out: the verb's answer.

A verb is a function of a module of this package. Its signature names its request and its answer, its docstring is the text of the API's
document, and `tacit.safety.trust` says who may use it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar, get_type_hints

from tacit.app.engine import Engine
from tacit.app.values import Caller
from tacit.safety.trust import NOTING, require_user

AnswerT = TypeVar("AnswerT")
Verb = Callable[[Engine, Caller, Any], AnswerT]


def ask_verb(verb: Verb[AnswerT], engine: Engine, caller: Caller, request: object) -> AnswerT:
    """Ask `verb` after checking that `caller` may use it, and return its answer. If the answer type has `change_id`, fill in the id of the written change.

    Raises:
        RefusedByTrust: if `caller` may not use the verb.
        TacitError: what the verb refuses.
    """
    name = verb.__name__
    require_user(name, caller.speaker, trial=getattr(request, "dry_run", False))
    if name in NOTING and not caller.by_user:
        engine.refuse_note(caller.cwd, caller.session)
    if not _writes(verb):
        return verb(engine, caller, request)
    with engine.store.noting_changes() as written:
        answer = verb(engine, caller, request)
    if not written:
        return answer
    with_change: Any = answer
    return with_change.model_copy(update={"change_id": written[-1]})


@cache
def _writes(verb: Verb[Any]) -> bool:
    return has_change_id(get_type_hints(verb)["return"])


def has_change_id(answer_type: Any) -> bool:
    """Whether `answer_type` has a field `change_id`, so that the verb behind it reports what it wrote."""
    return "change_id" in getattr(answer_type, "model_fields", ())
