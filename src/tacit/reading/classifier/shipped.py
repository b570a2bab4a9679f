"""The weights that ship. In: nothing. Out: models, read from the package once. Fitted by `python -m tacit_evals.fit`."""

from __future__ import annotations

from tacit.fitted import Artifact, MatrixValues, WeightMatrices, load_fitted
from tacit.reading.classifier.situation import SituationModel
from tacit.reading.classifier.trigger import TriggerModel


def _situation_from(artifact: Artifact[MatrixValues]) -> SituationModel:
    return SituationModel(WeightMatrices.of_artifact(artifact))


def _trigger_from(artifact: Artifact[MatrixValues]) -> TriggerModel:
    return TriggerModel(WeightMatrices.of_artifact(artifact))


def shipped_situation() -> SituationModel:
    """The situation reader's weights.

    Raises:
        InvalidInput: if the file is damaged.
    """
    return load_fitted("situation", MatrixValues, _situation_from)


def shipped_trigger() -> TriggerModel:
    """The trigger maker's weights.

    Raises:
        InvalidInput: if the file is damaged.
    """
    return load_fitted("trigger", MatrixValues, _trigger_from)
