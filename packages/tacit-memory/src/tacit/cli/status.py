"""`status`: is it on, what does it hold, what did it do lately, and why was it silent.

In: the home, and the daemon if one runs. Out: a page for people or one JSON object. Never starts a daemon, never fails
because none runs, never writes.
"""

from __future__ import annotations

import json
import os
import time
from collections import Counter, deque
from pathlib import Path
from typing import Annotated, Any, TypedDict, cast

import typer

from tacit.cli.connection import ask_running
from tacit.cli.context import current_context
from tacit.cli.statistics import show_stats
from tacit.cli.terminal.arguments import AsJson, Here
from tacit.cli.terminal.output import (
    format_count,
    format_moment,
    format_size,
    print_json,
    print_line,
    print_rows,
    shorten_line,
    waiting_line,
)
from tacit.errors import InvalidInput, StoreReadOnly, TacitError
from tacit.hosts.registry import BUILT_IN
from tacit.presets import preset_of

SHOWN_NOTES = 3
MOST_COUNTED = 500
MOST_CAUSES = 4
"""The most causes of silence shown; --json has all."""
TIMEOUT_S = 10.0
DAY_MS = 86_400_000
SOON_MS = 7 * DAY_MS
"""How long before memberships end `tacit status` begins to report it."""


class LastPrompt(TypedDict):
    """One of the last prompts, with the number of memories injected or the reason for silence."""

    at_ms: int
    session: str
    injected: int
    tokens: int
    silence: str
    text: str


class VisibleMemories(TypedDict):
    """The memories visible from a folder, by kind; `more` = there are more than were counted. `folders` share the project.

    `unconfirmed` = statements and contradictions that wait for the user; `noted` = what an agent noted in the newest session that has notes.
    """

    cwd: str
    project: str
    folders: list[str]
    more: bool
    kinds: dict[str, int]
    unconfirmed: int
    noted: list[str]
    noted_in: str


class HostFacts(TypedDict):
    """The state of one host's installation, and what the user should do about it."""

    host: str
    state: str
    problems: list[str]


class ProxyRow(TypedDict):
    """One running `tacit proxy`."""

    pid: int
    port: int
    project: str
    capture: bool


class DaemonAnswers(TypedDict):
    """What the daemon answered; a field is None = it was not asked, or could not answer. `week` = the numbers of the last 7 days."""

    engine: dict[str, Any] | None
    week: dict[str, Any] | None
    here: VisibleMemories | None
    prompts: list[LastPrompt] | None
    warnings: list[str]


class StatusFacts(DaemonAnswers):
    """Everything that `tacit status` shows, and prints with --json. `daemon` = the health of the running daemon, None = none runs.

    `preset`, `recall_enabled`, `shadow` and `off` (the surfaces without tokens) are what holds in this folder.
    `backup_at_ms` = when the newest automatic backup was made; None = there is none.
    """

    version: str
    home: str
    daemon: dict[str, object] | None
    preset: str
    off: list[str]
    recall_enabled: bool
    shadow: bool
    store_bytes: int
    backup_at_ms: int | None
    waiting: int
    hook_failures: dict[str, int]
    hosts: list[HostFacts]
    proxies: list[ProxyRow]


def status(
    cwd: Here = Path(),
    recent: Annotated[
        int | None,
        typer.Option("-n", "--recent", help="Number of prompts to explain (5), or with --log of lines (40)."),
    ] = None,
    stats: Annotated[
        bool,
        typer.Option(
            "--stats",
            help="Count what is stored and used; chart injections, silences, latency and tokens; compare sessions with and without memory.",
        ),
    ] = False,
    days: Annotated[int, typer.Option("--days", help="With --stats: how far back charts go.")] = 30,
    log: Annotated[
        bool, typer.Option("--log", help="Show the daemon's log, which holds no memory text.")
    ] = False,
    hooks: Annotated[bool, typer.Option("--hooks", help="Show the hook client's log.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show whether Tacit works, what it holds, and why it was silent."""
    if stats:
        show_stats(days, as_json=as_json)
        return
    if log or hooks:
        _show_log(40 if recent is None else recent, hooks=hooks, as_json=as_json)
        return

    facts = gather(cwd, recent=5 if recent is None else recent)
    if as_json:
        print_json(facts)
        return
    _print(facts)


def _show_log(lines: int, *, hooks: bool, as_json: bool) -> None:
    path = current_context().home.log_file
    path = path.with_name("hook.log") if hooks else path
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            newest = deque(file, maxlen=max(0, lines))
    except FileNotFoundError:
        newest = deque[str]()
    if as_json:
        print_json([_entry(line) for line in newest])
        return
    if not newest:
        print_line(f"{path} has no log entries yet.")
    for line in newest:
        _print_entry(line)


def _entry(line: str) -> dict[str, Any]:
    try:
        value: object = json.loads(line)
    except ValueError:
        value = None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {"message": line.rstrip("\n")}


def _print_entry(line: str) -> None:
    entry = _entry(line)
    if "at" not in entry:
        print_line(str(entry["message"]))
        return
    level = str(entry.get("level", ""))
    style = {"error": "red", "critical": "red", "warning": "yellow"}.get(level, "")
    extra = " ".join(str(entry[name]) for name in ("detail", "error") if name in entry)
    print_line(f"{entry['at']} {level:<7} {entry.get('message', '')} {extra}".rstrip(), style=style)


def gather(cwd: Path, *, recent: int) -> StatusFacts:
    """Collect everything that `status` shows, with the last `recent` prompts. Starts no daemon."""
    from tacit import __version__
    from tacit.client.proxy_facts import read_proxies
    from tacit.config.layers import read_settings
    from tacit.model.pack import Surface
    from tacit.recall.query import is_off
    from tacit.session.projects import identify_project
    from tacit.upkeep.backups import newest_backup

    place = current_context()
    health = place.connect(place.home).status()
    project = Path(identify_project(str(cwd.absolute())).root)
    report = read_settings(place.home, project)
    recall = report.settings.recall
    newest = newest_backup(place.home)
    answers: DaemonAnswers = {"engine": None, "week": None, "here": None, "prompts": None, "warnings": []}
    if health["running"]:
        _ask_daemon(cwd.absolute(), recent=recent, answers=answers)
    facts: StatusFacts = {
        **answers,
        "version": __version__,
        "home": str(place.home.root),
        "daemon": dict(health) if health["running"] else None,
        "preset": report.settings.preset,
        "off": [
            surface.value
            for surface in Surface
            if surface is not Surface.HOST and is_off(surface, recall, preset_of(report.settings.preset))
        ],
        "recall_enabled": recall.enabled,
        "shadow": recall.shadow,
        "store_bytes": _size_of(place.home.database),
        "backup_at_ms": newest.at_ms if newest else None,
        "waiting": int(health["spooled"]),
        "hook_failures": dict(health["hook_failures"]),
        "hosts": _hosts(project),
        "proxies": [
            {"pid": proxy.pid, "port": proxy.port, "project": proxy.project, "capture": proxy.capture}
            for proxy in read_proxies(place.home)
        ],
    }
    try:
        place.home.check_owner()
    except StoreReadOnly as error:
        facts["warnings"].append(f"{error.message} {error.hint}")
    if place.home.root.exists() and not os.access(place.home.root, os.W_OK | os.X_OK):
        facts["warnings"].append(
            f"The home {place.home.root} cannot be written: `tacit doctor` says what to do."
        )
    facts["warnings"] = list(dict.fromkeys((*facts["warnings"], *map(str, report.warnings))))
    return facts


def _ask_daemon(cwd: Path, *, recent: int, answers: DaemonAnswers) -> None:
    """Ask the daemon and put what it answers into `answers`. If it fails, the rest stays None and a warning is added."""
    from tacit.model.memory import AGENT_SOURCES

    try:
        engine = ask_running("GET", "/v1/status", timeout_s=TIMEOUT_S)
        listing = ask_running(
            "GET", "/v1/memories", {"cwd": str(cwd), "limit": MOST_COUNTED}, timeout_s=TIMEOUT_S
        )
        kinds = Counter(memory["kind"] for memory in listing["memories"])
        notes = [
            (memory["content"], f"{said['host']}/{said['session_id']}")
            for memory in listing["memories"]
            if (said := memory["provenance"])["source"] in AGENT_SOURCES and said["session_id"]
        ]
        noted_in = notes[0][1] if notes else ""
        answers["engine"] = engine
        answers["week"] = ask_week()
        review = ask_running("GET", "/v1/review", {"cwd": str(cwd), "limit": 1}, timeout_s=TIMEOUT_S)
        projects = ask_running("GET", "/v1/projects", {"cwd": str(cwd), "limit": 1}, timeout_s=TIMEOUT_S)
        place = projects["here"]
        answers["here"] = {
            "cwd": str(cwd),
            "project": place["project"]["remote"] or place["project"]["root"],
            "folders": place["project"]["folders"],
            "more": listing["next_offset"] is not None,
            "kinds": dict(kinds),
            "unconfirmed": review["waiting"],
            "noted": [content for content, session in notes if session == noted_in],
            "noted_in": noted_in,
        }
        answers["warnings"] = [*engine["warnings"], *([place["notice"]] if place["notice"] else [])]
        if recent:
            query = {"surface": "prompt", "limit": recent}
            recalls = ask_running("GET", "/v1/traces", query, timeout_s=TIMEOUT_S)["recalls"]
            answers["prompts"] = [_prompt(recall) for recall in recalls]
    except InvalidInput:
        raise
    except TacitError as error:
        answers["warnings"] = [f"The daemon runs but did not answer: {error}"]


def _prompt(recall: dict[str, Any]) -> LastPrompt:
    return {
        "at_ms": recall["at_ms"],
        "session": recall["session"],
        "injected": len(recall["injected"]),
        "tokens": recall["tokens"],
        "silence": recall["silence"],
        "text": recall["text"],
    }


def _hosts(project: Path) -> list[HostFacts]:
    """Return the state of every host: `absent` = its program is not installed, `not connected` = it is, but without Tacit."""
    from tacit.hosts.install import installed_for
    from tacit.hosts.install.clients import find_executable

    place = current_context()
    facts: list[HostFacts] = []
    for host in BUILT_IN:
        host_status = installed_for(host, user_home=place.user_home, project_root=project, home=place.home)
        state: str = host_status.state
        if state == "absent" and find_executable(host, place.user_home, place.search_path):
            state = "not connected"
        facts.append(
            {
                "host": host,
                "state": state,
                "problems": [*host_status.problems, *filter(None, (host_status.waiting,))],
            }
        )
    return facts


def _host_line(facts: HostFacts) -> str:
    match facts["state"]:
        case "not connected":
            return f"not connected: `tacit install {facts['host']}`"
        case "installed":
            return "in place, but see above" if facts["problems"] else "connected"
        case "outdated":
            return "connected by an older version; `tacit install` renews it"
        case "partial":
            return "connected in part; `tacit install` completes it"
        case other:
            return other


def _proxy_line(proxy: ProxyRow) -> str:
    learns = "learns" if proxy["capture"] else "learns nothing"
    return f"http://127.0.0.1:{proxy['port']}, pid {proxy['pid']}, for {proxy['project']}, {learns}"


def _size_of(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _print(facts: StatusFacts) -> None:
    verdict, works = verdict_of(facts)
    print_line(verdict[0], style="bold green" if works else "bold yellow")
    for line in verdict[1:]:
        print_line(f"! {line}", style="yellow")
    print_line()
    rows = _engine_rows(facts)
    if facts["waiting"]:
        rows.append(("waiting", f"{facts['waiting']} hook events, for the next daemon"))
    rows += [
        ("agent", f"{host['host']}: {_host_line(host)}")
        for host in facts["hosts"]
        if host["state"] != "absent"
    ]
    if absent := [host["host"] for host in facts["hosts"] if host["state"] == "absent"]:
        rows.append(
            (
                "agents",
                f"not connected, and not found on this machine: {', '.join(absent)}; `tacit install NAME` connects one all the same",
            )
        )
    rows += [("proxy", _proxy_line(proxy)) for proxy in facts["proxies"]]
    if facts["store_bytes"]:
        rows.append(("backup", _backup_line(facts["backup_at_ms"])))
    rows += [
        ("home", facts["home"]),
        ("daemon", _daemon_line(facts["daemon"])),
        ("preset", _preset_line(facts)),
    ]
    if facts["engine"] is not None:
        rows.append(("embedder", facts["engine"]["embedder"]))
    print_rows("", ("tacit", facts["version"]), rows, empty="")
    if facts["prompts"]:
        print_line("\nLast prompts (explained by `tacit why`)", style="bold")
        print_rows(
            "",
            ("when", "got", "asked"),
            [_prompt_row(p) for p in facts["prompts"]],
            empty="",
        )
    if trouble := facts["hook_failures"]:
        told = ", ".join(f"{name} ({n})" for name, n in trouble.items())
        print_line(
            f"\nHooks that stayed silent: {told}. `tacit doctor` checks that a memory reaches the agent.",
            style="yellow",
        )


def verdict_of(facts: StatusFacts) -> tuple[list[str], bool]:
    """Judge by the checks that the page's Home shows whether Tacit works here. Return (lines for people, whether it works).

    The first line says it all; the others, if there are any, what is wrong and what to do.
    """
    connected = [host["host"] for host in facts["hosts"] if host["state"] not in ("absent", "not connected")]
    engine = facts["engine"]
    failed = [check for check in engine["checks"] if not check["ok"]] if engine is not None else []
    wrong = [f"{check['detail']} {check['hint']}".rstrip() for check in failed if check["name"] != "warnings"]
    if engine is None and not connected:
        wrong.append(
            "No agent is connected, so nothing is noted and nothing given. `tacit install` connects yours."
        )
    if not facts["recall_enabled"] and not any(check["name"] == "recall" for check in failed):
        wrong.append(
            "Nothing is given in this folder: recall.enabled is off. `tacit config get recall.enabled` says where."
        )
    if facts["shadow"] and not any(check["name"] == "shadow" for check in failed):
        wrong.append(
            "Nothing is given in this folder: recall.shadow is on. `tacit config get recall.shadow` says where."
        )
    wrong += [problem for host in facts["hosts"] for problem in host["problems"]]
    wrong += facts["warnings"]  # those of the engine too: its check of warnings would tell them twice
    if wrong:
        return [f"{format_count(len(wrong), 'thing wants', 'things want')} a look:", *wrong], False
    names = " and ".join(filter(None, (", ".join(connected[:-1]), *connected[-1:])))
    agents = f"{names} {'is' if len(connected) == 1 else 'are'} connected" if connected else ""
    if engine is None:
        return [f"Tacit rests until the next session or command: {agents}."], True
    prompts = facts["prompts"]
    if not prompts:
        return [
            f"Tacit is ready{f': {agents}' if agents else ''}. No prompt has come yet: start a session."
        ], True
    seconds = max(0, int(time.time() - prompts[0]["at_ms"] / 1000))
    last = f"last prompt {format_age(seconds)} ago"
    return [f"Tacit works: {', '.join(filter(None, (agents, last)))}."], True


def format_age(seconds: int) -> str:
    """Return a length of time for people, such as `11 s`, `5 min`, `3 h` or `2 days`."""
    if seconds < 60:
        return f"{seconds} s"
    if seconds < 3600:
        return f"{seconds // 60} min"
    return f"{seconds // 3600} h" if seconds < 48 * 3600 else f"{seconds // 86_400} days"


def _noted_line(visible: VisibleMemories) -> str:
    texts = "; ".join(shorten_line(text, 60) for text in visible["noted"][:SHOWN_NOTES])
    more = len(visible["noted"]) - SHOWN_NOTES
    rest = f"; and {more} more" if more > 0 else ""
    return f"by the agent of the newest session with notes: {texts}{rest} (`tacit undo --session {visible['noted_in']}`)"


def _backup_line(at_ms: int | None) -> str:
    return f"the newest was made {format_moment(at_ms)}" if at_ms else "none yet; the daemon makes one a day"


def _daemon_line(daemon: dict[str, object] | None) -> str:
    if daemon is None:
        return "not running; the next session or command starts it"
    return f"running, pid {daemon['pid']}, version {daemon['version']}, up {daemon['uptime_s']:.0f} s"


def _engine_rows(facts: StatusFacts) -> list[tuple[str, str]]:
    engine, visible = facts["engine"], facts["here"]
    if engine is None or visible is None:
        return [("store", format_size(facts["store_bytes"]) if facts["store_bytes"] else "none yet")]
    store = engine["store"]
    total = sum(visible["kinds"].values())
    kinds = ", ".join(
        f"{n} {kind}" for kind, n in sorted(visible["kinds"].items(), key=lambda k: (-k[1], k[0]))
    )
    projects = format_count(store["projects"], "project", "projects")
    rows = [
        (
            "in all",
            f"{format_count(store['memories_active'])} of {projects}, {format_size(store['size_bytes'])}",
        ),
        (
            "project",
            visible["project"]
            + (f", shared by {', '.join(visible['folders'])}" if visible["folders"][1:] else ""),
        ),
        (
            "here",
            (f"{total}+ memories" if visible["more"] else format_count(total))
            + (f": {kinds}" if kinds else "")
            + (
                ": none belongs to this project or to all projects"
                if not total and store["memories_active"]
                else ""
            ),
        ),
        *([("noted", _noted_line(visible))] if visible["noted"] else []),
        *([("review", waiting_line(visible["unconfirmed"]))] if visible["unconfirmed"] else []),
        *week_rows(facts["week"]),
    ]
    if engine["sync"] and engine["sync"]["logged_in"]:
        rows.append(("sync", _sync_line(engine["sync"])))
    if engine["extractor"]:
        rows.append(("writer", _extractor_line(engine["extractor"])))
    for label, model in (("anticipate", engine["anticipation"]), ("judge", engine["judge"])):
        if model:
            rows.append((label, _naming_line(model)))
    if store["handovers_pending"]:
        waiting = format_count(store["handovers_pending"], "transcript waits", "transcripts wait")
        rows.append(("learning", waiting))
    return rows


def _sync_line(sync: dict[str, Any]) -> str:
    """Describe in one line with which account this memory is shared, when it was synced, and what waits."""
    seconds = max(0, int(time.time() - sync["synced_at_ms"] / 1000))
    age = f"synced {format_age(seconds)} ago" if sync["synced_at_ms"] else "not synced yet"
    waiting = format_count(sync["waiting"], "entry waits", "entries wait") if sync["waiting"] else ""
    waiting = waiting or ("changes wait" if sync["changed"] else "nothing waits")
    error = f". The last sync failed: {sync['error']}" if sync["error"] else ""
    advice = f"{sign_in_advice(sync, before='; ')}{lost_advice(sync, before='; ')}"
    device = f"as {sync['name']} ({sync['device'][:12]})"
    return f"{sync['account']} at {sync['url']} {device}: {age}, {waiting}{error}{advice}"


def lost_advice(sync: dict[str, Any], *, before: str = "") -> str:
    """Return `before` and what to do about shared memories that a restored server no longer has; "" = there are none."""
    if not sync["lost"]:
        return ""
    count = format_count(len(sync["lost"]))
    ids = ", ".join(name[-7:] for name in sync["lost"][:5])
    return f"{before}{count} that a team shared is kept here, but the restored server no longer has it: share it again with `tacit share ID` ({ids})"


def sign_in_advice(sync: dict[str, Any], *, before: str = "") -> str:
    """Return `before` and the advice to sign in again if memberships by the provider's groups end soon or have ended; else ""."""
    from tacit.model.memory import day

    by_ms, now_ms = sync["sign_in_by_ms"], time.time() * 1000
    if not by_ms or by_ms > now_ms + SOON_MS:
        return ""
    what = "ended" if by_ms <= now_ms else "end"
    return f"{before}your teams {what} on {day(by_ms)}; renew it with `tacit login {sync['url']} --sso`"


def _preset_line(facts: StatusFacts) -> str:
    """Return the name of the preset that holds in this folder, and what is off."""
    line = facts["preset"]
    if facts["off"]:
        line += f"; off here: {', '.join(facts['off'])}"
    if not facts["recall_enabled"]:
        line += "; recall is off (recall.enabled)"
    if facts["shadow"]:
        line += "; shadow mode: decides, but injects nothing (recall.shadow)"
    return line


def ask_week() -> dict[str, Any]:
    """Ask the running daemon for the statistics of the last 7 days in all projects; return the `series` of `GET /v1/stats`. Starts no daemon."""
    since = (time.time_ns() // 1_000_000 // DAY_MS - 6) * DAY_MS
    query = {"part": "series", "bucket": "day", "since_ms": since}
    return ask_running("GET", "/v1/stats", query, timeout_s=TIMEOUT_S)["series"]


def week_rows(week: dict[str, Any] | None) -> list[tuple[str, str]]:
    """Return rows of (title, text) that say what was noted, given, fetched and used in the last 7 days, and why recalls were silent; [] = `week` is None.

    They use the words of the page's Home. Start packs are not counted with prompts.
    """
    if week is None:
        return []
    if not week["recalls"]:
        return [("last 7 days", f"{format_count(week['noted'])} noted; no session has asked the memory")]
    at = {one["surface"]: one for one in week["surfaces"]}

    def count(name: str, *surfaces: str) -> int:
        return sum(at[surface][name] for surface in surfaces if surface in at)

    used = week["used"]
    prompts, starts = count("recalls", "prompt"), count("recalls", "start")
    calls = count("recalls", "action", "failure")
    fetched = count("memories", "on_demand")
    rows = [
        f"{format_count(week['noted'])} noted",
        f"given before {count('injections', 'prompt')} of {format_count(prompts, 'prompt', 'prompts')}"
        if prompts
        else "",
        f"at {count('injections', 'start')} of {format_count(starts, 'session start', 'session starts')}"
        if starts
        else "",
        f"at {count('injections', 'action', 'failure')} of {format_count(calls, 'tool call or failure', 'tool calls and failures')}"
        if calls
        else "",
        f"{format_count(fetched)} fetched on demand" if fetched else "",
        f"{used['used']} of {format_count(used['shown'])} used" if used["shown"] else "",
    ]
    silences = [f"{one['count']} x {one['reason']}" for one in week["silences"][:MOST_CAUSES]]
    return [
        ("last 7 days", f"in all projects: {'; '.join(filter(None, rows))}"),
        *(("silent because", line) for line in silences),
    ]


def _extractor_line(extractor: dict[str, Any]) -> str:
    line = f"{extractor['name']}: asked {extractor['asked']} times, {extractor['kept']} statements kept, {extractor['dropped']} not found in the session"
    line += f", {extractor['tokens']} of {extractor['tokens_per_day']} input tokens today"
    line += _cost(extractor)
    if extractor["waiting"]:
        line += f", {format_count(extractor['waiting'], 'session waits', 'sessions wait')}"
    return line + _trouble(extractor)


def _naming_line(model: dict[str, Any]) -> str:
    line = f"{model['name']}: asked {model['asked']} times, {model['named']} memories named"
    if model["ignored"]:
        line += f", {model['ignored']} entries that name none of the list"
    line += f", {model['tokens']} of {model['tokens_per_day']} input tokens today{_cost(model)}"
    return line + _trouble(model)


def _cost(model: dict[str, Any]) -> str:
    """Return what a model cost today and on all days on record, by the prices in the settings."""
    costs = [day["cost"] for day in model["days"]]
    if None in costs:
        return ", cost not known (set `price` beside its name)"
    today = model["days"][0]["cost"] if model["tokens"] or model["tokens_out"] else 0
    return f", cost {today:.4f} today, {sum(costs):.4f} in {len(costs)} days" if costs else ""


def _trouble(model: dict[str, Any]) -> str:
    """Return the end of a line that says how often a model was not asked or did not answer, and why; "" = never."""
    text = ""
    if model["over_budget"]:
        text += f", {model['over_budget']} times not asked for want of tokens"
    if model["failed"]:
        text += f", {model['failed']} times without an answer"
    if model["error"]:
        text += f": {model['error']} It is asked again after {format_moment(model['paused_until_ms'])}."
    return text


def _prompt_row(prompt: LastPrompt) -> tuple[str, str, str]:
    outcome = format_count(prompt["injected"]) if prompt["injected"] else f"silence: {prompt['silence']}"
    return format_moment(prompt["at_ms"]), outcome, shorten_line(prompt["text"], 80)
