"""Looking after what is stored, when nobody waits for an answer."""
