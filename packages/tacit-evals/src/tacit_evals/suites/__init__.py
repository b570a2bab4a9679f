"""The instruments: each suite reads its data, runs what ships (or what was fitted), and returns a scorecard."""
