"""The dialect of OpenAI's `/chat/completions` with structured output, which many servers speak.

In: a question; a server's reply. Out: a request's body; what the reply says. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from tacit.providers.extraction import questions
from tacit.providers.extraction.remote import Dialect, Question, Reply


def _headers(key: str) -> Mapping[str, str]:
    return {"Authorization": f"Bearer {key}"} if key else {}


def _body(question: Question) -> Mapping[str, object]:
    return {
        "model": question.model,
        # The newer name of `max_tokens`; OpenAI's reasoning models refuse the older one.
        "max_completion_tokens": question.most_output_tokens,
        "messages": [
            {"role": "system", "content": question.system},
            {"role": "user", "content": question.user},
        ],
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": questions.NAME, "strict": True, "schema": question.schema},
        },
    }


def _read(answer: Mapping[str, object]) -> Reply:
    choices = answer.get("choices")
    first = cast("list[object]", choices)[0] if isinstance(choices, list) and choices else None
    choice = questions.fields_of(first)
    said = questions.fields_of(choice.get("message"))
    total = questions.fields_of(answer.get("usage")).get("total_tokens")
    tokens = total if isinstance(total, int) and total > 0 else 0
    given, finish = said.get("content"), choice.get("finish_reason")
    if said.get("refusal") or finish == "content_filter":
        return Reply(given=given, tokens=tokens, ended="refused")
    return Reply(given=given, tokens=tokens, ended="cut off" if finish == "length" else "")


OPENAI = Dialect(
    name="openai",
    endpoint="https://api.openai.com/v1",
    model="gpt-4.1-mini",
    key_variable="OPENAI_API_KEY",
    path="/chat/completions",
    headers=_headers,
    body=_body,
    read=_read,
)
