"""Where memories are kept: `sqlite` for use, `fake` for tests. Both pass the same contract suites."""
