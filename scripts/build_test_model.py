"""Makes the tiny ONNX model that tests use for folders whose model ends at token vectors.

    uv run --group build-model python scripts/build_test_model.py

Out: `tests/unit/providers/token_level.onnx`: a table of 32 x 4 numbers looked up by token id, output `last_hidden_state`.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from onnx import TensorProto, helper, numpy_helper

OUT = Path(__file__).resolve().parents[1] / "tests/unit/providers/token_level.onnx"
TOKENS, WIDTH = 32, 4


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
    return 0


if __name__ == "__main__":
    sys.exit(main())
