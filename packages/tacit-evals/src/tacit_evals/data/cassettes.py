"""Answers of a language model that were recorded once. In: a folder. Out: a writer that replays them, by the hash of the request.

A cassette holds no text of the session: a quote is a message's number with two offsets, and fates come without their reasons. An answer
may also stand there as the model gave it, in a file named by the key. A request that was not recorded is an
error: something in the instructions, the cut, the data or the memories has changed since. Beside cassettes a folder may hold
plain answers, made for a session and not for a request: lists of statements with their quotes; they are found by the words.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from tacit.capture.write_up.trust import find_quote
from tacit.errors import InvalidInput
from tacit.ports.writer import WriterAnswer, WriterRequest

NAME = "recorded@1"
_CHARS = 24


def key_of(request: WriterRequest) -> str:
    """The key of a request: it changes with every character of it."""
    whole = json.dumps([request.system, request.user, request.schema], sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(whole.encode("utf-8", "replace")).hexdigest()[:_CHARS]


def is_comparison(request: WriterRequest) -> bool:
    """Whether the request compares statements; else it writes up a session."""
    return "fates" in cast("Mapping[str, Any]", (request.schema or {}).get("properties", {}))


def messages_of(request: WriterRequest) -> Mapping[int, str]:
    """The texts of the session's messages in a request, by number."""
    raw = json.loads(request.user.partition("\nMessages:\n")[2])
    return {message["message"]: message["text"] for message in raw}


def to_cassette(request: WriterRequest, answer: str) -> dict[str, Any]:
    """An answer to `request` as it is kept: a statement whose quote stands nowhere keeps none, a fate no reason.

    Raises:
        InvalidInput: if the answer is no JSON object with statements or fates.
    """
    try:
        parsed = json.loads(answer)
        if is_comparison(request):
            return {"fates": [{**fate, "reason": ""} for fate in parsed["fates"]]}
        texts = messages_of(request)
        return {"statements": [_located(dict(statement), texts) for statement in parsed["statements"]]}
    except (ValueError, KeyError, TypeError) as error:
        raise InvalidInput(f"The answer to {key_of(request)} cannot be read: {error}") from error


def _located(statement: dict[str, Any], texts: Mapping[int, str]) -> dict[str, Any]:
    further = [_placed(dict(place), texts) for place in statement.pop("further", ())]
    return {**_placed(statement, texts), "further": further}


def _placed(place: dict[str, Any], texts: Mapping[int, str]) -> dict[str, Any]:
    quote = str(place.pop("quote", ""))
    text = texts.get(place.get("message", 0), "")
    span = find_quote(quote, text)
    start = text.find(span) if span else 0
    return {**place, "start": start, "end": start + len(span)}


class ReplayWriter:
    """Answers from cassettes, or with the plain answer of the session that is written up (`session` names its file)."""

    name = NAME

    def __init__(self, folder: Path, *, requests: Path | None = None) -> None:
        """Read the answers of `folder`; requests without one are written to `requests`, where it is given.

        Raises:
            InvalidInput: if a file cannot be read.
        """
        self._recorded: dict[str, Mapping[str, Any]] = {}
        self._plain: dict[str, list[dict[str, Any]]] = {}
        self._requests = requests
        self.session = ""
        self.missing = 0
        for path in sorted(folder.glob("*.json")):
            try:
                raw = json.loads(path.read_text("utf-8"))
            except ValueError as error:
                raise InvalidInput(f"{path} is no JSON: {error}") from error
            if isinstance(raw, dict):
                recorded = cast("Mapping[str, Any]", raw)
                self._recorded.update(recorded.get("answers", {path.stem: recorded}))
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
        if self.session in self._plain:
            texts = messages_of(request)
            statements = [
                statement for raw in self._plain[self.session] for statement in _of_plain(raw, texts)
            ]
            return WriterAnswer(text=json.dumps({"statements": statements}), model=NAME)
        key = key_of(request)
        recorded = self._recorded.get(key)
        if recorded is None:
            raise self._not_recorded(request, key)
        if is_comparison(request):
            answer: dict[str, Any] = {"fates": recorded["fates"]}
        else:
            texts = messages_of(request)
            answer = {"statements": [_of_cassette(statement, texts) for statement in recorded["statements"]]}
        return WriterAnswer(text=json.dumps(answer), model=NAME)

    def _not_recorded(self, request: WriterRequest, key: str) -> InvalidInput:
        self.missing += 1
        if self._requests is not None:
            whole = {"system": request.system, "user": request.user, "schema": request.schema}
            self._requests.mkdir(parents=True, exist_ok=True)
            file = self._requests / f"{key}.json"
            file.write_text(json.dumps(whole, ensure_ascii=False, indent=1), "utf-8")
        return InvalidInput(
            f"No answer was recorded for the request {key}{' of ' + self.session if self.session else ''}.",
            hint="The request has changed since: record it again (python -m tacit_evals.suites.writing.recorded).",
        )

    def cancel(self) -> None:
        """Nothing runs."""

    def close(self) -> None:
        """Nothing is open."""


def _of_cassette(raw: Mapping[str, Any], texts: Mapping[int, str]) -> dict[str, Any]:
    if "quote" in raw:
        return dict(raw)  # an answer as the model gave it
    fields = {name: value for name, value in raw.items() if name not in ("start", "end")}
    if "further" in raw:
        fields["further"] = [_of_cassette(place, texts) for place in raw["further"]]
    return {**fields, "quote": texts.get(raw["message"], "")[raw["start"] : raw["end"]]}


def _of_plain(raw: Mapping[str, Any], texts: Mapping[int, str]) -> Sequence[dict[str, Any]]:
    """The statement with the number of the first message that holds its quote; without any, of message 0."""
    quote = str(raw["quote"])
    number = next((number for number, text in texts.items() if find_quote(quote, text)), 0)
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
