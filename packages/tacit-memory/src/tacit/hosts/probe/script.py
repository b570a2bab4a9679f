"""The answers of the stub model. In: the newest prompt and the number of tool results after it. Out: one answer.

A script is a list of replies; without a matching one, directives in the prompt decide, else a short fixed text.
Directives (the k-th tool call is made when k tool results follow the prompt):
    STUB_TOOL {"name": "Bash", "input": {...}}    STUB_TEXT word, or STUB_TEXT "several words"
    STUB_USAGE 199000  input tokens to report     STUB_HTTP 500  answer with this status
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

from tacit.hosts.probe.conversation import as_mapping

DEFAULT_USAGE_TOKENS = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Say:
    """The model says `text` and ends its turn."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CallTool:
    """The model calls a tool of the host, by the host's own name.

    `namespace` = the group of tools that contains the name, if a host of the Responses API has such groups.
    """

    name: str
    input: dict[str, object] = field(default_factory=dict[str, object])
    namespace: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refuse:
    """The model's server fails with this HTTP status."""

    status: int


Answer = Say | CallTool | Refuse


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """When the newest prompt matches `when` (regular expression, searched), give `answers` in turn.

    The k-th answer is given when k tool results follow the prompt; past the end, the last one that says something,
    else `done`.
    """

    when: str
    answers: tuple[Answer, ...]

    def answer_after(self, results: int) -> Answer:
        """The answer when `results` tool results follow the prompt."""
        if results < len(self.answers):
            return self.answers[results]
        says = [answer for answer in self.answers if isinstance(answer, Say)]
        return says[-1] if says else Say(text="done")


Script = Sequence[Reply]


def decide(script: Script, prompt: str, results: int, *, tools: bool, number: int) -> Answer:
    """What to answer.

    Args:
        script: replies, tried in order.
        prompt: newest text of the user.
        results: tool results after it.
        tools: whether the request offers tools; without, no tool is called.
        number: number of this request, for the fallback text.
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
    """The tool calls that `prompt` asks for, in order; unreadable ones are left out."""
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


def read_usage_directive(prompt: str) -> int:
    """Input tokens to report for this request."""
    match = re.search(r"STUB_USAGE (\d+)", prompt)
    return int(match.group(1)) if match else DEFAULT_USAGE_TOKENS


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
