"""What the pages ask: lists, the graph, recalls, sessions, numbers over time, settings. Requests here, answers in `answers`."""
