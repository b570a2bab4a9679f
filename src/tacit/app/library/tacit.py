"""Tacit for a Python program: open it, remember, recall, and put what is known beside a conversation.

In: words and lists of messages. Out: frozen values and new lists. Synchronous and safe to use from several threads; `aio` is
the same for a program with an event loop.
"""

from __future__ import annotations

import logging
import os
import secrets
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Self

from tacit.app.library.engine_access import EngineAccess, LocalEngine, Statement, open_in_process
from tacit.app.library.session import Session
from tacit.app.library.values import Recollection, Stored
from tacit.config.home import Home
from tacit.errors import DaemonUnavailable, InvalidInput

if TYPE_CHECKING:
    from tacit.app.engine import Engine
    from tacit.app.library.bridge import AsyncTacit
    from tacit.app.library.item_access import ItemAccess
    from tacit.app.queries.injection import Injection, InjectionFailed, InjectionResult

_LOG = logging.getLogger(__name__)
WAITING = 256
"""Most conversations' ends that wait to be told; more are dropped, with a line in the log."""


class Tacit:
    """One open memory. Make it with `Tacit.open()` or `Tacit.connect()`, and close it, or use it in a `with` statement."""

    def __init__(self, access: EngineAccess, *, cwd: str | os.PathLike[str] | None = None) -> None:
        """Take a way to an engine; `open` and `connect` know two."""
        self._way = access
        self._cwd = _folder(cwd)
        self._behind = ThreadPoolExecutor(max_workers=1, thread_name_prefix="tacit-library")
        self._waiting = 0
        self._lock = Lock()
        self._closed = False

    @classmethod
    def open(
        cls,
        home: str | os.PathLike[str] | None = None,
        *,
        cwd: str | os.PathLike[str] | None = None,
        settings: Mapping[str, object] | None = None,
        token: str | None = None,
    ) -> Self:
        """Open the memory in this process: store, model and all.

        A program speaks for its user in a home of its own, which it names here. In the home that the agents of this machine
        use it needs a personal token (`tacit token create`); without one its statements wait like an agent's.

        Args:
            home: folder of the data; None = TACIT_HOME, else `~/.tacit`, the same that the agents on this machine use.
            cwd: folder whose project is meant where a call names none; None = the working folder, "" = no project.
            settings: nested settings of this program, above every file; see docs/reference/settings.md.
            token: the user's personal token; None = TACIT_TOKEN.

        Raises:
            InvalidSetting, UnknownSetting: for wrong `settings`.
            StoreError: if the store cannot be opened; the message says what to do.
        """
        place = None if home is None else Path(home)
        return cls(open_in_process(place, settings, no_answer, token=token), cwd=cwd)

    @classmethod
    def connect(
        cls,
        home: str | os.PathLike[str] | None = None,
        *,
        cwd: str | os.PathLike[str] | None = None,
        start: bool = True,
        timeout_s: float = 30.0,
        token: str | None = None,
    ) -> Self:
        """Use the memory through the daemon that serves the agents of this machine. Loads no model into this process.

        Nothing is sent before the first call; without a daemon conversations go on without blocks.

        Args:
            home: folder of the data; None = TACIT_HOME, else `~/.tacit`.
            cwd: as for `open`.
            start: start the daemon where there is none.
            timeout_s: seconds that a call without a deadline of its own waits for an answer.
            token: the user's personal token (`tacit token create`); None = TACIT_TOKEN. Without one what is stated waits.
        """
        from tacit.app.library.over_socket import DaemonEngine  # noqa: PLC0415 - only who asks for it pays for it
        from tacit.config.home import Home, personal_token  # noqa: PLC0415

        place = Home.find() if home is None else Home(Path(home).expanduser().absolute())
        failed = DaemonFailureLog(place, starts=start)
        access = DaemonEngine(
            place,
            start=start,
            on_failure=failed,
            timeout_s=timeout_s,
            token=personal_token() if token is None else token,
        )
        return cls(access, cwd=cwd)

    def remember(
        self,
        content: str,
        *,
        kind: str | None = None,
        scope: str | None = None,
        when: str | Sequence[str] | None = None,
        files: Sequence[str] = (),
        pinned: bool = False,
        cwd: str | os.PathLike[str] | None = None,
        session: str = "",
        sensitivity: str = "",
        user_words: str = "",
        replaces: Sequence[str] = (),
    ) -> tuple[Stored, ...]:
        """Store one statement; secrets are taken out first.

        It is the user's word where this program may speak for them (see `open` and `connect`), else it waits for them.

        Args:
            content: one self-contained statement.
            kind: its kind (`decision`, `preference`, ...); None = read from the words.
            scope: who may see it: `universal`, `language:python`, `project:...`; None = the project of `cwd`, else universal.
            when: when it applies (`always`, `commit`, `path:src/**`, free words), or a list of such words and of phrases, any of which
                is enough; None = read from the words.
            files: files it speaks of.
            pinned: packed first where a preset pins.
            cwd: folder whose project it belongs to.
            session: id of the conversation it was said in.
            sensitivity: where it may appear: `public`, `project`, `session` (this conversation only) or `restricted`
                (never put before a prompt); "" = `project`.
            user_words: what the user said of it, verbatim from one prompt: a program without a token is believed with it.
            replaces: ids of memories that it replaces: those of equal or lower trust end, of the others the user is asked.

        Returns:
            What became of it: added, merged with what is known, in place of what it contradicts, or skipped.

        Raises:
            InvalidInput: for an empty or too long text, or an unknown kind, scope or sensitivity.
            NotFound: if an id of `replaces` is none of a memory that this program may see.
            RefusedByRedaction: if it holds a secret that cannot be taken out.
            DaemonUnavailable: without a daemon, where it is needed.
        """
        statement = Statement(
            content=content,
            kind=kind,
            scope=scope,
            when=when,
            cwd=self._at(cwd),
            pinned=pinned,
            files=tuple(files),
            session=session,
            sensitivity=sensitivity,
            user_words=user_words,
            replaces=tuple(replaces),
        )
        return self._way.remember(statement)

    def recall(
        self, text: str, *, cwd: str | os.PathLike[str] | None = None, budget_tokens: int | None = None
    ) -> Recollection:
        """Search the memory for `text`. The result holds the block for a model, and the memories in it.

        Args:
            text: a question, or words.
            cwd: folder whose project may be seen.
            budget_tokens: most tokens of the block; None = as the settings say (1000).

        Raises:
            DaemonUnavailable: without a daemon, where it is needed.
        """
        return self._way.recall(text, cwd=self._at(cwd), budget_tokens=budget_tokens)

    def context_for(
        self,
        prompt: str,
        *,
        session: str = "",
        cwd: str | os.PathLike[str] | None = None,
        deadline_ms: float | None = None,
    ) -> InjectionResult:
        """Return the text to put before `prompt`; often it is empty.

        A failure gives an empty result, a timeout what was found in time; the log says which. `inject` tells them apart.

        Args:
            prompt: the user's words.
            session: names the conversation: what was handed over in it does not come again. "" = a new one.
            cwd: folder whose project it is about.
            deadline_ms: longest time, also for a daemon that hangs (a quarter of a second on top); None = as the settings say.
        """
        from tacit.app.queries.injection import InjectionFailed  # noqa: PLC0415 - the settings' types come with it

        injected = self.inject(prompt, session=session, cwd=cwd, deadline_ms=deadline_ms)
        return injected.result if isinstance(injected, InjectionFailed) else injected

    def inject(
        self,
        prompt: str,
        *,
        session: str = "",
        cwd: str | os.PathLike[str] | None = None,
        deadline_ms: float | None = None,
    ) -> InjectionResult | InjectionFailed:
        """Like `context_for`, but return an `InjectionFailed` with its reason and a usable result after a failure."""
        name = session or f"once-{secrets.token_hex(8)}"
        return self._way.inject(prompt, session_id=name, cwd=self._at(cwd), deadline_ms=deadline_ms)

    def session(
        self,
        session_id: str = "",
        *,
        cwd: str | os.PathLike[str] | None = None,
        agent: str = "",
        deadline_ms: float = 400.0,
        capture: bool = True,
    ) -> Session:
        """Begin or continue a conversation whose messages the program keeps; see `Session.prepare`.

        Args:
            session_id: names it, also for a later process; "" = a new one.
            cwd: folder whose project it is about.
            agent: name of the agent, where settings differ by agent.
            deadline_ms: longest wait for one thing that is asked for it.
            capture: whether Tacit may learn from it.
        """
        return Session(
            session_id or f"s-{secrets.token_hex(8)}",
            hook=self._way.hook,
            later=self._later,
            cwd=self._at(cwd),
            agent=agent,
            resumed=bool(session_id),
            deadline_ms=deadline_ms,
            capture=capture,
        )

    def forget(self, memory_id: str) -> None:
        """Stop recalling a memory; its history stays.

        Raises:
            NotFound: if there is none of this id.
            RefusedByTrust: if the user said it, and this program may not speak for them.
        """
        self._way.forget(memory_id)

    def feedback(self, memory_id: str, *, useful: bool) -> None:
        """Say whether an injected memory was useful.

        Raises:
            NotFound: if there is none of this id.
        """
        self._way.feedback(memory_id, useful=useful)

    @property
    def items(self) -> ItemAccess:
        """Return the access to the items of programs: JSON objects under keys in namespaces. See `ItemAccess`."""
        return self._way.items

    @property
    def engine(self) -> Engine:
        """Everything else, where the memory is open in this process.

        Raises:
            InvalidInput: if it is in the daemon.
        """
        return self._here().engine

    @property
    def injection(self) -> Injection:
        """`inject_context` with its setters for budgets and weights of age, where the memory is open in this process.

        Raises:
            InvalidInput: if it is in the daemon.
        """
        return self._here().injection

    @property
    def aio(self) -> AsyncTacit:
        """The same for a program with an event loop: every call runs on a thread."""
        from tacit.app.library.bridge import AsyncTacit  # noqa: PLC0415 - only who asks for it pays for it

        return AsyncTacit(self)

    def flush(self) -> None:
        """Wait until what was said so far is told, and in this process learned."""
        if not self._closed:
            self._behind.submit(lambda: None).result()
            self._way.flush()

    def close(self) -> None:
        """Tell what is left, and let go. A second time it does nothing."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
        self._behind.shutdown(wait=True)
        self._way.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _later(self, job: Callable[[], object]) -> None:
        with self._lock:
            if self._closed or self._waiting >= WAITING:
                _LOG.warning("a turn is not learned from: %s", "closed" if self._closed else "too many wait")
                return
            self._waiting += 1
        self._behind.submit(self._run, job)

    def _run(self, job: Callable[[], object]) -> None:
        try:
            job()
        finally:
            with self._lock:
                self._waiting -= 1

    def _here(self) -> LocalEngine:
        if not isinstance(self._way, LocalEngine):
            raise InvalidInput(
                "This memory is in the daemon.", hint="`Tacit.open()` opens one in this process."
            )
        return self._way

    def _at(self, cwd: str | os.PathLike[str] | None) -> str:
        return self._cwd if cwd is None else _folder(cwd)


def _folder(cwd: str | os.PathLike[str] | None) -> str:
    if cwd is None:
        return os.getcwd()  # noqa: PTH109 - a text is wanted
    return os.path.abspath(cwd) if os.fspath(cwd) else ""  # noqa: PTH100 - "" must stay ""


def no_answer(error: Exception) -> None:
    """Log a failure of the memory."""
    _LOG.warning("the memory gave no answer: %s: %s", type(error).__name__, error)


class DaemonFailureLog:
    """Logs failures on the way to a daemon. Safe to use from several threads; never raises.

    That no daemon runs is logged once, with what to do: every further request would repeat it.
    """

    def __init__(self, home: Home, *, starts: bool) -> None:
        """Log for the daemon of `home`; `starts` = a missing daemon is started automatically."""
        self._home = home
        self._starts = starts
        self._lock = Lock()
        self._said = False

    def __call__(self, error: Exception) -> None:
        """Log once that no daemon runs, and every other failure as it comes."""
        cause = error.__cause__ if isinstance(error, DaemonUnavailable) else error
        if not isinstance(cause, FileNotFoundError | ConnectionRefusedError):
            no_answer(error)
            return
        with self._lock:
            logged, self._said = self._said, True
        if logged:
            _LOG.debug("no Tacit daemon runs yet")
            return
        following = (
            "One is being started, and later requests find it; if not, `tacit doctor` says why."
            if self._starts
            else "`tacit serve --background` starts one; `Tacit.connect()` does so by itself, `Tacit.open()` needs none."
        )
        _LOG.warning(
            "no Tacit daemon runs (nothing answers on %s): requests go out without memory. %s (Said once.)",
            self._home.transport().file,
            following,
        )
