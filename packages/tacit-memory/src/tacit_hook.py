"""The hook client and the MCP pipe: one file, standard library only, run by hosts and never imported by `tacit`.

In: a host's payload (or JSON-RPC lines) on standard input. Out: what the daemon answers, byte for byte; without one a
start block written earlier, or nothing. It starts the daemon, keeps in `spool/` what must not be lost, never takes
longer than its deadline, never writes to standard error and always exits 0. With TACIT_HEADLESS=1 it does nothing.
It has its own short code for the differences between operating systems; `tacit.system` documents them.

    tacit_hook.py HOST [--event NAME]     one event: standard input -> POST /hook/HOST -> standard output
    tacit_hook.py mcp [--host HOST]       MCP over stdio: lines -> POST /mcp -> lines
    tacit_hook.py start                   start the daemon if there is none, and leave

Runs as `python -I -S -E tacit_hook.py`, where `import json` costs as much as starting Python: modules are imported as
late as possible. Written for Python 3.8, because the interpreter that Tacit was installed with may be gone.
"""

from __future__ import annotations

import _thread
import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _socket import socket
    from collections.abc import Callable
    from typing import Any, NoReturn

    Reply = tuple[int, dict[str, str], bytes]  # status, headers by lower-case name, body

WINDOWS = sys.platform == "win32"
VERSION = "0.1.0"
PYTHON = ""  # the launcher's copy names the interpreter that has `tacit`; "" = the one that runs this file

MAX_PAYLOAD, MAX_REPLY, MAX_LOG_BYTES = 8 << 20, 64 << 20, 512 << 10
START_DEADLINE_MS, DEADLINE_MS, MOST_PROMPT_MS = 1500, 800, 4000
MCP_START_S, MCP_TIMEOUT_S = 10.0, 60.0
MCP_AT_ONCE = 16  # further calls wait for one another
ROOTS_ID = b'"tacit-roots"'
UPGRADE_PAUSE_S, BIRTH_PAUSE_S = 600.0, 5.0

_STARTS = ("SessionStart", "sessionStart", "session.start", "start")
_PROMPTS = ("UserPromptSubmit", "userPromptSubmitted", "beforeSubmitPrompt", "BeforeAgent", "prompt")
_KEPT = (
    "Stop",
    "StopFailure",
    "SubagentStop",
    "SessionEnd",
    "AfterAgent",
    "end",
    "message_end",
    "sessionEnd",
    "afterAgentResponse",
)
_AT_PROMPT = (
    "gemini",
)  # hosts that accept no text at the start of a session: send its block with the first prompt

# What is kept of an event while no daemon answers: what names it, and where its transcript lies.
_NAMES = ("hook_event_name", "event", "session_id", "conversation_id", "generation_id", "session", "key", "cwd", "directory", "transcript_path",
          "agent_transcript_path", "agent", "agent_id", "agent_type", "parent", "prompt_id", "message_id", "source",
          "reason", "trigger", "final", "deleted", "automatic", "timestamp")  # fmt: skip
_TRANSCRIPTS, _TEXTS = ("transcript_path", "agent_transcript_path"), ("text", "last_assistant_message")
_WATCHED: list[float] = []
TEXT_KEPT_S = 3600.0  # the same as in tacit.daemon.spool, as are the ends of the names
EVENT, WITH_TEXT, START_GIVEN, UNFINISHED = ".event", "-text.event", "-start.event", ".tmp"
ACKNOWLEDGES, ACK = "X-Tacit-Acknowledges: 1", b"\x06"  # the same as in tacit.daemon.hooks


class DaemonAbsent(OSError):
    """Nothing answers on the socket."""


class MalformedReply(OSError):
    """What came back is no reply of a daemon."""


class HomePaths:
    """Paths of the data folder, by the rule that `tacit.config.home` documents."""

    def __init__(self) -> None:
        self.root = os.path.abspath(os.path.expanduser(os.environ.get("TACIT_HOME") or "~/.tacit"))
        self.key_file = self.at("run", "daemon.tcp")
        self.socket = self.at("run", "daemon.sock")
        self.shared = not WINDOWS and len(os.fsencode(self.socket)) > 100
        if self.shared:
            from hashlib import sha256

            digest = sha256(os.fsencode(self.root)).hexdigest()[:12]
            self.socket = f"/tmp/tacit-{os.getuid()}-{digest}/daemon.sock"  # noqa: S108 - `trusted` checks it

    def at(self, *parts: str) -> str:
        """A path below the root."""
        return os.path.join(self.root, *parts)

    def folder(self, name: str) -> str:
        """A private folder below the root, made where it is missing."""
        path = self.at(name)
        if not os.path.isdir(path):
            os.makedirs(path, 0o700, exist_ok=True)
        return path

    def owned(self) -> bool:
        """Return whether home and `run/` belong to this user and nobody else can write to them. A missing folder counts as private."""
        return self._ours(self.root, os.stat) and self._ours(self.at("run"), os.lstat)

    def trusted(self) -> bool:
        """Return whether only this user's programs can listen on the socket. Below /tmp, another user could have created its folder."""
        return self.owned() and (not self.shared or self._ours(os.path.dirname(self.socket), os.lstat, 0o077))

    def _ours(self, folder: str, look: Callable[[str], os.stat_result], mask: int = 0o022) -> bool:
        if not os.path.lexists(folder):
            return True
        found = look(folder)  # the home may be a link: check the folder that it leads to
        if WINDOWS:
            return found.st_mode & 0o170000 == 0o040000  # its access control list protects it
        return found.st_mode & (0o170000 | mask) == 0o040000 and found.st_uid == os.getuid()


def note(home: HomePaths, sign: str, text: str) -> None:
    """Add a line to the hook's log and a character to its counter. Never fails or waits, never quotes a payload."""
    try:
        if not home.owned():
            return
        path = os.path.join(home.folder("log"), "hook.log")
        if os.path.exists(path) and os.stat(path).st_size > MAX_LOG_BYTES:
            os.replace(path, path + ".1")
        stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        line = f"{stamp} {os.getpid()} {text}\n".encode("utf-8", "replace")
        for name, data in ((path, line), (home.at("log", "hook.count"), sign.encode())):
            handle = open_log(name, os.O_APPEND)
            os.write(handle, data)
            os.close(handle)
    except OSError:
        pass


def open_file(path: str, flags: int) -> int:
    """Open a file in binary mode, on every system. Does not wait for a FIFO."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0), 0o600)


def open_log(path: str, how: int) -> int:
    """Open a log file to write; raises OSError for anything that could wait for a reader, such as a FIFO."""
    handle = open_file(path, os.O_WRONLY | os.O_CREAT | how)
    if os.fstat(handle).st_mode & 0o170000 == 0o100000:
        return handle
    os.close(handle)
    raise OSError(f"{path} is no regular file")


def write_all(data: bytes) -> None:
    """Write to standard output, past any buffer."""
    view = memoryview(data)
    while view:
        view = view[os.write(1, view) :]


def read_all(limit: int) -> bytes | None:
    """Standard input to its end; None when it is longer than `limit` (the rest is read and dropped)."""
    parts: list[bytes] = []
    size = 0
    while True:
        part = os.read(0, 1 << 18)
        if not part:
            return None if size > limit else b"".join(parts)
        size += len(part)
        if size <= limit:
            parts.append(part)


def is_name(text: str) -> bool:
    """Whether a host's or an event's name can stand in a path, a header and a JSON text."""
    letters = text.replace("-", "").replace("_", "").replace(".", "")
    return len(text) <= 40 and text.isascii() and letters.isalnum() and text[0].isalnum()


def event_of(payload: bytes) -> str:
    """The event's name, without parsing: an unescaped key cannot stand inside a JSON text."""
    for key in (b'"hook_event_name"', b'"event"'):
        at = payload.find(key)
        while at > 0 and payload[at - 1 : at] == b"\\":
            at = payload.find(key, at + 1)
        rest = payload[at + len(key) : at + len(key) + 100].lstrip(b" \t\r\n:") if at >= 0 else b""
        name = rest[1:].partition(b'"')[0].decode("ascii", "replace")
        if rest[:1] == b'"' and is_name(name):
            return name
    return ""


def version_key(text: str) -> tuple[int, ...]:
    """`1.10.2.dev3` -> (1, 10, 2): enough to tell older from newer."""
    return tuple(int(part) for part in text.split(".") if part.isdigit())


def exchange(
    home: HomePaths,
    path: str,
    body: bytes,
    until: float,
    headers: tuple[str, ...] = (),
    *,
    take: Callable[[Reply], bool] | None = None,
) -> Reply:
    """Send one POST and read its reply, before `until` (monotonic seconds).

    `take` does with the reply what it is for, and returns whether it reached the host; then the daemon is told so.

    Raises:
        OSError: DaemonAbsent, TimeoutError, MalformedReply, or whatever went wrong with the socket.
    """
    if not home.trusted():
        raise MalformedReply("the home or its socket's folder is another user's or open to others")
    lines = (f"POST {path} HTTP/1.1", "Host: tacit", f"Content-Length: {len(body)}", "Connection: close",
             f"X-Tacit-Version: {VERSION}", *headers, "", "")  # fmt: skip
    connection, proof = connect(home, until)
    try:
        try:
            connection.sendall(proof + "\r\n".join(lines).encode("ascii", "replace") + body)
        except (BrokenPipeError, ConnectionResetError):
            pass  # a server may answer and close before it has read everything
        reply = receive(connection, until)
        if take is not None and take(reply):
            try:
                connection.sendall(ACK)
            except OSError:
                pass  # the daemon has gone, and knows nothing of the reply
        return reply
    finally:
        connection.close()


def connect(home: HomePaths, until: float) -> tuple[socket, bytes]:
    """Connect to the daemon. Return the connection, and the bytes to send before the request. Raises the errors of `exchange`."""
    import _socket

    absent = (FileNotFoundError, ConnectionRefusedError, NotADirectoryError, BlockingIOError)
    try:
        port, key = read_key_file(home)
        tcp = bool(key)
        if not tcp and not hasattr(_socket, "AF_UNIX"):
            raise DaemonAbsent("no daemon listens")
        connection = _socket.socket(_socket.AF_INET if tcp else _socket.AF_UNIX, _socket.SOCK_STREAM)
        try:
            connection.settimeout(left(until))
            connection.connect(("127.0.0.1", port) if tcp else home.socket)
            return connection, prove(connection, key, until) if tcp else b""
        except BaseException:
            connection.close()
            raise
    except absent as error:
        raise DaemonAbsent(str(error)) from None


def read_key_file(home: HomePaths) -> tuple[int, bytes]:
    """Read port and key of a daemon that listens on TCP; see `tacit.system.transport`. An empty key = there is none."""
    try:
        handle = open_file(home.key_file, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
    except FileNotFoundError:
        return 0, b""
    try:
        found = os.fstat(handle)
        if not WINDOWS and (found.st_mode & 0o077 or found.st_uid != os.getuid()):
            raise MalformedReply("the key file belongs to another user, or others have rights to it")
        port, _, key = os.read(handle, 200).strip().partition(b" ")
    finally:
        os.close(handle)
    if not port.isdigit() or not 0 < int(port) < 65536 or len(key) != 64:
        raise DaemonAbsent("the key file names no port")
    return int(port), key


def prove(connection: socket, key: bytes, until: float) -> bytes:
    """Check that the other side has the key of the key file. Return the proof that this client has it, too."""
    mine, answer = os.urandom(16).hex().encode(), b""
    connection.setsockopt(6, 1, 1)  # TCP_NODELAY
    connection.sendall(b"TACIT1 " + mine + b"\n")
    while len(answer) < 98:
        connection.settimeout(left(until))
        try:
            part = connection.recv(98 - len(answer))
        except ConnectionError:
            part = b""
        if not part:
            raise DaemonAbsent("another program has the daemon's port")
        answer += part
    nonces = mine + b" " + answer[65:97]
    if not same(answer[:64], mac(key, b"daemon " + nonces)):
        raise DaemonAbsent("another program has the daemon's port")
    return mac(key, b"client " + nonces) + b"\n"


def same(a: bytes, b: bytes) -> bool:
    """Return whether two texts are equal. The time does not depend on where they differ."""
    return bool(__import__("_operator")._compare_digest(a, b))  # noqa: SLF001 - `hmac` would load more


def mac(key: bytes, text: bytes) -> bytes:
    """Return the HMAC-SHA256 in hexadecimal digits (RFC 2104). `key` has 64 bytes. `import hmac` would take longer than the rest of a hook."""
    sha256: Any = _first_of("_sha2", "_sha256", "hashlib").sha256
    inner = sha256(bytes(b ^ 0x36 for b in key) + text).digest()
    return str(sha256(bytes(b ^ 0x5C for b in key) + inner).hexdigest()).encode()


def _first_of(*names: str) -> Any:
    """Import the first of these modules that this Python has."""
    for name in names[:-1]:
        try:
            return __import__(name)
        except ImportError:
            pass
    return __import__(names[-1])


def receive(connection: socket, until: float) -> Reply:
    """Read one reply; half of one is an error, because it must never reach the model."""
    data, wanted, status = bytearray(), -1, 0
    headers: dict[str, str] = {}
    while wanted < 0 or len(data) < wanted:
        connection.settimeout(left(until))
        try:
            part = connection.recv(1 << 18)
        except ConnectionError:
            part = b""
        if not part and not data and not headers:
            # It will not answer; its successor can, and signals are idempotent.
            raise DaemonAbsent("the daemon left")
        data += part
        if not part or len(data) > MAX_REPLY or not (headers or data.startswith(b"HTTP/1."[: len(data)])):
            raise MalformedReply("no complete reply")
        end = -1 if headers else data.find(b"\r\n\r\n")
        if end >= 0:
            first, *lines = data[:end].decode("latin-1").split("\r\n")
            headers = {
                name.strip().lower(): value.strip() for name, _, value in (x.partition(":") for x in lines)
            }
            if not (first[9:12].isdigit() and headers.get("content-length", "").isdigit()):
                raise MalformedReply("no reply of a daemon")
            status, wanted = int(first[9:12]), int(headers["content-length"])
            del data[: end + 4]
    return status, headers, bytes(data[:wanted])


def left(until: float) -> float:
    """Seconds until then; raises TimeoutError if there are none."""
    rest = until - time.monotonic()
    if rest <= 0:
        raise TimeoutError("the deadline has passed")
    return rest


def call(
    home: HomePaths,
    path: str,
    body: bytes,
    until: float,
    headers: tuple[str, ...],
    *,
    take: Callable[[Reply], bool] | None = None,
    start_s: float = 60.0,
) -> Reply:
    """Exchange; where there is no daemon, start one and wait for it, `start_s` at most. Raises as `exchange`."""
    tried, patience = 0.0, min(until, time.monotonic() + start_s) - 0.02
    while True:
        try:
            return exchange(home, path, body, until, headers, take=take)
        except DaemonAbsent as error:
            if time.monotonic() - tried > 0.1:
                tried = time.monotonic()
                if not start_daemon(home):
                    raise DaemonAbsent("the daemon cannot be started") from None
            if time.monotonic() > patience:
                raise DaemonAbsent(f"no daemon in time ({error})") from None
            time.sleep(0.01)


def start_daemon(home: HomePaths, *, succeed: bool = False) -> bool:
    """Start a daemon unless one runs (or `succeed` it) or is on its way; False when none can be started now.

    `run/start.lock` is held until the new daemon holds `run/daemon.lock` (it inherits the handle). Meanwhile the file
    says `starting`, and `starting again` for its successor when it died: one that dies at birth twice is not started by
    every hook, and one that was killed there is not missed for long.

    Raises:
        OSError: if the home cannot be written.
    """
    if not home.owned():
        return False
    home.folder("log")
    run = home.folder("run")
    lock = open_file(os.path.join(run, "start.lock"), os.O_RDWR | os.O_CREAT)
    daemon = open_file(os.path.join(run, "daemon.lock"), os.O_RDWR | os.O_CREAT)
    young = 0 <= time.time() - os.fstat(lock).st_mtime < BIRTH_PAUSE_S  # below 0: the clock was set back
    try:
        if not take(lock) or not (succeed or take(daemon)):
            return True
        python, said = daemon_python(), os.read(lock, 16)
        died = young and said.startswith(b"starting")
        if died and WINDOWS:
            return True  # there, a child process does not inherit the lock: the daemon may just not have taken it yet
        if not python or (died and said != b"starting"):
            return False
        os.ftruncate(lock, 0)
        os.lseek(lock, 0, os.SEEK_SET)
        os.write(lock, b"starting again" if died else b"starting")
        (spawn_detached if WINDOWS else spawn)(home, python, lock)
        return True
    finally:
        os.close(lock)
        os.close(daemon)


def take(handle: int) -> bool:
    """Take a lock if no process has it. Closing the handle releases it. The daemon takes the same locks."""
    try:
        if sys.platform == "win32":
            import msvcrt

            os.lseek(
                handle, 1 << 30, os.SEEK_SET
            )  # a byte after the content, so that others can still read the content
            try:
                msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
            finally:
                os.lseek(handle, 0, os.SEEK_SET)
        else:
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def daemon_python() -> str:
    """The interpreter that has `tacit`: the recorded one, else the one of the `tacit` on PATH; "" = none."""
    python = PYTHON or sys.executable
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        if os.access(python, os.X_OK):
            return python
        script = os.path.join(folder, "tacit")
        if folder and os.access(script, os.X_OK) and os.path.isfile(script):
            with open(script, "rb") as opened:
                first, second, *_ = *opened.read(4096).split(b"\n"), b"", b""
            if first[2:] == b"/bin/sh":  # installers write this where a path holds a space
                first = b"#!" + second.partition(b"exec' ")[2].partition(b' "$0"')[0].strip(b"\"' ")
            python = os.fsdecode(first[2:].strip())
    return python if os.path.isabs(python) and os.access(python, os.X_OK) else ""


def spawn(home: HomePaths, python: str, lock: int) -> None:
    """Start the daemon as nobody's child: it outlives host and hook and holds none of their pipes."""
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        return
    try:
        os.setsid()
        if os.fork():
            os._exit(0)
        out = home.at("log", "daemon.out")
        fresh = os.O_TRUNC if os.path.exists(out) and os.stat(out).st_size > MAX_LOG_BYTES else os.O_APPEND
        try:
            log = open_log(out, fresh)
        except OSError:
            log = os.open(os.devnull, os.O_WRONLY)
        kept = os.dup2(lock, 20)  # above the handles that are moved next
        for source, target in ((os.open(os.devnull, os.O_RDONLY), 0), (log, 1), (log, 2), (kept, 3)):
            os.dup2(source, target)
        os.closerange(4, 1024)
        os.chdir(home.root)
        environ = dict(os.environ, TACIT_HOME=home.root)
        os.execve(python, [python, "-E", "-P", "-m", "tacit.daemon", "--start-handle", "3"], environ)  # noqa: S606
    finally:
        os._exit(1)


def spawn_detached(home: HomePaths, python: str, _lock: int) -> None:
    """Implement `spawn` on Windows: start a process without a console and, if the host allows it, outside the host's job."""
    import subprocess

    out = home.at("log", "daemon.out")
    fresh = os.O_TRUNC if os.path.exists(out) and os.stat(out).st_size > MAX_LOG_BYTES else os.O_APPEND
    log = open_log(out, fresh)
    try:
        # CREATE_NO_WINDOW and CREATE_NEW_PROCESS_GROUP; first with CREATE_BREAKAWAY_FROM_JOB, which the job may forbid.
        for flags in (0x09000200, 0x08000200):
            try:
                subprocess.Popen(
                    [python, "-E", "-P", "-m", "tacit.daemon"],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    cwd=home.root,
                    env=dict(os.environ, TACIT_HOME=home.root),
                    creationflags=flags,
                    close_fds=True,
                )
            except PermissionError:
                continue
            return
    finally:
        os.close(log)


def upgrade(home: HomePaths, theirs: str) -> None:
    """Replace a daemon that is older than this file; at most once in ten minutes, so that nothing can flap."""
    if not theirs or version_key(theirs) >= version_key(VERSION):
        return
    mark = home.at("run", "upgrade")
    if os.path.exists(mark) and 0 <= time.time() - os.stat(mark).st_mtime < UPGRADE_PAUSE_S:
        return
    os.close(open_log(mark, 0))
    os.utime(mark)
    try:
        exchange(home, "/stop", b"", time.monotonic() + 0.5)
    except OSError:
        pass  # a busy machine: it heard, and answers too late
    start_daemon(home, succeed=True)  # the successor waits until the old one has given back its lock


def run_hook(home: HomePaths, host: str, event: str) -> None:
    """Answer one event."""
    began = time.monotonic()
    arm_watchdog(home, host, deadline_ms("start", home))
    if not home.owned():
        return  # nothing is read from another user's folder or left in it, a line in the log neither
    payload = read_all(MAX_PAYLOAD)
    if payload is None:
        note(home, "i", f"{host}: silent, payload above {MAX_PAYLOAD} bytes")
        return
    event = event or event_of(payload)
    allowed_ms = deadline_ms(event, home)
    kept = ""
    if event in _KEPT:
        # Before anything is waited for, so that nothing can come in between; it costs no prompt any time.
        arm_watchdog(home, host, max(allowed_ms, START_DEADLINE_MS))
        kept = keep_event(home, host, event, payload)
    arm_watchdog(home, host, allowed_ms)
    until = began + allowed_ms / 1000
    wait = max(1, int((until - time.monotonic()) * 1000) - 10)
    try:
        headers = ("Content-Type: application/json", f"X-Tacit-Deadline-Ms: {wait}", ACKNOWLEDGES)
        if os.environ.get("CLAUDE_PROJECT_DIR"):  # the payload's folder follows the agent's `cd`
            project = in_header(os.fsencode(os.environ["CLAUDE_PROJECT_DIR"]))
            headers = (*headers, f"X-Tacit-Project: {project}")
        status, headers, _ = call(home, f"/hook/{host}", payload, until, headers, take=print_reply)
    except OSError as error:
        leave_event(kept)
        answer_without_daemon(home, host, event, payload, error)
        return
    if status != 200:
        note(home, "b" if status == 503 else "r", f"{host} {event}: silent, refused with {status}")
        if "x-tacit-version" not in headers:
            start_daemon(home)  # no daemon of ours answers like this
    leave_event(kept, keep=status >= 500)
    upgrade(home, headers.get("x-tacit-version", ""))


def print_reply(reply: Reply) -> bool:
    """Print a reply for the host. Return whether it has any text."""
    status, _, text = reply
    if status == 200:
        write_all(text)
    return status == 200 and bool(text)


def deadline_ms(event: str, home: HomePaths) -> int:
    """Milliseconds that this event may take; for a prompt as many as the daemon says that its settings allow, if that is more."""
    named = os.environ.get("TACIT_HOOK_DEADLINE_MS", "")
    if named.isdigit() and int(named) > 0:
        return min(int(named), 60_000)
    if event in _STARTS:
        return START_DEADLINE_MS
    return max(DEADLINE_MS, told_ms(home)) if event in _PROMPTS else DEADLINE_MS


def told_ms(home: HomePaths) -> int:
    """What `run/prompt_ms` says; 0 where there is none."""
    try:
        handle = open_file(home.at("run", "prompt_ms"), os.O_RDONLY)
    except OSError:
        return 0
    try:
        said = os.read(handle, 8)
    except OSError:
        return 0
    finally:
        os.close(handle)
    return min(int(said), MOST_PROMPT_MS) if said.isdigit() else 0


def arm_watchdog(home: HomePaths, host: str, allowed_ms: int) -> None:
    """Leave for good a quarter of a second after the deadline, whatever hangs."""
    if WINDOWS:
        _WATCHED.append(time.monotonic() + allowed_ms / 1000 + 0.25)
        _thread.start_new_thread(watch, (home, host, _WATCHED[-1]))
        return
    signal = __import__("_signal")  # the module below `signal`, which would load `enum`

    def leave(*_: object) -> NoReturn:
        # A log can hang too. So this process leaves first, and a child of it, which holds nothing of the host's, writes.
        try:
            if os.fork() == 0:
                os.closerange(0, 1024)
                signal.signal(signal.SIGALRM, signal.SIG_DFL)
                signal.setitimer(signal.ITIMER_REAL, 1.0)
                note(home, "d", f"{host}: silent, stopped by the watchdog")
        finally:
            os._exit(0)

    signal.signal(signal.SIGALRM, leave)
    signal.setitimer(signal.ITIMER_REAL, allowed_ms / 1000 + 0.25)


def watch(home: HomePaths, host: str, until: float) -> None:
    """End the process at the deadline, in a thread, on systems without alarms. Only the watchdog that was started last does so."""
    time.sleep(max(0.0, until - time.monotonic()))
    if _WATCHED[-1] != until:
        return
    _thread.start_new_thread(note, (home, "d", f"{host}: silent, stopped by the watchdog"))
    time.sleep(0.05)  # do not wait longer: writing the log may hang
    os._exit(0)


def answer_without_daemon(home: HomePaths, host: str, event: str, payload: bytes, error: OSError) -> None:
    """Answer without a daemon: print an earlier block at a start, and leave word of it, so that the session is not given it again."""
    late = host in _AT_PROMPT
    starts = event == "BeforeAgent" and is_first_prompt(payload) if late else event in _STARTS
    text = start_block(home, host, payload) if starts else b""
    if text:
        write_all(text)
        note(home, "s", f"{host} {event}: handed over the block made earlier")
    else:
        sign = "n" if isinstance(error, DaemonAbsent) else "d" if isinstance(error, TimeoutError) else "g"
        note(home, sign, f"{host} {event}: silent, {type(error).__name__}: {error}")
    if text:
        leave_event(
            keep_event(home, host, "SessionStart", as_start(payload), given=True)
            if late
            else keep_event(home, host, event, payload, given=True)
        )
    if not isinstance(error, DaemonAbsent):
        # Does nothing if a daemon runs, which was only slow. Otherwise another program has its socket.
        start_daemon(home)


def keep_event(home: HomePaths, host: str, event: str, payload: bytes, *, given: bool = False) -> str:
    """Write an event that must not be lost to the spool; return the file's path, or "" where that failed.

    The file counts as unfinished until `leave_event` renames it. The daemon reads it after some seconds all the same: then
    this process was ended. `given` = the session has its start block already.
    """
    drop_old_texts(home)
    payload, with_text = spool_payload(payload)
    now_ns = time.time_ns()
    project = __import__("json").dumps(os.environ.get("CLAUDE_PROJECT_DIR") or "")
    head = f'{{"host":"{host}","event":"{event}","at_ms":{now_ns // 1_000_000},"project_dir":{project}}}\n'
    end = START_GIVEN if given else WITH_TEXT if with_text else EVENT
    try:
        path = os.path.join(home.folder("spool"), f"{now_ns:020d}-{os.getpid()}{end}{UNFINISHED}")
        handle = open_file(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        try:
            os.write(handle, head.encode() + payload)
        finally:
            os.close(handle)
    except OSError as error:
        note(home, "w", f"{host} {event}: not kept, {error.strerror}")
        return ""
    return path


def leave_event(kept: str, *, keep: bool = True) -> None:
    """Leave an event that `keep_event` wrote to the next daemon, or remove it; "" does nothing."""
    try:
        if kept and keep:
            os.replace(kept, kept[: -len(UNFINISHED)])
        elif kept:
            os.unlink(kept)
    except OSError:
        pass  # a daemon has taken it meanwhile


def spool_payload(payload: bytes) -> tuple[bytes, bool]:
    """What of a payload is kept, and whether words are in it: only where no transcript holds them, secrets of known forms taken out."""
    import json

    try:
        given: dict[str, object] = dict(json.loads(payload.decode("utf-8-sig", "replace")))
    except (ValueError, TypeError):
        return b"{}", False
    kept = {
        name: given[name]
        for name in _NAMES
        if isinstance(given.get(name), (str, bool)) and len(str(given[name])) <= 4096
    }
    words: dict[str, str] = {}
    if not any(os.path.isfile(str(kept.get(name) or "")) for name in _TRANSCRIPTS):
        words = {name: without_secrets(str(given[name])) for name in _TEXTS if given.get(name)}
    return json.dumps(dict(kept, **words)).encode(), any(words.values())


def without_secrets(text: str) -> str:
    """`text` without what looks like a secret at first sight; the daemon's redaction, which comes later, is the thorough one."""
    import re

    named = (
        r"(?i)((?:pass(?:word|wd|phrase|code)|pwd|secret|token|api[ _-]?key|credential|bearer|authorization"
        r"|passwor[dt]|kennwort|contrase\w+|mot de passe|\u5bc6\u7801|\u30d1\u30b9\u30ef\u30fc\u30c9|\u043f\u0430\u0440\u043e\u043b\u044c)[^\n]{0,40}?(?:[:=\uff1a]|\bis\b|\bist\b)\s*)\S+"
    )
    for pattern, left in (
        (r"(?s)-----BEGIN [^\n]{0,60}KEY.*?(?:-----END [^\n]{0,60}-----|\Z)", ""),
        (r"(?<=://)[^\s/@:]{0,100}:[^\s/@]{1,200}(?=@)", ""),
        (named, r"\1"),
        (r"(?=[\w+/=.-]{0,200}\d)[\w+/=.-]{20,}", ""),
    ):
        text = re.sub(pattern, left + "[redacted]", text)
    return text


def drop_old_texts(home: HomePaths) -> None:
    """Delete kept events with words in them that are older than an hour."""
    folder, now_ns = home.at("spool"), time.time_ns()
    try:
        for name in os.listdir(folder):
            made = name[:20]
            if name.endswith((WITH_TEXT, WITH_TEXT + UNFINISHED)) and not (
                made.isdigit() and 0 <= now_ns - int(made) < TEXT_KEPT_S * 1e9
            ):
                os.unlink(os.path.join(folder, name))
    except OSError:
        pass  # none, or another hook was faster


def start_block(home: HomePaths, host: str, payload: bytes) -> bytes:
    """What the daemon left for this folder, or the nearest above it inside the same repository; b"" = nothing."""
    import json
    from hashlib import sha256

    try:
        given = json.loads(payload.decode("utf-8-sig", "replace"))
        if given.get("source") == "resume" and given.get("hook_event_name"):
            return b""  # such a host keeps what it was given: the start block stands there already
        roots = given.get("workspace_roots") or [""]
        folder = os.path.abspath(given.get("cwd") or given.get("directory") or roots[0] or os.getcwd())
    except (ValueError, AttributeError, KeyError, TypeError, OSError):
        return b""
    tops = [folder]
    while not is_checkout(tops[-1]) and tops[-1] != os.path.dirname(tops[-1]):
        tops.append(os.path.dirname(tops[-1]))
    for folder in tops if is_checkout(tops[-1]) else tops[:1]:  # above: others'
        digest = sha256(os.path.normcase(folder).encode("utf-8", "surrogatepass")).hexdigest()[:24]
        try:
            with open(home.at("start", digest + ".json"), "rb") as opened:
                return str(json.loads(opened.read())["replies"].get(host, "")).encode("utf-8", "replace")
        except (OSError, ValueError, AttributeError, KeyError, TypeError):
            pass
    return b""


def is_checkout(folder: str) -> bool:
    """Return whether `folder` has a `.git` other than an empty folder; `find_checkout` of `tacit.session.projects` does the same."""
    dot_git = os.path.join(folder, ".git")
    try:
        return bool(os.listdir(dot_git))
    except OSError:  # a file, a link to nowhere, a folder that cannot be read, or nothing
        return os.path.lexists(dot_git)


def in_header(path: bytes) -> str:
    """Encode a path for a header."""
    return "".join(chr(b) if 32 <= b < 127 and b != 37 else f"%{b:02X}" for b in path)


def is_first_prompt(payload: bytes) -> bool:
    """Return whether the transcript has no answer of the model yet. True if there is no transcript."""
    import json

    try:
        with open(str(json.loads(payload.decode("utf-8", "replace"))["transcript_path"]), "rb") as opened:
            return b'"type":"gemini"' not in opened.read(MAX_PAYLOAD)
    except (OSError, ValueError, KeyError, TypeError):
        return True


def as_start(payload: bytes) -> bytes:
    """Return the payload of a session start made from that of a first prompt, for the daemon."""
    import json

    given = dict(json.loads(payload.decode("utf-8", "replace")))
    given.pop("prompt", None)
    return json.dumps(dict(given, hook_event_name="SessionStart", source="startup")).encode()


class Pipe:
    """MCP over stdio as a pipe to the daemon; no state but the server's session. A call holds up no hook and no other call."""

    def __init__(self, home: HomePaths, host: str) -> None:
        self.home = home
        self.project = os.environ.get("CLAUDE_PROJECT_DIR") or ""
        self.roots = False  # whether the client can list its folders
        self.headers = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "X-Tacit-Cwd": in_header(os.fsencode(self.project or os.getcwd())),
            "X-Tacit-Host": host,
            "X-Tacit-Client": f"{os.getpid()}-{time.time_ns():x}",
        }
        self.writing = _thread.allocate_lock()
        self.pending = 0

    def run(self) -> None:
        """Carry lines until standard input ends, then wait for the answers that are on their way."""
        for line in sys.stdin.buffer:
            if ROOTS_ID in line and self.took_roots(line):
                continue
            if b'"tools/call"' in line and self.pending < MCP_AT_ONCE:
                with self.writing:
                    self.pending += 1
                _thread.start_new_thread(self.carry, (line, 1))
            elif line.strip():
                self.carry(line, 0)
        while self.pending:
            time.sleep(0.01)

    def carry(self, line: bytes, counted: int) -> None:
        """Send one message on and write its answer."""
        try:
            answer = self.answer(line)
            with self.writing:
                if answer:
                    write_all(answer.replace(b"\r", b" ").replace(b"\n", b" ").strip() + b"\n")
                if self.roots and (b'"notifications/initialized"' in line or b"roots/list_changed" in line):
                    write_all(b'{"jsonrpc":"2.0","id":' + ROOTS_ID + b',"method":"roots/list"}\n')
        except OSError:
            pass  # nobody reads any more
        finally:
            with self.writing:
                self.pending -= counted

    def answer(self, line: bytes) -> bytes:
        """The line that answers `line`; b"" for notifications."""
        import json

        answer: dict[str, object] = {"jsonrpc": "2.0", "id": None}
        try:
            message = json.loads(line)
            answer["id"], method = message.get("id"), str(message.get("method"))
        except (ValueError, AttributeError):
            answer["error"] = {"code": -32700, "message": "No JSON-RPC message."}
            return json.dumps(answer).encode()
        try:
            return self.forward(line, method, MCP_TIMEOUT_S)
        except (OSError, ValueError, KeyError, TypeError) as error:
            note(self.home, "m", f"mcp: {type(error).__name__}: {error}")
        lost = {"code": -32000, "message": "Tacit's memory cannot be reached; `tacit doctor` says why."}
        answer["error"] = lost
        return b"" if answer["id"] is None else json.dumps(answer).encode()

    def forward(self, line: bytes, method: str, timeout_s: float) -> bytes:
        """Send one message on as it is; return the reply's JSON."""
        import json

        until = time.monotonic() + timeout_s
        lines = tuple(f"{name}: {value}" for name, value in self.headers.items())
        status, headers, body = call(self.home, "/mcp", line, until, lines, start_s=MCP_START_S)
        if "mcp-session-id" in headers:
            self.headers["Mcp-Session-Id"] = headers["mcp-session-id"]
        if body and body[:1] != b"{":
            raise MalformedReply(f"the daemon answered {status}")
        if (
            body and status >= 400
        ):  # a refusal of the whole request names no id, and the client would wait for one
            body = json.dumps({**json.loads(body), "id": json.loads(line).get("id")}).encode()
        if method == "initialize" and status == 200:
            self.headers["MCP-Protocol-Version"] = str(json.loads(body)["result"]["protocolVersion"])
            self.roots = not self.project and "roots" in json.loads(line)["params"]["capabilities"]
        return body

    def took_roots(self, line: bytes) -> bool:
        """Return whether `line` is the client's answer to `roots/list`. If so, use the first of its folders that exists.

        Programs that work in several folders start MCP servers in the folder in which they were started themselves.
        """
        import json
        from urllib.parse import unquote

        folders: list[bytes] = []
        try:
            message = json.loads(line)
            if message.get("id") != "tacit-roots" or "method" in message:
                return False
            for root in message["result"]["roots"]:
                scheme, _, path = str(root["uri"]).partition("://")
                folders += [os.fsencode(unquote(path))] if scheme == "file" else []
        except (ValueError, AttributeError, KeyError, TypeError):
            return True  # an error, or no list of roots: keep the folder
        here = [folder for folder in folders if os.path.isdir(folder)]
        if here:
            self.headers["X-Tacit-Cwd"] = in_header(here[0])
        return True


def main(arguments: list[str]) -> NoReturn:
    """Do what the arguments say; the boundary that turns every failure into silence."""
    if os.environ.get("TACIT_HEADLESS") == "1":
        os._exit(0)  # a client that Tacit itself runs: nothing to say, nothing to learn
    home = None
    try:
        host = arguments[0] if arguments else ""
        option = arguments[2] if len(arguments) > 2 and arguments[1] in ("--event", "--host") else ""
        home = HomePaths()
        if host == "mcp":
            Pipe(home, option or "claude-code").run()
        elif host == "start":
            start_daemon(home)
        elif is_name(host):
            run_hook(home, host, option if is_name(option) else "")
        else:
            note(home, "i", "called without a host")
    except BaseException as error:
        # Hosts end the MCP pipe with SIGINT when a session ends: that is no failure.
        ended = isinstance(error, KeyboardInterrupt) and arguments[:1] == ["mcp"]
        if home is not None and not ended:
            note(home, "x", f"{type(error).__name__} in {' '.join(arguments[:1])}")
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
