"""Settings of `refresh` alone: `recall.refresh`. In: plain mappings. Out: frozen values. They do nothing in any other preset."""

from __future__ import annotations

from pydantic import Field

from tacit.config.section import Section


class RefreshSettings(Section):
    """The `refresh` preset: the section of the `[MEMORY]` block that is looked up anew each turn."""

    similarity_first: float = Field(
        default=0.45, ge=0.0, le=1.0, description="least cosine of its memories on the first turn"
    )
    similarity_later: float = Field(default=0.55, ge=0.0, le=1.0, description="the same on later turns")
    top: int = Field(default=3, ge=0, le=50, description="most memories in it; 0 turns the refresh off")
    cosine: float = Field(
        default=0.55,
        ge=0.0,
        le=1.0,
        description="least cosine of what a prompt gets where a host has no place in the system prompt",
    )
