"""`tacit eval` for the command line of Tacit, which finds it as an entry point of the group `tacit.commands`.

In: arguments. Out: an exit code. It names the usual options and passes the others on to `tacit_evals.command`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def eval_(
    ctx: typer.Context,
    suite: Annotated[
        str,
        typer.Argument(
            help="inject, action, retrieval, placement, reading, capture, update, redact, fixes, loop, languages or latency."
        ),
    ],
    data: Annotated[
        Path | None,
        typer.Option("--data", help="Folder of judged data, or its parent; recognized by its files."),
    ] = None,
    fit: Annotated[
        list[Path] | None,
        typer.Option("--fit", help="Fit on this folder, without rows of the evaluated project; repeatable."),
    ] = None,
    no_fit: Annotated[
        bool, typer.Option("--no-fit", help="Use the shipped models, as without --fit.")
    ] = False,
    triggers: Annotated[
        Path | None,
        typer.Option("--triggers", help="Folder of labeled triggers to store the memories with."),
    ] = None,
    local_triggers: Annotated[
        bool, typer.Option("--local-triggers", help="Make triggers from words, as without --triggers.")
    ] = False,
    pool: Annotated[
        Path | None,
        typer.Option("--pool", help="The memories.jsonl of the suite action, if it is in another place."),
    ] = None,
    embedder: Annotated[str, typer.Option("--embedder", help="minilm, or fake for a quick try.")] = "minilm",
    as_json: Annotated[Path | None, typer.Option("--json", help="Write the scorecard to this file.")] = None,
    html: Annotated[
        Path | None,
        typer.Option("--html", help="Write a report with plots to this file; else beside the scorecard."),
    ] = None,
) -> None:
    """Measure the quality of the memory on judged data; see docs/guide/benchmarks.md."""
    words = [suite]
    options = {
        "--data": data,
        "--triggers": triggers,
        "--pool": pool,
        "--json": as_json,
        "--html": html,
        "--embedder": embedder if embedder != "minilm" else None,
    }
    for name, value in options.items():
        words += [name, str(value)] if value is not None else []
    for folder in fit or []:
        words += ["--fit", str(folder)]
    words += [name for name, on in {"--no-fit": no_fit, "--local-triggers": local_triggers}.items() if on]
    from tacit_evals.command import evaluate

    raise typer.Exit(evaluate([*words, *ctx.args]))
