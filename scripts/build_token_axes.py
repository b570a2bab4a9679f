"""Makes `token_axes.json`: where the token vectors lie in the shipped model's file, what all of them share, which the
late space takes away from them, and how long each is then.

    python scripts/build_token_axes.py [--model FILE] [--out FILE]

In: the input embeddings inside `model.onnx` (8 bits). Out: the place of their rows, their mean and main direction, eight
decimals, and their lengths, in half precision, as a fitted file; the same bytes every time. Every fourth row tells both well enough. Source: Mu and Viswanath, All-but-the-top,
ICLR 2018. Computed here and not by the daemon, where it would take 0.3 s and 36 MB of somebody's prompt.
"""

from __future__ import annotations

import argparse
import hashlib
from pathlib import Path

import numpy as np

from tacit.fitted import FOLDER, Artifact, FitOrigin, encode_artifact
from tacit.providers.embedding.minilm import FOLDER as MODEL_FOLDER
from tacit.providers.embedding.minilm import IDENTITY, TableInModel, TokenAxes, read_weights

SAMPLE = 4
ROUNDS = 200
DECIMALS = 8


def axes(model: Path) -> Artifact[TokenAxes]:
    """The file's content."""
    stored = read_weights(model)
    rows = stored["words_quantized"][::SAMPLE].astype(np.float64)
    zero, scale = float(stored["words_zero_point"].item()), float(stored["words_scale"].item())
    # Sums of products of whole numbers below 2 ** 53 are exact, in whatever order a library adds them up.
    mean = rows.sum(axis=0) / len(rows)
    scatter = rows.T @ rows - len(rows) * np.outer(mean, mean)
    direction = mean - zero
    for _ in range(ROUNDS):
        direction = scatter @ direction
        direction /= np.linalg.norm(direction)
    every = (stored["words_quantized"].astype(np.float64) - mean) * scale
    lengths = np.sqrt((every**2).sum(axis=1) - (every @ direction) ** 2).astype("<f2")
    content = model.read_bytes()
    tokens, dimensions = stored["words_quantized"].shape
    return Artifact(
        name="token_axes",
        origin=FitOrigin(
            what="mean and main direction of the input embeddings of the shipped model, and lengths without them",
            made_by="python scripts/build_token_axes.py",
            embedder=str(IDENTITY),
            details={"model_sha256": hashlib.sha256(content).hexdigest(), "rows": f"every {SAMPLE}th"},
        ),
        values=TokenAxes(
            rows=TableInModel(
                at=content.index(stored["words_quantized"].tobytes()), shape=(tokens, dimensions)
            ),
            zero=zero,
            scale=scale,
            mean=tuple(round(float(value), DECIMALS) for value in (mean - zero) * scale),
            direction=tuple(round(float(value), DECIMALS) for value in direction),
            lengths=lengths.tobytes(),
        ),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Make what the late space takes away from token vectors.")
    parser.add_argument("--model", type=Path, default=MODEL_FOLDER / "model.onnx")
    parser.add_argument("--out", type=Path, default=FOLDER / "token_axes.json")
    options = parser.parse_args()
    options.out.write_bytes(encode_artifact(axes(options.model)))


if __name__ == "__main__":
    main()
