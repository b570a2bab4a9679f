"""Tacit as a Python library: `tacit.py` is what a program opens, `session.py` one conversation of it."""
