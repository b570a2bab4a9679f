"""The store: one SQLite file. What any store shares stands here: what changes do to memories, and how values become text."""
