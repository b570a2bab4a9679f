"""The daemon's life from bound socket to released lock.

In: a claim on a home. Out: requests answered until somebody says stop, nobody has asked for long, or the home is gone;
then running work is finished, what waits is kept, and everything is given back. Never restarts itself.

The daemon's log: one JSON object a line, rotated, private.

In: log records of Tacit and its libraries. Out: `log/daemon.log`. Never the text of a memory or a prompt: of an
exception only its type and the places it passed, because its message may quote one. `debug` adds the messages.
"""

from __future__ import annotations

import _thread
import contextlib
import gc
import json
import logging
import os
import secrets
import socket
import time
import traceback
from logging.handlers import RotatingFileHandler
from pathlib import Path
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING

from tacit import __version__
from tacit.app.engine import Engine
from tacit.client.daemon_facts import DaemonFacts
from tacit.config.home import Home
from tacit.config.layers import read_settings
from tacit.config.settings import DaemonSettings
from tacit.daemon.allocator import release_free_memory
from tacit.daemon.counters import Counters
from tacit.daemon.hook_listener import HookListener
from tacit.daemon.hooks import DaemonParts
from tacit.daemon.launcher import refresh_launcher
from tacit.daemon.lifecycle import Claim, write_facts
from tacit.daemon.source import EngineSource
from tacit.daemon.workers import WorkerPool
from tacit.errors import TacitError
from tacit.system.files import open_handle
from tacit.system.processes import born, on_stop

if TYPE_CHECKING:
    from tacit.daemon.server import AsgiServer

_MOST_CHARS = 2_000


class JsonLines(logging.Formatter):
    """A log formatter that writes each record as one line of JSON. With `debug`, messages of errors are included."""

    def __init__(self, *, debug: bool = False) -> None:
        super().__init__()
        self._debug = debug

    def format(self, record: logging.LogRecord) -> str:
        """Return a JSON object with `at`, `level`, `name`, `message`; maybe `detail`; for an exception `error` and `where`."""
        at = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        line: dict[str, object] = {
            "at": f"{at}.{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "name": record.name,
            "message": record.getMessage()[:_MOST_CHARS],
        }
        detail = getattr(record, "detail", None)
        if detail is not None and (self._debug or record.levelno < logging.WARNING):
            line["detail"] = str(detail)[:_MOST_CHARS]
        if record.exc_info and record.exc_info[1] is not None:
            error = record.exc_info[1]
            line["error"] = f"{type(error).__name__}: {error}" if self._debug else type(error).__name__
            line["where"] = traceback.format_tb(error.__traceback__)[-6:]
        return json.dumps(line)


class PrivateFileHandler(RotatingFileHandler):
    """A rotating file that only its owner may read."""

    def _open(self):  # noqa: ANN202 - the standard library's own type
        return os.fdopen(
            open_handle(self.baseFilename, os.O_WRONLY | os.O_CREAT | os.O_APPEND),
            "a",
            encoding="utf-8",
        )


def start_log(home: Home, *, max_bytes: int, files: int, debug: bool = False) -> logging.Handler:
    """Send all log records of the process to the log file of `home`, rotated at `max_bytes`; return the handler."""
    handler = PrivateFileHandler(Path(home.log_file), maxBytes=max_bytes, backupCount=files, encoding="utf-8")
    logging.raiseExceptions = False  # a full disk must not spill records, texts and all, onto standard error
    handler.setFormatter(JsonLines(debug=debug))
    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(logging.DEBUG if debug else logging.INFO)
    for noisy in ("uvicorn", "uvicorn.error", "mcp", "httpx", "asyncio"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
    return handler


THREADS, QUEUE = 4, 64
"""Requests that are processed at once, and further ones that may wait; more are refused."""
IDLE_MINUTES = 30.0
"""Without a request for so long it exits."""
LOG_BYTES, LOG_FILES = 2_000_000, 3
"""Size at which the log is rotated, and rotated logs that are kept."""
GRACE_S = 8
TICK_S = 1.0
WRITE_UP_EVERY_S = 60.0
SPOOL_EVERY_S = 15.0
FIRST_ANSWER_S = 1.0
UPKEEP_EVERY_S = 86_400.0
UPKEEP_IDLE_S = 60.0
PRERENDER_EVERY_S = 20.0
PRERENDER_QUIET_S = 2.0
"""What is not urgent waits so long for a moment without requests, and goes ahead without one after ten times its turn."""
RELEASE_EVERY_S = 5.0
"""While requests come, free memory is given back so often."""

_LOG = logging.getLogger(__name__)


class DaemonProcess:
    """The daemon of a claimed home: its listener, engine and background work. `run` blocks until it ends."""

    def __init__(
        self, home: Home, claimed: Claim, *, http_port: int | None = None, debug: bool = False
    ) -> None:
        self._home = home
        self._claim = claimed
        settings, warnings = _settings(home)
        self._handler = start_log(home, max_bytes=LOG_BYTES, files=LOG_FILES, debug=debug)
        for warning in warnings:
            _LOG.warning("settings: %s", warning)
        self._http_port = http_port if http_port is not None else settings.http_port or None
        self._facts = DaemonFacts(
            pid=os.getpid(),
            version=__version__,
            started_at_ms=time.time_ns() // 1_000_000,
            born_at=born(os.getpid()),
            token=secrets.token_urlsafe(32),
        )
        self._over = Event()
        self._code = 0
        self._homeless = False
        self._worked_s = 0.0
        self._wanted = Event()
        self._lock = Lock()
        self._server: AsgiServer | None = None
        self._waiting: list[socket.socket] = []
        self._source = EngineSource(self._open, on_settled=self._settled, on_broken=self._broken)
        self._parts = DaemonParts(
            source=self._source,
            pool=WorkerPool(threads=THREADS, queue=QUEUE),
            home=str(home.root),
            counters=Counters(),
            stop=self.stop,
            leaving=self._over.is_set,
        )
        self._listener: HookListener | None = None

    def run(self) -> int:
        """Serve until `stop`, then finish running work and release the claim; return the exit code. Blocks."""
        write_facts(self._home, self._facts)
        self._source.begin()
        keeper = Thread(target=self._keep_house, name="tacit-house", daemon=True)
        keeper.start()
        try:
            self._serve()
        finally:
            self._over.set()
            self._finish(keeper)
        return self._code

    def stop(self) -> None:
        """Begin to end the daemon: no new connections, and `run` returns when running work is done. Does not block; thread-safe."""
        self._over.set()
        self._wanted.set()
        self._claim.hide()
        server = self._server
        if server is not None:
            server.leave()

    def _told(self, *_: object) -> None:
        """Handle a stop signal: call `stop` on a new thread, because the interrupted thread may hold any lock."""
        _thread.start_new_thread(self.stop, ())

    def _hand_over(self, connection: socket.socket) -> None:
        """Pass a connection to the ASGI server; if it is not loaded yet, keep the connection and have it loaded. Does not block."""
        with self._lock:
            server = self._server
            if server is None:
                self._waiting.append(connection)
        if server is None:
            self._wanted.set()
        else:
            server.adopt(connection)

    def _serve(self) -> None:
        """Start the hook listener; load the ASGI server when something else is asked for or the engine is warm, and run it. Blocks until the end."""
        on_stop(self._told)
        self._listener = HookListener(
            self._claim.socket,
            transport=self._claim.transport,
            parts=self._parts,
            threads=THREADS,
            hand_over=self._hand_over,
        )
        self._listener.start()
        if self._http_port is None:
            self._wanted.wait()
        if self._over.is_set():
            return
        from tacit.daemon.server import AsgiServer  # noqa: PLC0415 - as much to load as a first answer needs

        server = AsgiServer(self._parts, facts=self._facts, home=self._home, over=self._over)
        with self._lock:
            self._server = server
            waiting, self._waiting = self._waiting, []
        server.run(waiting, http_port=self._http_port)

    # --- the engine ----------------------------------------------------------------------------------------------

    def _open(self) -> Engine:
        from tacit.app.wiring import open_engine  # noqa: PLC0415 - the heavy part, on its own thread

        return open_engine(self._home.root)

    def _settled(self, _: Engine | None) -> None:
        """Empty the start lock's file once the engine was opened or failed, so that hooks may start a daemon again."""
        with contextlib.suppress(OSError):
            os.truncate(self._home.run_dir / "start.lock", 0)

    def _broken(self) -> None:
        self._code = 1
        self.stop()

    # --- housekeeping --------------------------------------------------------------------------------------------

    def _keep_house(self) -> None:
        """Loop until the end: do the background work when it is due, and stop the daemon if it should leave. Runs on a thread of its own."""
        engine, begun = None, False
        ready_s = spooled_s = rendered_s = released_s = written_s = 0.0
        kept_s = -UPKEEP_EVERY_S
        counters = self._parts.counters
        while not self._over.wait(TICK_S if begun else 0.05):
            now = time.monotonic()
            if self._should_leave():
                self.stop()
                return
            if self._source.ready is not engine:  # opened, or another one since a restore
                engine, begun = self._source.ready, False
            if engine is None:
                continue
            ready_s = ready_s or now
            # Whoever started the daemon waits for its first answer: nothing else may take the processor before.
            if not begun and not counters.answered and now - ready_s < FIRST_ANSWER_S:
                continue
            try:
                if not begun:
                    begun = True
                    self._begin_work(engine)
                    spooled_s = now
                if now - spooled_s > SPOOL_EVERY_S:
                    spooled_s = now
                    self._drain(engine)
                    engine.learning.retry_pending()
                if now - kept_s > UPKEEP_EVERY_S and counters.idle_s > UPKEEP_IDLE_S:
                    kept_s = now
                    engine.maintenance.upkeep(interrupted=self._over.is_set)
                if now - written_s > WRITE_UP_EVERY_S:
                    written_s = now
                    engine.learning.write_up_soon()  # sessions that are quiet by now, and what failed before
                asked_s = now - counters.idle_s
                waited_s = now - rendered_s
                quiet = counters.idle_s > PRERENDER_QUIET_S or waited_s > 10 * PRERENDER_EVERY_S
                due = waited_s > PRERENDER_EVERY_S and asked_s > rendered_s and quiet
                if (due or engine.starts_stale) and self._claim.holds():
                    rendered_s = now
                    engine.prerender()
                if now - released_s > RELEASE_EVERY_S and asked_s > released_s:
                    released_s = now
                    release_free_memory()  # of a bulk of requests 10 MB and more are left behind
            # The background job's boundary: the daemon answers on, whatever fails here.
            except Exception:  # noqa: BLE001
                counters.add("errors")
                _LOG.exception("background work failed")

    def _begin_work(self, engine: Engine) -> None:
        """Do the first work with a newly opened engine: warm it up, handle spooled events and pending handovers, start sync."""
        gc.enable()  # `python -m tacit.daemon` starts without
        refresh_launcher(self._home)
        engine.warm(give_way=self._give_way)  # first what prompts need
        self._wanted.set()
        # What is loaded by now stays; a collection that walked all of it would stop a prompt for tens of milliseconds.
        gc.freeze()
        release_free_memory()
        self._drain(engine)
        engine.learning.capture_pending()
        engine.start_sync()

    def _give_way(self) -> None:
        """Wait until no hook is being answered: a prompt that shares the processor with other work would take twice as long."""
        while self._listener is not None and self._listener.busy and not self._over.wait(0.002):
            pass

    def _should_leave(self) -> bool:
        if not self._claim.holds():
            self._homeless = True
            _LOG.warning("the socket is gone or another's; leaving")
            return True
        engine, now = self._source.ready, time.monotonic()
        if engine is not None and engine.damaged:
            _LOG.error("the store is damaged; leaving, so that the next start puts it aside")
            return True
        if self._parts.pool.count or (engine is not None and engine.working()):
            self._worked_s = now  # whoever comes back to see how it ended has as long as after a question
        idle_s = min(self._parts.counters.idle_s, now - self._worked_s)
        if idle_s > IDLE_MINUTES * 60:
            _LOG.info("idle; leaving")
            return True
        return False

    def _drain(self, engine: Engine) -> None:
        report = self._parts.spool.drain(engine.take_kept)
        if report.taken or report.refused or report.left:
            self._parts.counters.add("spooled", report.taken)
            _LOG.info("spool: %d taken, %d refused, %d left", report.taken, report.refused, report.left)

    def _finish(self, keeper: Thread) -> None:
        """Wait for running work (each part at most `GRACE_S`), close the engine and the log, and release the claim. Never raises."""
        try:
            if self._listener is not None:
                self._listener.close(timeout_s=GRACE_S)
            for connection in self._waiting:
                connection.close()
            self._parts.pool.close(timeout_s=GRACE_S)
            keeper.join(timeout=GRACE_S)
            engine = self._source.ready
            if engine is not None:
                if not self._homeless:
                    engine.prerender()
                engine.close()
        # The last boundary: the lock must come free whatever fails before.
        except Exception:  # noqa: BLE001
            self._code = self._code or 1
            _LOG.exception("leaving failed")
        finally:
            _LOG.info("left")
            self._handler.close()
            self._claim.release()


def _settings(home: Home) -> tuple[DaemonSettings, tuple[str, ...]]:
    try:
        return read_settings(home).settings.daemon, ()
    except TacitError as error:
        return DaemonSettings(), (error.code,)
