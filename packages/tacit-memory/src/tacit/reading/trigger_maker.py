"""Makes triggers: rules first, then fitted weights over the words and the statement's vector.

In: a statement with its kind and files; the embedder. Out: a `Trigger` of maker `local`. Embeds only with the embedder that
the weights were fitted for, and the very text that is stored, so that a remembering embedder does it once; a failing
embedder costs the vector, never the trigger. For writing, not for the path of a prompt.
"""

from __future__ import annotations

from collections.abc import Sequence

from tacit.errors import ProviderError
from tacit.model.situation import Situation
from tacit.model.trigger import Trigger
from tacit.ports.models import Embedder
from tacit.reading.trigger import make_trigger
from tacit.reading.trigger_model import Row, TriggerModel, shipped_trigger
from tacit.reading.unread import unread_language


class LocalTriggers:
    """Callable like `make_trigger`. Safe to share between threads."""

    def __init__(self, *, embedder: Embedder | None = None, model: TriggerModel | None = None) -> None:
        """Make with `embedder`'s vectors where `model` (None = what ships) knows them, else by words alone."""
        self._given = model
        self._offered = embedder

    def __call__(
        self,
        content: str,
        *,
        kind: str,
        files: Sequence[str] = (),
        situation: Situation | None = None,
        vector: Row | None = None,
    ) -> Trigger:
        """Guess when the statement applies; arguments as `tacit.reading.trigger.make_trigger`.

        `vector` is the statement's unit vector by the embedder this was built with, where the caller has it already.
        """
        rules = make_trigger(content, kind=kind, files=files, situation=situation)
        return self.weighed(rules, content, kind=kind, vector=vector)

    def weighed(self, rules: Trigger, content: str, *, kind: str, vector: Row | None = None) -> Trigger:
        """`rules`, just made by rules, with fitted weights; what somebody gave, *always* and empty stay as they are."""
        if rules.maker != "local" or rules.always or not rules.actions:
            return rules
        model = self._given or shipped_trigger()
        unusable = self._offered is None or str(self._offered.identity) != model.embedder
        if self._offered is None or unusable or unread_language(self._offered, content):
            vector = None
        elif vector is None:
            vector = _vector(content, self._offered)
        return model.make(rules, content, kind=kind, vector=vector)


def _vector(content: str, embedder: Embedder) -> Row | None:
    if not content.strip():
        return None
    try:
        return embedder.embed([content])[0]
    except ProviderError:
        return None
