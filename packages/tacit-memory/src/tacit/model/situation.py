"""The situation read from a signal: probabilities over the action classes that come next, with objects."""

from __future__ import annotations

from dataclasses import dataclass

from tacit.model.note import Note


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """What the agent is about to do, as read from a signal.

    Attributes:
        actions: (action class, probability 0-1), most probable first; probabilities need not sum to one
            because one step can be several actions.
        objects: lower-case words or paths the work touches.
        paths: files the work touches, relative to the project root where known.
        languages: languages of those files or named in the words.
        commands: commands about to run, or just named.
        accepted: the user accepted a proposal of the agent's last message.
        nothing_coming: no action follows (greeting, thanks, an empty prompt).
        notes: the reasons of the reading.
    """

    actions: tuple[tuple[str, float], ...] = ()
    objects: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    accepted: bool = False
    nothing_coming: bool = False
    notes: tuple[Note, ...] = ()

    def probability(self, action: str) -> float:
        """Probability of `action`; 0 when it is not listed."""
        return next((p for name, p in self.actions if name == action), 0.0)
