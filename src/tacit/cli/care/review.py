"""`tacit review` and `tacit undo`: what only the user can decide, and taking back.

In: arguments, on a terminal single keys. Out: what the daemon answered, as lines, a table or JSON. Never opens the store itself.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from tacit.cli.terminal.arguments import AsJson, Here, MemoryId, given

app = typer.Typer(
    help="Decide on what contradicts each other or waits for a confirmation; on a terminal key by key.",
    invoke_without_command=True,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

KEYS = "[a]ccept  [e]dit  [r]eject  [m]erge  [k]eep both  [s]kip  [q]uit"
_ACTIONS = {"a": "accept", "r": "reject", "m": "merge", "k": "keep"}


@app.callback()
def review(
    ctx: typer.Context,
    everywhere: Annotated[
        bool, typer.Option("--all", help="All projects, not only what this folder sees.")
    ] = False,
    cwd: Here = Path(),
    as_json: AsJson = False,
) -> None:
    """Decide on what waits: on a terminal entry by entry with single keys, else list it."""
    if ctx.invoked_subcommand is not None:
        return
    from tacit.cli.surroundings import current

    folder = "" if everywhere else str(cwd.absolute())
    if as_json or not current().interactive:
        _list(folder, limit=50, as_json=as_json)
        return
    _walk(folder)


@app.command("list")
def list_(
    everywhere: Annotated[
        bool, typer.Option("--all", help="All projects, not only what this folder sees.")
    ] = False,
    limit: Annotated[int, typer.Option("-n", "--limit", min=1, max=500, help="How many.")] = 50,
    cwd: Here = Path(),
    as_json: AsJson = False,
) -> None:
    """List what waits for you."""
    _list("" if everywhere else str(cwd.absolute()), limit=limit, as_json=as_json)


@app.command()
def accept(memory: MemoryId, as_json: AsJson = False) -> None:
    """It holds; what it contradicts does not hold any more."""
    _decide(memory, {"action": "accept"}, as_json=as_json)


@app.command()
def edit(
    memory: MemoryId,
    content: Annotated[str, typer.Option("--content", help="The better words.")],
    as_json: AsJson = False,
) -> None:
    """It holds in better words; what it contradicts does not hold any more."""
    _decide(memory, {"action": "accept", "content": content}, as_json=as_json)


@app.command()
def reject(memory: MemoryId, as_json: AsJson = False) -> None:
    """It goes, and is not learned again."""
    _decide(memory, {"action": "reject"}, as_json=as_json)


@app.command()
def merge(
    memory: MemoryId,
    into: Annotated[
        str, typer.Option("--into", help="The memory that says the same; the other of its pair.")
    ] = "",
    as_json: AsJson = False,
) -> None:
    """It says what the other one says: one memory with both as evidence."""
    _decide(memory, given(action="merge", into=into), as_json=as_json)


@app.command()
def keep(memory: MemoryId, as_json: AsJson = False) -> None:
    """Both hold: the pair is no contradiction."""
    _decide(memory, {"action": "keep"}, as_json=as_json)


def undo(
    memory: Annotated[
        str, typer.Argument(help="Id of a memory, or its beginning; the last change of all when left out.")
    ] = "",
    keep_both: Annotated[
        bool,
        typer.Option("--keep-both", help="Take a replacement or a merge back, and keep both statements."),
    ] = False,
    cwd: Here = Path(),
    as_json: AsJson = False,
) -> None:
    """Take back the last change: what was replaced holds again. Taking back can be taken back."""
    from tacit.cli.connection import ask
    from tacit.cli.terminal.output import print_json

    folder = "" if memory else str(cwd.absolute())
    answer = ask("POST", "/v1/undo", {**given(id=memory, cwd=folder), "keep_both": keep_both})
    if as_json:
        print_json(answer)
        return
    _tell(answer["changes"])


def list_changes(folder: str, *, limit: int, as_json: bool) -> None:
    """What was written last, one line each."""
    from tacit.cli.connection import ask
    from tacit.cli.terminal.output import moment, print_json, print_rows, shortened

    answer = ask("GET", "/v1/changes", given(cwd=folder, limit=limit))
    if as_json:
        print_json(answer)
        return
    rows = [
        (
            moment(c["at_ms"]),
            c["memory"]["id"],
            _what(c),
            shortened(c["memory"]["content"], 80),
            shortened(c["reason"], 120),
        )
        for c in answer["changes"]
    ]
    columns = ("when", "memory", "what", "content", "why")
    print_rows("", columns, rows, empty="Nothing was written yet.")


def _what(change: dict[str, Any]) -> str:
    before, after = change["before"], change["memory"]
    if before is None:
        return "added"
    if before["status"] != after["status"]:
        return str(after["status"])
    return "merged" if after["frequency"] > before["frequency"] else "changed"


def _list(folder: str, *, limit: int, as_json: bool) -> None:
    from tacit.cli.connection import ask
    from tacit.cli.terminal.output import print_json, print_rows, shortened

    answer = ask("GET", "/v1/review", given(cwd=folder, limit=limit))
    if as_json:
        print_json(answer)
        return
    rows = [
        (
            entry["memory"]["id"],
            shortened(entry["memory"]["content"], 90),
            shortened(entry["other"]["content"], 90) if entry["other"] else "",
            shortened(entry["reason"], 100),
        )
        for entry in answer["review"]
    ]
    print_rows("", ("memory", "content", "contradicts", "why"), rows, empty="Nothing waits for you.")


def _decide(memory: str, body: dict[str, object], *, as_json: bool) -> None:
    from tacit.cli.connection import ask
    from tacit.cli.memories import memory_path
    from tacit.cli.terminal.output import print_json

    answer = ask("POST", memory_path(memory).replace("/v1/memories/", "/v1/review/"), body)
    if as_json:
        print_json(answer)
        return
    _tell(answer["changes"])


def _tell(changes: list[dict[str, Any]]) -> None:
    from tacit.cli.terminal.output import print_line

    for change in changes:
        memory: dict[str, Any] = change.get("memory") or {}
        name = memory.get("id") or change.get("memory_id", "")
        status, content = memory.get("status", "retired"), memory.get("content", "")
        print_line(f"{name} {status}: {change['reason']}" + (f"\n  {content}" if content else ""))


def _walk(folder: str) -> None:
    """Entry by entry: a key, at once."""
    from tacit.cli.connection import ask
    from tacit.cli.terminal.output import print_line

    entries = ask("GET", "/v1/review", given(cwd=folder, limit=500))["review"]
    if not entries:
        print_line("Nothing waits for you.")
        return
    decided: set[str] = set()
    for number, entry in enumerate(entries, start=1):
        memory, other = entry["memory"], entry["other"]
        if memory["id"] in decided or (other and other["id"] in decided):
            continue
        print_line(f"\n{number} of {len(entries)}  [{memory['kind']}] {memory['content']}")
        if other:
            print_line(f"  against  [{other['kind']}] {other['content']}")
        print_line(f"  because  {entry['reason']}\n{KEYS}")
        key = _key("aermksq" if other else "aersq")
        if key == "q":
            return
        if key == "s":
            continue
        body: dict[str, object] = {"action": _ACTIONS.get(key, "accept")}
        if key == "e":
            body["content"] = typer.prompt("Better words", default=memory["content"], err=True)
        _tell(ask("POST", f"/v1/review/{memory['id']}", body)["changes"])
        decided |= {memory["id"], *([other["id"]] if other else [])}


def _key(allowed: str) -> str:
    """One of `allowed`, read without waiting for Enter; the end of input or an interrupt leaves."""
    from tacit.cli.surroundings import current

    while True:
        try:
            key = current().read_key().lower()
        except (EOFError, KeyboardInterrupt):
            return "q"
        if key in ("\x03", "\x04", "\x1b", ""):
            return "q"
        if key in allowed:
            return key
