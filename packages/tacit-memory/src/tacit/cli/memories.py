"""Commands on memories: remember recall get list show edit forget.

In: arguments. Out: what the daemon answered, as lines, a table or JSON. Never opens the store itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from tacit.cli.connection import ask
from tacit.cli.maintenance.review import list_changes
from tacit.cli.sessions import words_of
from tacit.cli.terminal.arguments import (
    AsJson,
    AsOf,
    CalledTool,
    CallError,
    Here,
    InSession,
    Kind,
    MemoryId,
    Previous,
    RunCommand,
    ScopeText,
    SensitivityText,
    TouchedPaths,
    When,
    drop_empty,
    memory_name,
    memory_path,
    parse_moment,
    session_key,
)
from tacit.cli.terminal.output import (
    format_count,
    format_moment,
    print_json,
    print_line,
    print_rows,
    short_ids,
    shorten_line,
    waiting_line,
)
from tacit.errors import InvalidInput

WAITS = "\n  waits for you: `tacit review` (nothing here proves that you said it; see `tacit token --help`)"
PIN_HELP = (
    "Pack it first, in every preset but multispace and scoped. In ambient, where recall.ambient.enabled is on,"
    " it also comes before every prompt."
)
SHOWN_ACTIONS = 3
"""The most actions named in a line that says when a memory applies; `show` and `--json` have all of them."""
MOST_FOUND = 200
"""The most results of a search, see docs/reference/api-conventions.md."""
STATUSES = ("active", "quarantined", "superseded", "retired", "all")


Headline = Annotated[
    str,
    typer.Option(
        help="What an index shows of it, at most 60 characters: 'when SITUATION: what to do'.",
        show_default=False,
    ),
]


def remember(
    content: Annotated[list[str], typer.Argument(help="The statement; quotes are optional.")],
    headline: Headline = "",
    kind: Kind = "",
    when: Annotated[
        list[str] | None,
        typer.Option(
            "--when",
            help="When it applies: always, commit, path:src/**, lang:python, cmd:pytest, or free words. Repeat it for several; any one is enough.",
            show_default=False,
        ),
    ] = None,
    scope: ScopeText = "",
    file: Annotated[list[str] | None, typer.Option(help="A file that it is about; may be repeated.")] = None,
    pin: Annotated[bool, typer.Option("--pin", help=PIN_HELP)] = False,
    sensitivity: SensitivityText = "",
    user_words: Annotated[
        str,
        typer.Option(
            help="For an agent: the user's words about it, verbatim from a prompt.", show_default=False
        ),
    ] = "",
    replaces: Annotated[
        list[str] | None,
        typer.Option(help="Id of a memory that it replaces; may be repeated.", show_default=False),
    ] = None,
    all_branches: Annotated[
        bool,
        typer.Option(
            "--all-branches",
            help="Let it hold on all branches, even if an unmerged one is checked out here.",
        ),
    ] = False,
    cwd: Here = Path(),
    as_json: AsJson = False,
) -> None:
    """Store one statement: a rule, a decision, a fact, or a fix.

    At an interactive terminal or with TACIT_TOKEN it counts as yours. Elsewhere it counts as an agent's and waits in `tacit review`.
    """
    statement = " ".join(content).strip()
    if not statement:
        raise typer.BadParameter("Give a statement to remember.")
    body = drop_empty(
        content=statement,
        headline=headline,
        kind=kind,
        when=when[0] if when and len(when) == 1 else when,
        scope=scope,
        files=file,
        replaces=replaces,
        cwd=str(cwd.absolute()),
        source="cli",
        sensitivity=_checked_level(sensitivity),
        user_words=user_words,
        all_branches=all_branches or None,
    )
    answer = ask("POST", "/v1/memories", {**body, "pinned": pin})
    if as_json:
        print_json(answer)
        return
    for change in answer["changes"]:
        print_line(describe_change(change))


def _checked_level(name: str) -> str:
    """Return the sensitivity in the form that the API takes; "" gives "".

    Raises:
        InvalidInput: naming the known levels.
    """
    from tacit.model.memory import Sensitivity

    return Sensitivity.parse(name).name.lower() if name else ""


def describe_change(change: dict[str, Any]) -> str:
    """Describe one change for people, with when the memory applies."""
    memory: dict[str, Any] = change.get("memory") or {}
    name, content = memory.get("id", ""), memory.get("content", "")
    when = shown_when(memory) if memory else ""
    stored = f"remembered {name} [{memory.get('kind', '')}] {content}" + (f"\n  when: {when}" if when else "")
    if branch := branch_of(memory):
        stored += (
            f"\n  {branch} until it is merged; `tacit edit {name} --all-branches` lets it hold everywhere"
        )
    match change["change"]:
        case "add":
            return stored + (WAITS if memory.get("status") == "quarantined" else "")
        case "merge":
            times = f" (stated {memory['frequency']} times)" if memory["frequency"] > 1 else ""
            pinned = " pinned" if memory["pinned"] else ""
            return f"known already {name}{times}{pinned} {content}" + (f"\n  when: {when}" if when else "")
        case "supersede":
            return f"{stored}\n  replaces: {', '.join((change['old_id'], *change['further']))}; {change['reason']}"
        case "contradict":
            contradicted = ", ".join((change["other_id"], *change["further"]))
            return f"{stored}\n  contradicts: {contradicted}; {change['reason']}\n  `tacit review` decides"
        case "skip" if memory:
            return f"known already {name} {content}"
        case "skip":
            return f"not stored: {change['reason']}"
        case other:
            return f"{other} {name or change.get('memory_id', '')}"


def branch_of(memory: dict[str, Any]) -> str:
    """Return `on branch NAME` for a memory that is bound to an unmerged branch; "" = it holds on all branches."""
    branch = memory.get("branch")
    return f"on branch {branch['name']}" if branch else ""


def when_of(memory: dict[str, Any]) -> str:
    """Return when a memory applies, in the words that `--when` takes."""
    from tacit.model.trigger import Trigger
    from tacit.reading.when import format_when

    fields: dict[str, Any] = dict(memory["trigger"])
    for name in ("objects", "paths", "languages", "commands", "tools", "topics", "phrases"):
        fields[name] = tuple(fields[name])
    fields["actions"] = tuple((str(action), float(weight)) for action, weight in fields["actions"])
    return format_when(Trigger(**fields))


def shown_when(memory: dict[str, Any]) -> str:
    """Return when a memory applies, for people: its strongest actions without weights, and everything else."""
    trigger = memory["trigger"]
    ranked = sorted(trigger["actions"], key=lambda pair: -pair[1])
    strongest = [action.replace("_", " ") for action, _ in ranked[:SHOWN_ACTIONS]]
    further = when_of({"trigger": {**trigger, "actions": [], "breadth": 3.0 if trigger["always"] else 1.0}})
    return ", ".join(term for term in (*strongest, further) if term)


def recall(
    text: Annotated[list[str] | None, typer.Argument(help="What to look for.", show_default=False)] = None,
    surface: Annotated[
        str, typer.Option(help="Answer as this surface would: on_demand, prompt, start, ...")
    ] = "on_demand",
    budget: Annotated[
        int,
        typer.Option(help="Token limit of the answer; 0 = as the settings say."),
    ] = 0,
    previous: Previous = "",
    tool: CalledTool = "",
    command: RunCommand = "",
    path: TouchedPaths = None,
    error: CallError = "",
    session: InSession = "",
    as_of: AsOf = "",
    cwd: Here = Path(),
    as_json: AsJson = False,
) -> None:
    """Search the memory. Without a text: print what a session that starts in this folder gets."""
    search_text = " ".join(text or []).strip()
    if not (search_text or command or path or tool or error) and surface != "compaction":
        if text or surface not in ("on_demand", "start"):
            raise typer.BadParameter("Give a search text.")
        if not (budget or session or as_of):
            start = {"surface": "start", "cwd": str(cwd.absolute()), "store_trace": False}
            block = ask("POST", "/v1/recall", start)["block"]
            if as_json:
                print_json({"block": block})
            else:
                print_line(block["text"] or "Nothing: a session that starts here gets no memory.")
            return
        surface = "start"
    question = drop_empty(
        text=search_text,
        previous=previous,
        tool=tool,
        command=command,
        paths=path,
        error=error,
        session=session_key(session),
        cwd=str(cwd.absolute()),
        surface=surface,
        budget_tokens=budget or None,
        as_of_ms=parse_moment(as_of),
    )
    answer = ask("POST", "/v1/recall", question)
    if as_json:
        print_json(answer)
        return
    names = short_ids([m["id"] for m in answer["memories"]])
    rows = [
        (
            names[m["id"]],
            f"{m['relevance']:.2f}",
            m["kind"],
            "waits for you" if m["status"] == "quarantined" else days_held(m["validity"]),
            shorten_line(m["text"], 200) + (f" ({branch})" if (branch := branch_of(m)) else ""),
        )
        for m in answer["memories"]
    ]
    silence = answer["trace"]["silence"] or "nothing was found"
    print_rows("", ("memory", "relevance", "kind", "held", "content"), rows, empty=f"Nothing: {silence}.")


def get(
    ids: Annotated[list[str], typer.Argument(help="Ids, as an index shows them before the headlines.")],
    cwd: Here = Path(),
    as_json: AsJson = False,
) -> None:
    """Fetch memories whole, as an agent does that reads their headlines."""
    answer = ask("POST", "/v1/fetches", {"ids": ids, "cwd": str(cwd.absolute())})
    if as_json:
        print_json(answer)
        return
    print_line(answer["text"])


def days_held(validity: dict[str, Any]) -> str:
    """Return since which day a memory holds, and until which it held."""
    from tacit.model.memory import day

    until, offset = validity["valid_to_ms"], validity["offset_ms"]
    since = f"since {day(validity['valid_from_ms'], offset)}"
    return since if until is None else f"{since} until {day(until, offset)}"


def list_(
    text: Annotated[
        str,
        typer.Argument(
            help="Words to search for, in any order; the best match comes first.", show_default=False
        ),
    ] = "",
    kind: Annotated[list[str] | None, typer.Option(help="Only this kind; may be repeated.")] = None,
    status: Annotated[
        list[str] | None, typer.Option(help="active, quarantined, superseded, retired or all.")
    ] = None,
    everywhere: Annotated[
        bool, typer.Option("--all", help="All projects, not only those visible from this folder.")
    ] = False,
    changes: Annotated[
        bool,
        typer.Option(
            "--changes", help="Show the latest changes with their reasons, instead of the memories."
        ),
    ] = False,
    as_of: AsOf = "",
    limit: Annotated[int, typer.Option("-n", "--limit", help="How many.")] = 50,
    cwd: Here = Path(),
    as_json: AsJson = False,
) -> None:
    """List memories, newest first."""
    if changes:
        chosen = drop_empty(TEXT=text, **{"--kind": kind, "--status": status, "--as-of": as_of})
        if chosen:
            raise typer.BadParameter(f"--changes lists all changes and does not accept {next(iter(chosen))}.")
        list_changes("" if everywhere else str(cwd.absolute()), limit=limit, as_json=as_json)
        return
    unknown = [name for name in status or () if name not in STATUSES]
    if unknown:
        raise InvalidInput(f"There is no status {unknown[0]!r}.", hint=f"Known: {', '.join(STATUSES)}.")
    folder = "" if everywhere else str(cwd.absolute())
    query = drop_empty(
        text=text, kind=kind, status=status, cwd=folder, limit=limit, as_of_ms=parse_moment(as_of)
    )
    answer = ask("GET", "/v1/memories", query)
    if as_json:
        print_json(answer)
        return
    columns, rows = _table_of(answer["memories"], with_scope=everywhere)
    empty = "No memory matches."
    if not (rows or text or kind or status or as_of):
        waiting = ask("GET", "/v1/review", drop_empty(cwd=folder, limit=1))["waiting"]
        elsewhere = ask("GET", "/v1/memories", {"limit": 1})["total"]
        if waiting:
            empty = f"No memories here yet; {waiting_line(waiting)}."
        elif elsewhere:
            empty = f"No memories here yet; {format_count(elsewhere)} of other folders: `tacit list --all`."
        else:
            empty = "No memories here yet: `tacit remember ...` or `tacit init`."
    print_rows("", columns, rows, empty=empty)
    if answer.get("next_offset"):
        print_line(f"There are more: --limit {min(500, limit * 2)}, or add search words.")
    elif text and answer["total"] >= MOST_FOUND:
        print_line(f"A search shows the best {MOST_FOUND}. Add words to find others.")


def show(memory: MemoryId, as_json: AsJson = False) -> None:
    """Show one memory in full, with its history."""
    from tacit.model.memory import day

    answer = ask("GET", memory_path(memory), {"versions": True})
    m = answer["memory"]
    if as_json:
        print_json(answer)
        return
    origin, validity = m["provenance"], m["validity"]
    session_name = " ".join(name for name in (origin["host"], origin["session_id"]) if name)
    rows = [
        ("id", m["id"]),
        ("content", m["content"]),
        ("headline", m["headline"]),
        ("kind", m["kind"]),
        ("status", m["status"] + (" (pinned)" if m["pinned"] else "")),
        ("scope", m["scope"]),
        ("branch", _branch_row(m)),
        ("sensitivity", m["sensitivity"]),
        (
            "said by",
            f"{origin['speaker']} via {origin['source'] or 'unknown'}, {day(validity['valid_from_ms'], validity['offset_ms'])}",
        ),
        ("session", f"{session_name}, turn {origin['turn']}" if session_name else ""),
        ("until", day(validity["valid_to_ms"], validity["offset_ms"]) if validity["valid_to_ms"] else ""),
        ("replaced by", validity["superseded_by"] or ""),
        ("shared as", ", ".join(f"{name} in {team}" for team, name in answer["shared_as"].items())),
        ("when", when_of(m)),
        ("importance", f"{m['importance']:.2f}"),
        ("stated", "once" if m["frequency"] == 1 else f"{m['frequency']} times"),
        (
            "used",
            f"in {m['use_count']} of {m['shown_count']} sessions that got it"
            if m["shown_count"]
            else "no session got it yet",
        ),
        ("files", ", ".join(m["files"])),
        ("tokens", str(m["tokens"])),
    ]
    print_rows("", ("field", "value"), [(k, v) for k, v in rows if v], empty="")
    versions = answer["versions"]
    if len(versions) > 1:
        changes = [
            (format_moment(v["updated_at_ms"]), v["status"], shorten_line(v["content"], 120))
            for v in versions
        ]
        print_rows("\nHistory", ("changed", "status", "content"), changes, empty="")


def _branch_row(memory: dict[str, Any]) -> str:
    """Return the unmerged branch of a memory with its state and the memories that this one replaces there; "" = none."""
    branch = memory["branch"]
    if not branch:
        return ""
    at = f" at {branch['commit'][:7]}" if branch["commit"] else ""
    state = "gone; decide in `tacit review`" if branch["gone"] else "not merged"
    replaces = f"; replaces on it: {', '.join(branch['replaces'])}" if branch["replaces"] else ""
    return f"{branch['name']}{at}, {state}{replaces}"


def edit(
    memory: MemoryId,
    content: Annotated[str, typer.Option(help="New statement.")] = "",
    headline: Headline = "",
    kind: Annotated[str, typer.Option("--kind", help="New kind: preference, decision, fact, ...")] = "",
    when: When = "",
    scope: Annotated[
        str,
        typer.Option(
            "--scope",
            help="New scope: universal, language:python, project (of this folder), project:ID or path:ID/src/api.",
        ),
    ] = "",
    importance: Annotated[float | None, typer.Option(help="0 to 1.")] = None,
    pin: Annotated[bool | None, typer.Option("--pin/--unpin", help=PIN_HELP)] = None,
    sensitivity: SensitivityText = "",
    all_branches: Annotated[
        bool,
        typer.Option(
            "--all-branches", help="Let it hold on all branches, not only on the one it was learned on."
        ),
    ] = False,
    wrong: Annotated[
        bool,
        typer.Option(
            "--wrong", help="Only report that it was wrong or unwanted: this lowers its importance."
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Change the given parts of a memory. An edit confirms the memory, and the history keeps the old version."""
    body = drop_empty(
        content=content,
        headline=headline,
        kind=kind,
        when=when,
        scope=scope,
        importance=importance,
        pinned=pin,
        sensitivity=_checked_level(sensitivity),
        all_branches=all_branches or None,
    )
    if scope == "project":
        body["cwd"] = str(Path.cwd())
    if bool(body) == wrong:
        raise typer.BadParameter(
            "--wrong stands alone."
            if wrong
            else "Use one of --content, --headline, --kind, --when, --scope, --importance, --sensitivity, --pin, --unpin, --all-branches or --wrong."
        )
    if wrong:
        _report_wrong(memory, as_json=as_json)
        return
    answer = ask("PATCH", memory_path(memory), body)
    if as_json:
        print_json(answer)
        return
    changed = answer["memory"]
    print_line(
        f"changed {changed['id']} [{changed['kind']}] {changed['content']}\n  when: {shown_when(changed)}"
    )


def _report_wrong(memory: str, *, as_json: bool) -> None:
    answer = ask("POST", "/v1/feedback", {"id": memory_name(memory), "useful": False})
    if as_json:
        print_json(answer)
        return
    m = answer["memory"]
    print_line(
        f"noted {m['id']} {m['content']}\n  importance {m['importance']:.2f}, {m['status']}; "
        f"`tacit edit {m['id']}` corrects it, `tacit forget {m['id']}` ends it"
    )


def forget(
    memory: MemoryId,
    reason: Annotated[str, typer.Option(help="Kept in the history.")] = "",
    as_json: AsJson = False,
) -> None:
    """Stop recalling a memory; its history stays."""
    answer = ask("DELETE", memory_path(memory), drop_empty(reason=reason))
    if as_json:
        print_json(answer)
        return
    print_line(f"forgotten {answer['memory']['id']} {answer['memory']['content']}")


def _was_read_off(provenance: dict[str, Any]) -> bool:
    """Whether the memory was read from a file, not said in a session or through a tool; the same rule as `Provenance.read_from`."""
    from tacit.model.memory import AGENT_SOURCES

    return (
        provenance["tier"] == "import"
        and not provenance["extractor"]
        and provenance["source"] not in AGENT_SOURCES
    )


def _table_of(
    memories: Sequence[dict[str, Any]], *, with_scope: bool
) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return (columns, rows) of a table of memories. Columns for source file and branch are there only if a memory has one."""
    from tacit.model.memory import day

    names = short_ids([m["id"] for m in memories])
    origins = [m["provenance"]["source"] if _was_read_off(m["provenance"]) else "" for m in memories]
    with_origin = any(origins)
    with_branch = any(m["branch"] for m in memories)
    scope, origin, branch = ("scope",) * with_scope, ("from",) * with_origin, ("branch",) * with_branch
    columns = ("memory", "kind", "since", *scope, *origin, *branch, "content")
    rows = [
        (
            names[m["id"]],
            m["kind"],
            day(m["validity"]["valid_from_ms"], m["validity"]["offset_ms"]),
            *((m["scope"],) if with_scope else ()),
            *(("commits" if source == ".git" else source,) if with_origin else ()),
            *((m["branch"]["name"] if m["branch"] else "",) if with_branch else ()),
            shorten_line(words_of(m), 160),
        )
        for m, source in zip(memories, origins, strict=True)
    ]
    return columns, rows
