"""Derived, in-memory indexes of the SQLite store. Rebuilt from the tables at any time, never trusted over them."""
