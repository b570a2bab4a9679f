"""Reading what a host sent. In: JSON of unknown shape. Out: typed, bounded, clean values, or `InvalidPayload`.

Never: a KeyError or TypeError, a value of the wrong type, a lone surrogate. Knows no particular host.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import cast, get_args

from tacit.errors import InvalidPayload
from tacit.model.session import SessionKey
from tacit.model.signal import StartSource
from tacit.ports.host import ReplayRequest
from tacit.session.projects import relative_path
from tacit.text.terminal_codes import strip_terminal_codes

MAX_TEXT_CHARS = 400_000
"""The most characters kept of a prompt or message; the middle of a longer one is cut out."""
MAX_OUTPUT_CHARS = 16_000
"""The most characters kept of a tool output, error or edited text."""
MAX_ID_CHARS = 512
MAX_PATH_CHARS = 4096
MAX_REPLAY = 400
"""The most messages of one replay request; of more, the last ones count."""

STEP_MS = 5_000
"""Events that the host does not name count as the same event if they arrive in the same step of this length."""
CALL_HAS_RUN = "the call that it is for has run by then; the next one can follow the rule. A blocking rule refuses the call"
"""The limit of a block for a call, in words for people, of hosts that place it beside the result."""

_SOURCES: dict[str, StartSource] = {"new": "startup", **{name: name for name in get_args(StartSource)}}
_MISSING = "it is missing"
_ENCODER = json.JSONEncoder(sort_keys=True, default=str)


def _wrong(host: str, name: str, problem: str, expected: str, advice: str) -> InvalidPayload:
    advice = advice or f"Run `tacit doctor {host}` to see what this version of the host sends."
    return InvalidPayload(
        f"Payload of {host}: field {name!r} is wrong: {problem}.", hint=f"It must be {expected}. {advice}"
    )


def _kind(value: object) -> str:
    return f"it is of type {type(value).__name__}"


def clean(text: str) -> str:
    """Return the text without terminal codes, and with lone surrogates replaced by U+FFFD."""
    return without_surrogates(strip_terminal_codes(text))


def without_surrogates(text: str) -> str:
    """Return the text with lone surrogates, which UTF-8 cannot encode, replaced by U+FFFD."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        text = "".join("\ufffd" if 0xD800 <= ord(char) <= 0xDFFF else char for char in text)
    return text


def bounded(text: str, limit: int) -> str:
    """Return the text, or if it is longer than `limit`, its first and last half of `limit` characters with a note of how many were left out."""
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}\n[... {len(text) - 2 * half} characters left out ...]\n{text[-half:]}"


class Fields:
    """Typed access to the fields of one payload. A wrong or missing value raises InvalidPayload that names the host and the field.

    A field that is absent or null counts as missing. `advice` ends the hint of an error; "" = what helps with a host's client.
    """

    __slots__ = ("_advice", "_host", "_prefix", "_values")

    def __init__(self, host: str, values: object, *, prefix: str = "", advice: str = "") -> None:
        if not isinstance(values, Mapping):
            raise _wrong(host, prefix.rstrip(".") or "(payload)", _kind(values), "an object", advice)
        self._advice = advice
        self._host = host
        self._prefix = prefix
        self._values = cast("Mapping[object, object]", values)

    @property
    def host(self) -> str:
        """The name of the host that sent the payload."""
        return self._host

    def raw(self, name: str) -> object:
        """Return the value as it came; None = it is missing or null."""
        return self._values.get(name)

    def has(self, *names: str) -> bool:
        """Whether one of these fields is there, even as null."""
        return any(name in self._values for name in names)

    def wrong(self, name: str, problem: str, expected: str) -> InvalidPayload:
        """Return (not raise) the error about field `name`, for the caller to raise."""
        return _wrong(self._host, self._prefix + name, problem, expected, self._advice)

    def text(self, name: str, *, limit: int = MAX_TEXT_CHARS) -> str:
        """Return the text in a field, cleaned and bounded to `limit`; "" = it is missing."""
        value = self.raw(name)
        if value is None:
            return ""
        if not isinstance(value, str):
            raise self.wrong(name, _kind(value), "a text")
        return bounded(clean(value), limit)

    def loose_text(self, name: str) -> str:
        """Return a text of a tool's input, cleaned and bounded; "" also if it is no text, because the host itself refuses such a call."""
        return self.text(name, limit=MAX_OUTPUT_CHARS) if isinstance(self.raw(name), str) else ""

    def needed_text(self, name: str, *, limit: int = MAX_TEXT_CHARS) -> str:
        """Return a text that must be there, cleaned and bounded; it may be empty."""
        if self.raw(name) is None:
            raise self.wrong(name, _MISSING, "a text")
        return self.text(name, limit=limit)

    def identifier(self, name: str) -> str:
        """Return a short text, such as an id; "" = it is missing. Control characters and lone surrogates are an error."""
        value = self.raw(name)
        if value is None:
            return ""
        if not isinstance(value, str):
            raise self.wrong(name, _kind(value), "a short text")
        if len(value) > MAX_ID_CHARS:
            raise self.wrong(name, f"it has {len(value)} characters", f"at most {MAX_ID_CHARS} characters")
        if not value.isprintable() and (
            without_surrogates(value) != value or any(ord(char) < 0x20 for char in value)
        ):
            raise self.wrong(name, "it holds control characters or lone surrogates", "plain text")
        return value

    def needed_identifier(self, name: str) -> str:
        """Return a short text that must be there and not be empty."""
        value = self.identifier(name)
        if not value:
            problem = _MISSING if self.raw(name) is None else "it is empty"
            raise self.wrong(name, problem, "a text that is not empty")
        return value

    def path(self, name: str) -> str:
        """Return a file path, cleaned; "" = it is missing. One that is too long is an error."""
        value = self.text(name)
        if len(value) > MAX_PATH_CHARS:
            raise self.wrong(name, f"it has {len(value)} characters", f"at most {MAX_PATH_CHARS} characters")
        return value

    def whole(self, name: str) -> int | None:
        """Return a whole number; None = it is missing."""
        value = self.raw(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int):
            raise self.wrong(name, _kind(value), "a whole number")
        return value

    def flag(self, name: str) -> bool:
        """Return a truth value; False if it is missing."""
        value = self.raw(name)
        if value is None:
            return False
        if not isinstance(value, bool):
            raise self.wrong(name, _kind(value), "true or false")
        return value

    def child(self, name: str) -> Fields:
        """Return access to the object in a field; to an empty one if it is missing."""
        value = self.raw(name)
        prefix = f"{self._prefix}{name}."
        return Fields(self._host, {} if value is None else value, prefix=prefix, advice=self._advice)

    def children(self, name: str) -> tuple[Fields, ...]:
        """Return access to each object in a list; other items are left out, () = the list is missing."""
        value = self.raw(name)
        if value is None:
            return ()
        if not isinstance(value, Sequence) or isinstance(value, str | bytes):
            raise self.wrong(name, _kind(value), "a list")
        items = cast("Sequence[object]", value)
        prefix = f"{self._prefix}{name}[]."
        objects = [cast("object", item) for item in items if isinstance(item, Mapping)]
        return tuple(Fields(self._host, item, prefix=prefix, advice=self._advice) for item in objects)

    def texts(self, name: str, *, most: int) -> tuple[str, ...]:
        """Return the last `most` short texts of a list; items that are no text or too long are left out, () = the list is missing."""
        value = self.raw(name)
        if value is None:
            return ()
        if not isinstance(value, Sequence) or isinstance(value, str | bytes):
            raise self.wrong(name, _kind(value), "a list of texts")
        items = cast("Sequence[object]", value)
        identifiers = [item for item in items if isinstance(item, str) and len(item) <= MAX_ID_CHARS]
        return tuple(clean(item) for item in identifiers[-most:])


def start_source(fields: Fields) -> tuple[str, StartSource]:
    """Return (name for the signal's key, meaning) of the payload's `source` of a session start; a missing or unknown one means `startup`.

    A host adds sources from one version to the next, and its sessions must not stay without memory for that.
    """
    named = fields.loose_text("source") or "startup"
    source = _SOURCES.get(named)
    return (source, source) if source else (digest(named), "startup")


def time_step(at_ms: int) -> int:
    """Return the number of the five-second step (`STEP_MS`) in which `at_ms` lies. Two events in one step get the same number."""
    return at_ms // STEP_MS


def joined(texts: Iterable[str]) -> str:
    """Return the texts that are not empty, one per line, cut to `MAX_OUTPUT_CHARS`."""
    return bounded("\n".join(text for text in texts if text), MAX_OUTPUT_CHARS)


def digest(*parts: object) -> str:
    """Return sixteen hexadecimal digits of a hash over `parts`, the same in every process."""
    blob = _ENCODER.encode(parts)  # ASCII: lone surrogates are escaped
    return hashlib.blake2b(blob.encode("ascii"), digest_size=8).hexdigest()


def relative_paths(paths: Sequence[str], *, cwd: str) -> tuple[str, ...]:
    """Return the paths without duplicates, in order; those inside `cwd` become relative to it."""
    return tuple(dict.fromkeys(relative_path(path, root=cwd) for path in paths if path))


def flatten(value: object) -> str:
    """Return all texts in a nested JSON value, depth first, one per line, cleaned and bounded."""
    texts: list[str] = []
    room = MAX_OUTPUT_CHARS * 2
    stack: list[object] = [value]
    while stack and room > 0:
        item = stack.pop()
        if isinstance(item, str):
            texts.append(item)
            room -= len(item)
        elif isinstance(item, Mapping):
            stack.extend(reversed(list(cast("Mapping[object, object]", item).values())))
        elif isinstance(item, Sequence) and not isinstance(item, bytes):
            stack.extend(reversed(cast("Sequence[object]", item)))
    return bounded(clean("\n".join(text for text in texts if text)), MAX_OUTPUT_CHARS)


def read_replay(fields: Fields, *, session: str, messages: str) -> ReplayRequest | None:
    """Read an event `replay`, by which a host that lost the texts handed over before asks for them again; None = it is another event.

    `session` and `messages` are the names of the fields with the session's id and the messages' ids.

    Raises:
        InvalidPayload: naming the field that is missing or wrong.
    """
    if fields.needed_identifier("event") != "replay":
        return None
    key = SessionKey(host=fields.host, session_id=fields.needed_identifier(session))
    return ReplayRequest(session=key, message_ids=fields.texts(messages, most=MAX_REPLAY))


def replay_reply(texts: Mapping[str, str]) -> str:
    """Return the answer to a replay request, `{"texts": {message id: exact text}}`; "" = no text is known."""
    exact_texts = {name: text for name, text in texts.items() if text}
    return json.dumps({"texts": exact_texts}) if exact_texts else ""
