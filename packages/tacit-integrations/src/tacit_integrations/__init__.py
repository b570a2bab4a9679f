"""Tacit in front of a model API: wrappers of the official SDKs that add what is known to a request, and learn from the reply."""

from __future__ import annotations

from tacit_integrations.wrap import http_client, with_memory

__all__ = ["http_client", "with_memory"]
