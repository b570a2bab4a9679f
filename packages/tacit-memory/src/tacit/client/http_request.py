"""One HTTP request over a transport. In: a transport, a request. Out: status and bytes. Uses only the standard library.

The timeout holds for the whole request, also if the body arrives byte by byte. Never keeps a connection.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import re
import socket
import time
from collections.abc import Callable, Mapping
from urllib.parse import quote, urlencode

from tacit.system.transport import Transport

_BRACES = re.compile(r"\{(\w+)\}")
_SURROGATE = re.compile("[\ud800-\udfff]")
_PART_BYTES = 65_536


def path_and_body(
    method: str, path: str, values: Mapping[str, object]
) -> tuple[str, Mapping[str, object] | None]:
    """Return (path, JSON body or None) of a request with `values`. A value of None counts as not given.

    Values fill the braces of `path`; the others go into the query string for GET and DELETE (a list repeats its name), else into the body.
    """
    given = {name: value for name, value in values.items() if value is not None}
    for name in _BRACES.findall(path):
        path = path.replace(f"{{{name}}}", quote(str(given.pop(name)), safe=""))
    if method not in ("GET", "DELETE"):
        return path, given
    query = urlencode(given, doseq=True, errors="replace")
    return f"{path}?{query}" if query else path, None


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
        """Set the timeout of the socket to the remaining time; raise TimeoutError if there is none."""
        remaining_s = self._until - time.monotonic()
        if remaining_s <= 0:
            raise TimeoutError("timed out")
        if (
            self._opened is not None
        ):  # http.client sets `sock` to None when the server announces that it will close
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
    """Send one HTTP request over a transport and return (status, body). Blocks, at most for `timeout_s`.

    Args:
        transport: connects to the server.
        method: HTTP method.
        path: path with query.
        json_body: value to send as JSON in UTF-8; None = no body.
        timeout_s: seconds for the whole request.
        headers: headers in addition to those of a JSON body.

    Raises:
        OSError: no server listens, the time is over (`TimeoutError`), or the connection broke.
        http.client.HTTPException: the reply is not HTTP.
    """
    connection = _Connection(transport, time.monotonic() + timeout_s)
    body = None if json_body is None else _as_utf8(json_body)
    fixed = {"Content-Type": "application/json", "Connection": "close"}
    try:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            # The server may answer with a problem and close the connection before it reads the body.
            connection.request(method, path, body=body, headers={**fixed, **headers})
        connection.bound()
        with contextlib.closing(connection.getresponse()) as reply:
            return reply.status, _read(reply, connection.bound)
    finally:
        connection.close()


def _read(reply: http.client.HTTPResponse, bound: Callable[[], None]) -> bytes:
    data = bytearray()
    # Since gh-113199 (CPython 3.12.2, 3.13), the reply closes itself and its socket after the last byte of
    # Content-Length. Older versions close it only at the next read.
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
    """Return the message of the system with its errno, as in `[Errno 9] Bad file descriptor`; else class and text of the error."""
    if isinstance(error, OSError) and error.errno is not None:
        return f"[Errno {error.errno}] {error.strerror}"
    text = str(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _as_utf8(value: object) -> bytes:
    """Encode a value as JSON in UTF-8. Lone surrogates, which a path may hold, become the replacement character U+FFFD."""
    return _SURROGATE.sub("\ufffd", json.dumps(value, ensure_ascii=False)).encode()
