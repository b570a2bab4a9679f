"""Sessions that a running OpenCode server tells of. In: its address on this machine. Out: sessions, read one by one.

`GET /session` lists those of the server's project, `GET /session/ID/message` gives `{info, parts}` as the database holds them.
Never asks another machine, never changes anything there.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

from tacit.errors import HostError, InvalidInput
from tacit.hosts.opencode.database import read_opencode_messages
from tacit.hosts.transcripts.rows import fields_of, is_list, list_of, parse_json, text_in
from tacit.hosts.transcripts.turn import Transcript

if TYPE_CHECKING:
    import httpx2 as httpx

TIMEOUT_S = 20.0
_HERE = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedSession:
    """A session of a server: its id, where it ran, the session that began it, and when it changed last (milliseconds)."""

    session_id: str
    cwd: str
    parent: str
    changed_ms: int


def served_sessions(address: str) -> tuple[ServedSession, ...]:
    """List the sessions of the server at `address`, oldest change first.

    Raises:
        InvalidInput: if the address is not one of this machine.
        HostError: if nothing that speaks like OpenCode answers there.
    """
    with _client(address) as client:
        listed = _get(client, "/session")
    if not is_list(listed):
        raise HostError(
            f"{address} does not answer like OpenCode.", hint="Name what `opencode serve` printed."
        )
    sessions: list[ServedSession] = []
    for fields in map(fields_of, list_of(listed)):
        changed = fields_of(fields.get("time")).get("updated")
        if name := text_in(fields, "id"):
            at_ms = int(changed) if isinstance(changed, int | float) else 0
            sessions.append(
                ServedSession(
                    session_id=name,
                    cwd=text_in(fields, "directory"),
                    parent=text_in(fields, "parentID"),
                    changed_ms=at_ms,
                )
            )
    return tuple(sorted(sessions, key=lambda session: (session.changed_ms, session.session_id)))


def read_served(address: str, sessions: tuple[ServedSession, ...]) -> Iterator[Transcript]:
    """The transcripts of `sessions`, in order.

    Raises:
        InvalidInput: if the address is not one of this machine.
        HostError: if the server does not answer any more.
    """
    with _client(address) as client:
        for session in sessions:
            messages = _get(client, f"/session/{quote(session.session_id, safe='')}/message")
            if not is_list(messages):
                raise HostError(
                    f"{address} tells nothing of {session.session_id}.", hint="Is it still running?"
                )
            yield replace(read_opencode_messages(messages), session_id=session.session_id, cwd=session.cwd)


@contextmanager
def _client(address: str) -> Generator[httpx.Client]:
    url = urlsplit(address)
    if url.scheme not in ("http", "https") or url.hostname not in _HERE:
        raise InvalidInput(
            f"{address!r} is no server on this machine.", hint="Name it as http://127.0.0.1:4096."
        )
    import httpx2 as httpx  # noqa: PLC0415 - 100 ms, spent only by those who use a server

    with httpx.Client(base_url=address.rstrip("/"), timeout=TIMEOUT_S, trust_env=False) as client:
        yield client


def _get(client: httpx.Client, path: str) -> object:
    import httpx2 as httpx  # noqa: PLC0415 - loaded by _client

    try:
        reply = client.get(path)
    except httpx.HTTPError as error:
        raise HostError(
            f"No OpenCode server answers at {client.base_url}: {type(error).__name__}.", hint="Is it running?"
        ) from error
    if reply.status_code != 200:
        raise HostError(
            f"The server at {client.base_url} refused {path}: status {reply.status_code}.",
            hint="Put its user name and password into the address where it has them.",
        )
    return parse_json(reply.content)
