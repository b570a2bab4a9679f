"""Whether two versions of Tacit hand over the same packs. In: a recording, or a commit. Out: per preset what differs; exit code 1 where anything does.

    python -m tacit_evals.same_packs record --out FILE [--data FOLDER]
    python -m tacit_evals.same_packs compare FILE
    python -m tacit_evals.same_packs compare --against COMMIT [--data FOLDER]

A recording is 500 recalls per preset on one store: at session starts, resumes and compactions, before prompts, before and after tool calls,
at subagents and on demand. It holds the plan it was made from, every answer as the host gets it, and what the traces say: silences, drops
with reasons, thresholds, what was injected. `compare FILE` carries out the same plan with the code of this checkout, `--against` with that
of a commit and of this checkout. A recording holds the statements of `--data`, so it is never written into the project.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path

from tacit.config.preset_files import preset_names
from tacit_evals.same_packs.recording import (
    SHOWN,
    SOURCE,
    STATEMENTS,
    checkout,
    compare,
    differs,
    make_plan,
    present_commit,
    read_recording,
    record,
    write_recording,
)

RECALLS = 500


def main(arguments: Sequence[str] | None = None) -> int:
    """Record or compare; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="tacit_evals.same_packs", description=(__doc__ or "").splitlines()[0]
    )
    commands = parser.add_subparsers(dest="command", required=True)
    recording = commands.add_parser("record", help="record what this checkout hands over")
    recording.add_argument("--out", type=Path, required=True, help="file to write, outside the project")
    comparing = commands.add_parser("compare", help="compare this checkout with a recording or a commit")
    comparing.add_argument("file", type=Path, nargs="?", help="a recording")
    comparing.add_argument("--against", metavar="COMMIT", help="record with the code of this commit first")
    comparing.add_argument("--shown", type=int, default=SHOWN, help="differences to print per preset")
    for command in (recording, comparing):
        command.add_argument(
            "--data", type=Path, help="folder with <project>/memories.jsonl and prompts.jsonl"
        )
        command.add_argument("--recalls", type=int, default=RECALLS, help="recalls per preset")
        command.add_argument("--statements", type=int, default=STATEMENTS, help="generated statements")
        command.add_argument(
            "--preset", action="append", choices=preset_names(), help="only this one; repeatable"
        )
    options = parser.parse_args(arguments)
    if options.command == "compare" and (options.file is None) == (options.against is None):
        parser.error("give a recording or --against COMMIT")
    if options.command == "compare" and options.file:
        before = read_recording(options.file)
        after = record(before["plan"], source=SOURCE, commit=present_commit())
    else:
        planned = make_plan(recalls=options.recalls, statements=options.statements, data=options.data)
        plan = {**asdict(planned), "presets": options.preset or list(preset_names())}
        plan = json.loads(json.dumps(plan))
        if options.command == "record":
            recorded = record(plan, source=SOURCE, commit=present_commit())
            write_recording(recorded, options.out)
            for preset, value in recorded["hashes"].items():
                print(f"{preset}: {planned.recalls} recalls, {value}")
            return 0
        with checkout(options.against) as (folder, name), ThreadPoolExecutor(max_workers=2) as both:
            first = both.submit(record, plan, source=folder, commit=name)
            after = record(plan, source=SOURCE, commit=present_commit())
            before = first.result()
    print(f"before: {before['commit']}, now: {after['commit']}")
    print("\n".join(compare(before, after, shown=options.shown)))
    return int(differs(before, after))


if __name__ == "__main__":
    raise SystemExit(main())
