"""Values of the engine, frozen and without behavior: who asks, the parts it is made of, and what it returns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from tacit.app.redaction import Redactors
from tacit.config.home import Home
from tacit.config.reload import SettingsWatcher
from tacit.config.settings import Settings, WriterSettings
from tacit.frozen import frozen
from tacit.hosts.registry import HostFolders
from tacit.model.kinds import KindRegistry
from tacit.model.memory import Speaker
from tacit.model.pack import Block, Pack, Surface
from tacit.model.session import SessionKey, SessionState
from tacit.model.trace import AskedWith, Trace
from tacit.ports.clock import Clock
from tacit.ports.host import Host
from tacit.ports.models import Embedder, Reranker, TokenCounter
from tacit.ports.store import ProjectRecord, Salvage, Store, StoreStats
from tacit.ports.writer import Writer
from tacit.sync.views import SyncStatus

if TYPE_CHECKING:
    from tacit.app.projects import ProjectRegistry
    from tacit.app.sessions import LiveSessions

# Who asks for something: one value that every entry point fills in. In: nothing. Out: a frozen value.


@frozen
class Caller:
    """Who makes a request, as the entry point knows it.

    Attributes:
        speaker: whose word it is.
        by_tool: an agent calls a tool. It sees what its folder shows; a program or the user sees all folders.
        cwd: working folder of the agent; "" = unknown, then a tool shows only universal memories.
        client: names the process that asks, for as long as it lives; "" = unknown.
        session: the session that calls a tool that writes; None = unknown.
    """

    speaker: Speaker = Speaker.AGENT
    by_tool: bool = True
    cwd: str = ""
    client: str = ""
    session: SessionKey | None = None

    @property
    def by_user(self) -> bool:
        """Whether the user asks, who sees everything of theirs."""
        return self.speaker is Speaker.USER


PROGRAM = Caller(by_tool=False)
"""The caller of a program that does not prove to be the user."""
USER = Caller(speaker=Speaker.USER, by_tool=False)
"""The caller that is the user, by hand."""


# The parts of the engine as one value. Only `wiring.py` builds it, so tests can replace any part by a fake.


@frozen
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
        make_writer: makes a language model from a section's name and settings, to test them; None = the section is off.
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
    make_writer: Callable[[str, WriterSettings], Writer | None] = lambda _section, _settings: None
    anticipating: Writer | None = None
    judging: Writer | None = None
    suspect: Callable[[], bool] = lambda: False


@frozen
class OpenStore:
    """One open store, as the objects of the engine share it.

    Attributes:
        parts: everything the engine uses from outside.
        projects: finds the project of a folder.
        sessions: the records of the sessions at work.
        settle: waits until everything that was said so far is stored.
        changed: call it after memories were changed or ended: it removes the start blocks that were written ahead.
    """

    parts: Parts
    projects: ProjectRegistry
    sessions: LiveSessions
    settle: Callable[[], None]
    changed: Callable[[], None]


# Return values of the engine. Frozen, without behavior.


@frozen
class RecallFailure:
    """A failure during a recall. `reason` is embedding, store or timeout; `detail` is for the log."""

    reason: str
    message: str
    detail: str = ""


@frozen
class SignalAnswer:
    """What one signal is answered with.

    Attributes:
        block: the text for the model; empty = silence.
        notice: one line for the person, or empty.
        trace: how it came about; None when nothing was asked of the memory.
        pack: what the block was written from, where a memory was asked.
        failure: what broke; None = nothing.
    """

    block: Block
    notice: str = ""
    trace: Trace | None = None
    pack: Pack | None = None
    failure: RecallFailure | None = None


@frozen
class SignalResult:
    """The result of a signal: the answer for the host, and what the signal changed.

    Attributes:
        delivery: the answer.
        state: the session's record, with the signal.
        project: the project that the session belongs to; None = none.
        folder: path of the folder whose project that is.
        repeated: whether this signal was handled before; then nothing is learned or counted again.
    """

    delivery: SignalAnswer
    state: SessionState
    project: ProjectRecord | None
    folder: str = ""
    repeated: bool = False


@frozen
class Recalled:
    """The answer of a recall: its pack, its block and its trace."""

    pack: Pack
    block: Block
    trace: Trace


@frozen
class RecallAsked:
    """A recall that is asked about: a signal in its situation, or a recorded recall.

    Attributes:
        text: the words.
        cwd: folder whose project is asked; "" = the universal scope only.
        surface: which gate and budget apply.
        given: the situation; None = that of the session.
        session: the session that it is asked for; None = none.
        held: ids of memories that the context holds besides what the session was given.
        budget_tokens: most tokens of the block; None = as the settings say.
        trace_id: the recorded recall; its surface, words, situation, session and folder take the place of the others. "" = none.
        adjust: changes the settings for this question alone.
    """

    text: str = ""
    cwd: str = ""
    surface: Surface = Surface.PROMPT
    given: AskedWith | None = None
    session: SessionKey | None = None
    held: tuple[str, ...] = ()
    budget_tokens: int | None = None
    trace_id: str = ""
    adjust: Callable[[Settings], Settings] | None = None


@frozen
class ModelDay:
    """What a model took on one day: tokens, and money by the prices in the settings; None = a price is not known."""

    day: str
    tokens: int
    tokens_out: int
    cost: float | None


@frozen
class ExtractorStatus:
    """Cost and results of the model that writes up sessions.

    Attributes:
        name: which model.
        tokens: input tokens of today, with what is reserved for answers that never came.
        tokens_per_day: most of them.
        asked, kept, dropped, failed, over_budget: counts since it was first used; see `state/counted.py`.
        error: what went wrong last, or empty.
        tokens_out: output tokens of today.
        waiting: sessions that wait to be written up.
        paused_until_ms: after a failure nothing is asked before; 0 = it is not paused.
        days: what it took on each day on which it was asked, the newest first.
    """

    name: str
    tokens: int
    tokens_per_day: int
    asked: int
    kept: int
    dropped: int
    failed: int
    over_budget: int
    error: str = ""
    tokens_out: int = 0
    waiting: int = 0
    paused_until_ms: int = 0
    days: tuple[ModelDay, ...] = ()


@frozen
class NamingStatus:
    """Cost and results of a model that names memories, in the pause or at the prompt.

    Attributes:
        name: which model.
        tokens: input tokens of today, with what is reserved for answers that never came.
        tokens_per_day: most of them.
        asked, failed, over_budget: counts since it was first used; see `state/counted.py`.
        named: memories that it named.
        ignored: entries of its answers that name no memory of its list.
        error: what went wrong last, or empty.
        tokens_out: output tokens of today.
        paused_until_ms: after a failure nothing is asked before; 0 = it is not paused.
        days: what it took on each day on which it was asked, the newest first.
    """

    name: str
    tokens: int
    tokens_per_day: int
    asked: int
    named: int
    ignored: int
    failed: int
    over_budget: int
    error: str = ""
    tokens_out: int = 0
    paused_until_ms: int = 0
    days: tuple[ModelDay, ...] = ()


@frozen
class EngineStatus:
    """What `status` shows.

    Attributes:
        version: of this engine.
        home: folder of the data.
        preset: name of the preset in force.
        store: counts.
        embedder: identity of the embedder in force.
        warnings: problems in plain sentences, each with what to do.
        sessions_cached: live session records in memory.
        recall_enabled, shadow: switches in force.
        extractor: what the model that reads sessions has cost and brought; None = there is none.
        anticipation, judge: the same of the models that name memories in the pause, and at the prompt.
        sync: of the sync with other devices; None = this home is not logged in.
    """

    version: str
    home: str
    preset: str
    store: StoreStats
    embedder: str
    warnings: tuple[str, ...] = ()
    sessions_cached: int = 0
    recall_enabled: bool = True
    shadow: bool = False
    extractor: ExtractorStatus | None = None
    anticipation: NamingStatus | None = None
    judge: NamingStatus | None = None
    sync: SyncStatus | None = None
