"""The OpenAI Agents SDK with memory: a model and a model provider in front of others.

In: the model calls of a run, whole or streamed. Out: the same calls with the start pack at the end of the instructions, and blocks at the
end of the user's messages and of the outputs of tools. The SDK still handles sessions, handoffs and stored conversations.
"""

# pyright: basic, reportMissingImports=false
# The framework is not in the environment in which types are checked.

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import partial
from typing import Any, Unpack

from tacit.library.tacit import Tacit
from tacit_integrations.bodies import Body
from tacit_integrations.framework import imported_from
from tacit_integrations.model_calls import CallOptions, ModelCalls, as_fields
from tacit_integrations.replies import Reply, read_value

with imported_from("openai-agents"):
    from agents import Model, ModelProvider, ModelResponse, MultiProvider


class MemoryModelProvider(ModelProvider):
    """A model provider that adds a memory to the models of another provider: `Runner.run(agent, prompt, run_config=RunConfig(model_provider=...))`."""

    def __init__(
        self,
        provider: ModelProvider | None = None,
        memory: Tacit | None = None,
        **options: Unpack[CallOptions],
    ) -> None:
        """Wrap the models of `provider` (None = the SDK's own provider). `options` are those of `ModelCalls`."""
        self._provider = provider or MultiProvider()
        self._calls = ModelCalls(memory, **options)

    def get_model(self, model_name: str | None) -> Model:
        """Return the model of this name, with memory. All models of the provider share their conversations, so a handoff keeps them."""
        return self.remembering(self._provider.get_model(model_name))

    def remembering(self, model: Model) -> Model:
        """Return `model` with the memory of this provider, for `Agent(model=...)`."""
        return _Remembering(model, self._calls)

    async def aclose(self) -> None:
        """Close the wrapped provider."""
        await self._provider.aclose()


class _Remembering(Model):
    """A model that adds memories to the calls of another model."""

    def __init__(self, model: Model, calls: ModelCalls) -> None:
        self._model = model
        self._calls = calls

    async def get_response(
        self,
        system_instructions: str | None,
        input: Any,  # noqa: A002 - the SDK names it
        *args: Any,
        **told: Any,
    ) -> ModelResponse:
        """Add memories to the request and call the model."""
        body, sent = await self._calls.acarry("responses", _body(system_instructions, input, told))
        response = await self._model.get_response(body.get("instructions"), body["input"], *args, **told)
        self._calls.answered(sent, lambda: _reply(response))
        return response

    async def stream_response(
        self,
        system_instructions: str | None,
        input: Any,  # noqa: A002 - the SDK names it
        *args: Any,
        **told: Any,
    ) -> AsyncIterator[Any]:
        """Add memories to the request, call the model, and stream its answer."""
        body, sent = await self._calls.acarry("responses", _body(system_instructions, input, told))
        async for event in self._model.stream_response(
            body.get("instructions"), body["input"], *args, **told
        ):
            if event.type in ("response.completed", "response.incomplete"):
                self._calls.answered(sent, partial(_reply_in, event))
            yield event

    def get_retry_advice(self, request: Any) -> Any:
        """Return the advice of the wrapped model."""
        return self._model.get_retry_advice(request)

    async def close(self) -> None:
        """Close the wrapped model."""
        await self._model.close()

    async def _cleanup_on_run_end(self, owner: object) -> None:
        await self._model._cleanup_on_run_end(owner)  # noqa: SLF001 - the SDK asks every model

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)


def _body(instructions: str | None, items: Any, told: dict[str, Any]) -> Body:
    """Return the call as a request of the Responses API."""
    named = {
        "previous_response_id": "previous_response_id",
        "conversation": "conversation_id",
        "prompt": "prompt",
    }
    kept = {name: told[key] for name, key in named.items() if told.get(key)}
    return {"instructions": instructions, "input": items, **kept}


def _reply_in(event: Any) -> Reply | None:
    return read_value("responses", as_fields(event.response))


def _reply(response: ModelResponse) -> Reply | None:
    usage = response.usage
    return read_value(
        "responses",
        {
            "object": "response",
            "status": "completed",
            "id": response.response_id,
            "output": [as_fields(item) for item in response.output],
            "usage": {
                "input_tokens": usage.input_tokens,
                "input_tokens_details": as_fields(usage.input_tokens_details),
            },
        },
    )
