"""Models of language that read finished sessions, and what picks one from the settings. Off unless asked for.

In: the extractor section of the settings, a key, what redacts. Out: an `Extractor`, or None. Never reads the environment, never
connects before it is asked something.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

from tacit.config.settings import ExtractorSettings
from tacit.ports.extraction import Extractor

if TYPE_CHECKING:
    from tacit.providers.extraction.remote import Dialect


def key_variable(settings: ExtractorSettings) -> str:
    """Name of the variable that holds the key: as set, else the provider's usual one; empty where none is needed."""
    if settings.provider in ("off", "fake"):
        return ""
    return settings.api_key_env or _dialect(settings.provider).key_variable


def make_extractor(
    settings: ExtractorSettings, *, api_key: str = "", redact: Callable[[str], str]
) -> Extractor | None:
    """The extractor that `settings` name; None when it is off.

    Args:
        settings: which model, where.
        api_key: the key; empty = none is sent.
        redact: takes secrets out of every text before it leaves the process.

    Raises:
        ProviderError: if the endpoint is no address.
    """
    if settings.provider == "off":
        return None
    if settings.provider == "fake":
        from tacit.providers.extraction.fake import FakeExtractor  # noqa: PLC0415 - loads only its own

        return FakeExtractor()
    from tacit.providers.extraction.remote import RemoteExtractor  # noqa: PLC0415 - as above
    from tacit.providers.json_client import JsonClient  # noqa: PLC0415

    dialect = _dialect(settings.provider)
    client = JsonClient(
        settings.endpoint or dialect.endpoint,
        headers=dialect.headers(api_key),
        timeout_ms=settings.timeout_ms,
        section="capture.extractor",
    )
    return RemoteExtractor(
        dialect,
        model=settings.model or dialect.model,
        most_output_tokens=settings.most_output_tokens,
        client=client,
        prepare=redact,
    )


def _dialect(provider: Literal["openai", "anthropic"]) -> Dialect:
    if provider == "openai":
        from tacit.providers.extraction.openai import OPENAI  # noqa: PLC0415 - as above

        return OPENAI
    from tacit.providers.extraction.anthropic import ANTHROPIC  # noqa: PLC0415

    return ANTHROPIC
