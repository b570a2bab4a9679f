"""One small agent per framework, with a tool, against the stub model. In: a framework, a way to run it, a memory or None. Out: turns.

A framework that is not installed skips the test that asks for it; `uv sync --all-packages --group frameworks` installs all of them.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from contextlib import suppress
from typing import Any
from uuid import uuid4

from tacit import Tacit

MODULES = {
    "langchain": "langchain.agents.middleware",
    "pydantic_ai": "pydantic_ai",
    "openai_agents": "agents",
    "llama_index": "llama_index.core",
    "litellm": "litellm",
}
FRAMEWORKS = tuple(MODULES)


WAYS = ("sync", "async", "stream")
SLOW_MS = 10_000.0
SYSTEM = "You are terse."
MISSING = "Error: no such file"

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # else it asks a server for prices
os.environ.setdefault("OPENAI_AGENTS_DISABLE_TRACING", "1")
os.environ.setdefault("LANGSMITH_TRACING", "false")


def write_file(path: str) -> str:
    """Write a file."""
    return MISSING if "missing" in path else "done"


class Driver:
    """An agent. `turn` says something and returns the answer's text."""

    def __init__(self, url: str, way: str, memory: Tacit | None, api: str, **told: Any) -> None:
        self.url, self.way, self.memory, self.api = url, way, memory, api
        self.told = {"deadline_ms": SLOW_MS, **told}
        self.loop = asyncio.Runner()
        self.clients: list[Any] = []
        self.begin()

    def begin(self) -> None:
        """Make the agent."""
        raise NotImplementedError

    def turn(self, text: str) -> str:
        """Say something."""
        raise NotImplementedError

    def close(self) -> None:
        """Close all clients."""
        for client in self.clients:
            with suppress(RuntimeError):  # a client of an event loop that is closed
                self.loop.run(client.close())
        self.loop.close()


class LangChain(Driver):
    def begin(self) -> None:
        from langchain.agents import create_agent
        from langgraph.checkpoint.memory import InMemorySaver

        from tacit_integrations.langchain import MemoryMiddleware

        self.thread = uuid4().hex
        middleware = [MemoryMiddleware(self.memory, **self.told)] if self.memory else []
        self.agent = create_agent(
            self.model(),
            tools=[write_file],
            system_prompt=SYSTEM,
            middleware=middleware,
            checkpointer=InMemorySaver(),
        )

    def model(self) -> Any:
        if self.api == "messages":
            from langchain_anthropic import ChatAnthropic

            return ChatAnthropic(model="stub", base_url=self.url, api_key="k", max_retries=0)
        from langchain_openai import ChatOpenAI

        return ChatOpenAI(
            model="stub",
            base_url=f"{self.url}/v1",
            api_key="k",
            max_retries=0,
            use_responses_api=self.api == "responses",
        )

    def turn(self, text: str) -> str:
        said = {"messages": [{"role": "user", "content": text}]}
        config = {"configurable": {"thread_id": self.thread}}
        if self.way == "sync":
            return self.agent.invoke(said, config)["messages"][-1].text
        if self.way == "stream":
            parts = [part for part, _ in self.agent.stream(said, config, stream_mode="messages")]
            return parts[-1].text or "".join(part.text for part in parts)
        return self.loop.run(self.agent.ainvoke(said, config))["messages"][-1].text


class PydanticAI(Driver):
    def begin(self) -> None:
        from pydantic_ai import Agent

        from tacit_integrations.pydantic_ai import MemoryModel

        model = self.model()
        self.agent = Agent(
            MemoryModel(model, self.memory, **self.told) if self.memory else model,
            tools=[write_file],
            system_prompt=SYSTEM,
        )
        self.history: list[Any] = []

    def model(self) -> Any:
        if self.api == "messages":
            from anthropic import AsyncAnthropic
            from pydantic_ai.models.anthropic import AnthropicModel
            from pydantic_ai.providers.anthropic import AnthropicProvider

            client = AsyncAnthropic(base_url=self.url, api_key="k", max_retries=0)
            self.clients.append(client)
            return AnthropicModel("stub", provider=AnthropicProvider(anthropic_client=client))
        from openai import AsyncOpenAI
        from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
        from pydantic_ai.providers.openai import OpenAIProvider

        client = AsyncOpenAI(base_url=f"{self.url}/v1", api_key="k", max_retries=0)
        self.clients.append(client)
        model = OpenAIResponsesModel if self.api == "responses" else OpenAIChatModel
        return model("stub", provider=OpenAIProvider(openai_client=client))

    def turn(self, text: str) -> str:
        async def said() -> Any:
            if self.way == "stream":
                async with self.agent.run_stream(text, message_history=self.history) as result:
                    answer = await result.get_output()
                    return answer, result.all_messages()
            result = await self.agent.run(text, message_history=self.history)
            return result.output, result.all_messages()

        if self.way == "sync":
            result = self.agent.run_sync(text, message_history=self.history)
            answer, self.history = result.output, result.all_messages()
        else:
            answer, self.history = self.loop.run(said())
        return answer


class OpenAIAgents(Driver):
    def begin(self) -> None:
        from agents import Agent, OpenAIProvider, RunConfig, function_tool
        from openai import AsyncOpenAI

        from tacit_integrations.openai_agents import MemoryModelProvider

        client = AsyncOpenAI(base_url=f"{self.url}/v1", api_key="k", max_retries=0)
        self.clients.append(client)
        provider: Any = OpenAIProvider(openai_client=client, use_responses=self.api != "chat")
        if self.memory:
            provider = MemoryModelProvider(provider, self.memory, **self.told)
        self.config = RunConfig(model_provider=provider, tracing_disabled=True)
        self.agent = Agent(
            name="helper", model="stub", instructions=SYSTEM, tools=[function_tool(write_file)]
        )
        self.items: list[Any] = []

    def turn(self, text: str) -> str:
        from agents import Runner

        said = [*self.items, {"role": "user", "content": text}]

        async def streamed() -> Any:
            result = Runner.run_streamed(self.agent, said, run_config=self.config)
            async for _ in result.stream_events():
                pass
            return result

        if self.way == "stream":
            result = self.loop.run(streamed())
        elif self.way == "sync":
            result = Runner.run_sync(self.agent, said, run_config=self.config)
        else:
            result = self.loop.run(Runner.run(self.agent, said, run_config=self.config))
        self.items = result.to_input_list()
        return result.final_output


class LlamaIndex(Driver):
    def begin(self) -> None:
        from tacit_integrations.llama_index import with_memory

        llm = self.model()
        self.llm = with_memory(llm, self.memory, **self.told) if self.memory else llm
        from llama_index.core.llms import ChatMessage

        self.messages = [ChatMessage(role="system", content=SYSTEM)]
        if self.way == "async":
            from llama_index.core.agent.workflow import FunctionAgent
            from llama_index.core.memory import Memory

            self.agent = FunctionAgent(
                llm=self.llm, tools=[write_file], system_prompt=SYSTEM, streaming=False
            )
            self.memory_of_run = Memory.from_defaults(session_id="t1", token_limit=40_000)

    def model(self) -> Any:
        if self.api == "messages":
            from llama_index.llms.anthropic import Anthropic

            return Anthropic(model="claude-sonnet-4-0", base_url=self.url, api_key="k", max_retries=0)
        from llama_index.llms.openai import OpenAI

        return OpenAI(model="gpt-4o", api_base=f"{self.url}/v1", api_key="k", max_retries=0)

    def turn(self, text: str) -> str:
        from llama_index.core.llms import ChatMessage
        from llama_index.core.tools import FunctionTool

        if self.way == "async":

            async def said() -> str:
                return str(await self.agent.run(text, memory=self.memory_of_run))

            return self.loop.run(said())
        tool = FunctionTool.from_defaults(write_file)
        self.messages.append(ChatMessage(role="user", content=text))
        while True:
            given = {"tools": [tool], "chat_history": self.messages}
            if self.way == "stream":
                answer = list(self.llm.stream_chat_with_tools(**given))[-1]
            else:
                answer = self.llm.chat_with_tools(**given)
            self.messages.append(answer.message)
            calls = self.llm.get_tool_calls_from_response(answer, error_on_no_tool_call=False)
            for call in calls:
                result = write_file(**call.tool_kwargs)
                told = {"tool_call_id": call.tool_id}
                self.messages.append(ChatMessage(role="tool", content=result, additional_kwargs=told))
            if not calls:
                return answer.message.content


class LiteLLM(Driver):
    TOOLS = (
        {
            "type": "function",
            "function": {
                "name": "write_file",
                "parameters": {"type": "object", "properties": {"path": {"type": "string"}}},
            },
        },
    )

    def begin(self) -> None:
        import litellm

        from tacit_integrations.litellm import with_memory

        self.call: Callable[..., Any] = litellm.acompletion if self.way == "async" else litellm.completion
        if self.memory:
            self.call = with_memory(self.call, self.memory, **self.told)
        self.rebuild = litellm.stream_chunk_builder
        self.messages: list[Any] = [{"role": "system", "content": SYSTEM}]

    def turn(self, text: str) -> str:
        self.messages.append({"role": "user", "content": text})
        name, base = (
            ("anthropic/stub", self.url) if self.api == "messages" else ("openai/stub", f"{self.url}/v1")
        )
        while True:
            told = {
                "model": name,
                "api_base": base,
                "api_key": "k",
                "num_retries": 0,
                "messages": list(self.messages),
                "tools": list(self.TOOLS),
                "max_tokens": 100,
            }
            if self.way == "async":
                answer = self.loop.run(self.call(**told))
            elif self.way == "stream":
                answer = self.rebuild(list(self.call(**told, stream=True)))
            else:
                answer = self.call(**told)
            message = answer.choices[0].message
            self.messages.append(message.model_dump(exclude_none=True))
            for call in message.tool_calls or ():
                result = write_file("missing" if "missing" in call.function.arguments else "")
                self.messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
            if not message.tool_calls:
                return message.content


DRIVERS: dict[str, type[Driver]] = {
    "langchain": LangChain,
    "pydantic_ai": PydanticAI,
    "openai_agents": OpenAIAgents,
    "llama_index": LlamaIndex,
    "litellm": LiteLLM,
}
APIS = {
    "langchain": ("messages", "chat", "responses"),
    "pydantic_ai": ("messages", "chat", "responses"),
    "openai_agents": ("responses", "chat"),
    "llama_index": ("chat", "messages"),
    "litellm": ("chat", "messages"),
}
