"""Models of language that read finished sessions, and what picks one from the settings. Off unless asked for.

In: the extractor section of the settings, a key, what redacts. Out: an `Extractor`, or None. Never reads the environment, never
connects before it is asked something.
"""

from __future__ import annotations

from collections.abc import Callable

from tacit.config.settings import ExtractorSettings
from tacit.ports.extraction import Extractor


def key_variable(settings: ExtractorSettings) -> str:
    """Name of the variable that holds the key: as set, else the provider's usual one; empty where none is needed."""
    match settings.provider:
        case "openai":
            from tacit.providers.extraction import openai  # noqa: PLC0415 - loads only its own

            return settings.api_key_env or openai.KEY_VARIABLE
        case "anthropic":
            from tacit.providers.extraction import anthropic  # noqa: PLC0415

            return settings.api_key_env or anthropic.KEY_VARIABLE
        case "off" | "fake":
            return ""


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
    match settings.provider:
        case "off":
            return None
        case "fake":
            from tacit.providers.extraction.fake import FakeExtractor  # noqa: PLC0415

            return FakeExtractor()
        case "openai":
            from tacit.providers.extraction import openai  # noqa: PLC0415
            from tacit.providers.json_client import JsonClient  # noqa: PLC0415

            return openai.OpenAIExtractor(
                model=settings.model or openai.MODEL,
                most_output_tokens=settings.most_output_tokens,
                client=JsonClient(
                    settings.endpoint or openai.ENDPOINT,
                    key=api_key,
                    timeout_ms=settings.timeout_ms,
                    section="capture.extractor",
                ),
                prepare=redact,
            )
        case "anthropic":
            from tacit.providers.extraction import anthropic  # noqa: PLC0415
            from tacit.providers.json_client import JsonClient  # noqa: PLC0415

            return anthropic.AnthropicExtractor(
                model=settings.model or anthropic.MODEL,
                most_output_tokens=settings.most_output_tokens,
                client=JsonClient(
                    settings.endpoint or anthropic.ENDPOINT,
                    headers=anthropic.headers(api_key),
                    timeout_ms=settings.timeout_ms,
                    section="capture.extractor",
                ),
                prepare=redact,
            )
