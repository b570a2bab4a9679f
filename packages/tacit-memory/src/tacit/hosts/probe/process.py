"""Runs a host client in an environment of its own, and judges whether injected text reached the model.

In: a command, folders. Out: the client's output and exit code, and a result with advice. The client gets only the environment that is made here, and its
whole process group ends with it.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tacit.config.home import chosen_transport
from tacit.hosts.probe.stub_model import CallTool, Reply, Say, StubModel
from tacit.system.processes import end_group, group_options

SEARCH_PATH = "/usr/local/bin:/usr/bin:/bin"
"""Where clients find git, node and a shell when the caller names no other folders."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """A client that ended. `code` is None when it was ended for taking too long."""

    code: int | None
    out: str
    err: str
    took_ms: float


HOOK_DEADLINE_MS = 4500
"""A probe asks whether text arrives, not how fast: hooks may start a daemon first. Below the hosts' own 5 seconds."""


def clean_environment(home: Path, tacit_home: Path, *, search_path: str = SEARCH_PATH) -> dict[str, str]:
    """The environment every client gets: a home of its own, no proxies, no package registry.

    Args:
        home: throw-away home folder of the client.
        tacit_home: the Tacit home that hooks and plugin shall use.
        search_path: value of PATH.
    """
    return {
        "HOME": str(home),
        "TACIT_HOME": str(tacit_home),
        "TACIT_HOOK_DEADLINE_MS": str(HOOK_DEADLINE_MS),
        "PATH": search_path,
        "TERM": "dumb",
        "LANG": "C.UTF-8",
        "NO_PROXY": "*",
        "no_proxy": "*",
        "npm_config_registry": "http://127.0.0.1:9/",
        "npm_config_fetch_retries": "0",
        "npm_config_audit": "false",
        **chosen_transport(),
    }


def run_client(
    command: Sequence[str],
    *,
    environment: Mapping[str, str],
    cwd: Path,
    timeout_s: float,
    standard_input: str | None = None,
) -> Finished:
    """Run `command` to its end, or end its whole process group after `timeout_s`."""
    started = time.monotonic()
    process = subprocess.Popen(
        list(command),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=cwd,
        env=dict(environment),
        text=True,
        encoding="utf-8",
        errors="replace",
        **group_options(),
    )
    code: int | None
    try:
        out, err = process.communicate(standard_input, timeout=timeout_s)
        code = process.returncode
    except subprocess.TimeoutExpired:
        end_group(process.pid)
        out, err = process.communicate()
        code = None
    return Finished(code=code, out=out, err=err, took_ms=(time.monotonic() - started) * 1000)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProofJob:
    """What a host's `prove` is given.

    Attributes:
        files: the installed files of the host. Read only.
        user_home: the user's home folder. Read only.
        tacit_home: a throw-away Tacit home whose store holds a memory with `nonce`. The caller ends its daemon.
        nonce: letters and digits that occur nowhere else.
        launcher: what hooks must call.
        search_path: value of PATH.
        executable: the program of the host, where it can be run.
        calls: tools of ours that the stub model calls.
        rules: the rules with which the host calls them without asking.
    """

    files: tuple[Path, ...]
    user_home: Path
    tacit_home: Path
    nonce: str
    launcher: Path
    search_path: str
    executable: Path = Path()
    calls: tuple[CallTool, ...] = ()
    rules: tuple[str, ...] = ()

    def file(self, *names: str) -> Path:
        """Return the installed file of one of these names."""
        return next(path for path in self.files if path.name in names)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeResult:
    """Whether injected text reached the model request of a real host.

    Attributes:
        ok: the nonce was in a request of the agent.
        where: JSON paths of the nonce in that request, empty when it was not there.
        took_ms: the whole run of the host.
        advice: one or two sentences that say what was seen and what to do; empty when `ok`.
        requests: how many model requests the host made.
        answers: what the host gave the model for the calls of tools that the probe made, in order.
        output_end: the end of what the host printed, for the report of a failure.
    """

    ok: bool
    where: tuple[str, ...]
    took_ms: float
    advice: str = ""
    requests: int = 0
    answers: tuple[str, ...] = ()
    output_end: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scratch:
    """What a client runs with: a stub model, an empty home folder and an empty project folder."""

    stub: StubModel
    home: Path
    project: Path


@contextmanager
def scratch(calls: Sequence[CallTool] = ()) -> Generator[Scratch]:
    """Start a stub model that makes `calls` and make the folders; afterwards stop it and remove them."""
    folder = Path(tempfile.mkdtemp(prefix="tacit-probe-")).resolve()
    script = [Reply(when="", answers=(*calls, Say(text="done")))] if calls else []
    try:
        with StubModel(script) as stub:
            home, project = folder / "home", folder / "project"
            home.mkdir()
            project.mkdir()
            yield Scratch(stub=stub, home=home, project=project)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def judge(finished: Finished, stub: StubModel, *, nonce: str, host: str) -> ProbeResult:
    """Turn a finished run and the requests that the stub model recorded into a result with advice."""
    requests = stub.agent_requests
    answers = tuple(turn.text for request in requests[-1:] for turn in request.turns if turn.role == "tool")
    # What a tool answered is no injected text.
    injected = [r for r in requests if all(turn.role != "tool" for turn in r.turns)]
    locations = next((tuple(places) for r in injected if (places := r.find(re.escape(nonce)))), ())
    end = (finished.out + finished.err)[-2000:]
    if locations:
        return ProbeResult(
            ok=True, where=locations, took_ms=finished.took_ms, requests=len(requests), answers=answers
        )
    if finished.code is None:
        advice = f"{host} did not end in time. Run it once by hand to see what it waits for."
    elif not requests:
        advice = (
            f"{host} ended with code {finished.code} without asking the model. "
            "Read its output below; the client itself does not start."
        )
    else:
        advice = (
            f"{host} asked the model, but without the memory. The hooks did not run or found nothing: "
            "see `tacit logs` and `tacit status`, and whether the host's settings disable hooks or plugins."
        )
    return ProbeResult(
        ok=False, where=(), took_ms=finished.took_ms, advice=advice, requests=len(requests), output_end=end
    )


def not_run(advice: str) -> ProbeResult:
    """Return the result of a probe that could not start because something is not installed."""
    return ProbeResult(ok=False, where=(), took_ms=0.0, advice=advice)
