"""The gate's fitted model: relevance of a whole short list at once. In: query, candidates. Out: probabilities with reasons."""

from tacit.recall.score.gate.model import Gate, GateModel, SurfaceModel, shipped_gate
from tacit.recall.score.gate.usual import UsualPrompt, shipped_usual

__all__ = ["Gate", "GateModel", "SurfaceModel", "UsualPrompt", "shipped_gate", "shipped_usual"]
