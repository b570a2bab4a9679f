"""`tacit sessions --write-up`: have sessions written up by the language model of the settings. In: options. Out: what was learned, or the requests."""

from __future__ import annotations

from typing import Any

import typer

from tacit.cli.connection import ask
from tacit.cli.terminal.interaction import agreed
from tacit.cli.terminal.output import SOME_PROBLEM, format_count, print_json, print_line

NO_MODEL = "No language model is set. To set one: `tacit config set capture.extractor.provider claude`."


def learn(*, past: bool, dry_run: bool, as_json: bool) -> None:
    """Ask the language model to write up the waiting sessions and print what was learned; with `dry_run`, print the requests and send nothing."""
    kinds = (False, True) if past else (False,)
    if dry_run:
        answers = [ask("POST", "/v1/write-ups", {"past": of_past, "dry_run": True}) for of_past in kinds]
        requests = [request for answer in answers for request in answer["requests"]]
        if as_json:
            print_json({"provider": answers[0]["provider"], "requests": requests})
        else:
            _show(answers[0]["provider"], requests)
        return
    sessions = [session for of_past in kinds for session in write_up(past=of_past, quiet=as_json)]
    if as_json:
        print_json({"sessions": sessions})
    elif not sessions:
        print_line(estimate(past=past)["said"])
    if any(session["error"] for session in sessions):
        raise typer.Exit(SOME_PROBLEM)


def write_up(*, past: bool, quiet: bool) -> list[dict[str, Any]]:
    """Have the sessions written up one by one until none is left, one fails, or the user stops it. Print a line for each, and return the answers."""
    answers: list[dict[str, Any]] = []
    try:
        while True:
            answer = ask("POST", "/v1/write-ups", {"past": past})
            if not answer["session"]:
                return answers
            answers.append(answer)
            if not quiet:
                print_line(line_of(answer))
            if answer["error"]:
                return answers
    except KeyboardInterrupt:
        print_line("Stopped. The rest waits; `tacit sessions --write-up --past` continues.")
        return answers


def estimate(*, past: bool) -> dict[str, Any]:
    """Ask the daemon how many requests to the language model wait and how many tokens they have. Return its answer, with `said`: the same as a sentence."""
    answer = ask("POST", "/v1/write-ups", {"past": past, "dry_run": True})
    if not answer["provider"]:
        summary = NO_MODEL
    elif not answer["waiting"]:
        summary = "Nothing waits for a language model."
    else:
        requests = f"{answer['waiting']} {'request' if answer['waiting'] == 1 else 'requests'}"
        summary = f"{requests}, about {answer['tokens']:,} input tokens, for {answer['provider']}."
        day = ask("GET", "/v1/status")["extractor"]
        remaining = max(0, day["tokens_per_day"] - day["tokens"])
        if answer["tokens"] > remaining:
            summary += f" Today {remaining:,} are left; for the rest, run `tacit sessions --write-up --past` on another day."
    return {**answer, "said": summary}


def offer_write_up(*, yes: bool, quiet: bool) -> bool:
    """Say what writing up the imported sessions costs, and do it if the user agrees. Return False if one failed or no model is set."""
    estimated = estimate(past=True)
    if not quiet:
        print_line(estimated["said"])
    if not estimated["waiting"]:
        return bool(estimated["provider"])
    if not agreed("Send them now?", yes=yes, unattended=False, default=False):
        if not quiet:
            print_line("Nothing was sent. Run `tacit sessions --write-up --past` to be asked again.")
        return True
    return not any(answer["error"] for answer in write_up(past=True, quiet=quiet))


def line_of(answer: dict[str, Any]) -> str:
    """Describe in one line what writing up one session brought."""
    if answer["error"]:
        return f"{answer['session']}: {answer['error']} It keeps waiting; run the command again."
    changes = answer["changes"]
    kinds = [change["change"] for change in changes]
    brought = sum(kind in ("add", "supersede", "contradict") for kind in kinds)
    # A merge of two stored statements also ends one of them: that edit is no further change.
    merged = {change["memory"]["id"] for change in changes if change["change"] == "merge"}
    edited = [change["memory"] for change in changes if change["change"] == "edit"]
    replaced = sum(memory["validity"]["superseded_by"] not in merged for memory in edited)
    return (
        f"{answer['session']}: {format_count(brought)} learned, {kinds.count('merge')} known already, {replaced} replaced or in question; "
        f"{answer['waiting']} requests wait"
    )


def _show(provider: str, requests: list[dict[str, Any]]) -> None:
    if not provider:
        print_line(NO_MODEL)
    elif not requests:
        print_line("Nothing waits for a language model.")
    for request in requests:
        print_line(f"--- to {provider}: {request['session']}, about {request['tokens']} tokens")
        print_line(request["system"])
        print_line("")
        print_line(request["user"])
