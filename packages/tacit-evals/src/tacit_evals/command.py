"""`tacit eval`: measure how well the memory does on judged data. In: arguments. Out: a scorecard, printed and in files.

`tacit` finds it as an entry point of the group `tacit.commands`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from tacit.config.settings import EmbedderSettings
from tacit.errors import InvalidInput
from tacit.ports.models import Embedder
from tacit.providers.embedding import make_embedder
from tacit_evals.data.kept_vectors import KeptVectors
from tacit_evals.data.recognise import NEEDS
from tacit_evals.report.page import write_page
from tacit_evals.report.scorecard import Scorecard
from tacit_evals.report.tables import print_card
from tacit_evals.suites.action import run_action
from tacit_evals.suites.capture import run_capture
from tacit_evals.suites.inject import run_inject
from tacit_evals.suites.languages import run_languages
from tacit_evals.suites.named import run_named
from tacit_evals.suites.placement import run_placement
from tacit_evals.suites.reading import run_reading
from tacit_evals.suites.retrieval import run_retrieval
from tacit_evals.suites.running import Run, shipped_settings, without_spaces
from tacit_evals.suites.update import run_update
from tacit_evals.suites.writing.fixes import run_fixes
from tacit_evals.suites.writing.loop import run_loop
from tacit_evals.suites.writing.redact import run_redact
from tacit_evals.suites.written import run_written

SUITES: dict[str, Callable[[Run], Scorecard]] = {
    "inject": run_inject,
    "action": run_action,
    "retrieval": run_retrieval,
    "placement": run_placement,
    "reading": run_reading,
    "capture": run_capture,
    "redact": run_redact,
    "loop": run_loop,
    "fixes": run_fixes,
    "update": run_update,
    "languages": run_languages,
}
ANSWERED: dict[str, Callable[[Run], Scorecard]] = {"capture": run_written, "inject": run_named}
"""Suites that measure something else where recorded answers are given."""
LATENCY = "latency"


def parser() -> argparse.ArgumentParser:
    """The arguments of `tacit eval`."""
    parser = argparse.ArgumentParser(
        prog="tacit eval",
        description="Measure how well the memory does on judged data, beside simpler methods.",
        epilog="Suites: "
        + "; ".join(f"{name} needs {needs}" for name, needs in NEEDS.items())
        + f"; {LATENCY} needs no data. See docs/guide/benchmarks.md.",
    )
    parser.add_argument("suite", choices=(*SUITES, LATENCY), help="what to measure")
    parser.add_argument("--data", type=Path, help="folder of the data, or one above it; known by its files")
    fitting = parser.add_mutually_exclusive_group()
    fitting.add_argument(
        "--fit",
        type=Path,
        action="append",
        default=[],
        metavar="DIR",
        help="fit on the rows of this folder, without those of the evaluated project; may be repeated",
    )
    fitting.add_argument("--no-fit", action="store_true", help="use what ships (the default)")
    triggers = parser.add_mutually_exclusive_group()
    triggers.add_argument(
        "--triggers",
        type=Path,
        metavar="DIR",
        help="use the labelled triggers of this folder, as a storing agent makes them",
    )
    triggers.add_argument(
        "--local-triggers", action="store_true", help="make triggers from words (the default)"
    )
    parser.add_argument(
        "--phrases",
        type=Path,
        metavar="DIR",
        help="for the suite inject: give each memory the first `asks` of DIR/PROJECT.jsonl as `when` phrases",
    )
    parser.add_argument(
        "--pool", type=Path, metavar="FILE", help="memories.jsonl, or its folder, for the suite action"
    )
    parser.add_argument(
        "--answers",
        type=Path,
        metavar="DIR",
        help="for the suites capture, update and inject: replay a language model's recorded answers",
    )
    parser.add_argument(
        "--moment",
        choices=("pause", "prompt"),
        help="with --answers of the suite inject: when the model was asked",
    )
    parser.add_argument(
        "--requests", type=Path, metavar="DIR", help="with --answers: write requests that have no answer here"
    )
    parser.add_argument(
        "--embedder", choices=("minilm", "fake"), default="minilm", help="who makes the vectors"
    )
    parser.add_argument(
        "--without", action="append", default=[], metavar="SPACE", help="switch a space off; repeatable"
    )
    parser.add_argument(
        "--cache",
        type=Path,
        metavar="DIR",
        help="keep the vectors of texts here for later runs; holds no texts",
    )
    parser.add_argument(
        "--trec", type=Path, metavar="DIR", help="write judgments and rankings as TREC files (qrels and runs)"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the scorecard as JSON")
    parser.add_argument(
        "--html",
        type=Path,
        metavar="FILE",
        help="write the report with plots as one page (default: beside the file of --json)",
    )
    return parser


def evaluate(arguments: Sequence[str]) -> int:
    """Run one suite and return the exit code.

    Raises:
        InvalidInput: for data that cannot be read, naming file and line.
    """
    arguments = list(arguments)
    if arguments[:1] == [LATENCY]:
        return _latency(arguments[1:])
    options = parser().parse_args(arguments)
    if options.data is None:
        raise InvalidInput(
            "--data is missing.", hint=f"The suite {options.suite} needs {NEEDS[options.suite]}."
        )
    for folder in (*options.fit, *filter(None, (options.triggers, options.answers, options.phrases))):
        if not folder.is_dir():
            raise InvalidInput(f"{folder} is no folder.", hint="Give a folder that exists.")
    settings = shipped_settings()
    if options.answers and options.suite not in ("capture", "update", "inject"):
        raise InvalidInput("--answers is for the suites capture, update and inject.")
    if options.phrases and options.suite != "inject":
        raise InvalidInput("--phrases is for the suite inject.")
    if options.moment and not (options.answers and options.suite == "inject"):
        raise InvalidInput("--moment is for the suite inject with --answers.")
    embedder: Embedder = make_embedder(EmbedderSettings(provider=options.embedder), cache_entries=100_000)
    cache = KeptVectors(embedder, options.cache) if options.cache else None
    settings, preset = without_spaces(settings, options.without)
    run = Run(
        data=options.data,
        settings=settings,
        preset=preset,
        embedder=cache or embedder,
        fit=tuple(options.fit),
        as_shipped=options.no_fit,
        triggers=options.triggers,
        phrases=options.phrases,
        pool=options.pool,
        answers=options.answers,
        moment=options.moment,
        requests=options.requests,
        trec=options.trec,
        say=lambda line: print(line, file=sys.stderr),
    )
    try:
        answered = ANSWERED.get(options.suite) if options.answers else None
        card = (answered or SUITES[options.suite])(run)
    finally:
        if cache is not None:
            cache.save()
    print_card(card)
    if options.json:
        card.write(options.json)
    page: Path | None = options.html or (options.json.with_suffix(".html") if options.json else None)
    if page:
        write_page(card, page)
        print(f"report: {page}", file=sys.stderr)
    return 0


def _latency(arguments: list[str]) -> int:
    from tacit_evals import latency

    try:
        latency.main(arguments)
    except SystemExit as exited:
        if isinstance(exited.code, str):
            print(exited.code, file=sys.stderr)
        return exited.code if isinstance(exited.code, int) else 0 if exited.code is None else 1
    return 0


if __name__ == "__main__":
    raise SystemExit(evaluate(sys.argv[1:]))
