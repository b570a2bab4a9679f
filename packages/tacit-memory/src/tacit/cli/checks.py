"""The checks of `doctor`, one function each. In: command_context, a scratch home. Out: findings with advice.

The user's store is only asked for its state; everything that stores or injects happens in a scratch home of its own.
Expected failures are findings: a check that cannot be made says so and never ends the others.
"""

from __future__ import annotations

import json
import os
import platform
import stat
import subprocess
import sys
import time
import traceback
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from tacit import __version__
from tacit.cli.context import CommandContext, Daemon
from tacit.cli.status import ask_week, week_rows
from tacit.cli.terminal.output import format_count, format_moment
from tacit.config.environment import secret
from tacit.config.home import Home, chosen_transport
from tacit.errors import StoreError, TacitError
from tacit.frozen import frozen
from tacit.hosts.registry import BUILT_IN
from tacit.system.files import rights_of_others

if TYPE_CHECKING:
    from tacit.hosts.install.clients import DetectedHost
    from tacit.hosts.install.files import Ruling
    from tacit.hosts.probe import ProbeResult

State = Literal["ok", "warn", "fail", "skip"]
LAUNCHER_DEADLINE_MS = 1500.0
EMBED_SLOW_MS = 3000.0
LATE_BACKUP_DAYS = 30.0
"""A backup older than this is a warning. A daemon makes one a day while it is used, but a home may rest for weeks."""


@frozen
class CheckResult:
    """The result of one check of `doctor`. `advice` says what to do; "" = nothing."""

    name: str
    state: State
    detail: str
    advice: str = ""


@frozen
class ScratchHome:
    """A throw-away home with a running daemon. Its store holds one memory, given at every session start, that contains the nonce."""

    home: Home
    nonce: str
    memory_id: str
    daemon: Daemon
    embed_ms: float
    embedder: str
    embed_error: TacitError | None = None


def failed(name: str, error: TacitError, *, home: Home) -> CheckResult:
    """Return a failed check called `name` for `error`: its message, the line of code that failed, and advice other than to run `doctor`."""
    cause = error.__cause__
    call = _failing_call(cause) if cause is not None else ""
    detail = f"{error.message} Failed call: {call}. {interpreter()}." if call else error.message
    advice = error.hint
    if "tacit doctor" in advice:  # which is what the user is reading
        advice = f"`tacit stop`, then try again; see {home.log_file}."
        if isinstance(error, StoreError):
            advice = f"Keep a copy of {home.database}, then `tacit restore` a sound backup."
    return CheckResult(name=name, state="fail", detail=detail, advice=advice)


def interpreter() -> str:
    """Describe the Python that runs this: implementation, version and path."""
    return f"{platform.python_implementation()} {platform.python_version()} at {sys.executable}"


def _failing_call(error: BaseException) -> str:
    """Describe the line that raised `error`, as in `self.sock.connect(path) (transport.py:32, in connect)`; "" = unknown."""
    frames = traceback.extract_tb(error.__traceback__)
    if not frames:
        return ""
    last = frames[-1]
    place = f"{Path(last.filename).name}:{last.lineno}, in {last.name}"
    return f"`{last.line}` ({place})" if last.line else place


def check_interpreter() -> CheckResult:
    """Check that Tacit is tested with the Python that runs it, as the package's classifiers say; another one is a warning."""
    from importlib.metadata import metadata

    suffixes = (line.rpartition(" :: ")[2] for line in metadata("tacit-memory").get_all("Classifier") or ())
    tested = [version for version in suffixes if version.startswith("3.")]
    if "{}.{}".format(*sys.version_info) in tested:
        return CheckResult(name="python", state="ok", detail=interpreter())
    return CheckResult(
        name="python",
        state="warn",
        detail=f"{interpreter()}; Tacit is tested on {', '.join(tested)}.",
        advice="If something fails, install Tacit with one of these: `uv tool install --python 3.13 ./packages/tacit-memory` in your clone of Tacit.",
    )


def check_home(home: Home, *, project: Path | None = None) -> Iterator[CheckResult]:
    """Check the home folder, which is made if it is missing, its access rights, the socket and the settings."""
    try:
        home.ensure()
    except TacitError as error:
        yield failed("home", error, home=home)
        return
    status = home.root.stat()
    if rights_of_others(status):
        yield CheckResult(
            name="home",
            state="fail",
            detail=f"{home.root} is open to others (mode {stat.S_IMODE(status.st_mode):o}).",
            advice=f"chmod 700 {home.root}",
        )
    else:
        yield CheckResult(name="home", state="ok", detail=f"{home.root} is private and writable")
    yield CheckResult(name="socket", state="ok", detail=str(home.transport().file))
    yield check_settings(home, project)


def check_settings(home: Home, project: Path | None = None) -> CheckResult:
    """Check that the settings files of the user and of the project could be read completely."""
    from tacit.config.layers import read_settings

    report = read_settings(home, project)
    if not report.warnings:
        return CheckResult(name="settings", state="ok", detail=f"preset {report.settings.preset}")
    return CheckResult(
        name="settings",
        state="warn",
        detail="; ".join(str(warning) for warning in report.warnings),
        advice=f"Correct the named file: {home.config_file} or the project's .tacit/config.yaml.",
    )


def check_daemon(place: CommandContext) -> Iterator[CheckResult]:
    """Start the daemon if none runs, and check its version, store, backups, hooks and recalls."""
    daemon = place.connect(place.home)
    began = time.monotonic()
    try:
        daemon.ensure_running(15.0)
    except TacitError as error:
        yield failed("daemon", error, home=place.home)
        return
    took_ms = (time.monotonic() - began) * 1000
    health = daemon.status()
    if health.get("version") != __version__:
        yield CheckResult(
            name="daemon",
            state="warn",
            detail=f"version {health.get('version')} answers; this is {__version__}",
            advice="`tacit stop`; the next session starts this version.",
        )
    else:
        yield CheckResult(name="daemon", state="ok", detail=f"pid {health['pid']} answers, {took_ms:.0f} ms")
    try:
        body = {"name": "check", "wait": True}
        check = daemon.request("POST", "/v1/jobs", body, timeout_s=60.0)[1]["job"]
        engine = daemon.request("GET", "/v1/status", timeout_s=30.0)[1]
    except TacitError as error:
        yield failed("store", error, home=place.home)
        return
    yield _store(check, engine)
    for warning in engine["warnings"]:
        yield CheckResult(name="store", state="warn", detail=warning)
    if not engine["recall_enabled"] or engine["shadow"]:
        yield CheckResult(
            name="recall",
            state="warn",
            detail="Recall is off or in shadow mode.",
            advice="Set recall.enabled: true and recall.shadow: false.",
        )
    yield _backup(place.home)
    yield _notes_of_hooks(health.get("hook_failures") or {}, place.home)
    yield _recalls()


def _store(check: dict[str, Any], engine: dict[str, Any]) -> CheckResult:
    if check["error"]:
        return CheckResult(name="store", state="fail", detail=check["error"], advice=check["hint"])
    if problems := check["problems"]:
        return CheckResult(
            name="store",
            state="fail",
            detail="; ".join(problems),
            advice="`tacit stop`: the next start recovers what can be read into a new store.",
        )
    store = engine["store"]
    counts = f"{format_count(store['memories_active'])} of {format_count(store['projects'], 'project', 'projects')}"
    return CheckResult(name="store", state="ok", detail=f"sound, {counts}")


def _backup(home: Home) -> CheckResult:
    from tacit.config.layers import read_settings
    from tacit.upkeep.backups import newest_backup

    keep = read_settings(home, None).settings.backup.keep
    newest = newest_backup(home)
    if not keep:
        return CheckResult(name="backup", state="ok", detail="automatic backups are off (backup.keep: 0)")
    if newest is None:
        return CheckResult(name="backup", state="ok", detail="none yet; the daemon makes one when it is idle")
    days = (time.time() * 1000 - newest.at_ms) / 86_400_000
    if days > LATE_BACKUP_DAYS:
        return CheckResult(
            name="backup",
            state="warn",
            detail=f"the newest automatic backup is {days:.0f} days old",
            advice=f"`tacit status --log` says why; make room for a copy of the store in {home.backups_dir}.",
        )
    return CheckResult(
        name="backup", state="ok", detail=f"the newest was made {format_moment(newest.at_ms)}: {newest.path}"
    )


def _notes_of_hooks(failures: dict[str, int], home: Home) -> CheckResult:
    if not failures:
        return CheckResult(name="hooks", state="ok", detail="none failed so far")
    counts_text = ", ".join(f"{name} ({count})" for name, count in failures.items())
    place = home.log_file.with_name("hook.log")
    return CheckResult(
        name="hooks",
        state="warn",
        detail=f"Since the log began: {counts_text}.",
        advice=f"`tacit status --hooks` shows the times; remove {place} and hook.count to reset the counts.",
    )


def _recalls() -> CheckResult:
    week = ask_week()
    if not week["recalls"]:
        return CheckResult(
            name="recalls",
            state="skip",
            detail="no session in the last 7 days: start one after `tacit install`",
        )
    summary = "; ".join(line for _, line in week_rows(week))
    return CheckResult(name="recalls", state="ok", detail=summary)


def _copy_embedder(source: Home, target: Home) -> None:
    """Write the settings of the scratch home: the user's embedder and nothing else.

    The scratch home proves the path from a hook to the model. What the user's preset injects at which moment is another
    question: some presets have no start pack, and the path is sound all the same.
    """
    from tacit.config.layers import read_settings

    embedder = read_settings(source).settings.embedder
    target.config_file.write_text(json.dumps({"embedder": embedder.model_dump()}), encoding="utf-8")


def _embed_error(home: Home) -> TacitError | None:
    """Embed a text with the settings of `home` and return the error; None = it worked. Storing a memory works without an embedder, so no other check would notice."""
    from tacit.config.layers import read_settings
    from tacit.providers.embedding import make_embedder

    settings = read_settings(home).settings.embedder
    try:
        make_embedder(settings, api_key=secret(settings.api_key_env)).embed(["The word of this check"])
    except TacitError as error:
        return error
    return None


@contextmanager
def make_scratch_home(place: CommandContext, folder: Path) -> Generator[ScratchHome]:
    """Make a scratch home in `folder` with the user's embedder and the default preset, and start its daemon; the daemon is stopped at the end.

    Raises:
        TacitError: if the store, the embedder or the daemon cannot be had.
    """
    import secrets

    from tacit.app.wiring import open_engine
    from tacit.client.daemon_facts import end_daemon
    from tacit.model.changes import Add
    from tacit.model.scope import UNIVERSAL

    home = Home(folder / "home")
    home.ensure()
    _copy_embedder(place.home, home)
    nonce = f"tacit{secrets.token_hex(8)}"
    engine = open_engine(home.root)
    try:
        began = time.monotonic()
        embed_error = _embed_error(home)
        embed_ms = (time.monotonic() - began) * 1000
        changes = engine.remember(
            f"The word of this check is {nonce}", kind="preference", scope=UNIVERSAL, when="always"
        )
        (memory_id,) = (change.memory.id for change in changes if isinstance(change, Add))
        status = engine.status()
    finally:
        engine.close()
    daemon = place.connect(home)
    daemon.ensure_running(20.0)
    try:
        # The model is loaded behind the first answers; what is timed below is the daily case.
        start = {"surface": "start", "cwd": str(home.root), "store_trace": False}
        daemon.request("POST", "/v1/recall", start, timeout_s=30.0)
        yield ScratchHome(
            home=home,
            nonce=nonce,
            memory_id=memory_id,
            daemon=daemon,
            embed_ms=embed_ms,
            embedder=status.embedder,
            embed_error=embed_error,
        )
    finally:
        end_daemon(home.daemon_file)


def check_proxies(home: Home) -> Iterator[CheckResult]:
    """Check that each running proxy accepts connections."""
    from tacit.client.proxy_facts import read_proxies

    for proxy in read_proxies(home):
        where = f"http://127.0.0.1:{proxy.port} (pid {proxy.pid}, version {proxy.version})"
        if not proxy.answers:
            yield CheckResult(
                name="proxy",
                state="fail",
                detail=f"{where} accepts no connection.",
                advice=f"End process {proxy.pid}, and run `tacit proxy` again.",
            )
        elif proxy.version != __version__:
            yield CheckResult(
                name="proxy",
                state="warn",
                detail=f"{where} has another version than this program, {__version__}.",
                advice="End it, and run `tacit proxy` again.",
            )
        else:
            yield CheckResult(name="proxy", state="ok", detail=where)


def check_models(scratch: ScratchHome) -> Iterator[CheckResult]:
    """Check that the embedder worked when the scratch home was made, and how long it took."""
    if scratch.embed_error is not None:
        yield failed("embedder", scratch.embed_error, home=scratch.home)
        return
    slow = scratch.embed_ms > EMBED_SLOW_MS
    yield CheckResult(
        name="embedder",
        state="warn" if slow else "ok",
        detail=f"{scratch.embedder} loaded and embedded in {scratch.embed_ms:.0f} ms",
        advice="This is slow, but only at the first use after a start." if slow else "",
    )


def check_launcher(home: Home, scratch: ScratchHome) -> CheckResult:
    """Check that the launcher, run as a hook does, prints the nonce in time."""
    if not home.launcher.exists():
        return CheckResult(
            name="launcher",
            state="warn",
            detail=f"{home.launcher} does not exist yet.",
            advice="`tacit install`",
        )
    payload = f'{{"event": "start", "session": "doctor-{scratch.nonce}", "cwd": "{scratch.home.root}"}}'
    began = time.monotonic()
    try:
        process = subprocess.run(
            [os.fspath(home.launcher), "plain"],
            input=payload,
            capture_output=True,
            text=True,
            timeout=20,
            check=False,
            env={
                "TACIT_HOME": os.fspath(scratch.home.root),
                "PATH": "/usr/bin:/bin",
                "HOME": "/",
                **chosen_transport(),
            },
        )
    except (OSError, subprocess.SubprocessError) as error:
        return CheckResult(
            name="launcher",
            state="fail",
            detail=f"It does not run: {type(error).__name__}.",
            advice="`tacit install` writes it again.",
        )
    took_ms = (time.monotonic() - began) * 1000
    if scratch.nonce not in process.stdout:
        return CheckResult(
            name="launcher",
            state="fail",
            detail=f"It ran for {took_ms:.0f} ms and printed nothing.",
            advice=f"`tacit install` writes it again; see {scratch.home.log_file.with_name('hook.log').name}.",
        )
    from tacit.daemon.launcher import launcher_problem

    problem = launcher_problem(home)
    if problem:
        return CheckResult(name="launcher", state="warn", detail=problem, advice="`tacit install` renews it.")
    slow = took_ms > LAUNCHER_DEADLINE_MS
    return CheckResult(
        name="launcher",
        state="warn" if slow else "ok",
        detail=f"{home.launcher} answered in {took_ms:.0f} ms",
        advice="Hosts wait for it on every prompt; see whether the machine is busy." if slow else "",
    )


def check_host(
    place: CommandContext, host: str, *, project: Path, scratch: ScratchHome | None, named: bool
) -> Iterator[CheckResult]:
    """Check that a host's files are in place and its program is there; with `scratch`, run it to prove that text reaches the model.

    Args:
        place: the command_context.
        host: its name.
        project: root of the project whose own installation counts where the user's has none.
        scratch: the scratch home; None = no proof by running the host.
        named: the host was named, so that its absence is a failure.
    """
    from tacit.hosts.install import installed_for, rulings
    from tacit.hosts.install.clients import CLIENTS, detect

    status = installed_for(host, user_home=place.user_home, project_root=project, home=place.home)
    programs = {program.name: program for program in detect(place.user_home, place.search_path)}
    program = programs.get(host)
    if status.state == "absent" and status.problems:
        yield CheckResult(
            name=host,
            state="fail" if named else "warn",
            detail=f"not connected; {'; '.join(status.problems)}",
            advice=f"Correct that, then `tacit install {host}`.",
        )
        return
    if status.state == "absent" and host in CLIENTS and not named:
        return
    if status.state == "absent":
        presence = f"version {program.version} is installed" if program else "not installed"
        state: State = "fail" if named else "warn" if program else "skip"
        advice = f"`tacit install {host}` connects it." if program or named else ""
        yield CheckResult(name=host, state=state, detail=f"not connected; {presence}", advice=advice)
        return
    if status.state != "installed" or status.problems:
        status_text = "; ".join(status.problems) or status.state
        mend = status.state != "installed" or not place.home.launcher.exists()
        advice = f"`tacit install {host}`" if mend else "Correct the host's files that it names."
        yield CheckResult(name=host, state="fail", detail=status_text, advice=advice)
    else:
        yield CheckResult(name=host, state="ok", detail=f"{len(status.files)} files in place and current")
    if status.waiting:
        yield CheckResult(
            name=f"{host} trust", state="warn", detail="The host waits for you.", advice=status.waiting
        )
    files = [path for path, _ in status.files]
    if (
        host in CLIENTS or not BUILT_IN[host].runs_here
    ):  # its program cannot be run here; run the command that its file names
        if scratch is not None:
            yield _prove_command(place, host, files, scratch)
        return
    if program is None:
        yield CheckResult(
            name=host,
            state="warn",
            detail="Its program was not found on PATH.",
            advice="It could not be tested; install it, or run doctor where it is on PATH.",
        )
    found = rulings(host, user_home=place.user_home, project_root=project)
    answers: tuple[str, ...] = ()
    if scratch is not None and program is not None:
        finding, answers = _prove(place, host, program, files, scratch, found)
        yield finding
    if found:
        yield _permission(host, found, answers, scratch)


def _permission(
    host: str, found: Sequence[Ruling], answers: tuple[str, ...], scratch: ScratchHome | None
) -> CheckResult:
    """Check whether the host calls the memory tools without asking: by its rules, and by the answers that it gave in the proof."""
    from tacit.hosts.install.files import TOOLS

    known = BUILT_IN[host]
    name, title = f"{host} tools", known.title
    told = f"{title} {' and '.join(map(str, found))}"
    if any(ruling.word != "allow" for ruling in found):
        by_rule = any(ruling.word != "allow" and ruling.rule for ruling in found)
        advice = "" if by_rule else f"`tacit install {host} --allow-tools` lets it call both without asking."
        return CheckResult(name=name, state="warn" if by_rule else "skip", detail=told, advice=advice)
    if not answers or scratch is None:
        return CheckResult(name=name, state="ok", detail=f"{told}; not tried")
    proofs = dict(zip(TOOLS, (scratch.nonce, "mem_"), strict=True))
    refused = [
        f"{tool}: {answer.splitlines()[0][:160] if answer else 'no answer'}"
        for (tool, proof), answer in zip(proofs.items(), (*answers, "", "")[: len(TOOLS)], strict=True)
        if proof not in answer
    ]
    if not refused:
        return CheckResult(name=name, state="ok", detail=f"{title} ran {' and '.join(TOOLS)} without asking")
    return CheckResult(
        name=name,
        state="fail"
        if known.rules_command == "permissions"
        else "warn",  # policies of the user are not read before
        detail=f"{title} did not run a tool that a rule allows: {'; '.join(refused)}",
        advice=f"Another rule of yours or of an administrator may win. `/{known.rules_command}` in {title} lists them.",
    )


def _prove(
    place: CommandContext,
    host: str,
    program: DetectedHost,
    files: list[Path],
    scratch: ScratchHome,
    found: Sequence[Ruling],
) -> tuple[CheckResult, tuple[str, ...]]:
    """Run the host's program once against a stub model, and look for the nonce in its requests. Return the finding and the answers to tool calls.

    If rules allow our tools, the model calls them; the answers are returned, too.
    """
    from tacit.hosts.install.files import TOOLS
    from tacit.hosts.probe import ProofJob
    from tacit.hosts.probe.stub_model import CallTool

    name = f"{host} proof"
    calls: tuple[CallTool, ...] = ()
    if found and all(ruling.word == "allow" for ruling in found):
        given: tuple[dict[str, object], ...] = (
            {"ids": [scratch.memory_id]},
            {"content": "This check notes something."},
        )
        calls = tuple(
            CallTool(name=f"{BUILT_IN[host].tool_prefix}{tool}", input=fields)
            for tool, fields in zip(TOOLS, given, strict=True)
        )
    job = ProofJob(
        files=tuple(files),
        user_home=place.user_home,
        tacit_home=scratch.home.root,
        nonce=scratch.nonce,
        launcher=place.home.launcher,
        search_path=place.search_path,
        executable=program.executable,
        calls=calls,
        rules=tuple(ruling.rule for ruling in found) if calls else (),
    )
    result: ProbeResult = BUILT_IN[host].part("install").prove(job)
    version = program.version
    seconds = result.took_ms / 1000
    if result.ok:
        detail = f"{version}: injected text is in the model request ({result.where[0]}), {seconds:.1f} s"
        return CheckResult(name=name, state="ok", detail=detail), result.answers
    return _not_proven(name, result, "Injected text did not reach the model."), ()


def _prove_command(place: CommandContext, host: str, files: list[Path], scratch: ScratchHome) -> CheckResult:
    """Run the command in the client's file as the client does, and check that its answer holds the nonce. For clients that cannot be run here."""
    from tacit.hosts.install.clients import CLIENTS
    from tacit.hosts.probe import ProofJob, prove_server

    name = f"{host} proof"
    job = ProofJob(
        files=tuple(files),
        user_home=place.user_home,
        tacit_home=scratch.home.root,
        nonce=scratch.nonce,
        launcher=place.home.launcher,
        search_path=place.search_path,
    )
    result: ProbeResult = (
        prove_server(job, (CLIENTS[host].key, "tacit"))
        if host in CLIENTS
        else BUILT_IN[host].part("install").prove(job)
    )
    if result.ok:
        detail = (
            f"what its file starts answers with the memory ({result.where[0]}); the client itself was not run"
        )
        return CheckResult(name=name, state="ok", detail=detail)
    return _not_proven(name, result, "What its file starts does not answer with the memory.")


def _not_proven(name: str, result: ProbeResult, problem: str) -> CheckResult:
    end = result.output_end.strip().splitlines()
    output_text = f" It printed: {end[-1][:200]}" if end else ""
    return CheckResult(
        name=name,
        state="fail",
        detail=f"{problem}{output_text}",
        advice=result.advice,
    )
