"""The API for agents of your own: the requests and answers of `POST /hook/plain` and `POST /hook/library`.

In: nothing. Out: shapes and examples, for the OpenAPI document and docs/reference/api.md. The daemon does not load this
module for an event: `tacit.hosts.plain` and `tacit.hosts.library` read the payloads, and tests check that both agree.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from tacit.frozen import frozen
from tacit.hosts.payload import MAX_ID_CHARS, MAX_PATH_CHARS
from tacit.model.signal import StartSource

Name = Annotated[str, Field(max_length=MAX_ID_CHARS)]
Path = Annotated[str, Field(max_length=MAX_PATH_CHARS)]
AnsweredAt = Literal["start", "prompt", "action", "failure", "compaction", "subagent"]


class _Shape(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class AgentEventFields(_Shape):
    """The fields that every event has."""

    session: Annotated[str, Field(min_length=1, max_length=MAX_ID_CHARS)] = Field(
        description="your id of the conversation; unique among the agents of this home"
    )
    version: Literal[1] = Field(default=1, description="version of this form")
    key: Name = Field(
        default="",
        description="a text of your own: the event sent again with it is done once and gets the same `context` again",
    )
    cwd: Path = Field(default="", description="absolute path of the working folder; it names the project")
    agent: Name = Field(default="", description="name of the agent, where settings differ by agent")
    agent_id: Name = Field(
        default="", description="id of the subagent that sends the event; empty for the main agent"
    )
    parent: Name = Field(default="", description="session that this one was forked or started from")
    transcript_path: Path = Field(
        default="",
        description="file of the conversation, if your agent writes one in a format that Tacit reads",
    )
    capture: bool = Field(default=True, description="whether Tacit may learn from the event")


class StartEvent(AgentEventFields):
    """A session starts, is resumed, or continues after a compaction. Insert the answer at the end of the system prompt."""

    event: Literal["start"]
    source: StartSource = Field(default="startup", description="`compact` = after a compaction")


class PromptEvent(AgentEventFields):
    """The user sent a prompt. Insert the answer after the prompt."""

    event: Literal["prompt"]
    text: str = Field(description="the prompt")
    message_id: Name = Field(default="", description="your id of the message")
    previous: str = Field(default="", description="the end of the agent's message before it")
    machine: bool = Field(default=False, description="whether a program made the prompt")


class _CallEvent(AgentEventFields):
    tool: Annotated[str, Field(min_length=1, max_length=MAX_ID_CHARS)] = Field(
        description="`bash`, `read`, `edit`, `write`, `grep`, `glob`, or your own name"
    )
    call_id: Name = Field(default="", description="your id of the call")
    args: dict[str, Any] | None = Field(
        default=None,
        description="the arguments as the model wrote them; paths, command and text are read from their usual names",
    )
    paths: Sequence[str] = Field(default=(), description="files that the call is about; else from `args`")
    command: str = Field(default="", description="the command line; else from `args`")
    text: str = Field(default="", description="the text that is written or searched for; else from `args`")


class ToolStartEvent(_CallEvent):
    """A call is about to run. Insert the answer before the call or, if your agent cannot wait, after its result."""

    event: Literal["tool_start"]


class ToolEndEvent(_CallEvent):
    """A call succeeded. Insert the answer after its result."""

    event: Literal["tool_end"]
    output: str = Field(default="", description="what the model will read")


class ToolFailedEvent(_CallEvent):
    """A call failed. Insert the answer, a known fix, after the error."""

    event: Literal["tool_failed"]
    error: str = Field(description="what the model will read")


class CompactingEvent(AgentEventFields):
    """The conversation is about to be compacted. No answer; send `start` with `source: compact` afterwards."""

    event: Literal["compacting"]
    automatic: bool = Field(default=False, description="whether the agent decided it")


class SubagentEvent(AgentEventFields):
    """A subagent starts. Insert the answer at the end of its system prompt."""

    event: Literal["subagent"]
    agent_type: Name = Field(default="", description="its type")
    task: str = Field(default="", description="its prompt")


class MessageEndEvent(AgentEventFields):
    """The agent ended its turn. No answer; Tacit may learn from the turn."""

    event: Literal["message_end"]
    text: str = Field(default="", description="the end of the agent's message")
    final: bool = Field(default=False, description="whether it waits for the user now")
    messages: Sequence[dict[str, Any]] | None = Field(
        default=None,
        description="the conversation so far, if there is no file of it: `role` and `content`, tool calls and results as in the"
        " Chat Completions or Messages API",
    )


class EndEvent(AgentEventFields):
    """The session ended. No answer."""

    event: Literal["end"]
    reason: Name = Field(default="", description="why, in a word")
    deleted: bool = Field(
        default=False, description="whether the user deleted it: its record is deleted, too"
    )


class SentRequests(_Shape):
    """Measurements of the requests to the model in one turn. Sizes are in bytes of JSON."""

    placement: Name = Field(description="where the blocks were: `default`, `system_every_call` or `none`")
    requests: int = Field(default=0, ge=0, description="requests with an earlier one before them")
    before: int = Field(default=0, ge=0, description="size of the request before each of them, summed")
    kept: int = Field(
        default=0, ge=0, description="how much of it was unchanged at the beginning of the next request"
    )
    before_bare: int = Field(default=0, ge=0, description="`before` without blocks")
    kept_bare: int = Field(default=0, ge=0, description="`kept` without blocks")
    input_tokens: int = Field(default=0, ge=0, description="as counted by the model's API")
    cached_tokens: int = Field(default=0, ge=0, description="as counted by the model's API")


class LibraryMessageEndEvent(MessageEndEvent):
    """The Python library reports the end of a turn; `sent` tells how much of its requests to the model a prompt cache could reuse. No answer; Tacit may learn from the turn."""

    sent: Sequence[SentRequests] = Field(default=(), description="measurements of the requests of the turn")


class ReplayEvent(AgentEventFields):
    """Asks for the blocks that earlier messages of the conversation got, after the process was restarted. The answer holds the same bytes again."""

    event: Literal["replay"]
    message_ids: Sequence[str] = Field(
        description="`message_id` of prompts, and `call:` with the `call_id` of calls; the last 400 count"
    )


class PingEvent(_Shape):
    """An event without effect, with which a host checks that the daemon answers. The answer is empty."""

    event: Literal["ping"]


class AgentReply(_Shape):
    """The answer to an event: the text for the model (`context`), its memories, and a line for the person.

    If there is nothing to say, the HTTP response has no body instead.
    """

    context: str = Field(default="", description="the text for the model, ready to be inserted as it is")
    surface: AnsweredAt = Field(default="prompt", description="the moment that it is for")
    memory_ids: Sequence[str] = Field(
        default=(), description="memories in it; empty where an event was answered again"
    )
    tokens: int = Field(default=0, description="the number of its tokens; 0 if an event was answered again")
    notice: str = Field(default="", description="one line for the person, not for the model")


class LibraryReply(_Shape):
    """The text for the model in every request from now on; an empty body = no text."""

    system: str = Field(default="", description="for the end of the system prompt, until the next one")
    text: str = Field(default="", description="for the end of the message or the tool result")
    texts: dict[str, str] = Field(
        default_factory=dict, description="of a replay: the texts of the messages that have one, by id"
    )
    notice: str = Field(default="", description="one line for the person, not for the model")


AgentEvent = Annotated[
    StartEvent
    | PromptEvent
    | ToolStartEvent
    | ToolEndEvent
    | ToolFailedEvent
    | CompactingEvent
    | SubagentEvent
    | MessageEndEvent
    | EndEvent,
    Field(discriminator="event"),
]
LibraryEvent = Annotated[
    StartEvent
    | PromptEvent
    | ToolStartEvent
    | ToolEndEvent
    | ToolFailedEvent
    | CompactingEvent
    | SubagentEvent
    | LibraryMessageEndEvent
    | EndEvent
    | ReplayEvent
    | PingEvent,
    Field(discriminator="event"),
]

PLAIN_EVENTS: tuple[type[BaseModel], ...] = (
    StartEvent,
    PromptEvent,
    ToolStartEvent,
    ToolEndEvent,
    ToolFailedEvent,
    CompactingEvent,
    SubagentEvent,
    MessageEndEvent,
    EndEvent,
)
LIBRARY_EVENTS: tuple[type[BaseModel], ...] = (LibraryMessageEndEvent, ReplayEvent, PingEvent)
"""The shapes of events that only `library` sends, or sends with further fields."""


def event_name(shape: type[BaseModel]) -> str:
    """Return the value of `event` in events of this shape."""
    return str(shape.model_fields["event"].annotation.__args__[0])  # pyright: ignore[reportOptionalMemberAccess, reportUnknownMemberType, reportUnknownArgumentType, reportAttributeAccessIssue]


@frozen
class AgentEndpoint:
    """The endpoint for one host whose events have this form, with its documentation.

    Attributes:
        host: the host's name, which is in the path.
        name: the operation id.
        about: its purpose.
        description: when to use it.
        events: the union of the events that it accepts.
        shapes: the events that the reference lists for this endpoint; those of an earlier one are not repeated.
        reply: the shape of the answer.
        examples: requests, by name.
        answer: the answer to the prompt of the examples.
    """

    host: str
    name: str
    about: str
    description: str
    events: Any
    shapes: tuple[type[BaseModel], ...]
    reply: type[BaseModel]
    examples: Mapping[str, Mapping[str, object]]
    answer: Mapping[str, object]


_ABOUT = {"version": 1, "session": "deploy-bot-41", "cwd": "/work/shop"}
_CALL = {"tool": "bash", "call_id": "call-3", "args": {"command": "make test"}}
_EXAMPLES: Mapping[str, Mapping[str, object]] = {
    "start": {**_ABOUT, "event": "start", "key": "start-1"},
    "prompt": {
        **_ABOUT,
        "event": "prompt",
        "key": "prompt-7",
        "text": "Check in what we changed in the billing module.",
        "previous": "The rounding is fixed.",
    },
    "before a call": {**_ABOUT, "event": "tool_start", "key": "before-call-3", **_CALL},
    "after a call": {**_ABOUT, "event": "tool_end", "key": "after-call-3", **_CALL, "output": "41 passed"},
    "failure": {
        **_ABOUT,
        "event": "tool_failed",
        "key": "after-call-3",
        **_CALL,
        "error": "Exit code 2\nsqlite3.OperationalError: no such table: discounts",
    },
    "before a compaction": {**_ABOUT, "event": "compacting", "automatic": True},
    "after a compaction": {**_ABOUT, "event": "start", "key": "start-2", "source": "compact"},
    "subagent": {
        **_ABOUT,
        "session": "deploy-bot-41-tests",
        "parent": "deploy-bot-41",
        "event": "subagent",
        "agent_type": "tester",
        "task": "Run the tests and report which ones fail.",
    },
    "message end": {
        **_ABOUT,
        "event": "message_end",
        "key": "turn-7",
        "text": "Committed.",
        "final": True,
        "messages": [
            {"role": "user", "content": "Check in what we changed in the billing module."},
            {"role": "assistant", "content": "Committed."},
        ],
    },
    "end": {**_ABOUT, "event": "end", "reason": "closed"},
}

_BLOCK = """\
<tacit-memory surface="prompt">
On record and likely to matter for this prompt; notes, not a message from the user.
- [Preference] Run `make lint` before every commit.
</tacit-memory>"""

AGENT_ENDPOINTS: tuple[AgentEndpoint, ...] = (
    AgentEndpoint(
        host="plain",
        name="report_event",
        about="Tell of an event of an agent that keeps in its own history what it is given.",
        description="Send each event when it happens, and insert `context` of the answer where the event says. An empty"
        " body means that there is nothing to insert. The answer comes within the deadline of `X-Tacit-Deadline-Ms`; on any"
        " failure go on without memory. docs/guide/bring-your-own-agent.md explains when to send which event.",
        events=AgentEvent,
        shapes=PLAIN_EVENTS,
        reply=AgentReply,
        examples=_EXAMPLES,
        answer={
            "context": _BLOCK,
            "surface": "prompt",
            "memory_ids": ["mem_01m6pv0z8c5r1tq9"],
            "tokens": 41,
            "notice": "",
        },
    ),
    AgentEndpoint(
        host="library",
        name="report_library_event",
        about="Tell of an event of a program that puts the same texts into every request; its history stays without them.",
        description="It is for a wrapper of a model's API: `system` goes to the end of the system prompt of every request from"
        " now on, `text` to the end of the message or tool result that the event is about, also when that is sent again.",
        events=LibraryEvent,
        shapes=LIBRARY_EVENTS,
        reply=LibraryReply,
        examples={
            **_EXAMPLES,
            "replay": {**_ABOUT, "event": "replay", "message_ids": ["message-1", "call:call-3"]},
        },
        answer={"system": "", "text": _BLOCK, "texts": {}, "notice": ""},
    ),
)
