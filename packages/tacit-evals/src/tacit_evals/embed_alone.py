"""The yardsticks: embed one text after the other, or search plainly with it, alone in a process. Run as a file by the interpreter under test.

In: one JSON string a line on standard input. Out: a line `ready`, then the milliseconds of each. Imports nothing of the
benchmarks, so that it runs in a plain install. No cache: every text goes through the model.

With a store's file as argument, each text is embedded and searched for in this process as most people would write it first: by FTS5's own
BM25, and by the cosines of all vectors, fused by reciprocal rank. No scopes, no trust, no gate, no session.
"""

from __future__ import annotations

import json
import re
import sqlite3
import sys
import time
from collections.abc import Callable
from contextlib import closing

import numpy as np

MOST = 10
"""How many memories a plain search returns."""


def plain_search(file: str, embed: Callable[[str], np.ndarray]) -> Callable[[str], list[int]]:
    """Return a function that finds the rows of the active memories in the store `file` that match a text best."""
    with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as store:
        rows = store.execute(
            "SELECT json_extract(m.body, '$.content'), v.vector FROM memories AS m JOIN vectors AS v ON v.memory = m.number"
            " WHERE m.status = 'active'"
        ).fetchall()
    texts = sqlite3.connect(":memory:")
    texts.execute("CREATE VIRTUAL TABLE texts USING fts5 (content, tokenize = 'porter unicode61')")
    texts.executemany("INSERT INTO texts (rowid, content) VALUES (?, ?)", enumerate(row[0] for row in rows))
    matrix = np.frombuffer(b"".join(row[1] for row in rows), "<f2").astype(np.float32).reshape(len(rows), -1)

    def search(text: str) -> list[int]:
        near = np.argsort(-(matrix @ embed(text)))[:MOST].tolist()
        words = " OR ".join(f'"{word}"' for word in re.findall(r"\w+", text))
        found = texts.execute(
            "SELECT rowid FROM texts WHERE texts MATCH ? ORDER BY rank LIMIT ?", (words, MOST)
        )
        scores: dict[int, float] = {}
        for ranking in (near, [row[0] for row in found]):
            for rank, row in enumerate(ranking, start=1):
                scores[row] = scores.get(row, 0.0) + 1 / (60 + rank)
        return sorted(scores, key=lambda row: -scores[row])[:MOST]

    return search


def main() -> None:
    """Answer until the input ends."""
    from tacit.providers.embedding.minilm import MiniLM

    embedder = MiniLM()
    embedder.embed(["the model is loaded by the first text, which is not measured"])
    do: Callable[[str], object] = lambda text: embedder.embed([text])  # noqa: E731
    if len(sys.argv) > 1:
        do = plain_search(sys.argv[1], lambda text: embedder.embed([text])[0])
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    for line in sys.stdin:
        text = json.loads(line)
        began = time.perf_counter()
        do(text)
        sys.stdout.write(f"{(time.perf_counter() - began) * 1000}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
