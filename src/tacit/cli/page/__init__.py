"""`tacit ui`."""
