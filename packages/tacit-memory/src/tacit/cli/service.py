"""Commands for the daemon: serve mcp stop logs mute unmute backup restore reindex.

In: arguments. Out: results. `restore` and `reindex` open the store; the other commands ask the daemon.
"""

from __future__ import annotations

import json
import time
from collections import deque
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from tacit.cli.terminal.arguments import AsJson, Here, Yes

FOLLOW_S = 0.3
ANNOUNCE_S = 10.0
LIVE_S = 12 * 3600
"""A session that was not heard of for so long is not taken for running: its end was missed."""
MOST_SESSIONS = 200
SessionName = Annotated[
    str,
    typer.Argument(help="host/id. Default: this folder's session, if there is only one.", show_default=False),
]


def stop(as_json: AsJson = False) -> None:
    """Stop the daemon; the next session starts it again."""
    from tacit.cli.context import current_context
    from tacit.cli.terminal.output import print_json, print_line

    place = current_context()
    stopped = place.connect(place.home).stop()
    if as_json:
        print_json({"stopped": stopped})
        return
    print_line("stopped" if stopped else "no daemon ran")


def serve(
    http_port: Annotated[
        int | None, typer.Option(min=0, max=65_535, help="Also listen on this loopback port; 0 = any.")
    ] = None,
    foreground: Annotated[
        bool,
        typer.Option(
            "--foreground/--background", help="Stay in the foreground, or start it in the background."
        ),
    ] = True,
    as_json: AsJson = False,
) -> None:
    """Run the daemon, and print where it listens. Sessions start one automatically."""
    from tacit.cli.context import current_context

    home = current_context().home
    if foreground:
        from tacit.daemon.lifecycle import claim

        claimed = claim(home)
        if claimed is not None:
            _serve_here(claimed, http_port=http_port, as_json=as_json)
            return
    place = current_context()
    daemon = place.connect(home)
    daemon.ensure_running(15.0)
    if http_port is not None:
        daemon.request("POST", "/listen", {"port": http_port}, timeout_s=10.0)
    _say_where(_facts(), as_json=as_json, already=foreground)


def mcp(
    host: Annotated[str, typer.Option("--host", help="Name of the client that starts the server.")] = "mcp",
    as_json: AsJson = False,
) -> None:
    """Serve the memory tools on standard input and output, for any MCP client.

    --json prints the entry for its configuration, and writes the launcher that the entry names.
    """
    import os
    import sys

    from tacit.cli.context import current_context
    from tacit.cli.terminal.output import print_json
    from tacit.client.daemon_facts import hook_source

    home = current_context().home
    if as_json:
        from tacit.daemon.launcher import write_launcher

        home.ensure()
        print_json({"command": str(write_launcher(home)), "args": ["mcp", "--host", host]})
        return
    if sys.stdin.isatty():
        sys.stderr.write(
            "An MCP client starts this command and writes JSON-RPC messages to it; `tacit install CLIENT` does that for known ones.\n"
        )
    pipe = [sys.executable, "-I", "-S", "-E", str(hook_source()), "mcp", "--host", host]
    os.execve(pipe[0], pipe, home.environment())  # noqa: S606 - the hook client of this installation


def _serve_here(claimed: Any, *, http_port: int | None, as_json: bool) -> None:
    from threading import Thread

    from tacit.daemon.process import DaemonProcess

    def announce() -> None:
        until = time.monotonic() + ANNOUNCE_S
        facts = _facts()
        while time.monotonic() < until and not (facts and (facts.get("http_port") or http_port is None)):
            time.sleep(0.05)
            facts = _facts()
        _say_where(facts, as_json=as_json, already=False)

    process = DaemonProcess(claimed.home, claimed, http_port=http_port)
    Thread(target=announce, name="tacit-announce", daemon=True).start()
    raise typer.Exit(process.run())


def _facts() -> dict[str, Any]:
    """What run/daemon.json says, without the token."""
    from dataclasses import asdict

    from tacit.cli.context import current_context
    from tacit.client.daemon_facts import read_facts

    home = current_context().home
    facts = read_facts(home)
    if facts is None:
        return {}
    public = {name: value for name, value in asdict(facts).items() if name != "token"}
    return {**public, "socket": str(home.transport().file), "token_file": str(home.daemon_file)}


def _say_where(facts: dict[str, Any], *, as_json: bool, already: bool) -> None:
    from tacit.cli.terminal.output import print_json, print_line

    if as_json:
        print_json({**facts, "already_running": already})
        return
    print_line(f"{'A daemon runs already' if already else 'Serving'}: pid {facts.get('pid', '?')}")
    print_line(f"  socket  {facts.get('socket', '')}")
    if facts.get("http_port"):
        print_line(
            f"  http    http://127.0.0.1:{facts['http_port']} (send the token of {facts['token_file']} as "
            "`Authorization: Bearer ...`)"
        )


def logs(
    lines: Annotated[int, typer.Option("-n", "--lines", min=1, max=100_000, help="How many.")] = 40,
    follow: Annotated[bool, typer.Option("-f", "--follow", help="Follow the log until interrupted.")] = False,
    hooks: Annotated[bool, typer.Option("--hooks", help="Show the hook client's log instead.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show the daemon's log. It holds no memory text."""
    from tacit.cli.context import current_context
    from tacit.cli.terminal.output import print_json, print_line

    path = current_context().home.log_file
    path = path.with_name("hook.log") if hooks else path
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            newest = deque(file, maxlen=lines)
            end = file.tell()
    except FileNotFoundError:
        newest, end = deque[str](), 0
    if as_json and not follow:
        print_json([_entry(line) for line in newest])
        return
    if not newest:
        print_line(f"{path} has no log entries yet.")
    for line in newest:
        _print_entry(line, as_json=as_json)
    while follow:
        time.sleep(FOLLOW_S)
        end = _print_since(path, end, as_json=as_json)


def _print_since(path: Path, end: int, *, as_json: bool) -> int:
    try:
        if path.stat().st_size < end:  # it was rotated
            end = 0
        with path.open(encoding="utf-8", errors="replace") as file:
            file.seek(end)
            while (line := file.readline()).endswith("\n"):
                _print_entry(line, as_json=as_json)
                end = file.tell()
    except FileNotFoundError:
        return 0
    return end


def _entry(line: str) -> dict[str, Any]:
    try:
        value: object = json.loads(line)
    except ValueError:
        value = None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {"message": line.rstrip("\n")}


def _print_entry(line: str, *, as_json: bool) -> None:
    from tacit.cli.terminal.output import print_line

    entry = _entry(line)
    if as_json:
        print_line(json.dumps(entry))
        return
    if "at" not in entry:
        print_line(str(entry["message"]))
        return
    level = str(entry.get("level", ""))
    style = {"error": "red", "critical": "red", "warning": "yellow"}.get(level, "")
    extra = " ".join(str(entry[name]) for name in ("detail", "error") if name in entry)
    print_line(f"{entry['at']} {level:<7} {entry.get('message', '')} {extra}".rstrip(), style=style)


def mute(session: SessionName = "", cwd: Here = Path(), as_json: AsJson = False) -> None:
    """Inject nothing in a session until it is unmuted."""
    _set_muted(session or _only_session(cwd, muted=False), muted=True, as_json=as_json)


def unmute(session: SessionName = "", cwd: Here = Path(), as_json: AsJson = False) -> None:
    """Inject memories in a session again."""
    _set_muted(session or _only_session(cwd, muted=True), muted=False, as_json=as_json)


def _only_session(cwd: Path, *, muted: bool) -> str:
    """The one session that runs in this folder's project and is (not) muted.

    Raises:
        NotFound: if there is none, or several; the hint lists them.
    """
    from tacit.cli.connection import ask
    from tacit.cli.terminal.output import format_moment
    from tacit.errors import NotFound
    from tacit.session.projects import identify_project

    root = identify_project(str(cwd.absolute())).root
    since_ms = (time.time() - LIVE_S) * 1000
    running = [
        session
        for session in ask("GET", "/v1/sessions", {"limit": MOST_SESSIONS})["sessions"]
        if not session["ended"] and not session["parent"] and session["last_signal_at_ms"] >= since_ms
    ]
    matching = [
        session for session in running if session["project_root"] == root and session["muted"] is muted
    ]
    if len(matching) == 1:
        return str(matching[0]["key"])
    state = "muted" if muted else "running"
    listed = ", ".join(
        f"{session['key']} (last heard of {format_moment(session['last_signal_at_ms'])})"
        for session in matching or running
    )
    problem = f"Several sessions are {state} in {root}." if matching else f"No session is {state} in {root}."
    raise NotFound(
        problem,
        hint=f"Name one as host/id: {listed}." if listed else "Name one as host/id; `tacit why` shows them.",
    )


def _set_muted(session: str, *, muted: bool, as_json: bool) -> None:
    from urllib.parse import quote

    from tacit.cli.connection import ask
    from tacit.cli.terminal.output import print_json, print_line

    host, slash, name = session.partition("/")
    if not slash or not name:
        raise typer.BadParameter("Name a session as host/id; `tacit why` shows them.")
    answer = ask("POST", f"/v1/sessions/{quote(host, safe='')}/{quote(name, safe='')}/mute", {"muted": muted})
    if as_json:
        print_json(answer)
        return
    print_line(f"{'muted' if answer['muted'] else 'unmuted'} {answer['session']}")


def backup(
    target: Annotated[Path, typer.Argument(help="A file that does not exist yet, or a folder.")],
    as_json: AsJson = False,
) -> None:
    """Write a consistent copy of the store, while it is in use."""
    from tacit.cli.connection import ask_with_progress
    from tacit.cli.terminal.output import print_json, print_line

    path = target.expanduser().absolute()
    if path.is_dir():
        path /= time.strftime("tacit-%Y%m%d-%H%M%S.db")
    answer = ask_with_progress(
        "POST", "/v1/backup", {"target": str(path)}, "backup", "backing up", quiet=as_json
    )
    if as_json:
        print_json(answer)
        return
    print_line(f"backed up to {answer['target']}")


def restore(
    source: Annotated[Path, typer.Argument(help="A file from `tacit backup`, backups/ or quarantine/.")],
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Replace the store by a backup, or by what can be read of a damaged database. The present store is moved aside, not deleted."""
    from tacit.app.wiring import examine_backup, restore_store
    from tacit.cli.context import current_context
    from tacit.cli.terminal.interaction import confirm
    from tacit.cli.terminal.output import format_count, print_json, print_line
    from tacit.daemon.lifecycle import claim
    from tacit.errors import DaemonError

    place = current_context()
    place.require_user("replace your store by another one")
    file = source.expanduser().absolute()
    readable = examine_backup(place.home, file)
    new_store = (
        f"{file}"
        if readable is None
        else f"the {readable} memories that can be read of {file}, which is damaged,"
    )
    confirm(f"Make {new_store} the store of {place.home.root}? The present store is moved aside.", yes=yes)
    place.connect(place.home).stop()
    # While we hold the daemon's lock no hook can start one over the file that is being exchanged.
    claimed = claim(place.home)
    if claimed is None:
        raise DaemonError("A daemon started meanwhile. Nothing was changed.", hint="Run the command again.")
    try:
        aside = restore_store(place.home, file)
    finally:
        claimed.release()
    if as_json:
        former = str(aside) if aside else None
        print_json({"restored": str(file), "former": former, "recovered": readable})
        return
    print_line(f"restored {file}")
    if readable is not None:
        print_line(f"  it is damaged: {format_count(readable)} could be read", style="yellow")
    if aside:
        print_line(f"  the former store is now {aside}")


def reindex(as_json: AsJson = False) -> None:
    """Renew vectors that belong to another embedder."""
    from tacit.app.wiring import open_engine
    from tacit.cli.context import current_context
    from tacit.cli.terminal.interaction import Progress
    from tacit.cli.terminal.output import print_json, print_line

    engine = open_engine(current_context().home.root)
    try:
        with Progress("renewing vectors", quiet=as_json) as progress:
            renewed = engine.maintenance.reindex(progress=progress.update)
    finally:
        engine.close()
    if as_json:
        print_json({"embedded": renewed})
        return
    print_line(f"renewed {renewed} vectors" if renewed else "every vector already belongs to this embedder")


def redact(
    rescan: Annotated[
        bool, typer.Option("--rescan", help="Apply today's rules to everything stored.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would change.")] = False,
    as_json: AsJson = False,
) -> None:
    """Remove secrets from everything stored: tables, indexes, traces, logs, start blocks, backups, exports."""
    from tacit.cli.connection import ask_with_progress
    from tacit.cli.terminal.output import print_json, print_line

    if not rescan:
        raise typer.BadParameter("Run `tacit redact --rescan`; add --dry-run for a preview.")
    report = ask_with_progress(
        "POST", "/v1/rescan", {"dry_run": dry_run}, "rescan", "looking for secrets", quiet=as_json
    )
    if as_json:
        print_json(report)
        return
    would = "would change" if report["dry_run"] else "cleaned"
    for place, count in (*report["rows"].items(), *report["files"].items()):
        print_line(f"  {place:<24} {count} {would}")
    if not report["rows"] and not report["files"]:
        print_line(
            "Nothing was found: the stored data holds no secret that the rules recognize.", style="green"
        )
    for problem in report["left"]:
        print_line(f"  left: {problem}", style="yellow")
