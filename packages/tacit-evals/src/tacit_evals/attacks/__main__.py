"""Attack the product in every area, prove in the same run that ordinary use still works, and print what survived.

Run: `python -m tacit_evals.attacks [--area NAME ...] [--cases 300] [--seed N] [--forms] [--json FILE]`; exit code 1 where a
bound is broken. An area brings its controls along, so that a product that refuses everything fails.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tacit_evals.attacks.genuine import GENUINE
from tacit_evals.attacks.notes import NOTED, NOTED_AS_USERS, NOTES, NOTES_DANGEROUS, NOTES_INJECTED
from tacit_evals.attacks.pasted import PASTED
from tacit_evals.attacks.product import Area, CaseOutcome, Lab

AREAS: tuple[Area, ...] = (PASTED, NOTES)
CONTROLS: dict[str, tuple[Area, ...]] = {
    "pasted": (GENUINE,),
    "notes": (NOTES_INJECTED, NOTES_DANGEROUS, NOTED, NOTED_AS_USERS),
}
"""What runs along with an area: what must still work, which its refusals could break, and further bounds on its cases."""
CASES = 300
SHOWN = 20
_LONGEST = 400


def main(arguments: Sequence[str] | None = None, *, areas: Sequence[Area] = AREAS) -> int:
    """Run, print, and tell by the exit code whether every bound was kept."""
    parser = argparse.ArgumentParser(prog="tacit_evals.attacks", description=(__doc__ or "").splitlines()[0])
    names = [area.name for area in areas]
    parser.add_argument(
        "--area", action="append", choices=names, help="only this area; may be given several times"
    )
    parser.add_argument("--cases", type=int, default=CASES, help="cases of an area; controls in proportion")
    parser.add_argument("--seed", type=int, help="of all chance; a new one is made and printed")
    parser.add_argument("--forms", action="store_true", help="print the tables of forms and leave")
    parser.add_argument("--shown", type=int, default=SHOWN, help="most failing cases to print for an area")
    parser.add_argument("--json", type=Path, help="also write every outcome to this file")
    options = parser.parse_args(arguments)
    console = Console()
    chosen = [area for area in areas if not options.area or area.name in options.area]
    areas = list(
        {member.name: member for area in chosen for member in (area, *CONTROLS.get(area.name, ()))}.values()
    )
    if options.forms:
        for area in areas:
            console.print(table_of_forms(area))
        return 0
    seed = random.SystemRandom().randrange(1_000_000) if options.seed is None else options.seed
    console.print(f"seed {seed}, {options.cases} cases an area")
    results: dict[str, Sequence[CaseOutcome]] = {}
    for area in areas:
        began = time.monotonic()
        cases = max(1, round(area.standard * options.cases / CASES))
        results[area.name] = attack(area, seed=seed, cases=cases)
        show(console, area, results[area.name], most=options.shown, took_s=time.monotonic() - began)
    console.print(summary(areas, results))
    if options.json:
        rows = {name: [_row(outcome) for outcome in outcomes] for name, outcomes in results.items()}
        options.json.write_text(
            json.dumps({"seed": seed, "areas": rows}, indent=1, ensure_ascii=False) + "\n", "utf-8"
        )
    return 0 if all(area.kept(results[area.name]) for area in areas) else 1


def attack(area: Area, *, seed: int, cases: int) -> list[CaseOutcome]:
    """Run one area in a folder of its own; its chance depends on the seed and its name alone."""
    with tempfile.TemporaryDirectory(prefix="ta-", dir="/tmp", ignore_cleanup_errors=True) as folder:
        lab = Lab(
            root=Path(folder).resolve(),
            chance=random.Random(f"{seed} {area.name}"),
            cases=cases,
            python=Path(sys.executable),
        )
        return list(area.run(lab))


def show(console: Console, area: Area, outcomes: Sequence[CaseOutcome], *, most: int, took_s: float) -> None:
    """Print what an area did, form by form, and the cases that failed."""
    tried = Counter(outcome.form for outcome in outcomes)
    survived = Counter(outcome.form for outcome in outcomes if outcome.survived)
    table = Table(title=f"{area.name}: {area.about} ({took_s:.0f} s)", title_justify="left")
    table.add_column("form")
    table.add_column("tried", justify="right")
    table.add_column("survived", justify="right")
    for form in sorted(tried):
        style = "" if tried[form] == survived[form] else "bold"
        table.add_row(Text(form), str(tried[form]), str(survived[form]), style=style)
    table.add_row("all", str(len(outcomes)), str(sum(survived.values())), style="bold")
    console.print(table)
    failed = [outcome for outcome in outcomes if not outcome.survived]
    for outcome in failed[:most]:
        console.print(
            Text(
                f"FAILED {area.name}, {outcome.form}\n  tried: {_short(outcome.tried)}\n  came out: {_short(outcome.came_out)}"
            )
        )
    if len(failed) > most:
        console.print(f"... and {len(failed) - most} more")


def summary(areas: Sequence[Area], results: dict[str, Sequence[CaseOutcome]]) -> Table:
    """One line for each area."""
    table = Table(title="attacks")
    for name in ("area", "tried", "survived", "share", "least", "verdict"):
        table.add_column(name, justify="left" if name in {"area", "verdict"} else "right")
    for area in areas:
        outcomes = results[area.name]
        survived = sum(outcome.survived for outcome in outcomes)
        table.add_row(
            f"{area.name} (control)" if area.control else area.name,
            str(len(outcomes)),
            str(survived),
            f"{survived / max(1, len(outcomes)):.1%}",
            f"{area.least:.0%}",
            "kept" if area.kept(outcomes) else "BROKEN",
        )
    return table


def table_of_forms(area: Area) -> Table:
    """The forms of an area."""
    table = Table(title=f"{area.name}: {area.about}", title_justify="left")
    table.add_column("form")
    table.add_column("what it is")
    for name, about in area.forms.items():
        table.add_row(Text(name), Text(about))
    return table


def _row(outcome: CaseOutcome) -> dict[str, object]:
    return {
        "form": outcome.form,
        "tried": outcome.tried,
        "survived": outcome.survived,
        "came_out": outcome.came_out,
    }


def _short(text: str) -> str:
    plain = text.encode("utf-8", "replace").decode().replace("\n", "\\n")
    return plain if len(plain) <= _LONGEST else f"{plain[:_LONGEST]} ..."


if __name__ == "__main__":
    raise SystemExit(main())
