"""Reads what can still be read of a damaged database, without asking SQLite."""
