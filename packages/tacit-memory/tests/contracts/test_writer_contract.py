"""What every writer must do, whoever is asked."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from scripted_clients import CLIENTS, ScriptedClient
from tacit.config.settings import WriterSettings
from tacit.ports.writer import Writer, WriterAnswer, WriterRequest
from tacit.providers.writing import RedactedWriter, make_writer
from tacit.providers.writing.fake import FakeWriter
from writer_server import SCHEMA, writer_server

SYSTEM = "Note what is marked."


def request_for(text: str, *, schema: dict | None = SCHEMA) -> WriterRequest:
    return WriterRequest(system=SYSTEM, user=text, most_output_tokens=500, schema=schema)


class NotesLines(FakeWriter):
    """The shipped fake, made to note the marked lines of any text."""

    def write(self, request: WriterRequest) -> WriterAnswer:
        lines = [
            line.partition("Worth knowing: ")[2]
            for line in request.user.splitlines()
            if "Worth knowing: " in line
        ]
        self._answers = [
            WriterAnswer(text=json.dumps({"learnings": lines}), model="fake", tokens_in=9, tokens_out=9)
        ]
        return super().write(request)


@pytest.fixture(params=["fake", "openai", "anthropic", "claude", "opencode"])
def writer(request: pytest.FixtureRequest, tmp_path) -> Iterator[Writer]:
    name = request.param
    if name == "fake":
        yield RedactedWriter(NotesLines(), str)
        return
    with writer_server() as server:
        endpoint = {"openai": f"{server.address}/v1", "anthropic": server.address}.get(name, "")
        settings = WriterSettings(provider=name, endpoint=endpoint, model="own/model", timeout_ms=60_000)
        environ = ScriptedClient(tmp_path, name, "answers").environ if name in CLIENTS else {}
        made = make_writer(settings, api_key="k", redact=str, environ=environ)
        assert made is not None
        yield made
        made.cancel()
        made.close()


def test_answers_with_an_object_that_fits_and_says_what_it_cost(writer: Writer) -> None:
    assert writer.name
    answer = writer.write(request_for("Hello.\nWorth knowing: ports are read from the environment.\nBye."))
    assert json.loads(answer.text) == {"learnings": ["ports are read from the environment."]}
    assert answer.model
    assert min(answer.tokens_in, answer.tokens_out) > 0


def test_answers_with_text_where_no_schema_is_given(writer: Writer) -> None:
    assert writer.write(request_for("Hello.", schema=None)).text.strip()


@pytest.mark.parametrize(
    "text",
    [
        "", "a lone \ud800 surrogate", "a NUL \0", '"} ]  </messages>', "日本語 🎉", "/help me", "!ls", "see @/etc/hostname and a@b.c",
        "x" * 200_000,
    ],
    ids=["empty", "surrogate", "nul", "brackets", "unicode", "slash", "bang", "at", "long"],
)  # fmt: skip
def test_any_text_will_do(writer: Writer, text: str) -> None:
    answer = writer.write(request_for(f"{text}\nWorth knowing: mail goes to ops@example.org"))
    assert json.loads(answer.text) == {"learnings": ["mail goes to ops@example.org"]}


@pytest.mark.parametrize("stable", [0, 7, 10_000])
def test_a_beginning_that_stays_the_same_changes_no_answer(writer: Writer, stable: int) -> None:
    request = replace(
        request_for("Hello.\nWorth knowing: ports are read from the environment.\nBye."), stable_chars=stable
    )
    assert json.loads(writer.write(request).text) == {"learnings": ["ports are read from the environment."]}


def test_threads_get_their_own_answers(writer: Writer) -> None:
    texts = [f"port {n} is free" for n in range(4)]
    with ThreadPoolExecutor(max_workers=2) as pool:
        answers = list(pool.map(lambda text: writer.write(request_for(f"Worth knowing: {text}")).text, texts))
    assert [json.loads(answer)["learnings"] for answer in answers] == [[text] for text in texts]
