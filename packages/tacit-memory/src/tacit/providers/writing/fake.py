"""A writer for tests and trials. In: a request. Out: the answers it was made with, or the user's lines that begin with "Worth knowing:"."""

from __future__ import annotations

import json
from collections.abc import Sequence

from tacit.ports.writer import WriterAnswer, WriterRequest
from tacit.providers.writing.answers import items_of, object_of
from tacit.reading.sentences import split_sentences

MODEL = "fake"


class FakeWriter:
    """A writer for tests: gives its `answers` one per call. Without answers it notes what the user's messages mark with "Worth knowing: ..."."""

    name = "fake-writer@1"

    def __init__(self, answers: Sequence[WriterAnswer | Exception] = ()) -> None:
        self._answers = list(answers)
        self.requests: list[WriterRequest] = []

    def write(self, request: WriterRequest) -> WriterAnswer:
        """Record the request in `requests`, and return the next answer or raise it. A token is a word."""
        self.requests.append(request)
        if self._answers:
            answer = self._answers.pop(0)
            if isinstance(answer, Exception):
                raise answer
            return answer
        if request.schema is None:
            text = "Nothing to note."
        elif "fates" in object_of(request.schema.get("properties")):
            text = json.dumps({"fates": []})
        else:
            text = json.dumps({"statements": _notes(request.user)})
        tokens_in = len(request.system.split()) + len(request.user.split())
        return WriterAnswer(text=text, model=MODEL, tokens_in=tokens_in, tokens_out=len(text.split()))

    def cancel(self) -> None:
        """Do nothing: no request is ever running."""

    def close(self) -> None:
        """Do nothing: nothing is open."""


def _notes(question: str) -> list[dict[str, object]]:
    kind = question.partition("\n- ")[2].partition("\n")[0].partition(":")[0]
    try:
        messages = [
            object_of(message) for message in items_of(json.loads(question.partition("\nMessages:\n")[2]))
        ]
    except ValueError:
        return []
    return [
        {
            "content": sentence.partition(":")[2].strip().rstrip("."),
            "kind": kind,
            "message": message.get("message"),
            "quote": sentence,
            "when": [],
            "confidence": 0.8,
            "fates": [],
        }
        for message in messages
        for sentence in split_sentences(str(message.get("text")))
        if message.get("role") == "user" and sentence.startswith("Worth knowing: ")
    ]
