"""Long work goes on by itself: it is found again, joined while it runs, tells how far it is, fails in words and ends with the store."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from threading import Event, Thread

import pytest

from samples import NOW_MS, memory_named
from tacit.errors import ProviderError, StoreError
from tacit.model.changes import Add
from tacit.ports.models import EmbedderIdentity, Vectors
from tacit.providers.embedding import FakeEmbedder
from tacit.upkeep.rescan import rescan

PATIENCE_S = 30.0


class Slow:
    """Embeds when it is let, and under another name than what the store holds."""

    def __init__(self, *, broken: bool = False) -> None:
        self._inner = FakeEmbedder()
        self.identity = EmbedderIdentity(name="slow", dimensions=self._inner.identity.dimensions)
        self.asked, self.let = Event(), Event()
        self.broken = broken

    def embed(self, texts: Sequence[str]) -> Vectors:
        self.asked.set()
        assert self.let.wait(PATIENCE_S)
        if self.broken:
            raise ProviderError("The model stopped.", hint="Start it again.")
        return self._inner.embed(texts)


@pytest.fixture
def opened(make_engine, tmp_path):
    """Open an engine over a store whose three vectors are of another embedder."""
    with contextlib.closing(make_engine()) as engine:
        for words in ("Run make lint before a commit.", "The port is 8080.", "Never log names."):
            engine.remember(words, cwd=str(tmp_path))
    return make_engine


def ended(jobs, name: str):
    """The job of this name when it has ended."""
    until = Event()
    for _ in range(int(PATIENCE_S / 0.01)):
        (job,) = (one for one in jobs.all() if one.name == name)
        if job.state != "running":
            return job
        until.wait(0.01)
    raise TimeoutError(name)


def test_a_job_tells_how_far_it_is_and_is_the_same_while_it_runs(opened: Callable):
    slow = Slow()
    engine = opened(slow)
    assert not engine.working()
    jobs = engine.maintenance.jobs
    assert jobs.all() == ()
    begun = jobs.begin("reindex")
    assert slow.asked.wait(PATIENCE_S)
    (seen,) = jobs.all()
    assert (seen.state, seen.done, seen.whole) == ("running", 0, 3)
    assert engine.working()
    assert jobs.begin("reindex") == seen
    assert jobs.begin("check").whole == 0  # it waits for the other
    slow.let.set()
    job = ended(jobs, "reindex")
    assert (job.state, job.done, job.whole, job.error) == ("done", 3, 3, "")
    assert (job.began_ms, job.ended_ms) == (begun.began_ms, NOW_MS)
    check = ended(jobs, "check")
    assert (check.state, check.problems, check.done) == ("done", (), check.whole)
    assert check.whole > 1
    assert [one.name for one in jobs.all()] == ["check", "reindex"]
    assert not engine.working()


def test_a_job_that_fails_says_why_and_can_be_begun_again(opened: Callable):
    slow = Slow(broken=True)
    slow.let.set()
    jobs = opened(slow).maintenance.jobs
    jobs.begin("reindex")
    failed = ended(jobs, "reindex")
    assert (failed.state, failed.error, failed.hint) == ("failed", "The model stopped.", "Start it again.")
    slow.broken = False
    jobs.begin("reindex")
    assert ended(jobs, "reindex").done == 3


def test_closing_the_store_ends_a_job_between_two_steps(opened: Callable):
    slow = Slow()
    jobs = opened(slow).maintenance.jobs
    jobs.begin("reindex")
    jobs.begin("check")
    assert slow.asked.wait(PATIENCE_S)
    closing = Thread(target=jobs.close)
    closing.start()
    assert jobs._leaving.wait(PATIENCE_S)
    with pytest.raises(StoreError):
        jobs.begin("check")
    slow.let.set()
    closing.join(PATIENCE_S)
    assert [(one.name, one.state, one.done) for one in jobs.all()] == [
        ("check", "failed", 0),
        ("reindex", "failed", 0),
    ]
    assert {one.error for one in jobs.all()} == {"The daemon ended before the job was done."}


def test_what_a_request_waits_for_is_listed_while_it_runs(make_engine: Callable, tmp_path):
    engine = make_engine()
    jobs = engine.maintenance.jobs
    with jobs.listed("backup") as tell:
        (job,) = jobs.all()
        assert (job.name, job.state, job.done, job.whole) == ("backup", "running", 0, 0)
        tell(3, 10)
        (job,) = jobs.all()
        assert (job.done, job.whole) == (3, 10)
        assert engine.working()
    assert jobs.all() == ()
    assert not engine.working()


def test_a_backup_and_a_rescan_tell_how_far_they_are(make_engine: Callable, tmp_path):
    engine = make_engine()
    texts = [f"The module {number} keeps {'its state and ' * 120} more." for number in range(120)]
    engine.store.apply([Add(memory=memory_named(f"mem_{n:03}", text)) for n, text in enumerate(texts)])
    backup: list[tuple[int, int]] = []
    assert engine.store.backup(
        tmp_path / "copy.db", progress=lambda done, whole: backup.append((done, whole))
    )
    assert backup[-1][0] == backup[-1][1] > 1
    told: list[tuple[int, int]] = []
    report = rescan(
        engine.store, engine.home, lambda text, _scope: text, dry_run=True,
        progress=lambda done, whole: told.append((done, whole)),
    )  # fmt: skip
    assert report.clean
    assert told == sorted(told)
    assert all(0 < done <= whole for done, whole in told)
    assert told


def test_work_of_two_requests_is_listed_until_both_have_ended(opened):
    jobs = opened().maintenance.jobs
    with jobs.listed("import") as tell:
        with jobs.listed("import"):
            pass
        tell(3, 9)
        assert [(job.name, job.done) for job in jobs.all()] == [("import", 3)]
        with jobs.listed("import"):
            pass
        assert jobs.running
    assert jobs.all() == ()
