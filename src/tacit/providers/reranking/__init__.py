"""Second-stage models of the user's own, and what picks them from the settings. All of them are optional.

In: the reranker or sparse section of the settings. Out: a `Reranker` that loads its model when it is first needed, or None.
Never downloads anything, never reads the environment.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tacit.config.settings import RerankerSettings, SparseSettings
from tacit.ports.models import Reranker
from tacit.providers.reranking.fake import FakeReranker

__all__ = ["FakeReranker", "make_reranker"]


def make_reranker(settings: RerankerSettings | SparseSettings) -> Reranker | None:
    """The model that `settings` name: a cross-encoder, or a sparse encoder where they are of that section; None when it is off.

    Raises:
        ProviderError: if the folder is incomplete.
    """
    match settings.provider:
        case "off":
            return None
        case "fake":
            return FakeReranker()
        case "onnx":
            return _in_folder(settings)(Path(settings.model).expanduser())


def _in_folder(settings: RerankerSettings | SparseSettings) -> Callable[[Path], Reranker]:
    if isinstance(settings, RerankerSettings):
        from tacit.providers.reranking.cross_encoder import CrossEncoder  # noqa: PLC0415 - loads only its own

        return CrossEncoder
    from tacit.providers.reranking.splade import Splade  # noqa: PLC0415

    return Splade
