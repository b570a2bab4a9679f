"""A process of its own that writes to a team. Run by `test_postgres_connections.py` with: how to connect, tenant, name, how many."""

from __future__ import annotations

import sys

from postgres_server import nothing
from samples import memory_named
from tacit.model.changes import Add, Rewrite
from tacit.providers.clock import SystemClock
from tacit_server.postgres.connection import Connections
from tacit_server.postgres.memories import TeamMemories


def main() -> None:
    dsn, tenant, name, count = sys.argv[1:]
    connections = Connections(dsn, max_size=1)
    memories = TeamMemories(connections, tenant, clock=SystemClock(), principal="")
    for number in range(int(count)):
        one = memory_named(f"mem_{name}_{number}", f"statement {number} of {name} about linters")
        memories.apply([Add(memory=one)], beside=nothing)
        edited = memory_named("mem_shared", f"edited by {name} at {number}")
        memories.apply([Rewrite(memory=edited)], beside=nothing)
    connections.close()


if __name__ == "__main__":
    main()
