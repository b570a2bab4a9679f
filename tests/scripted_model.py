"""A stub model that follows a script, for tests with real clients and SDKs.

A script is a list of replies. Without a matching one, directives in the prompt decide, else a short fixed text. The k-th tool call is made when k
tool results follow the prompt:
    STUB_TOOL {"name": "Bash", "input": {...}}    STUB_TEXT word, or STUB_TEXT "several words"
    STUB_USAGE 199000  input tokens to report     STUB_HTTP 500  answer with this status
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from tacit.hosts.probe.stub_model import StubModel, StubRequest
from tacit.hosts.probe.wire import Answer, CallTool, Refuse, Say, as_mapping, newest_prompt, strings_in


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchPlace:
    """The position of one match of a pattern in a request body: its JSON path, its index in the string there, and that whole string."""

    path: str
    offset: int
    text: str


def find_places(body: object, pattern: str) -> tuple[MatchPlace, ...]:
    """Return every match of the regular expression `pattern` in the strings of `body`, in document order."""
    return tuple(
        MatchPlace(path=path, offset=match.start(), text=text)
        for path, text in strings_in(body)
        for match in re.finditer(pattern, text)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptedReply:
    """A rule of the script: if the newest prompt matches the regular expression `when`, give `answers` in turn.

    The k-th answer is given when k tool results follow the prompt; past the end, the last one that says something,
    else `done`.
    """

    when: str
    answers: tuple[Answer, ...]

    def answer_after(self, results: int) -> Answer:
        """Return the answer for a prompt that `results` tool results follow."""
        if results < len(self.answers):
            return self.answers[results]
        says = [answer for answer in self.answers if isinstance(answer, Say)]
        return says[-1] if says else Say(text="done")


Script = Sequence[ScriptedReply]


class ScriptedModel(StubModel):
    """A `StubModel` that answers by `script`, then by the directives in the prompt; it also writes each request into the folder `record`, as `NNN.json`."""

    def __init__(
        self, script: Script = (), *, record: Path | None = None, usage_tokens: int | None = None
    ) -> None:
        super().__init__()
        self.script: list[ScriptedReply] = list(script)
        self._record = record
        self.usage_tokens = usage_tokens or StubModel.usage_tokens

    def keep(
        self, method: str, path: str, headers: Mapping[str, str], body: Mapping[str, object]
    ) -> StubRequest:
        request = super().keep(method, path, headers, body)
        if self._record is not None:
            self._record.mkdir(parents=True, exist_ok=True)
            shown = {"method": method, "path": path, "headers": request.headers, "body": body}
            (self._record / f"{request.number:03d}.json").write_text(json.dumps(shown, indent=1), "utf-8")
        return request

    def answer(self, request: StubRequest) -> tuple[Answer, int]:
        prompt, results = newest_prompt(request.turns)
        answer = decide(self.script, prompt, results, tools=request.offers_tools, number=request.number)
        usage = re.search(r"STUB_USAGE (\d+)", prompt)
        return answer, int(usage[1]) if usage else self.usage_tokens

    def wait_for(self, pattern: str, *, timeout_s: float) -> StubRequest | None:
        """Wait until a recorded request matches `pattern`, and return the first that does; None = none did within `timeout_s`."""
        end = time.monotonic() + timeout_s
        while True:
            request = next((r for r in self.requests if r.find(pattern)), None)
            if request is not None or time.monotonic() > end:
                return request
            time.sleep(0.02)


def decide(script: Script, prompt: str, results: int, *, tools: bool, number: int) -> Answer:
    """Choose the answer: the first matching reply of the script, else what the directives in the prompt ask for, else a fixed text with `number`.

    `results` = tool results after the prompt; without `tools`, no tool is called.
    """
    for reply in script:
        if re.search(reply.when, prompt):
            answer = reply.answer_after(results)
            if tools or not isinstance(answer, CallTool):
                return answer
    if status := re.search(r"STUB_HTTP (\d{3})", prompt):
        return Refuse(status=int(status.group(1)))
    calls = read_tool_directives(prompt)
    if tools and results < len(calls):
        return calls[results]
    return Say(text=_read_text_directive(prompt) or f"STUB-OK {number}")


def read_tool_directives(prompt: str) -> tuple[CallTool, ...]:
    """Return the tool calls that `STUB_TOOL` directives in `prompt` ask for, in order; malformed ones are left out."""
    decoder = json.JSONDecoder()
    calls: list[CallTool] = []
    for match in re.finditer(r"STUB_TOOL\s+(?=\{)", prompt):
        try:
            value, _ = decoder.raw_decode(prompt, match.end())
        except ValueError:
            continue
        fields = as_mapping(value)
        calls.append(
            CallTool(name=str(fields.get("name", "")), input=cast(dict[str, object], fields.get("input", {})))
        )
    return tuple(calls)


def _read_text_directive(prompt: str) -> str:
    match = re.search(r"STUB_TEXT\s+(?=\S)", prompt)
    if match is None:
        return ""
    remainder = prompt[match.end() :]
    if remainder.startswith('"'):
        try:
            value, _ = json.JSONDecoder().raw_decode(remainder)
        except ValueError:
            return ""
        return str(value)
    return remainder.split()[0]
