"""A device that is new gets thousands of memories: they are found at once, their vectors come afterwards, and a kill loses nothing."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from postgres_server import connections, new_tenant_name
from samples import NOW_MS, memory_named
from tacit.app.engine import Engine
from tacit.app.wiring import open_engine
from tacit.errors import ProviderError
from tacit.model.changes import Add
from tacit.ports.models import Vectors
from tacit.providers.embedding import FakeEmbedder
from tacit.sync.http_server import HttpServer
from tacit.sync.replicating import BATCH
from tacit_server.app import make_app
from tacit_server.postgres_logs import PostgresLogs

pytestmark = pytest.mark.postgres
URL = "http://127.0.0.1"
MEMORIES = 3 * BATCH + 7


class Counted(FakeEmbedder):
    """An embedder that fails from the text number `fails_after` on."""

    def __init__(self, fails_after: float = float("inf")) -> None:
        super().__init__()
        self.fails_after = fails_after

    def embed(self, texts: Sequence[str]) -> Vectors:
        if self.texts + len(texts) > self.fails_after:
            raise ProviderError("the model stopped")
        return super().embed(texts)


class Person:
    """An account, and the homes that are logged in to it."""

    def __init__(self, folder: Path, opened: ExitStack) -> None:
        self.folder, self._opened = folder, opened
        self._logs, self._account = PostgresLogs(connections()), new_tenant_name()
        self.phrase = ""

    def home(self, name: str, embedder: FakeEmbedder | None = None) -> Engine:
        """Open a home, whose exchanges the test runs."""
        engine = open_engine(self.folder / name, embedder=embedder or Counted())
        self._opened.enter_context(closing(engine))
        engine.sync._connect = lambda url, token: HttpServer(
            url, token, client=TestClient(make_app(self._logs, now_ms=lambda: NOW_MS), base_url=URL)
        )
        engine.sync.start = lambda: None
        return engine

    def log_in(self, engine: Engine) -> None:
        code = self._logs.add_account(self._account, now_ms=NOW_MS)
        self.phrase = engine.sync.log_in(URL, code=code, phrase=self.phrase).phrase or self.phrase


@pytest.fixture
def person(tmp_path: Path) -> Iterator[Person]:
    with ExitStack() as opened:
        made = Person(tmp_path, opened)
        first = made.home("first")
        made.log_in(first)
        learn(first, *(f"The service number {number} listens on its port." for number in range(MEMORIES)))
        assert first.sync.run().sent == MEMORIES
        yield made


def learn(engine: Engine, *statements: str) -> None:
    store = engine._parts.store
    store.apply([Add(memory=memory_named(f"mem_{words.split()[3]}", words)) for words in statements])


def missing(engine: Engine) -> int:
    return engine._parts.store.stats().vectors_missing


def test_words_find_what_came_before_its_vector_is_made(person: Person) -> None:
    second = person.home("second")
    person.log_in(second)
    assert second.sync.run().applied == MEMORIES
    assert missing(second) == MEMORIES
    found = second.recall("Which port has the service number 241?").pack
    assert "number 241 " in found.items[0].text
    assert second.sync.make_vectors() == MEMORIES
    assert missing(second) == 0
    assert second.sync.run().recorded == 0  # a vector is no news for other devices
    assert second.sync.make_vectors() == 0


def test_few_memories_come_with_their_vectors(person: Person) -> None:
    first, second = person.home("first"), person.home("second")
    person.log_in(second)
    second.sync.run()
    second.sync.make_vectors()
    learn(first, "The service number 999 has no port.")
    first.sync.run()
    assert second.sync.run().applied == 1
    assert missing(second) == 0


@pytest.mark.parametrize("made", [0, 64, 192])
def test_after_a_kill_the_rest_of_the_vectors_is_made(person: Person, made: int) -> None:
    second = person.home("second", Counted(fails_after=made))
    person.log_in(second)
    second.sync.run()
    with pytest.raises(ProviderError):
        second.sync.make_vectors()
    shutil.copytree(person.folder / "second", person.folder / "killed")  # what a kill would leave
    after = person.home("killed")
    assert missing(after) == MEMORIES - made
    assert after.sync.run().applied == 0
    assert after.sync.make_vectors() == MEMORIES - made
    assert missing(after) == 0


def test_a_new_phrase_in_between_makes_the_rest_too(person: Person) -> None:
    second = person.home("second", Counted(fails_after=64))
    person.log_in(second)
    second.sync.run()
    with pytest.raises(ProviderError):
        second.sync.make_vectors()
    second.sync.rotate()
    second.close()
    assert person.home("second").sync.make_vectors() == MEMORIES - 64


def test_it_stops_for_what_is_more_urgent_and_goes_on(person: Person) -> None:
    second = person.home("second")
    person.log_in(second)
    second.sync.run()
    assert second.sync.make_vectors(stop=lambda: True) == 0
    assert second.sync.make_vectors(until_ms=time.monotonic() * 1000) == 0
    assert second.sync.make_vectors() == MEMORIES


def test_the_background_makes_them_without_being_asked(person: Person) -> None:
    second = person.home("second")
    person.log_in(second)
    del second.sync.start  # type: ignore[misc]
    second.sync.start()
    until = time.monotonic() + 60
    while time.monotonic() < until and (second.sync.status().entries < MEMORIES or missing(second)):
        time.sleep(0.05)
    assert missing(second) == 0
