"""The examples of the OpenAPI document: they are right, and today's API answers them in the same form."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

import tacit.api
from e2e.drivers.site import Site
from golden.api_day import BEGAN_MS, DAY_MS, ENDPOINT_OF, HOUR_MS, made_up, record
from tacit.api.answering import to_bytes
from tacit.api.openapi import openapi_document

KEPT = Path(tacit.api.__file__).parent / "examples.json"


# The first test: with --renew-golden the others read what it wrote.
@pytest.mark.slow
@pytest.mark.postgres
@pytest.mark.timeout(240)
def test_today_s_answers_have_the_form_of_the_examples(tmp_path, pytestconfig, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    site = Site()
    try:
        lived = record(tmp_path, site)
    finally:
        site.close()
    if pytestconfig.getoption("--renew-golden"):
        KEPT.write_text(f"{json.dumps(lived, indent=1)}\n", "utf-8")
        return
    examples = json.loads(KEPT.read_text("utf-8"))
    assert set(lived) == set(examples)
    for name, example in examples.items():
        assert _form(lived[name]) == _form(example), name


@pytest.mark.parametrize("hours", [0, 5, 23.6])
def test_the_hour_of_a_recording_changes_nothing(hours):
    began_ms = 21_000 * DAY_MS + int(hours * HOUR_MS)
    times = {"at_ms": began_ms + 5_000, "first_day_ms": 20_970 * DAY_MS, "until_ms": began_ms + 2 * HOUR_MS}
    assert made_up({"a": {"answer": times}}, {}, began_ms)["a"]["answer"] == {
        "at_ms": BEGAN_MS,
        "first_day_ms": (BEGAN_MS // DAY_MS - 30) * DAY_MS,
        "until_ms": BEGAN_MS + 2 * HOUR_MS,
    }


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    return openapi_document()


@pytest.fixture(scope="module")
def examples() -> dict[str, Any]:
    return json.loads(KEPT.read_text("utf-8"))


def test_every_operation_has_an_example(examples):
    assert set(examples) == set(ENDPOINT_OF)


@pytest.mark.parametrize("name", sorted(ENDPOINT_OF))
def test_an_example_is_one_that_the_api_takes_and_gives(name, document, examples):
    endpoint, example = ENDPOINT_OF[name], examples[name]
    fields = {
        part: value for part, value in example.get("at", {}).items() if part in endpoint.request.model_fields
    }
    request = {**example.get("request", {}), **fields}
    if endpoint.reads == "body":
        endpoint.request.model_validate_json(to_bytes(request), strict=True)
    else:
        endpoint.request.model_validate(request)
    assert all(f"{{{part}}}" in endpoint.path for part in example.get("at", {}))
    assert endpoint.path.count("{") == len(example.get("at", {}))
    assert example["status"] in endpoint.statuses
    if endpoint.answer is not None:
        operation = document["paths"][endpoint.path][endpoint.method.lower()]
        schema = operation["responses"][str(example["status"])]["content"][endpoint.media_type]["schema"]
        Draft202012Validator({**schema, "components": document["components"]}).validate(example["answer"])


def _form(example: dict[str, Any]) -> Any:
    """What a request sends and the names in its answer; ids, times and numbers differ from run to run."""
    answer = example.get("answer")
    names = sorted(answer) if isinstance(answer, dict) else type(answer).__name__
    return sorted(example.get("at", ())), sorted(example.get("request", ())), example["status"], names
