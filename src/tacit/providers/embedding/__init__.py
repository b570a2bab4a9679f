"""Models that turn texts into vectors, and `make_embedder`, which picks one from the settings.

In: the embedder section of the settings. Out: an `Embedder` that loads its model at first use. Never reads the environment.
"""

from __future__ import annotations

from tacit.config.settings import EmbedderSettings
from tacit.errors import ProviderError
from tacit.ports.models import Embedder
from tacit.providers.embedding.fake import FakeEmbedder

__all__ = ["FakeEmbedder", "make_embedder"]


def make_embedder(settings: EmbedderSettings, *, api_key: str = "") -> Embedder:
    """Build the embedder that `settings` name; nothing is loaded or called before its first use.

    Args:
        settings: the `embedder` section.
        api_key: the value of the variable that `settings.api_key_env` names.

    Raises:
        ProviderError: if the provider cannot be used as configured.
    """
    del api_key
    match settings.provider:
        case "fake":
            return FakeEmbedder()
        case _:
            raise ProviderError(
                f"The embedder {settings.provider!r} is not available.", hint="Choose another provider."
            )
