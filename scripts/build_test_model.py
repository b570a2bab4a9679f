"""Makes the tiny ONNX models that tests use: one that ends at token vectors, one that reads a pair of texts.

    uv run --group build-model python scripts/build_test_model.py

Out: `packages/tacit-memory/tests/unit/providers/token_level.onnx`: a table of 32 x 4 numbers looked up by token id, output `last_hidden_state`;
`pair_level.onnx` beside it: `logits`, shape (batch, 1): the first column of the table, tokens of the second text minus
those of the first, summed.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from onnx import TensorProto, helper, numpy_helper

OUT = Path(__file__).resolve().parents[1] / "packages/tacit-memory/tests/unit/providers/token_level.onnx"
PAIR_OUT = OUT.with_name("pair_level.onnx")
TOKENS, WIDTH = 32, 4
NAMES = ("input_ids", "attention_mask", "token_type_ids")


def main() -> int:
    table = np.random.default_rng(1).normal(size=(TOKENS, WIDTH)).astype(np.float32)
    mask = helper.make_node("Cast", ["attention_mask"], ["kept"], to=TensorProto.FLOAT)
    column = helper.make_node("Unsqueeze", ["kept", "last"], ["column"])
    types = helper.make_node("Cast", ["token_type_ids"], ["types"], to=TensorProto.FLOAT)
    type_column = helper.make_node("Unsqueeze", ["types", "last"], ["type_column"])
    words = helper.make_node("Gather", ["table", "input_ids"], ["words"])
    masked = helper.make_node("Mul", ["words", "column"], ["masked"])
    total = helper.make_node("Add", ["masked", "type_column"], ["last_hidden_state"])
    names = ("input_ids", "attention_mask", "token_type_ids")
    graph = helper.make_graph(
        [mask, column, types, type_column, words, masked, total],
        "token-level",
        [helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "length"]) for name in names],
        [helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, ["batch", "length", WIDTH])],
        [numpy_helper.from_array(table, "table"), numpy_helper.from_array(np.array([-1]), "last")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], producer_name="tacit")
    model.ir_version = 9
    OUT.write_bytes(model.SerializeToString(deterministic=True))
    _pair_level(table)
    return 0


def _pair_level(table: np.ndarray) -> None:
    words = helper.make_node("Gather", ["column", "input_ids"], ["words"])
    types = helper.make_node("Cast", ["token_type_ids"], ["types"], to=TensorProto.FLOAT)
    doubled = helper.make_node("Mul", ["types", "two"], ["doubled"])
    signs = helper.make_node("Sub", ["doubled", "one"], ["signs"])
    signed = helper.make_node("Mul", ["words", "signs"], ["signed"])
    total = helper.make_node("ReduceSum", ["signed", "axis"], ["logits"], keepdims=1)
    mask = helper.make_node("Identity", ["attention_mask"], ["unused"])
    graph = helper.make_graph(
        [words, types, doubled, signs, signed, total, mask],
        "pair-level",
        [helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "length"]) for name in NAMES],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", 1])],
        [
            numpy_helper.from_array(table[:, 0].copy(), "column"),
            numpy_helper.from_array(np.array(2, np.float32), "two"),
            numpy_helper.from_array(np.array(1, np.float32), "one"),
            numpy_helper.from_array(np.array([1]), "axis"),
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], producer_name="tacit")
    model.ir_version = 9
    PAIR_OUT.write_bytes(model.SerializeToString(deterministic=True))


if __name__ == "__main__":
    sys.exit(main())
