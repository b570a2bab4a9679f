"""`tacit eval`: measure how well the memory does on judged data. In: arguments. Out: a scorecard, printed and in a file.

The command line of Tacit finds it as an entry point of the group `tacit.commands`.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from tacit.config.settings import EmbedderSettings
from tacit.errors import InvalidInput

LATENCY = "latency"
app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def eval_(
    ctx: typer.Context,
    suite: Annotated[str, typer.Argument(help="inject, action or latency.")],
    data: Annotated[
        Path | None,
        typer.Option("--data", help="Folder of judged data, or its parent; recognized by its files."),
    ] = None,
    fit: Annotated[
        list[Path] | None,
        typer.Option("--fit", help="Fit on this folder, without rows of the evaluated project; repeatable."),
    ] = None,
    triggers: Annotated[
        Path | None,
        typer.Option("--triggers", help="Folder of labeled triggers to store the memories with."),
    ] = None,
    pool: Annotated[
        Path | None,
        typer.Option("--pool", help="The memories.jsonl of the suite action, if it is in another place."),
    ] = None,
    embedder: Annotated[str, typer.Option("--embedder", help="minilm, or fake for a quick try.")] = "minilm",
    as_json: Annotated[Path | None, typer.Option("--json", help="Write the scorecard to this file.")] = None,
) -> None:
    """Measure the quality of the memory on judged data; see docs/benchmarks.md."""
    if suite == LATENCY:
        from tacit_evals import latency

        latency.main([*ctx.args, *(["--json", str(as_json)] if as_json else [])])
        return
    if ctx.args:
        raise InvalidInput(f"{ctx.args[0]} is unknown.", hint="`tacit eval --help` lists the options.")
    evaluate(
        suite,
        data=data,
        fit=fit or (),
        triggers=triggers,
        pool=pool,
        embedder=embedder,
        as_json=as_json,
    )


def evaluate(
    suite: str,
    *,
    data: Path | None = None,
    fit: Sequence[Path] = (),
    triggers: Path | None = None,
    pool: Path | None = None,
    embedder: str = "minilm",
    as_json: Path | None = None,
) -> None:
    """Run one suite, print its scorecard and write it to the file `as_json`.

    Raises:
        InvalidInput: for data that cannot be read, naming file and line.
    """
    # Slow imports: `tacit --help` loads this module.
    from tacit.providers.embedding import make_embedder
    from tacit_evals.action import run_action
    from tacit_evals.data import NEEDS
    from tacit_evals.inject import run_inject
    from tacit_evals.running import SuiteRun
    from tacit_evals.scorecard import print_card

    suites = {"inject": run_inject, "action": run_action}
    if suite not in suites:
        raise InvalidInput(f"{suite} is no suite.", hint=f"Suites: {', '.join((*suites, LATENCY))}.")
    if data is None:
        raise InvalidInput("--data is missing.", hint=f"The suite {suite} needs {NEEDS[suite]}.")
    for folder in (*fit, *([triggers] if triggers else [])):
        if not folder.is_dir():
            raise InvalidInput(f"{folder} is no folder.", hint="Give a folder that exists.")
    run = SuiteRun(
        data=data,
        embedder=make_embedder(
            EmbedderSettings.model_validate({"provider": embedder}), cache_entries=100_000
        ),
        fit=tuple(fit),
        triggers=triggers,
        pool=pool,
        say=lambda line: print(line, file=sys.stderr),
    )
    card = suites[suite](run)
    print_card(card)
    if as_json:
        card.write(as_json)
