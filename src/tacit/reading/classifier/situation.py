"""The situation reader with fitted weights on top of the rules.

In: what the rules read, the prompt, the end of the agent's last message, recent files and - where there are - the
vectors of both texts. Out: the same situation with calibrated chances. Never embeds; never slower than a fraction of a millisecond.

The formula (own; one logistic regression per class, all fitted together on soft labels; `tacit_evals.fit.situation`):

    logit(chance of class c) = b_c + 0.4 logit(chance by the rules) + sum over inputs x of x . W_c
    inputs: words and pairs of the prompt (binary, over the root of their number), words of the message's end, 24 cues,
            the chances by the rules; and, if the embedder is the one fitted for, the prompt's vector, that of the end,
            and that of the end times whether it was accepted and times how short the prompt is.

What is handed on is 1 - (1 - that chance) (1 - 0.3 x the chance by the rules): what words say outright must not be argued away by
what other projects do. That costs a little calibration and average precision of the reading, and finds more of what is needed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from tacit.fitted import Artifact, load_fitted
from tacit.fitted.matrices import Matrix, MatrixValues, WeightMatrices
from tacit.model.note import Note, NoteCause
from tacit.model.situation import Situation
from tacit.reading.classifier.features import Row, cues, end_words, prompt_words, shortness

NOTHING = "none"
RULES_SHARE = 0.4
RULES_KEPT = 0.3
"""How sure a rule alone is, where the weights say no; chosen on projects left out (docs/adr/0013-fitted-readers.md)."""
NOTHING_FROM = 0.5
MIN_CHANCE = 0.03
MAX_CLASSES = 24
KEPT_ENDS = 256
"""Ends of messages whose part is kept: it is worked out when the message arrives, not at the prompt."""
_FLOOR = 0.003
_LEAST = float(np.float32(MIN_CHANCE))
"""The chances are of 32 bits."""
WORDS, VECTORS = "words", "vectors"
"""The two sets of weights: for any embedder, and for the one that the manifest names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptInput:
    """A prompt as the reader gets it; `vector` and `end_vector` are unit vectors of its words and of the message's end."""

    text: str
    previous_end: str = ""
    files: Sequence[str] = ()
    vector: Row | None = None
    end_vector: Row | None = None


@dataclass(frozen=True, slots=True)
class _Weights:
    bias: Row
    matrices: Mapping[str, Matrix]


class SituationModel:
    """Fitted weights, ready to read. Never changes; safe to share between threads."""

    __slots__ = ("_classes", "_end_index", "_ended", "_index", "_sets", "weights")

    def __init__(self, weights: WeightMatrices) -> None:
        self.weights = weights
        self._classes = weights.names["classes"]
        self._index = {word: number for number, word in enumerate(weights.names["words"])}
        self._end_index = {word: number for number, word in enumerate(weights.names["end_words"])}
        self._sets: dict[str, _Weights] = {}
        for name in (WORDS, VECTORS):
            matrices = weights.under(name)
            if matrices:
                bias = matrices.pop("bias")[0]
                self._sets[name] = _Weights(bias, matrices)
        self._ended = lru_cache(maxsize=KEPT_ENDS)(self._by_end)

    @property
    def embedder(self) -> str:
        """Identity of the embedder whose vectors `read` understands."""
        return self.weights.origin.embedder

    @property
    def classes(self) -> tuple[str, ...]:
        """The action classes it tells apart, `none` among them."""
        return self._classes

    def chances(self, rules: Situation, prompt: PromptInput) -> Row:
        """Calibrated chance of every class of `classes`, given what the rules read."""
        return self._chances(self._said(rules), rules, prompt)

    def _said(self, rules: Situation) -> Row:
        chances = dict(rules.actions)
        by_rules = np.array([chances.get(name, 0.0) for name in self._classes], np.float32)
        if rules.nothing_coming and NOTHING in self._classes:
            by_rules[self._classes.index(NOTHING)] = 1.0
        return by_rules

    def _chances(self, by_rules: Row, rules: Situation, prompt: PromptInput) -> Row:
        with_vector = prompt.vector is not None and VECTORS in self._sets
        weights = self._sets[VECTORS if with_vector else WORDS]
        logits = weights.bias + RULES_SHARE * _logit(by_rules)
        ends = (
            self._ended(VECTORS if with_vector else WORDS, prompt.previous_end) if prompt.previous_end else ()
        )
        logits = logits + _plus(
            self._plain(weights.matrices, prompt, by_rules), ends, accepted=rules.accepted
        )
        if with_vector:
            logits = logits + _by_vectors(weights.matrices, prompt, accepted=rules.accepted)
        return (1.0 / (1.0 + np.exp(-logits))).astype(np.float32, copy=False)

    def read(self, rules: Situation, prompt: PromptInput) -> Situation:
        """`rules` joined with the fitted chances; as it is where the rules are certain that nothing is coming."""
        if rules.nothing_coming:
            return rules
        by_rules = self._said(rules)
        fitted = self._chances(by_rules, rules, prompt)
        chances: list[float] = (1.0 - (1.0 - fitted) * (1.0 - RULES_KEPT * by_rules)).tolist()
        likely = [
            (-round(chance, 3), name)
            for name, chance in zip(self._classes, chances, strict=True)
            if chance >= _LEAST and name != NOTHING
        ]
        actions = tuple([(name, -negated) for negated, name in sorted(likely)[:MAX_CLASSES]])
        nothing = chances[self._classes.index(NOTHING)] if NOTHING in self._classes else 0.0
        if nothing >= NOTHING_FROM and not rules.accepted:
            return replace(
                rules,
                actions=actions,
                nothing_coming=True,
                notes=(*rules.notes, Note(cause=NoteCause.NOTHING_COMING, chance=round(nothing, 4))),
            )
        return replace(rules, actions=actions)

    def _plain(self, matrices: Mapping[str, Matrix], prompt: PromptInput, by_rules: Row) -> Row:
        total = cues(prompt.text, previous_end=prompt.previous_end, files=prompt.files) @ matrices["cue"]
        total += by_rules @ matrices["rule"]
        rows = sorted([self._index[word] for word in prompt_words(prompt.text) if word in self._index])
        if rows:
            total += _sum(matrices["word"], rows) / np.sqrt(np.float32(len(rows)))
        return total

    def heard(self, previous_end: str) -> None:
        """Work out what the words of the end of a message speak for, before a prompt answers it."""
        for name in self._sets:
            self._ended(name, previous_end)

    def _by_end(self, name: str, previous_end: str) -> tuple[Row, ...]:
        """Return what the words of a message's end add, and what they add besides where it was accepted; by the weights `name`."""
        matrices = self._sets[name].matrices
        rows = sorted(self._end_index[word] for word in end_words(previous_end) if word in self._end_index)
        if not rows:
            return ()
        additions = [_sum(matrices["end_word"], rows) / np.sqrt(np.float32(len(rows)))]
        if "end_word_accepted" in matrices:
            additions.append(_sum(matrices["end_word_accepted"], rows) * np.float32(len(rows) ** -0.5))
        return tuple(additions)


def _by_vectors(matrices: Mapping[str, Matrix], prompt: PromptInput, *, accepted: bool) -> Row:
    assert prompt.vector is not None
    total = prompt.vector @ matrices["prompt"]
    if prompt.end_vector is not None:
        end = prompt.end_vector
        total = total + end @ matrices["end"] + (shortness(prompt.text) * end) @ matrices["end_short"]
        if accepted:
            total = total + end @ matrices["end_accepted"]
    return total


def _plus(total: Row, ends: tuple[Row, ...], *, accepted: bool) -> Row:
    for addition in ends if accepted else ends[:1]:
        total += addition
    return total


def _sum(matrix: Matrix, rows: list[int]) -> Row:
    return np.add.reduce(matrix.take(rows, axis=0), axis=0)


def _logit(chances: Row) -> Row:
    clamped = np.minimum(np.maximum(chances, _FLOOR), 1.0 - _FLOOR)
    return np.log(clamped / (1.0 - clamped))


def shipped_situation() -> SituationModel:
    """Load the weights of the situation reader that ship; read from the package once.

    Raises:
        InvalidInput: if the file is damaged.
    """
    return load_fitted("situation", MatrixValues, _situation_from)


def _situation_from(artifact: Artifact[MatrixValues]) -> SituationModel:
    return SituationModel(WeightMatrices.of_artifact(artifact))
