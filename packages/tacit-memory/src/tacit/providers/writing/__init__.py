"""Access to a language model, and the choice of its provider from the settings. Off unless the user sets one.

In: a section of the settings that names a model, a key, the redaction, an environment. Out: a `Writer`, or None. Never reads
the environment itself, never starts or connects to anything before it is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import cast

from tacit.config.plugins import COMMAND_LINES, MODEL_SERVERS, WRITERS
from tacit.config.settings import WriterSettings
from tacit.ports.writer import Writer, WriterAnswer, WriterFactory, WriterRequest


def key_variable(settings: WriterSettings) -> str:
    """Return the name of the environment variable with the API key: that of the settings, else the provider's usual one; "" = no key is needed."""
    if settings.provider in MODEL_SERVERS:
        from tacit.providers.writing.http import APIS  # noqa: PLC0415 - loads only its own

        return settings.api_key_env or APIS[settings.provider].key_variable
    return "" if settings.provider in WRITERS.built_in else settings.api_key_env


def make_writer(
    settings: WriterSettings,
    *,
    api_key: str = "",
    redact: Callable[[str], str],
    environ: Mapping[str, str],
    section: str = "capture.extractor",
) -> Writer | None:
    """Make the writer that `settings` name; None = it is off.

    Args:
        settings: the provider, the model and the endpoint.
        api_key: key of an HTTP provider; empty = none is sent.
        redact: takes secrets out of every text before it leaves the process.
        environ: what a host's command line inherits.
        section: section of the settings that errors name.

    Raises:
        ProviderError: if the endpoint is no address.
    """
    writer = _make(settings, api_key, environ, section)
    return RedactedWriter(writer, redact) if writer else None


class RedactedWriter:
    """A writer that redacts requests before it passes them to another one. `make_writer` wraps every writer in it, so that no caller can forget redaction."""

    def __init__(self, inner: Writer, redact: Callable[[str], str]) -> None:
        self._inner = inner
        self._redact = redact
        self.name = inner.name

    def write(self, request: WriterRequest) -> WriterAnswer:
        """Take secrets out of the request, ask the wrapped writer, and return its answer. Blocks.

        Raises:
            ProviderError: as the wrapped writer.
        """
        stable, remainder = request.user[: request.stable_chars], request.user[request.stable_chars :]
        stable = _sendable(self._redact(stable)) if stable else ""
        clean = replace(
            request,
            system=_sendable(self._redact(request.system)),
            user=stable + _sendable(self._redact(remainder)),
            stable_chars=len(stable),
        )
        return self._inner.write(clean)

    def cancel(self) -> None:
        """Cancel the running requests of the wrapped writer."""
        self._inner.cancel()

    def close(self) -> None:
        """Close the wrapped writer."""
        self._inner.close()


def _make(settings: WriterSettings, api_key: str, environ: Mapping[str, str], section: str) -> Writer | None:
    match settings.provider:
        case "off":
            return None
        case "fake":
            from tacit.providers.writing.fake import FakeWriter  # noqa: PLC0415 - loads only its own

            return FakeWriter()
        case name if name in MODEL_SERVERS:
            from tacit.providers.json_client import JsonClient  # noqa: PLC0415 - as above
            from tacit.providers.writing.http import APIS, HttpWriter  # noqa: PLC0415 - as above

            api = APIS[name]
            client = JsonClient(
                settings.endpoint or api.endpoint,
                headers=api.headers(api_key),
                timeout_ms=settings.timeout_ms,
                section=section,
            )
            return HttpWriter(api, model=settings.model or api.model, client=client)
        case name if name in COMMAND_LINES:
            from tacit.providers.writing.clients import CLIENTS  # noqa: PLC0415 - as above
            from tacit.providers.writing.command_line import CommandLineWriter  # noqa: PLC0415 - as above

            return CommandLineWriter(
                CLIENTS[name],
                model=settings.model,
                timeout_s=settings.timeout_ms / 1000,
                environ=environ,
                section=section,
            )
        case name:
            make = cast("WriterFactory", WRITERS.load(name))
            return make(settings, api_key=api_key, environ=environ)


def _sendable(text: str) -> str:
    return text.replace("\0", " ").encode("utf-8", "replace").decode("utf-8")
