"""What becomes of a captured statement beside what is stored: how two relate, and which change that makes."""

from tacit.capture.reconcile.decide import MAX_EVIDENCE, Neighbor, reconcile

__all__ = ["MAX_EVIDENCE", "Neighbor", "reconcile"]
