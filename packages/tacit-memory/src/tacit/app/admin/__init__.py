"""The owner's views and edits: lists, sessions, charts, settings."""
