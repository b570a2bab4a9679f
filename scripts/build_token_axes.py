"""Makes `token_axes.json`: where the token vectors lie in the shipped model's file, what all of them share, which the
late space takes away from them, and how long each is then.

    python scripts/build_token_axes.py [--model FILE] [--out FILE]

In: the input embeddings inside `model.onnx` (8 bits). Out: the place of their rows, their mean and main direction, eight
decimals, and their lengths, in half precision, with a manifest; the same bytes every time. Every fourth row tells both well enough. Source: Mu and Viswanath, All-but-the-top,
ICLR 2018. Computed here and not by the daemon, where it would take 0.3 s and 36 MB of somebody's prompt.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import json
from pathlib import Path

import numpy as np

from tacit.providers.embedding.weights import read_weights

FOLDER = Path(__file__).resolve().parents[1] / "src/tacit/providers/embedding/minilm"
SAMPLE = 4
ROUNDS = 200
DECIMALS = 8


def axes(model: Path) -> dict[str, object]:
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
    return {
        "manifest": {
            "what": "mean and main direction of the input embeddings of the shipped model, and lengths without them",
            "model_sha256": hashlib.sha256(model.read_bytes()).hexdigest(),
            "rows": f"every {SAMPLE}th",
            "command": "python scripts/build_token_axes.py",
        },
        "rows": {
            "at": model.read_bytes().index(stored["words_quantized"].tobytes()),
            "shape": [*stored["words_quantized"].shape],
        },
        "zero": zero,
        "scale": scale,
        "mean": [round(float(value), DECIMALS) for value in (mean - zero) * scale],
        "direction": [round(float(value), DECIMALS) for value in direction],
        "lengths": base64.b64encode(lengths.tobytes()).decode("ascii"),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Make what the late space takes away from token vectors.")
    parser.add_argument("--model", type=Path, default=FOLDER / "model.onnx")
    parser.add_argument("--out", type=Path, default=FOLDER / "token_axes.json")
    options = parser.parse_args()
    options.out.write_text(json.dumps(axes(options.model), indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
