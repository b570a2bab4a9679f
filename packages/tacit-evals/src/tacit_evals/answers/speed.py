"""How long an answer on demand takes beside plain retrieval: `python -m tacit_evals.answers.speed [--rows N] [--json FILE]`.

Plain retrieval reads the same store's own file: the words of the question in SQLite FTS5 ranked by its BM25, the cosine of
the embedded question with every vector, reciprocal rank fusion of the two lists, and the ten best memories. The answer is
`Engine.recall`, as `tacit recall` gets it: with its trace stored. Both embed the question, and neither has seen it before.
Question by question one follows the other, the first of them in turn, so that a slow moment of the machine hits both; the
figure is the median of the ratios. The memories are those of `tacit_evals.data.workload`. Exit code 1 above the target.
"""

from __future__ import annotations

import argparse
import json
import re
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import numpy as np

from tacit.app.engine import Engine
from tacit.app.wiring import open_engine
from tacit.config.environment import one_thread_for_arrays
from tacit.config.settings import EmbedderSettings
from tacit.model.scope import UNIVERSAL
from tacit.ports.models import Embedder, Vectors
from tacit.providers.embedding import make_embedder
from tacit_evals.data.workload import PROMPTS, build_store
from tacit_evals.suites.baselines import FUNCTION_WORDS, RRF_K
from tacit_evals.timing import Row, median, paired_ratio, percentile, print_rows, write_json

MOST_RATIO = 1.2
DEPTH = 128
"""Memories that each of the two plain lists holds, as many as a space of ours proposes."""
SHOWN = 10
WARM = 10
"""Questions asked before the first that counts."""
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Timings:
    """Milliseconds of the same questions in order: answered by Tacit, answered by plain retrieval, embedded alone."""

    answered: list[float]
    plain: list[float]
    embedded: list[float]


class PlainRetrieval:
    """FTS5 and cosine over the file of a store, with nothing of ours but the embedder."""

    def __init__(self, path: Path, embedder: Embedder) -> None:
        """Read the vectors of `path` into memory; the text index stays where it is."""
        self._embedder = embedder
        self._base = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        rows = self._base.execute("SELECT memory, vector FROM vectors ORDER BY memory").fetchall()
        size = embedder.identity.dimensions
        self._numbers: list[int] = [row[0] for row in rows]
        stored = [
            np.frombuffer(row[1], np.float16 if len(row[1]) == 2 * size else np.float32) for row in rows
        ]
        self._vectors = np.stack(stored).astype(np.float32)

    def answer(self, question: str) -> list[str]:
        """The contents of the best memories, best first."""
        vector = self._embedder.embed([question])[0]
        total: dict[int, float] = {}
        for ranking in (self._by_words(question), self._by_meaning(vector)):
            for rank, number in enumerate(ranking, start=1):
                total[number] = total.get(number, 0.0) + 1 / (RRF_K + rank)
        best = sorted(total, key=lambda number: (-total[number], number))[:SHOWN]
        marks = ",".join("?" * len(best))
        bodies = dict(
            self._base.execute(f"SELECT number, body FROM memories WHERE number IN ({marks})", best)
        )
        return [str(json.loads(bodies[number])["content"]) for number in best]

    def _by_words(self, question: str) -> list[int]:
        terms = dict.fromkeys(word.lower() for word in _WORD.findall(question))
        words = [word for word in terms if word not in FUNCTION_WORDS] or list(terms)
        expression = "words : (" + " OR ".join(f'"{word}"' for word in words) + ")"
        rows = self._base.execute(
            "SELECT rowid FROM text_words WHERE text_words MATCH ? ORDER BY rank LIMIT ?", (expression, DEPTH)
        )
        return [row[0] for row in rows]

    def _by_meaning(self, vector: Vectors) -> list[int]:
        cosines = self._vectors @ vector
        nearest = np.argpartition(cosines, -min(DEPTH, len(cosines)))[-DEPTH:]
        ranked = nearest[np.argsort(-cosines[nearest], kind="stable")]
        return [self._numbers[place] for place in ranked.tolist()]

    def close(self) -> None:
        """Let go of the file."""
        self._base.close()


def questions(count: int, *, ask: str = "what do we know about this: {prompt} ({number})") -> list[str]:
    """`count` questions about the work that the memories are about, each asked once."""
    return [
        ask.format(prompt=PROMPTS[number % len(PROMPTS)], number=f"ticket {number}")
        for number in range(count)
    ]


def measure_answers(
    engine: Engine, plain: PlainRetrieval, embedder: Embedder, texts: Sequence[str]
) -> Timings:
    """Ask every question of both, now one of them first and now the other; then embed it alone, without its cache."""
    timings = Timings(answered=[], plain=[], embedded=[])
    calls: list[tuple[list[float], Callable[[str], object]]] = [
        (timings.answered, engine.recall),
        (timings.plain, plain.answer),
    ]
    for number, question in enumerate(texts):
        for times, call in calls if number % 2 else reversed(calls):
            _timed(times, call, question)
        _timed(timings.embedded, lambda text: embedder.embed([text]), f"{question} again")
    return timings


def _timed(taken: list[float], call: Callable[[str], object], question: str) -> None:
    began = time.perf_counter()
    call(question)
    taken.append((time.perf_counter() - began) * 1000)


def rows_of(timings: Timings, *, size: int) -> list[Row]:
    """The table's rows."""
    name = f"{size:,} memories"
    return [
        Row(name=f"question embedded alone, median ({name})", value=median(timings.embedded), unit="ms"),
        Row(
            name=f"FTS5 and cosine, median ({name})",
            value=median(timings.plain),
            unit="ms",
            note=f"p95 {percentile(timings.plain, 0.95):.1f} ms",
        ),
        Row(
            name=f"answer on demand, median ({name})",
            value=median(timings.answered),
            unit="ms",
            note=f"p95 {percentile(timings.answered, 0.95):.1f} ms",
        ),
        Row(
            name=f"answer on demand, median of pairs ({name})",
            value=paired_ratio(timings.answered, timings.plain),
            unit="x",
            target=MOST_RATIO,
        ),
    ]


def measure(size: int, *, rounds: int, provider: str) -> list[Row]:
    """Fill a home of its own with `size` memories that are seen everywhere, and ask `rounds` questions.

    The yardstick has an embedder of its own, so that neither finds the other's vector in a cache.
    """
    theirs = make_embedder(EmbedderSettings(provider=provider), cache_entries=0)
    with tempfile.TemporaryDirectory(prefix="tacit-answering-") as folder:
        home = Path(folder) / "home"
        home.mkdir(mode=0o700)
        build_store(home, scope=UNIVERSAL, size=size, embedder=theirs)
        engine = open_engine(home, overrides={"embedder": {"provider": provider}})
        with closing(engine), closing(PlainRetrieval(home / "tacit.db", theirs)) as plain:
            texts = questions(WARM + rounds)
            measure_answers(engine, plain, theirs, texts[:WARM])
            return rows_of(measure_answers(engine, plain, theirs, texts[WARM:]), size=size)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print how long an answer takes beside plain retrieval; 1 where it takes longer than it may."""
    parser = argparse.ArgumentParser(prog="python -m tacit_evals.answers.speed", description=__doc__)
    parser.add_argument(
        "--rows", type=int, action="append", help="memories; repeatable (default 1000 and 10000)"
    )
    parser.add_argument("--rounds", type=int, default=100, help="questions")
    parser.add_argument(
        "--embedder", choices=("minilm", "fake"), default="minilm", help="who makes the vectors"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows as JSON")
    options = parser.parse_args(arguments)
    one_thread_for_arrays()
    rows = [
        row
        for size in cast("list[int]", options.rows or [1000, 10_000])
        for row in measure(size, rounds=options.rounds, provider=options.embedder)
    ]
    print_rows(rows, title="An answer on demand beside plain retrieval")
    write_json(options.json, rows)
    return int(any(row.verdict == "over" for row in rows))


if __name__ == "__main__":
    sys.exit(main())
