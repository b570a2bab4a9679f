"""Stretches of speech that teach something lasting, found by fitted weights."""
