"""Second-stage models of the user's own, and what picks them from the settings. All of them are optional.

In: the reranker or sparse section of the settings. Out: a `Reranker` that loads its model when it is first needed, or None.
Never downloads anything, never reads the environment.
"""

from __future__ import annotations

from pathlib import Path

from tacit.config.settings import RerankerSettings, SparseSettings
from tacit.ports.models import Reranker
from tacit.providers.reranking.fake import FakeReranker

__all__ = ["FakeReranker", "make_reranker", "make_sparse"]


def make_reranker(settings: RerankerSettings) -> Reranker | None:
    """The cross-encoder that `settings` name; None when it is off.

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


def make_sparse(settings: SparseSettings) -> Reranker | None:
    """The sparse encoder that `settings` name; None when it is off.

    Raises:
        ProviderError: if the folder is incomplete.
    """
    match settings.provider:
        case "off":
            return None
        case "fake":
            return FakeReranker()
        case "onnx":
            from tacit.providers.reranking.splade import Splade  # noqa: PLC0415

            return Splade(Path(settings.model).expanduser())
