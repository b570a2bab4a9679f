"""Texts taken out of a database after they were stored."""
