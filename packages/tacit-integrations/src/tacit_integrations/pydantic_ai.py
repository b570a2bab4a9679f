"""Pydantic AI with memory: a model that adds memories to the requests of another model.

In: the model requests of an agent, whole or streamed. Out: the same requests with the start pack at the end of the leading system prompt, and
blocks at the end of the user's prompts and of the tool returns. Never changes the message history of a run.
"""

# pyright: basic, reportMissingImports=false
# The framework is not in the environment in which types are checked.

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, Unpack

from tacit.library.message_formats import (
    GAP,
    MAX_RESULT_CHARS,
    ROLE_CONTENT,
    MessageFacts,
    ToolOutcome,
    ToolRequest,
    looks_failed,
    place_in_content,
    strip_own_blocks,
    tool_request_of,
)
from tacit.library.tacit import Tacit
from tacit_integrations.framework import imported_from
from tacit_integrations.model_calls import CallOptions, ModelCalls, PreparedCall
from tacit_integrations.replies import Reply

with imported_from("pydantic-ai-slim"):
    from pydantic_ai.messages import (
        ModelMessage,
        ModelRequest,
        ModelResponse,
        RetryPromptPart,
        SystemPromptPart,
        TextPart,
        ToolCallPart,
        ToolReturnPart,
        UserPromptPart,
    )
    from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse
    from pydantic_ai.models.wrapper import WrapperModel
    from pydantic_ai.settings import ModelSettings


class MemoryModel(WrapperModel):
    """A model with memory: `Agent(MemoryModel("anthropic:claude-..."))`."""

    def __init__(
        self,
        wrapped: Model | Any,
        memory: Tacit | None = None,
        **options: Unpack[CallOptions],
    ) -> None:
        """Wrap `wrapped`, a model or the name of one. `options` are those of `ModelCalls`."""
        super().__init__(wrapped)
        self._calls = ModelCalls(memory, **options)

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """Add memories to the request and call the model."""
        prepared = await self._calls.aprepare(messages, PYDANTIC_AI)
        response = await self.wrapped.request(
            _with_system(prepared), model_settings, model_request_parameters
        )
        self._calls.answered(prepared.sent, lambda: _reply(response))
        return response

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: Any = None,
    ) -> AsyncIterator[StreamedResponse]:
        """Add memories to the request, call the model, and stream its answer."""
        prepared = await self._calls.aprepare(messages, PYDANTIC_AI)
        async with self.wrapped.request_stream(
            _with_system(prepared), model_settings, model_request_parameters, run_context
        ) as stream:
            yield stream
        self._calls.answered(prepared.sent, lambda: _reply(stream.get()))


class PydanticMessages:
    """The message format of Pydantic AI: a request holds prompts of the user and returns of tools, in parts."""

    def read(self, message: Any) -> MessageFacts:
        """Return the content of a message."""
        if isinstance(message, ModelResponse):
            text = "\n".join(part.content for part in message.parts if isinstance(part, TextPart))
            return MessageFacts(role="assistant", text=text, calls=tuple(_calls(message)))
        assert isinstance(message, ModelRequest)
        prompts = [part.content for part in message.parts if isinstance(part, UserPromptPart)]
        facts = ROLE_CONTENT.read({"role": "user", "content": _content(prompts)})
        return replace(facts, results=tuple(_results(message)))

    def place(self, message: Any, text: str) -> Any:
        """Return the message with `text` at the end of its last prompt, else of its last tool return; the same object if nothing changes."""
        if not text:
            return message
        parts = list(message.parts)
        for kinds in ((UserPromptPart,), (ToolReturnPart, RetryPromptPart)):
            for at in range(len(parts) - 1, -1, -1):
                if isinstance(parts[at], kinds):
                    parts[at] = replace(parts[at], content=_placed(parts[at], text))
                    return replace(message, parts=parts)
        return message


PYDANTIC_AI = PydanticMessages()


def _content(prompts: Sequence[Any]) -> object:
    """Return the content of the prompts of one request, as a text or as parts."""
    if len(prompts) == 1 and isinstance(prompts[0], str):
        return prompts[0]
    return [part for prompt in prompts for part in ([prompt] if isinstance(prompt, str) else prompt)]


def _placed(part: Any, text: str) -> object:
    if isinstance(part, UserPromptPart):
        content = part.content
        return place_in_content(content, text) if isinstance(content, str) else [*content, text]
    if isinstance(part, RetryPromptPart):
        return place_in_content(
            part.content if isinstance(part.content, str) else part.model_response(), text
        )
    return place_in_content(part.model_response_str(), text)


def _results(message: ModelRequest) -> list[ToolOutcome]:
    outcomes: list[ToolOutcome] = []
    for part in message.parts:
        if isinstance(part, ToolReturnPart):
            text = strip_own_blocks(part.model_response_str())
            outcomes.append(
                ToolOutcome(
                    call_id=part.tool_call_id, text=text[:MAX_RESULT_CHARS], failed=looks_failed(text)
                )
            )
        elif isinstance(part, RetryPromptPart) and part.tool_name:
            text = strip_own_blocks(part.model_response())
            outcomes.append(ToolOutcome(call_id=part.tool_call_id, text=text[:MAX_RESULT_CHARS], failed=True))
    return outcomes


def _calls(message: ModelResponse) -> list[ToolRequest]:
    return [
        tool_request_of(part.tool_call_id, part.tool_name, part.args)
        if isinstance(part.args, str)
        else ToolRequest(call_id=part.tool_call_id, tool=part.tool_name, args=part.args or {})
        for part in message.parts
        if isinstance(part, ToolCallPart)
    ]


def _with_system(prepared: PreparedCall[ModelMessage]) -> list[ModelMessage]:
    """Return the messages with the start pack at the end of the last leading system prompt of the first request."""
    messages = prepared.messages
    at = next((at for at, message in enumerate(messages) if isinstance(message, ModelRequest)), None)
    if not prepared.system or at is None:
        return messages
    first = messages[at]
    leading = next(
        (number for number, part in enumerate(first.parts) if not isinstance(part, SystemPromptPart)),
        len(first.parts),
    )
    own = first.parts[:leading]
    system = (
        replace(own[-1], content=f"{own[-1].content}{GAP}{prepared.system}")
        if own
        else SystemPromptPart(content=prepared.system)
    )
    parts = [*own[:-1], system, *first.parts[leading:]]
    return [*messages[:at], replace(first, parts=parts), *messages[at + 1 :]]


def _reply(response: ModelResponse) -> Reply:
    said = PYDANTIC_AI.read(response)
    return Reply(
        said=said,
        ended=not said.calls,
        input_tokens=response.usage.input_tokens,
        cached_tokens=response.usage.cache_read_tokens,
    )
