"""Numbers for people: `tacit status --stats` as tables and plots, in the terminal and as one HTML file."""
