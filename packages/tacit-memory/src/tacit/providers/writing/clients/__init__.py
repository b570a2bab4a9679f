"""Recipes for running each host's command line headless, tested with the real clients. In: a provider's name. Out: its recipe."""

from __future__ import annotations

from typing import Literal

from tacit.providers.writing.command_line import Client

ClientName = Literal["claude", "opencode", "codex", "gemini"]


def client_named(name: ClientName) -> Client:
    """Return the recipe for the command line of a coding agent."""
    match name:
        case "claude":
            from tacit.providers.writing.clients.claude import CLAUDE  # noqa: PLC0415 - loads only its own

            return CLAUDE
        case "opencode":
            from tacit.providers.writing.clients.opencode import OPENCODE  # noqa: PLC0415 - as above

            return OPENCODE
        case "codex":
            from tacit.providers.writing.clients.codex import CODEX  # noqa: PLC0415 - as above

            return CODEX
        case "gemini":
            from tacit.providers.writing.clients.gemini import GEMINI  # noqa: PLC0415 - as above

            return GEMINI
