"""Tacit in front of a model API: wrappers of the official SDKs that add what is known to a request, and learn from the reply."""
