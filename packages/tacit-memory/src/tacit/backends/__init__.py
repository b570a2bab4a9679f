"""Stores: `sqlite` by default, `memory` for tests and trials. Both pass the same contract suites."""
