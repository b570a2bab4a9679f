"""What becomes of a captured statement beside what is stored: how two relate, and which change that makes."""

from tacit.capture.reconcile.decide import MAX_EVIDENCE, Neighbour, reconcile

__all__ = ["MAX_EVIDENCE", "Neighbour", "reconcile"]
