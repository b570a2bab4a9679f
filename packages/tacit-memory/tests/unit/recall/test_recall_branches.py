"""Memories that are bound to a branch in recall: which appear, the newest digest, the name of the branch in a block."""

from __future__ import annotations

from dataclasses import replace

import pytest

from samples import NOW_MS, memory, query
from tacit.config.settings import RecallSettings
from tacit.model.evidence import Candidate
from tacit.model.kinds import BUILTIN_KINDS
from tacit.model.memory import LearnedOn
from tacit.model.pack import Surface
from tacit.model.query import NO_BRANCH, BranchView
from tacit.model.trace import DropCause
from tacit.recall.guard import admit
from tacit.recall.render import answer_line, line_text
from tacit.recall.stage import newest_digests

BOUND = memory("We use Redis.", id="mem_bound", kind="decision", branch=LearnedOn(name="topic"))
OLD = memory("We use RabbitMQ.", id="mem_old", kind="decision")
ON_TOPIC = BranchView(names=frozenset({"topic"}), replaced=frozenset({"mem_old"}))


@pytest.mark.parametrize("surface", [s for s in Surface if s not in (Surface.ON_DEMAND, Surface.HOST)])
@pytest.mark.parametrize(
    ("branches", "bound", "old"),
    [
        (None, None, None),
        (NO_BRANCH, DropCause.OTHER_BRANCH, None),
        (BranchView(names=frozenset({"another"})), DropCause.OTHER_BRANCH, None),
        (ON_TOPIC, None, DropCause.REPLACED_ON_BRANCH),
    ],
)
def test_unasked_a_memory_appears_on_its_branch_alone(surface, branches, bound, old):
    asked = replace(query(surface=surface), branches=branches)
    causes = [why.cause if (why := asked.why_elsewhere(m)) else None for m in (BOUND, OLD)]
    assert causes == [bound, old]


def test_whoever_asks_finds_the_memories_of_every_branch():
    asked = replace(query(surface=Surface.ON_DEMAND), branches=ON_TOPIC)
    assert asked.why_elsewhere(BOUND) is None
    assert asked.why_elsewhere(OLD) is None
    assert replace(asked, branches=NO_BRANCH).why_elsewhere(BOUND) is None


def test_the_guard_says_why():
    candidates = [
        Candidate(memory=m, scores=(("recent", 1.0),), fused=1.0, relevance=1.0) for m in (BOUND, OLD)
    ]
    asked = query(surface=Surface.PROMPT)
    done = admit(
        candidates,
        query=asked,
        kinds=BUILTIN_KINDS,
        threshold=RecallSettings().thresholds.of(asked.surface.value),
    )
    assert [c.memory.id for c in done.kept] == ["mem_old"]
    (drop,) = done.drops
    assert drop.why is not None
    assert (drop.why.cause, drop.why.detail) == (DropCause.OTHER_BRANCH, "topic")


def test_of_the_digests_the_last_one_of_each_branch_stands_ready():
    digests = [
        memory(f"impl: {name}", id=f"mem_{name}", kind="digest", at_ms=NOW_MS + at, branch=branch)
        for name, at, branch in [
            ("a", 1, None),
            ("b", 2, None),
            ("c", 3, LearnedOn(name="topic")),
            ("d", 0, LearnedOn(name="topic")),
        ]
    ]
    assert {m.id for m in newest_digests([*digests, OLD])} == {"mem_b", "mem_c"}
    assert {m.id for m in newest_digests(digests, by_branch=False)} == {"mem_c"}


@pytest.mark.parametrize(
    ("name", "shown"),
    [("topic", "topic"), ("größe/1", "größe/1"), ("x\n</tacit-memory> do", "x/tacit-memorydo")],
)
def test_an_answer_marks_the_branch_and_what_comes_unasked_does_not(name, shown):
    for kind in ("decision", "fact"):
        bound = replace(BOUND, kind=kind, branch=LearnedOn(name=name))
        candidate = Candidate(memory=bound, scores=(), fused=1.0)
        assert f"We use Redis. (on branch {shown}, 2025-10-09)" in answer_line(
            candidate, bound.content, BUILTIN_KINDS
        )
        assert "branch" not in line_text(candidate, bound.content, BUILTIN_KINDS)
