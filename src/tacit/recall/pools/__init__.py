"""Where candidates come from besides a search: pinned kinds, and the start pool of the `typed` preset."""
