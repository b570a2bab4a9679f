"""The live record of one agent session: turn, epoch, ledger. Values only; `tacit.session` changes them."""

from __future__ import annotations

from tacit.frozen import frozen
from tacit.model.pack import Surface
from tacit.model.trigger import Situation


@frozen
class SessionKey:
    """The name of a session: its host and the host's session id; written `host/id`."""

    host: str
    session_id: str

    def __str__(self) -> str:
        return f"{self.host}/{self.session_id}"


@frozen
class Exposure:
    """An entry of the ledger: this memory, with this content, was injected at this point.

    Attributes:
        memory_id: the memory; for a host's rule file the id of the memory imported from it.
        content_hash: its content when handed over; a changed memory may be handed over again.
        epoch, turn: when, in the session's own counting.
        surface: by which surface; `host` = the host itself loaded the rule file.
        tokens: what it cost.
        at_ms: milliseconds since the epoch.
    """

    memory_id: str
    content_hash: str
    epoch: int
    turn: int
    surface: Surface
    tokens: int
    at_ms: int


@frozen
class RenderedBlock:
    """The exact text handed over with one message, kept so that a host that lost it gets the same bytes again."""

    message_id: str
    epoch: int
    text: str


@frozen
class PendingFailure:
    """A command or tool that failed and has not succeeded since."""

    tool: str
    command: str
    signature: str
    error: str
    turn: int
    edited_files: tuple[str, ...] = ()


@frozen
class StartPack:
    """When and how a session last got a start pack, even an empty one, or was told what changed since.

    Attributes:
        epoch: in which epoch.
        at_ms: when; memories that are older were considered.
        change: the store's change counter at that time; 0 = not known.
        surface: `start`, or `compaction` for the pack after one.
        resumed: whether a resume came since, so that what a compaction dropped was handed over again.
    """

    epoch: int
    at_ms: int
    surface: Surface
    resumed: bool = False
    change: int = 0


@frozen
class ArmedMemory:
    """A memory that a model named as likely needed: its id, its content's hash then, and the model's probability."""

    memory_id: str
    content_hash: str
    probability: float


@frozen
class Armed:
    """The memories that a model, asked in the pause, named as likely needed in the next steps: evidence for the gate, nothing more.

    Attributes:
        epoch, turn: of the session when the agent's message ended; it is stale in another epoch, or two turns later.
        at_ms: when the list was made that the model saw; what a memory says that was changed later, the model does not know.
        model: what was asked.
        memories: what it named, most probable first.
        listed: ids of all memories on the list.
    """

    epoch: int
    turn: int
    at_ms: int
    model: str = ""
    memories: tuple[ArmedMemory, ...] = ()
    listed: tuple[str, ...] = ()


@frozen
class AgentTask:
    """The task text of a call that starts a subagent of type `agent`, kept until that subagent starts."""

    agent: str
    text: str


@frozen
class SessionState:
    """The live record of one session: its project, turn, epoch, ledger, recent work and waiting blocks. Replaced as a whole, never changed in place.

    `started_in` = the folder whose project the session belongs to, wherever it goes; `cwd` = the folder of its last event.
    `announced_empty` = it was told once that nothing is on record; `answers` = tokens of each answer on demand, in order; `waiting` =
    blocks that are sent with the next event that takes text (`DeferringHost`); `compacted` = a compaction was announced, and no
    block followed it yet; `late_key` = key of the last signal that
    was answered too late; `words_at` = path of the transcript that holds the agent's last message, if the event at its end did not;
    `reminded` = turns in which the agent was reminded to note things; `noted_turn` = the last turn in which something was stored, and
    `unkept_turn` = the last one in which the user marked something that was not; `offered` = ids of memories of which an index showed a
    shortened headline, and `fetched` = ids of those that the agent fetched; `hinted` = hints of time that it was told.
    """

    key: SessionKey
    project_id: str = ""
    project_root: str = ""
    started_in: str = ""
    cwd: str = ""
    agent: str = ""
    parent: SessionKey | None = None
    turn: int = 0
    epoch: int = 0
    started_at_ms: int = 0
    last_signal_at_ms: int = 0
    last_message_end: str = ""
    last_message_situation: Situation | None = None
    recent_tools: tuple[str, ...] = ()
    recent_files: tuple[str, ...] = ()
    recent_prompts: tuple[str, ...] = ()
    first_prompt: str = ""
    pending_failures: tuple[PendingFailure, ...] = ()
    muted: bool = False
    incognito: bool = False
    ended: bool = False
    ledger: tuple[Exposure, ...] = ()
    blocks: tuple[RenderedBlock, ...] = ()
    seen_signal_keys: tuple[str, ...] = ()
    host_rule_files: tuple[str, ...] = ()
    announced_empty: bool = False
    start_pack: StartPack | None = None
    answers: tuple[int, ...] = ()
    reminded: tuple[int, ...] = ()
    noted_turn: int = 0
    unkept_turn: int = 0
    agent_tasks: tuple[AgentTask, ...] = ()
    armed: Armed | None = None
    waiting: tuple[str, ...] = ()
    compacted: bool = False
    late_key: str = ""
    words_at: str = ""
    offered: tuple[str, ...] = ()
    fetched: tuple[str, ...] = ()
    hinted: tuple[str, ...] = ()

    @property
    def folder(self) -> str:
        """The folder whose project the session belongs to; where no hook told of its start, the one of its last event."""
        return self.started_in or self.cwd
