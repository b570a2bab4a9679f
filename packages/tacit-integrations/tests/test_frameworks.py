"""The published agent frameworks with memory, against the stub model: their requests differ by the blocks and by nothing else.

The shipped embedding model reads. Run by `.ci/run` in the environment of the
group `frameworks`.
"""

from __future__ import annotations

import functools
import itertools
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from framework_agents import APIS, DRIVERS, FRAMEWORKS, WAYS, Driver
from scripted_model import ScriptedModel, ScriptedReply
from sdk_agent import bare
from tacit import Tacit
from tacit.client.daemon_client import DaemonClient
from tacit.hosts.probe.wire import CallTool, Say
from tacit.ports.store import MemoryFilter
from tacit_integrations.reuse import kept, outline
from user_voice import user_token

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore"),  # the frameworks cause warnings
    pytest.mark.usefixtures("no_leftovers"),
]

LINT = "Run make lint before every commit."
OSLO = "Warehouse Oslo ships parcels with DHL."
BILLING = "Never edit src/billing.py by hand; scripts/prices.py writes it."
ONE_IN_THE_START = {"recall": {"deadline_ms": 10_000, "budgets": {"start": 48, "index": 0}}}
TURNS = (
    "Hello there, who are you?",
    "Who ships the parcels of the warehouse in the Norwegian capital?",
    "Change what a unit costs.",
    "Thanks, that was all for today.",
)
SCRIPT = (
    ScriptedReply(when="Hello", answers=(Say(text="one"),)),
    ScriptedReply(when="Who ships", answers=(Say(text="two"),)),
    ScriptedReply(
        when="Change what",
        answers=(CallTool(name="write_file", input={"path": "src/billing.py"}), Say(text="three")),
    ),
    ScriptedReply(when="", answers=(Say(text="four"),)),
)
WAYS_AND_APIS = [
    (framework, api, way)
    for framework in FRAMEWORKS
    for number, api in enumerate(APIS[framework])
    for way in (WAYS if number == 0 else ("sync",))
]


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tacit]:
    folder = tmp_path_factory.mktemp("frameworks")
    with Tacit.open(folder / "home", cwd=folder, settings=ONE_IN_THE_START) as opened:
        tell(opened)
        yield opened


def tell(memory: Tacit) -> None:
    memory.remember(LINT, kind="guideline", when="commit")
    memory.remember(OSLO)
    memory.remember(BILLING, when="path:src/billing.py")
    for house in range(12):
        memory.remember(f"The boiler of house {house} is checked by inspector {house * 7} on day {house}.")


@contextmanager
def agent(
    framework: str, memory: Tacit | None, way: str = "sync", api: str = "", **told: Any
) -> Iterator[tuple[Driver, ScriptedModel]]:
    with ScriptedModel(SCRIPT) as model:
        driver = DRIVERS[framework](model.url, way, memory, api or APIS[framework][0], **told)
        try:
            yield driver, model
        finally:
            driver.close()


@functools.cache
def plain_record(framework: str, api: str, way: str) -> list[dict[str, Any]]:
    return recorded(framework, api, way, None)


def recorded(framework: str, api: str, way: str, memory: Tacit | None, **told: Any) -> list[dict[str, Any]]:
    """Return the requests of a conversation."""
    with agent(framework, memory, way, api, **told) as (driver, model):
        answers = [driver.turn(text) for text in TURNS]
        assert [answer[-3:] for answer in answers] == ["one", "two", "ree", "our"]
        return [dict(request.body) for request in model.model_requests]


def messages(body: dict[str, Any]) -> list[Any]:
    return body.get("messages") or body["input"]


@pytest.mark.parametrize(("framework", "api", "way"), WAYS_AND_APIS)
def test_requests_differ_by_the_blocks_alone(framework: str, api: str, way: str, memory: Tacit) -> None:
    plain = plain_record(framework, api, way)
    with_it = recorded(framework, api, way, memory)
    assert len(plain) == len(with_it) == 5
    assert [bare(body) for body in with_it] == plain
    first, second, call, result, last = (json.dumps(body) for body in with_it)
    assert LINT in first
    assert OSLO not in first
    assert OSLO in second
    assert BILLING not in call
    assert BILLING in result
    assert last.count("<tacit-memory") == result.count("<tacit-memory") == 3
    (with_result,) = [one for one in messages(with_it[3]) if BILLING in json.dumps(one)]
    assert "done" in json.dumps(with_result)  # the block stands with the result of the call
    (asked,) = [one for one in messages(with_it[1]) if OSLO in json.dumps(one)]
    assert "Norwegian" in json.dumps(asked)
    outlines = [outline(body) for body in with_it]  # what a prompt cache can keep of each request
    assert [kept(after, before) / before.size for before, after in itertools.pairwise(outlines)] == [1.0] * 4


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_without_a_daemon_a_program_goes_on(framework: str, tmp_path: Path) -> None:
    api = APIS[framework][0]
    with Tacit.connect(tmp_path / "none", cwd="", start=False) as dead:
        assert recorded(framework, api, "async", dead) == plain_record(framework, api, "async")


class Broken(Tacit):
    """A memory that breaks wherever it is asked."""

    def __init__(self) -> None: ...

    def session(self, *args: Any, **told: Any) -> Any:
        raise OSError("the disk is gone")


@pytest.mark.parametrize("framework", FRAMEWORKS)
@pytest.mark.parametrize("way", ["sync", "stream"])
def test_no_failure_of_ours_reaches_the_program(
    framework: str, way: str, caplog: pytest.LogCaptureFixture
) -> None:
    api = APIS[framework][0]
    assert recorded(framework, api, way, Broken()) == plain_record(framework, api, way)
    assert "goes out without memory" in caplog.text


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_nothing_is_learned_unless_the_program_asks_for_it(framework: str, tmp_path: Path) -> None:
    said = "From now on, always write dates as 2026-11-26."
    learned: dict[bool, str] = {}
    for capture in (False, True):
        with Tacit.open(tmp_path / f"home-{capture}", cwd=tmp_path) as memory:
            with agent(framework, memory, capture=capture) as (driver, _):
                driver.turn(said)
            memory.flush()
            memories = memory.engine.list_memories(MemoryFilter(statuses=None))
            learned[capture] = " ".join(one.content for one in memories)
    assert "2026-11-26" in learned[True]
    assert learned[False] == ""


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_an_agent_has_memories_and_sessions_of_its_own(framework: str, tmp_path: Path) -> None:
    with Tacit.open(tmp_path / "home", cwd=tmp_path) as memory:
        memory.remember("Escalate outages to Priya.", scope="agent:support", when="always")
        for name in ("support", "sales"):
            with agent(framework, memory, agent=name, session=lambda name=name: f"chat-{name}") as (
                driver,
                model,
            ):
                driver.turn("Good morning.")
                (request,) = model.model_requests
                assert ("Priya" in json.dumps(request.body)) == (name == "support")
        memory.flush()
        sessions = {(state.key.session_id, state.agent) for state in memory.engine.sessions()}
        assert sessions == {("chat-support", "support"), ("chat-sales", "sales")}


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    home = tmp_path_factory.mktemp("daemon") / "home"
    home.mkdir(mode=0o700)
    (home / "config.yaml").write_text(
        "recall:\n  deadline_ms: 10000\n  budgets:\n    start: 48\n    index: 0\n"
    )
    with Tacit.connect(home, cwd=home.parent, token=user_token(home)) as memory:
        tell(memory)
    yield home
    DaemonClient(home).stop()


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_the_daemon_gives_the_same(framework: str, daemon: Path) -> None:
    with Tacit.connect(daemon, cwd=daemon.parent) as memory:
        bodies = [json.dumps(body) for body in recorded(framework, APIS[framework][0], "async", memory)]
    assert LINT in bodies[0], bodies[0]
    assert OSLO in bodies[1], bodies[1]
    assert BILLING in bodies[3], bodies[3]


FAILS = "A write that ends in 'no such file' needs scripts/mount.sh first."


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_failed_tool_gets_what_is_known_of_the_failure(framework: str, tmp_path: Path) -> None:
    fails = (CallTool(name="write_file", input={"path": "missing.txt"}), Say(text="sorry"))
    settings = {"recall": {"deadline_ms": 10_000, "budgets": {"start": 0}}}
    with Tacit.open(tmp_path / "home", cwd=tmp_path, settings=settings) as memory:
        memory.remember(FAILS, kind="error_pattern")
        with agent(framework, memory) as (driver, model):
            model.script[:] = [ScriptedReply(when="", answers=fails)]
            driver.turn("Put it down, please.")
            before, after = (json.dumps(request.body) for request in model.model_requests)
    assert "mount.sh" not in before
    assert "mount.sh" in after
    assert 'surface=\\"failure\\"' in after


def test_a_handoff_keeps_what_was_given(memory: Tacit) -> None:
    from agents import Agent, Runner

    with agent("openai_agents", memory) as (driver, model):
        model.script[:] = [
            ScriptedReply(when="warehouse", answers=(CallTool(name="transfer_to_expert"), Say(text="one"))),
            ScriptedReply(when="", answers=(Say(text="two"),)),
        ]
        expert = Agent(name="expert", model="stub", instructions="You know shipping.")
        front = Agent(name="front", model="stub", instructions="You hand over.", handoffs=[expert])
        result = driver.loop.run(Runner.run(front, TURNS[1], run_config=driver.config))
        assert (result.last_agent.name, result.final_output) == ("expert", "one")
        first, second = (request.body for request in model.model_requests)
    assert OSLO in json.dumps(first)
    assert second["input"][0] == first["input"][0]  # the same prompt with the same block
    assert first["instructions"].replace("You hand over.", "You know shipping.") == second["instructions"]


def test_a_conversation_that_the_api_stores_goes_on(memory: Tacit) -> None:
    from agents import Runner

    with agent("openai_agents", memory) as (driver, model):
        result, response_id = None, None
        for text in TURNS[:2]:
            result = driver.loop.run(
                Runner.run(driver.agent, text, run_config=driver.config, previous_response_id=response_id)
            )
            response_id = result.last_response_id
        first, second = (request.body for request in model.model_requests)
    assert second["previous_response_id"]
    assert len(second["input"]) == 1
    assert OSLO in json.dumps(second["input"])
    assert LINT in first["instructions"]
    assert second["instructions"] == first["instructions"]


def test_a_model_object_gets_the_memory_of_its_provider(memory: Tacit) -> None:
    from agents import Agent, RunConfig, Runner

    with agent("openai_agents", memory) as (driver, model):
        provider = driver.config.model_provider
        bare_model = provider._provider.get_model("stub")
        own = Agent(name="own", model=provider.remembering(bare_model))
        driver.loop.run(Runner.run(own, TURNS[0], run_config=RunConfig(tracing_disabled=True)))
        assert LINT in json.dumps(model.model_requests[0].body)


def test_an_agent_in_a_tool_of_another_has_a_session_of_its_own(tmp_path: Path) -> None:
    from langchain.agents import create_agent

    from tacit_integrations.langchain import MemoryMiddleware

    with Tacit.open(tmp_path / "home", cwd=tmp_path) as memory:
        memory.remember(LINT, kind="guideline", when="commit")
        with agent("langchain", memory) as (driver, model):
            model.script[:] = [
                ScriptedReply(when="expert", answers=(CallTool(name="ask"), Say(text="outer"))),
                ScriptedReply(when="", answers=(Say(text="inner"),)),
            ]
            inner = create_agent(driver.model(), middleware=[MemoryMiddleware(memory, deadline_ms=10_000.0)])

            def ask() -> str:
                """Ask."""
                return inner.invoke({"messages": [{"role": "user", "content": "Say something."}]})[
                    "messages"
                ][-1].text

            outer = create_agent(
                driver.model(), tools=[ask], middleware=[MemoryMiddleware(memory, deadline_ms=10_000.0)]
            )
            said = {"messages": [{"role": "user", "content": "Ask the expert."}]}
            done = outer.invoke(said, {"configurable": {"thread_id": "7"}})
            assert done["messages"][-1].text == "outer"
            assert [LINT in json.dumps(request.body) for request in model.model_requests] == [True] * 3
        memory.flush()
        names = {state.key.session_id for state in memory.engine.sessions()}
        assert len(names) == 2
        assert "thread-7" in names
