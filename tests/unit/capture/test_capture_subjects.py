"""A changed value supersedes; another subject, another number of the same sort, or a further value does not."""

from __future__ import annotations

import pytest

from tacit.capture.reconcile.compare import compare


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The billing service listens on port 8080.", "The billing service listens on port 9090."),
        ("The API rate limit is 100 requests per minute.", "The API rate limit is 200 requests per minute."),
        ("We use PostgreSQL 15.", "We use PostgreSQL 16."),
    ],
)
def test_a_changed_value(old, new):
    assert compare(new, old) == "value_changed"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The billing service listens on port 8080.", "The search service listens on port 9090."),
        ("The service number 0 listens on port 8000.", "The service number 1 listens on port 8001."),
        ("Issue 12 is about retries.", "Issue 13 is about retries."),
        ("Sprint 4 ends on 12 May.", "Sprint 5 ends on 26 May."),
        ("Python 3.11 is supported.", "Python 3.12 is supported."),
        ("PR #41 added the cache.", "PR #42 added the cache."),
    ],
)
def test_no_changed_value(old, new):
    assert compare(new, old) not in ("value_changed", "reversed", "replaced")
