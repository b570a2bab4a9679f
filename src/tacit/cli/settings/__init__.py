"""`tacit config`: looking at settings and changing them."""
