"""Reads prompts as situations: rules first, then fitted weights over the words and the prompt's vector.

In: a prompt with what came before it; the embedder. Out: a `Situation`. Embeds only with the embedder that the weights were
fitted for, only the prompt, and not where the rules are certain that nothing is coming; a failing embedder costs the
vectors, never the reading. The end of the agent's message is embedded when it arrives (`heard`), never at the prompt.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence

from tacit.errors import ProviderError
from tacit.model.situation import Situation
from tacit.ports.models import Embedder
from tacit.reading.classifier.features import END_CHARS, VECTOR_CHARS, Row
from tacit.reading.classifier.matching import shipped_match
from tacit.reading.classifier.situation import KEPT_ENDS, PromptInput, SituationModel, shipped_situation
from tacit.reading.situation import read_situation
from tacit.reading.unread import unread_language
from tacit.text.stemming import porter_stem


class SituationReader:
    """Callable like `read_situation`. Safe to share between threads."""

    def __init__(self, *, embedder: Embedder | None = None, model: SituationModel | None = None) -> None:
        """Read with `embedder`'s vectors where `model` (None = what ships) knows them, else by words alone.

        What ships is read from disk at the first prompt or message, not before.
        """
        self._given = model
        self._offered = embedder
        self._lock = threading.Lock()
        self._ends: OrderedDict[str, Row] = OrderedDict()

    def __call__(
        self,
        text: str,
        *,
        previous_end: str = "",
        recent_tools: Sequence[str] = (),
        recent_files: Sequence[str] = (),
    ) -> Situation:
        """Read what the agent is about to do; arguments as `tacit.reading.situation.read_situation`."""
        rules = read_situation(
            text, previous_end=previous_end, recent_tools=recent_tools, recent_files=recent_files
        )
        if rules.nothing_coming:
            return rules
        prompt = PromptInput(
            text=text,
            previous_end=previous_end[-END_CHARS:],
            files=recent_files,
            vector=self._vector(text[:VECTOR_CHARS]),
            end_vector=self._end_of(previous_end),
        )
        return self._model.read(rules, prompt)

    def warm(self) -> None:
        """Load the weights and the stemmer, and read once, so that the tables of the rules are built too."""
        shipped_match()
        porter_stem("warm")
        self("warm up, then fix the bug in src/warm.py and run the tests", previous_end="Shall I begin?")

    @property
    def _model(self) -> SituationModel:
        return self._given or shipped_situation()

    @property
    def _embedder(self) -> Embedder | None:
        """The embedder, if it is the one that the model was fitted for."""
        offered = self._offered
        return offered if offered is not None and str(offered.identity) == self._model.embedder else None

    def heard(self, message: str) -> None:
        """Keep the words and the vector of the end of the agent's message, for the prompt that answers it."""
        end = message[-END_CHARS:]
        if not end.strip():
            return
        self._model.heard(end)
        if self._embedder is None:
            return
        vector = self._vector(end)
        if vector is None:
            return
        with self._lock:
            self._ends[end] = vector
            self._ends.move_to_end(end)
            while len(self._ends) > KEPT_ENDS:
                self._ends.popitem(last=False)

    def _end_of(self, previous_end: str) -> Row | None:
        with self._lock:
            return self._ends.get(previous_end[-END_CHARS:])

    def _vector(self, text: str) -> Row | None:
        embedder = self._embedder
        if embedder is None or not text.strip() or unread_language(embedder, text):
            return None
        try:
            return embedder.embed([text])[0]
        except ProviderError:
            return None
