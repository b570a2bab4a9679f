"""Values of the model as JSON.

In: frozen dataclasses. Out: plain values, and bytes that any reader accepts (ASCII, so that a lone surrogate in an old
memory breaks nobody). Scopes are written `kind:key`, trust tiers and sensitivities as words, times as milliseconds.
"""

from __future__ import annotations

import hashlib
import json
from functools import cache
from typing import Any, cast

from pydantic import TypeAdapter

from tacit.app.reasons import in_words
from tacit.app.values import Recalled
from tacit.model.changes import Change, Retire, Skip, Supersede
from tacit.model.changes import Contradict as ContradictChange
from tacit.model.memory import Memory
from tacit.model.pack import PackItem
from tacit.model.trace import Trace

Json = dict[str, Any]


def to_bytes(value: object) -> bytes:
    """JSON text of plain values."""
    return json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode("ascii")


def encode(value: object) -> Any:
    """A frozen dataclass of the model, or a sequence of them, as plain values."""
    if isinstance(value, (tuple, list)):
        return [encode(item) for item in cast(list[object], value)]
    if isinstance(value, Memory):
        return memory_json(value)
    if isinstance(value, Trace):
        value = in_words(value)
    return _adapter(type(value)).dump_python(value, mode="json")


def memory_json(memory: Memory) -> Json:
    """A memory. `scope` is a text such as `project:...`; `provenance.tier` and `sensitivity` are words."""
    plain: Json = _adapter(Memory).dump_python(memory, mode="json")
    plain["scope"] = str(memory.scope)
    plain["provenance"]["tier"] = memory.provenance.tier.name.lower()
    plain["provenance"]["speaker"] = memory.provenance.speaker
    plain["sensitivity"] = memory.sensitivity.name.lower()
    plain["content_hash"] = memory.content_hash
    plain["etag"] = _etag(plain)
    return plain


def etag_of(memory: Memory) -> str:
    """What changes with every change of a memory but a use: uses are counted without a new version."""
    return memory_json(memory)["etag"]


def _etag(plain: Json) -> str:
    version = {name: value for name, value in plain.items() if name != "use_count"}
    return hashlib.blake2b(json.dumps(version).encode("ascii"), digest_size=10).hexdigest()


def change_json(change: Change) -> Json:
    """A change: `change` names what happened (`add`, `merge`, ...), `reason` why."""
    plain: Json = {"change": type(change).__name__.lower(), "reason": change.reason}
    match change:
        case Skip():
            plain |= {"content": change.content, "memory_id": change.memory_id}
        case Retire():
            plain |= {"memory_id": change.memory_id, "at_ms": change.at_ms}
        case Supersede():
            plain |= {"memory": memory_json(change.memory), "old_id": change.old_id, "at_ms": change.at_ms}
            plain |= {"further": list(change.further), "contested": list(change.contested)}
        case ContradictChange():
            plain |= {"memory": memory_json(change.memory), "other_id": change.other_id}
            plain["further"] = list(change.further)
        case _:
            plain["memory"] = memory_json(change.memory)
    return plain


def recalled_json(recalled: Recalled) -> Json:
    """An answer on demand: the block, its memories best first, the trace."""
    return {
        "block": encode(recalled.block),
        "memories": [_item_json(item) for item in recalled.pack.items],
        "budget_tokens": recalled.pack.budget_tokens,
        "trace": encode(recalled.trace),
    }


def _item_json(item: PackItem) -> Json:
    candidate = item.candidate
    return {
        **memory_json(candidate.memory),
        "text": item.text,
        "text_tokens": item.tokens,
        "shortened": item.shortened,
        "relevance": candidate.relevance,
        "scores": dict(candidate.scores),
        "reasons": list(candidate.reasons),
    }


@cache
def _adapter(of: type[Any]) -> TypeAdapter[Any]:
    return TypeAdapter(of)
