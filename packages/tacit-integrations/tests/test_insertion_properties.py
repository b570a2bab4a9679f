"""Whatever a request looks like: its blocks are put between its bytes, and without them it is what came in."""

from __future__ import annotations

import json
import re
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tacit.library.message_formats import ROLE_CONTENT
from tacit_integrations.bodies import read_conversation, with_blocks
from tacit_integrations.items import RESPONSE_ITEMS

START = '<tacit-memory surface="start">\n- [Rule] "Größe" stays\n</tacit-memory>'
BLOCK = '<tacit-memory surface="prompt">\n- about \\ and €\n</tacit-memory>'
_BLOCK = re.escape(json.dumps(BLOCK, ensure_ascii=False)[1:-1])
_START = re.escape(json.dumps(START, ensure_ascii=False)[1:-1])
_ANY = f"(?:{_BLOCK}|{_START})"
_INSIDE = rf"(?:\\n\\n)?{_ANY}"
_MEMBER = (
    rf',?\{{"type":"(?:input_)?text","text":"{_ANY}"\}}'
    rf'|,\{{"role":"(?:system|developer)","content":"{_START}"\}}'
    rf'|\{{"role":"(?:system|developer)","content":"{_START}"\}},'
    rf'|,"(?:system|instructions)":"{_START}"'
    rf'|"(?:system|instructions)":"{_START}",'
)
INSERTED = (re.compile(f"{_MEMBER}|{_INSIDE}"), re.compile(_INSIDE))
"""Every form in which a block is put between the bytes of a request; and, where the request had an empty text, inside of it alone."""

BLANK = st.sampled_from(["", "", " ", "\n", "\t ", "\r\n"])
NUMBER = st.sampled_from(
    ["0", "-0", "1.0", "1.10", "1e5", "1E-7", "12345678901234567890123", "0.1000", "-3.5e+2"]
)
CHARACTER = st.one_of(
    st.sampled_from(["\\n", "\\/", '\\"', "\\\\", "\\u00e9", "\\u00E9", "\\ud83d\\ude00", "\\ud800", "é", "😀", "{", "]", ","]),
    st.sampled_from("abc <>:[}'"),
)  # fmt: skip
WORDS = st.lists(CHARACTER, min_size=1, max_size=8).map("".join)
TEXT = WORDS.map(lambda words: f'"w{words}"')


@st.composite
def list_of(draw: Any, items: st.SearchStrategy[str], *, least: int = 0) -> str:
    """A JSON list of these texts, with blanks anywhere."""
    found = draw(st.lists(items, min_size=least, max_size=4))
    blanks = [draw(BLANK) + item + draw(BLANK) for item in found]
    return "[" + ",".join(blanks or [draw(BLANK)]) + "]"


@st.composite
def object_of(draw: Any, *members: tuple[str, st.SearchStrategy[str]], more: bool = True) -> str:
    """A JSON object with these members and others, in any order, some of them twice."""
    found = [(json.dumps(name), draw(value)) for name, value in members]
    if more:
        found += draw(st.lists(st.tuples(st.sampled_from(['"x"', '"cache_control"', '"\\u0078"', '"é"']), VALUE), max_size=3))  # fmt: skip
    found = draw(st.permutations(found))
    blanks = [f"{draw(BLANK)}{name}{draw(BLANK)}:{draw(BLANK)}{value}{draw(BLANK)}" for name, value in found]
    return "{" + ",".join(blanks or [draw(BLANK)]) + "}"


VALUE: st.SearchStrategy[str] = st.recursive(
    st.one_of(NUMBER, TEXT, st.sampled_from(["null", "true", "false", '""'])),
    lambda inner: st.one_of(list_of(inner), object_of(("k", inner), more=False)),
    max_leaves=6,
)


def constant(*texts: str) -> st.SearchStrategy[str]:
    return st.sampled_from([json.dumps(text) for text in texts])


PART = st.one_of(
    object_of(("type", constant("text", "input_text")), ("text", TEXT)),
    object_of(("type", constant("image", "input_image")), ("source", VALUE)),
    object_of(("type", constant("tool_result")), ("tool_use_id", constant("t1", "t2")), ("content", TEXT)),
)
CONTENT = st.one_of(TEXT, list_of(PART), st.sampled_from(["null", '""']))
MESSAGE = object_of(
    ("role", constant("user", "assistant", "system", "developer", "tool", "unheard")), ("content", CONTENT)
)
ITEM = st.one_of(
    MESSAGE,
    object_of(("type", constant("function_call_output")), ("call_id", constant("c1", "c2")), ("output", CONTENT)),
    object_of(("type", constant("function_call", "reasoning")), ("call_id", constant("c1")), ("name", TEXT)),
    TEXT,
)  # fmt: skip


@st.composite
def request(draw: Any) -> tuple[Any, str]:
    """A request of one of the three APIs, as a program may write it."""
    api = draw(st.sampled_from(["messages", "chat", "responses"]))
    system: list[tuple[str, st.SearchStrategy[str]]] = []
    if api != "chat" and draw(st.booleans()):
        system.append(
            ("instructions" if api == "responses" else "system", st.one_of(TEXT, st.sampled_from(["null", '""', "[]"]), list_of(PART)))
        )  # fmt: skip
    messages = list_of(ITEM if api == "responses" else MESSAGE, least=1)
    if api != "chat":
        messages = st.one_of(messages, TEXT)
    text = draw(object_of(("input" if api == "responses" else "messages", messages), *system))
    return api, draw(BLANK) + text + draw(BLANK)


@given(request())
def test_without_its_blocks_a_request_is_what_came_in(given_request: tuple[Any, str]) -> None:
    api, text = given_request
    found = read_conversation(api, text)
    assert found is not None
    out = with_blocks(found, system=START, texts=[BLOCK] * len(found.said))
    json.loads(out)
    assert START in json.dumps(json.loads(out), ensure_ascii=False).replace('\\"', '"').replace("\\n", "\n")
    assert text in {inserted.sub("", out) for inserted in INSERTED}
    assert with_blocks(found, system="", texts=[""] * len(found.said)) is text


@given(request())
def test_a_block_stands_where_the_library_puts_it(given_request: tuple[Any, str]) -> None:
    api, text = given_request
    found = read_conversation(api, text)
    assert found is not None
    shape = RESPONSE_ITEMS if api == "responses" else ROLE_CONTENT
    name = "input" if api == "responses" else "messages"
    changed = json.loads(with_blocks(found, system="", texts=[BLOCK] * len(found.said)))[name]
    before = json.loads(text)[name]
    if isinstance(before, str):
        assert changed == f"{before}\n\n{BLOCK}"
        return
    assert changed == [
        shape.place(message, BLOCK) if fact.digest or fact.results else message
        for message, fact in zip(before, found.said, strict=True)
    ]
    # A second time nothing is added: another one of us may stand in front.
    again = read_conversation(api, json.dumps({name: changed}))
    assert again is not None
    assert with_blocks(again, system="", texts=[BLOCK] * len(again.said)) is again.text
