"""Torture and leak runs. Processes are killed: of one home (`python -m tacit_evals.torture`), and of devices that sync (`.sync`).

Leak runs send forged requests to the server: `.sync_leaks` as devices, `.team_leaks` as members of teams.
"""
