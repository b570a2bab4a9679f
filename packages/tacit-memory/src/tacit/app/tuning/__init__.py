"""`tacit tune`: thresholds from the user's own store, without labels: the levels before a prompt, and the bars of an embedder of their own."""

from tacit.app.tuning.levels import TuneReport, tune

__all__ = ["TuneReport", "tune"]
