"""`tacit tune`: thresholds from the user's own store, without labels: the prompts' threshold, and the bars of an embedder of their own."""

from tacit.app.tuning.threshold import TuneReport, tune

__all__ = ["TuneReport", "tune"]
