"""The events of a host, normalized. A closed union: match it exhaustively."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from typing import Literal

from tacit.frozen import frozen
from tacit.model.ids import normalize_text
from tacit.model.session import SessionKey

StartSource = Literal["startup", "resume", "clear", "compact", "fork"]


@frozen
class _SignalFields:
    """The fields of every signal.

    Attributes:
        session: host and session id.
        key: idempotency key; the same key twice in one session changes nothing the second time.
        at_ms: when it arrived.
        cwd: working folder of the agent, absolute, or empty.
        project_dir: the folder in which the host was started, where it says so beside the event, or empty.
        agent: agent name (`build`, `general`, ...), or empty.
        agent_id: id of the subagent that sent it, or empty for the main agent.
        transcript_path: where the host writes the transcript, or empty.
        parent: session this one was forked or spawned from.
        takes_no_text: whether the reply to this event cannot hand text to the model, except as the reason of a refusal.
        uncaptured: whether nothing may be learned from it.
    """

    session: SessionKey
    key: str
    at_ms: int
    cwd: str = ""
    project_dir: str = ""
    agent: str = ""
    agent_id: str = ""
    transcript_path: str = ""
    parent: SessionKey | None = None
    takes_no_text: bool = False
    uncaptured: bool = False


@frozen
class SessionStarted(_SignalFields):
    """What a host sends when a session starts, resumes, clears, forks, or goes on after a compaction.

    Of a fork that begins with copies of its parent's messages: `copied` = the ids of each prompt there and here, `turns_back` = how
    many prompts of the parent it does not hold. `answered` = the hook client handed over the block made earlier.
    """

    source: StartSource = "startup"
    rule_files: tuple[str, ...] = ()
    copied: tuple[tuple[str, str], ...] = ()
    turns_back: int = 0
    answered: bool = False


@frozen
class PromptSubmitted(_SignalFields):
    """What a host sends when the user sent a prompt. `message_id` = the host's id of it, or empty; `machine` = a program made it, not a person.

    `command` = what the user typed for Tacit to do, `remember TEXT` or `forget ID`; a host sets it only where the whole
    prompt is that command and no program made it.
    """

    text: str
    message_id: str = ""
    previous_message_end: str = ""
    machine: bool = False
    command: str = ""


@frozen
class ToolCall:
    """A tool call: host-neutral name (`read`, `edit`, `write`, `bash`, ... else the host's own), and its input.

    `agent` = the type of the subagent that the call starts, `text` its task then. `writes` = the mark of a call that changes
    memories through our own server, see `mark_of_write`; "" = another call.
    """

    tool: str
    call_id: str = ""
    paths: tuple[str, ...] = ()
    command: str = ""
    text: str = ""
    agent: str = ""
    writes: str = ""

    @property
    def fetches(self) -> bool:
        """Whether the call fetches memories (`memory_get`): they are then in the context of the agent that called it, and of no other."""
        return bool(self.writes) and self.tool.endswith(FETCH_TOOL)


FETCH_TOOL = "memory_get"
SESSION_TOOLS = frozenset({"memory_add", "memory_update", "memory_forget", FETCH_TOOL})
"""Tools of our own server that change memories on what the user said in the session that calls them, or count for that session."""


def mark_of_write(tool: str, argument: Callable[[str], object]) -> str:
    """Return the mark that links a host's hook to the MCP call it is about: a hash of the tool, the ids, the statement and the user's words.

    `argument` returns an argument of the call by its name. "" = `tool` is not one of `SESSION_TOOLS`. Hook and call give the same mark.
    """
    if tool not in SESSION_TOOLS:
        return ""
    words = (str(argument(name) or "") for name in ("id", "ids", "content", "user_words"))
    parts = "\0".join((tool, *map(normalize_text, words)))
    return sha256(parts.encode("utf-8", "surrogatepass")).hexdigest()


@frozen
class ToolStarting(_SignalFields):
    """What a host sends before a tool runs."""

    call: ToolCall


@frozen
class ToolFinished(_SignalFields):
    """What a host sends when a tool ran and did not fail; `output` is what it printed or returned."""

    call: ToolCall
    output: str = ""


@frozen
class ToolFailed(_SignalFields):
    """What a host sends when a tool or command failed; `error` is what the model will see."""

    call: ToolCall
    error: str


@frozen
class Compacting(_SignalFields):
    """What a host sends when it is about to compact the conversation; `automatic` = not because the user asked for it."""

    automatic: bool = False


@frozen
class SubagentStarted(_SignalFields):
    """What a host sends when a subagent starts; `task` is its prompt, or empty if not known."""

    agent_type: str = ""
    task: str = ""


@frozen
class RequestUsage:
    """How much of its requests a host could send unchanged (for the model's prompt cache) since the turn before; sizes in bytes of JSON.

    Attributes:
        placement: where our blocks stood in them: default, system_every_call, or none.
        requests: number of requests that followed another one.
        before, kept: size of the preceding requests, and how many of these bytes the next one begins with unchanged.
        before_bare, kept_bare: the same without our blocks.
        input_tokens, cached_tokens: as the API counted them.
    """

    placement: str
    requests: int = 0
    before: int = 0
    kept: int = 0
    before_bare: int = 0
    kept_bare: int = 0
    input_tokens: int = 0
    cached_tokens: int = 0


@frozen
class MessageEnded(_SignalFields):
    """What a host sends when the agent finished a message (a turn); `text` is its end. Nothing may be injected.

    `messages` is the conversation so far as JSON, where a host hands it over because there is no file of it; `sent` is what
    it knows of the requests of the turn.
    """

    text: str = ""
    final: bool = False
    messages: str = ""
    sent: tuple[RequestUsage, ...] = ()


@frozen
class SessionEnded(_SignalFields):
    """What a host sends when the session ended, was cleared or deleted."""

    reason: str = ""
    deleted: bool = False


Signal = (
    SessionStarted
    | PromptSubmitted
    | ToolStarting
    | ToolFinished
    | ToolFailed
    | Compacting
    | SubagentStarted
    | MessageEnded
    | SessionEnded
)
