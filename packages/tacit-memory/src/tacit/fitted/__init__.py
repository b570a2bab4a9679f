"""Everything that was fitted, one JSON file each: its origin and its values. One format, one loader; see `artifact`.

`matrices` holds the weights of models. It loads numpy and is imported by itself, so that settings can be read without numpy.
The models that use the values stand with their formulas, in the layers above. Nothing is fitted here (`tacit_evals.fit` does).
"""

from tacit.fitted.artifact import (
    FOLDER,
    Artifact,
    FitOrigin,
    decode_artifact,
    encode_artifact,
    load_fitted,
    read_artifact,
    values_of,
    write_artifact,
)

__all__ = [
    "FOLDER",
    "Artifact",
    "FitOrigin",
    "decode_artifact",
    "encode_artifact",
    "load_fitted",
    "read_artifact",
    "values_of",
    "write_artifact",
]
