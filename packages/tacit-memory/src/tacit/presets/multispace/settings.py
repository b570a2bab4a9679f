"""Settings of `multispace` alone: `recall.multispace`. In: plain mappings. Out: frozen values. They do nothing in any other preset."""

from __future__ import annotations

from pydantic import Field

from tacit.config.section import Section


class RecencyWeights(Section):
    """Factors on a memory's priority by its age."""

    hour: float = Field(default=1.3, ge=0.0, le=10.0, description="younger than an hour")
    day: float = Field(default=1.2, ge=0.0, le=10.0, description="younger than a day")
    week: float = Field(default=1.1, ge=0.0, le=10.0, description="younger than 7 days")
    month: float = Field(default=1.0, ge=0.0, le=10.0, description="younger than 30 days")
    quarter: float = Field(default=0.9, ge=0.0, le=10.0, description="younger than 90 days")
    older: float = Field(default=0.8, ge=0.0, le=10.0, description="older")


class Categories(Section):
    """Tokens per section of a pack, in this order; the next section gets what one leaves."""

    divergence: int = Field(default=200, ge=0, le=20_000, description="alerts that the work has shifted")
    cluster: int = Field(default=400, ge=0, le=20_000, description="memories that many spaces agree on")
    single: int = Field(default=300, ge=0, le=20_000, description="memories that few spaces find")
    session: int = Field(default=200, ge=0, le=20_000, description="the topic of the last session")
    badges: int = Field(default=50, ge=0, le=20_000, description="time hints")


class MultispaceSettings(Section):
    """The `multispace` preset."""

    categories: Categories = Categories()
    recency: RecencyWeights = RecencyWeights()
