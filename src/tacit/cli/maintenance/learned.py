"""`tacit learned` and `tacit digest`: the results of a session. In: a session's name or nothing. Out: lines or JSON. Decides nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from tacit.cli.terminal.arguments import AsJson, Here, drop_empty

FATES = {
    "new": "new",
    "merged": "merged with a known memory",
    "replaced": "new",
    "contradicts": "new",
    "duplicate": "known already",
}
HOW = "Decide on waiting statements with `tacit review accept|edit|reject ID`. Change the others with `tacit edit` or `tacit forget ID`."


MEANINGS = {
    "impl": "worked on",
    "dec": "decided",
    "block": "blocked",
    "next": "next",
    "done": "done",
    "fix": "fixed",
}
_MOST_FILES = 12


def learned(
    session: Annotated[
        str,
        typer.Argument(
            help="host/id, the id or its beginning. Default: this project's last session.",
            show_default=False,
        ),
    ] = "",
    last: Annotated[bool, typer.Option("--last", help="The last session of all projects.")] = False,
    cwd: Here = Path(),
    as_json: AsJson = False,
) -> None:
    """Show what Tacit learned from a session: each statement with its speaker and fate, requests to a model, and what waits."""
    from tacit.cli.connection import ask
    from tacit.cli.terminal.output import print_json, print_line

    if session and last:
        raise typer.BadParameter("Name a session, or use --last.")
    asked = {"session": session} if session else drop_empty(cwd="" if last else str(cwd.absolute()))
    answer = ask("GET", "/v1/learned", asked)
    if as_json:
        print_json(answer)
    elif answer["learned"] is None:
        print_line("No session has been recorded here yet.")
    else:
        _print(answer["learned"])


def _print(found: dict[str, Any]) -> None:
    from tacit.cli.terminal.output import format_count, format_moment, print_line, short_ids, shorten_line

    when = f"  {format_moment(found['at_ms'])}" if found["at_ms"] else ""
    print_line(f"{found['session']}{when}{'  (still running)' if found['running'] else ''}", style="bold")
    statements, waiting = found["statements"], found["waiting"]
    memories = [one["memory"] for one in statements]
    memories += [other for one in statements for other in (*one["replaced"], *one["questions"])]
    names = short_ids([one["id"] for one in memories])

    def named(other: dict[str, Any]) -> str:
        return f"{names[other['id']]} \u201c{shorten_line(other['content'], 70)}\u201d"

    print_line(f"{format_count(len(statements))} learned, {waiting['statements']} of them wait for you.")
    for one in statements:
        memory = one["memory"]
        print_line("")
        print_line(f"{names[memory['id']]}  {memory['kind']}, {state_of(one)}")
        print_line(f"  {memory['content']}")
        fate = [
            str(FATES.get(one["fate"], one["fate"])),
            *(f"replaced {named(other)}" for other in one["replaced"]),
        ]
        fate += [f"contradicts {named(other)}: `tacit review` asks which holds" for other in one["questions"]]
        print_line(f"  {one['believed']}; {', '.join(fate)}", style="dim")
        for said in one["evidence"]:
            print_line(f"  {said_line(said, memory['content'])}", style="dim")
    rows = [("dropped", f"{one['count']}: {one['reason']}") for one in found["dropped"]]
    rows += [("reminder", nudge_line(one)) for one in found["nudges"]]
    rows += [("request", request_line(one)) for one in found["requests"]]
    rows += [("waits", text) for text in waiting_lines(waiting)]
    if rows:
        print_line("")
    for title, text in rows:
        print_line(f"{title:<10} {text}", style="dim")
    if statements:
        print_line("")
        print_line(HOW)


STATES = {"quarantined": "waits for you", "superseded": "replaced", "retired": "forgotten"}


def state_of(one: dict[str, Any]) -> str:
    """Whether a statement holds, waits or is gone."""
    status = one["memory"]["status"]
    if status in STATES:
        return STATES[status]
    return "active, one question waits for you" if one["waits"] and status == "active" else status


def said_line(said: dict[str, Any], content: str) -> str:
    """Describe who said it, when and in which words."""
    speaker = {"user": "you", "assistant": "the agent", "agent": "the agent", "tool": "a tool"}.get(
        said["speaker"], said["speaker"]
    )
    turn = f", turn {said['turn']}" if said["turn"] else ""
    same = said["span"].strip(" .") == content.strip(" .")
    return f"{speaker or 'said again'}{turn}" + (
        f": \u201c{said['span']}\u201d" if said["span"] and not same else ""
    )


def nudge_line(one: dict[str, Any]) -> str:
    """A reminder to the agent, in words."""
    if not one["at_ms"]:
        return f"planned for turn {one['turn']}, not shown to the agent yet"
    return f"the agent was told in turn {one['given_turn']} that turn {one['turn']} may hold something"


def request_line(one: dict[str, Any]) -> str:
    """A request to a language model with its cost."""
    from tacit.cli.terminal.output import format_moment

    sent = f"{format_moment(one['at_ms'])}  {one['model']}, {one['tokens_in']:,} tokens in"
    if one["error"]:
        return f"{sent}, no answer: {one['error']}"
    return f"{sent}, {one['tokens_out']:,} out, {one['kept']} kept, {len(one['dropped'])} dropped"


def waiting_lines(waiting: dict[str, int]) -> list[str]:
    """Describe the pending work."""
    lines: list[str] = []
    if waiting["messages"]:
        lines.append(f"{waiting['messages']} messages for the language model; `tacit learn` asks it now")
    if waiting["transcripts"]:
        lines.append(f"{waiting['transcripts']} transcripts to be read, in the background")
    return lines


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
        _print_digests(one)
    if answer["digests"] and not project:
        print_line(
            f"`tacit learned {answer['digests'][0]['session']}` shows what was learned from it.", style="dim"
        )


def _print_digests(one: dict[str, Any]) -> None:
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
