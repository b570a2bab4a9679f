"""The yardstick: embed one text after the other, alone in a process. Run as a file by the interpreter under test.

In: one JSON string a line on standard input. Out: a line `ready`, then the milliseconds of each. Imports nothing of the
benchmarks, so that it runs in a plain install. No cache: every text goes through the model.
"""

from __future__ import annotations

import json
import sys
import time


def main() -> None:
    """Answer until the input ends."""
    from tacit.providers.embedding.minilm import MiniLM

    embedder = MiniLM()
    embedder.embed(["the model is loaded by the first text, which is not measured"])
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    for line in sys.stdin:
        text = json.loads(line)
        began = time.perf_counter()
        embedder.embed([text])
        sys.stdout.write(f"{(time.perf_counter() - began) * 1000}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
