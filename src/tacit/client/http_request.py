"""One HTTP request over a transport. In: a transport, a request. Out: status and bytes. Standard library only.

Never waits longer than it was told, also for a body that comes byte by byte; never keeps a connection.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import re
import socket
import time
from collections.abc import Callable, Mapping

from tacit.system.transport import Transport

_SURROGATE = re.compile("[\ud800-\udfff]")
_PART_BYTES = 65_536


class _Connection(http.client.HTTPConnection):
    def __init__(self, transport: Transport, until: float) -> None:
        super().__init__("tacit")
        self._transport = transport
        self._until = until
        self._opened: socket.socket | None = None

    def connect(self) -> None:
        self.sock = self._opened = self._transport.connect(self._until)
        self.bound()

    def bound(self) -> None:
        """Let the next step take what time is left."""
        remaining_s = self._until - time.monotonic()
        if remaining_s <= 0:
            raise TimeoutError("timed out")
        if self._opened is not None:  # `sock` is gone as soon as the server says that it will close
            self._opened.settimeout(remaining_s)


def send_request(
    transport: Transport,
    method: str,
    path: str,
    json_body: object = None,
    *,
    timeout_s: float,
    headers: Mapping[str, str],
) -> tuple[int, bytes]:
    """Send one request; return status and body.

    Args:
        transport: the way to the server.
        method: of the request.
        path: of the request.
        json_body: sent as JSON in UTF-8; None = no body.
        timeout_s: seconds for all of it.
        headers: beside those that JSON needs.

    Raises:
        OSError: nobody listens, the time is over (`TimeoutError`), or the connection broke.
        http.client.HTTPException: what came back is no HTTP.
    """
    connection = _Connection(transport, time.monotonic() + timeout_s)
    body = None if json_body is None else _as_utf8(json_body)
    fixed = {"Content-Type": "application/json", "Connection": "close"}
    try:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            # A problem may be answered, and the connection closed, before the body is read.
            connection.request(method, path, body=body, headers={**fixed, **headers})
        connection.bound()
        with contextlib.closing(connection.getresponse()) as reply:
            return reply.status, _read(reply, connection.bound)
    finally:
        connection.close()


def _read(reply: http.client.HTTPResponse, bound: Callable[[], None]) -> bytes:
    data = bytearray()
    # Since gh-113199 (CPython 3.12.2, 3.13) the reply closes itself, and its socket, with the last byte that
    # Content-Length announced. Older ones close it only when it is read once more.
    while not reply.isclosed():
        bound()
        chunk = reply.read1(_PART_BYTES)
        if not chunk:
            break
        data += chunk
    if reply.length:
        raise http.client.IncompleteRead(bytes(data), reply.length)
    return bytes(data)


def describe_failure(error: BaseException) -> str:
    """What the system said, with its errno: `[Errno 9] Bad file descriptor`, else the error's class and text."""
    if isinstance(error, OSError) and error.errno is not None:
        return f"[Errno {error.errno}] {error.strerror}"
    text = str(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _as_utf8(value: object) -> bytes:
    """JSON in UTF-8; a path may hold lone surrogates, for which there is no UTF-8."""
    return _SURROGATE.sub("\ufffd", json.dumps(value, ensure_ascii=False)).encode()
