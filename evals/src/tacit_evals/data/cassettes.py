"""Answers of a language model that were recorded once. In: a folder. Out: a writer that replays them, by the hash of the request.

A cassette holds no text of the session: a quote is a message's number with two offsets. A request that was not recorded is an
error: something in the instructions, the cut, the data or the memories has changed since. Beside cassettes a folder may hold
plain answers, made for a session and not for a request: lists of statements with their quotes; they are found by the words.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from tacit.capture.write_up.checks import span_of
from tacit.errors import InvalidInput
from tacit.ports.writer import WriterAnswer, WriterRequest

NAME = "recorded@1"
_CHARS = 24


def key_of(request: WriterRequest) -> str:
    """The key of a request: it changes with every character of it."""
    whole = json.dumps([request.system, request.user, request.schema], sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(whole.encode("utf-8", "replace")).hexdigest()[:_CHARS]


def messages_of(request: WriterRequest) -> Mapping[int, str]:
    """The texts of the session's messages in a request, by number."""
    raw = json.loads(request.user.partition("\nMessages:\n")[2])
    return {one["message"]: one["text"] for one in raw}


def to_cassette(request: WriterRequest, answer: str, *, model: str) -> str:
    """The cassette of an answer to `request`; a statement whose quote stands nowhere keeps none.

    Raises:
        InvalidInput: if the answer is no JSON object with statements.
    """
    texts = messages_of(request)
    try:
        given = json.loads(answer)["statements"]
        statements = [_located(dict(one), texts) for one in given]
    except (ValueError, KeyError, TypeError) as error:
        raise InvalidInput(f"The answer to {key_of(request)} cannot be read: {error}") from error
    return json.dumps({"key": key_of(request), "model": model, "statements": statements}, indent=1) + "\n"


def _located(statement: dict[str, Any], texts: Mapping[int, str]) -> dict[str, Any]:
    quote = str(statement.pop("quote", ""))
    text = texts.get(statement.get("message", 0), "")
    span = span_of(quote, text)
    start = text.find(span) if span else 0
    return {**statement, "start": start, "end": start + len(span)}


class ReplayWriter:
    """Answers from cassettes, or with the plain answer of the session that is written up (`session` names its file)."""

    name = NAME

    def __init__(self, folder: Path) -> None:
        """Read the answers of `folder`.

        Raises:
            InvalidInput: if a file cannot be read.
        """
        self._recorded: dict[str, list[dict[str, Any]]] = {}
        self._plain: dict[str, list[dict[str, Any]]] = {}
        self.session = ""
        for path in sorted(folder.glob("*.json")):
            try:
                raw = json.loads(path.read_text("utf-8"))
            except ValueError as error:
                raise InvalidInput(f"{path} is no JSON: {error}") from error
            if isinstance(raw, dict):
                self._recorded[raw["key"]] = raw["statements"]
            else:
                self._plain[path.stem] = cast("list[dict[str, Any]]", raw)

    @property
    def plain(self) -> bool:
        """Whether the answers are plain ones."""
        return bool(self._plain)

    def write(self, request: WriterRequest) -> WriterAnswer:
        """The recorded answer.

        Raises:
            InvalidInput: if none was recorded for this request.
        """
        texts = messages_of(request)
        if self.session in self._plain:
            found = [one for raw in self._plain[self.session] for one in _of_plain(raw, texts)]
        else:
            key = key_of(request)
            if key not in self._recorded:
                raise InvalidInput(
                    f"No answer was recorded for the request {key} of {self.session}.",
                    hint="The request has changed since: record it again (python -m tacit_evals.suites.writing.recorded).",
                )
            found = [_of_cassette(one, texts) for one in self._recorded[key]]
        return WriterAnswer(text=json.dumps({"statements": found}), model=NAME)

    def cancel(self) -> None:
        """Nothing runs."""

    def close(self) -> None:
        """Nothing is open."""


def _of_cassette(raw: Mapping[str, Any], texts: Mapping[int, str]) -> dict[str, Any]:
    rest = {name: value for name, value in raw.items() if name not in ("start", "end")}
    return {**rest, "quote": texts.get(raw["message"], "")[raw["start"] : raw["end"]]}


def _of_plain(raw: Mapping[str, Any], texts: Mapping[int, str]) -> Sequence[dict[str, Any]]:
    """The statement with the number of the first message that holds its quote; without any, of message 0."""
    quote = str(raw["quote"])
    number = next((number for number, text in texts.items() if span_of(quote, text)), 0)
    when = cast("dict[str, list[str]]", raw.get("when") or {})
    return (
        {
            "content": raw["content"],
            "kind": raw["kind"],
            "message": number,
            "quote": quote,
            "when": [*when.get("actions", ()), *when.get("objects", ())][:6],
            "confidence": raw["confidence"],
            "fates": [],
        },
    )
