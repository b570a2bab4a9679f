"""Second-stage models of the user's own, and what picks them from the settings. All of them are optional.

In: the reranker's section of the settings. Out: a `Reranker` that loads its model when it is first needed, or None.
Never downloads anything. Never reads the environment, but for the installed packages where one of them provides the model.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import cast

from tacit.config.plugins import RERANKERS
from tacit.config.settings import RerankerSettings
from tacit.ports.models import Reranker, RerankerFactory
from tacit.providers.reranking.fake import FakeReranker

__all__ = ["FakeReranker", "make_reranker"]


def make_reranker(settings: RerankerSettings, *, redact: Callable[[str], str] = str) -> Reranker | None:
    """The model that `settings` name; None when it is off.

    `redact` is applied to every question that goes to another package's code; stored texts are redacted already.

    Raises:
        ProviderError: if the folder is incomplete.
    """
    match settings.provider:
        case "off":
            return None
        case "fake":
            return FakeReranker()
        case "onnx":
            from tacit.providers.reranking.cross_encoder import CrossEncoder  # noqa: PLC0415 - loads only its own

            return CrossEncoder(Path(settings.model).expanduser())
        case name:
            make = cast("RerankerFactory", RERANKERS.load(name))
            return _RedactedReranker(make(settings), redact)


class _RedactedReranker:
    """Passes questions on to a reranker of another package, redacted: it may send them anywhere."""

    def __init__(self, inner: Reranker, redact: Callable[[str], str]) -> None:
        self._inner = inner
        self._redact = redact

    @property
    def name(self) -> str:
        """See the port."""
        return self._inner.name

    @property
    def ready(self) -> bool:
        """See the port."""
        return self._inner.ready

    def score(self, text: str, other: str) -> float:
        """See the port."""
        return self._inner.score(self._redact(text), other)
