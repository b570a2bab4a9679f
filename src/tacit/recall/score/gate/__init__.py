"""The gate's fitted model: relevance of a whole short list at once. In: query, candidates. Out: probabilities with reasons."""

from tacit.recall.score.gate.mean_query import MeanQueryVector, load_mean_query
from tacit.recall.score.gate.model import Gate, GateModel, SurfaceModel, shipped_gate

__all__ = ["Gate", "GateModel", "MeanQueryVector", "SurfaceModel", "load_mean_query", "shipped_gate"]
