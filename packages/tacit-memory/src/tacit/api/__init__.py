"""The HTTP API under /v1: translate a request, call the engine, translate the answer. Decides nothing."""
