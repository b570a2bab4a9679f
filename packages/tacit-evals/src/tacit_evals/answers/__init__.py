"""Answers on demand: how long they take, and how much of them is worth reading."""
