"""The only composition root: names concrete backends, providers and hosts, and puts an `Engine` together."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import cast

from tacit.app.engine import Engine
from tacit.app.prerender import remove_blocks
from tacit.app.redaction import Redactors, outgoing
from tacit.app.values import Parts
from tacit.config.environment import secret
from tacit.config.home import Home
from tacit.config.plugins import HOSTS, STORES
from tacit.config.reload import SettingsWatcher
from tacit.config.settings import WriterSettings, kind_registry
from tacit.errors import StoreCorrupt, StoreError
from tacit.hosts.library import Library
from tacit.hosts.plain import Plain
from tacit.hosts.registry import BUILT_IN, HostFolders
from tacit.ports.clock import Clock
from tacit.ports.host import Host
from tacit.ports.models import Embedder, Reranker, TokenCounter
from tacit.ports.store import Salvage, Store, StoreBackend
from tacit.ports.writer import Writer
from tacit.providers.clock import FixedDateClock, SystemClock
from tacit.providers.embedding import make_embedder, waits_for_server
from tacit.providers.tokens import ExactCounter
from tacit.providers.writing import key_variable, make_writer
from tacit.safety.escape import Clean
from tacit.state.registry import DAMAGED_STORE
from tacit.upkeep.backups import make_backup

_LOG = logging.getLogger(__name__)


class Hosts(Mapping[str, Host]):
    """Host adapters by name: the built-in ones, and those that other packages register as entry points.

    Another package is looked for only under a name that is not built in, and all of them only where every name is wanted.
    """

    def __init__(self) -> None:
        self._known: dict[str, Host] = {
            host.name: host
            for host in (*(built_in.adapter for built_in in BUILT_IN.values()), Plain(), Library())
        }

    def __getitem__(self, name: str) -> Host:
        if name not in self._known:
            self._known[name] = HOSTS.load(name)()
        return self._known[name]

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys((*self._known, *HOSTS.names())))

    def __len__(self) -> int:
        return len(tuple(iter(self)))


def store_backend(name: str) -> StoreBackend:
    """Return the backend of the store that the setting `store.provider` names.

    Raises:
        KeyError: if there is none of this name; the check of the setting knows them.
        ProviderError: if the package that provides it cannot be imported.
    """
    match name:
        case "sqlite":
            from tacit.backends.sqlite import SqliteBackend  # noqa: PLC0415 - loads only its own

            return SqliteBackend()
        case _:
            return cast("StoreBackend", STORES.load(name)())


def open_engine(
    home: Path | None = None,
    *,
    overrides: Mapping[str, object] | None = None,
    clock: Clock | None = None,
    embedder: Embedder | None = None,
    writer: Writer | None = None,
    anticipating: Writer | None = None,
    judging: Writer | None = None,
    tokens: TokenCounter | None = None,
) -> Engine:
    """Open the store of `home` and build an engine over it.

    A damaged database is put into quarantine, and one with everything that can be read of it opened, so that an agent's turn
    is never harmed; `status` says so and names the way back.

    Args:
        home: folder of the data; None = TACIT_HOME, else `~/.tacit`.
        overrides: nested settings of the caller, the topmost layer.
        clock: other than the system's, for tests and builders.
        embedder: other than the configured one.
        writer: other than the configured one.
        anticipating: other than the configured one.
        judging: other than the configured one.
        tokens: other than the best counter that is installed.

    Raises:
        InvalidSetting, UnknownSetting: for wrong `overrides`.
        StoreError: if the store cannot be opened; the message says what to do.
        ProviderError: if the embedder cannot be used as configured.
    """
    place = Home(home.expanduser().absolute()) if home is not None else Home.find()
    place.ensure()
    watcher = SettingsWatcher(place, overrides=overrides)
    settings = watcher.current()
    clock = clock or SystemClock()
    backend = store_backend(_store_provider(watcher))
    store, salvaged = _open_store(backend, place, clock, keep=settings.backup.keep)

    redactor = Redactors(settings=watcher, root_of=partial(_root_of, store))

    def clean(text: str) -> str:
        return redactor.redact(text).text

    make = partial(_make_writer, outgoing(settings, redactor), place)
    model = embedder or make_embedder(
        settings.embedder,
        api_key=secret(settings.embedder.api_key_env),
        redact=clean,
        clock=clock,
    )
    return Engine(
        Parts(
            home=place,
            host_folders=HostFolders(Path.home()),
            settings=watcher,
            store=store,
            embedder=model,
            reranker=_make_reranker(settings.recall.reranker.model),
            make_writer=make,
            writer=writer or make("capture.extractor", settings.capture.extractor),
            anticipating=anticipating or make("recall.anticipate", settings.recall.anticipate.as_writer()),
            judging=judging or make("recall.judge", settings.recall.judge.as_writer()),
            tokens=tokens or ExactCounter(),
            clock=clock,
            redactor=redactor,
            kinds=kind_registry(settings),
            hosts=Hosts(),
            store_as_of=_store_as_of,
            remote_embedder=waits_for_server(settings.embedder),
            salvaged=salvaged,
            suspect=lambda: backend.suspects_damage(place),
        )
    )


def _root_of(store: Store, project_id: str) -> Path | None:
    return next(
        (Path(project.root) for project in store.projects() if project.id == project_id and project.root),
        None,
    )


def _make_reranker(folder: str) -> Reranker | None:
    """Load the second-stage model in `folder`; None = the settings name none."""
    if not folder:
        return None
    from tacit.providers.reranker import CrossEncoder  # noqa: PLC0415 - most homes have none

    return CrossEncoder(Path(folder).expanduser())


def _make_writer(redact: Clean, home: Home, section: str, settings: WriterSettings) -> Writer | None:
    """Make the writer that a section of the settings names; None = it is off."""
    return make_writer(
        settings,
        api_key=secret(key_variable(settings)),
        redact=redact,
        environ=home.environment(),
        section=section,
    )


def _store_as_of(at_ms: int) -> Store:
    from tacit.backends.sqlite import SqliteStore  # noqa: PLC0415 - few questions are about the past

    return SqliteStore.temporary(clock=FixedDateClock(at_ms))


def _store_provider(watcher: SettingsWatcher) -> str:
    """Return the name of the store's backend; a wrong setting raises, so that no other store is opened than the user meant.

    Raises:
        InvalidSetting: if the setting is wrong.
    """
    report = watcher.report()
    for warning in report.warnings:
        if warning.key == "store.provider" and not warning.note:
            raise warning.error
    return report.settings.store.provider


def _open_store(
    backend: StoreBackend, home: Home, clock: Clock, *, keep: int
) -> tuple[Store, Salvage | None]:
    file_id = backend.file_id(home)
    try:
        if backend.needs_migration(home):
            _back_up_before_migration(backend, home, clock, keep=keep)
        store, salvaged = _opened(backend, home, clock)
    except StoreCorrupt as error:
        _LOG.error("the store is damaged: %s", type(error).__name__)
        salvage = backend.salvage(home, clock=clock, file_id=file_id)
        if salvage is not None:
            remove_blocks(home)
            _LOG.error(
                "recovered %d memories, %d of them from a backup; %d are lost",
                salvage.recovered,
                salvage.from_backup,
                salvage.lost_count,
            )
        store, salvaged = _opened(backend, home, clock)
    return store, salvaged if salvaged and Path(salvaged.aside).exists() else None


def _opened(backend: StoreBackend, home: Home, clock: Clock) -> tuple[Store, Salvage | None]:
    """Open the store; return it, and what became of a damaged one before it, which stays known until a backup is restored.

    Raises:
        StoreError: if it cannot be opened or read.
    """
    store = backend.open(home, clock=clock)
    try:
        return store, DAMAGED_STORE.find(store)
    except StoreError:
        store.close()
        raise


def _back_up_before_migration(backend: StoreBackend, home: Home, clock: Clock, *, keep: int) -> None:
    try:
        outcome = make_backup(
            lambda target: backend.back_up(home, target), home, keep=keep, clock=clock, only_if_due=False
        )
    except StoreCorrupt:
        raise
    except StoreError as error:  # a migration is one transaction: it is no reason to stay closed
        outcome = error.code
    _LOG.info("backup before the migration: %s", outcome)


def examine_backup(home: Home, source: Path) -> int | None:
    """Check whether `source` can become the store of `home`, before anything is stopped for it.

    Returns None if the backup is sound; if it is damaged, how many of its memories can be read.

    Raises:
        NotFound, StoreError: if it cannot.
    """
    return _backend_of(home).examine(source)


def restore_store(home: Home, source: Path) -> Path | None:
    """Make the backup `source` the store of `home`; return where the former one was put. No daemon may run.

    Raises:
        NotFound, StoreError: if the backup cannot serve; the present store is left alone.
    """
    aside = _backend_of(home).restore(source, home, clock=SystemClock())
    remove_blocks(home)  # they were made from the store that is gone
    return aside


def _backend_of(home: Home) -> StoreBackend:
    return store_backend(_store_provider(SettingsWatcher(home)))
