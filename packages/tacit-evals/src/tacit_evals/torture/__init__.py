"""Torture and leak runs: writers and readers of one home whose daemon is killed (`python -m tacit_evals.torture`).

Leak runs send forged requests to the server: `.sync_leaks` as devices, `.team_leaks` as members of teams.
"""
