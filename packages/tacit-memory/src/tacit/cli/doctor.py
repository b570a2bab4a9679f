"""`doctor`: a checklist of what brings a memory to an agent on this machine, with what to do for each point that fails.

In: the command_context. Out: findings as they are made, or one JSON object; exit code 10 when a check failed.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tacit.cli.context import current_context
from tacit.cli.terminal.arguments import AsJson, Here
from tacit.cli.terminal.interaction import Progress
from tacit.cli.terminal.output import SOME_PROBLEM, print_json, print_line
from tacit.errors import NotFound, TacitError
from tacit.hosts.registry import BUILT_IN

if TYPE_CHECKING:
    from tacit.cli.checks import CheckResult

MARKS = {
    "ok": ("ok  ", "green"),
    "warn": ("warn", "yellow"),
    "fail": ("FAIL", "red"),
    "skip": ("-   ", "dim"),
}


def doctor(
    host: Annotated[
        list[str] | None,
        typer.Argument(
            help="Coding agents and MCP clients, as in `tacit install`; default: all.", show_default=False
        ),
    ] = None,
    host_option: Annotated[
        list[str] | None, typer.Option("--host", hidden=True, help="The same as an option.")
    ] = None,
    hosts: Annotated[
        bool,
        typer.Option("--hosts/--no-hosts", help="Run the agents against a fake model."),
    ] = True,
    reindex: Annotated[
        bool, typer.Option("--reindex", help="Only renew the vectors that belong to another embedder.")
    ] = False,
    cwd: Here = Path(),
    as_json: AsJson = False,
) -> None:
    """Check that a memory reaches the agent; say how to fix problems."""
    if reindex:
        _renew_vectors(as_json=as_json)
        return
    findings: list[CheckResult] = []
    for finding in examine((*(host or ()), *(host_option or ())), proofs=hosts, cwd=cwd):
        findings.append(finding)
        if not as_json:
            mark, style = MARKS[finding.state]
            print_line(
                f"{mark}  {finding.name:<18} {finding.detail}", style="" if finding.state == "ok" else style
            )
            if finding.advice:
                print_line(f"      {'':<18} -> {finding.advice}", style=style)
    broken = sum(finding.state == "fail" for finding in findings)
    if as_json:
        print_json({"ok": not broken, "findings": [asdict(finding) for finding in findings]})
    else:
        print_line()
        doubtful = sum(finding.state == "warn" for finding in findings)
        summary = f"{broken} of {len(findings)} checks failed." if broken else "All checks passed."
        print_line(
            f"{summary} {doubtful} more need{'s' if doubtful == 1 else ''} attention (warn)."
            if doubtful
            else summary
        )
    if broken:
        raise typer.Exit(SOME_PROBLEM)


def _renew_vectors(*, as_json: bool) -> None:
    from tacit.app.wiring import open_engine

    engine = open_engine(current_context().home.root)
    try:
        with Progress("renewing vectors", quiet=as_json) as progress:
            renewed = engine.maintenance.reindex(progress=progress.update)
    finally:
        engine.close()
    if as_json:
        print_json({"embedded": renewed})
        return
    print_line(f"renewed {renewed} vectors" if renewed else "every vector already belongs to this embedder")


def examine(names: tuple[str, ...], *, proofs: bool, cwd: Path) -> Iterator[CheckResult]:
    """Yield all findings in an order in which each check builds on those before. Starts a daemon for the user's home, and one for a scratch home that is removed after."""
    from tacit.cli import checks
    from tacit.hosts.install.clients import CLIENTS
    from tacit.session.projects import identify_project

    known = (*BUILT_IN, *CLIENTS)
    unknown = [name for name in names if name not in known]
    if unknown:
        raise NotFound(f"No host is called {unknown[0]!r}.", hint=f"Known hosts: {', '.join(known)}.")
    place = current_context()
    project = Path(identify_project(str(cwd.absolute())).root)
    yield checks.check_interpreter()
    home = list(checks.check_home(place.home, project=project))
    yield from home
    if any(finding.state == "fail" for finding in home):
        return
    yield from checks.check_daemon(place)
    yield from checks.check_proxies(place.home)
    folder = Path(tempfile.mkdtemp(prefix="tacit-doctor-"))
    try:
        with checks.make_scratch_home(place, folder) as trial:
            yield from checks.check_models(trial)
            yield checks.check_launcher(place.home, trial)
            for name in names or known:
                shown = trial if proofs else None
                yield from checks.check_host(place, name, project=project, scratch=shown, named=bool(names))
    except TacitError as error:
        yield checks.failed("trial", error, home=place.home)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
