"""The index of a start block: what the block does not hold whole stands there as a headline; budgets and caps hold for both."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from samples import memory_named
from tacit.model.evidence import Candidate
from tacit.model.ids import LEAST_ENDING, short_ids
from tacit.model.pack import Index, IndexLine
from tacit.recall.budget import start_tokens
from tacit.recall.pipelines import LEAST_IN_TOPIC, topics_of

ENDINGS = "0123456789abcdefghjkmnpqrstvwxyz"


def test_texts_stand_under_the_words_that_most_of_them_share() -> None:
    texts = [
        f"The {noun} of an invoice is checked by accounting."
        for noun in ("number", "date", "total", "currency")
    ]
    texts += [f"Deployments {verb} the canary first." for verb in ("warm", "watch", "drain")]
    texts += ["Screenshots are taken at night."] + [f"Something else about {word}." for word in ENDINGS]
    topics = {topic.word: topic.members for topic in topics_of(tuple(texts))}
    assert (0, 1, 2, 3) in topics.values()
    assert (4, 5, 6) in topics.values()
    grouped = [number for members in topics.values() for number in members]
    assert len(grouped) == len(set(grouped)), "each stands once"
    assert 7 not in grouped, "one alone is no topic"


def test_a_word_that_most_texts_share_is_the_projects_subject_and_no_topic() -> None:
    texts = [f"The commit {number} of {word}land is signed." for number, word in enumerate(ENDINGS)]
    assert topics_of(tuple(texts)) == ()


@given(st.lists(st.text(alphabet="abc deploy commit", max_size=40), max_size=30))
def test_topics_are_the_same_for_the_same_texts_and_large_enough(texts: list[str]) -> None:
    topics = topics_of(tuple(texts))
    topics_of.cache_clear()
    assert topics == topics_of(tuple(texts))
    assert all(len(topic.members) >= LEAST_IN_TOPIC for topic in topics)


@given(st.lists(st.text(alphabet="ab", min_size=6, max_size=6), min_size=1, max_size=40, unique=True))
def test_a_short_id_is_an_ending_that_no_other_line_has(endings: list[str]) -> None:
    ids = [f"mem_{number:09}{ending}" for number, ending in enumerate(endings)]
    names = short_ids(ids, among=len(ids))
    assert len(set(names.values())) == len(ids)
    for name, short in names.items():
        assert len(short) >= LEAST_ENDING
        assert [other for other in ids if other.endswith(short)] == [name]


def test_the_endings_grow_with_the_store() -> None:
    lengths = [
        len(short_ids(["mem_000000000abcdefg"], among=size)["mem_000000000abcdefg"])
        for size in (1, 200, 5_000, 100_000)
    ]
    assert lengths == [4, 4, 5, 6]


def test_an_index_without_its_last_line_counts_it_as_left() -> None:
    candidates = [Candidate(memory=memory_named(f"mem_{n}", f"Statement {n}.")) for n in range(3)]
    lines = tuple(IndexLine(candidate=one, short_id=one.memory.id, topic="deploy") for one in candidates)
    shorter = Index(lines=lines, left=(("ci", 1),)).without_last()
    assert shorter.lines == lines[:2]
    assert dict(shorter.left) == {"ci": 1, "deploy": 1}
    assert Index(lines=lines[:1]).without_last().empty


def test_beside_an_index_a_larger_store_has_a_shorter_start() -> None:
    # 2000 * min(1, 4000 / stored), at least a quarter
    asked = [start_tokens(2000, stored=stored) for stored in (0, 4000, 5000, 10_000, 100_000)]
    assert asked == [2000, 2000, 1600, 800, 500]
