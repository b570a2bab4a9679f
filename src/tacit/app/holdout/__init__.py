"""The effect of memory: sessions with and without it, and the reuse of prompt caches."""
