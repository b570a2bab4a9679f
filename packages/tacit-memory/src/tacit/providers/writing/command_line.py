"""A writer that is a host's own command line, run headless: one process a request, with the user's own login and nothing else.

In: a request. Out: the answer of the client's model. The client gets an empty folder to run in, the text on standard input, no
tools, no hooks, no MCP servers; it keeps no session. `guard.py` holds its process group and ends it.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Generator, Mapping
from dataclasses import field, replace
from pathlib import Path
from typing import Literal

from tacit.errors import ProviderError
from tacit.frozen import frozen
from tacit.ports.writer import HEADLESS, SCRATCH_PREFIX, WriterAnswer, WriterRequest
from tacit.providers.writing import guard
from tacit.providers.writing.answers import checked_text
from tacit.system.processes import end_group, group_options

FULLWIDTH_AT = "\uff20"
"""Replaces "@" in what a client reads, because two clients replace `@path` by the content of that file."""
MOST_OUTPUT_BYTES = 8_000_000
USUAL_FOLDERS = (
    ".local/bin", ".claude/local", ".opencode/bin", ".bun/bin", ".npm-global/bin", "/usr/local/bin", "/opt/homebrew/bin",
)  # fmt: skip
"""Folders in which clients are searched besides PATH; relative ones are below the user's home."""
_COMMANDS = ("/", "!", "#")


@frozen
class CommandRequest:
    """One request to a coding agent's command line, with the folders and variables that the run uses.

    Attributes:
        request: the request with "@" replaced. If the client takes no schema, `system` describes it.
        model: model to ask.
        executable: the client.
        work: empty folder that the client runs in.
        private: folder for what the client has to read.
        environ: environment variables that the client inherits.
        timeout_s: seconds after which the run is ended.
    """

    request: WriterRequest
    model: str
    executable: str
    work: Path
    private: Path
    environ: Mapping[str, str]
    timeout_s: float

    @property
    def home(self) -> Path:
        """Return the user's home folder."""
        return Path(self.environ.get("HOME") or Path.home())

    def file(self, name: str, text: str) -> str:
        """Write a private file for the client, and return its path."""
        path = self.private / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return str(path)


@frozen
class Invocation:
    """The command line of one run of a client: its arguments, and environment variables to set besides the inherited ones."""

    arguments: tuple[str, ...]
    environ: Mapping[str, str] = field(default_factory=dict[str, str])


@frozen
class ClientRun:
    """The result of running a client: how it ended and what it printed. `code` is None unless the client ended by itself."""

    ended: Literal["ended", "timed out", "stopped", "missing"]
    code: int | None
    out: str
    err: str


@frozen
class Client:
    """The recipe for the command line of a coding agent: how it is called, and how its answer is read.

    Attributes:
        name: name of the provider.
        program: name of the executable.
        title: name for people.
        model: small model to ask if none is set; empty = one must be set.
        takes_schema: whether the client holds the model to a JSON schema.
        prepare: makes the call for a job; writes what the client has to read.
        read: reads what the client printed; raises ProviderError.
        is_over: whether what was printed so far is the whole answer, for a client that may go on by itself.
        clean: deletes what the client left in the user's home.
    """

    name: str
    program: str
    title: str
    model: str
    takes_schema: bool
    prepare: Callable[[CommandRequest], Invocation]
    read: Callable[[ClientRun, CommandRequest], WriterAnswer]
    is_over: Callable[[bytes], bool] = lambda _: False
    clean: Callable[[CommandRequest], None] = lambda _: None


class CommandLineWriter:
    """A writer that runs a coding agent's command line headless, one process per request. Safe to share between threads."""

    def __init__(
        self,
        client: Client,
        *,
        model: str = "",
        timeout_s: float,
        environ: Mapping[str, str],
        section: str = "capture.extractor",
    ) -> None:
        self._section = section
        self._client = client
        self._model = model or client.model
        self._timeout_s = timeout_s
        self._environ = environ
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[bytes]] = set()
        self.name = f"{client.name}:{self._model}"

    def write(self, request: WriterRequest) -> WriterAnswer:
        """Run the client with the request in a private folder, and return its answer. Blocks until it ends, at most for the timeout.

        Raises:
            ProviderError: if the client is missing, not logged in or late, or gives no answer that fits the request.
        """
        client = self._client
        if not self._model:
            raise ProviderError(
                f"No model is set for {client.title}.",
                hint=f"Set `{self._section}.model` to a small one, such as anthropic/claude-haiku-4-5.",
                reason="refused",
            )
        executable = find_program(client.program, self._environ, section=self._section)
        with _scratch() as folder:
            job = CommandRequest(
                request=_guarded(request, by_system=not client.takes_schema),
                model=self._model,
                executable=executable,
                work=folder / "work",
                private=folder,
                environ=self._environ,
                timeout_s=self._timeout_s,
            )
            job.work.mkdir()
            try:
                run = self._run(client.prepare(job), job)
            finally:
                client.clean(job)
            answer = client.read(_raise_if_unfinished(run, client, self._timeout_s), job)
        text = checked_text(answer.text, request, name=self.name)
        if FULLWIDTH_AT not in request.user + request.system:
            text = text.replace(FULLWIDTH_AT, "@")
        return replace(answer, text=text)

    def cancel(self) -> None:
        """Tell the clients that are running to end, and return at once; `write` of each then raises ProviderError."""
        with self._lock:
            running = tuple(self._running)
        for process in running:
            _stop(process)

    def close(self) -> None:
        """Do nothing: nothing is kept open between requests."""

    def _run(self, invocation: Invocation, job: CommandRequest) -> ClientRun:
        (job.private / "input").write_text(_plain_start(job.request.user), encoding="utf-8")
        command = [sys.executable, "-I", "-S", "-E", guard.__file__, str(job.private), str(self._timeout_s)]
        process = subprocess.Popen(
            [*command, job.executable, *invocation.arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=job.work,
            env={**self._environ, **invocation.environ, HEADLESS: "1"},
            **group_options(),
        )
        with self._lock:
            self._running.add(process)
        try:
            over = self._wait(process, job.private / "out")
        finally:
            with self._lock:
                self._running.discard(process)
            end_group(process.pid)  # the guard has already done this, unless it was killed
            process.wait()
            with contextlib.suppress(OSError):
                process.stdin.close() if process.stdin else None
        return _run_of(job.private, over=over)

    def _wait(self, process: subprocess.Popen[bytes], out: Path) -> bool:
        """Wait until the client has ended. Return whether it was stopped because its answer was already complete."""
        until = time.monotonic() + self._timeout_s + 2 * guard.GRACE_S
        over = False
        while process.poll() is None and time.monotonic() < until:
            time.sleep(0.03)
            if not over:
                printed = _read(out)  # the file may grow faster than it is read
                too_long = len(printed) > MOST_OUTPUT_BYTES
                over = not too_long and self._client.is_over(printed)
                if over or too_long:
                    _stop(process)
        return over


def find_program(name: str, environ: Mapping[str, str], *, section: str = "capture.extractor") -> str:
    """Return the path of a client: on PATH, or in a folder where clients are usually installed.

    Raises:
        ProviderError: if it is nowhere.
    """
    home = Path(environ.get("HOME") or Path.home())
    usual = os.pathsep.join(str(home / folder) for folder in USUAL_FOLDERS)
    path = shutil.which(name, path=f"{environ.get('PATH', '')}{os.pathsep}{usual}")
    if path:
        return str(Path(path).absolute())
    raise ProviderError(
        f"The program `{name}` is not installed, or not on the daemon's PATH.",
        hint=f"Install it, or set `{section}.provider` to another one.",
        reason="missing",
    )


def failure_error(client: str, message: str, *, status: object = None) -> ProviderError:
    """Return (not raise) the error for a client that reports that its model did not answer.

    `status` is the HTTP status; None = unknown.
    """
    no_login = status in (401, 403) or "log in" in message.lower() or "login" in message.lower()
    hint = f"Log in with {client} itself." if no_login else ""
    return ProviderError(
        f"{client} got no answer: {message[:200]}",
        hint=hint,
        reason="not logged in" if no_login else "refused",
    )


def unusable_output_error(client: str, run: ClientRun) -> ProviderError:
    """Return (not raise) the error for a client whose output holds no answer."""
    shown = (run.err or run.out).strip()[:200]
    return ProviderError(
        f"{client} ended with code {run.code} and printed no answer: {shown!r}.", reason="garbage"
    )


def _raise_if_unfinished(run: ClientRun, client: Client, timeout_s: float) -> ClientRun:
    match run.ended:
        case "ended":
            return run
        case "missing":
            raise ProviderError(f"The program `{client.program}` could not be started.", reason="missing")
        case "timed out":
            raise ProviderError(
                f"{client.title} did not answer within {timeout_s:g} s.",
                hint="A smaller model may be fast enough.",
                reason="timed out",
            )
        case "stopped":
            if len(run.out) >= MOST_OUTPUT_BYTES:
                raise ProviderError(f"{client.title} printed far too much.", reason="garbage")
            raise ProviderError(f"The request to {client.title} was stopped.", reason="timed out")


def _run_of(folder: Path, *, over: bool) -> ClientRun:
    status, out, err = (_read(folder / name).decode("utf-8", "replace") for name in ("status", "out", "err"))
    ended, _, code = status.partition(" ")
    if over:
        return ClientRun(ended="ended", code=0, out=out, err=err)
    match ended:
        case "ended":
            return ClientRun(ended="ended", code=int(code), out=out, err=err)
        case "missing" | "stopped":
            return ClientRun(ended=ended, code=None, out=out, err=err)
        case "":  # somebody killed the guard
            return ClientRun(ended="stopped", code=None, out=out, err=err)
        case _:
            return ClientRun(ended="timed out", code=None, out=out, err=err)


def _read(path: Path) -> bytes:
    """Return what a client printed so far, cut after `MOST_OUTPUT_BYTES` and one more; empty without the file."""
    try:
        with path.open("rb") as file:
            return file.read(MOST_OUTPUT_BYTES + 1)
    except OSError:
        return b""


def _stop(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(OSError, ValueError):
        if process.stdin:
            process.stdin.write(b"s")
            process.stdin.flush()


@contextlib.contextmanager
def _scratch() -> Generator[Path]:
    """Create a private folder outside any project for one run, and delete it afterwards. Capture ignores sessions in it, by its name."""
    folder = Path(tempfile.mkdtemp(prefix=SCRATCH_PREFIX)).resolve()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _guarded(request: WriterRequest, *, by_system: bool) -> WriterRequest:
    """Return the request with "@" replaced. `by_system` = describe the schema of the answer in the instructions, because the client takes none."""
    system = request.system
    if by_system and request.schema is not None:
        shape = json.dumps(request.schema, ensure_ascii=False)
        system += (
            f"\n\nAnswer with one JSON object and nothing else. It has to fit this JSON schema:\n{shape}"
        )
    return replace(
        request, system=system.replace("@", FULLWIDTH_AT), user=request.user.replace("@", FULLWIDTH_AT)
    )


def _plain_start(text: str) -> str:
    """Return the text with a line before it if a client would take its beginning for a command."""
    return f"Text:\n{text}" if text.lstrip().startswith(_COMMANDS) else text
