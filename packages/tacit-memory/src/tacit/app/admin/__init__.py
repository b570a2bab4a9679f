"""The owner's views and edits: lists, the graph, sessions, charts, settings."""
