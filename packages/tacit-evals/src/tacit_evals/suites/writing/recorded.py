"""Takes a language model's answers in, to be replayed with `--answers`. In: requests, answers. Out: one file that holds no request.

A suite writes the requests that have no answer yet: `tacit eval capture --data DIR --answers ANSWERS --requests DIR`, likewise
`tacit eval update` and `python -m tacit_evals.pools`; KEY.json has `system`, `user`, `schema`. Each is to be answered by itself, with
nothing else in sight; the answer's JSON goes into ANSWERS/KEY.json. Pools depend on earlier answers: run them again until nothing is
missing. The requests hold the data's text: keep them outside of the project, and delete them.

`python -m tacit_evals.suites.writing.recorded --requests DIR --answers DIR --out FILE --model NAME` makes the file to keep.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from tacit.ports.writer import WriterRequest
from tacit_evals.data.cassettes import key_of, to_cassette


def main(arguments: Sequence[str]) -> int:
    """See the top; the exit code is 1 where an answer is missing, and then nothing is written."""
    parser = argparse.ArgumentParser(
        prog="python -m tacit_evals.suites.writing.recorded", description=__doc__
    )
    parser.add_argument("--requests", type=Path, required=True)
    parser.add_argument("--answers", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--model", default="unknown")
    options = parser.parse_args(arguments)
    answers: dict[str, object] = {}
    missing: list[str] = []
    for path in sorted(options.requests.glob("*.json")):
        request = WriterRequest(**json.loads(path.read_text("utf-8")), most_output_tokens=0)
        answer = options.answers / path.name
        if answer.is_file():
            answers[key_of(request)] = to_cassette(request, answer.read_text("utf-8"))
        else:
            missing.append(path.name)
    for name in missing:
        print(f"no answer to {name}", file=sys.stderr)
    if not missing:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps({"model": options.model, "answers": answers}, indent=1, ensure_ascii=False)
        options.out.write_text(text + "\n", "utf-8")
    return int(bool(missing))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
