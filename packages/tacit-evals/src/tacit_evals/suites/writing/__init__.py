"""Suites over the write path: what is kept, what must never be, and what comes back."""
