"""Maintenance of the store: reindex, retention."""
