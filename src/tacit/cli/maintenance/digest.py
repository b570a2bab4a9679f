"""`tacit digest`: what sessions did and left open. In: a session's name or nothing. Out: lines or JSON. Decides nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from tacit.cli.terminal.arguments import AsJson, Here, drop_empty

MEANINGS = {
    "impl": "worked on",
    "dec": "decided",
    "block": "blocked",
    "next": "next",
    "done": "done",
    "fix": "fixed",
}
_MOST_FILES = 12


def digest(
    session: Annotated[
        str,
        typer.Argument(
            help="host/id, the id or its beginning. Default: this project's last session.",
            show_default=False,
        ),
    ] = "",
    last: Annotated[bool, typer.Option("--last", help="The last session of all projects.")] = False,
    project: Annotated[
        bool, typer.Option("--project", help="Every session of this project, newest first.")
    ] = False,
    limit: Annotated[
        int, typer.Option("-n", "--limit", min=1, max=200, help="How many, with --project.")
    ] = 10,
    cwd: Here = Path(),
    as_json: AsJson = False,
) -> None:
    """Show the digest of a session: requests, decisions, blockers, next steps, results, fixes; files, open tasks and commits."""
    from tacit.cli.connection import ask
    from tacit.cli.terminal.output import print_json, print_line

    if bool(session) + last + project > 1:
        raise typer.BadParameter("Name a session, or use --last or --project.")
    folder = "" if last else str(cwd.absolute())
    asked = {"session": session} if session else drop_empty(cwd=folder, limit=limit if project else 1)
    answer = ask("GET", "/v1/digests", asked)
    if as_json:
        print_json(answer)
        return
    if answer["reason"]:
        newer = "The newest session " if answer["digests"] else "No digest: "
        print_line(f"{newer}{answer['reason']}.", style="yellow")
    elif not answer["digests"]:
        print_line("No digest yet: no session here has recorded work, decisions or open tasks.")
    for number, one in enumerate(answer["digests"]):
        if number or answer["reason"]:
            print_line()
        _print(one)
    if answer["digests"] and not project:
        print_line(
            f"`tacit learned {answer['digests'][0]['session']}` shows what was learned from it.", style="dim"
        )


def _print(one: dict[str, Any]) -> None:
    from tacit.cli.terminal.output import format_moment, print_line

    running = "  (still running)" if one["running"] else ""
    print_line(f"{one['session']}  {format_moment(one['at_ms'])}{running}", style="bold")
    for line in one["lines"]:
        print_line(f"  {MEANINGS.get(line['code'], line['code']):<10} {line['text']}")
    files, tasks, commits = one["files"], one["open_tasks"], one["commits"]
    more = f" and {len(files) - _MOST_FILES} more" if len(files) > _MOST_FILES else ""
    for title, text in (
        ("files", ", ".join(files[:_MOST_FILES]) + more),
        ("open", "; ".join(tasks)),
        ("commits", "; ".join(commits)),
        ("memory", one["memory_id"]),
    ):
        if text:
            print_line(f"  {title:<10} {text}", style="dim")
