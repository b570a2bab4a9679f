"""`tacit import`: exports of Tacit, edited Markdown, memories of other tools (`PATH`), and past sessions (`transcripts`).

Files are imported in this process; the result is a diff. Transcripts are read and stored by the daemon, one file per request: the bar
moves, an interruption loses at most one session, and a second run continues where the first one stopped. A second run adds nothing.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from tacit.cli.connection import ask, ask_all
from tacit.cli.context import current_context
from tacit.cli.maintenance.learn import offer_write_up
from tacit.cli.terminal.arguments import AsJson, Here
from tacit.cli.terminal.interaction import Progress, agreed
from tacit.cli.terminal.output import (
    SOME_PROBLEM,
    format_count,
    print_error,
    print_json,
    print_line,
    print_rows,
    shorten_line,
)
from tacit.config.environment import one_thread_for_arrays
from tacit.errors import InvalidInput, NotFound

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tacit.app.engine import Engine
    from tacit.app.transfer.report import ImportLine, ImportOptions, ImportReport
    from tacit.errors import TacitError

TRANSCRIPTS = "transcripts"
"""The first argument that selects past sessions; a file of this name is written `./transcripts`."""
SHOWN = 40
"""The most lines of one sort that are shown to people."""
SIGNS = {
    "add": ("+", "green", "new"), "edit": ("~", "yellow", "changed"), "supersede": ("~", "yellow", "replaces another"),
    "merge": ("=", "", "known already"), "contradict": ("?", "yellow", "contradicts another"),
    "forget": ("-", "red", "forgotten"), "removed": ("-", "red", "deleted from the file"),
    "skip": (".", "", "left out"), "refused": ("!", "red", "refused"), "unchanged": ("=", "", "as before"),
}  # fmt: skip
"""Sign, color and words for what became of a statement, in the order of the report."""


def import_(
    what: Annotated[
        list[str],
        typer.Argument(
            metavar="PATH...|transcripts [PATH...]",
            help="Files and folders; or the word `transcripts` for past sessions, by default for all that the agents on this machine keep.",
            show_default=False,
        ),
    ],
    tool: Annotated[
        str, typer.Option("--from", help="The tool that wrote the files; auto = detected by content.")
    ] = "auto",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would change.")] = False,
    mine: Annotated[
        bool,
        typer.Option(
            "--mine", help="Treat these statements as your own words, so that none of them waits for you."
        ),
    ] = False,
    universal: Annotated[
        bool, typer.Option("--universal", help="Make them visible in every project.")
    ] = False,
    any_project: Annotated[
        bool, typer.Option("--any-project", help="Also import memories of other projects.")
    ] = False,
    project: Annotated[
        Path | None,
        typer.Option(
            "--project",
            help="Assign the project memories of an export to this folder's project.",
            show_default=False,
        ),
    ] = None,
    again: Annotated[bool, typer.Option("--again", help="Also import what was imported before.")] = False,
    forget_removed: Annotated[
        bool,
        typer.Option("--forget-removed", help="Forget the memories that were deleted from an edited file."),
    ] = False,
    host: Annotated[
        str, typer.Option("--host", help="Transcripts: only sessions of this host, such as codex.")
    ] = "",
    since: Annotated[
        str, typer.Option("--since", help="Transcripts: only sessions that ended since this day, YYYY-MM-DD.")
    ] = "",
    subagents: Annotated[
        bool, typer.Option("--subagents", help="Transcripts: also learn from subagents.")
    ] = False,
    write_up: Annotated[
        bool,
        typer.Option(
            "--write-up",
            help="Transcripts: ask the language model in your settings to write them up, the newest first.",
        ),
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before sessions are sent.")] = False,
    cwd: Here = Path(),
    as_json: AsJson = False,
) -> None:
    """Take in exports, past sessions, and what other tools kept. The format is detected by content.

    Sugar, mcp-memory-service, claude-mem, mem0, basic-memory, memory banks, MEMORY.md. Their statements wait for you
    unless you pass --mine. A second run adds nothing.
    """
    of_files = (tool != "auto", mine, universal, any_project, project is not None, again, forget_removed)
    of_sessions = (host, since, subagents, write_up)
    if any(of_files if what[0] == TRANSCRIPTS else of_sessions):
        raise typer.BadParameter(
            "--host, --since, --subagents and --write-up go with `tacit import transcripts`;"
            " --from, --mine, --universal, --any-project, --project, --again and --forget-removed with files."
        )
    if what[0] == TRANSCRIPTS:
        options: dict[str, object] = {
            "since_ms": _moment(since),
            "subagents": subagents,
            "dry_run": dry_run,
            "write_up": write_up,
        }
        _import_transcripts(
            [Path(name) for name in what[1:]],
            options,
            host=host,
            yes=yes,
            cwd=cwd,
            as_json=as_json,
        )
        return
    path = [Path(name) for name in what]
    one_thread_for_arrays()  # before numpy is loaded
    from tacit.app.transfer.report import ImportOptions
    from tacit.app.wiring import open_engine

    wanted = ImportOptions(
        tool=tool,
        vouched=mine,
        universal=universal,
        any_project=any_project,
        again=again,
        forget_removed=forget_removed,
        dry_run=dry_run,
        project=_folder(project),
    )
    place = current_context()
    if (mine or forget_removed) and not dry_run:
        place.require_user("import statements as your own words")
    engine = open_engine(place.home.root)
    reports: list[dict[str, object]] = []
    try:
        reports.extend(
            _take_or_refuse(
                engine, source.absolute(), str(cwd.absolute()), wanted, alone=len(path) == 1, quiet=as_json
            )
            for source in path
        )
    finally:
        engine.close()
        if as_json and reports:
            print_json({"imports": reports})
    if any(
        report["problem"] or "refused" in cast("Mapping[str, int]", report["counts"]) for report in reports
    ):
        raise typer.Exit(SOME_PROBLEM)


def _take_or_refuse(
    engine: Engine, path: Path, cwd: str, options: ImportOptions, *, alone: bool, quiet: bool
) -> dict[str, object]:
    """Import one path and return its report. If it is one of several, its error becomes a part of the report and the others are still imported."""
    try:
        report = _take(engine, path, cwd, options, quiet=quiet)
    except (InvalidInput, NotFound) as error:
        if alone:
            raise
        return _refused(path, error, dry_run=options.dry_run, quiet=quiet)
    if not quiet:
        _print_report(report)
    return _json(report, path)


def _folder(project: Path | None) -> str:
    if project is not None and not project.is_dir():
        raise InvalidInput(f"There is no folder {project}.", hint="Name an existing folder with --project.")
    return str(project.absolute()) if project is not None else ""


def _take(engine: Engine, path: Path, cwd: str, options: ImportOptions, *, quiet: bool) -> ImportReport:
    if not options.vouched and current_context().user_speaks and engine.transfer.speaks_for_user(path):
        question = f"{path.name} speaks in your name. Do its statements count as your own words?"
        options = replace(options, vouched=agreed(question, yes=False, unattended=False))
    with Progress(f"importing {path.name}", quiet=quiet) as progress:

        def tell(what: str, done: int, whole: int) -> None:
            progress.update(done, whole, what or f"importing {path.name}")

        report = engine.transfer.take(path, cwd=cwd, wanted=options, progress=tell)
    removed = dict(report.counts).get("removed", 0)
    if removed and not options.dry_run:
        question = f"{removed} {'entry was' if removed == 1 else 'entries were'} deleted from {path.name}. Forget them?"
        if agreed(question, yes=False, unattended=False):
            again = engine.transfer.take(path, cwd=cwd, wanted=replace(options, forget_removed=True))
            forgotten = tuple(line for line in again.lines if line.action == "forget")
            counts = {**dict(report.counts), "forget": len(forgotten)}
            counts.pop("removed")
            other_lines = tuple(line for line in report.lines if line.action != "removed")
            report = replace(report, counts=tuple(sorted(counts.items())), lines=(*other_lines, *forgotten))
    return report


def _refused(path: Path, error: TacitError, *, dry_run: bool, quiet: bool) -> dict[str, object]:
    """Print the error of a file that could not be read, and return its report."""
    from tacit.app.transfer.report import ImportReport

    if not quiet:
        print_error(error, as_json=False)
    facts = {"code": error.code, "message": error.message, "hint": error.hint}
    return {**_json(ImportReport(formats=(), counts=(), lines=(), dry_run=dry_run), path), "problem": facts}


def _json(report: ImportReport, path: Path) -> dict[str, object]:
    plain = asdict(report)
    return {"path": str(path), "problem": None, **plain, "counts": dict(report.counts)}


def _print_report(report: ImportReport) -> None:
    counts = dict(report.counts)
    for sort, (sign, style, _) in SIGNS.items():
        if sort == "unchanged":
            continue
        lines = [line for line in report.lines if line.action == sort]
        for line in lines[:SHOWN]:
            _show(line, sign, style)
        if counts.get(sort, 0) > SHOWN:
            print_line(f"{sign} ... and {counts[sort] - SHOWN} more; --json lists all", style=style)
    rows = [(words, str(counts[sort])) for sort, (_, _, words) in SIGNS.items() if counts.get(sort)]
    sources = ", ".join(f"{Path(path).name} ({tool})" for path, tool in report.formats[:5])
    print_rows(sources, ("statements", "number"), rows, empty="There is no statement in it.")
    if report.dry_run:
        print_line("Nothing was stored: this was a dry run.")
    elif report.unconfirmed:
        print_line(
            f"{format_count(report.unconfirmed)} wait for you: `tacit review`. With --mine they need not."
        )


def _show(line: ImportLine, sign: str, style: str) -> None:
    words = shorten_line(" ".join(line.text.split()), 100)
    if line.action == "edit" and line.before:
        print_line(f"- {shorten_line(' '.join(line.before.split()), 100)}", style="red")
        print_line(f"+ {words}", style="green")
        return
    details = ": ".join(detail for detail in (line.before, line.reason) if detail)
    why = f"  ({details})" if details else ""
    place = f"{line.where}: " if line.action in ("refused", "skip") else ""
    print_line(f"{sign} {place}{words}{why}", style=style)


COUNTED = ("added", "merged", "superseded", "contradicted", "retired", "skipped", "failed", "handovers")


def _import_transcripts(
    path: list[Path],
    options: dict[str, object],
    *,
    host: str,
    yes: bool,
    cwd: Path,
    as_json: bool,
) -> None:
    body: dict[str, object] = {"host": host, "since_ms": options["since_ms"]}
    folder = str(cwd.absolute())
    paths = [str(file.absolute()) for file in path]
    dry_run, write_up = bool(options["dry_run"]), bool(options["write_up"])
    query = {**body, "path": paths, "cwd": folder} if paths else body
    infos: list[dict[str, Any]] = ask_all("/v1/transcripts", "transcripts", query)["transcripts"]
    report = _import(infos, {**options, "named": True, "cwd": folder if paths else ""}, quiet=as_json)
    if as_json:
        print_json(report)
    else:
        _print_learned(report, dry_run=dry_run, host=host)
    failed = bool(report["failed"])
    if write_up and not dry_run:
        failed |= not offer_write_up(yes=yes, quiet=as_json)
    if failed:
        raise typer.Exit(SOME_PROBLEM)


def _moment(day: str) -> int:
    if not day:
        return 0
    try:
        moment = datetime.fromisoformat(day)
    except ValueError as error:
        raise InvalidInput(f"{day!r} is no day.", hint="Write it as 2026-05-31.") from error
    return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)


def _import(infos: list[dict[str, Any]], options: dict[str, object], *, quiet: bool) -> dict[str, Any]:
    totals: Counter[str] = Counter(dict.fromkeys(COUNTED, 0))
    files: list[dict[str, Any]] = []
    with Progress("reading transcripts", quiet=quiet) as progress:
        for done, info in enumerate(infos):
            progress.update(done, len(infos))
            report = ask("POST", "/v1/transcripts", {**options, "paths": [info["path"]]})
            totals.update({name: report.get(name, 0) for name in COUNTED})
            files += report.get("files", ())
    return {**totals, "files": files}


def _print_learned(report: dict[str, Any], *, dry_run: bool, host: str) -> None:
    by_host: dict[str, Counter[str]] = {}
    for file in report["files"]:
        if file["sessions"]:
            counts = by_host.setdefault(file["host"], Counter())
            counts.update(files=1, sessions=file["sessions"], prompts=file["prompts"], bad=file["bad_lines"])
    rows = [
        (host, str(n["files"]), str(n["sessions"]), str(n["prompts"]), str(n["bad"]))
        for host, n in sorted(by_host.items())
    ]
    heads = ("host", "files", "sessions", "new prompts", "bad lines")
    print_rows(
        "", heads, rows, empty=f"No conversation{f' of the host {host!r}' if host else ''} was found there."
    )
    for file in report["files"]:
        if file["error"]:
            print_line(f"not read: {file['error']}", style="red")
    silent = sum(not file["sessions"] and not file["error"] for file in report["files"])
    if silent:
        print_line(f"{silent} {'file holds' if silent == 1 else 'files hold'} no conversation with an agent.")
    if dry_run:
        print_line("Nothing was stored: this was a dry run.")
    elif rows:
        learned = format_count(report["added"] + report["superseded"])
        print_line(f"Learned {learned}, {report['merged']} known already.")
