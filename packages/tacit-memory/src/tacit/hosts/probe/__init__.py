"""Proof that injected text reaches the model: one run of the real host against a loopback stub model, or of the command that a client's file names.

In: a command, folders, the installed files. Out: the client's output and exit code, and a result with advice. A client gets only the environment that is
made here, and its whole process group ends with it. The user's files are read, never written; nothing leaves the machine.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, cast

from tacit.config.home import chosen_transport
from tacit.errors import HostError
from tacit.frozen import frozen
from tacit.hosts.install import jsonc
from tacit.hosts.install.files import read_text
from tacit.hosts.probe.wire import CallTool, as_list, as_mapping, flat_text
from tacit.system.processes import end_group, group_options

if TYPE_CHECKING:
    from tacit.hosts.probe.stub_model import StubModel

SEARCH_PATH = "/usr/local/bin:/usr/bin:/bin"
"""Where clients find git, node and a shell when the caller names no other folders."""


@frozen
class Finished:
    """A client process that ended: exit code, output, and how long it ran. `code` None = it was killed after the timeout."""

    code: int | None
    out: str
    err: str
    took_ms: float


HOOK_DEADLINE_MS = 4500
"""The deadline of hooks in a probe, below the hosts' own 5 seconds. It is long because a hook may have to start the daemon first."""


def clean_environment(home: Path, tacit_home: Path, *, search_path: str = SEARCH_PATH) -> dict[str, str]:
    """Return the environment variables of every client in a probe: a home of its own, no proxies, no package registry.

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
    """Run `command` and wait for its end; after `timeout_s`, kill its whole process group."""
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


@frozen
class ProofJob:
    """The input of a host's `prove`.

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
        timeout_s: longest wait for what is run; 0 = as long as this host may take.
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
    timeout_s: float = 0.0

    def file(self, *names: str) -> Path:
        """Return the first of `files` that has one of these names; one must be there (StopIteration else)."""
        return next(path for path in self.files if path.name in names)


@frozen
class ProbeResult:
    """The result of a probe: whether injected text reached a model request of a real host, and what to do if not.

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


@frozen
class Scratch:
    """The throw-away surroundings of a client in a probe: a running stub model, an empty home folder and an empty project folder."""

    stub: StubModel
    home: Path
    project: Path


@contextmanager
def scratch(calls: Sequence[CallTool] = ()) -> Generator[Scratch]:
    """Run a stub model that makes the tool calls `calls`, and make empty home and project folders; both are gone after the context."""
    from tacit.hosts.probe.stub_model import StubModel  # noqa: PLC0415 - a server, which an installation need not load

    folder = Path(tempfile.mkdtemp(prefix="tacit-probe-")).resolve()
    try:
        with StubModel(calls) as stub:
            home, project = folder / "home", folder / "project"
            home.mkdir()
            project.mkdir()
            yield Scratch(stub=stub, home=home, project=project)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def prove_client(
    job: ProofJob,
    host: str,
    *,
    files: Mapping[str, str | Path],
    command: Sequence[str],
    environment: Callable[..., Mapping[str, str]],
    variables: Mapping[str, str] = MappingProxyType({}),
    timeout_s: float = 60.0,
) -> ProbeResult:
    """Run the client once in a throw-away home against a stub model. Blocks until it ends.

    The result is `ok` if the job's nonce (the text that a memory carries for the test) was in a request to
    the model that holds no result of a tool.

    Args:
        job: what is proven.
        host: the name of the client for people.
        files: what the home holds, by the paths in it; a `Path` is copied if it exists.
        command: the arguments of the client.
        environment: makes its variables from the stub's URL, `home`, `tacit_home` and `search_path`.
        variables: further ones.
        timeout_s: longest wait for the client, if the job does not say it.
    """
    with scratch(job.calls) as place:
        for name, content in files.items():
            copy = place.home / name
            copy.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(content, str):
                copy.write_text(content, encoding="utf-8")
            elif content.is_dir():
                shutil.copytree(content, copy)
            elif content.is_file():
                shutil.copyfile(content, copy)
        made = environment(
            place.stub.url, home=place.home, tacit_home=job.tacit_home, search_path=job.search_path
        )
        finished = run_client(
            [str(job.executable), *command],
            environment={**made, **variables},
            cwd=place.project,
            timeout_s=job.timeout_s or timeout_s,
        )
        return judge(finished, place.stub, nonce=job.nonce, host=host)


def judge(finished: Finished, stub: StubModel, *, nonce: str, host: str) -> ProbeResult:
    """Decide from a finished run and the requests of the stub model whether the nonce arrived; if not, the result has advice for the user."""
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
            "see `tacit status --log` and `tacit status`, and whether the host's settings disable hooks or plugins."
        )
    return ProbeResult(
        ok=False, where=(), took_ms=finished.took_ms, advice=advice, requests=len(requests), output_end=end
    )


def not_run(advice: str) -> ProbeResult:
    """Return the result of a probe that could not start; `advice` says why and what to do."""
    return ProbeResult(ok=False, where=(), took_ms=0.0, advice=advice)


def hooks_only(settings: object, names: Sequence[str] = ("hooks",)) -> dict[str, object]:
    """Return only the members `names` of a settings file, if they are objects, so that the user's permissions, keys and helpers stay out of the probe."""
    if not isinstance(settings, dict):
        return {}
    fields = cast("dict[str, object]", settings)
    return {name: fields[name] for name in names if isinstance(fields.get(name), dict)}


def problem_of(hooks: str, *, file: Path, launcher: Path, host: str) -> ProbeResult | None:
    """Check that the hooks call the launcher and that it exists; return a result that says what is wrong, None = the probe can run.

    Args:
        hooks: the JSON text of the hooks.
        file: where they come from, for the advice.
        launcher: what one of them must call.
        host: the name that `tacit install` knows.
    """
    path = str(launcher)
    # JSON text may escape letters and backslashes of the path.
    if all(form not in hooks for form in (path, json.dumps(path)[1:-1])):
        return not_run(f"{file} has no hook that calls {launcher}. Run `tacit install {host}`.")
    if not launcher.exists():
        return not_run(f"The launcher {launcher} is missing. Run `tacit install {host}` again.")
    return None


_HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "tacit doctor", "version": "1"},
}


def prove_server(job: ProofJob, keys: Sequence[str]) -> ProbeResult:
    """Start the MCP server that the client's file names at `keys`, call `memory_search`, and return whether the nonce is in its answer."""
    file = job.files[0]
    try:
        node = jsonc.find(jsonc.read(read_text(file) or "{}", path=file), keys)
    except HostError as error:
        return not_run(f"{error.message} {error.hint}")
    entry = as_mapping(node.value if node is not None else None)
    command = [str(entry.get("command", "")), *(str(word) for word in as_list(entry.get("args")))]
    if not command[0]:
        return not_run(f"{file} has no server {'.'.join(keys)}. Install it again.")
    asked = {"name": "memory_search", "arguments": {"query": job.nonce}}
    messages = (
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": _HELLO},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": asked},
    )
    try:
        finished = prove_command(job, command, "".join(f"{json.dumps(message)}\n" for message in messages))
    except OSError as error:
        return not_run(f"{command[0]} cannot be started ({error.strerror}). Install it again.")
    advice = "The server that the file names ran and did not answer with the memory: see `tacit status --log` and `tacit status`."
    return judge_answer(finished, job.nonce in _answer(finished.out), "answer of memory_search", advice)


def prove_command(job: ProofJob, command: Sequence[str], standard_input: str) -> Finished:
    """Run a command of an installed file with the job's Tacit home, wait for its end, and return its output.

    Raises:
        OSError: if it cannot be started.
    """
    return run_client(
        command,
        environment=clean_environment(job.tacit_home, job.tacit_home, search_path=job.search_path),
        cwd=job.tacit_home,
        timeout_s=job.timeout_s or 60.0,
        standard_input=standard_input,
    )


def judge_answer(finished: Finished, ok: bool, where: str, advice: str) -> ProbeResult:
    """Return the result of a probe that ran a command: if `ok`, with `where` the nonce was found; else with `advice` and the end of the command's output."""
    if ok:
        return ProbeResult(ok=True, where=(where,), took_ms=finished.took_ms)
    end = (finished.out + finished.err)[-2000:]
    return ProbeResult(ok=False, where=(), took_ms=finished.took_ms, advice=advice, output_end=end)


def _answer(out: str) -> str:
    """Return the text of the reply with id 2 in the server's output, which is that of the tool call; "" = there is none."""
    for line in out.splitlines():
        try:
            message = as_mapping(cast("object", json.loads(line)))
        except ValueError:
            continue
        if message.get("id") == 2:
            return flat_text(as_mapping(message.get("result")).get("content"))
    return ""
