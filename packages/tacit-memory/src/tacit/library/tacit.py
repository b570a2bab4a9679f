"""Tacit for a Python program: open it, remember, recall, look after what is stored, and put what is known beside a conversation.

In: words and lists of messages. Out: frozen values and new lists. Synchronous and safe to use from several threads; `aio` is
the same for a program with an event loop.
"""

from __future__ import annotations

import logging
import os
import secrets
import warnings
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import wraps
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Self, TypeVar, cast

from tacit.config.home import Home
from tacit.errors import DaemonUnavailable, InvalidInput, NotFound
from tacit.library.engine_access import HOST, EngineAccess, LocalEngine, open_in_process
from tacit.library.message_formats import ROLE_CONTENT, MessageFormat
from tacit.library.session import Prepared, Session
from tacit.library.values import (
    WAITING,
    MemoryPage,
    MemoryRecord,
    RecallRecord,
    Recollection,
    Stored,
    changes_from,
    page_from,
    recall_from,
    recollection_from,
    record_from,
    stored_from_edit,
    stored_from_forget,
)
from tacit.model.scope import MAX_USER_CHARS, USER_FOLDER, Scope, is_user_name, project_scope, user_project_id
from tacit.safety.authority import LEFT_OUT

if TYPE_CHECKING:
    from tacit.app.engine import Engine
    from tacit.app.queries.injection import Injection, InjectionFailed, InjectionResult
    from tacit.library.engine_access import ItemAccess

_LOG = logging.getLogger("tacit.library.tacit")
M = TypeVar("M")
P = ParamSpec("P")
R = TypeVar("R")
MEMORY = "/v1/memories/{id}"
MAX_LISTED = 500
"""The most memories of a change that are checked before it is undone."""


class Tacit:
    """One open memory. Make it with `Tacit.open()` or `Tacit.connect()`, and close it, or use it in a `with` statement."""

    def __init__(
        self,
        access: EngineAccess | None = None,
        *,
        cwd: str | os.PathLike[str] | None = None,
        user: str | None = None,
        shared: BackgroundThread | None = None,
    ) -> None:
        """Use the engine behind `access`. Programs call `open` or `connect` instead.

        Args:
            access: the access to an engine.
            cwd: folder of the project for calls that name none.
            user: the user of the program whom it belongs to; None = the program's own.
            shared: the background thread of the object that closes `access`; None = this object has its own and closes both.

        Raises:
            TypeError: without `access`.
        """
        if access is None:
            raise TypeError(
                "Use Tacit.open() for a memory in this process, or Tacit.connect() for the daemon's."
            )
        self._way = access
        self._cwd = _folder(cwd)
        self._user = UserSpace(user, cwd_given=cwd is not None) if user is not None else None
        self._behind = shared or BackgroundThread()
        self._is_view = shared is not None

    @classmethod
    def open(
        cls,
        home: str | os.PathLike[str] | None = None,
        *,
        cwd: str | os.PathLike[str] | None = None,
        settings: Mapping[str, object] | None = None,
        token: str | None = None,
        user: str | None = None,
    ) -> Self:
        """Open the memory in this process: store, model and all.

        A program speaks for its user in a home of its own, which it names here. In the home that the agents of this machine
        use it needs a personal token (`tacit token create`); without one its statements wait like an agent's.

        Args:
            home: folder of the data; None = TACIT_HOME, else `~/.tacit`, the same that the agents on this machine use.
            cwd: folder whose project is meant where a call names none; None = the working folder, "" = no project.
            settings: nested settings of this program, above every file; see docs/reference/settings.md.
            token: the user's personal token; None = TACIT_TOKEN.
            user: as for `for_user`: everything is for this user of your program alone.

        Raises:
            InvalidInput, InvalidSetting, UnknownSetting: for wrong `settings`.
            StoreError: if the store cannot be opened; the message says what to do.
        """
        # Programs without types: see `_text`.
        if not isinstance(settings, Mapping | None):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidInput(f"`settings` is {settings!r}; expected a mapping.")
        place = None if home is None else Path(home)
        way = open_in_process(place, settings, log_no_answer, token=token, cwd=_folder(cwd))
        return cls(way, cwd=cwd, user=user)

    @classmethod
    def connect(
        cls,
        home: str | os.PathLike[str] | None = None,
        *,
        cwd: str | os.PathLike[str] | None = None,
        start: bool = True,
        timeout_s: float = 30.0,
        token: str | None = None,
        user: str | None = None,
    ) -> Self:
        """Use the memory through the daemon that serves the agents of this machine. Loads no model into this process.

        Nothing is sent before the first call; without a daemon conversations go on without blocks.

        Args:
            home: folder of the data; None = TACIT_HOME, else `~/.tacit`.
            cwd: as for `open`.
            start: start the daemon where there is none.
            timeout_s: seconds that a call without a deadline of its own waits for an answer.
            token: the user's personal token (`tacit token create`); None = TACIT_TOKEN. Without one what is stated waits.
            user: as for `open`.
        """
        from tacit.config.home import personal_token  # noqa: PLC0415
        from tacit.library.over_socket import DaemonEngine  # noqa: PLC0415 - only who asks for it pays for it

        place = Home.find() if home is None else Home(Path(home).expanduser().absolute())
        failed = DaemonFailureLog(place, starts=start)
        access = DaemonEngine(
            place,
            start=start,
            on_failure=failed,
            timeout_s=timeout_s,
            token=personal_token() if token is None else token,
        )
        return cls(access, cwd=cwd, user=user)

    def for_user(self, user: str) -> Tacit:
        """Return the memory of one user of this program, over the same engine.

        What is stored and learned through it belongs to this user. They get nothing else: no memory of another user, of a project, or of
        the universal scope. In its calls `cwd` and `scope` cannot be given, and two users may use the same session id. Nobody but the
        owner of the home, who sees everything in it, sees a user's memories. Closing it does nothing; close this object.

        Args:
            user: names the user, for example by the id in your own database. Case counts.

        Raises:
            InvalidInput: if the name is empty or longer than 500 characters, or this object is one user's already.
        """
        if self._user is not None:
            raise InvalidInput(
                "This memory belongs to one user already.",
                hint="Call `for_user` on the memory of the program.",
            )
        # A program without types may pass None: it must not get the memory of all users.
        if user is None:  # pyright: ignore[reportUnnecessaryComparison]
            raise InvalidInput("The name of a user is None.", hint="Sign the user in first.")
        return Tacit(self._way, user=user, shared=self._behind)

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
            scope: who may see it: `universal`, `language:python`, `project` (that of `cwd`), `project:...`, `agent:NAME`, `session:ID`; None = the
                project of `cwd`, else universal.
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
        statement = {
            "content": content,
            "kind": kind,
            "scope": self._scope(scope),
            "when": when if when is None or isinstance(when, str) else _texts("when", when),
            "cwd": self._at(cwd),
            "pinned": pinned,
            "files": _texts("files", files),
            "source": HOST,
            "session": self._session_name(session),
            "sensitivity": sensitivity or None,
            "user_words": user_words,
            "replaces": [self._own(memory_id) for memory_id in _texts("replaces", replaces)],
        }
        return changes_from(self._way.ask("POST", "/v1/memories", statement))

    def recall(
        self,
        text: str,
        *,
        cwd: str | os.PathLike[str] | None = None,
        limit: int | None = None,
        kind: str | Sequence[str] = (),
        budget_tokens: int | None = None,
        agent: str = "",
        session: str = "",
    ) -> Recollection:
        """Search the memory for `text`. The result holds the block for a model, and the memories in it.

        Args:
            text: a question, or words.
            cwd: folder whose project may be seen.
            limit: most memories; None = as many as fit `budget_tokens`.
            kind: only this kind, or these; empty = all.
            budget_tokens: most tokens of the block; None = as the settings say (1000).
            agent: name of the agent that asks: it also sees what has its scope (`agent:NAME`), and its settings apply.
            session: id of the conversation that asks: it also sees what has its scope (`session:ID`) or is for it alone.

        Raises:
            UnknownKind, InvalidInput: for a kind that does not exist, an empty text, or a value of a wrong type.
            DaemonUnavailable: without a daemon, where it is needed.
        """
        question = {
            "text": text,
            "cwd": self._at(cwd),
            "limit": limit,
            "kind": _texts("kind", kind),
            "budget_tokens": budget_tokens,
            "agent": agent,
            "session": self._session_name(session),
        }
        return recollection_from(self._way.ask("POST", "/v1/recall", question))

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
        """Return the text to put before `prompt`, as `context_for` does, but tell a failure from silence: then it is an `InjectionFailed`, whose `result` is empty or, after a timeout, what was found in time.

        Args:
            prompt: the user's words.
            session: names the conversation, as for `context_for`.
            cwd: folder whose project it is about.
            deadline_ms: longest time, as for `context_for`.
        """
        name = self._named(_text("session", session) or f"once-{secrets.token_hex(8)}")
        return self._way.inject(
            _text("prompt", prompt), session_id=name, cwd=self._at(cwd), deadline_ms=deadline_ms
        )

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
            self._named(_text("session_id", session_id) or f"s-{secrets.token_hex(8)}"),
            hook=self._way.hook,
            later=self._behind.later,
            cwd=self._at(cwd),
            agent=agent,
            resumed=bool(session_id),
            deadline_ms=deadline_ms,
            capture=capture,
            named=self._named,
        )

    def list(
        self,
        *,
        text: str = "",
        kind: str | Sequence[str] = (),
        scope: str | Sequence[str] = (),
        status: str | Sequence[str] = ("active", WAITING),
        limit: int = 50,
        offset: int = 0,
        cwd: str | os.PathLike[str] | None = None,
    ) -> MemoryPage:
        """List memories, newest first; with `text`, those that a search finds, best first.

        Args:
            text: words to search for; "" = all memories.
            kind: only this kind, or these; empty = all.
            scope: only this scope, or these, such as `universal`; empty = all.
            status: only these of `active`, `quarantined` (it waits for the user), `superseded`, `retired`; `all` = any.
            limit: most memories, up to 500.
            offset: number of memories to skip.
            cwd: folder whose project may be seen; "" = everything in the store.

        Raises:
            UnknownKind, InvalidScope, InvalidInput: for a kind, scope or status that does not exist.
            DaemonUnavailable: without a daemon, where it is needed.
        """
        wanted = {
            "text": _text("text", text).strip() or None,
            "kind": _texts("kind", kind),
            "scope": _texts("scope", scope),
            "status": _texts("status", status),
            "limit": limit,
            "offset": offset,
            "cwd": self._at(cwd),
        }
        return page_from(self._way.ask("GET", "/v1/memories", wanted))

    def get(self, memory_id: str) -> MemoryRecord:
        """Return one memory by its id, or a unique beginning or end of it.

        Raises:
            NotFound: if there is none of this id.
        """
        if not memory_id:
            raise NotFound("An empty text names no memory.", hint="`list()` shows the ids.")
        if self._user is None:
            return self._memory(memory_id)
        try:
            memory = self._memory(memory_id)
        except NotFound:  # it may name ids of other users
            raise NotFound(f"No memory is called {memory_id!r}.", hint="`list()` shows the ids.") from None
        return self._user.own(memory, memory_id)

    def edit(
        self,
        memory_id: str,
        *,
        content: str | None = None,
        kind: str | None = None,
        when: str | None = None,
        scope: str | None = None,
        importance: float | None = None,
        pinned: bool | None = None,
        sensitivity: str | None = None,
    ) -> Stored:
        """Change a memory and return its new version; what is None stays. Editing confirms it; the history keeps the old version.

        Where the words of a memory said when it applies, new content is read for that anew.

        Args:
            memory_id: its id.
            content: the statement.
            kind: its kind.
            when: when it applies, in one text of the form that `remember` takes.
            scope: who may see it, as for `remember`; `project` = that of this object's folder.
            importance: 0 to 1.
            pinned: packed first where a preset pins.
            sensitivity: where it may appear.

        Raises:
            NotFound: if there is none of this id.
            InvalidInput: if nothing is to be changed, the memory has ended, or a value cannot be used.
            RefusedByRedaction: if it would hold a secret.
            RefusedByTrust: if this program may not speak for the user (see `open` and `connect`).
        """
        revision = {
            "id": self._own(memory_id),
            "content": content,
            "kind": kind,
            "when": when,
            "scope": self._scope(scope),
            "cwd": self._at(None) if scope is not None else None,
            "importance": importance,
            "pinned": pinned,
            "sensitivity": sensitivity,
        }
        return stored_from_edit(self._way.ask("PATCH", MEMORY, revision))

    def forget(self, memory_id: str, *, reason: str = "") -> Stored:
        """Stop recalling a memory; its history stays, and `undo` takes it back.

        Args:
            memory_id: its id.
            reason: kept in the history.

        Raises:
            NotFound: if there is none of this id.
            RefusedByTrust: if the user said it, and this program may not speak for them.
        """
        values = {"id": self._own(memory_id), "reason": reason}
        return stored_from_forget(self._way.ask("DELETE", MEMORY, values), reason)

    def undo(self, change_id: str) -> tuple[Stored, ...]:
        """Take one change back as a whole.

        Args:
            change_id: `Stored.change_id` of what a call returned.

        Raises:
            NotFound: if there is no such change.
            Conflict: if a later change touched one of its memories.
            InvalidInput: if it names no change.
            RefusedByTrust: if this program may not speak for the user.
        """
        if self._user is not None:
            entries = self._way.ask("GET", "/v1/changes", {"change": change_id, "limit": MAX_LISTED})[
                "changes"
            ]
            self._user.own_change(change_id, [record_from(entry["memory"]) for entry in entries])
        return changes_from(self._way.ask("POST", "/v1/undo", {"id": change_id}))

    def history(self, memory_id: str) -> tuple[MemoryRecord, ...]:
        """Return all versions of a memory, oldest first.

        Raises:
            NotFound: if there is none of this id.
        """
        shown = self._way.ask("GET", MEMORY, {"id": self._own(memory_id), "versions": True})
        return tuple(map(record_from, shown["versions"]))

    def why(self, *, session: str = "", surface: str = "", limit: int = 10) -> tuple[RecallRecord, ...]:
        """Return the newest recalls: what was asked, what was given, and why not more.

        Args:
            session: id of a conversation of this program; "" = all recalls in the store. One user's memory needs it.
            surface: only this surface, such as `prompt` or `on_demand`; "" = all.
            limit: most recalls, up to 200.

        Raises:
            InvalidInput: if one user's memory is asked without a session.
        """
        if self._user is not None and not session:
            raise InvalidInput("Recalls of one user are found by their session.", hint="Give `session`.")
        name = f"{HOST}/{self._named(session)}" if session else None
        wanted = {"session": name, "surface": surface or None, "limit": limit, "whole": True}
        return tuple(map(recall_from, self._way.ask("GET", "/v1/traces", wanted)["traces"]))

    def export(self, form: str = "jsonl", *, cwd: str | os.PathLike[str] | None = "") -> str:
        """Return memories as text.

        A program that does not prove to be the user gets no memory that is restricted or belongs to one session. Then the first line
        says so, and a `UserWarning` is issued.

        Args:
            form: `jsonl` = all versions and relations, signed by this home, without loss; `markdown` = what is remembered now.
            cwd: only what may be seen from this folder; "" = everything in the store.

        Raises:
            InvalidInput: for another format.
        """
        place = self._at(None if self._user is not None and cwd == "" else cwd)
        text: str = self._way.ask("POST", "/v1/export", {"format": form, "cwd": place})["text"]
        if LEFT_OUT in text.partition("\n")[0]:
            warnings.warn(
                f"This export is not complete: {LEFT_OUT}. Open the memory with the token of `tacit token create`.",
                stacklevel=2,
            )
        return text

    def feedback(self, memory_id: str, *, useful: bool) -> None:
        """Say whether an injected memory was useful.

        Raises:
            NotFound: if there is none of this id.
        """
        self._way.ask("POST", "/v1/feedback", {"id": self._own(memory_id), "useful": useful})

    @property
    def items(self) -> ItemAccess:
        """Return the access to the items of programs: JSON objects under keys in namespaces. See `ItemAccess`.

        Raises:
            InvalidInput: if this is one user's memory; namespaces keep the items of users apart.
        """
        self._refuse_user("The items of a program")
        from tacit.library.engine_access import ItemAccess  # noqa: PLC0415 - only who asks for it pays for it

        return ItemAccess(self._way)

    @property
    def engine(self) -> Engine:
        """Return the engine, for everything else; only if the memory is open in this process.

        Raises:
            InvalidInput: if it is in the daemon, or this is one user's memory.
        """
        self._refuse_user("The engine")
        return self._here().engine

    @property
    def injection(self) -> Injection:
        """Return `inject_context` with its setters for budgets and weights of age; only if the memory is open in this process.

        Raises:
            InvalidInput: if it is in the daemon, or this is one user's memory.
        """
        self._refuse_user("The injection")
        return self._here().injection

    @property
    def aio(self) -> AsyncTacit:
        """Return the same memory for a program with an event loop: every call runs in a thread."""
        return AsyncTacit(self)

    def flush(self) -> None:
        """Wait until everything reported so far has been sent and, if the memory is open in this process, learned."""
        if not self._behind.closed:
            self._behind.flush()
            self._way.flush()

    def close(self) -> None:
        """Send what is still waiting, and close the memory. Does nothing if it is closed already, or for an object of `for_user`."""
        if not self._is_view and self._behind.close():
            self._way.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _here(self) -> LocalEngine:
        if not isinstance(self._way, LocalEngine):
            raise InvalidInput(
                "This memory is in the daemon.", hint="`Tacit.open()` opens one in this process."
            )
        return self._way

    def _at(self, cwd: str | os.PathLike[str] | None) -> str:
        if self._user is not None:
            return self._user.place(cwd)
        return self._cwd if cwd is None else _folder(cwd)

    def _named(self, session: str) -> str:
        """Return the session's id, made unique to the user of this object if there is one."""
        return self._user.session_id(session) if self._user is not None and session else session

    def _session_name(self, session: str) -> dict[str, str] | None:
        """Return the session as a request names it; None for an empty id."""
        return {"host": HOST, "session_id": self._named(session)} if session else None

    def _memory(self, memory_id: str) -> MemoryRecord:
        return record_from(self._way.ask("GET", MEMORY, {"id": memory_id})["memory"])

    def _scope(self, scope: str | None) -> str | None:
        if self._user is not None and scope is not None:
            raise InvalidInput("What belongs to one user has no other scope.", hint="Leave `scope` out.")
        own_session = scope is not None and scope.startswith("session:") and "/" not in scope
        return scope.replace(":", f":{HOST}/", 1) if scope is not None and own_session else scope

    def _own(self, memory_id: str) -> str:
        """Return the id of a memory if it belongs to the user of this object.

        Raises:
            NotFound: if it does not.
        """
        return memory_id if self._user is None and memory_id else self.get(memory_id).id

    def _refuse_user(self, what: str) -> None:
        if self._user is not None:
            raise InvalidInput(
                f"{what} cannot be used for one user.", hint="Use the memory that `for_user` was called on."
            )


# A program without types may pass anything: these checks name the argument, as the API names a field.


def _text(name: str, given: object) -> str:
    if isinstance(given, str):
        return given
    raise InvalidInput(f"`{name}` is {given!r}; expected a text.")


def _texts(name: str, given: object) -> tuple[str, ...]:
    """Return texts as a tuple; a single text counts as one, although it is a sequence of characters in Python.

    Raises:
        InvalidInput: it is anything else, `None` included; the message calls the argument `name`.
    """
    if isinstance(given, str):
        return (given,)
    if not isinstance(given, Iterable) or isinstance(given, Mapping):
        raise InvalidInput(f"`{name}` is {given!r}; expected a text, or several.")
    return tuple(_text(name, one) for one in cast("Iterable[object]", given))


def _folder(cwd: str | os.PathLike[str] | None) -> str:
    if cwd is None:
        return os.getcwd()  # noqa: PTH109 - a text is wanted
    # Programs without types: see above.
    if not isinstance(cwd, str | os.PathLike):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInput(f"`cwd` is {cwd!r}; expected a folder.")
    return os.path.abspath(cwd) if os.fspath(cwd) else ""  # noqa: PTH100 - "" must stay ""


# --- the memory of one user of a program


class UserSpace:
    """The names under which the memory of one user of a program is kept. Immutable; never reads the store."""

    def __init__(self, user: str, *, cwd_given: bool = False) -> None:
        """Take the name of the user.

        Raises:
            InvalidInput: for an empty or too long name, or if a folder is given as well.
        """
        if not is_user_name(user):
            raise InvalidInput(f"The name of a user is a text of 1 to {MAX_USER_CHARS} characters.")
        if cwd_given:
            self._refuse_folder()
        self._folder = f"{USER_FOLDER}{user}"
        self._project = user_project_id(user)

    def place(self, cwd: str | os.PathLike[str] | None) -> str:
        """Return the text that stands for the user in the place of a working folder.

        Raises:
            InvalidInput: if a folder is given.
        """
        if cwd is not None:
            self._refuse_folder()
        return self._folder

    def session_id(self, session: str) -> str:
        """Return the session's id with the user's project appended, so that no two users share a session."""
        return f"{session}@{self._project}"

    def own(self, memory: MemoryRecord, named: str) -> MemoryRecord:
        """Return `memory` if it belongs to this user. `named` is the id that was asked for.

        Raises:
            NotFound: if it does not.
        """
        if not self._owns(memory):
            raise NotFound(f"No memory is called {named!r}.", hint="`list()` shows the ids.")
        return memory

    def own_change(self, change_id: str, memories: Sequence[MemoryRecord]) -> None:
        """Check that a change wrote memories of this user alone.

        Raises:
            NotFound: if it did not.
        """
        if not memories or not all(map(self._owns, memories)):
            raise NotFound(
                f"There is no change {change_id}.", hint="Give the `change_id` of what a call returned."
            )

    def _owns(self, memory: MemoryRecord) -> bool:
        scope = Scope.parse(memory.scope)
        return scope == project_scope(self._project) or scope.project_id == self._project

    @staticmethod
    def _refuse_folder() -> None:
        raise InvalidInput("What belongs to one user belongs to no folder.", hint="Leave `cwd` out.")


# --- the thread behind

MOST_JOBS = 256
"""The most jobs that wait in the background; further ones are dropped, with a line in the log."""


class BackgroundThread:
    """A thread that runs jobs one after another, so that a program need not wait while the memory is told of finished turns.

    Safe to use from several threads; never raises for a job.
    """

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="tacit-library")
        self._waiting = 0
        self._lock = Lock()
        self.closed = False

    def later(self, job: Callable[[], object]) -> None:
        """Queue `job`. If too many are waiting, or after `close`, it is dropped with a line in the log."""
        with self._lock:
            if self.closed or self._waiting >= MOST_JOBS:
                _LOG.warning("a turn is not learned from: %s", "closed" if self.closed else "too many wait")
                return
            self._waiting += 1
            # Under the lock, so that `close` of another thread does not come between.
            self._thread.submit(self._run, job)

    def flush(self) -> None:
        """Wait until all jobs queued so far are done. Does nothing after `close`."""
        with self._lock:
            if self.closed:
                return
            told = self._thread.submit(lambda: None)
        told.result()

    def close(self) -> bool:
        """Run the queued jobs to their end, and take no more. Return False if it was closed before."""
        with self._lock:
            if self.closed:
                return False
            self.closed = True
        self._thread.shutdown(wait=True)
        return True

    def _run(self, job: Callable[[], object]) -> None:
        try:
            job()
        finally:
            with self._lock:
                self._waiting -= 1


# --- failures on the way


def log_no_answer(error: Exception) -> None:
    """Log that the memory did not answer because of `error`."""
    _LOG.warning("the memory gave no answer: %s: %s", type(error).__name__, error)


class DaemonFailureLog:
    """Logs failures on the way to a daemon. Safe to use from several threads; never raises.

    If no daemon runs, logs this once and says what to do, so that not every request repeats it.
    """

    def __init__(self, home: Home, *, starts: bool) -> None:
        """Log for the daemon of `home`; `starts` = a missing daemon is started automatically."""
        self._home = home
        self._starts = starts
        self._lock = Lock()
        self._said = False

    def __call__(self, error: Exception) -> None:
        """Log a failure. That no daemon runs is logged as a warning only once."""
        cause = error.__cause__ if isinstance(error, DaemonUnavailable) else error
        if not isinstance(cause, FileNotFoundError | ConnectionRefusedError):
            log_no_answer(error)
            return
        with self._lock:
            logged, self._said = self._said, True
        if logged:
            _LOG.debug("no Tacit daemon runs yet")
            return
        following = (
            "One is being started, and later requests find it; if not, `tacit doctor` says why."
            if self._starts
            else "`tacit list` starts one; `Tacit.connect()` does so by itself, `Tacit.open()` needs none."
        )
        _LOG.warning(
            "no Tacit daemon runs (nothing answers on %s): requests go out without memory. %s (Said once.)",
            self._home.transport().file,
            following,
        )


# --- the same with `await`


def _on_thread(
    method: Callable[Concatenate[Tacit, P], R],
) -> Callable[Concatenate[AsyncTacit, P], Coroutine[Any, Any, R]]:
    """Return the method with `await`, with the same arguments and the same result."""

    @wraps(method)
    async def run(self: AsyncTacit, /, *args: P.args, **kwargs: P.kwargs) -> R:
        from asyncio import to_thread  # noqa: PLC0415 - only who has an event loop pays for it

        return await to_thread(method, self.memory, *args, **kwargs)

    return run


class AsyncTacit:
    """`Tacit` with `await`; see there."""

    def __init__(self, memory: Tacit) -> None:
        """Wrap `memory`."""
        self.memory = memory

    remember = _on_thread(Tacit.remember)
    recall = _on_thread(Tacit.recall)
    context_for = _on_thread(Tacit.context_for)
    list = _on_thread(Tacit.list)
    get = _on_thread(Tacit.get)
    edit = _on_thread(Tacit.edit)
    forget = _on_thread(Tacit.forget)
    undo = _on_thread(Tacit.undo)
    history = _on_thread(Tacit.history)
    why = _on_thread(Tacit.why)
    export = _on_thread(Tacit.export)
    feedback = _on_thread(Tacit.feedback)
    flush = _on_thread(Tacit.flush)
    close = _on_thread(Tacit.close)

    async def prepare(
        self, session: Session, messages: Sequence[M], *, shape: MessageFormat = ROLE_CONTENT
    ) -> Prepared[M]:
        """See `Session.prepare`."""
        from asyncio import to_thread  # noqa: PLC0415 - see above

        return await to_thread(session.prepare, messages, shape=shape)
