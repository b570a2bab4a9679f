"""The connections to the databases of the server, from environment variables. In: the name of a shard. Out: a connection string.

Connection strings hold passwords, so no table holds them: the directory stores only the names of shards.
"""

from __future__ import annotations

import os
import re
from typing import Literal

from tacit.errors import InvalidInput

DATABASE, OWNER_DATABASE, REPLICA_DATABASE = (
    "TACIT_DATABASE_URL",
    "TACIT_DATABASE_OWNER_URL",
    "TACIT_DATABASE_REPLICA_URL",
)
Role = Literal["application", "owner", "replica"]
_ENDINGS: dict[Role, str] = {"application": "URL", "owner": "OWNER_URL", "replica": "REPLICA_URL"}
_NAME = re.compile(r"[a-z][a-z0-9-]{0,29}(?<!-owner)(?<!-replica)")


def checked_shard_name(name: str) -> str:
    """Return `name` if it can name a shard.

    Raises:
        InvalidInput: it cannot.
    """
    if not _NAME.fullmatch(name):
        raise InvalidInput(
            f"{name!r} cannot name a shard.",
            hint="Use at most 30 lower-case letters, digits and hyphens, beginning with a letter; not ending in -owner or -replica.",
        )
    return name


def shard_variable(shard: str, role: Role = "application") -> str:
    """Return the environment variable that holds the connection to a shard: `TACIT_SHARD_EU_1_URL` for `eu-1`; for `main`, the variable of the directory."""
    if shard == "main":
        return {"application": DATABASE, "owner": OWNER_DATABASE, "replica": REPLICA_DATABASE}[role]
    return f"TACIT_SHARD_{shard.upper().replace('-', '_')}_{_ENDINGS[role]}"


def shard_url(shard: str, role: Role = "application") -> str:
    """Return the connection string of a shard for `role`; "" = it is not set."""
    return os.environ.get(shard_variable(shard, role), "")
