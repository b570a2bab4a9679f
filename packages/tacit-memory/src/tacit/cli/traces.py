"""`why` and `why-not`: the last injections and silences, and why one memory is not given. In: answers as JSON. Out: lines. Decides nothing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from tacit.cli.connection import ask
from tacit.cli.sessions import STATES
from tacit.cli.terminal.arguments import (
    AsJson,
    CalledTool,
    CallError,
    Here,
    InSession,
    MemoryId,
    Previous,
    RunCommand,
    TouchedPaths,
    drop_empty,
    session_key,
)
from tacit.cli.terminal.output import format_count, format_moment, print_json, print_line, shorten_line
from tacit.errors import InvalidInput, NotFound

SHOWN_CANDIDATES = 8


def why(
    limit: Annotated[int, typer.Option("-n", "--limit", help="How many of the newest.")] = 5,
    session: Annotated[str, typer.Option(help="Only this session, as host/id.")] = "",
    surface: Annotated[str, typer.Option(help="Only this surface: prompt, start, action, failure, ...")] = "",
    stages: Annotated[bool, typer.Option("--stages", help="Show what every stage kept and dropped.")] = False,
    replay: Annotated[
        bool,
        typer.Option("--replay", help="Repeat the decisions with --threshold, and show the differences."),
    ] = False,
    threshold: Annotated[
        float | None, typer.Option(help="Least relevance for --replay, 0 to 1.", show_default=False)
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Explain the last injections and silences, newest first."""
    if replay != (threshold is not None):
        raise InvalidInput(
            "--replay and --threshold belong together.", hint="Say `tacit why --replay --threshold 0.3`."
        )
    query = drop_empty(limit=limit, session=session, surface=surface, whole=True)
    if threshold is not None:
        query["threshold"] = threshold
    answer = ask("GET", "/v1/traces", query)
    if session and not answer["traces"]:
        raise NotFound(
            f"The session {session!r} did not ask the memory, or is not known.",
            hint="Name it as host/id; `tacit why` without --session shows the last ones.",
        )
    if as_json:
        print_json(answer)
        return
    if not answer["traces"]:
        print_line(
            "Nothing was asked of the memory yet. Start a session, then look again; `tacit doctor` checks that a memory reaches the agent."
        )
    decided = {replay["trace_id"]: replay for replay in answer.get("replayed", ())}
    for trace in answer["traces"]:
        learned = [one for one in answer["learned"] if one["trace_id"] == trace["id"]]
        print_trace(trace, stages=stages, learned=learned)
        if trace["id"] in decided:
            print_replayed(decided[trace["id"]])


def why_not(
    memory: MemoryId,
    text: Annotated[
        list[str] | None, typer.Argument(help="The prompt, question or task.", show_default=False)
    ] = None,
    surface: Annotated[
        str, typer.Option(help="The surface that does not give it: prompt, start, action, failure, ...")
    ] = "prompt",
    trace: Annotated[
        str,
        typer.Option(help="A recorded recall, by its id, instead of a prompt; `tacit why --json` has ids."),
    ] = "",
    previous: Previous = "",
    tool: CalledTool = "",
    command: RunCommand = "",
    path: TouchedPaths = None,
    error: CallError = "",
    session: InSession = "",
    cwd: Here = Path(),
    as_json: AsJson = False,
) -> None:
    """Explain why a memory is not given, and what would let it through."""
    prompt = " ".join(text or []).strip()
    if not (prompt or trace or command or path or tool or error or surface in ("start", "compaction")):
        raise typer.BadParameter("Give a prompt, or a recorded recall with --trace.")
    question = drop_empty(
        memory=memory,
        text=prompt,
        surface=surface,
        trace=trace,
        previous=previous,
        tool=tool,
        command=command,
        paths=path,
        error=error,
        session=session_key(session),
        cwd=str(cwd.absolute()),
    )
    answer = ask("POST", "/v1/why-not", question)
    if as_json:
        print_json(answer)
        return
    print_why_not(answer)


def print_why_not(answer: dict[str, Any]) -> None:
    """Print why a memory was not given, then the remedies with their commands."""
    memory = answer["memory"]
    print_line(f"{memory['id']} [{memory['kind']}] {shorten_line(memory['content'], 200)}", style="bold")
    for number, sentence in enumerate(answer["sentences"]):
        first = number == 0
        print_line(f"  {sentence}", style=("green" if answer["given"] else "yellow") if first else "")
        if first and answer["evidence"]:
            total, terms = points_of(answer["evidence"])
            print_line(f"  {total} points: {terms}")
    for detail in answer["details"]:
        print_line(f"  {detail}", style="dim")
    if not answer["remedies"]:
        return
    print_line("If it should have come, this lets it through; each line was tried:")
    for remedy in answer["remedies"]:
        print_line(f"  - {remedy['text']} {remedy['measured']}".rstrip())
        for step in remedy["steps"]:
            if step["command"]:
                print_line(f"      {step['command']}", style="cyan", wrap=False)


def print_replayed(replayed: dict[str, Any]) -> None:
    """Print which memories another threshold would have added or dropped in a recorded recall."""
    unsure = set(replayed["unsure"])
    text = f"  at {replayed['threshold']:.2f} (then {replayed['was']:.2f}): {format_count(len(replayed['after']))}"
    print_line(text, style="cyan")
    for name in replayed["added"]:
        print_line(f"   > {name}{' unless in context already' if name in unsure else ''}")
    for name in replayed["gone"]:
        print_line(f"   < {name}")


def print_trace(trace: dict[str, Any], *, stages: bool, learned: Sequence[dict[str, Any]] = ()) -> None:
    """Print one recall for people: what was asked, what was injected or why nothing, what was learned from the prompt, and the best candidates."""
    told = (format_moment(trace["at_ms"]), trace["surface"].replace("_", " "), trace["session"])
    print_line("  ".join((*filter(None, told), f"{trace['took_ms']:.1f} ms")), style="bold")
    if trace["text"]:
        print_line(f"  asked     {shorten_line(trace['text'], 160)}")
    actions = ", ".join(
        f"{name.replace('_', ' ')} {100 * p:.0f} %" for name, p in trace["situation"]["actions"][:4]
    )
    if actions:
        print_line(f"  sounds like  {actions}")
    chosen = set(trace["injected"])
    if trace["decider"] not in (None, "local"):
        from tacit.app.reasons import decider_text
        from tacit.model.trace import Decider

        print_line(f"  decided   {decider_text(Decider(trace['decider']))}")
    if trace["silence"]:
        print_line(f"  {trace['sentence']}", style="yellow")
        if trace["cause"] == "shadow":
            chosen = {name for s in trace["stages"] if s["stage"] == "budget" for name in s["kept"]}
            print_line(f"  would be  {format_count(len(chosen))}")
    else:
        print_line(f"  {trace['sentence']}", style="green")
        print_line(f"  injected  {trace['summary']}, {trace['tokens']} tokens")
    for memory in learned:
        state = f" ({STATES[memory['status']]})" if memory["status"] in STATES else ""
        print_line(
            f"  learned   {memory['memory_id']} {shorten_line(memory['content'], 160)}{state}", style="green"
        )
    _print_candidates(trace, chosen, stages=stages)
    if stages:
        print_stages(trace)


def _print_candidates(trace: dict[str, Any], chosen: set[str], *, stages: bool) -> None:
    """Print the best candidates, the given ones with "+", each with its points, or with its relevance where nothing was summed; with `stages` with both."""
    drops = {drop["memory_id"]: drop for stage in trace["stages"] for drop in stage["drops"]}
    for candidate in trace["candidates"][:SHOWN_CANDIDATES]:
        name, evidence = candidate["memory_id"], candidate["evidence"]
        total, terms = points_of(evidence)
        mark = "+" if name in chosen else " "
        relevance = f"{candidate['relevance']:.2f}"
        level = f"{total:>4} points" if evidence else relevance
        print_line(f"   {mark} {level}  {name} {shorten_line(candidate['content'], 80)}")
        drop = drops.get(name) if name not in chosen else None
        if drop is not None and not (evidence and drop["why"]["cause"] == "below_threshold"):
            print_line(f"          {drop['reason']}", style="dim")
        if evidence and stages:
            terms = f"relevance {relevance}; {terms}"
        if why := terms or "; ".join(candidate["reasons"]):
            print_line(f"          {why}", style="dim")


def points_of(evidence: list[dict[str, Any]]) -> tuple[int, str]:
    """Return (points that a memory reached, the terms that add up to them as a text such as "meaning +41, ..."); the text is "" if nothing was summed."""
    from tacit.app.evidence import EvidencePart, sum_of, terms_text

    parts = [EvidencePart(**part) for part in evidence]
    return sum_of(parts), terms_text(parts)


def print_stages(trace: dict[str, Any]) -> None:
    """Print a line for each stage of a recall: its time, how many it kept and dropped, and its notes."""
    for stage in trace["stages"]:
        notes = shorten_line("; ".join(stage["notes"]), 120)
        counts = f"kept {len(stage['kept'])}, dropped {len(stage['drops'])}"
        print_line(f"   {stage['stage']:<9}{stage['took_ms']:7.2f} ms  {counts:<20} {notes}".rstrip())
