"""The exception tree. Every error has a stable `code` and a message that says what to do.

TacitError
 ├── InvalidInput            what the caller gave cannot be used
 │    ├── UnknownKind        a kind that no registry entry names
 │    ├── UnknownSetting     a configuration key that does not exist
 │    ├── InvalidSetting     a configuration value of the wrong type or range
 │    ├── InvalidScope       a scope that cannot be parsed
 │    └── InvalidPayload     a host payload that cannot be read
 ├── Conflict                a later change touched the same memory
 ├── NotFound                no such memory, session, trace or preset
 │    └── Ambiguous          several have the name that was given
 ├── RefusedByTrust          the trust tier does not allow this
 ├── RefusedByRedaction      a secret was found and nothing was stored
 ├── StoreError              the store cannot serve
 │    ├── StoreCorrupt       the database file is damaged
 │    ├── StoreFull          no space is left on the device
 │    ├── StoreReadOnly      the store or its folder cannot be written
 │    ├── StoreBusy          another writer holds the lock for too long
 │    ├── StoreNewer         the schema was written by a newer Tacit
 │    └── NotABackup         a file to restore from holds no Tacit store
 ├── ProviderError           an embedder, reranker or writer failed
 │    └── EmbedderMismatch   the stored vectors belong to another embedder
 ├── DaemonError             the daemon cannot be reached or refuses
 │    ├── DaemonUnavailable  nothing answers, and it could not be started in time
 │    └── DaemonNewer        a newer daemon runs; this version steps back
 ├── SyncError               devices or a server do not agree, or cannot be reached
 │    ├── LogForked          two devices wrote to one log
 │    └── NotLoggedIn        the server does not know the device, or no longer
 ├── DeadlineExceeded        the work did not finish in its time
 └── HostError               a host's files cannot be read or written as needed

Expected outcomes (skip, drop) are values, never exceptions.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Literal, cast

UPGRADE = "Upgrade this Tacit: in a clone of its newest version, run `uv tool install --reinstall ./packages/tacit-memory`."


def install_extra(extra: str) -> str:
    """Return the hint for a missing optional dependency group `extra`: the command that installs it from the user's clone, as Tacit is on no package index yet."""
    return f'Install `tacit-memory[{extra}]` from your clone of Tacit: run `uv tool install --reinstall "./packages/tacit-memory[{extra}]"` there.'


class TacitError(Exception):
    """Base of all errors that Tacit raises on purpose. `hint` says what to do about it."""

    code: ClassVar[str] = "error"

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".strip()


class InvalidInput(TacitError):
    """What the caller gave cannot be used."""

    code = "invalid_input"


class UnknownKind(InvalidInput):
    """A kind of memory was named that the registry of kinds does not hold."""

    code = "unknown_kind"


class UnknownSetting(InvalidInput):
    """A setting was named that does not exist."""

    code = "unknown_setting"


class InvalidSetting(InvalidInput):
    """A setting was given a value of the wrong type or outside its range."""

    code = "invalid_setting"


class InvalidScope(InvalidInput):
    """A scope cannot be parsed: an unknown kind, or a missing key."""

    code = "invalid_scope"


class InvalidPayload(InvalidInput):
    """A payload that a host sent cannot be read."""

    code = "invalid_payload"


class Conflict(TacitError):
    """The request relies on a state that a later change has replaced."""

    code = "conflict"


class NotFound(TacitError):
    """The memory, session, trace, preset or file that was asked for does not exist, or is not visible to the caller."""

    code = "not_found"


class Ambiguous(NotFound):
    """Several memories or sessions have the name that was given."""

    code = "ambiguous"


class RefusedByTrust(TacitError):
    """The caller's trust tier, or that of a statement, does not allow this change."""

    code = "refused_by_trust"


class NotPermitted(TacitError):
    """The caller's role in a team does not allow this."""

    code = "not_permitted"


class RefusedByRedaction(TacitError):
    """A secret was found and nothing was stored."""

    code = "refused_by_redaction"


class StoreError(TacitError):
    """The store cannot be used."""

    code = "store_error"


class StoreCorrupt(StoreError):
    """The database file is damaged."""

    code = "store_corrupt"


class StoreFull(StoreError):
    """The store could not write because no space is left on the device."""

    code = "store_full"


class StoreReadOnly(StoreError):
    """The store or its folder cannot be written."""

    code = "store_read_only"


class StoreBusy(StoreError):
    """Another writer held the lock for too long."""

    code = "store_busy"


class StoreNewer(StoreError):
    """The store's schema was written by a newer Tacit; this version refuses to open it."""

    code = "store_newer"


class NotABackup(StoreError):
    """The file that should be restored or cleaned as a backup holds no Tacit store."""

    code = "not_a_backup"


FailureReason = Literal["", "missing", "not logged in", "timed out", "refused", "garbage"]
"""Why a model gave no answer: no client or server, no login, no time left, a refusal or rate limit, an unusable answer."""


class ProviderError(TacitError):
    """An embedder, reranker or writer failed. `reason` holds the cause if it is known."""

    code = "provider_error"

    def __init__(self, message: str, *, hint: str = "", reason: FailureReason = "") -> None:
        super().__init__(message, hint=hint)
        self.reason: FailureReason = reason


class EmbedderMismatch(ProviderError):
    """The stored vectors belong to another embedder; `tacit doctor --reindex` renews them."""

    code = "embedder_mismatch"


class DaemonError(TacitError):
    """The daemon cannot be reached or refuses."""

    code = "daemon_error"


class DaemonUnavailable(DaemonError):
    """Nothing answers on the socket, and a daemon could not be started in time."""

    code = "daemon_unavailable"


class DaemonNewer(DaemonError):
    """A daemon of a newer version runs; this version sends it nothing and does not replace it."""

    code = "daemon_newer"


class SyncError(TacitError):
    """Devices do not agree, or the server cannot be reached."""

    code = "sync_error"


class LogForked(SyncError):
    """Two different entries of one device's log have the same number: its home was copied, or restored from an old backup."""

    code = "log_forked"


class UnreadableEntry(SyncError):
    """An entry of a log cannot be decrypted, or its encrypted content contradicts its open header."""

    code = "unreadable_entry"


class NotLoggedIn(SyncError):
    """The sync server does not accept a device's token or an invitation code: it is unknown, already used, expired, or revoked."""

    code = "not_logged_in"


class DeadlineExceeded(TacitError):
    """The work did not finish before its deadline."""

    code = "deadline_exceeded"


class HostError(TacitError):
    """A host's files cannot be read or written as needed."""

    code = "host_error"


def error_of(problem: object, status: int) -> TacitError:
    """Return the error that `problem`, the JSON body of a failed reply, describes by its `code`; without a known code a `DaemonError`.

    Without a message in it, the error names the HTTP `status`.
    """
    fields = cast("dict[str, object]", problem) if isinstance(problem, dict) else {}
    kinds: dict[str, type[TacitError]] = {}
    for each in _kinds(TacitError):
        kinds.setdefault(each.code, each)
    kind = kinds.get(str(fields.get("code", "")), DaemonError)
    message = str(fields.get("detail", "")) or f"The daemon answered with status {status}."
    return kind(message, hint=str(fields.get("hint", "")))


def _kinds(kind: type[TacitError]) -> Iterator[type[TacitError]]:
    yield kind
    for below in kind.__subclasses__():
        yield from _kinds(below)
