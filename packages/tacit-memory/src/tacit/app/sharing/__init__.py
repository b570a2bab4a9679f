"""Sharing a memory: with a team through its repository, with the other devices of a person through a server."""
