"""The application: `wiring.py` puts the parts together, `engine.py` is what everybody calls."""
