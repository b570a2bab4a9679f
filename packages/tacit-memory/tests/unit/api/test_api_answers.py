"""Each shape of an answer is declared once: the handler's signature, the JSON and the OpenAPI document agree by construction."""

from __future__ import annotations

from dataclasses import replace
from inspect import signature

import pytest
from pydantic import ValidationError

from tacit.api.answering import encode
from tacit.api.endpoints import ENDPOINTS
from tacit.model.memory import LearnedOn, Memory, Provenance, TrustTier, Validity
from tacit.model.scope import UNIVERSAL
from tacit.verbs.answers import MemoryAnswer, MemoryView, OneMemory, etag_of

MEMORY = Memory(
    id="mem_01",
    kind="fact",
    content="The billing port is 8080.",
    scope=UNIVERSAL,
    provenance=Provenance(tier=TrustTier.IMPORT, source="mcp"),
    validity=Validity(valid_from_ms=5),
    created_at_ms=5,
    updated_at_ms=6,
)


def test_a_use_changes_no_etag_an_edit_does_and_a_release_does_not() -> None:
    """Clients compare the `etag` that they hold with that of the next answer; it is made of all that is written of a memory."""
    assert etag_of(MEMORY) == "dc6dc1949980a5a517c0"
    assert etag_of(replace(MEMORY, use_count=3)) == etag_of(MEMORY)
    assert etag_of(replace(MEMORY, pinned=True)) != etag_of(MEMORY)
    assert etag_of(replace(MEMORY, branch=LearnedOn(name="topic"))) != etag_of(MEMORY)


@pytest.mark.parametrize("endpoint", ENDPOINTS, ids=lambda endpoint: endpoint.name)
def test_the_document_says_what_the_signature_of_the_handler_says(document, endpoint) -> None:
    operation = document["paths"][endpoint.path][endpoint.method.lower()]
    content = operation["responses"][str(endpoint.statuses[0])].get("content", {})
    shape = content.get("application/json", {}).get("schema", {})
    returned = signature(endpoint.handler).return_annotation
    named = returned.removeprefix("Answer[").rstrip("]").rpartition(".")[2]
    if named == "str" or endpoint.statuses == (204,):
        named = "None"
    # An alias names the value of the program that it writes.
    assert shape.get("$ref", "None").rpartition("/")[2] == {"StatusAnswer": "EngineStatus"}.get(named, named)


def test_every_field_of_a_memory_is_described_and_written(document) -> None:
    described = document["components"]["schemas"]["MemoryView"]
    written = encode(MEMORY, MemoryAnswer)
    assert list(described["properties"]) == list(written) == list(MemoryView.__dataclass_fields__)


@pytest.mark.parametrize("fields", [{}, {"memory": MEMORY, "more": 1}])
def test_an_answer_with_other_fields_than_its_shape_cannot_be_made(fields) -> None:
    with pytest.raises(ValidationError):
        OneMemory(**fields)
