"""The endpoints about teams without a server: their answers, and what they refuse before they ask it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tacit.model.changes import Rewrite
from tacit.model.memory import Provenance, TrustTier, team_source
from tacit.model.scope import UNIVERSAL
from tacit.state.captured import TeamState
from tacit.state.registry import TEAMS

pytestmark = pytest.mark.timeout(30)
CORE = "acme/core"


def stated(engine, content: str, *, tier: TrustTier | None = None) -> str:
    """Store a memory and return its id. With a tier, it is one that the team shares."""
    memory = engine.remember(content, scope=UNIVERSAL)[0].memory
    if tier is not None:
        origin = Provenance(tier=tier, source=team_source(CORE), author="Bo Li")
        engine._parts.store.apply([Rewrite(memory=replace(memory, provenance=origin))])
    return memory.id


def test_joined_teams_are_known_without_a_server_with_the_memories_that_hold_here(engine, client):
    stated(engine, "Commit messages begin with the ticket number.", tier=TrustTier.TEAMMATE)
    stated(engine, "Releases go out on Thursdays.", tier=TrustTier.ASSISTANT)
    stated(engine, "Invoices are numbered by year.", tier=TrustTier.USER)  # the user made it their own
    own = stated(engine, "Parcels go by freight.")
    states = {
        CORE: TeamState(cursor="9:9", role="writer", name="Ana Ruiz", own={"mem_shared": own}),
        "acme": TeamState(role="reader", name="Ana Ruiz"),
    }
    engine._parts.store.apply([], values=TEAMS.change(states))
    answer = client.get("/v1/teams", params={"view": "home"}).json()
    assert (answer["teams"], answer["owned"]) == ([], None)
    assert answer == {
        **answer,
        "known": [
            {"team": "acme", "role": "reader", "name": "Ana Ruiz", "memories": 0, "own": [], "lost": []},
            {"team": CORE, "role": "writer", "name": "Ana Ruiz", "memories": 3, "own": [own], "lost": []},
        ],
    }


def test_without_a_login_the_server_is_not_asked_and_the_answer_says_how_to_connect(client):
    refused = client.get("/v1/teams")
    assert refused.status_code == 422
    assert "tacit login URL" in refused.json()["hint"]
    assert client.get("/v1/teams", params={"view": "home"}).json()["known"] == []
    assert client.get("/v1/teams", params={"view": "data"}).status_code == 422


@pytest.mark.parametrize("named", [{}, {"cwd": "/work/shop", "remote": "example.org/shop"}])
def test_a_project_is_removed_by_its_folder_or_its_remote(client, named):
    refused = client.patch("/v1/teams", json={"team": "acme", "project": {"allowed": False, **named}})
    assert refused.status_code == 422
    assert "either cwd or remote" in refused.json()["detail"]


@pytest.mark.parametrize(
    ("method", "path", "body", "expected"),
    [
        ("PATCH", "/v1/teams", {"team": "acme"}, "either left or project"),
        ("PATCH", "/v1/teams", {"team": "acme", "left": True, "project": {"remote": "x"}}, "either left or project"),
        ("PUT", "/v1/teams/members", {"team": "acme", "principal": "ci", "service": True}, "for a service account"),
        ("PUT", "/v1/shares", {"id": "mem_1", "cwd": "/w"}, "by together with cwd"),
        ("PUT", "/v1/shares", {"id": "mem_1", "purge": True}, "purge without cwd"),
        ("PUT", "/v1/shares", {"id": "mem_1", "shared": False, "team": "acme"}, "team without cwd"),
        ("POST", "/v1/sync/sign-in", {"url": "https://x.example", "login": "l"}, "login and secret together"),
    ],
)  # fmt: skip
def test_fields_that_do_not_fit_together_are_refused_before_the_server_is_asked(
    client, method, path, body, expected
):
    refused = client.request(method, path, json=body)
    assert (refused.status_code, refused.json()["code"]) == (422, "invalid_input")
    assert expected in refused.json()["detail"]
