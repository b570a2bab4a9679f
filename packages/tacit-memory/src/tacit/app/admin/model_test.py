"""One question to an optional language model, to see whether it can be used. In: a section of the settings. Out: what was sent, what came, the cost, or what is wrong.

It asks with the settings that are on file now, also where a running daemon reads them at its next start. No word of a memory or session is sent.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from tacit.config.settings import Settings, WriterSettings
from tacit.errors import ProviderError
from tacit.ports.writer import Writer, WriterRequest

ModelSection = Literal["capture.extractor", "recall.anticipate", "recall.judge"]
MOST_WAIT_MS = 30_000
MOST_TOKENS = 300
"""A model that thinks before it speaks needs more than the one word."""
_SYSTEM = "You are asked whether you can be reached."
_QUESTION = "Answer with the one word: ready"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelTest:
    """The result of one question to a language model.

    Attributes:
        works: whether it answered.
        model: provider and model; "" = the section is off.
        sent: all that was sent.
        answer: what came back, at most 200 characters.
        seconds: how long it took.
        tokens_in, tokens_out: what it cost; 0 = not told.
        problem, hint: what is wrong, and what to do; "" = nothing is.
    """

    works: bool
    model: str = ""
    sent: str = ""
    answer: str = ""
    seconds: float = 0.0
    tokens_in: int = 0
    tokens_out: int = 0
    problem: str = ""
    hint: str = ""


def model_settings(settings: Settings, section: ModelSection) -> WriterSettings:
    """Return the settings of the model of one section, in the form of a writer's."""
    match section:
        case "capture.extractor":
            found = settings.capture.extractor
        case "recall.anticipate":
            found = settings.recall.anticipate.as_writer()
        case "recall.judge":
            found = settings.recall.judge.as_writer()
    return found.model_copy(update={"timeout_ms": min(found.timeout_ms, MOST_WAIT_MS)})


def ask_model(
    section: ModelSection,
    settings: WriterSettings,
    make: Callable[[str, WriterSettings], Writer | None],
    *,
    key: str,
    key_name: str,
) -> ModelTest:
    """Ask the model of `section` one question. Blocks, at most 30 seconds; an expected failure is part of the result.

    Args:
        section: of the settings.
        settings: of the model.
        make: makes a writer from a section's name and settings.
        key: the API key, which is taken out of whatever is told; "" = there is none.
        key_name: the variable that should hold it; "" = none is needed.
    """
    begun = time.monotonic()
    sent = f"{_SYSTEM} {_QUESTION}"
    name = ""
    writer: Writer | None = None
    try:
        writer = make(section, settings)
        if writer is None:
            return ModelTest(
                works=False, problem="No model is set here.", hint=f"Set {section}.provider first."
            )
        name = writer.name
        answer = writer.write(WriterRequest(system=_SYSTEM, user=_QUESTION, most_output_tokens=MOST_TOKENS))
    except ProviderError as error:
        hint = error.hint
        if key_name and not key:
            hint = f"The variable {key_name} is not set where the daemon runs. Set it there, then `tacit stop`. {hint}".strip()
        told = ModelTest(works=False, model=name, sent=sent, problem=str(error), hint=hint)
    else:
        told = ModelTest(
            works=True,
            model=name,
            sent=sent,
            answer=answer.text[:200],
            tokens_in=answer.tokens_in,
            tokens_out=answer.tokens_out,
        )
    finally:
        if writer is not None:
            writer.close()
    hidden = {field: _without(key, getattr(told, field)) for field in ("answer", "problem", "hint")}
    return replace(told, **hidden, seconds=round(time.monotonic() - begun, 2))


def _without(key: str, text: str) -> str:
    return text.replace(key, "[key]") if key else text
