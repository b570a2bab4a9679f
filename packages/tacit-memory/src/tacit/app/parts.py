"""The parts of the engine as one value. Only `wiring.py` builds it, so tests can replace any part by a fake."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tacit.app.redaction import Redactors
from tacit.config.home import Home
from tacit.config.reload import SettingsWatcher
from tacit.hosts.registry import HostFolders
from tacit.model.kinds import KindRegistry
from tacit.ports.clock import Clock
from tacit.ports.host import Host
from tacit.ports.models import Embedder, Reranker, TokenCounter
from tacit.ports.store import Salvage, Store
from tacit.ports.writer import Writer


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """Everything the engine uses from outside.

    Attributes:
        home: folder of the data.
        host_folders: where hosts keep transcripts.
        settings: settings that follow their files.
        store, embedder, clock, kinds: the parts by their ports.
        redactor: takes secrets out, by the settings of the place that a text belongs to.
        tokens: the token counter, for stored memories and for blocks.
        hosts: adapters by name.
        suspect: whether damage was met in the store since it was opened.
        store_as_of: makes an empty store in memory whose date is that moment.
        reranker: a second-stage model of the user's own; None = there is none.
        writer: a language model of the user's own that writes up finished sessions; None = there is none.
        anticipating, judging: language models of the user's own that name memories in the pause, and at the prompt; None = there is none.
        remote_embedder: whether the embedder waits for a server, so that recall must not wait for it.
        salvaged: what became of a damaged store; None = it was sound, or the damaged file is gone.
    """

    home: Home
    host_folders: HostFolders
    settings: SettingsWatcher
    store: Store
    embedder: Embedder
    tokens: TokenCounter
    clock: Clock
    redactor: Redactors
    kinds: KindRegistry
    hosts: Mapping[str, Host]
    store_as_of: Callable[[int], Store]
    salvaged: Salvage | None = None
    remote_embedder: bool = False
    reranker: Reranker | None = None
    writer: Writer | None = None
    anticipating: Writer | None = None
    judging: Writer | None = None
    suspect: Callable[[], bool] = lambda: False
