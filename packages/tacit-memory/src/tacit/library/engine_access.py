"""The two ways to an engine: in this process, or in the daemon. The library asks both the same requests of the API, and both answer the same.

In: nothing. Out: a Protocol, and the way within the process.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

from tacit.library.values import FoundItem, item_from
from tacit.model.item import MOST_ITEMS, json_object
from tacit.model.memory import Speaker

if TYPE_CHECKING:
    from tacit.app.engine import Engine
    from tacit.app.queries.injection import Injection, InjectionFailed, InjectionResult

HOST = "library"


class EngineAccess(Protocol):
    """Access to an engine: the one in this process, or that of a daemon."""

    def ask(self, method: str, path: str, values: Mapping[str, object] | None = None) -> Any:
        """Ask an endpoint of the API by its method and path, such as `/v1/memories/{id}`, and return its answer.

        Args:
            method: the HTTP method.
            path: as the table of endpoints has it, with names in braces.
            values: fields of the request, those of the path included; None = not given.

        Raises:
            TacitError: what the engine refuses, or that no daemon answers.
        """
        ...

    def hook(self, payload: Mapping[str, object], deadline_ms: float) -> Mapping[str, object] | None:
        """Send one event of a conversation, and return its answer; None = no answer came within `deadline_ms`. Never raises."""
        ...

    def inject(
        self, text: str, *, session_id: str, cwd: str, deadline_ms: float | None
    ) -> InjectionResult | InjectionFailed:
        """Return the text to put before a prompt; it counts as given to the conversation `session_id`.

        `cwd` "" = in no project; `deadline_ms` None = as the settings say. Never raises for a failure: see `InjectionFailed`.
        """
        ...

    def flush(self) -> None:
        """Wait until everything that was reported so far is learned."""
        ...

    def close(self) -> None:
        """Close the engine if it runs in this process; a daemon stays as it is."""
        ...


class LocalEngine:
    """Access to an engine in this process."""

    def __init__(
        self,
        engine: Engine,
        *,
        injection: Injection,
        on_failure: Callable[[Exception], None],
        speaker: Speaker = Speaker.AGENT,
    ) -> None:
        """Use `engine` with the authority of `speaker`; `on_failure` is called when an event cannot be handled."""
        self.engine = engine
        self._speaker = speaker
        self.injection = injection
        self._on_failure = on_failure

    def ask(self, method: str, path: str, values: Mapping[str, object] | None = None) -> Any:
        """See `EngineAccess`."""
        from tacit.api.asking import ask_endpoint  # noqa: PLC0415 - a program on the socket does not load it

        return ask_endpoint(self.engine, self._speaker, method, path, values or {}).body

    def hook(self, payload: Mapping[str, object], deadline_ms: float) -> Mapping[str, object] | None:
        """See `EngineAccess`."""
        try:
            text = self.engine.hook(HOST, payload, deadline_ms=deadline_ms)
        except Exception as error:  # noqa: BLE001 - the way's boundary: a broken store costs the blocks, not the request
            self._on_failure(error)
            return None
        return cast("Mapping[str, object]", json.loads(text)) if text else {}

    def inject(
        self, text: str, *, session_id: str, cwd: str, deadline_ms: float | None
    ) -> InjectionResult | InjectionFailed:
        """See `EngineAccess`."""
        return self.injection.inject_context(text, session_id, cwd=cwd, deadline_ms=deadline_ms)

    def flush(self) -> None:
        """See `EngineAccess`."""
        self.engine.flush()

    def close(self) -> None:
        """Close the engine."""
        self.engine.close()


def open_in_process(
    home: Path | None,
    settings: Mapping[str, object] | None,
    on_failure: Callable[[Exception], None],
    *,
    token: str | None = None,
    cwd: str = "",
) -> LocalEngine:
    """Open the engine of `home` in this process. It has the user's authority if the home is the program's own or `token` is valid.

    `token` None = the token of the environment; `cwd` = the folder of injections that name none.
    """
    from tacit.app.queries.injection import Injection  # noqa: PLC0415 - as late as the engine
    from tacit.app.wiring import open_engine  # noqa: PLC0415 - the model's libraries come with it
    from tacit.config.home import personal_token  # noqa: PLC0415 - as late as the engine
    from tacit.safety.authority import Authority, is_own_home  # noqa: PLC0415

    engine = open_engine(home, overrides=settings)
    user_token = personal_token() if token is None else token
    users = is_own_home(home) or Authority(engine.home).admits_token(user_token)
    return LocalEngine(
        engine,
        injection=Injection(engine, cwd=cwd),
        on_failure=on_failure,
        speaker=Speaker.USER if users else Speaker.AGENT,
    )


Namespace = tuple[str, ...]
ITEMS = "/v1/items"


class ItemAccess:
    """Access to the items of programs; see `tacit.app.queries.items.Items`."""

    def __init__(self, way: EngineAccess) -> None:
        """Access items through `way`."""
        self._way = way

    def get(self, namespace: Namespace, key: str) -> FoundItem | None:
        """Return the item under `key`; None = there is none."""
        found = self._search(prefix=list(namespace), key=key)["items"]
        return item_from(found[0]) if found else None

    def put(self, namespace: Namespace, key: str, value: Mapping[str, Any], *, text: str = "") -> FoundItem:
        """Store `value` under `key`; it replaces what is stored there. `text` becomes a memory of the namespace's agent."""
        body = {"namespace": list(namespace), "key": key, "value": json_object(value), "text": text}
        return item_from(self._way.ask("PUT", ITEMS, body)["item"])

    def delete(self, namespace: Namespace, key: str) -> None:
        """Remove an item, and end its memory if no other item has the same one. Does nothing if there is no such item."""
        self._way.ask("DELETE", ITEMS, {"namespace": namespace, "key": key})

    def search(
        self, prefix: Namespace, *, where: Mapping[str, Any] | None, query: str, limit: int, offset: int
    ) -> list[FoundItem]:
        """Return items whose namespace begins with `prefix`: with a query the nearest in meaning first, else the newest first."""
        found = self._search(prefix=list(prefix), where=where or {}, query=query, limit=limit, offset=offset)
        return [item_from(item) for item in found["items"]]

    def namespaces(self) -> list[Namespace]:
        """Return all namespaces with items, sorted."""
        found = list[Namespace]()
        cursor: str | None = None
        while True:
            answer = self._search(namespaces=True, limit=MOST_ITEMS, cursor=cursor)
            found += [tuple(name) for name in answer["namespaces"]]
            cursor = answer["next_cursor"]
            if cursor is None:
                return found

    def _search(self, **fields: object) -> Any:
        return self._way.ask("POST", f"{ITEMS}/search", fields)
