"""What the owner looks at and changes by hand: lists, the graph, sessions, numbers over time, settings."""
