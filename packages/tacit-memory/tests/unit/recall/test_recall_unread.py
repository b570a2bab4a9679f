"""Texts that the embedder does not read: which they are, and that their cosine is no evidence."""

from __future__ import annotations

from tacit.providers.embedding import CachedEmbedder, FakeEmbedder
from tacit.providers.embedding.minilm import MiniLM
from tacit.reading.memory_vectors import languages_read, unread_language
from tacit.recall.score import expected_cosine


def test_the_shipped_model_reads_english_also_behind_a_cache() -> None:
    cached = CachedEmbedder(MiniLM(), entries=10, ttl_s=60)
    assert languages_read(cached) == frozenset({"en"})
    assert unread_language(cached, "数据库迁移必须手动执行") == "Chinese"
    assert unread_language(cached, "Migrations are run by hand") == ""


def test_an_embedder_that_does_not_say_reads_everything() -> None:
    assert unread_language(FakeEmbedder(), "数据库迁移必须手动执行") == ""


def test_more_shared_letters_stand_for_a_greater_cosine() -> None:
    assert expected_cosine(0.1) == 0
    assert round(expected_cosine(1.1), 4) == 3.9
