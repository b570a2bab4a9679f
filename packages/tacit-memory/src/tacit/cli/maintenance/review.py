"""`tacit review` and `tacit undo`: what only the user can decide, and taking back.

In: arguments, on a terminal single keys. Out: what the daemon answered, as lines, a table or JSON. Never opens the store itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from tacit.cli.connection import ask
from tacit.cli.context import current_context
from tacit.cli.terminal.arguments import (
    AsJson,
    Here,
    Yes,
    drop_empty,
    memory_name,
    session_key,
)
from tacit.cli.terminal.interaction import agreed, confirm
from tacit.cli.terminal.output import (
    format_moment,
    print_json,
    print_line,
    print_rows,
    short_ids,
    shorten_line,
    waiting_line,
)
from tacit.errors import NotFound

KEYS = "[a]ccept  [e]dit  [r]eject  [s]kip  [q]uit"
PAIR_KEYS = "[k]eep both  [o] replace the other  [d]rop the first  [m]erge  [s]kip  [q]uit"
SHOWN = 10
"""The most statements of a change that are shown before it is taken back."""
_KEYS = {"a": "accept", "r": "reject", "m": "merge", "k": "keep", "o": "accept", "d": "reject"}
ACTIONS = ("list", "accept", "reject", "edit", "merge", "keep")
Kinds = Annotated[
    list[str] | None,
    typer.Option("--kind", help="Only this kind; may be repeated."),
]
Sources = Annotated[
    list[str] | None,
    typer.Option("--source", help="Only from this source, as the list names it; may be repeated."),
]
Causes = Annotated[
    list[str] | None,
    typer.Option(
        "--cause", help="Only contradiction, agent, import, unconfirmed or branch; may be repeated."
    ),
]
Words = Annotated[str, typer.Option("--text", help="Only with all of these words, in any order.")]


def review(
    action: Annotated[
        str,
        typer.Argument(
            metavar="[list|accept|reject|edit|merge|keep]",
            help="Accept ends what a statement contradicts; reject: it is not learned again; edit accepts it in better words (--content); "
            "merge makes one memory of two that say the same; keep lets both hold. Default: on a terminal entry by entry, else list.",
            show_default=False,
        ),
    ] = "",
    memories: Annotated[
        list[str] | None,
        typer.Argument(
            help="Ids of memories, or their beginnings or endings. To select many, use options.",
            show_default=False,
        ),
    ] = None,
    all_: Annotated[
        bool, typer.Option("--all", help="To accept or reject: all that match the other options.")
    ] = False,
    kind: Kinds = None,
    source: Sources = None,
    cause: Causes = None,
    text: Words = "",
    content: Annotated[str, typer.Option("--content", help="To edit: the better words.")] = "",
    into: Annotated[
        str,
        typer.Option(
            "--into", help="To merge: the memory that says the same. Default: the other one of its pair."
        ),
    ] = "",
    everywhere: Annotated[
        bool, typer.Option("--everywhere", help="In all projects, not only those visible from this folder.")
    ] = False,
    limit: Annotated[int, typer.Option("-n", "--limit", help="How many to list.")] = 50,
    yes: Yes = False,
    cwd: Here = Path(),
    as_json: AsJson = False,
) -> None:
    """Accept or reject what waits for you, and settle contradictions. In a terminal, key by key."""
    if action and action not in ACTIONS:
        raise typer.BadParameter(f"{action!r} is none of {', '.join(ACTIONS)}.")
    named = memories or []
    folder = "" if everywhere else str(cwd.absolute())
    filters = drop_empty(kind=kind, source=source, cause=cause, text=text)
    if action not in ("", "list") and not (named or filters or all_):
        raise typer.BadParameter(
            "Name memories, or select them with --all, --kind, --source, --cause or --text."
        )
    match action:
        case "accept" | "reject":
            _decide_all(action, named, filters, folder, all_=all_, yes=yes, as_json=as_json)
        case "edit" | "merge" | "keep":
            if len(named) != 1 or (action == "edit" and not content):
                raise typer.BadParameter(
                    f"`tacit review {action}` takes one memory{' and --content' if action == 'edit' else ''}."
                )
            body = drop_empty(
                action="accept" if action == "edit" else action,
                content=content if action == "edit" else "",
                into=into if action == "merge" else "",
            )
            _decide(named[0], body, as_json=as_json)
        case "" if current_context().interactive and not (as_json or filters):
            _walk(folder)
        case _:
            _list({**filters, **drop_empty(cwd=folder), "limit": limit}, as_json=as_json)


def undo(
    name: Annotated[
        str,
        typer.Argument(
            metavar="[CHANGE|MEMORY]",
            help="Id of a change, or of a memory for its last change. Default: the last change of all.",
        ),
    ] = "",
    session: Annotated[
        str,
        typer.Option(
            "--session", help="All that this session (host/id) taught: what was captured and what was noted."
        ),
    ] = "",
    keep_both: Annotated[
        bool,
        typer.Option("--keep-both", help="Undo a replacement or a merge, and keep both statements."),
    ] = False,
    yes: Yes = False,
    cwd: Here = Path(),
    as_json: AsJson = False,
) -> None:
    """Undo one change, or all that a session taught. A replaced statement is active again. An undo can be undone."""
    if session and (name or keep_both):
        raise typer.BadParameter("--session stands alone: it takes back all that the session taught.")
    body: dict[str, object] = {"session": session_key(session)} if session else {"keep_both": keep_both}
    if name.startswith("chg_"):
        body["id"] = name
    elif not session:
        query = drop_empty(id=name, limit=1) if name else drop_empty(cwd=str(cwd.absolute()), limit=1)
        changes = ask("GET", "/v1/changes", query)["changes"]
        if not changes:
            raise NotFound("Nothing was written yet.", hint="`tacit list --changes` shows what was.")
        body |= {
            "id": changes[0]["change_id"],
            **drop_empty(memory=changes[0]["memory"]["id"] if name else ""),
        }
    if not (name or session or yes or as_json):
        written = ask("GET", "/v1/changes", {"change": str(body["id"]), "limit": 500})["changes"]
        print_line(f"The last change is {body['id']}, {format_moment(written[0]['at_ms'])}:")
        for version in written[:SHOWN]:
            print_line(
                f"  {_what(version)}: {shorten_line(version['memory']['content'], 100)} ({version['reason']})"
            )
        if len(written) > SHOWN:
            print_line(f"  and {len(written) - SHOWN} more")
        if not agreed("Take it back?", yes=False, unattended=True):
            raise typer.Exit(1)
    answer = ask("POST", "/v1/undo", body)
    if as_json:
        print_json(answer)
        return
    _tell(answer["changes"])


def list_changes(folder: str, *, limit: int, as_json: bool) -> None:
    """Print the latest changes in a table; `folder` "" = those of all projects."""
    answer = ask("GET", "/v1/changes", drop_empty(cwd=folder, limit=limit))
    if as_json:
        print_json(answer)
        return
    rows = [
        (
            format_moment(c["at_ms"]),
            c["change_id"],
            c["memory"]["id"],
            _what(c),
            shorten_line(c["memory"]["content"], 80),
            shorten_line(c["reason"], 120),
        )
        for c in answer["changes"]
    ]
    columns = ("when", "change", "memory", "what", "content", "why")
    print_rows("", columns, rows, empty="Nothing was written yet.")


def _what(change: dict[str, Any]) -> str:
    before, after = change["before"], change["memory"]
    if before is None:
        return "added"
    if before["status"] != after["status"]:
        return str(after["status"])
    return "merged" if after["frequency"] > before["frequency"] else "changed"


def _list(filters: dict[str, object], *, as_json: bool) -> None:
    answer = ask("GET", "/v1/review", filters)
    if as_json:
        print_json(answer)
        return
    names = short_ids([entry["memory"]["id"] for entry in answer["review"]])
    rows = [
        (
            names[entry["memory"]["id"]],
            shorten_line(entry["memory"]["content"], 90),
            shorten_line(entry["other"]["content"], 90) if entry["other"] else "",
            shorten_line(entry["reason"], 100),
        )
        for entry in answer["review"]
    ]
    empty = "Nothing waits for you."
    if not answer["waiting"] and filters.get("cwd"):
        elsewhere = ask("GET", "/v1/review", {"limit": 1})["waiting"]
        if elsewhere:
            empty = f"Nothing waits for you here; elsewhere {waiting_line(elsewhere, 'tacit review --everywhere')}."
    elif answer["waiting"]:
        empty = f"Nothing that matches waits; in total {waiting_line(answer['waiting'])}."
    print_rows("", ("memory", "content", "contradicts", "why"), rows, empty=empty)
    if answer["total"] > len(rows):
        print_line(f"{len(rows)} of {answer['total']} shown.")
    if answer["total"] > 1:
        for group in ("kind", "source", "cause"):
            counts = (f"{count['value'] or 'none'} {count['count']}" for count in answer["groups"][group][:8])
            print_line(f"by {group}: {', '.join(counts)}")


def _decide_all(
    action: str,
    memories: list[str],
    filters: dict[str, object],
    folder: str,
    *,
    all_: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Accept or reject several statements: those that are named, or after a confirmation all that match the filters."""
    if bool(memories) == bool(all_ or filters):
        raise typer.BadParameter(
            "Name memories, or select them with --all, --kind, --source, --cause or --text."
        )
    if len(memories) == 1:
        _decide(memories[0], {"action": action}, as_json=as_json)
        return
    if memories:
        ids = [memory_name(memory) for memory in memories]
        answer = ask("POST", "/v1/review", {"action": action, "ids": ids})
    else:
        filters = {**filters, **drop_empty(cwd=folder)}
        found = ask("GET", "/v1/review", {**filters, "limit": 1})
        causes = {group["value"]: group["count"] for group in found["groups"]["cause"]}
        pairs = causes.get("contradiction", 0)
        total = found["total"] - pairs
        if pairs and not as_json:
            print_line(f"{pairs} of the matches contradict another statement: decide on these one by one.")
        if not total:
            print_line("Nothing else that matches waits." if pairs else "Nothing that matches waits.")
            return
        noun = "statement" if total == 1 else "statements"
        confirm(f"{action.capitalize()} {total} {noun}?", yes=yes, default=False)
        answer = ask("POST", "/v1/review", {"action": action, "where": filters, "count": total})
    if as_json:
        print_json(answer)
        return
    outcome = {"accept": "accepted", "reject": "rejected"}[action]
    print_line(f"{answer['decided']} {outcome}; `tacit undo {answer['change_id']}` takes it back")


def _decide(memory: str, body: dict[str, object], *, as_json: bool) -> None:
    answer = ask("POST", "/v1/review", {**body, "ids": [memory_name(memory)]})
    if as_json:
        print_json(answer)
        return
    _tell(answer["changes"])


def _tell(changes: list[dict[str, Any]]) -> None:
    for change in changes:
        memory: dict[str, Any] = change.get("memory") or {}
        name = memory.get("id") or change.get("memory_id", "")
        status, content = memory.get("status", "retired"), memory.get("content", "")
        print_line(f"{name} {status}: {change['reason']}" + (f"\n  {content}" if content else ""))


def _walk(folder: str) -> None:
    """Go through the waiting statements, read one key for each, and carry out its decision at once."""
    entries, total = _waiting(folder)
    if not total:
        print_line("Nothing waits for you.")
        return
    decided: set[str] = set()
    for number, entry in enumerate(entries, start=1):
        memory, other = entry["memory"], entry["other"]
        if memory["id"] in decided or (other and other["id"] in decided):
            continue
        print_line(
            f"\n{number} of {total}  {format_moment(memory['created_at_ms'])}  [{memory['kind']}] {memory['content']}"
        )
        if other:
            print_line(
                f"  against  {format_moment(other['created_at_ms'])}  [{other['kind']}] {other['content']}"
            )
        print_line(f"  because  {entry['reason']}\n{PAIR_KEYS if other else KEYS}")
        key = _key("kodmsq" if other else "aersq")
        if key == "q":
            return
        if key == "s":
            continue
        body: dict[str, object] = {"action": _KEYS.get(key, "accept")}
        if key == "e":
            body["content"] = typer.prompt("Better words", default=memory["content"], err=True)
        _tell(ask("POST", "/v1/review", {**body, "ids": [memory["id"]]})["changes"])
        decided |= {memory["id"], *([other["id"]] if other else [])}


def _waiting(folder: str) -> tuple[Iterator[dict[str, Any]], int]:
    """Return (the waiting entries, fetched page by page as they are used, their total number)."""
    first = ask("GET", "/v1/review", drop_empty(cwd=folder, limit=100))

    def entries() -> Iterator[dict[str, Any]]:
        page = first
        while True:
            yield from page["review"]
            if not page["next_cursor"]:
                return
            page = ask("GET", "/v1/review", drop_empty(cwd=folder, limit=100, cursor=page["next_cursor"]))

    return entries(), first["total"]


def _key(allowed: str) -> str:
    """Wait for a key of `allowed` and return it; the end of input, Escape or an interrupt counts as `q`."""
    while True:
        try:
            key = current_context().read_key().lower()
        except (EOFError, KeyboardInterrupt, OSError):  # the last: the terminal is gone
            return "q"
        if key in ("\x03", "\x04", "\x1b", ""):
            return "q"
        if key in allowed:
            return key
