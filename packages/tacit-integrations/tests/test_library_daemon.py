"""The library through a real daemon: the same calls, no model in this process, and nothing lost but blocks when it dies."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tacit import InjectionResult, Tacit
from tacit.client.daemon_client import DaemonClient
from tacit.errors import NotFound
from user_voice import user_token

pytestmark = pytest.mark.slow
RULE = "Run make lint before every commit."
ASK = "Please commit the changes in the billing module now."


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("daemon") / "home"
    folder.mkdir(mode=0o700)
    (folder / "config.yaml").write_text("embedder:\n  provider: fake\nrecall:\n  deadline_ms: 10000\n")
    yield folder
    DaemonClient(folder).stop()


def test_a_program_asks_the_daemon_and_goes_on_without_it(home: Path) -> None:
    with Tacit.connect(home, cwd=home.parent, token=user_token(home)) as memory:
        (stored,) = memory.remember(RULE, when="commit")  # starts the daemon
        assert stored.change == "add"
        found = memory.recall("make lint before commit")
        assert [one.id for one in found.memories] == [stored.id]
        assert found.memories[0].tier == "user"
        injected = memory.context_for(ASK, session="one", deadline_ms=10_000)
        assert isinstance(injected, InjectionResult)
        assert injected.latency_ms >= 0
        memory.feedback(stored.id, useful=True)
        with pytest.raises(NotFound):
            memory.forget("mem_none")
        (old,) = memory.remember("Releases are cut on Fridays.")
        (new,) = memory.remember("The release train leaves every second Tuesday.", replaces=[old.id])
        assert new.change == "supersede"
        session = memory.session("chat", deadline_ms=10_000)
        talk = [{"role": "user", "content": ASK}]
        ready = session.prepare(talk)
        assert RULE in ready.system
        session.finish("Done.", messages=talk)
        memory.flush()
    DaemonClient(home).stop()
    with Tacit.connect(home, cwd=home.parent, start=False) as alone:
        assert alone.session("chat").prepare(talk).messages == talk


def test_a_daemon_that_dies_takes_nothing_along_but_blocks(home: Path) -> None:
    anthropic = pytest.importorskip("anthropic")
    from scripted_model import ScriptedModel
    from tacit_integrations import with_memory

    DaemonClient(home).ensure_running()
    with (
        Tacit.connect(home, cwd=home.parent, start=False, token=user_token(home)) as memory,
        ScriptedModel() as model,
    ):
        memory.remember(RULE, when="commit")
        bare = anthropic.Anthropic(api_key="k", base_url=model.url)
        ours = with_memory(bare, memory, session="dying", deadline_ms=10_000)
        said = [{"role": "user", "content": ASK}]
        ours.messages.create(model="m", max_tokens=9, messages=said)
        DaemonClient(home).stop()
        said += [
            {"role": "assistant", "content": "ok"},
            {"role": "user", "content": "And the next one, please."},
        ]
        reply = ours.messages.create(model="m", max_tokens=9, messages=said)
        assert reply.content[0].text
        first, second = (request.body for request in model.requests)
        assert "<tacit-memory" in first["system"]
        assert second["system"] == first["system"]  # what was handed over keeps its bytes
        assert second["messages"][0] == first["messages"][0]
        assert second["messages"][1:] == said[1:]
        ours.close()
