"""What each row of the audits promises, whether it holds, and how to see it. `cd tests && python -m presets.rows [PRESET ...] [--run]`.

An audit walks a design document promise by promise. `rows.toml` lists the ids of its rows; the table `[audit]` of
`items/<preset>.toml` says of each row what is promised, and which items show it, which program measures it, or why it holds in part only:
`"2.1-a" = {promise = "...", items = ["2.1"]}`, `{promise = "...", measured = "the command", found = "what it printed"}` or
`{promise = "...", part = "the reason, in one sentence"}`.

A row WORKS if each of its items has a test; with `--run` those tests run, and decide. What no test may assert, such as seconds, is MEASURED.
"""

from __future__ import annotations

import argparse
import sys
import tomllib
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from presets.acceptance import REPOSITORY, items_of, presets, shown_by

LIST = Path(__file__).with_name("rows.toml")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One row of an audit: its id, what is promised, and the tests of each item that shows it.

    `measured` = the command that measures it, `found` = what it printed; `part` = why it holds in part only.
    """

    id: str
    promise: str
    tests: Mapping[str, list[str]]
    measured: str = ""
    found: str = ""
    part: str = ""

    def verdict(self, outcomes: Mapping[str, str] | None = None) -> str:
        """WORKS, MEASURED, PART or MISSING; with the `outcomes` of tests that ran also BROKEN or NOTRUN."""
        if self.part or self.measured:
            return "PART" if self.part else "MEASURED"
        if not self.tests or not all(self.tests.values()):
            return "MISSING"
        if outcomes is None:
            return "WORKS"
        ended = {outcomes.get(test, "skipped") for tests in self.tests.values() for test in tests}
        return "BROKEN" if "failed" in ended else "NOTRUN" if "skipped" in ended else "WORKS"


class Outcomes(dict[str, str]):
    """A plugin of pytest: how each test ended, the worst of its parameters."""

    __hash__ = object.__hash__  # a plugin is looked up by itself

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note how a phase of a test ended."""
        test = report.nodeid.partition("[")[0]
        ended = [self.get(test, "passed"), report.outcome]
        self[test] = next(one for one in ("failed", "skipped", "passed") if one in ended)


def listed(preset: str) -> Collection[str]:
    """The ids of all rows of the audit of a preset."""
    return tomllib.loads(LIST.read_text("utf-8"))[preset].split()


def rows(preset: str) -> Iterator[Row]:
    """The rows of a preset, in the order of its audit, then those that the audit does not list."""
    audit, shown = items_of(preset).audit, shown_by(preset)
    for name in dict.fromkeys((*listed(preset), *audit)):
        told = audit.get(name, {})
        tests = {item: shown.get(item, []) for item in told.get("items", ())}
        yield Row(
            id=name,
            promise=told.get("promise", ""),
            tests=tests,
            measured=told.get("measured", ""),
            found=told.get("found", ""),
            part=told.get("part", ""),
        )


def main() -> int:
    """Print the rows; the exit code is 1 if one neither works nor has a reason."""
    parser = argparse.ArgumentParser(prog="python -m presets.rows", description=__doc__)
    parser.add_argument("presets", nargs="*", choices=presets(), help="default: all")
    parser.add_argument("--run", action="store_true", help="run the tests, and take the verdicts from them")
    arguments = parser.parse_args()
    found = {preset: tuple(rows(preset)) for preset in arguments.presets or presets()}
    every = dict.fromkeys(
        test for each in found.values() for row in each for tests in row.tests.values() for test in tests
    )
    outcomes = Outcomes() if arguments.run else None
    if outcomes is not None and every:
        named = [str(REPOSITORY / test) for test in every]
        pytest.main([f"--rootdir={REPOSITORY}", "-q", "-n0", *named], plugins=[outcomes])
    lines: list[str] = []
    every_verdict: set[str] = set()
    for preset, each in found.items():
        verdicts = [row.verdict(outcomes) for row in each]
        for row, verdict in zip(each, verdicts, strict=True):
            tests = dict.fromkeys(test for tests in row.tests.values() for test in tests)
            measured = f"{row.measured}: {row.found}" if row.measured else ""
            how = row.part or measured or f"pytest {' '.join(tests)}"
            lines.append(f"{preset} {row.id} | {row.promise} | {verdict} | {how}")
        counts = ", ".join(f"{count} {verdict}" for verdict, count in Counter(verdicts).items())
        lines.append(f"{preset}: {len(each)} rows, {counts}")
        every_verdict |= set(verdicts)
    sys.stdout.write("\n".join((*lines, "")))
    return int(not every_verdict <= {"WORKS", "MEASURED", "PART"})


if __name__ == "__main__":
    raise SystemExit(main())
