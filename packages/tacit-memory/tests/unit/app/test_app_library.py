"""Tacit as a library: what a program remembers, asks and puts beside the messages it keeps itself."""

from __future__ import annotations

import copy
import logging
import subprocess
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Thread
from typing import Any, cast

import pytest

from loopback import DaemonSocket
from tacit import InjectionFailed, InjectionResult, Tacit
from tacit.config.home import Home
from tacit.errors import DaemonUnavailable, InvalidInput
from tacit.library.conversation import Conversation, block_slots
from tacit.library.message_formats import ROLE_CONTENT
from tacit.library.over_socket import DaemonEngine
from tacit.library.tacit import BackgroundThread, DaemonFailureLog
from tacit.ports.store import MemoryFilter

RULE = "Run make lint before every commit."
ASK = "Please commit the changes in the billing module now."
SLOW = 10_000.0
"""Milliseconds: a busy machine is no reason for silence here."""
LOUD = {
    "embedder": {"provider": "fake"},
    "recall": {
        "deadline_ms": 10_000,
        "thresholds": {"prompt": 0.0, "action": 0.0, "on_demand": 0.0},
        "budgets": {"start": 0},
    },
}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("library") / "home"


@pytest.fixture(scope="module")
def memory(home: Path) -> Iterator[Tacit]:
    """One for all: what is expensive is the first count of tokens."""
    with Tacit.open(home, cwd=home.parent, settings=LOUD) as opened:
        opened.remember(RULE, when="commit")
        yield opened


def bounded(memory: Tacit, most: int) -> Tacit:
    recall = {**LOUD["recall"], "history_blocks": most, "reinject_after": 1}
    home = memory.engine.home.root
    return Tacit.open(home, cwd=home.parent, settings={**LOUD, "recall": recall})


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def agent(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


def test_a_prompt_gets_the_nine_fields(memory: Tacit) -> None:
    found = memory.context_for(ASK, session="s2")
    assert isinstance(found, InjectionResult)
    assert RULE in found.formatted_context
    assert found.memories_included
    assert memory.context_for(ASK, session="s2").memories_included == ()  # it is in the context already
    assert memory.context_for(ASK).memories_included == found.memories_included


def test_messages_come_back_with_a_block_and_stay_as_they_were(memory: Tacit) -> None:
    given = [{"role": "system", "content": "You are terse."}, user(ASK)]
    before = copy.deepcopy(given)
    session = memory.session("s3", deadline_ms=SLOW)
    ready = session.prepare(given)
    assert given == before
    assert ready.messages[0] is given[0]
    assert ready.messages[1]["content"].startswith(f"{ASK}\n\n<tacit-memory")
    assert RULE in ready.messages[1]["content"]
    assert ready.blocks == 1


def test_one_text_is_no_list_of_messages(memory: Tacit) -> None:
    with pytest.raises(InvalidInput, match="a text instead of a list"):
        memory.session().prepare("commit this")


def test_words_said_twice_are_two_messages() -> None:
    said = [ROLE_CONTENT.read(m) for m in (user("yes"), agent("And?"), user("yes"), user(""))]
    first, _, second, empty = block_slots(said)
    assert second == (f"{first[0]}#2",)
    assert empty == ()


def test_blocks_in_the_history_are_bounded_every_turn(memory: Tacit) -> None:
    with bounded(memory, 1) as few:
        session = few.session("s6", deadline_ms=SLOW)
        talk = [user(ASK)]
        assert session.prepare(talk).blocks == 1
        talk += [agent("Done."), user("Commit the second part of the billing module too, please.")]
        ready = session.prepare(talk)
        assert ready.messages[0] is talk[0]  # the older block is gone
        assert "<tacit-memory" in ready.messages[2]["content"]


def test_after_a_compaction_what_was_handed_over_may_come_again(memory: Tacit) -> None:
    session = memory.session("s9", deadline_ms=SLOW)
    assert session.prepare([user(ASK)]).blocks == 1
    summary = [user("Summary: the billing module was committed."), agent("Good."), user("Now the next one.")]
    ready = session.prepare(summary)
    assert RULE in ready.system  # what the summary dropped stands in the system prompt
    assert session.prepare(summary).system == ready.system


def test_a_broken_memory_costs_the_blocks_alone(memory: Tacit) -> None:
    given = [user(ASK), 7, None]

    class Unreadable(Mapping[str, object]):
        def __getitem__(self, name: str) -> object:
            raise RuntimeError(name)

        def __iter__(self) -> Iterator[str]:
            return iter(())

        def __len__(self) -> int:
            return 0

    session = memory.session("s12", deadline_ms=SLOW)
    assert len(session.prepare(given).messages) == 3
    odd = Unreadable()
    assert session.prepare([odd]).messages == [odd]
    with bounded(memory, 1) as other:
        late = other.session("late", deadline_ms=SLOW)
    assert late.prepare([user(ASK)]).blocks == 0  # closed
    late.finish("over")


def test_without_a_daemon_conversations_go_on(tmp_path: Path) -> None:
    with Tacit.connect(tmp_path / "none", cwd="", start=False) as memory:
        given = [user(ASK)]
        session = memory.session("s13", deadline_ms=SLOW)
        ready = session.prepare(given)
        assert ready.messages[0] is given[0]
        assert ready.system == ""
        session.finish("Done.", messages=given)
        assert memory.context_for(ASK).formatted_context == ""
        assert isinstance(memory.inject(ASK), InjectionFailed)
        with pytest.raises(DaemonUnavailable):
            memory.recall("anything")
        with pytest.raises(InvalidInput):
            _ = memory.engine


def test_after_silence_nothing_is_asked_for_a_moment(tmp_path: Path) -> None:
    heard: list[Exception] = []
    way = DaemonEngine(Home(tmp_path / "none"), start=False, on_failure=heard.append)
    assert way.hook({"event": "ping"}, 50) is None
    assert way.hook({"event": "ping"}, 50) is None
    assert len(heard) == 1


def test_a_daemon_that_hangs_is_waited_for_no_longer_than_asked(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    home.ensure()
    with DaemonSocket(home):
        heard: list[Exception] = []
        way = DaemonEngine(home, start=True, on_failure=heard.append, timeout_s=0.05)
        found = way.inject(ASK, session_id="s", cwd="", deadline_ms=20)
        assert isinstance(found, InjectionFailed)
        assert (found.reason, found.result) == ("timeout", InjectionResult())
        assert len(heard) == 1
        with pytest.raises(DaemonUnavailable, match="TimeoutError"):
            way.ask("POST", "/v1/recall", {"text": "anything"})


def test_nothing_is_sent_to_a_socket_that_others_may_have_made(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    home.ensure()
    home.run_dir.chmod(0o777)
    heard: list[Exception] = []
    way = DaemonEngine(home, start=True, on_failure=heard.append)
    assert way.hook({"event": "ping"}, 50) is None
    found = way.inject(ASK, session_id="s", cwd="", deadline_ms=20)
    assert isinstance(found, InjectionFailed)
    assert found.reason == "store"
    assert [str(error).count("open to others") for error in heard] == [1, 1]
    with pytest.raises(DaemonUnavailable, match="open to others"):
        way.ask("POST", "/v1/recall", {"text": "anything"})


def test_a_message_that_went_out_bare_stays_bare() -> None:
    answers: list[Mapping[str, object] | None] = [None, None]
    talk = Conversation(
        ask=lambda asked: answers.pop(0) if answers else {"text": f"<tacit-memory>{asked['event']}"},
        about={"session": "s", "cwd": "", "agent": ""},
    )
    said = [ROLE_CONTENT.read(user("first"))]
    assert talk.advance(said).texts == ("",)
    said += [ROLE_CONTENT.read(agent("ok")), ROLE_CONTENT.read(user("second"))]
    assert talk.advance(said).texts[0] == ""


def test_threads_share_a_session(memory: Tacit) -> None:
    session = memory.session("s16", deadline_ms=SLOW)
    found: list[object] = []
    threads = [Thread(target=lambda: found.append(session.prepare([user(ASK)]))) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 6
    assert all(one == found[0] for one in found)


def test_an_event_loop_has_the_same_calls(memory: Tacit) -> None:
    import asyncio

    async def run() -> None:
        aio = memory.aio
        assert (await aio.remember(RULE, when="commit"))[0].change in ("merge", "skip")
        assert await aio.recall("what comes before a commit?")
        assert (await aio.context_for(ASK)).memories_included
        session = memory.session("s17", deadline_ms=SLOW)
        assert (await aio.prepare(session, [user(ASK)])).blocks == 1

    asyncio.run(run())


def test_connecting_loads_no_model() -> None:
    code = (
        "import sys, tacit; m = tacit.Tacit.connect('/nowhere', start=False); m.session().prepare([{'role': 'user', 'content': 'x'}]);"
        "sys.exit(any(n in sys.modules for n in ('numpy', 'onnxruntime', 'pydantic')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_restricted_statement_of_a_program_is_not_put_beside_messages(tmp_path: Path) -> None:
    with Tacit.open(tmp_path / "home", cwd=tmp_path, settings=LOUD) as memory:
        memory.remember("The vault is opened with the blue key.", when="commit", sensitivity="restricted")
        memory.remember(RULE, when="commit")
        (secret,) = memory.engine.list_memories(MemoryFilter(text="vault"))
        assert secret.sensitivity.name == "RESTRICTED"
        injected = memory.inject(f"{ASK} Is the vault open?")
    assert isinstance(injected, InjectionResult)
    text = str(injected)
    assert RULE in text
    assert "blue key" not in text
    with Tacit.open(tmp_path / "home", cwd=tmp_path, settings=LOUD) as memory, pytest.raises(InvalidInput):
        memory.remember("The vault is closed at night.", sensitivity="hidden")


def test_a_turn_that_ends_while_the_memory_is_closed_is_told_before_or_dropped() -> None:
    """Nothing may come between the look at `closed` and the order to the thread."""
    background = BackgroundThread()

    class Watched(ThreadPoolExecutor):
        def submit(self, *job: Any, **more: Any) -> Any:
            assert background._lock.locked()
            return super().submit(*job, **more)

    background._thread = Watched(max_workers=1)
    told: list[str] = []
    background.later(lambda: told.append("turn"))
    background.flush()
    assert background.close()
    background.later(lambda: told.append("late"))
    background.flush()
    assert told == ["turn"]


def test_an_injection_without_a_folder_is_about_the_folder_of_its_memory(home: Path, memory: Tacit) -> None:
    given = memory.injection.inject_context(ASK, "asks-here")
    assert isinstance(given, InjectionResult)
    assert RULE in given.formatted_context
    elsewhere = memory.injection.inject_context(ASK, "asks-elsewhere", cwd=str(home))
    assert isinstance(elsewhere, InjectionResult)
    assert RULE not in elsewhere.formatted_context


def test_settings_that_are_no_mapping_are_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="`settings` is 5; expected a mapping"):
        Tacit.open(tmp_path / "home", settings=cast("dict[str, object]", 5))
    assert not (tmp_path / "home").exists()


def test_without_a_daemon_the_log_says_so_once_and_what_to_do(tmp_path, caplog):
    with caplog.at_level(logging.WARNING), Tacit.connect(tmp_path / "home", cwd="", start=False) as memory:
        for turn in range(3):
            memory.session(f"s{turn}").prepare([{"role": "user", "content": "Deploy the shop."}])
    (line,) = [record.getMessage() for record in caplog.records]
    assert line.startswith("no Tacit daemon runs (nothing answers on ")
    assert "daemon.sock" in line
    assert "`tacit list` starts one" in line
    assert "FileNotFoundError" not in line


def test_other_failures_are_told_each_time(tmp_path, caplog):
    heard = DaemonFailureLog(Home(tmp_path), starts=True)
    with caplog.at_level(logging.WARNING):
        try:
            raise DaemonUnavailable("No answer.", hint="") from ConnectionRefusedError()
        except DaemonUnavailable as error:
            heard(error)
        heard(FileNotFoundError())
        heard(TimeoutError("late"))
        heard(TimeoutError("late"))
    told = [record.getMessage() for record in caplog.records]
    assert "One is being started" in told[0]
    assert told[1:] == ["the memory gave no answer: TimeoutError: late"] * 2
