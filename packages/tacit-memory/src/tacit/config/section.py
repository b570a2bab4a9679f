"""What every section of settings is made from. In: nothing. Out: the base of the sections, and a type that several share."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict


class Section(BaseModel):
    """The base class of all sections of the settings: immutable, and unknown keys are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True)


def _are_shares(shares: dict[str, float]) -> dict[str, float]:
    for name, share in shares.items():
        if not 0.0 <= share <= 1.0:
            raise ValueError(f"numbers between 0 and 1; {name} has {share}")
    return shares


Shares = Annotated[dict[str, float], AfterValidator(_are_shares)]
"""Numbers from 0 to 1 by name."""
