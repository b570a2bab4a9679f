"""LlamaIndex with memory: a copy of a chat model whose chats have a memory.

In: a chat model of LlamaIndex. Out: a copy of it. The class of the copy is a subclass of the model's class, so that agents, workflows and
chat engines accept it. Its chats (sync, async, streamed, with or without tools) get the start pack at the end of the system message and
blocks at the end of their messages. Completions of single texts are not changed.
"""

# pyright: basic, reportMissingImports=false
# The framework is not in the environment in which types are checked.

from __future__ import annotations

import copy
from collections.abc import AsyncGenerator, Generator, Sequence
from functools import cache
from typing import Any, TypeVar, Unpack, cast

from tacit.errors import InvalidInput
from tacit.library.message_formats import (
    GAP,
    MAX_RESULT_CHARS,
    ROLE_CONTENT,
    MessageFacts,
    ToolOutcome,
    ToolRequest,
    field,
    looks_failed,
    strip_own_blocks,
    tool_request_of,
)
from tacit.library.tacit import Tacit
from tacit_integrations.framework import imported_from
from tacit_integrations.model_calls import CallOptions, ModelCalls, PreparedCall

with imported_from("llama-index-core"):
    from llama_index.core.base.llms.types import ChatMessage, ChatResponse, MessageRole, TextBlock
    from llama_index.core.llms import LLM

L = TypeVar("L", bound=LLM)
_ROLES = {
    MessageRole.USER: "user",
    MessageRole.SYSTEM: "system",
    MessageRole.DEVELOPER: "developer",
}
_RESULTS = (MessageRole.TOOL, MessageRole.FUNCTION)
_ANSWERS = (MessageRole.ASSISTANT, MessageRole.CHATBOT, MessageRole.MODEL)


def with_memory(
    llm: L,
    memory: Tacit | None = None,
    **options: Unpack[CallOptions],
) -> L:
    """Return a copy of `llm` whose chats have a memory: `FunctionAgent(llm=with_memory(OpenAI(model="...")), tools=...)`.

    `options` are those of `ModelCalls`.

    Raises:
        InvalidInput: `llm` is not a language model of LlamaIndex.
    """
    if not isinstance(llm, LLM):
        raise InvalidInput(
            f"{type(llm).__name__} is no language model of LlamaIndex.",
            hint="Give one of `llama_index.llms`.",
        )
    calls = ModelCalls(memory, **options)
    remembering = copy.copy(llm)
    remembering.__class__ = _remembering(type(llm))
    object.__setattr__(remembering, "_tacit_calls", calls)
    return remembering


@cache
def _remembering(kind: type[Any]) -> type[Any]:
    """Return a subclass of `kind` whose chats have a memory."""

    class Remembering(kind):
        def chat(self, messages: Sequence[ChatMessage], **told: Any) -> ChatResponse:
            calls, prepared = _prepared(self, messages)
            response = super().chat(_messages(prepared), **told)
            calls.answered(prepared.sent, lambda: LLAMA_INDEX.read(response.message))
            return cast("ChatResponse", response)

        async def achat(self, messages: Sequence[ChatMessage], **told: Any) -> ChatResponse:
            calls, prepared = await _aprepared(self, messages)
            response = await super().achat(_messages(prepared), **told)
            calls.answered(prepared.sent, lambda: LLAMA_INDEX.read(response.message))
            return cast("ChatResponse", response)

        def stream_chat(
            self, messages: Sequence[ChatMessage], **told: Any
        ) -> Generator[ChatResponse, None, None]:
            calls, prepared = _prepared(self, messages)
            stream = super().stream_chat(_messages(prepared), **told)

            def passed() -> Generator[ChatResponse, None, None]:
                last = None
                for part in stream:
                    last = part
                    yield part
                if last is not None:
                    said = last.message
                    calls.answered(prepared.sent, lambda: LLAMA_INDEX.read(said))

            return passed()

        async def astream_chat(
            self, messages: Sequence[ChatMessage], **told: Any
        ) -> AsyncGenerator[ChatResponse, None]:
            calls, prepared = await _aprepared(self, messages)
            stream = await super().astream_chat(_messages(prepared), **told)

            async def passed() -> AsyncGenerator[ChatResponse, None]:
                last = None
                async for part in stream:
                    last = part
                    yield part
                if last is not None:
                    said = last.message
                    calls.answered(prepared.sent, lambda: LLAMA_INDEX.read(said))

            return passed()

    Remembering.__name__ = Remembering.__qualname__ = kind.__name__
    return Remembering


class LlamaIndexMessages:
    """The message format of LlamaIndex."""

    def read(self, message: Any) -> MessageFacts:
        """Return the content of a message."""
        assert isinstance(message, ChatMessage)
        text = strip_own_blocks("\n".join(b.text for b in message.blocks if isinstance(b, TextBlock)))
        if message.role in _ANSWERS:
            return MessageFacts(role="assistant", text=text, calls=tuple(_calls(message)))
        if message.role in _RESULTS:
            call_id = str(message.additional_kwargs.get("tool_call_id") or "")
            outcome = ToolOutcome(call_id=call_id, text=text[:MAX_RESULT_CHARS], failed=looks_failed(text))
            return MessageFacts(role="tool", results=(outcome,))
        return ROLE_CONTENT.read({"role": _ROLES.get(message.role, ""), "content": _content(message)})

    def place(self, message: Any, text: str) -> Any:
        """Return the message with `text` at its end; the same object if nothing changes."""
        if not text:
            return message
        blocks = list(message.blocks)
        if blocks and isinstance(blocks[-1], TextBlock):
            own = strip_own_blocks(blocks[-1].text)
            blocks[-1] = blocks[-1].model_copy(update={"text": f"{own}{GAP}{text}"})
        else:
            blocks.append(TextBlock(text=text))
        return message.model_copy(update={"blocks": blocks})


LLAMA_INDEX = LlamaIndexMessages()


def _prepared(llm: Any, messages: Sequence[ChatMessage]) -> tuple[ModelCalls, PreparedCall[ChatMessage]]:
    calls: ModelCalls = llm._tacit_calls  # noqa: SLF001 - its own
    return calls, calls.prepare(messages, LLAMA_INDEX)


async def _aprepared(
    llm: Any, messages: Sequence[ChatMessage]
) -> tuple[ModelCalls, PreparedCall[ChatMessage]]:
    calls: ModelCalls = llm._tacit_calls  # noqa: SLF001 - its own
    return calls, await calls.aprepare(messages, LLAMA_INDEX)


def _messages(prepared: PreparedCall[ChatMessage]) -> list[ChatMessage]:
    """Return the messages with the start pack at the end of the last leading system message."""
    messages = prepared.messages
    if not prepared.system:
        return messages
    leading = 0
    while leading < len(messages) and messages[leading].role in (MessageRole.SYSTEM, MessageRole.DEVELOPER):
        leading += 1
    if not leading:
        return [ChatMessage(role=MessageRole.SYSTEM, content=prepared.system), *messages]
    system = LLAMA_INDEX.place(messages[leading - 1], prepared.system)
    return [*messages[: leading - 1], system, *messages[leading:]]


def _content(message: ChatMessage) -> object:
    if len(message.blocks) == 1 and isinstance(message.blocks[0], TextBlock):
        return message.blocks[0].text
    return [
        {"type": "text", "text": block.text} if isinstance(block, TextBlock) else block
        for block in message.blocks
    ]


def _calls(message: ChatMessage) -> list[ToolRequest]:
    """Return the tool calls in an answer: those in its blocks, else those in the form of the model's API."""
    calls = [
        ToolRequest(call_id=field(block, "tool_call_id") or "", tool=field(block, "tool_name"), args=args)
        if isinstance(args := field(block, "tool_kwargs"), dict)
        else tool_request_of(field(block, "tool_call_id") or "", field(block, "tool_name"), args)
        for block in message.blocks
        if field(block, "block_type") == "tool_call"
    ]
    return calls or list(ROLE_CONTENT.read({"role": "assistant", **message.additional_kwargs}).calls)
