"""A cross-encoder in a folder: reads the question and a text together. In: two texts. Out: a probability.

    p = 1 / (1 + exp(-logit));  with two logits the second's share by softmax

Source: Nogueira and Cho, Passage re-ranking with BERT, 2019. The folder holds `model.onnx` or `onnx/model.onnx` and
`tokenizer.json` or an uncased `vocab.txt`, as sentence-transformers exports it. Never downloads.
"""

from __future__ import annotations

import math

from tacit.errors import ProviderError
from tacit.providers.reranking.folder import ModelFolder

QUESTION_TOKENS = 128
"""A question is cut here, so that the text has room."""


class CrossEncoder(ModelFolder):
    """The Reranker port over a folder. Safe to share between threads.

    Raises:
        ProviderError: at once if the folder holds no model.
    """

    def score(self, text: str, other: str) -> float:
        """See the port."""
        encode = self.loaded().encode
        query = encode(text)
        if len(query) > QUESTION_TOKENS:
            query = [*query[: QUESTION_TOKENS - 1], query[-1]]
        document = encode(other)[1:]
        room = self.max_tokens - len(query)
        if len(document) > room:
            document = [*document[: room - 1], document[-1]]
        logits = self.run([*query, *document], [0] * len(query) + [1] * len(document)).reshape(-1)
        match logits.size:
            case 1:
                return _sigmoid(float(logits[0]))
            case 2:
                return _sigmoid(float(logits[1]) - float(logits[0]))
            case size:
                raise ProviderError(
                    f"{self.name} gives {size} numbers for a pair; one or two are known.",
                    hint="Name the folder of a cross-encoder for ranking.",
                )


def _sigmoid(logit: float) -> float:
    """1 / (1 + exp(-logit)), without overflow."""
    return 1 / (1 + math.exp(-logit)) if logit >= 0 else math.exp(logit) / (1 + math.exp(logit))
