"""OpenCode's sessions: its database, what it wrote before it had one, and what its server answers."""
