"""The pages' endpoints over a real engine: what they list, count, change and refuse."""

from __future__ import annotations

import pytest

from tacit.app.wiring import open_engine
from tacit.config.levels import shipped_levels
from tacit.model.memory import Relation, Speaker
from tacit.model.scope import UNIVERSAL
from tacit.providers.embedding import FakeEmbedder
from tacit.recall.spaces import SPACES
from tacit.verbs.requests import to_cursor
from user_voice import client_of

pytestmark = pytest.mark.timeout(30)
STATED = (
    "Always run make lint before a commit.",
    "The billing port is 8080.",
    "Use uv instead of pip for packages.",
    "Never log customer names.",
)


@pytest.fixture(scope="module")
def engine(tmp_path_factory):
    home = tmp_path_factory.mktemp("home")
    made = open_engine(home, embedder=FakeEmbedder(), overrides={"recall": {"thresholds": {"prompt": 0.0}}})
    yield made
    made.close()


@pytest.fixture(scope="module")
def client(engine):
    with client_of(engine) as made:
        yield made


@pytest.fixture
def shop(engine, tmp_path):
    """A folder of its own for each test, with statements and one recorded prompt."""
    folder = tmp_path / "shop"
    folder.mkdir()
    changes = [engine.remember(words, cwd=str(folder))[0] for words in STATED]
    ids = [change.memory.id for change in changes]
    engine._parts.store.relate([Relation(source_id=ids[0], target_id=ids[1], type="related_to", weight=0.5)])
    engine.hook(
        "plain",
        {"event": "prompt", "session": folder.parent.name, "cwd": str(folder), "text": "Which billing port do I use?"},
        deadline_ms=5000.0,
    )  # fmt: skip
    engine.flush()
    return folder, ids


def ask(client, method, path, *, status=200, headers=None, **how):
    reply = client.request(method, path, headers=headers, **how)
    assert reply.status_code == status, reply.text
    return reply.json()


def test_lists_go_on_after_their_last_row_and_know_their_length(client, shop):
    folder, ids = shop
    where = f"cwd={folder}&limit=3"
    first = ask(client, "GET", f"/v1/memories?{where}")
    seen = [one["id"] for one in first["memories"]]
    assert first["total"] == len(ids)
    client.post("/v1/memories", json={"content": "A later statement about tabs.", "cwd": str(folder)})
    second = ask(client, "GET", f"/v1/memories?{where}&cursor={first['next_cursor']}")
    seen += [one["id"] for one in second["memories"]]
    assert sorted(seen) == sorted(ids)
    assert second["next_cursor"] is None
    used = ask(client, "GET", f"/v1/memories?{where}&order=importance")
    more = ask(client, "GET", f"/v1/memories?{where}&order=importance&cursor={used['next_cursor']}")
    assert len({one["id"] for one in (*used["memories"], *more["memories"])}) == 5
    oldest = ask(client, "GET", f"/v1/memories?{where}&order=created&ascending=true")
    later = ask(
        client, "GET", f"/v1/memories?{where}&order=created&ascending=true&cursor={oldest['next_cursor']}"
    )
    times = [one["created_at_ms"] for one in (*oldest["memories"], *later["memories"])]
    assert times == sorted(times)
    assert len(times) == 5
    refused = ask(client, "GET", "/v1/memories?ascending=true", status=422)
    assert "order, where ascending is true" in refused["detail"]
    assert ask(client, "GET", f"/v1/memories?{where}&tier=assistant")["total"] == 0
    assert ask(client, "GET", f"/v1/memories?{where}&pinned=false")["total"] == 5
    for number in range(3):
        client.post("/v1/memories", json={"content": f"Makefile {number} has tabs.", "cwd": str(folder)})
    found = f"/v1/memories?cwd={folder}&text=tabs&order=created"
    for way, descending in (("", True), ("&ascending=true", False)):
        times = [one["created_at_ms"] for one in ask(client, "GET", found + way)["memories"]]
        assert times == sorted(times, reverse=descending)
        assert len(set(times)) > 2


@pytest.mark.parametrize("cursor", ["x", "AAAA", "W10", to_cursor((-1, "a")), "é"])
def test_a_cursor_of_nobody_is_refused(client, cursor):
    assert ask(client, "GET", f"/v1/memories?cursor={cursor}", status=422)["code"] == "invalid_input"
    assert ask(client, "GET", f"/v1/traces?cursor={cursor}", status=422)["code"] == "invalid_input"


def test_facets_count_what_a_click_would_list_and_a_search_says_what_it_did_not_find(client, shop):
    folder, ids = shop
    plain = ask(client, "GET", f"/v1/memories?cwd={folder}")
    assert (plain["facets"], plain["matched"], len(plain["given_times"])) == (None, None, len(ids))
    client.patch(f"/v1/memories/{ids[1]}", json={"kind": "decision"})
    for asked in (
        "",
        "&kind=decision",
        "&given=true",
        "&status=all",
        "&text=port",
        "&text=port&kind=decision",
    ):
        facets = ask(client, "GET", f"/v1/memories?cwd={folder}{asked}&facets=true")["facets"]
        assert facets["status"], asked
        for name, rows in facets.items():
            others = "".join(
                f"&{part}" for part in asked.split("&") if part and not part.startswith(f"{name}=")
            )
            for row in rows:
                clicked = ask(client, "GET", f"/v1/memories?cwd={folder}{others}&{name}={row['value']}")
                assert clicked["total"] == row["count"], (asked, name, row)
    both = ask(client, "GET", f"/v1/memories?cwd={folder}&text=billing port")
    assert 0 < both["matched"] == sum(hit["matched"] for hit in both["hits"])
    assert [hit["matched"] for hit in both["hits"]] == sorted(
        (hit["matched"] for hit in both["hits"]), reverse=True
    )
    assert ask(client, "GET", f"/v1/memories?cwd={folder}&text=billing kubernetes")["matched"] == 0


def test_search_relations_exposures(client, shop):
    folder, ids = shop
    found = ask(client, "GET", f"/v1/memories?text=billing port&cwd={folder}")
    assert (found["memories"][0]["id"], found["hits"][0]["by_words"]) == (ids[1], 1)
    assert len(found["hits"]) == len(found["memories"])
    assert ask(client, "GET", f"/v1/memories?cwd={folder}")["hits"] == []
    told = ask(client, "GET", f"/v1/memories/{ids[0]}?relations=true")
    assert (told["relations"][0]["type"], told["related"][0]["id"]) == ("related_to", ids[1])
    plain = ask(client, "GET", f"/v1/memories/{ids[0]}")
    assert (plain["relations"], plain["related"], plain["versions"]) == ([], [], [])
    handed = ask(client, "GET", f"/v1/exposures?memory={ids[1]}")["exposures"]
    assert [one["used"] for one in handed] == [None]
    assert ask(client, "GET", "/v1/exposures?host=plain", status=422)


def test_nobody_overwrites_what_they_have_not_seen(client, shop):
    name = shop[1][2]
    reply = client.get(f"/v1/memories/{name}")
    tag = reply.headers["etag"]
    assert reply.json()["memory"]["etag"] == tag.strip('"')
    body = {"content": "Use uv.", "importance": 0.4}
    changed = client.patch(f"/v1/memories/{name}", json=body, headers={"If-Match": tag})
    assert (changed.status_code, changed.json()["memory"]["importance"]) == (200, 0.4)
    stale = client.patch(f"/v1/memories/{name}", json={"content": "Use pip."}, headers={"If-Match": tag})
    assert (stale.status_code, stale.json()["code"]) == (412, "precondition_failed")
    assert stale.headers["etag"] == changed.headers["etag"] != tag
    assert ask(client, "GET", f"/v1/memories/{name}")["memory"]["content"] == "Use uv."
    ask(
        client,
        "PATCH",
        f"/v1/memories/{name}",
        json={"pinned": True},
        headers={"If-Match": stale.headers["etag"]},
    )
    ask(client, "DELETE", f"/v1/memories/{name}", headers={"If-Match": "*"})


def test_what_is_sent_twice_is_done_once(client, engine, shop):
    folder, _ = shop
    headers = {"Idempotency-Key": f"key-{folder.parent.name}"}
    body = {"content": "Deploys happen on Tuesday.", "cwd": str(folder)}
    first = ask(client, "POST", "/v1/memories", status=201, json=body, headers=headers)
    again = ask(client, "POST", "/v1/memories", status=201, json=body, headers=headers)
    assert again == first
    assert engine.show(first["changes"][0]["memory"]["id"]).frequency == 1
    other = ask(client, "POST", "/v1/memories", status=422, json={"content": "x"}, headers=headers)
    assert other["code"] == "idempotency_mismatch"
    long = ask(client, "POST", "/v1/memories", status=422, json=body, headers={"Idempotency-Key": "k" * 300})
    assert long["code"] == "invalid_input"


def test_replacing_and_merging_and_taking_back(client, shop):
    _, ids = shop
    body = {"content": "The billing port is 9090.", "supersede": True}
    made = ask(client, "PATCH", f"/v1/memories/{ids[1]}", json=body)
    (change,) = made["changes"]
    assert (made["memory"]["id"], made["memory"]["status"]) == (ids[1], "superseded")
    assert (change["change"], change["old_id"], change["reason"]) == ("supersede", ids[1], "replaced by you")
    new = change["memory"]
    assert (new["provenance"]["tier"], new["status"], new["frequency"]) == ("user", "active", 1)
    old = ask(client, "GET", f"/v1/memories/{ids[1]}")["memory"]
    assert (old["status"], old["validity"]["superseded_by"]) == ("superseded", new["id"])
    then = ask(client, "GET", f"/v1/memories/{ids[1]}?as_of_ms={new['created_at_ms'] - 1}")["memory"]
    assert then["status"] == "active"
    assert ask(client, "GET", f"/v1/memories/{ids[1]}?as_of_ms=5", status=404)["code"] == "not_found"
    assert ask(client, "PATCH", f"/v1/memories/{ids[1]}", status=422, json={**body, "content": "x"})
    for wrong in (
        {"supersede": True},
        {**body, "pinned": True},
        {**body, "into": ids[2]},
        {"into": ids[2], "kind": "fact"},
    ):
        assert (
            ask(client, "PATCH", f"/v1/memories/{ids[1]}", status=422, json=wrong)["code"] == "invalid_input"
        )
    ask(client, "POST", "/v1/undo", json={"id": made["change_id"]})
    assert ask(client, "GET", f"/v1/memories/{ids[1]}")["memory"]["status"] == "active"
    merged = ask(client, "PATCH", f"/v1/memories/{ids[3]}", json={"into": ids[2]})["changes"]
    assert [one["change"] for one in merged] == ["merge", "edit"]
    assert ask(client, "PATCH", f"/v1/memories/{ids[2]}", status=422, json={"into": ids[2]})


def test_recalls_are_listed_shown_replayed_and_judged(client, engine, shop):
    folder, ids = shop
    rows = ask(client, "GET", f"/v1/traces?cwd={folder}&outcome=injected")["recalls"]
    assert len(rows) == 1
    name = rows[0]["id"]
    assert ids[1] in rows[0]["injected"]
    assert ask(client, "GET", f"/v1/traces?cwd={folder}&outcome=silent")["recalls"] == []
    assert ask(client, "GET", f"/v1/traces?session={rows[0]['session']}&text=BILLING")["recalls"] == rows
    assert ask(client, "GET", f"/v1/traces?cwd={folder}&until_ms={rows[0]['at_ms']}")["recalls"] == []
    assert ask(client, "GET", f"/v1/traces?memory={ids[1]}")["recalls"] == rows
    other = ask(
        client, "POST", "/v1/memories", status=201, json={"content": "Bikes are red.", "scope": "universal"}
    )
    unasked = other["changes"][0]["memory"]["id"]
    assert ask(client, "GET", f"/v1/traces?memory={unasked}")["recalls"] == []
    shown = ask(client, "GET", f"/v1/traces/{name}")
    assert [stage["stage"] for stage in shown["trace"]["stages"]][:2] == ["signal", "query"]
    gone = ask(client, "GET", f"/v1/traces/{name}?threshold=1.0")["replayed"]
    assert (gone["after"], sorted(gone["gone"])) == ([], sorted(rows[0]["injected"]))
    before = engine.show(ids[1]).use_count
    for _ in range(2):  # the second time it is no news
        told = ask(client, "POST", "/v1/feedback", json={"useful": True, "id": ids[1], "trace_id": name})
        (said,) = told["verdicts"]
    assert (said["memory_id"], said["useful"], said["injected"]) == (ids[1], True, True)
    assert engine.show(ids[1]).use_count == before + 1
    ask(client, "POST", "/v1/feedback", json={"useful": False, "trace_id": name})  # all that it injected
    verdicts = ask(client, "GET", f"/v1/traces/{name}")["verdicts"]
    assert {one["memory_id"]: one["useful"] for one in verdicts} == dict.fromkeys(rows[0]["injected"], False)
    wrong = {"useful": True, "id": unasked, "trace_id": name}
    assert ask(client, "POST", "/v1/feedback", status=422, json=wrong)
    assert ask(client, "POST", "/v1/feedback", status=422, json={"useful": True})
    assert ask(client, "GET", "/v1/traces/trc_none", status=404)


def test_a_dry_run_answers_as_the_gate_would_and_keeps_nothing(client, engine, shop):
    folder, _ids = shop
    body = {
        "text": "Which billing port?", "cwd": str(folder), "surface": "prompt", "store_trace": False,
        "threshold": 1.0, "preset": "typed", "replay_at": [0.0, 1.0],
    }  # fmt: skip
    told = ask(client, "POST", "/v1/recall", json=body)
    assert (told["memories"], told["trace"]["threshold"], told["trace"]["preset"]) == ([], 1.0, "typed")
    assert [one["threshold"] for one in told["replayed"]] == [0.0, 1.0]
    assert ask(client, "GET", f"/v1/traces/{told['trace']['id']}", status=404)
    assert (
        ask(client, "POST", "/v1/recall", status=422, json={**body, "preset": "typd"})["code"]
        == "invalid_setting"
    )


def test_sessions_turn_by_turn(client, shop):
    folder, ids = shop
    rows = ask(client, "GET", "/v1/sessions?limit=500")["sessions"]
    row = next(one for one in rows if one["project_root"] == str(folder))
    assert (row["turn"], row["exposures"] > 0, row["tokens"] > 0) == (1, True, True)
    assert row["title"] == "Which billing port do I use?"
    found = [
        ask(client, "GET", f"/v1/sessions?cwd={folder}&text={text}")["sessions"]
        for text in ("PORT which", "shop", "bike")
    ]
    assert found == [[row], [row], []]
    page = ask(client, "GET", "/v1/sessions?limit=1")
    if page["next_cursor"]:
        more = ask(client, "GET", f"/v1/sessions?limit=1&cursor={page['next_cursor']}")
        assert more["sessions"] != page["sessions"]
    view = ask(client, "GET", f"/v1/sessions/{row['host']}/{row['session_id']}")["session"]
    assert view["prompts"] == ["Which billing port do I use?"]
    (turn,) = view["turns"]
    assert turn["recalls"][0]["surface"] == "prompt"
    assert ids[1] in {one["memory_id"] for one in turn["exposures"]}
    assert ask(client, "GET", "/v1/sessions/plain/nobody", status=404)


def test_stats_status_and_spaces(client, shop):
    stats = ask(client, "GET", "/v1/stats?bucket=hour")
    series = stats["series"]
    assert stats["use"]["store"]["by_status"]["active"] >= 4
    assert stats["holdout"]["share"] == 0.0
    only = ask(client, "GET", "/v1/stats?part=series&bucket=hour")
    assert (only["use"], only["holdout"], only["series"]["recalls"]) == (None, None, series["recalls"])
    assert ask(client, "GET", "/v1/stats?part=use&part=holdout")["series"] is None
    by_surface = {one["surface"]: one for one in series["surfaces"]}
    assert sum(one["recalls"] for one in series["surfaces"]) == series["recalls"] > 0
    moments = [
        one["recalls"] for name, one in by_surface.items() if name not in ("start", "compaction", "on_demand")
    ]
    assert sum(one["injections"] + one["silences"] for one in series["buckets"]) == sum(moments)
    assert series["noted"] >= 4
    assert series["latency"][0]["count"] > 0
    status = ask(client, "GET", "/v1/status")
    assert {one["name"] for one in status["checks"]} >= {"store", "warnings"}
    assert status["ok"] is all(one["ok"] for one in status["checks"])
    assert status["store"]["memories_active"] >= 4
    assert [(one["host"], one["state"], one["heard_ms"] > 0) for one in status["agents"]] == [
        ("plain", "unknown", True)
    ]
    kinds = ask(client, "GET", "/v1/kinds")
    assert kinds["kinds"][0]["label"]
    spaces = kinds["spaces"]
    assert [space["name"] for space in spaces] == list(SPACES)
    assert all(space["summary"] and space["low"] < space["high"] for space in spaces)
    no_topic = [space for space in spaces if not space["topic_weight"]]
    assert [space["name"] for space in no_topic if "for hints of time" in space["summary"]] == [
        "recent", "periodic", "sequence",
    ]  # fmt: skip
    assert [space["name"] for space in no_topic if "no sign of need" in space["summary"]] == ["periodic"]


def test_settings_that_changed_meanwhile_are_not_overwritten(client, engine):
    tag = client.get("/v1/settings").headers["etag"]
    ask(client, "PATCH", "/v1/settings", json={"values": {"recall.max_items": 6}}, headers={"If-Match": tag})
    assert engine.settings.recall.max_items == 6
    late = {"json": {"values": {"statusline": True}}, "headers": {"If-Match": tag}}
    assert ask(client, "PATCH", "/v1/settings", status=412, **late)["code"] == "precondition_failed"
    own = {"memory_injection": {"max_items": 2, "budgets": {"prompt": 90}}}
    agent = ask(client, "PATCH", "/v1/agents/plan", json=own)["agent"]
    assert agent["overridden"] == ["recall.budgets.prompt", "recall.max_items"]
    assert engine.settings_at("", "plan").recall.budgets.prompt == 90
    ask(client, "PATCH", "/v1/agents/plan", json={"reset_memory_injection_override": True})
    for reverted in (True, False):
        told = ask(client, "PATCH", "/v1/settings", json={"reset": ["recall.max_items"]})
        assert told["reverted"] is reverted
    for path in ("/v1/settings", "/v1/agents/plan"):
        assert ask(client, "PATCH", path, status=422, json={})["code"] == "invalid_input"


def test_settings_with_their_layers(client, shop, tmp_path):
    folder, _ = shop
    view = ask(
        client, "PATCH", "/v1/settings",
        json={"holder": "projects", "name": str(folder), "values": {"recall": {"max_items": 3}, "capture.enabled": None}},
    )["settings"]  # fmt: skip
    row = next(one for one in view["settings"] if one["key"] == "recall.max_items")
    assert (row["value"], row["layer"]) == (3, "own_project")
    assert [one["layer"] for one in row["origins"]] == ["default", "preset", "own_project"]
    assert next(one for one in view["projects"] if one["root"] == str(folder))["overridden"] == [
        "recall.max_items"
    ]
    assert [(one["name"], one["threshold"], one["tuned"]) for one in view["levels"]] == [
        (name, level.threshold, False) for name, level in shipped_levels().items()
    ]
    for wrong in ({"recall.max_items": 5000}, {"recal.max_items": 5}, {"": 1}, {"recall": 5}):
        assert ask(client, "PATCH", "/v1/settings", status=422, json={"values": wrong})["hint"]
    everything = {"holder": "projects", "name": str(folder), "reset": ["*"]}
    assert ask(client, "PATCH", "/v1/settings", json=everything)["reverted"]


def test_another_tier_and_scope_are_not_lost_in_the_list(client, engine, shop):
    engine.remember("A statement for everywhere.", scope=UNIVERSAL, speaker=Speaker.AGENT, source="mcp")
    found = ask(client, "GET", "/v1/memories?scope=universal&status=all&tier=import")
    assert [one["content"] for one in found["memories"]] == ["A statement for everywhere."]


def test_long_work_is_begun_and_told_of(client):
    begun = ask(client, "POST", "/v1/jobs", json={"name": "check"}, status=202)["job"]
    assert (begun["name"], begun["state"], begun["ended_ms"]) == ("check", "running", None)
    waited = ask(client, "POST", "/v1/jobs", json={"name": "check", "wait": True}, status=202)["job"]
    assert (waited["state"], waited["done"], waited["problems"]) == ("done", waited["whole"], [])
    assert ask(client, "GET", "/v1/jobs")["jobs"] == [waited]
    assert ask(client, "POST", "/v1/jobs", json={"name": "wash"}, status=422)["code"] == "invalid_input"


@pytest.mark.parametrize(
    "body",
    [
        {"text": " "},
        {"source": "\t"},
        {"ids": [" "]},
        {"project": "/somewhere", "cwd": "/somewhere"},
        {"ids": ["mem_1"], "cwd": "/somewhere"},
        {"text": "words", "shown": True},
        {},
    ],
)
def test_a_purge_that_says_too_little_or_too_much_is_refused(client, shop, body):
    assert ask(client, "POST", "/v1/purge", status=422, json=body)["code"] == "invalid_input"
    assert ask(client, "GET", f"/v1/memories/{shop[1][0]}")
