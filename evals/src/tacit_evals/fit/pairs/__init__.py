"""Fitting the judge of pairs: what is said later beside what was said before."""
