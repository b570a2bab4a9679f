"""Recipes for running each host's command line headless, tested with the real clients. In: a provider's name. Out: its recipe."""

from __future__ import annotations

from tacit.providers.writing.clients.claude import CLAUDE
from tacit.providers.writing.clients.codex import CODEX
from tacit.providers.writing.clients.gemini import GEMINI
from tacit.providers.writing.clients.opencode import OPENCODE

CLIENTS = {client.name: client for client in (CLAUDE, OPENCODE, CODEX, GEMINI)}
"""The recipes by name of the provider."""
