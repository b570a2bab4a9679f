"""`tacit purge`: forget for good. In: what is to go. Out: what went, as lines or JSON. Asks before it does anything."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from tacit.cli.connection import ask_with_progress
from tacit.cli.terminal.arguments import AsJson, Here, Yes, drop_empty, session_key
from tacit.cli.terminal.interaction import confirm
from tacit.cli.terminal.output import SOME_PROBLEM, format_count, print_json, print_line, shorten_line

SHOWN = 20
PART = 5_000
"""The most memories purged with one request."""


def purge(
    memory: Annotated[
        list[str] | None,
        typer.Argument(help="Ids of memories, or the beginnings or ends of them.", show_default=False),
    ] = None,
    project: Annotated[
        bool,
        typer.Option("--project", help="Everything of this folder's project: memories, sessions, traces."),
    ] = False,
    session: Annotated[
        str,
        typer.Option("--session", help="All memories learned from this session (host/id), and its record."),
    ] = "",
    source: Annotated[
        str, typer.Option("--source", help="All memories from this source, such as CLAUDE.md, import, mcp.")
    ] = "",
    matching: Annotated[str, typer.Option("--matching", help="All memories with these words.")] = "",
    everywhere: Annotated[
        bool,
        typer.Option(
            "--all",
            help="With --source and --matching: in all projects, not only those visible from this folder.",
        ),
    ] = False,
    secrets: Annotated[
        bool,
        typer.Option(
            "--secrets",
            help="Nothing but secrets, by today's rules, from everything stored: memories, traces, logs, start blocks, backups, exports.",
        ),
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would be removed.")] = False,
    yes: Yes = False,
    cwd: Here = Path(),
    as_json: AsJson = False,
) -> None:
    """Remove memories for good. They go from tables, indexes, history, traces, logs, backups and exports. This cannot be undone."""
    folder = str(cwd.absolute())
    if sum(map(bool, (memory, project, session, source, matching, secrets))) != 1:
        raise typer.BadParameter(
            "Name memories, or use --project, --session, --source, --matching or --secrets."
        )
    if secrets:
        _purge_secrets(dry_run=dry_run, as_json=as_json)
        return
    selection = drop_empty(
        ids=memory,
        project=folder if project else "",
        session=session_key(session),
        source=source,
        text=matching,
        cwd="" if everywhere or not (source or matching) else folder,
    )

    def ask_purge(method: str, path: str, values: dict[str, Any]) -> Any:
        return ask_with_progress(method, path, values, "purge", "looking everywhere", quiet=as_json)

    answer = ask_purge("POST", "/v1/purge", {**selection, "dry_run": True})
    if not as_json:
        _tell(answer)
    if not dry_run:
        confirm(f"{_counted(answer)} for good? This cannot be undone.", yes=yes, default=False)
        if memory or source or matching:  # what was shown, not what fits meanwhile
            answer = purge_in_batches(ask_purge, [memory["id"] for memory in answer["memories"]])
        else:
            answer = ask_purge("POST", "/v1/purge", selection)
    if as_json:
        print_json(answer)
    elif not dry_run:
        _tell(answer)
    if answer["left"] and not dry_run:
        raise typer.Exit(SOME_PROBLEM)


def _purge_secrets(*, dry_run: bool, as_json: bool) -> None:
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


def purge_in_batches(
    ask: Callable[[str, str, dict[str, Any]], Any], ids: list[str], *, part: int = PART
) -> dict[str, Any]:
    """Purge these memories for good, with several requests if they are many; return their answers merged into one. `ids` must not be empty."""
    answers = [
        ask("POST", "/v1/purge", {"ids": ids[at : at + part], "shown": True})
        for at in range(0, len(ids), part)
    ]
    purged_ids = {memory["id"] for answer in answers for memory in answer["memories"]}
    return {
        **answers[-1],
        "memories": [memory for answer in answers for memory in answer["memories"]],
        "rows": _summed(answer["rows"] for answer in answers),
        "files": _summed(answer["files"] for answer in answers),
        "left": list(dict.fromkeys(text for answer in answers for text in answer["left"])),
        "alike": list(
            dict.fromkeys(text for answer in answers for text in answer["alike"] if text not in purged_ids)
        ),
    }


def _summed(counts: Iterable[dict[str, int]]) -> dict[str, int]:
    totals: Counter[str] = Counter()
    for tally in counts:
        totals.update(tally)
    return dict(totals)


def _counted(answer: dict[str, Any]) -> str:
    sessions = format_count(len(answer["sessions"]), "session", "sessions") if answer["sessions"] else ""
    return "Forget " + " and ".join(filter(None, (format_count(len(answer["memories"])), sessions)))


def _tell(answer: dict[str, Any]) -> None:
    would = "would be removed or cleaned" if answer["dry_run"] else "removed or cleaned"
    for memory in answer["memories"][:SHOWN] if answer["dry_run"] else ():
        print_line(f"- {memory['id']} [{memory['kind']}] {shorten_line(memory['content'], 120)}", style="red")
    for session in answer["sessions"][:SHOWN] if answer["dry_run"] else ():
        print_line(f"- session {session}", style="red")
    if answer["dry_run"] and len(answer["memories"]) > SHOWN:
        print_line(f"- ... and {len(answer['memories']) - SHOWN} more; --json lists all", style="red")
    for place, count in (*answer["rows"].items(), *answer["files"].items()):
        print_line(f"  {place:<24} {count} {would}")
    if answer["alike"]:
        print_line(f"  These say the same and stay: {', '.join(answer['alike'])}", style="yellow")
    for problem in answer["left"]:
        print_line(f"  may still hold it: {problem}", style="yellow")
    print_line(
        "Nothing was changed: this was a preview."
        if answer["dry_run"]
        else f"{_counted(answer)[7:]} forgotten for good."
    )
