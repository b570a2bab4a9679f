"""Requests of the first release (commit 9f896ae) work for one more release; the header `Warning` names the successor."""

from __future__ import annotations

import pytest

from tacit.api.endpoints import ENDPOINTS
from tacit.api.openapi import openapi_document
from tacit.api.routes import OLD_FORMS
from tacit.model.memory import Speaker
from user_voice import client_of

PORT = "The billing port is 8080."


def post(client, path, body):
    reply = client.post(path, json=body)
    assert reply.status_code < 300, reply.text
    return reply.json(), reply.headers.get("warning", "")


def test_a_request_of_today_gets_no_warning(client):
    made, warning = post(client, "/v1/remember", {"content": PORT})
    assert not warning
    _, warning = post(client, "/v1/undo", {"id": made["change_id"]})
    assert not warning


@pytest.mark.parametrize(("tier", "status"), [("user", "active"), ("assistant", "quarantined")])
def test_a_tier_is_read_and_the_warning_names_its_successor(client, tier, status):
    made, warning = post(client, "/v1/remember", {"content": PORT, "tier": tier})
    assert made["changes"][0]["memory"]["status"] == status
    assert warning.startswith('299 tacit "`tier` ')
    assert "`user_words`" in warning


def test_a_tier_grants_an_agent_nothing(engine):
    made, _ = post(client_of(engine, Speaker.AGENT), "/v1/remember", {"content": PORT, "tier": "user"})
    assert made["changes"][0]["memory"]["provenance"]["tier"] == "import"


def test_a_folder_of_undo_is_taken_with_a_warning(client, tmp_path):
    made, _ = post(client, "/v1/remember", {"content": PORT})
    _, warning = post(client, "/v1/undo", {"id": made["change_id"], "cwd": str(tmp_path)})
    assert warning == '299 tacit "`cwd` is not read: `id` names the change"'


def test_undo_by_a_memory_stays_refused_and_names_the_successor(client):
    """Another writer may have changed it meanwhile: see test_api_undo.py."""
    made, _ = post(client, "/v1/remember", {"content": PORT})
    reply = client.post("/v1/undo", json={"id": made["changes"][0]["memory"]["id"]})
    assert reply.status_code == 422
    assert "`change_id`" in reply.json()["detail"]
    assert "`memory`" in reply.json()["detail"]


def test_status_still_counts_silences_in_words(engine, client, tmp_path):
    payload = {
        "event": "prompt",
        "session": "s",
        "cwd": str(tmp_path),
        "text": "Which billing port do I use here?",
    }
    engine.hook("plain", payload, deadline_ms=5000.0)
    engine.flush()
    status = client.get("/v1/status").json()
    assert (
        sum(count for _, count in status["silence"]) == sum(each["count"] for each in status["silences"]) == 1
    )
    assert all(isinstance(words, str) and words for words, _ in status["silence"])


def test_old_fields_are_marked_in_the_document():
    schemas = openapi_document()["components"]["schemas"]
    old = (("Remember", "tier"), ("Undo", "cwd"), ("EngineStatus", "silence"))
    assert all(schemas[schema]["properties"][field]["deprecated"] for schema, field in old)


def test_every_old_form_belongs_to_an_endpoint():
    assert {form.endpoint for form in OLD_FORMS} <= {endpoint.name for endpoint in ENDPOINTS}
