"""What programs ask that keep a conversation themselves: what to put before a prompt.

In: checked requests. Out: models of the answers. See `tacit.api.handlers`. Error states of an injection have a result that may be used, and the
status that the `multispace` seed names: 500, or 408 after a timeout.
"""

from __future__ import annotations

from pydantic import Field

from tacit.api.answering import Answer, Parameters, Service
from tacit.app.queries.injection import Injection, InjectionFailed
from tacit.presets.multispace.settings import Categories, RecencyWeights
from tacit.verbs import answers as shapes
from tacit.verbs.requests import MAX_CONTENT_CHARS, Place, Request

HOST = "library"


class Inject(Request):
    """A request for the text to put before a prompt of a conversation that a program keeps."""

    text: str = Field(min_length=1, max_length=MAX_CONTENT_CHARS, description="the user's words")
    session_id: str = Field(
        min_length=1,
        max_length=500,
        description="names the conversation; it gets no memory twice",
    )
    cwd: Place = Field(default="", description="working folder, or `user:NAME`: decides what may be seen")
    deadline_ms: float | None = Field(
        default=None, gt=0, le=60_000, description="longest time; default: the setting"
    )
    categories: Categories | None = Field(default=None, description="tokens per section, for this prompt")
    recency: RecencyWeights | None = Field(default=None, description="factors by age, for this prompt")


def inject(engine: Service, at: Parameters, request: Inject) -> Answer[shapes.Injected]:
    """Get the text to put before a prompt, with counts and alerts.

    It is for a program that keeps the conversation itself: put the text before the user's words. Often it is
    empty. Alerts and counts are there where the preset has them. A failure has a result that can be used all
    the same: status 408 after a timeout, 500 otherwise.
    """
    asking = Injection(engine, host=HOST)
    if request.categories is not None:
        asking.set_token_budget(request.categories)
    if request.recency is not None:
        asking.configure_recency_weights(request.recency)
    outcome = asking.inject_context(
        request.text,
        request.session_id,
        cwd=request.cwd,
        deadline_ms=request.deadline_ms,
        hand_over=lambda _: at.waits(),
    )
    if not isinstance(outcome, InjectionFailed):
        return Answer(shapes.Injected(result=outcome, failure=None))
    failure = shapes.InjectionFailure(reason=outcome.reason, message=outcome.message)
    return Answer(shapes.Injected(result=outcome.result, failure=failure), status=outcome.http_status)
