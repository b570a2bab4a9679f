"""Hosts that run commands as hooks: one adapter, driven by what a host's class says about its events, fields and tools.

In: the JSON that a host writes to a hook's standard input. Out: one signal, or none; the JSON of a hook's answer, or nothing. Never: an answer
to the end of a turn (text there makes the agent take another turn), a permission; a decision only as the refusal of a call that a rule of the user
blocks.

A host is a class with data: `events` (what each event means), `tools` (its tools in neutral words), the names of fields. It overrides a method
only where its payloads need more than a name. `hosts/cursor` is short, `hosts/claude_code` is the form that others copied.

A key is made of what the host repeats when one event reaches us twice (a hook in user and in project settings): the id of a call or a subagent,
the id of the turn with the words. Where the host names nothing, the key holds the time of arrival in steps of five seconds instead: twins arrive
milliseconds apart, true repetitions do not.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Literal, TypedDict

from tacit.frozen import frozen
from tacit.hosts.payload import (
    MAX_OUTPUT_CHARS,
    Fields,
    digest,
    flatten,
    joined,
    relative_paths,
    start_source,
    time_step,
)
from tacit.model.pack import Block
from tacit.model.session import SessionKey
from tacit.model.signal import (
    Compacting,
    MessageEnded,
    PromptSubmitted,
    SessionEnded,
    SessionStarted,
    Signal,
    SubagentStarted,
    ToolCall,
    ToolFailed,
    ToolFinished,
    ToolStarting,
    mark_of_write,
)
from tacit.ports.host import HostCapabilities
from tacit.reading.prompts import by_program, machine_made, typed_command

Part = Callable[[Fields, int], object]
"""A part of a signal's key: a function of the payload and the time of arrival."""
Meaning = Literal[
    "start", "prompt", "tool_start", "tool_end", "tool_failed", "subagent", "message_end", "compacting", "end"
]


def step(fields: Fields, at_ms: int) -> object:
    """Return the number of the five-second step in which the event arrived, for keys of events that the host does not name."""
    del fields
    return time_step(at_ms)


def field(name: str) -> Part:
    """Return a key part that reads the short text in the field `name`; "" if it is missing."""
    return lambda fields, _: fields.identifier(name)


def field_or_step(name: str) -> Part:
    """Return a key part that reads the short text in the field `name`, or the five-second step of the arrival if it is missing."""
    return lambda fields, at_ms: fields.identifier(name) or time_step(at_ms)


def needed(name: str) -> Part:
    """Return a key part that reads the short text in the field `name`, and raises InvalidPayload if it is missing."""
    return lambda fields, _: fields.needed_identifier(name)


def said(name: str) -> Part:
    """Return a key part that reads the text in the field `name`; "" if it is missing."""
    return lambda fields, _: fields.text(name)


@frozen
class HookEvent:
    """What one type of hook event of a host means: the signal it becomes, which payload fields are read, and whether the host takes text back.

    Attributes:
        means: the sort of signal.
        by: what the key of the signal is made of, besides its sort and the words of a prompt.
        context: whether the host hands text of the answer to the model.
        notice: whether it shows a line of the answer to people.
        text: the field with the words of a message or an error.
        key: how the key of the end of a message begins; "" = with the event's name.
        needs: a field without which the event means nothing to us; "" = none.
        once: the sources of a start that a session has only once.
        takes_no_text: whether the host passes no text of the answer to a starting call on, so that its block waits.
        agent: whether the payload says which agent it is about.
        transcript: the field with the path of the transcript; "" = none.
    """

    means: Meaning
    by: tuple[Part, ...] = ()
    context: bool = False
    notice: bool = False
    text: str = ""
    key: str = ""
    needs: str = ""
    once: tuple[str, ...] = ()
    takes_no_text: bool = False
    agent: bool = True
    transcript: str = "transcript_path"


class SignalFields(TypedDict):
    """The fields that every signal of a host with hooks has."""

    session: SessionKey
    at_ms: int
    cwd: str
    agent: str
    agent_id: str
    transcript_path: str


class HookHost:
    """Base of the `Host` of an agent with command hooks. A subclass gives its data as class attributes.

    Attributes:
        name: in settings, payloads and `tacit install`.
        capabilities: what the host can do.
        events: what each event means, by its name; another event means nothing to us.
        tools: its tools in neutral words.
        paths, words: the arguments of tools that hold paths, and words.
        call_id: the field with the id of a call; "" = the host gives none.
        turn: the field with the id of a prompt; "" = the host gives none.
        origins: fields of a prompt that say whether a person typed it.
        agent_type: the argument with the type of a subagent that a call starts.
        default_agent: the type that the host starts where the model names none.
        our_servers: how the names of our own tools begin, without the two underscores behind it.
    """

    __slots__ = ()

    name: str
    capabilities: HostCapabilities
    events: Mapping[str, HookEvent]
    tools: Mapping[str, str]
    paths: tuple[str, ...] = ("file_path", "path")
    words: tuple[str, ...] = ("new_string", "content", "description", "prompt", "pattern", "query", "url")
    call_id: str = "tool_use_id"
    turn: str = ""
    origins: tuple[str, ...] = ()
    agent_type: str = "subagent_type"
    default_agent: str = ""
    our_servers: tuple[str, ...] = ()

    def parse(self, payload: Mapping[str, object], *, at_ms: int) -> Signal | None:
        """Read a hook payload into its signal; None for events that mean nothing to us.

        Raises:
            InvalidPayload: naming the field that is missing or wrong.
        """
        fields = Fields(self.name, payload)
        told = payload.get("hook_event_name") is not None
        name = "" if told else self.event_named(payload)
        name = name or fields.needed_identifier("hook_event_name")
        event = self.events.get(name)
        if event is None or (event.needs and not fields.text(event.needs)):
            return None
        if event.means in ("tool_start", "tool_end", "tool_failed"):
            return self._tool(fields, name, event, at_ms)
        return self._session_event(fields, name, event, at_ms)

    def encode(self, payload: Mapping[str, object], block: Block, *, notice: str = "") -> str:
        """Return the hook answer as JSON: the block's text or the refusal of the call, and `notice` for people; "" = there is nothing to say.

        Raises:
            InvalidInput: if the block is longer than the host keeps.
        """
        name = self.event_named(payload)
        event = self.events.get(name)
        if event is None:
            return ""
        answer: dict[str, object] = {}
        if block.refuses and event.means == "tool_start" and not block.empty:
            answer |= self.refusal(name, block.text)
        elif not block.empty and self.takes_text(payload):
            self.check_length(block.text)
            answer |= self.context(name, block.text)
        if notice and event.notice:
            answer["systemMessage"] = notice
        return json.dumps(answer) if answer else ""

    # What a host may say in another way.

    def event_named(self, payload: Mapping[str, object]) -> str:
        """Return the event's name in the payload; "" = the payload does not say it."""
        name = payload.get("hook_event_name")
        return name if isinstance(name, str) else ""

    def takes_text(self, payload: Mapping[str, object]) -> bool:
        """Whether the host passes text of the answer to `payload` on to the model."""
        event = self.events.get(self.event_named(payload))
        return event is not None and event.context

    def context(self, event: str, text: str) -> dict[str, object]:
        """Return the hook answer that passes `text` on to the model."""
        return {"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}}

    def refusal(self, event: str, text: str) -> dict[str, object]:
        """Return the hook answer that refuses a call with the reason `text`."""
        decision = {"permissionDecision": "deny", "permissionDecisionReason": text}
        return {"hookSpecificOutput": {"hookEventName": event, **decision}}

    def check_length(self, text: str) -> None:
        """Raise an error if the text is longer than the host keeps. This one accepts every length; a host with a cap overrides it.

        Raises:
            InvalidInput: saying how long it may be.
        """

    def session(self, fields: Fields) -> str:
        """Return the session id in the payload, which must be there."""
        return fields.needed_identifier("session_id")

    def cwd(self, fields: Fields) -> str:
        """Return the working folder in the payload; "" = it is missing."""
        return fields.path("cwd")

    def start(self, fields: Fields, event: HookEvent, common: SignalFields) -> SessionStarted:
        """Return the signal of a session start. Its key repeats only for a twin of this event."""
        name, source = start_source(fields)
        moment = "" if name in event.once else _digest(event, fields, common["at_ms"])
        return SessionStarted(**common, key=f"start:{name}:{moment}", source=source)

    def tool_key(self, fields: Fields, event: str, call: ToolCall, at_ms: int) -> str:
        """Return the idempotency key of a tool event: made of the call's id, else of its content and the five-second step of its arrival."""
        del fields
        name = call.call_id or digest(call.tool, call.paths, call.command, call.text, time_step(at_ms))
        return f"{event}:{name}"

    def prompt(self, fields: Fields) -> str:
        """Return the words of a prompt, which must be in the payload."""
        return fields.needed_text("prompt")

    def arguments(self, fields: Fields) -> Fields:
        """Return the arguments that the model gave the tool."""
        return fields.child("tool_input")

    def more_paths(self, tool: str, arguments: Fields) -> Iterable[str]:
        """Return files of a call that stand in none of the arguments that `paths` names: here nothing; a host overrides it.

        `tool` is the name that all hosts share, such as `edit`.
        """
        del tool, arguments
        return ()

    def more_words(self, tool: str, arguments: Fields) -> Iterable[str]:
        """Return texts of a call that stand in none of the arguments that `words` names: here nothing; a host overrides it."""
        del tool, arguments
        return ()

    def outcome(self, fields: Fields, call: ToolCall) -> tuple[str, str]:
        """Return (output, error) of a call that ended; error "" = it did not fail."""
        del call
        return flatten(fields.raw("tool_response")), ""

    def subagent(self, fields: Fields, common: SignalFields) -> SubagentStarted:
        """Return the signal of a starting subagent."""
        agent_id = fields.needed_identifier("agent_id")
        return SubagentStarted(**common, key=f"subagent:{agent_id}", agent_type=common["agent"])

    def call(self, fields: Fields) -> ToolCall:
        """Return the tool call in the payload with the names that all hosts share. Raises InvalidPayload if it names no tool."""
        arguments = self.arguments(fields)
        name = fields.needed_identifier("tool_name")
        tool = self.tools.get(name, name)
        paths = [*map(arguments.loose_text, self.paths), *self.more_paths(tool, arguments)]
        texts = [*map(arguments.loose_text, self.words), *self.more_words(tool, arguments)]
        return ToolCall(
            tool=tool,
            call_id=fields.identifier(self.call_id) if self.call_id else "",
            paths=relative_paths(paths, cwd=self.cwd(fields)),
            command=arguments.loose_text("command"),
            text=joined(texts),
            agent=self.agent_started(tool, arguments),
            writes=self.writes(name, arguments),
        )

    def agent_started(self, tool: str, arguments: Fields) -> str:
        """Return the type of the subagent that a call of `tool` (the name that all hosts share) starts; "" = it starts none."""
        return arguments.loose_text(self.agent_type) or self.default_agent if tool == "task" else ""

    def writes(self, name: str, arguments: Fields) -> str:
        """Return the mark (see `mark_of_write`) that links this hook to the MCP call that it is about; "" = the call is of none of our tools that name a session (`SESSION_TOOLS`).

        `name` is the host's name of the tool.
        """
        server, _, own_tool = name.rpartition("__")
        return mark_of_write(own_tool, arguments.raw) if server in self.our_servers else ""

    def common(self, fields: Fields, event: HookEvent, at_ms: int) -> SignalFields:
        """Return the fields that every signal of this event has."""
        return SignalFields(
            session=SessionKey(host=self.name, session_id=self.session(fields)),
            at_ms=at_ms,
            cwd=self.cwd(fields),
            agent=fields.identifier("agent_type") if event.agent else "",
            agent_id=fields.identifier("agent_id") if event.agent else "",
            transcript_path=fields.path(event.transcript) if event.transcript else "",
        )

    def _tool(
        self, fields: Fields, name: str, event: HookEvent, at_ms: int
    ) -> ToolStarting | ToolFinished | ToolFailed:
        common, call = self.common(fields, event, at_ms), self.call(fields)
        key = self.tool_key(fields, name, call, at_ms)
        if event.means == "tool_start":
            return ToolStarting(**common, key=key, takes_no_text=event.takes_no_text, call=call)
        if event.means == "tool_failed":
            error = fields.needed_text(event.text, limit=MAX_OUTPUT_CHARS)
            return ToolFailed(**common, key=key, call=call, error=error)
        output, error = self.outcome(fields, call)
        if error:
            return ToolFailed(**common, key=key, call=call, error=error)
        return ToolFinished(**common, key=key, call=call, output=output)

    def _session_event(self, fields: Fields, name: str, event: HookEvent, at_ms: int) -> Signal:
        common = self.common(fields, event, at_ms)
        match event.means:
            case "start":
                return self.start(fields, event, common)
            case "prompt":
                return self._prompt(fields, event, common)
            case "subagent":
                return self.subagent(fields, common)
            case "message_end":
                key = f"{event.key or name}:{_digest(event, fields, at_ms)}"
                return MessageEnded(**common, key=key, text=fields.text(event.text), final=True)
            case "compacting":
                automatic = fields.identifier("trigger") == "auto"
                key = f"compacting:{_digest(event, fields, at_ms)}"
                return Compacting(**common, key=key, automatic=automatic)
            case _:
                reason = fields.identifier("reason")
                return SessionEnded(**common, key=f"end:{_digest(event, fields, at_ms)}", reason=reason)

    def _prompt(self, fields: Fields, event: HookEvent, common: SignalFields) -> PromptSubmitted:
        text = self.prompt(fields)
        # A subagent is prompted by the agent above it, never by the user: nothing in it is the user's word.
        program = bool(common["agent_id"])
        if self.origins and not program:
            program = by_program(*map(fields.raw, self.origins))
        return PromptSubmitted(
            **common,
            key=f"prompt:{_digest(event, fields, common['at_ms'], text)}",
            text=text,
            message_id=fields.identifier(self.turn) if self.turn else "",
            machine=program or machine_made(text),
            command="" if program else typed_command(text),
        )


class DeferringHookHost(HookHost):
    """A `HookHost` that takes text only with some events. The blocks of other events wait for the next one that takes text (`DeferringHost`)."""

    __slots__ = ()

    def reply_takes_text(self, payload: Mapping[str, object]) -> bool:
        """Whether the reply to `payload` can hand text to the model, so that a waiting block can go with it."""
        return self.takes_text(payload)


def _digest(event: HookEvent, fields: Fields, at_ms: int, *words: str) -> str:
    return digest(*(part(fields, at_ms) for part in event.by), *words)
