"""The named values of a store: how one is declared, read and written, the list of all of them, and the requests that cost money."""

from __future__ import annotations

import hashlib
import json
import logging
import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from threading import Event, Lock
from typing import Annotated, Any, Final, Generic, TypeVar, TypeVarTuple, cast

import msgspec

from tacit.errors import InvalidScope, ProviderError, StoreError, TacitError
from tacit.frozen import frozen
from tacit.model.item import Item
from tacit.model.scope import Scope, ScopeKind
from tacit.model.session import SessionKey
from tacit.ports.clock import Clock
from tacit.ports.store import Salvage, Step, ValueChanges, ValueName, ValueStore, no_step
from tacit.ports.writer import Writer, WriterAnswer, WriterRequest
from tacit.state.captured import (
    BranchState,
    Checkpoint,
    ComparisonQueue,
    PendingSession,
    RuleFileState,
    StatementOutcome,
    TeamFileState,
    TeamState,
    UnfixedFailure,
)
from tacit.state.counted import (
    PAUSE_MS,
    Marks,
    SessionCounts,
    SessionSpending,
    SessionUsage,
    Spending,
    Totals,
    Verdict,
)

# Named values: a name, an owner, and a codec. In: a declaration. Out: readers and writers.
#
# A named value is a small text that the store keeps under a name, beside memories and sessions. `registry` declares each of them
# once; only a declaration makes a `ValueName`, so nothing is stored under a name that nobody declared. A text that cannot be read
# counts as missing. Never decides what is stored.

T = TypeVar("T")
Ks = TypeVarTuple("Ks")


@frozen
class KeyedBy(Generic[*Ks]):
    """What a value belongs to (`owner`), and the types of its key's parts. `parts` = least number of parts in the stored name."""

    owner: str
    parts: int = 1


@frozen
class Codec(Generic[T]):
    """How a value is turned into text (`write`) and back (`read`); `empty` makes the value for a missing text.

    `read` may raise ValueError or MsgspecError if the text holds no such value.
    """

    read: Callable[[str], T]
    write: Callable[[T], str]
    empty: Callable[[], T]


def as_json(kind: type[T], *, empty: Callable[[], T] | None = None) -> Codec[T]:
    """Return a codec that stores values of the type `kind` as JSON.

    Args:
        kind: a dataclass, or a collection of some.
        empty: makes the value that stands for a missing text; None = `kind` itself does.
    """

    def read(text: str) -> T:
        try:
            return msgspec.json.decode(text, type=kind, strict=False)
        except (
            msgspec.DecodeError
        ):  # half of a surrogate pair is written as an escape, which only `json` reads
            return msgspec.convert(json.loads(text), kind, strict=False)

    def write(value: T) -> str:
        try:
            return msgspec.json.encode(value).decode()
        except UnicodeEncodeError:
            return json.dumps(msgspec.to_builtins(value))

    return Codec(read=read, write=write, empty=empty or kind)


@frozen
class NamedValue(Generic[T, *Ks]):
    """The declaration of a named value: its name, owner and codec; reads and writes it in a store.

    It is one value of the home, or a family with one value for each key.

    Attributes:
        prefix: the name, or its beginning where a key follows.
        keyed_by: what it belongs to, and the parts of its key. A purge of a session, a project or a scope deletes what belongs to it.
        codec: how it is written and read.
        words: whether it may hold words that somebody said: a purge and a rescan take out of it what has to go.
        with_session: whether upkeep removes it together with the live record of its session. All others stay until their writer removes them.
        most: most entries of a collection; the last ones are kept. 0 = no limit.
    """

    prefix: str
    keyed_by: KeyedBy[*Ks]
    codec: Codec[T]
    words: bool
    with_session: bool = False
    most: int = 0

    def name(self, *key: *Ks) -> ValueName:
        """Return the name under which the store keeps the value of `key`."""
        return ValueName(self.prefix + "/".join(str(part) for part in key))

    def names(self, store: ValueStore, *first: str) -> tuple[ValueName, ...]:
        """Return the names of the stored values whose key begins with the parts `first`; without any, of all."""
        prefix = self.prefix + "".join(f"{part}/" for part in first)
        return tuple(map(ValueName, store.value_names(prefix)))

    def matches(self, name: str) -> bool:
        """Whether the stored name `name` may belong to this declaration; see `declaration_of`."""
        if not self.keyed_by.parts:
            return name == self.prefix
        return name.startswith(self.prefix) and name.count("/", len(self.prefix)) + 1 >= self.keyed_by.parts

    def find(self, store: ValueStore, *key: *Ks) -> T | None:
        """Return the stored value of `key`; None = there is none, or it cannot be read."""
        return self.parse(store.get_value(self.name(*key)))

    def read(self, store: ValueStore, *key: *Ks) -> T:
        """Return the stored value of `key`; the empty one if there is none, or it cannot be read."""
        stored = self.find(store, *key)
        return self.codec.empty() if stored is None else stored

    def every(self, store: ValueStore) -> Iterator[T]:
        """Yield all stored values that can be read, in the order of their names."""
        for name in self.names(store):
            stored = self.parse(store.get_value(name))
            if stored is not None:
                yield stored

    def is_stored(self, store: ValueStore, *key: *Ks) -> bool:
        """Whether anything is stored for `key`, readable or not."""
        return store.get_value(self.name(*key)) is not None

    def change(self, value: T | None, *key: *Ks) -> ValueChanges:
        """Return `{stored name: text}` to hand to a write of the store, which makes `value` the whole value of `key`.

        Writes nothing itself. None and empty values give the text None, which removes the value.
        """
        return {self.name(*key): self.text(value)}

    def write(self, store: ValueStore, value: T | None, *key: *Ks) -> None:
        """Store `value` for `key` in a transaction of its own; None and empty values remove it."""
        store.put_value(self.name(*key), self.text(value))

    def text(self, value: T | None) -> str | None:
        """Return the text to store for `value`, limited to `most` entries; None = nothing is stored, for None and empty values."""
        if value is None or value in ((), {}, ""):
            return None
        return self.codec.write(self._limited(value))

    def _limited(self, value: T) -> T:
        if self.most and isinstance(value, tuple):
            return cast("T", value[-self.most :])
        if self.most and isinstance(value, dict):
            return cast("T", dict(list(cast("dict[str, object]", value).items())[-self.most :]))
        return value

    def parse(self, text: str | None) -> T | None:
        """Return the value that a stored `text` holds; None = there is no text, or it cannot be read. Never raises for bad text."""
        if text is None:
            return None
        try:
            return self.codec.read(text)
        except (
            msgspec.MsgspecError,
            TacitError,
            ValueError,
            TypeError,
            LookupError,
            AttributeError,
            RecursionError,
        ):
            return None


# The stored form of items. In: an item. Out: its text, and back. Pure.
#
# Objects are written as lists of pairs, because a purge and a rescan clean the texts in lists, but not the names of fields. In an item they
# must clean every text, including the program's field names.

_OBJECT, _LIST = "o", "l"


def _read(text: str) -> Item | None:
    namespace, key, value, created, updated, memory_id, statement = json.loads(text)
    return Item(
        namespace=tuple(namespace),
        key=key,
        value=_unpaired(value),
        created_at_ms=created,
        updated_at_ms=updated,
        memory_id=memory_id,
        text=statement,
    )


def _write(item: Item | None) -> str:
    assert item is not None
    fields = [
        list(item.namespace),
        item.key,
        _paired(item.value),
        item.created_at_ms,
        item.updated_at_ms,
        item.memory_id,
        item.text,
    ]
    return json.dumps(fields, separators=(",", ":"))


def _paired(value: object) -> object:
    if isinstance(value, Mapping):
        pairs = cast("Mapping[str, object]", value).items()
        return [_OBJECT, [[name, _paired(inner)] for name, inner in pairs]]
    if isinstance(value, list):
        return [_LIST, [_paired(inner) for inner in cast("list[object]", value)]]
    return value


def _unpaired(value: object) -> Any:
    if not isinstance(value, list):
        return value
    mark, inner = cast("list[Any]", value)
    if mark == _OBJECT:
        return {name: _unpaired(one) for name, one in inner}
    return [_unpaired(one) for one in inner]


ITEM_CODEC: Codec[Item | None] = Codec(read=_read, write=_write, empty=lambda: None)


# Every named value of the store, declared once: name, owner, and codec.
#
# In: keys, stored names. Out: declarations. A purge, a rescan, upkeep and `status` walk `DECLARED`. An export holds memories and what
# belongs to them, and no named value: they describe this home. A backup holds all of them. The names and forms stand in existing
# homes: from the first release on, neither changes without an upgrade.

MOST_KEYS = 4000
SUMS = 7
"""Number of sums that are kept for a placement and day; see `tacit.session.cache_meter`."""

Days = Mapping[str, Mapping[str, tuple[int, ...]]]
_STORED_DAYS: type[Days] = Mapping[
    str, Mapping[str, Annotated[tuple[int, ...], msgspec.Meta(min_length=SUMS, max_length=SUMS)]]
]

HOME: KeyedBy[()] = KeyedBy(owner="home", parts=0)
HOST: KeyedBy[str] = KeyedBy(owner="host")
SESSION: KeyedBy[SessionKey] = KeyedBy(owner="session", parts=2)
CONVERSATION: KeyedBy[str] = KeyedBy(owner="conversation")
"""A session with its forks and resumed copies, known by the key of its first utterance."""
HOST_FILE: KeyedBy[str, str] = KeyedBy(owner="host", parts=2)
PROJECT: KeyedBy[str] = KeyedBy(owner="project")
PROJECT_FILE: KeyedBy[str, str] = KeyedBy(owner="project", parts=2)
SCOPE: KeyedBy[Scope] = KeyedBy(owner="scope")
SHARD: KeyedBy[str] = KeyedBy(owner="home")
ITEM_KEY: KeyedBy[str, str] = KeyedBy(owner="scope", parts=2)
"""The labels of a namespace, quoted and joined by slashes, and a quoted key."""
IMPORTED_FROM: KeyedBy[str] = KeyedBy(owner="home", parts=2)
"""A tool, the hash of a scope, and a number where one value does not hold all."""


_TEXT: Final = Codec(read=str, write=str, empty=str)
_TEXTS: Final = as_json(tuple[str, ...])
_TIME: Final = as_json(int)
_BY_COMMAS: Final[Codec[tuple[str, ...]]] = Codec(
    read=lambda text: tuple(part for part in text.split(",") if part), write=",".join, empty=tuple
)
KEY_CHARS = 12
_RUN_TOGETHER: Final[Codec[tuple[str, ...]]] = Codec(
    read=lambda text: tuple(text[at : at + KEY_CHARS] for at in range(0, len(text), KEY_CHARS)),
    write="".join,
    empty=tuple,
)

# --- the home and its store

COPIES: Final = NamedValue(prefix="copies", keyed_by=HOME, codec=_TEXTS, words=False, most=200)
"""Files that backups and exports were written to, oldest first: a purge cleans them, too."""
DAMAGED_STORE: Final = NamedValue(
    prefix="damaged_store",
    keyed_by=HOME,
    codec=as_json(Salvage, empty=lambda: Salvage(aside="")),
    words=False,
)
"""What was saved from the damaged store before this one; removed when a backup is restored."""
SALVAGE_SHOWN: Final = NamedValue(prefix="told_salvage", keyed_by=HOME, codec=_TEXT, words=False)
"""The damaged file that the user was told about at a session start."""
TOOLS_LISTED: Final = NamedValue(prefix="tools/", keyed_by=HOST, codec=_TIME, words=False)
"""When a host listed Tacit's tools last, in milliseconds since the Unix epoch."""
HOST_MEMORY: Final = NamedValue(
    prefix="host-memory/", keyed_by=HOST_FILE, codec=as_json(RuleFileState), words=False
)
"""The notes that were read from a file of a host's own memory, by a hash of its key. Removed when the file is deleted."""
PAIRS_SHOWN: Final = NamedValue(
    prefix="pairs",
    keyed_by=HOME,
    codec=as_json(Mapping[str, tuple[str, ...]], empty=dict),
    words=False,
    most=2000,
)
"""The sessions that were told of two memories that may not both hold, by the ids of both."""
VERDICTS: Final = NamedValue(
    prefix="feedback/verdicts", keyed_by=HOME, codec=as_json(tuple[Verdict, ...]), words=False, most=2000
)
"""What the owner said of injections: ids, numbers and times."""
IMPORTED: Final = NamedValue(prefix="imported/", keyed_by=IMPORTED_FROM, codec=_RUN_TOGETHER, words=False)
"""Hashes of the statements that an import of a tool brought into a scope: they are not imported again."""

# --- projects

FIRST_SESSION: Final = NamedValue(prefix="announced:", keyed_by=PROJECT, codec=_TIME, words=False)
"""When the first session of a project was announced to the user; the key is empty outside of projects."""
RELATED_SHOWN: Final = NamedValue(prefix="told:", keyed_by=PROJECT, codec=_TEXT, words=True)
"""What the last session start said about memories that may belong to the project."""
NOTED_SHOWN: Final = NamedValue(prefix="told_notes:", keyed_by=PROJECT, codec=_TIME, words=False)
"""Time of the newest agent's note that the user was told about at a session start."""
FOLLOWED_FOLDER: Final = NamedValue(prefix="init:", keyed_by=PROJECT, codec=_TEXT, words=False)
"""The folder in which the project was set up: its rule files are followed."""
LANGUAGES: Final = NamedValue(prefix="languages:", keyed_by=PROJECT, codec=_BY_COMMAS, words=False)
"""Languages of the project's files."""
ROOT_COMMITS: Final = NamedValue(prefix="root-commits:", keyed_by=PROJECT, codec=_BY_COMMAS, words=False)
"""The first commits of the project's repository: by them it is recognized when its folder was renamed."""
RULE_FILES: Final = NamedValue(prefix="rules/", keyed_by=PROJECT, codec=_TEXTS, words=True)
"""Paths of the rule files that were imported from a project."""
RULE_FILE: Final = NamedValue(
    prefix="rules/", keyed_by=PROJECT_FILE, codec=as_json(RuleFileState), words=False
)
"""What was imported from one rule file; removed once the file is gone."""
TEAM_FILES: Final = NamedValue(
    prefix="team-files/", keyed_by=PROJECT, codec=as_json(Mapping[str, TeamFileState], empty=dict), words=True
)
"""What was imported from the team files of a project, by path."""
TEAMS: Final = NamedValue(
    prefix="teams", keyed_by=HOME, codec=as_json(Mapping[str, TeamState], empty=dict), words=False
)
"""What this home knows about each team on a server, by the name of the team."""
LOST_SHOWN: Final = NamedValue(prefix="told_lost", keyed_by=HOME, codec=_BY_COMMAS, words=False)
"""Ids of memories of the user's own that a restored server lost, as the user was told at a session start."""
TEAMS_HEARD: Final = NamedValue(prefix="teams-heard", keyed_by=HOME, codec=_TIME, words=False)
"""When the server of the teams was last reached, in milliseconds since the epoch, accurate to an hour."""
TEAM_PURGES: Final = NamedValue(prefix="team-purges", keyed_by=HOME, codec=_TEXTS, words=False, most=10_000)
"""Ids of memories that a team purged on this device, or that this device purged on the server.

If the user made one of them their own on another device, it stays there. If a restored server shares one again, this device purges it there again."""
TEAM_JOINED: Final = NamedValue(prefix="team-joined/", keyed_by=PROJECT, codec=_TEXT, words=True)
"""The folder in which the user joined the team of the project."""
BRANCHES: Final = NamedValue(
    prefix="branches/", keyed_by=PROJECT, codec=as_json(Mapping[str, BranchState], empty=dict), words=True
)
"""The unmerged branches of a project that memories are bound to, by name. An entry is removed when its branch is merged."""
RULES_CONFIRMED: Final = NamedValue(prefix="rules-confirmed/", keyed_by=PROJECT, codec=_TEXT, words=True)
"""The folder whose rule files the user confirmed."""
HOLDOUT_ERRORS: Final = NamedValue(
    prefix="trial/errors/",
    keyed_by=PROJECT,
    codec=as_json(Mapping[str, tuple[str, int]], empty=dict),
    words=False,
    most=MOST_KEYS,
)
"""Hashes of the errors of a project, with the hash of the session and the turn in which each came up first."""

# --- scopes

REJECTED: Final = NamedValue(prefix="capture/rejected/", keyed_by=SCOPE, codec=_TEXTS, words=True, most=300)
"""Statements that the user rejected: they are not learned again."""
PENDING: Final = NamedValue(
    prefix="capture/failures/", keyed_by=SCOPE, codec=as_json(tuple[UnfixedFailure, ...]), words=True, most=40
)
"""Failures that wait for their fix, oldest first; upkeep forgets them after `PENDING_FIX_DAYS`."""

ITEM: Final = NamedValue(prefix="items/", keyed_by=ITEM_KEY, codec=ITEM_CODEC, words=True)
"""A JSON object that a program keeps under a key in a namespace; the program deletes it."""

# --- sessions and conversations

CHECKPOINT: Final = NamedValue(
    prefix="capture/session/", keyed_by=SESSION, codec=as_json(Checkpoint), words=True
)
"""How far a session was captured. It outlives the live record: a host keeps transcripts for longer."""
CAPTURED_AT_ONCE: Final = NamedValue(
    prefix="capture/said/", keyed_by=SESSION, codec=_TEXTS, words=False, most=MOST_KEYS
)
"""Hashes of the statements that were captured from a session while it ran."""
UTTERANCES_SEEN: Final = NamedValue(
    prefix="capture/seen/", keyed_by=CONVERSATION, codec=_TEXTS, words=False, most=MOST_KEYS
)
"""Keys of the utterances that were captured from a conversation, so that a fork adds nothing twice."""
REQUESTS_COUNTED: Final = NamedValue(
    prefix="capture/requests/", keyed_by=CONVERSATION, codec=_TEXTS, words=False, most=MOST_KEYS
)
"""Marks of the counted requests to the host's model, so that a turn that is read again counts each only once."""
WAITING: Final = NamedValue(
    prefix="capture/unread/", keyed_by=SESSION, codec=as_json(PendingSession), words=True
)
"""The messages of a session that wait for the writer."""
SESSION_SPENDING: Final = NamedValue(
    prefix="capture/written/", keyed_by=SESSION, codec=as_json(SessionSpending), words=True
)
"""What the writer has cost on a session. It says that the session was written up, so it outlives the live record."""
OUTCOMES: Final = NamedValue(
    prefix="capture/learned/",
    keyed_by=SESSION,
    codec=as_json(tuple[StatementOutcome, ...]),
    words=True,
    with_session=True,
    most=500,
)
"""What became of the statements of a session. Repeating a statement of the same session does not count again."""
USAGE: Final = NamedValue(
    prefix="usage/session/", keyed_by=SESSION, codec=as_json(SessionUsage), words=False, with_session=True
)
"""Which memories a session used, and hashes of the words that came up."""

# --- accounts and counts of the home

SPENDING: Final = NamedValue(prefix="capture/extractor", keyed_by=HOME, codec=as_json(Spending), words=True)
"""What the writer has cost and brought."""
ANTICIPATION_SPENDING: Final = NamedValue(
    prefix="recall/anticipate", keyed_by=HOME, codec=as_json(Spending), words=True
)
"""What the model in the pause has cost, and how many memories it named."""
JUDGE_SPENDING: Final = NamedValue(prefix="recall/judge", keyed_by=HOME, codec=as_json(Spending), words=True)
"""What the model at the prompt has cost, and how many memories it named."""
COMPARISONS: Final = NamedValue(
    prefix="capture/compare", keyed_by=HOME, codec=as_json(ComparisonQueue), words=False
)
"""The statements that wait to be compared, and how far statements were looked at."""
TOTALS: Final = NamedValue(prefix="usage/totals", keyed_by=HOME, codec=as_json(Totals), words=False)
"""How many memories were injected and used, over all sessions."""
HOLDOUT_SESSIONS: Final = NamedValue(
    prefix="trial/sessions/",
    keyed_by=SHARD,
    codec=as_json(Mapping[str, SessionCounts], empty=dict),
    words=False,
    most=200,
)
"""Counts of sessions with memory and without, the newest last."""
CACHE_DAYS: Final = NamedValue(
    prefix="trial/cache", keyed_by=HOME, codec=as_json(_STORED_DAYS, empty=dict), words=False, most=120
)
"""How much of its requests a prompt cache could keep, counted by the middleware, by day and placement."""
MARKS: Final = NamedValue(
    prefix="charts/marks", keyed_by=HOME, codec=as_json(Marks, empty=Marks), words=False
)
"""Changes of settings and imports, for charts."""
CACHE_DAYS_OF_HOSTS: Final = NamedValue(
    prefix="trial/cache/hosts", keyed_by=HOME, codec=as_json(_STORED_DAYS, empty=dict), words=False, most=120
)
"""The same counts from the transcripts of hosts, by day and host. Written with the checkpoint of what was read."""

Declaration = NamedValue[Any, *tuple[Any, ...]]
DECLARED: Final[tuple[Declaration, ...]] = tuple(
    cast("Declaration", value) for value in list(globals().values()) if isinstance(value, NamedValue)
)
"""All named values that are declared in this module."""


def file_key(path: str) -> str:
    """Return the part of a key that stands for the file at `path`: 16 hexadecimal digits of a hash."""
    return hashlib.sha256(path.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def declaration_of(name: str) -> Declaration | None:
    """Return the declaration that the stored name `name` belongs to; None = undeclared, so another version stored it."""
    matching = (declaration for declaration in DECLARED if declaration.matches(name))
    return max(
        matching, key=lambda declaration: (len(declaration.prefix), declaration.keyed_by.parts), default=None
    )


def undeclared(store: ValueStore) -> tuple[str, ...]:
    """Return the names of stored values that begin with no declared prefix."""
    prefixes = tuple(declaration.prefix for declaration in DECLARED)
    return tuple(name for name in store.value_names("") if not name.startswith(prefixes))


def may_hold_words(name: str) -> bool:
    """Whether the stored value `name` may hold words that somebody said; True for an undeclared name."""
    declaration = declaration_of(name)
    return declaration is None or declaration.words


def names_of_sessions(store: ValueStore, keys: Iterable[SessionKey]) -> list[ValueName]:
    """Return the names of the stored values that a purge of these sessions deletes."""
    names = [
        value.name(key if value.keyed_by is SESSION else Scope(kind=ScopeKind.SESSION, key=str(key)))
        for key in keys
        for value in DECLARED
        if value.keyed_by in (SESSION, SCOPE)
    ]
    return [name for name in names if store.get_value(name) is not None]


def names_of_project(store: ValueStore, project_id: str) -> list[ValueName]:
    """Return the names of the stored values that a purge of this project deletes, with those of its paths and tasks."""
    names: list[ValueName] = []
    for value in DECLARED:
        if value.keyed_by is PROJECT:
            names.append(value.name(project_id))
        elif value.keyed_by is PROJECT_FILE:
            names += value.names(store, project_id)
        elif value.keyed_by is SCOPE:
            names += [
                name for name in value.names(store) if _project_of(name[len(value.prefix) :]) == project_id
            ]
    return [name for name in names if store.get_value(name) is not None]


def forget_session(store: ValueStore, key: SessionKey) -> None:
    """Delete from the store the values that are kept only as long as the live record of the session."""
    for value in DECLARED:
        if value.with_session:
            value.write(store, None, key)


def _project_of(scope: str) -> str | None:
    try:
        return Scope.parse(scope).project_id
    except InvalidScope:
        return None


# Sends paid requests, keeps to the daily token limit, and waits after a failure. In: requests. Out: answers.
#
# Each use of a model has an account of its own: a named value that holds a `Spending`.

_LOG = logging.getLogger(__name__)


class PaidModel:
    """Asks one model for one store and keeps its account in the store.

    The caller must hold the lock `asking` from `begin` to the end: `begin`, `reserve`, `ask`, then `settle` or `settled`.
    """

    def __init__(
        self,
        *,
        writer: Writer,
        account: NamedValue[Spending],
        tokens_per_day: int,
        store: ValueStore,
        clock: Clock,
        pause_ms: int = PAUSE_MS,
        step: Step = no_step,
    ) -> None:
        """Use `writer` for at most `tokens_per_day` input tokens a day; after a failure pause `pause_ms`, longer after further ones."""
        self.asking = Lock()
        self.writer = writer
        self._account = account
        self._tokens_per_day = tokens_per_day
        self._pause_ms = pause_ms
        self._store = store
        self._clock = clock
        self._step = step
        self._stopped = Event()

    def stop(self) -> None:
        """Allow no further requests, because the store is being closed. A request that fails from then on is not counted as a failure."""
        self._stopped.set()

    @property
    def stopped(self) -> bool:
        """Whether `stop` was called."""
        return self._stopped.is_set()

    def begin(self, *, at_once: bool) -> Spending | None:
        """Return today's account; None = no request is allowed now. `at_once` = ignore the pause after a failure."""
        now_ms = self._clock.now_ms()
        spent = self._account.read(self._store).as_of(now_ms)
        if self.stopped or (now_ms < spent.paused_until_ms and not at_once):
            return None
        return spent

    def reserve(self, tokens: int, spent: Spending) -> Spending | None:
        """Reserve `tokens` for a request, store the account and return it; None = the day's tokens do not suffice, which is stored, too."""
        if spent.tokens + tokens > self._tokens_per_day:
            self._keep(replace(spent, over_budget=spent.over_budget + 1))
            return None
        reserved = replace(
            spent, tokens=spent.tokens + tokens, asked=spent.asked + 1, paused_until_ms=0, error=""
        )
        self._keep(reserved)
        self._step("tokens reserved")
        return reserved

    def ask(
        self, request: WriterRequest, reserved: Spending, *, read: Callable[[str], T]
    ) -> tuple[WriterAnswer, T]:
        """Send the request and return the answer and what `read` makes of its text. Blocks until the answer.

        Raises:
            ProviderError: by the writer or `read`; the failure is then stored on the account, unless `stop` was called.
        """
        try:
            answer = self.writer.write(request)
            content = read(answer.text)
        except ProviderError as error:
            if not self.stopped:
                _LOG.warning(
                    "the writer failed: %s", error.reason or error.code, extra={"detail": str(error)}
                )
                self.fail(reserved, str(error))
            raise
        self._step("answer read")
        return answer, content

    def fail(self, reserved: Spending, error: str) -> None:
        """Store a failed request on the account, which begins or lengthens the pause."""
        self._keep(reserved.after_failure(error, now_ms=self._clock.now_ms(), pause_ms=self._pause_ms))

    @contextmanager
    def counting_errors(self) -> Generator[None]:
        """Return a context manager: an error that leaves it is stored on the account as a failure, and raised; what was reserved stays spent.

        After `stop`, and for an error of the store, nothing is stored.
        """
        done = False
        try:
            yield
            done = True
        finally:
            if not done:
                self._fail_unexpectedly(sys.exception())

    def _fail_unexpectedly(self, error: BaseException | None) -> None:
        _LOG.error("a request to a model broke: %s", type(error).__name__, extra={"detail": str(error)})
        if not (self.stopped or isinstance(error, StoreError)):
            spent = self._account.read(self._store).as_of(self._clock.now_ms())
            self.fail(spent, f"The writer broke: {type(error).__name__}.")

    def settling_changes(
        self, answer: WriterAnswer, tokens: int, *, reserved: Spending, accepted: int, dropped: int
    ) -> ValueChanges:
        """Return the changes that replace the `tokens` reserved for a request by what the answer really cost, to be stored together with its results.

        `reserved` = the account as `reserve` returned it. `settle` writes them at once.
        """
        return self._account.change(
            replace(_counted(answer, tokens, reserved, accepted, dropped), in_a_row=0)
        )

    def settle(
        self,
        answer: WriterAnswer,
        tokens: int,
        *,
        reserved: Spending,
        accepted: int,
        dropped: int,
        failure: str = "",
    ) -> None:
        """Store the account after an answer; `failure` = why it could not be used, which counts as a failed request; "" = it could."""
        counted = _counted(answer, tokens, reserved, accepted, dropped)
        if failure:
            self.fail(counted, failure)
        else:
            self._keep(replace(counted, in_a_row=0))

    def _keep(self, spending: Spending) -> None:
        self._account.write(self._store, spending)


def _counted(answer: WriterAnswer, tokens: int, reserved: Spending, accepted: int, dropped: int) -> Spending:
    return replace(
        reserved,
        tokens=reserved.tokens - tokens + (answer.tokens_in or tokens),
        tokens_out=reserved.tokens_out + answer.tokens_out,
        kept=reserved.kept + accepted,
        dropped=reserved.dropped + dropped,
    )
