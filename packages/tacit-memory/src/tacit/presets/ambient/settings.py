"""Settings of `ambient` alone: `recall.ambient`. In: plain mappings. Out: frozen values. They do nothing in any other preset."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from tacit.config.section import Section


class AmbientSettings(Section):
    """The `ambient` preset: what is pinned, and what is near enough."""

    enabled: bool = Field(default=False, description="inject the pinned kinds before every prompt")
    pinned_kinds: tuple[str, ...] = Field(default=(), description="kinds that are packed first")
    pinned_limit: int = Field(default=3, ge=1, le=20, description="most memories of one pinned kind")
    pinned_sort: Literal["recent", "importance"] = Field(
        default="recent", description="which memories of a pinned kind come first"
    )
    ratio: float = Field(
        default=0.70, ge=0.0, le=1.0, description="least share of the best candidate's cosine; 0 = none"
    )
    cosine: float = Field(default=0.30, ge=0.0, le=1.0, description="least cosine, in addition to that share")
