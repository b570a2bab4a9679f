"""Settings of `scoped` alone: `recall.scoped`. In: plain mappings. Out: frozen values. They do nothing in any other preset."""

from __future__ import annotations

from pydantic import Field

from tacit.config.section import Section


class ScopedSettings(Section):
    """The `scoped` preset: tokens per part of a pack, and the limits of a session."""

    universal: int = Field(default=300, ge=0, le=20_000, description="at start: universal memories")
    language: int = Field(default=300, ge=0, le=20_000, description="at start: rules of a language")
    project: int = Field(default=400, ge=0, le=20_000, description="at start: memories of the project")
    reserve: int = Field(
        default=200, ge=0, le=20_000, description="at start: the best memories that did not fit"
    )
    done: int = Field(default=300, ge=0, le=20_000, description="at start: `impl` lines of digests")
    decided: int = Field(default=200, ge=0, le=20_000, description="at start: `dec` lines of digests")
    open: int = Field(
        default=300, ge=0, le=20_000, description="at start: `block` and `next` lines of digests"
    )
    asked_universal: int = Field(default=150, ge=0, le=20_000, description="of an answer: universal memories")
    asked_language: int = Field(
        default=150, ge=0, le=20_000, description="of an answer: memories of a language"
    )
    asked_project: int = Field(
        default=200, ge=0, le=20_000, description="of an answer: memories of the project"
    )
    answers_per_session: int = Field(
        default=2, ge=0, description="most answers on demand in one session; 0 = no limit"
    )
    session_tokens: int = Field(
        default=3000,
        ge=0,
        description="most tokens in one session, start pack and answers together; 0 = no limit",
    )

    def of_an_answer(self) -> ScopedSettings:
        """Return the settings for an answer on demand: the `asked_*` limits as the limits of the scopes, and no reserve."""
        return self.model_copy(
            update={
                "universal": self.asked_universal,
                "language": self.asked_language,
                "project": self.asked_project,
                "reserve": 0,
            }
        )
