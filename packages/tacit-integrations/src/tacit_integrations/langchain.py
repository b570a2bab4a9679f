"""LangChain agents with memory: a middleware for `create_agent`.

In: the model calls of an agent, sync, async or streamed. Out: the same calls with the start pack at the end of the system message, and
blocks at the end of their messages. Blocks are added to the request, never to the state of the agent.
"""

# pyright: basic, reportMissingImports=false
# The framework is not in the environment in which types are checked.

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Unpack

from tacit.library.message_formats import (
    GAP,
    MAX_RESULT_CHARS,
    ROLE_CONTENT,
    MessageFacts,
    ToolOutcome,
    ToolRequest,
    looks_failed,
    own_text,
    parts_of,
    place_in_content,
)
from tacit.library.tacit import Tacit
from tacit_integrations.framework import imported_from
from tacit_integrations.model_calls import CallOptions, ModelCalls, PreparedCall
from tacit_integrations.replies import Reply

with imported_from("langchain"):
    from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
    from langchain_core.messages import AIMessage, BaseMessage, SystemMessage, ToolMessage
    from langgraph.config import get_config


class MemoryMiddleware(AgentMiddleware[Any, Any]):
    """Adds memories to the model calls of an agent: `create_agent(model, tools, middleware=[MemoryMiddleware()])`.

    Each thread (`configurable.thread_id`) is a session. Without a thread, a conversation is found by its beginning.
    """

    def __init__(
        self,
        memory: Tacit | None = None,
        **options: Unpack[CallOptions],
    ) -> None:
        """Give an agent a memory; the arguments are those of `ModelCalls`."""
        super().__init__()
        self.tools = []
        self._calls = ModelCalls(memory, **options)

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Add memories to the request and call the model."""
        prepared = self._calls.prepare(
            request.messages, LANGCHAIN, system=request.system_message, session=_thread()
        )
        response = handler(_with(request, prepared))
        self._calls.answered(prepared.sent, lambda: _reply(response))
        return response

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        """Add memories to the request and call the model, for agents that run asynchronously."""
        prepared = await self._calls.aprepare(
            request.messages, LANGCHAIN, system=request.system_message, session=_thread()
        )
        response = await handler(_with(request, prepared))
        self._calls.answered(prepared.sent, lambda: _reply(response))
        return response


class LangChainMessages:
    """The message format of LangChain."""

    def read(self, message: Any) -> MessageFacts:
        """Return the content of a message."""
        assert isinstance(message, BaseMessage)
        content: object = message.content
        text = own_text(content, parts_of(content))
        if isinstance(message, AIMessage):
            calls = tuple(
                ToolRequest(call_id=call["id"] or "", tool=call["name"], args=call["args"])
                for call in message.tool_calls
            )
            return MessageFacts(role="assistant", text=text, calls=calls)
        if isinstance(message, ToolMessage):
            failed = message.status == "error" or looks_failed(text)
            outcome = ToolOutcome(call_id=message.tool_call_id, text=text[:MAX_RESULT_CHARS], failed=failed)
            return MessageFacts(role="tool", results=(outcome,))
        role = {"human": "user", "system": "system"}.get(message.type, "")
        return ROLE_CONTENT.read({"role": role, "content": content})

    def place(self, message: Any, text: str) -> Any:
        """Return the message with `text` at its end as its only block; the same object if nothing changes."""
        placed = place_in_content(message.content, text)
        return message if placed is message.content else message.model_copy(update={"content": placed})


LANGCHAIN = LangChainMessages()


def _with(request: ModelRequest[Any], prepared: PreparedCall[Any]) -> ModelRequest[Any]:
    changed = request.override(messages=prepared.messages)
    if not prepared.system:
        return changed
    own = request.system_message
    if own is None:
        return changed.override(system_message=SystemMessage(content=prepared.system))
    content: Any = own.content
    joined: Any = (
        f"{content}{GAP}{prepared.system}"
        if isinstance(content, str)
        else [*content, {"type": "text", "text": prepared.system}]
    )
    return changed.override(system_message=own.model_copy(update={"content": joined}))


def _reply(response: object) -> Reply | None:
    """Return the model's answer in the result of a handler, or None."""
    result = getattr(response, "model_response", response)
    messages = [result] if isinstance(result, AIMessage) else getattr(result, "result", ())
    answer: Any = next((message for message in reversed(messages) if isinstance(message, AIMessage)), None)
    if answer is None:
        return None
    said = LANGCHAIN.read(answer)
    usage: Any = answer.usage_metadata or {}
    cached = (usage.get("input_token_details") or {}).get("cache_read") or 0
    return Reply(
        said=said,
        ended=not said.calls,
        input_tokens=usage.get("input_tokens") or 0,
        cached_tokens=cached,
    )


def _thread() -> str:
    """Return the name of the run's thread. "" = there is none, or the agent runs in a tool of another agent and has its own conversation."""
    try:
        configurable = get_config().get("configurable") or {}
    except RuntimeError:  # outside of a run
        return ""
    if "|" in str(configurable.get("checkpoint_ns") or ""):
        return ""
    thread = configurable.get("thread_id")
    return f"thread-{thread}" if thread else ""
