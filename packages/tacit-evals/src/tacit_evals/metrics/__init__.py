"""What the suites report, as pure functions over counts, pairs and rankings. No file, no clock; chance comes from a fixed seed."""
