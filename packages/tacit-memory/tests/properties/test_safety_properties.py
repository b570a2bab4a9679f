"""Properties of escaping and redaction: they hold for any text."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tacit.config.settings import PrivacySettings
from tacit.safety.escape import escape_text, is_printable, strip_blocks
from tacit.safety.redact import Redactor

REDACTOR = Redactor(PrivacySettings(deny=(r"ACME-\d+",)))
PIECES = st.sampled_from(
    ["<", ">", "/", "</", "[", "]", "|", "<|", "tacit-memory", "</tacit-memory>", "[MEMORY]", "[/MEMORY]", "system-reminder", "Human", ":", "assistant", "\n", "\r", " ", "\u200b", "\u202e", "\x00",
     "\ud800", "\uff1c", "SYS", "INST", "hook_context", "<<", ">>", "- ", ". ", "system : ", "memory", "\u2029", "\x85", "x"]
)  # fmt: skip
HOSTILE = st.lists(PIECES | st.text(max_size=4), max_size=24).map("".join)
SECRETISH = st.lists(
    st.sampled_from(
        ["password", " is ", "=", ": ", '"', "token", "sk-", "ghp_", "AKIA", "aB3dE5fG7hJ9kL1mN2pQ4rS6tU8v", "9f3c1a7e5b2d4860c1e2f3a4b5d6978a", "://", "@", "user:", "Bearer ", "-----BEGIN PRIVATE KEY-----", "\n",
         "-----END PRIVATE KEY-----", "4539578763621486", "kim@acme.io", "/home/kim/x", "<private>", "</private>", "ACME-17", " ", "secret_key", "[redacted:email]", "eyJhbGciOi.eyJzdWIi.xx", "api key ", "-pHunter22", "mysql ", "/", "hT9!kk2p"]
    )
    | st.text(max_size=3),
    max_size=16,
).map("".join)  # fmt: skip


def render(text: str) -> str:
    return f'<tacit-memory surface="prompt">\n- FACT: {escape_text(text)}\n</tacit-memory>'


@given(HOSTILE)
def test_escaped_text_is_one_visible_line(text: str) -> None:
    escaped = escape_text(text)
    assert "\n" not in escaped
    assert len(escaped.splitlines()) <= 1
    assert is_printable(escaped)
    escaped.encode("utf-8")


@given(HOSTILE)
def test_escaping_twice_changes_nothing(text: str) -> None:
    assert escape_text(escape_text(text)) == escape_text(text)


@given(HOSTILE)
def test_a_block_is_stripped_without_rest(text: str) -> None:
    block = render(text)
    assert strip_blocks(block) == ""
    assert (
        strip_blocks(f"<system-reminder>\nSessionStart hook additional context: {block}\n</system-reminder>")
        == ""
    )
    assert strip_blocks(f"<hook_context>{block}</hook_context>") == ""
    assert strip_blocks(f"[MEMORY]\n{escape_text(text)}\n[/MEMORY]") == ""
    assert strip_blocks(f"Do it.\n\n{block}") == "Do it."


@given(HOSTILE)
def test_stripping_twice_changes_nothing(text: str) -> None:
    assert strip_blocks(strip_blocks(text)) == strip_blocks(text)


@given(SECRETISH)
def test_redacting_twice_changes_nothing(text: str) -> None:
    once = REDACTOR.redact(text)
    again = REDACTOR.redact(once.text)
    assert again.text == once.text
    assert not again.findings


@given(st.text(alphabet="ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", min_size=16, max_size=16), HOSTILE)
def test_a_key_never_survives_its_neighbours(key: str, text: str) -> None:
    assert f"AKIA{key}" not in REDACTOR.redact(f"{text} AKIA{key} {text}").text


MARKS = st.lists(
    st.sampled_from([*"ab ,.:;<>[]|/!*`-\t", "tool", "user", "SYS", ">>", "MEMORY", "private", "  "]),
    max_size=9,
).map("".join)


@given(MARKS)
def test_the_quick_look_at_ordinary_text_misses_nothing(text: str) -> None:
    # What nobody sees changes nothing but the way taken: with it in, every rule is tried.
    assert escape_text(text) == escape_text(f"{text}\u200b")
