"""The gate's fitted model: relevance of a whole short list at once. In: query, candidates. Out: probabilities with reasons."""

from tacit.recall.score.gate.model import Gate, GateModel, SurfaceModel, shipped_gate
from tacit.recall.score.gate.prompt_transform import PromptTransform, load_prompt_transform

__all__ = ["Gate", "GateModel", "PromptTransform", "SurfaceModel", "load_prompt_transform", "shipped_gate"]
