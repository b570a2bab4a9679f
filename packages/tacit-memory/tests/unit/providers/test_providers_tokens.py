"""Token counts: exact ones against known values, estimates against exact ones, and what happens when ranks are broken."""

from __future__ import annotations

import hashlib
import json
import logging
import re
from pathlib import Path

import pytest

from tacit.providers.tokens import RANKS, EstimateCounter, ExactCounter, FakeTokenCounter

ROOT = Path(__file__).parents[5]


@pytest.fixture(scope="module")
def exact() -> ExactCounter:
    return ExactCounter()


@pytest.mark.parametrize(
    ("text", "tokens"),
    [  # examples of OpenAI's cookbook, column o200k_base
        ("hello world", 2),
        ("tiktoken is great!", 6),
        ("antidisestablishmentarianism", 6),
        ("2 + 2 = 4", 7),
        ("お誕生日おめでとう", 8),
    ],
)
def test_known_counts(exact: ExactCounter, text: str, tokens: int) -> None:
    assert exact.count(text) == tokens


def test_the_ranks_are_those_of_the_manifest() -> None:
    manifest = json.loads(RANKS.with_name("manifest.json").read_text("utf-8"))
    assert hashlib.sha256(RANKS.read_bytes()).hexdigest() == manifest["packed_sha256"]
    assert "MIT License" in RANKS.with_name("NOTICE").read_text("utf-8")


def test_counts_are_those_of_the_reference(exact: ExactCounter) -> None:
    """Prose and code of this project, and other scripts, beside what tiktoken 0.14 counts with the encoding o200k_base."""
    rows = json.loads((Path(__file__).parent / "o200k_counts.json").read_text("utf-8"))
    assert len(rows) > 150
    assert [(text, exact.count(text)) for text, _ in rows] == [(text, tokens) for text, tokens in rows]


def test_a_piece_without_end_is_counted_in_time_and_nearly_right(exact: ExactCounter) -> None:
    assert exact.count("x" * 20_000) == pytest.approx(2_500, rel=0.02)


def test_estimates_of_our_own_files_are_almost_never_below(exact: ExactCounter) -> None:
    files = [*ROOT.glob("docs/**/*.md"), *ROOT.glob("packages/tacit-memory/src/tacit/**/*.py")]
    parts = [
        part
        for file in files[::5]
        for part in re.split(r"\n\s*\n", file.read_text("utf-8"))
        if len(part) > 20
    ]
    counts = [(EstimateCounter().count(part), exact.count(part)) for part in parts]
    below = [pair for pair in counts if pair[0] < pair[1]]
    assert len(below) <= len(parts) / 100
    assert all(estimate >= 0.8 * real for estimate, real in below)
    assert sum(pair[0] for pair in counts) < 1.6 * sum(pair[1] for pair in counts)


@pytest.mark.parametrize(
    "text", ["日本語のテキスト" * 9, "🎉🚀" * 20, "สวัสดีชาวโลก" * 9, "ᚠᛇᚻ" * 20, "Привет мир " * 9, "\0" * 20]
)
def test_estimates_of_other_scripts_are_not_below(exact: ExactCounter, text: str) -> None:
    assert EstimateCounter().count(text) >= exact.count(text)


def test_an_estimate_by_hand() -> None:
    # pieces: Run | the | linter | . | 12 | 345 and the blank before a number
    assert EstimateCounter(margin=1.0).count("Run the linter. 12345") == 7
    assert EstimateCounter().count("Run the linter. 12345") == 9  # ceil(7 x 1.15)


@pytest.mark.parametrize("content", [None, b"", b"too short"])
def test_broken_ranks_turn_into_estimates(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, content: bytes | None
) -> None:
    ranks = tmp_path / "ranks.bin"
    if content is not None:
        ranks.write_bytes(content)
    counter = ExactCounter(ranks=ranks)
    with caplog.at_level(logging.WARNING):
        counts = [counter.count("Run the linter after every change.") for _ in range(3)]
    assert counts == [EstimateCounter().count("Run the linter after every change.")] * 3
    assert len(caplog.records) == 1


def test_the_fake_counts_words() -> None:
    assert FakeTokenCounter().count(" two  words\n") == 2
