"""Named values of the store: each declared once, with its owner, codec, retention and handling by a purge."""
