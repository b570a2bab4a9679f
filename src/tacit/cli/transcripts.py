"""`tacit import transcripts`: learn from what hosts kept. In: files, folders, or nothing. Out: what was learned.

The daemon reads and stores, one file a request: the bar moves, an interruption loses at most one session, and a second run
goes on where the first one stopped.
"""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from tacit.cli.terminal.arguments import AsJson, Here
from tacit.cli.transfer.importing import PathFirst, files

app = typer.Typer(
    name="import",
    cls=PathFirst,
    help="Learn from what other tools kept: `tacit import PATH`, or `tacit import transcripts` for past sessions.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
COUNTED = ("added", "merged", "superseded", "contradicted", "retired", "skipped", "failed", "handovers")


app.command("files")(files)


@app.command("transcripts")
def transcripts(
    path: Annotated[
        list[Path] | None,
        typer.Argument(help="Files and folders. Default: all that the agents on this machine keep."),
    ] = None,
    host: Annotated[str, typer.Option("--host", help="Only sessions of this host, such as codex.")] = "",
    since: Annotated[
        str, typer.Option("--since", help="Only sessions that ended since this day, YYYY-MM-DD.")
    ] = "",
    server: Annotated[
        str, typer.Option("--server", help="A running OpenCode server, such as http://127.0.0.1:4096.")
    ] = "",
    subagents: Annotated[bool, typer.Option("--subagents", help="Also learn from subagents.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would be read.")] = False,
    write_up: Annotated[
        bool,
        typer.Option(
            "--write-up", help="Ask the language model in your settings to write them up, the newest first."
        ),
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before sessions are sent.")] = False,
    cwd: Here = Path(),
    as_json: AsJson = False,
) -> None:
    """Learn from past sessions of coding agents. The format is detected by content. A second run adds nothing."""
    from tacit.cli.connection import ask
    from tacit.cli.maintenance.learn import offer_write_up
    from tacit.cli.terminal.output import SOME_PROBLEM, print_json

    since_ms = _moment(since)
    asked: dict[str, object] = {"host": host, "since_ms": since_ms}
    folder = str(cwd.absolute())
    named = [str(each.absolute()) for each in path or ()]
    options: dict[str, object] = {
        "since_ms": since_ms,
        "subagents": subagents,
        "dry_run": dry_run,
        "write_up": write_up,
    }
    if server:
        report = {**dict.fromkeys(COUNTED, 0), **ask("POST", "/v1/backfill", {**options, "server": server})}
    else:
        query = {**asked, "path": named, "cwd": folder} if named else asked
        found: list[dict[str, Any]] = ask("GET", "/v1/transcripts", query)["transcripts"]
        report = _import(found, {**options, "named": True, "cwd": folder if named else ""}, quiet=as_json)
    if as_json:
        print_json(report)
    else:
        _tell(report, dry_run=dry_run)
    failed = bool(report["failed"])
    if write_up and not dry_run:
        failed |= not offer_write_up(yes=yes, quiet=as_json)
    if failed:
        raise typer.Exit(SOME_PROBLEM)


def _moment(day: str) -> int:
    from tacit.errors import InvalidInput

    if not day:
        return 0
    try:
        told = datetime.fromisoformat(day)
    except ValueError as error:
        raise InvalidInput(f"{day!r} is no day.", hint="Write it as 2026-05-31.") from error
    return int((told if told.tzinfo else told.replace(tzinfo=UTC)).timestamp() * 1000)


def _import(found: list[dict[str, Any]], options: dict[str, object], *, quiet: bool) -> dict[str, Any]:
    from tacit.cli.connection import ask
    from tacit.cli.terminal.interaction import Progress

    whole: Counter[str] = Counter(dict.fromkeys(COUNTED, 0))
    files: list[dict[str, Any]] = []
    with Progress("reading transcripts", quiet=quiet) as progress:
        for done, each in enumerate(found):
            progress.update(done, len(found))
            report = ask("POST", "/v1/backfill", {**options, "paths": [each["path"]]})
            whole.update({name: report.get(name, 0) for name in COUNTED})
            files += report.get("files", ())
    return {**whole, "files": files}


def _tell(report: dict[str, Any], *, dry_run: bool) -> None:
    from tacit.cli.terminal.output import format_count, print_line, print_rows

    by_host: dict[str, Counter[str]] = {}
    for each in report["files"]:
        if each["sessions"]:
            told = by_host.setdefault(each["host"], Counter())
            told.update(files=1, sessions=each["sessions"], prompts=each["prompts"], bad=each["bad_lines"])
    rows = [
        (host, str(n["files"]), str(n["sessions"]), str(n["prompts"]), str(n["bad"]))
        for host, n in sorted(by_host.items())
    ]
    heads = ("host", "files", "sessions", "new prompts", "bad lines")
    print_rows("", heads, rows, empty="No conversation was found there.")
    for each in report["files"]:
        if each["error"]:
            print_line(f"not read: {each['error']}", style="red")
    silent = sum(not each["sessions"] and not each["error"] for each in report["files"])
    if silent:
        print_line(f"{silent} {'file holds' if silent == 1 else 'files hold'} no conversation with an agent.")
    if dry_run:
        print_line("Nothing was stored: this was a dry run.")
    elif rows:
        learned = format_count(report["added"] + report["superseded"])
        print_line(f"Learned {learned}, {report['merged']} known already.")
