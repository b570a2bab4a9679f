"""Each shape of an answer is declared once: the handler's signature, the JSON and the OpenAPI document agree by construction."""

from __future__ import annotations

import json
from dataclasses import replace
from inspect import signature
from typing import Any

import pytest
from pydantic import ValidationError

from tacit.api.answering import encode, to_bytes
from tacit.api.endpoints import ENDPOINTS
from tacit.api.openapi import openapi_document
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


def test_a_memory_is_written_as_before() -> None:
    """Clients compare the `etag` that they hold with that of the next answer, so it may not change with a release."""
    assert to_bytes(encode(MEMORY, MemoryAnswer)).decode() == WIRE


def test_a_use_changes_no_etag_and_an_edit_does() -> None:
    assert etag_of(replace(MEMORY, use_count=3)) == etag_of(MEMORY)
    assert etag_of(replace(MEMORY, pinned=True)) != etag_of(MEMORY)
    assert etag_of(replace(MEMORY, branch=LearnedOn(name="topic"))) != etag_of(MEMORY)


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    return openapi_document()


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


WIRE = json.dumps(
    {
        "id": "mem_01",
        "kind": "fact",
        "content": "The billing port is 8080.",
        "scope": "universal",
        "provenance": {
            "tier": "import",
            "source": "mcp",
            "host": "",
            "session_id": "",
            "turn": 0,
            "span": "",
            "extractor": "",
            "original_tier": None,
            "author": "",
            "speaker": "agent",
        },
        "validity": {"valid_from_ms": 5, "valid_to_ms": None, "superseded_by": None, "offset_ms": 0},
        "created_at_ms": 5,
        "updated_at_ms": 6,
        "importance": 0.5,
        "confidence": 1.0,
        "trigger": {
            "always": False,
            "actions": [],
            "objects": [],
            "paths": [],
            "languages": [],
            "commands": [],
            "tools": [],
            "topics": [],
            "phrases": [],
            "breadth": 1.0,
            "maker": "local",
            "blocking": False,
        },
        "status": "active",
        "sensitivity": "project",
        "entities": [],
        "files": [],
        "error_signature": "",
        "frequency": 1,
        "use_count": 0,
        "shown_count": 0,
        "tokens": 0,
        "pinned": False,
        "evidence": [],
        "proofs": 0,
        "branch": None,
        "headline": "",
        "content_hash": "c18b84153cb3522e",
        "etag": "dc6dc1949980a5a517c0",
    },
    separators=(",", ":"),
)
