"""A process of its own that moves a tenant and kills itself at a step. Run by `test_postgres_shards.py` with: connections as JSON, tenant, shard, step."""

from __future__ import annotations

import json
import os
import signal
import sys

from tacit.backends.postgres.shards.moving import move_tenant


def main() -> None:
    urls, tenant, shard, last = json.loads(sys.argv[1]), *sys.argv[2:]

    def step(name: str) -> None:
        if name == last:
            os.kill(os.getpid(), signal.SIGKILL)

    move_tenant(tenant, shard, owner_url=urls.__getitem__, step=step)


if __name__ == "__main__":
    main()
