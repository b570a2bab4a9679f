"""A day of Ana's that asks every operation of the API once: where the examples of the OpenAPI document come from.

In: an empty folder, a team server. Out: requests as they were sent and answers as they came, by operation. The engine, the shipped
embedding model, git and the team server are real. Folders, addresses and the name of the organization are replaced by made-up ones, and
lists are shortened to two rows.
"""

from __future__ import annotations

import json
import re
import subprocess
import time
from collections.abc import Mapping
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from e2e.drivers.site import Site
from tacit.api.endpoints import ENDPOINTS
from tacit.app.engine import Engine
from tacit.app.wiring import open_engine
from transcripts import exchange, write_transcript
from user_voice import client_of

ENDPOINT_OF = {endpoint.name: endpoint for endpoint in ENDPOINTS}
MOST_ROWS = 2
MOST_LINES = 3
RULES = "# Rules\n\n- Run `make lint` before every commit.\n- Amounts are integer cents.\n"
MEM0 = (
    '{"results": [{"id": "a1", "memory": "Prefers tabs over spaces", "created_at": "2026-01-02T03:04:05Z"}]}'
)
Example = dict[str, Any]


class Recorder:
    """Asks operations by name, and keeps what was sent and answered first; a `Recorder` fails where an operation refuses."""

    def __init__(self, client: TestClient) -> None:
        self.examples: dict[str, Example] = {}
        self._client = client

    def ask(
        self, name: str, at: Mapping[str, str] | None = None, /, if_match: str = "", **request: Any
    ) -> Any:
        """Ask one operation, with the path's parameters and the fields of the request; the answer."""
        endpoint = ENDPOINT_OF[name]
        path = re.sub(r"{(\w+)}", lambda part: (at or {})[part[1]], endpoint.path)
        where: dict[str, Any] = (
            {"json": request} if endpoint.reads == "body" and request else {"params": request}
        )
        headers = {"If-Match": if_match} if if_match else {}
        reply = self._client.request(endpoint.method, path, headers=headers, **where)
        assert reply.status_code in endpoint.statuses, f"{name}: {reply.status_code} {reply.text}"
        is_json = reply.headers.get("content-type", "").startswith("application/json")
        answer = reply.json() if is_json else reply.text
        self.tell(name, at, request, answer, status=reply.status_code)
        return answer

    def tell(
        self,
        name: str,
        at: Mapping[str, str] | None,
        request: Mapping[str, Any],
        answer: Any,
        *,
        status: int = 200,
    ) -> None:
        """Keep an example that cannot be asked for here."""
        kept = {
            "at": dict(at or {}),
            "request": dict(request),
            "status": status,
            "answer": _shortened(answer),
        }
        self.examples.setdefault(name, {part: value for part, value in kept.items() if value not in ({}, "")})


def _shortened(value: Any) -> Any:
    match value:
        case list():
            return [_shortened(row) for row in value[:MOST_ROWS]]
        case dict():
            return {name: _shortened(part) for name, part in value.items()}
        case str():
            return "".join(value.splitlines(keepends=True)[:MOST_LINES]) if len(value) > 2000 else value
        case _:
            return value


def record(folder: Path, site: Site) -> dict[str, Example]:
    """Live the day in `folder` with an account on `site`."""
    began_ms = time.time_ns() // 1_000_000
    shop = folder / "shop"
    _make_repository(shop)
    _git(folder, "clone", "-q", str(shop), "second-clone")
    _git(folder / "second-clone", "remote", "set-url", "origin", "https://example.org/shop.git")
    with closing(open_engine(folder / "home")) as engine, client_of(engine) as client:
        day = Recorder(client)
        _remembers(day, shop, folder)
        _works(day, engine, shop)
        _decides(day, shop)
        _looks_after(day, folder, shop)
        _shares(day, site, shop)
        _ends(day, folder)
    names = {str(shop): "/work/shop", str(folder): "/home/ana", **_names(site)}
    return made_up(day.examples, names, began_ms)


def _names(site: Site) -> dict[str, str]:
    return {
        site.url: "https://tacit.example.com",
        site.organization: "acme",
        f"ana-{site.tag}": "ana",
        f"bo-{site.tag}": "bo",
    }


RANDOM = re.compile(
    r'(\b(?:mem|trc|chg|req)_)([0-9a-z]{16,})|(["-])([0-9a-f]{10,})(?=")|("(?:ana|bo)-)([0-9a-z]{8})(?=")|(-commit-)(\w{6})(?=\.md)'
)
CURSOR = re.compile(r'(?<="next_cursor": ")[^"]+')
PHRASE = re.compile(r'(?<="phrase": ")[^"]+')
TOOK = re.compile(r'"(took_ms|latency_ms|p\d\d_ms)": (?!0\.0\b)[\d.]+')
MOMENT = re.compile(r"\b1[7-9]\d{11}\b")
BEGAN_MS = 1_767_603_600_000
HOUR_MS, DAY_MS = 3_600_000, 86_400_000


def made_up(examples: dict[str, Example], names: Mapping[str, str], began_ms: int) -> dict[str, Example]:
    """Return the examples with made-up names, ids, times and durations, so that two recordings of the same answers are equal.

    Times keep their distance from the beginning of the day in whole hours, and where a day of a series begins stays the beginning of a day,
    so that the hour of a recording changes nothing. Ids are numbered as they come.
    """
    text = json.dumps(dict(sorted(examples.items())))
    for real, name in names.items():
        text = text.replace(json.dumps(real)[1:-1], name)
    numbered: dict[str, str] = {}

    def numbered_id(real: re.Match[str]) -> str:
        prefix, drawn = (part for part in real.groups() if part is not None)
        return prefix + numbered.setdefault(drawn, f"{len(numbered) + 1:0{len(drawn)}d}")

    def moved(real: re.Match[str]) -> str:
        at_ms = int(real[0])
        if at_ms < BEGAN_MS:  # stands in what the day imports
            return real[0]
        if at_ms % DAY_MS == 0:
            return str(at_ms + (BEGAN_MS // DAY_MS - began_ms // DAY_MS) * DAY_MS)
        return str(BEGAN_MS + round((at_ms - began_ms) / HOUR_MS) * HOUR_MS)

    text = RANDOM.sub(numbered_id, MOMENT.sub(moved, text))
    text = TOOK.sub(r'"\1": 10', text)
    text = PHRASE.sub(" ".join(["0" * 5] * 8), CURSOR.sub("WzAsIjAiXQ", text))
    today = datetime.fromtimestamp(began_ms / 1000, UTC).strftime("%Y-%m-%d")
    return json.loads(text.replace(today, "2026-01-05"))


def _make_repository(shop: Path) -> None:
    shop.mkdir()
    (shop / "CLAUDE.md").write_text(RULES)
    _git(shop, "init", "-q", "-b", "main")
    _git(shop, "remote", "add", "origin", "https://example.org/shop.git")
    _git(shop, "add", "CLAUDE.md")
    _git(shop, "commit", "-q", "-m", "Rules")
    _git(shop, "symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/main")
    _git(shop, "update-ref", "refs/remotes/origin/main", "HEAD")  # as after a push


def _git(folder: Path, *words: str) -> None:
    author = ("-c", "user.name=Ana", "-c", "user.email=ana@example.org")
    subprocess.run(["git", *author, *words], cwd=folder, check=True, capture_output=True)


def _remembers(day: Recorder, shop: Path, folder: Path) -> None:
    cwd = str(shop)
    made = day.ask(
        "remember", content="Run `make lint` before every commit.", when="commit", cwd=cwd, pinned=True
    )
    lint = made["changes"][0]["memory"]
    at = {"id": lint["id"]}
    other = day.ask("remember", content="Amounts are integer cents; never floats.", kind="decision", cwd=cwd)
    cents = other["changes"][0]["memory"]
    day.ask("list_memories", cwd=cwd, kind=["preference", "decision"], limit=2)
    edited = day.ask(
        "edit_memory", at, if_match=lint["etag"], content="Run `make check` before every commit."
    )
    day.ask(
        "edit_memory", at, if_match=edited["memory"]["etag"], content="Run `make lint` before every commit."
    )
    port = day.ask("remember", content="The billing port is 8080.", cwd=cwd)["changes"][0]["memory"]
    day.ask("edit_memory", {"id": port["id"]}, content="The billing port is 9090.", supersede=True)
    twin = day.ask("remember", content="Prices are kept as whole cents.", cwd=cwd)["changes"][0]["memory"]
    day.ask("edit_memory", {"id": twin["id"]}, into=cents["id"])
    day.ask("get_memory", {"id": port["id"]}, versions=True, relations=True)
    forgotten = day.ask("forget_memory", {"id": cents["id"]}, reason="no longer true")
    day.ask("list_changes", cwd=cwd, limit=2)
    day.ask("undo_change", id=forgotten["change_id"])
    clone = {"cwd": str(folder / "second-clone")}
    day.ask("list_projects", **clone)
    day.ask("put_folder_project", **clone, joined=True)
    day.ask("put_folder_project", **clone, joined=False)
    day.ask("list_kinds")
    note = {"namespace": ["shop", "ana"], "key": "theme"}
    day.ask("put_item", **note, value={"name": "dark"}, text="Ana prefers the dark theme.")
    day.ask("search_items", prefix=["shop"], query="which theme", limit=5)
    day.ask("delete_item", **note)


def _works(day: Recorder, engine: Engine, shop: Path) -> None:
    cwd = str(shop)
    about = {"session": "s-41", "cwd": cwd}
    for event in (
        {"event": "start"},
        {"event": "prompt", "text": "Fix the rounding of discounts, then commit."},
        {
            "event": "tool_start",
            "tool": "bash",
            "call_id": "c1",
            "args": {"command": "git commit -m 'Fix rounding'"},
        },
        {"event": "message_end", "text": "Committed."},
    ):
        engine.hook("plain", {**about, **event}, deadline_ms=20_000.0)
    engine.flush()
    recalled = day.ask(
        "recall", text="commit the fix", cwd=cwd, surface="prompt", previous="The rounding is fixed."
    )
    assert recalled["memories"]
    trace = {"id": recalled["trace"]["id"]}
    lint = recalled["memories"][0]["id"]
    day.ask("fetch_memories", ids=[lint], cwd=cwd)
    day.ask("inject", text="Commit the fix of the rounding.", session_id="chat-7", cwd=cwd)
    day.ask("list_traces", session="plain/s-41", surface="prompt", outcome="injected", limit=2)
    day.ask("get_trace", trace)
    day.ask("why_not", memory=lint, text="What is a depot?", cwd=cwd)
    day.ask("rate_memory", id=lint, useful=True, trace_id=trace["id"])
    day.ask("list_exposures", memory=lint)
    day.ask("list_exposures", host="plain", session_id="s-41")
    day.ask("list_sessions", limit=2)
    session = {"host": "plain", "session_id": "s-41"}
    day.ask("get_session", session)
    day.ask("mute_session", session, muted=True)
    row = {"id": trace["id"], "surface": "prompt", "session": "plain/s-41"}
    day.tell("stream_traces", None, {}, f"event: trace\nid: {trace['id']}\ndata: {json.dumps(row)}\n\n")


def _decides(day: Recorder, shop: Path) -> None:
    day.ask("import_memories", content=MEM0, name="mem0.json", cwd=str(shop), dry_run=True)
    for number, words in enumerate(("The depot opens at nine.", "Parcels go by freight.")):
        content = MEM0.replace("Prefers tabs over spaces", words).replace("a1", f"b{number}")
        day.ask("import_memories", content=content, name="mem0.json", cwd=str(shop))
    waiting = day.ask("list_review", cause=["import"], limit=2)
    day.ask("decide_reviews", ids=[waiting["review"][0]["memory"]["id"]], action="accept")
    day.ask("decide_reviews", action="reject", where={"cause": ["import"]}, count=waiting["total"] - 1)


def _looks_after(day: Recorder, folder: Path, shop: Path) -> None:
    cwd = str(shop)
    day.ask("import_project_rules", cwd=cwd)
    said = exchange("From now on always write tests first.", "I will.")
    log = write_transcript(
        folder / "s-40.jsonl", *said, cwd=shop, session="s-40", at="2026-01-02T10:{:02}:00Z"
    )
    day.ask("list_transcripts", path=[str(log)])
    day.ask("import_transcripts", paths=[str(log)], named=True, cwd=cwd)
    day.ask("write_up_session", past=True, dry_run=True)
    day.ask("list_digests", session="claude-code/s-40", learned=True)
    day.ask("tune", bound=0.12)
    day.ask("get_settings", cwd=cwd)
    day.ask("change_settings", values={"recall.level": "quiet"})
    day.ask("change_settings", reset=["recall.level"])
    day.ask("try_model", section="capture.extractor")
    day.ask("change_agent", {"name": "reviewer"}, memory_injection={"level": "quiet"})
    day.ask("list_agents")
    day.ask("get_status")
    document = day.ask("get_openapi")
    day.examples["get_openapi"]["answer"] = {"openapi": document["openapi"], "info": document["info"]}
    day.ask("get_stats", bucket="day")
    day.ask("rescan", dry_run=True)
    day.ask("begin_job", name="reindex")
    while any(job["state"] == "running" for job in day.ask("list_jobs")["jobs"]):
        time.sleep(0.02)


def _shares(day: Recorder, site: Site, shop: Path) -> None:
    cwd = str(shop)
    lint = day.ask("list_memories", text="make lint", cwd=cwd)["memories"][0]["id"]
    file = {"id": lint, "cwd": cwd}
    day.ask("share_memory", **file, by="Ana Ruiz")
    day.ask("share_memory", **file, shared=False)
    day.ask("share_memory", **file, by="Ana Ruiz")
    _git(shop, "add", ".tacit")
    _git(shop, "commit", "-q", "-m", "Share")
    _git(shop, "update-ref", "refs/remotes/origin/main", "HEAD")
    day.ask("put_repository_team", cwd=cwd, joined=True)
    day.ask("get_repository_team", cwd=cwd)
    day.ask("put_repository_team", cwd=cwd, joined=False)

    ana, organization = f"ana-{site.tag}", site.organization
    core = f"{organization}/core"
    code = site.teams.members.add_organization(
        organization, admin=ana, name="Ana Ruiz", now_ms=time.time_ns() // 10**6
    )
    begun = {"url": "https://tacit.example.com", "name": "laptop"}
    sign_in = {
        "login": "lgn_7",
        "secret": "s3cr3t-of-the-login",
        "code": "ABCD-EFGH",
        "until_ms": BEGAN_MS - 1,
    }
    browser_url = "https://tacit.example.com/sso/lgn_7"
    day.tell("sign_in", None, begun, {"begun": {**sign_in, "browser_url": browser_url}, "result": None})
    phrase = day.ask("log_in", url=site.url, code=code, name="laptop")["login"]["phrase"]
    day.ask("sync")
    invited = day.ask("change_devices")["code"]
    del day.examples["change_devices"]  # the example is the one that sends something
    with closing(open_engine(shop.parent / "tablet")) as engine, client_of(engine) as client:
        Recorder(client).ask("log_in", url=site.url, code=invited, phrase=phrase, name="tablet")
    day.ask("get_sync", devices=True)
    day.ask("add_team", team=core)
    day.ask("list_teams")
    day.ask("change_team", team=core, project={"cwd": cwd})
    added = day.ask("put_member", team=core, principal=f"bo-{site.tag}", name="Bo Li", role="writer")
    day.ask("list_members", team=core)
    day.ask("put_member", team=organization, principal="ci", service=True, role="reader", days=30)
    with closing(open_engine(shop.parent / "bos-home")) as engine, client_of(engine) as client:
        bo = Recorder(client)
        bo.ask("log_in", url=site.url, code=added["added"]["code"], name="desktop")
        bo.ask("sync")
        asked = day.ask("share_memory", id=lint, team=core)
        day.ask("list_share_requests", team=core)
        bo.ask("decide_share_request", id=asked["request"]["id"], decision="accept")
    day.examples |= {"decide_share_request": bo.examples["decide_share_request"]}
    day.ask("sync")
    day.ask("list_teams", view="home")
    day.ask("share_memory", id=lint, shared=False)
    day.ask("list_audit", team=core, limit=2)
    day.ask("list_teams", view="data")
    day.ask("put_member", team=core, principal=f"bo-{site.tag}", member=False)
    day.ask("change_team", team=core, project={"remote": "example.org/shop", "allowed": False})
    day.ask("change_team", team=core, left=True)
    day.ask("change_devices", revoked="tablet")
    day.ask("change_devices", new_secret=True)
    day.ask("log_out")


def _ends(day: Recorder, folder: Path) -> None:
    day.ask("create_backup", target=str(folder / "tacit-2026-11-26.db"))
    day.ask("list_backups")
    day.ask("restore_backup", source=str(folder / "tacit-2026-11-26.db"), dry_run=True)
    day.ask("export_memories", target=str(folder / "memories.md"), format="markdown")
    day.ask("purge_memories", text="dark theme", dry_run=True)
