"""The weights that ship. In: nothing. Out: models, read from the package once. Fitted by `python -m tacit_evals.fit`."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from tacit.reading.classifier.situation import SituationModel
from tacit.reading.classifier.trigger import TriggerModel
from tacit.reading.classifier.weights import unpack

FOLDER = Path(__file__).parent
SITUATION_FILE = FOLDER / "situation.weights"
TRIGGER_FILE = FOLDER / "trigger.weights"


@lru_cache(maxsize=1)
def shipped_situation() -> SituationModel:
    """The situation reader's weights.

    Raises:
        InvalidInput: if the file is damaged.
    """
    return SituationModel(unpack(SITUATION_FILE.read_bytes()))


@lru_cache(maxsize=1)
def shipped_trigger() -> TriggerModel:
    """The trigger maker's weights.

    Raises:
        InvalidInput: if the file is damaged.
    """
    return TriggerModel(unpack(TRIGGER_FILE.read_bytes()))
