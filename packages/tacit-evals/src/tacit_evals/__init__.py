"""Benchmarks and evaluation suites for Tacit. Imports tacit; never the reverse."""
