"""Extraction of statements and fixes from a session, without a model."""
