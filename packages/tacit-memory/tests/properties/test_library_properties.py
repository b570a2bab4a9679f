"""Whatever a program's messages are: they stay as they are, blocks keep their bytes, and a summary is made of the words alone."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tacit.library.session import Session

WORDS = st.text(alphabet="ab <>[]\n", min_size=1, max_size=12).filter(lambda text: text.strip() != "")
PART = st.one_of(
    st.builds(lambda text: {"type": "text", "text": text}, WORDS),
    st.builds(lambda data: {"type": "image", "source": {"data": data}}, st.text(max_size=5)),
    st.builds(lambda call, text: {"type": "tool_result", "tool_use_id": call, "content": text}, st.sampled_from(["t1", "t2"]), WORDS),
)  # fmt: skip
MESSAGE = st.builds(
    lambda role, content: {"role": role, "content": content},
    st.sampled_from(["user", "assistant", "system", "tool", "unheard"]),
    st.one_of(WORDS, st.lists(PART, min_size=1, max_size=3)),
)
TALK = st.lists(MESSAGE, min_size=1, max_size=8)


def block(name: object) -> str:
    return f'<tacit-memory surface="prompt">\n- about {abs(hash(str(name))) % 97}\n</tacit-memory>'


class Engine:
    """Answers as a daemon does: a block for everything, the same one when it is asked for again."""

    def __init__(self) -> None:
        self.given: dict[str, str] = {}

    def __call__(self, payload: Mapping[str, Any], deadline_ms: float) -> Mapping[str, object]:
        match payload["event"]:
            case "start":
                return {"system": block("start")}
            case "prompt":
                return {"text": self.given.setdefault(payload["message_id"], block(payload["message_id"]))}
            case "tool_end" | "tool_failed":
                name = f"call:{payload['call_id']}"
                return {"text": self.given.setdefault(name, block(name))}
            case "replay":
                return {"texts": {n: self.given[n] for n in payload["message_ids"] if n in self.given}}
            case _:
                return {}


def session(engine: Engine) -> Session:
    return Session("s", hook=engine, later=lambda job: job())


@given(talk=TALK)
def test_what_came_in_stays_and_a_summary_is_made_of_it(talk: list[dict[str, Any]]) -> None:
    before = copy.deepcopy(talk)
    ours = session(Engine())
    ready = ours.prepare(talk)
    assert talk == before
    assert len(ready.messages) == len(talk)
    assert all(
        new is old or "<tacit-memory" in str(new) for new, old in zip(ready.messages, talk, strict=True)
    )
    assert Session.for_summary(ready.messages) == talk
    assert talk == before


@given(talk=TALK)
def test_the_same_list_is_prepared_the_same_however_it_comes(talk: list[dict[str, Any]]) -> None:
    engine = Engine()
    ours = session(engine)
    first = ours.prepare(talk)
    assert ours.prepare(talk) == first
    assert ours.prepare(first.messages) == first  # given back, blocks and all
    assert (
        session(engine).prepare(talk).messages == first.messages
    )  # another process asks for a replay, or again


@given(talk=TALK, more=TALK)
def test_what_went_out_once_goes_out_the_same_again(
    talk: list[dict[str, Any]], more: list[dict[str, Any]]
) -> None:
    ours = session(Engine())
    first = ours.prepare(talk)
    later = ours.prepare([*talk, {"role": "assistant", "content": "ok"}, *more])
    assert later.messages[: len(talk)] == first.messages
    assert later.system == first.system
