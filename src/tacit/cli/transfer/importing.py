"""`tacit import PATH`: exports of Tacit, edited Markdown, and what other tools remember.

In: a file or folder. Out: a diff of what was, or would be, stored. Works in its own process; a second run adds nothing.
"""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from tacit.cli.terminal.arguments import AsJson, Here

if TYPE_CHECKING:
    from tacit.app.engine import Engine
    from tacit.app.transfer.report import ImportLine, ImportOptions, ImportReport
    from tacit.errors import TacitError

SHOWN = 40
"""Lines of one sort that a person is shown."""
SIGNS = {
    "add": ("+", "green", "new"), "edit": ("~", "yellow", "changed"), "supersede": ("~", "yellow", "replaces another"),
    "merge": ("=", "", "known already"), "contradict": ("?", "yellow", "contradicts another"),
    "forget": ("-", "red", "forgotten"), "removed": ("-", "red", "deleted from the file"),
    "skip": (".", "", "left out"), "refused": ("!", "red", "refused"), "unchanged": ("=", "", "as before"),
}  # fmt: skip
"""Sign, colour and words of what becomes of a statement, in the order of the report."""


class PathFirst(TyperGroup):
    """A group in which `tacit import PATH` means `tacit import files PATH`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the command in where a path stands in its place."""
        if args and args[0] not in self.commands and args[0] not in ("--help", "-h"):
            args = ["files", *args]
        return super().parse_args(ctx, args)


def files(
    path: Annotated[
        list[Path], typer.Argument(help="Files and folders; `tacit import PATH` does.", show_default=False)
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
    cwd: Here = Path(),
    as_json: AsJson = False,
) -> None:
    """Import exports of Tacit, edited Markdown, rule files, and the memories of other tools. The format is detected by content.

    Sugar, mcp-memory-service, claude-mem, mem0, basic-memory, memory banks, MEMORY.md. Their statements wait for you
    unless you pass --mine. A second run adds nothing.
    """
    from tacit.config.environment import one_thread_for_arrays

    one_thread_for_arrays()  # before numpy is loaded
    from tacit.app.transfer.report import ImportOptions
    from tacit.app.wiring import open_engine
    from tacit.cli.context import current_context
    from tacit.cli.terminal.output import SOME_PROBLEM, print_json
    from tacit.errors import InvalidInput, NotFound

    wanted = ImportOptions(
        tool=tool, vouched=mine, universal=universal, any_project=any_project, again=again,
        forget_removed=forget_removed, dry_run=dry_run, project=_folder(project),
    )  # fmt: skip
    place = current_context()
    if (mine or forget_removed) and not dry_run:
        place.require_user("import statements as your own words")
    engine = open_engine(place.home.root)
    reports: list[dict[str, object]] = []
    problem = False
    try:
        for each in path:
            try:
                report = _take(engine, each.absolute(), str(cwd.absolute()), wanted, quiet=as_json)
            except (InvalidInput, NotFound) as error:
                if len(path) == 1:
                    raise
                # The others are looked at all the same: each is whole by itself.
                reports.append(_refused(each.absolute(), error, dry_run=dry_run, quiet=as_json))
                problem = True
                continue
            reports.append(_json(report, each.absolute()))
            problem = problem or bool(dict(report.counts).get("refused"))
            if not as_json:
                _tell(report)
    finally:
        engine.close()
        if as_json and reports:
            print_json({"imports": reports})
    if problem:
        raise typer.Exit(SOME_PROBLEM)


def _folder(project: Path | None) -> str:
    from tacit.errors import InvalidInput

    if project is not None and not project.is_dir():
        raise InvalidInput(f"There is no folder {project}.", hint="Name an existing folder with --project.")
    return str(project.absolute()) if project is not None else ""


def _take(engine: Engine, path: Path, cwd: str, wanted: ImportOptions, *, quiet: bool) -> ImportReport:
    from tacit.cli.context import current_context
    from tacit.cli.terminal.interaction import Progress, agreed

    if not wanted.vouched and current_context().user_speaks and engine.transfer.speaks_for_user(path):
        question = f"{path.name} speaks in your name. Do its statements count as your own words?"
        wanted = replace(wanted, vouched=agreed(question, yes=False, unattended=False))
    with Progress(f"importing {path.name}", quiet=quiet) as progress:

        def tell(what: str, done: int, whole: int) -> None:
            progress.update(done, whole, what or f"importing {path.name}")

        report = engine.transfer.take(path, cwd=cwd, wanted=wanted, progress=tell)
    gone = dict(report.counts).get("removed", 0)
    if gone and not wanted.dry_run:
        question = (
            f"{gone} {'entry was' if gone == 1 else 'entries were'} deleted from {path.name}. Forget them?"
        )
        if agreed(question, yes=False, unattended=False):
            again = engine.transfer.take(path, cwd=cwd, wanted=replace(wanted, forget_removed=True))
            forgotten = tuple(line for line in again.lines if line.action == "forget")
            counts = {**dict(report.counts), "forget": len(forgotten)}
            counts.pop("removed")
            kept = tuple(line for line in report.lines if line.action != "removed")
            report = replace(report, counts=tuple(sorted(counts.items())), lines=(*kept, *forgotten))
    return report


def _refused(path: Path, error: TacitError, *, dry_run: bool, quiet: bool) -> dict[str, object]:
    """The report of a file of which nothing was read."""
    from tacit.app.transfer.report import ImportReport
    from tacit.cli.terminal.output import print_error

    if not quiet:
        print_error(error, as_json=False)
    facts = {"code": error.code, "message": error.message, "hint": error.hint}
    return {**_json(ImportReport(formats=(), counts=(), lines=(), dry_run=dry_run), path), "problem": facts}


def _json(report: ImportReport, path: Path) -> dict[str, object]:
    plain = asdict(report)
    return {"path": str(path), "problem": None, **plain, "counts": dict(report.counts)}


def _tell(report: ImportReport) -> None:
    from tacit.cli.terminal.output import format_count, print_line, print_rows

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
    read = ", ".join(f"{Path(path).name} ({tool})" for path, tool in report.formats[:5])
    print_rows(read, ("statements", "number"), rows, empty="There is no statement in it.")
    if report.dry_run:
        print_line("Nothing was stored: this was a dry run.")
    elif report.unconfirmed:
        print_line(
            f"{format_count(report.unconfirmed)} wait for you: `tacit review`. With --mine they need not."
        )


def _show(line: ImportLine, sign: str, style: str) -> None:
    from tacit.cli.terminal.output import print_line, shorten_line

    words = shorten_line(" ".join(line.text.split()), 100)
    if line.action == "edit" and line.before:
        print_line(f"- {shorten_line(' '.join(line.before.split()), 100)}", style="red")
        print_line(f"+ {words}", style="green")
        return
    told = ": ".join(part for part in (line.before, line.reason) if part)
    why = f"  ({told})" if told else ""
    place = f"{line.where}: " if line.action in ("refused", "skip") else ""
    print_line(f"{sign} {place}{words}{why}", style=style)
