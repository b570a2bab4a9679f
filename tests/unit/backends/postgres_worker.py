"""A process of its own that writes to a tenant. Run by `test_postgres_processes.py` with: how to connect, tenant, name, how many."""

from __future__ import annotations

import sys

from samples import memory_named
from tacit.backends.postgres import open_postgres_store
from tacit.model.changes import Add, Edit
from tacit.providers.clock import SystemClock


def main() -> None:
    dsn, tenant, name, count = sys.argv[1:]
    store = open_postgres_store(dsn, tenant, clock=SystemClock())
    for number in range(int(count)):
        one = memory_named(f"mem_{name}_{number}", f"statement {number} of {name} about linters")
        store.apply([Add(memory=one)], values={f"last/{name}": str(number)})
        store.apply([Edit(memory=memory_named("mem_shared", f"edited by {name} at {number}"))])
    store.close()


if __name__ == "__main__":
    main()
