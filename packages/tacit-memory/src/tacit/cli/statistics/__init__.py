"""Numbers for people: `tacit stats` as tables and plots, in the terminal and as one HTML file."""
