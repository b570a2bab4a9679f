"""`tacit sessions`: what a session did and what it taught, writing it up, and silence for one that runs. In: a session's name or nothing. Out: lines or JSON."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from tacit.cli.connection import ask
from tacit.cli.maintenance.learn import learn
from tacit.cli.terminal.arguments import AsJson, Here, drop_empty
from tacit.cli.terminal.output import (
    format_count,
    format_moment,
    print_json,
    print_line,
    short_ids,
    shorten_line,
)
from tacit.errors import NotFound

SessionName = Annotated[
    str,
    typer.Argument(
        help="host/id, the id or its beginning. Default: this project's last session.",
        show_default=False,
    ),
]
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
_LINE_CODE = re.compile(rf"^({'|'.join(MEANINGS)}):", flags=re.MULTILINE)
_MOST_FILES = 12
LIVE_S = 12 * 3600
"""A session without a signal for longer than this is not taken for running: its end was missed."""
MOST_SESSIONS = 200


def words_of(memory: dict[str, Any]) -> str:
    """Return the text of a memory for people: that of a digest has words in place of the codes of its lines."""
    content = str(memory["content"])
    if memory["kind"] != "digest":
        return content
    return _LINE_CODE.sub(lambda found: f"{MEANINGS[found[1]]}:", content)


def sessions(
    session: SessionName = "",
    last: Annotated[bool, typer.Option("--last", help="The last session of all projects.")] = False,
    project: Annotated[
        bool, typer.Option("--project", help="Every session of this project, newest first.")
    ] = False,
    learned: Annotated[
        bool,
        typer.Option(
            "--learned",
            help="Show what it taught: each statement with its speaker and fate, requests to a model, and what waits.",
        ),
    ] = False,
    mute: Annotated[
        bool | None,
        typer.Option(
            "--mute/--unmute",
            help="Give nothing in it, and let its agent note nothing, until it is unmuted; what you state is learned. Default session: the one that runs in this folder, if there is only one.",
            show_default=False,
        ),
    ] = None,
    write_up: Annotated[
        bool,
        typer.Option(
            "--write-up",
            help="Ask the language model in your settings (capture.extractor) to write up waiting sessions and to compare new statements.",
        ),
    ] = False,
    past: Annotated[
        bool, typer.Option("--past", help="With --write-up: also sessions that were imported for it.")
    ] = False,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="With --write-up: print the full text of each request, and send nothing."
        ),
    ] = False,
    limit: Annotated[int, typer.Option("-n", "--limit", help="How many, with --project.")] = 10,
    cwd: Here = Path(),
    as_json: AsJson = False,
) -> None:
    """Show what a session did, decided and left open.

    That is its digest: requests, decisions, blockers, next steps, results, fixes; files, open tasks and commits.
    """
    wanted = sum((learned, mute is not None, write_up))
    named = sum((bool(session), last, project))
    if wanted > 1 or named > 1 or (past or dry_run) > write_up:
        raise typer.BadParameter(
            "Name a session, or use --last or --project; and one of --learned, --mute, --unmute and --write-up."
        )
    if write_up:
        if named:
            raise typer.BadParameter("--write-up takes all sessions that wait.")
        learn(past=past, dry_run=dry_run, as_json=as_json)
    elif mute is not None:
        if last or project:
            raise typer.BadParameter("Name the session to mute.")
        _set_muted(session or _only_session(cwd, muted=not mute), muted=mute, as_json=as_json)
    elif learned:
        if project:
            raise typer.BadParameter("--learned shows one session: name it, or use --last.")
        _show_learned(session, "" if last else str(cwd.absolute()), as_json=as_json)
    else:
        folder = "" if last else str(cwd.absolute())
        query: dict[str, object] = (
            {"session": session} if session else drop_empty(cwd=folder, limit=limit if project else 1)
        )
        _show_digests(query, several=project, as_json=as_json)


def _show_learned(session: str, folder: str, *, as_json: bool) -> None:
    query = {"session": session} if session else drop_empty(cwd=folder)
    answer = ask("GET", "/v1/digests", {**query, "learned": True})
    if as_json:
        print_json({"learned": answer["learned"]})
    elif answer["learned"] is None:
        print_line("No session has been recorded here yet.")
    else:
        _print_learned(answer["learned"])


def _show_digests(query: dict[str, object], *, several: bool, as_json: bool) -> None:
    answer = ask("GET", "/v1/digests", query)
    if as_json:
        print_json(answer)
        return
    if answer["reason"]:
        newer = "The newest session " if answer["digests"] else "No digest: "
        print_line(f"{newer}{answer['reason']}.", style="yellow")
    elif not answer["digests"]:
        print_line("No digest yet: no session here has recorded work, decisions or open tasks.")
    for number, digest in enumerate(answer["digests"]):
        if number or answer["reason"]:
            print_line()
        _print_digest(digest)
    if answer["digests"] and not several:
        print_line(
            f"`tacit sessions {answer['digests'][0]['session']} --learned` shows what was learned from it.",
            style="dim",
        )


def _print_learned(report: dict[str, Any]) -> None:
    when = f"  {format_moment(report['at_ms'])}" if report["at_ms"] else ""
    print_line(f"{report['session']}{when}{'  (still running)' if report['running'] else ''}", style="bold")
    statements, waiting = report["statements"], report["waiting"]
    memories = [statement["memory"] for statement in statements]
    memories += [
        other for statement in statements for other in (*statement["replaced"], *statement["questions"])
    ]
    names = short_ids([memory["id"] for memory in memories])

    def named(other: dict[str, Any]) -> str:
        return f"{names[other['id']]} \u201c{shorten_line(other['content'], 70)}\u201d"

    print_line(f"{format_count(len(statements))} learned, {waiting['statements']} of them wait for you.")
    for statement in statements:
        memory = statement["memory"]
        print_line("")
        print_line(f"{names[memory['id']]}  {memory['kind']}, {state_of(statement)}")
        print_line(f"  {memory['content']}")
        fate = [
            str(FATES.get(statement["fate"], statement["fate"])),
            *(f"replaced {named(other)}" for other in statement["replaced"]),
        ]
        fate += [
            f"contradicts {named(other)}: `tacit review` asks which holds" for other in statement["questions"]
        ]
        print_line(f"  {statement['believed']}; {', '.join(fate)}", style="dim")
        for evidence in statement["evidence"]:
            print_line(f"  {said_line(evidence, memory['content'])}", style="dim")
    rows = [("dropped", f"{drop['count']}: {drop['reason']}") for drop in report["dropped"]]
    if report["reminded"]:
        turns = ", ".join(map(str, report["reminded"]))
        rows.append(("reminder", f"the agent was reminded to note things in turn {turns}"))
    rows += [("request", request_line(request)) for request in report["requests"]]
    rows += [("waits", text) for text in waiting_lines(waiting)]
    if rows:
        print_line("")
    for title, text in rows:
        print_line(f"{title:<10} {text}", style="dim")
    if statements:
        print_line("")
        print_line(HOW)


STATES = {"quarantined": "waits for you", "superseded": "replaced", "retired": "forgotten"}


def state_of(statement: dict[str, Any]) -> str:
    """Return the state of a learned statement in words: active, waiting, replaced or forgotten."""
    status = statement["memory"]["status"]
    if status in STATES:
        return STATES[status]
    return "active, one question waits for you" if statement["waits"] and status == "active" else status


def said_line(evidence: dict[str, Any], content: str) -> str:
    """Return a line that says who said a statement, in which turn, and in which words if they differ from `content`, the memory's."""
    speaker = {"user": "you", "assistant": "the agent", "agent": "the agent", "tool": "a tool"}.get(
        evidence["speaker"], evidence["speaker"]
    )
    turn = f", turn {evidence['turn']}" if evidence["turn"] else ""
    same = evidence["span"].strip(" .") == content.strip(" .")
    return f"{speaker or 'said again'}{turn}" + (
        f": \u201c{evidence['span']}\u201d" if evidence["span"] and not same else ""
    )


def request_line(request: dict[str, Any]) -> str:
    """Describe a request to a language model in one line, with its tokens and outcome."""
    sent = f"{format_moment(request['at_ms'])}  {request['model']}, {request['tokens_in']:,} tokens in"
    if request["error"]:
        return f"{sent}, no answer: {request['error']}"
    return f"{sent}, {request['tokens_out']:,} out, {request['kept']} kept, {len(request['dropped'])} dropped"


def waiting_lines(waiting: dict[str, int]) -> list[str]:
    """Describe the work that waits for a later run, a line for each sort; [] = nothing waits."""
    lines: list[str] = []
    if waiting["messages"]:
        lines.append(
            f"{waiting['messages']} messages for the language model; `tacit sessions --write-up` asks it now"
        )
    if waiting["transcripts"]:
        lines.append(f"{waiting['transcripts']} transcripts to be read, in the background")
    return lines


def _print_digest(digest: dict[str, Any]) -> None:
    running = "  (still running)" if digest["running"] else ""
    print_line(f"{digest['session']}  {format_moment(digest['at_ms'])}{running}", style="bold")
    for line in digest["lines"]:
        print_line(f"  {MEANINGS.get(line['code'], line['code']):<10} {line['text']}")
    files, tasks, commits = digest["files"], digest["open_tasks"], digest["commits"]
    more = f" and {len(files) - _MOST_FILES} more" if len(files) > _MOST_FILES else ""
    for title, text in (
        ("files", ", ".join(files[:_MOST_FILES]) + more),
        ("open", "; ".join(tasks)),
        ("commits", "; ".join(commits)),
        ("memory", digest["memory_id"]),
    ):
        if text:
            print_line(f"  {title:<10} {text}", style="dim")


def _only_session(cwd: Path, *, muted: bool) -> str:
    """Return the one session that runs in this folder's project and is muted (or not, as `muted` says), as host/id.

    Raises:
        NotFound: if there is none, or several; the hint lists them.
    """
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
    host, slash, name = session.partition("/")
    if not slash or not name:
        raise typer.BadParameter("Name a session as host/id; `tacit why` shows them.")
    values = {"host": host, "session_id": name, "muted": muted}
    answer = ask("PATCH", "/v1/sessions/{host}/{session_id}", values)
    if as_json:
        print_json(answer)
        return
    print_line(f"{'muted' if answer['muted'] else 'unmuted'} {answer['session']}")
