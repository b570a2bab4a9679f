"""Torture and leak runs. Processes are killed: of one home (`python -m tacit_evals.torture`), of devices that sync (`.sync`), of several databases (`.shards`).

Leak runs send forged requests to the server: `.sync_leaks` as devices, `.team_leaks` as members of teams.
"""
