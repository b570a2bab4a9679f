"""Old forms of requests that work for one more release, with a warning that names the successor.

In: a checked request. Out: warnings for the header `Warning` of the answer and for the log. To end a grace period, remove the row here
and the field of the request.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class OldForm:
    """One old form.

    Attributes:
        endpoint: name of the endpoint, see `Endpoint.name`.
        used: whether a request is of the old form.
        warning: what to send instead.
    """

    endpoint: str
    used: Callable[[Any], bool]
    warning: str


OLD_FORMS = (
    OldForm(
        endpoint="post_remember",
        used=lambda request: request.tier is not None,
        warning="`tier` follows from who asks now, and grants nothing: send the user's words as `user_words`, or a personal token",
    ),
    OldForm(
        endpoint="post_undo",
        used=lambda request: bool(request.cwd),
        warning="`cwd` is not read: `id` names the change",
    ),
)


def old_forms(endpoint: str, request: object) -> tuple[str, ...]:
    """Warnings for what `request` says in an old form."""
    return tuple(form.warning for form in OLD_FORMS if form.endpoint == endpoint and form.used(request))
