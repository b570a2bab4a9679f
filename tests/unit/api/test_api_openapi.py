"""The OpenAPI document is one that client generators take without leaving anything out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from tacit.api.openapi import openapi_document


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    return openapi_document()


def operations(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for methods in document["paths"].values():
        yield from methods.values()


def test_no_two_schemas_have_one_title(document):
    titles = Counter(schema.get("title", name) for name, schema in document["components"]["schemas"].items())
    assert [title for title, count in titles.items() if count > 1] == []


def test_no_schema_is_split_into_what_goes_in_and_what_comes_out(document):
    """A request and an answer of one name get the endings -Input and -Output, and generators drop one of them."""
    assert [name for name in document["components"]["schemas"] if not name.isidentifier()] == []


def test_class_names_differ_in_more_than_their_case(document):
    names = Counter(name.lower().replace("_", "") for name in document["components"]["schemas"])
    assert [name for name, count in names.items() if count > 1] == []


def test_operations_are_named_once(document):
    names = Counter(one["operationId"] for one in operations(document))
    assert [name for name, count in names.items() if count > 1] == []


def test_every_reference_leads_somewhere(document):
    known = document["components"]

    def references(part: object) -> Iterator[str]:
        if isinstance(part, dict):
            if isinstance(part.get("$ref"), str):
                yield part["$ref"]
            for value in part.values():
                yield from references(value)
        elif isinstance(part, list):
            for value in part:
                yield from references(value)

    for reference in references(document):
        _, _, kind, name = reference.split("/")
        assert name in known[kind], reference


def test_every_answer_of_success_has_a_shape_or_no_content(document):
    for one in operations(document):
        for status, answer in one["responses"].items():
            if not status.startswith("2") or status == "204":
                continue
            assert answer["content"], one["operationId"]
            for described in answer["content"].values():
                assert described.get("schema"), one["operationId"]
