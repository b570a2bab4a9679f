"""Tables of phrases, and what they announce."""
