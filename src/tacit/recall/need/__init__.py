"""Expected need: in what order memories belong into the start pack. In: memories, time. Out: values and an order. Pure."""

from __future__ import annotations

from tacit.recall.need.evidence import EVIDENCE, evidence_of, from_rule_file
from tacit.recall.need.model import Linear, NeedModel, need_artifact, need_from, order_by_need, shipped_need

__all__ = [
    "EVIDENCE",
    "Linear",
    "NeedModel",
    "evidence_of",
    "from_rule_file",
    "need_artifact",
    "need_from",
    "order_by_need",
    "shipped_need",
]
