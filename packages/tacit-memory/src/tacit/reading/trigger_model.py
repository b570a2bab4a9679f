"""Triggers by fitted weights on top of the rules.

In: the trigger that the rules made, the statement, its kind and - where there is one - its vector. Out: the same
trigger with calibrated weights and breadth. Never embeds, never changes objects, patterns or what is *always*.

The formula (own; `tacit_evals.fit.match`): per class one logistic regression, breadth one ridge regression, both over

    words, word pairs and first words of the statement (binary, over the root of their number), its kind, five cues of
    its wording, the weights by the rules and, if the embedder is the one fitted for, the statement's vector;
    to the logit of a class comes 0.4 logit(0.7 x its weight by the rules).

The weight of a class is its expected grade: 1 = exactly then, 0.67 = often, 0.33 = sometimes, times how likely that is; never
less than 0.3 times its weight by the rules.

Makes triggers: rules first, then fitted weights over the words and the statement's vector.

In: a statement with its kind and files; the embedder. Out: a `Trigger` of maker `local`. Embeds only with the embedder that
the weights were fitted for, and the very text that is stored, so that a remembering embedder does it once; a failing
embedder costs the vector, never the trigger. For writing, not for the path of a prompt.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tacit.errors import ProviderError
from tacit.fitted import Artifact, load_fitted
from tacit.fitted.matrices import Matrix, MatrixValues, WeightMatrices
from tacit.model.trigger import Situation, Trigger
from tacit.ports.models import Embedder
from tacit.reading.memory_vectors import unread_language
from tacit.reading.terms import find_paths, prose_of
from tacit.reading.trigger import make_trigger
from tacit.text.lazy_regex import wording
from tacit.text.stemming import light_stem
from tacit.text.tokens import READER_TOKEN

_WORDING = wording("triggers")

Row = NDArray[np.float32]

RULES_SHARE = 0.4
RULES_TRUST = 0.7
RULES_KEPT = 0.3
"""Chosen on held-out projects (docs/adr/0013-fitted-readers.md)."""
WORDS, VECTORS = "words", "vectors"
STATEMENT_CHARS = 1_000
MIN_WEIGHT = 0.05
MAX_CLASSES = 12
CUES = 5
_FLOOR = 0.02
_ALWAYS_WEIGHT = 0.1
"""Weight of each class for a statement that, by the rules, always applies."""
_WORDS = 150


@dataclass(frozen=True, slots=True)
class _Weights:
    bias: Row
    breadth_bias: float
    classes: Mapping[str, Matrix]
    breadth: Mapping[str, Matrix]


class TriggerModel:
    """The fitted weights that turn a statement into a trigger. Immutable and thread-safe."""

    __slots__ = ("_classes", "_index", "_kinds", "_sets", "weights")

    def __init__(self, weights: WeightMatrices) -> None:
        self.weights = weights
        self._classes = weights.names["classes"]
        self._kinds = {kind: number for number, kind in enumerate(weights.names["kinds"])}
        self._index = {word: number for number, word in enumerate(weights.names["words"])}
        self._sets: dict[str, _Weights] = {}
        for name in (WORDS, VECTORS):
            matrices = weights.under(name)
            if matrices:
                classes = {key: matrix for key, matrix in matrices.items() if not key.startswith("breadth.")}
                breadth = {
                    key.removeprefix("breadth."): matrix
                    for key, matrix in matrices.items()
                    if key.startswith("breadth.")
                }
                self._sets[name] = _Weights(
                    classes.pop("bias")[0], float(breadth.pop("bias")[0, 0]), classes, breadth
                )

    @property
    def embedder(self) -> str:
        """Return the identity of the embedder whose vectors the model was fitted with."""
        return self.weights.origin.embedder

    @property
    def classes(self) -> tuple[str, ...]:
        """Return the action classes that the model predicts."""
        return self._classes

    def weigh(
        self, rules: Trigger, content: str, *, kind: str, vector: Row | None = None
    ) -> tuple[Row, float]:
        """Return a weight (0-1) for each of `classes`, and the breadth (1-3), of a statement."""
        by_rules = said_by_rules(rules, self._classes)
        weights = self._sets[VECTORS if vector is not None and VECTORS in self._sets else WORDS]
        inputs: dict[str, Row] = {
            "kind": np.concatenate([self._kind(kind), statement_cues(content)]).astype(np.float32),
            "rule": by_rules,
        }
        if vector is not None:
            inputs["vector"] = vector
        rows = sorted(self._index[word] for word in statement_words(content) if word in self._index)
        logits = weights.bias + RULES_SHARE * _logit(RULES_TRUST * by_rules)
        breadth = weights.breadth_bias
        for key, row in inputs.items():
            if key in weights.classes:
                logits = logits + row @ weights.classes[key]
            if key in weights.breadth:
                breadth += float(row @ weights.breadth[key][:, 0])
        if rows:
            share = np.float32(len(rows) ** -0.5)
            logits = logits + weights.classes["word"][rows].sum(axis=0) * share
            breadth += float(weights.breadth["word"][rows, 0].sum() * share)
        return (1.0 / (1.0 + np.exp(-logits))).astype(np.float32), min(max(breadth, 1.0), 3.0)

    def make(self, rules: Trigger, content: str, *, kind: str, vector: Row | None = None) -> Trigger:
        """Return the trigger `rules` with fitted weights and breadth; unchanged if it always applies."""
        if rules.always:
            return rules
        fitted, breadth = self.weigh(rules, content, kind=kind, vector=vector)
        weights = np.maximum(fitted, RULES_KEPT * said_by_rules(rules, self._classes))
        weighted = [
            (self._classes[place], round(float(weights[place]), 2))
            for place in np.flatnonzero(weights >= MIN_WEIGHT)
        ]
        actions = tuple(sorted(weighted, key=lambda item: (-item[1], item[0]))[:MAX_CLASSES])
        return replace(rules, actions=actions, breadth=round(breadth, 2))

    def _kind(self, kind: str) -> Row:
        row = np.zeros(len(self._kinds), np.float32)
        number = self._kinds.get(kind, self._kinds.get("", -1))
        if number >= 0:
            row[number] = 1.0
        return row


def said_by_rules(rules: Trigger, classes: tuple[str, ...]) -> Row:
    """Return the weights of the action classes of the trigger `rules`, in the order of `classes`; 0 = it does not name the class."""
    if rules.always:
        return np.full(len(classes), _ALWAYS_WEIGHT, np.float32)
    weights = dict(rules.actions)
    return np.array([weights.get(name, 0.0) for name in classes], np.float32)


def statement_words(content: str) -> set[str]:
    """Return a statement's features as stems: words `w:`, pairs `b:`, first two words `f:`; code becomes `§`."""
    prose = prose_of(content[:STATEMENT_CHARS]).lower()
    stems = list(map(light_stem, READER_TOKEN.findall(prose)[:_WORDS]))
    words = {f"w:{word}" for word in stems}
    words.update(f"b:{a} {b}" for a, b in pairwise(stems))
    words.update(f"f:{word}" for word in stems[:2])
    return words


def statement_cues(content: str) -> Row:
    """Return `CUES` numbers on a statement, each 0 to 3: its length, its code spans, whether it orders, its paths, and words such as `every`."""
    return np.array(
        [
            min(len(content.split()) / 40, 3.0),
            min(content.count("`") / 6, 3.0),
            bool(_WORDING.order.match(content)),
            min(len(find_paths(content[:STATEMENT_CHARS])) / 3, 3.0),
            bool(_WORDING.trigger_model_strong.search(content)),
        ],
        dtype=np.float32,
    )


def _logit(chances: Row) -> Row:
    clamped = np.clip(chances, _FLOOR, 1.0 - _FLOOR)
    return np.log(clamped / (1.0 - clamped)).astype(np.float32)


def shipped_trigger() -> TriggerModel:
    """Return the fitted trigger model that ships with the package, read once.

    Raises:
        InvalidInput: if the file is damaged.
    """
    return load_fitted("trigger", MatrixValues, _trigger_from)


def _trigger_from(artifact: Artifact[MatrixValues]) -> TriggerModel:
    return TriggerModel(WeightMatrices.of_artifact(artifact))


class LocalTriggers:
    """Makes triggers from words with the fitted weights; called like `make_trigger`. Thread-safe."""

    def __init__(self, *, embedder: Embedder | None = None, model: TriggerModel | None = None) -> None:
        """Use `embedder`'s vectors if `model` (None = the shipped one) was fitted with them, else words alone."""
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
        """Return a trigger guessed from the statement; arguments as for `tacit.reading.trigger.make_trigger`.

        `vector` is the statement's unit vector by the embedder this was built with, where the caller has it already.
        """
        rules = make_trigger(content, kind=kind, files=files, situation=situation)
        return self.weighed(rules, content, kind=kind, vector=vector)

    def weighed(self, rules: Trigger, content: str, *, kind: str, vector: Row | None = None) -> Trigger:
        """Return the trigger `rules` with fitted weights; unchanged if somebody gave it, it is *always*, or it has no actions.

        Without `vector` the statement is embedded, if the model was fitted with this embedder; a failing embedder is ignored.
        """
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
