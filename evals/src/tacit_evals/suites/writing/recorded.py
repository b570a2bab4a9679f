"""Records answers of a language model for `tacit eval capture --answers`: writes the requests out, takes the answers in.

`python -m tacit_evals.suites.writing.recorded requests --data DIR --out DIR` writes one file a session, KEY.json with `system`, `user`, `schema`. Each is
to be answered by itself, with nothing else in sight; the answer's JSON goes into KEY.json of another folder. The requests hold the
sessions' text: keep them outside of the project, and delete them.

`python -m tacit_evals.suites.writing.recorded record --data DIR --answers DIR --out DIR --model NAME` makes the cassettes, which hold none of it.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from tacit.config.settings import EmbedderSettings
from tacit.ports.models import Embedder
from tacit.ports.writer import WriterRequest
from tacit.providers.embedding import make_embedder
from tacit.providers.writing.fake import FakeWriter
from tacit_evals.data.cassettes import key_of, to_cassette
from tacit_evals.data.learnings import load_learnings
from tacit_evals.data.recognise import folders_of
from tacit_evals.suites.written import captured


def requests_of(data: Path, *, embedder: Embedder) -> Iterator[tuple[str, WriterRequest]]:
    """Every session below `data` that is worth a request, with that request."""
    for folder in folders_of("capture", data):
        for session in load_learnings(folder):
            with captured(session, FakeWriter(), embedder=embedder) as bench:
                prepared = bench.prepared
                if prepared is not None:
                    yield session.id, prepared.request


def main(arguments: Sequence[str]) -> int:
    """See the top; the exit code is 1 where an answer is missing."""
    parser = argparse.ArgumentParser(
        prog="python -m tacit_evals.suites.writing.recorded", description=__doc__
    )
    parser.add_argument("what", choices=("requests", "record"))
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--answers", type=Path)
    parser.add_argument("--model", default="unknown")
    parser.add_argument("--embedder", choices=("minilm", "fake"), default="minilm")
    given = parser.parse_args(arguments)
    if given.what == "record" and given.answers is None:
        parser.error("record needs --answers")
    given.out.mkdir(parents=True, exist_ok=True)
    missing = 0
    for session, request in requests_of(
        given.data, embedder=make_embedder(EmbedderSettings(provider=given.embedder))
    ):
        name = f"{key_of(request)}.json"
        if given.what == "requests":
            whole = {"system": request.system, "user": request.user, "schema": request.schema}
            (given.out / name).write_text(json.dumps(whole, ensure_ascii=False, indent=1), "utf-8")
        elif (given.answers / name).is_file():
            answer = (given.answers / name).read_text("utf-8")
            (given.out / name).write_text(to_cassette(request, answer, model=given.model), "utf-8")
        else:
            missing += 1
            print(f"no answer to {name} of {session}", file=sys.stderr)
    return int(missing > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
