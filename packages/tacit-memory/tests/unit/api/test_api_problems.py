"""Every error has one HTTP status and one row on the page of errors; every endpoint is on the page of the API."""

from __future__ import annotations

import re
from pathlib import Path

from tacit.api.endpoints import ENDPOINTS
from tacit.api.openapi import openapi_text
from tacit.api.problems import RETRY_AFTER_S, STATUS, problem_of
from tacit.api.reference import api_page
from tacit.errors import TacitError

DOCS = Path(__file__).parents[5] / "docs" / "reference"


def every_error(kind: type[TacitError] = TacitError) -> list[type[TacitError]]:
    return [
        kind,
        *(
            below
            for child in kind.__subclasses__()
            if child.__module__ == "tacit.errors"
            for below in every_error(child)
        ),
    ]


def rows() -> dict[str, tuple[str, str]]:
    text = (DOCS / "errors.md").read_text("utf-8")
    found = re.findall(r"^\| `(\w+)` \| (\d+) \| (.+?) \|$", text, flags=re.MULTILINE)
    return {code: (status, rest) for code, status, rest in found}


def test_every_error_class_is_in_the_table():
    codes = [kind.code for kind in every_error()]
    assert len(codes) == len(set(codes)), "two classes share a code"
    assert set(codes) <= set(STATUS)
    for kind in every_error():
        assert problem_of(kind("What is wrong.", hint="What to do.")).status_code == STATUS[kind.code]


def test_only_statuses_of_errors():
    assert all(400 <= status < 600 for status in STATUS.values())
    assert set(RETRY_AFTER_S) <= set(STATUS)


def test_the_page_of_errors_has_every_code_with_its_status():
    assert {code: int(status) for code, (status, _) in rows().items()} == dict(STATUS)
    for code, (_, rest) in rows().items():
        meaning, _, remedy = rest.partition(" | ")
        assert len(meaning) > 10, code
        assert len(remedy) > 10, f"{code}: what to do?"


def test_the_page_of_the_api_is_current():
    page = (DOCS / "api.md").read_text("utf-8")
    assert page == api_page(), "run: python -m tacit.api.reference > docs/reference/api.md"

    for endpoint in ENDPOINTS:
        assert f"`{endpoint.method} {endpoint.path}`" in page
        for name, value in endpoint.request.model_fields.items():
            assert f"| `{name}`" in page or name in endpoint.in_path
            assert value.description or name == "session", f"{endpoint.path}: `{name}` has no description"


def test_the_published_document_is_current():
    assert (DOCS / "openapi.json").read_text("utf-8") == openapi_text(), "run: just client"
