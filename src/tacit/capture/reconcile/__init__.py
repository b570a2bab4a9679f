"""Reconciliation of a captured statement with stored ones: the relation of two statements, and the resulting change."""

from tacit.capture.reconcile.decide import MAX_EVIDENCE, Neighbor, reconcile

__all__ = ["MAX_EVIDENCE", "Neighbor", "reconcile"]
