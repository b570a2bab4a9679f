"""Runs in which processes are killed all the while: one home with its daemon (`python -m tacit_evals.torture`), and devices that sync (`.sync`)."""
