"""Seams as Protocols. Each has a shipped fake and one contract suite run on every implementation."""
