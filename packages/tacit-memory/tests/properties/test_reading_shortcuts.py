"""What reading looks for by a cheaper way first gives what the plain pattern gives, for any text."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tacit.reading.errors import looks_like_error
from tacit.reading.terms import IDENTIFIER, PATH, find_entities, find_paths, identifiers, prose_of
from tacit.text.lazy_regex import wording

_PIECES = (
    "fix", "the", "src/a.py", "a.py", ".env", "Makefile", "LICENSE", "README", "c:\\x\\y.ts", "and/or", "e.g.", "v1.2", "@scope/name", ".", "\n",
    "snake_case", "camelCase", "PascalCase", "UPPER_CASE", "call()", "_private()", "--flag-", "a.b_c", "aB", "__init__", "X", "http://a.b/c",
    "Error: x", "TypeError:\n", "error TS12: ", "error [a]: ", "Error[E12]: ", "Exception [x]:", "  at f(a.js:1:2)", 'File "x", line 3', "fatal: ",
    "exit code 1", "exited with status 2", "exit status 0", "FAILED ", "npm ERR!", "✗", "Permission Denied", "\u0130", "\u017f", "\u212a", "é",
    "E1234", "ORA-1", "npm i x", "from 'x'", "import y", "git push",
)  # fmt: skip
TEXTS = st.lists(
    st.sampled_from(_PIECES) | st.text(max_size=4) | st.sampled_from([" ", "", "-", "_"]), max_size=14
).flatmap(lambda pieces: st.sampled_from([" ", ""]).map(lambda between: between.join(pieces)))


@given(TEXTS)
def test_an_error_is_what_the_pattern_says(text: str) -> None:
    assert looks_like_error(text) == bool(wording("errors").error_text.search(text))


@given(TEXTS)
def test_identifiers_are_what_the_pattern_says(text: str) -> None:
    assert list(identifiers(text)) == IDENTIFIER.findall(text)


@given(TEXTS)
def test_paths_are_told_apart_from_prose_by_the_pattern(text: str) -> None:
    plain = text.replace("`", "").replace("://", "").replace("~~~", "")
    marked = PATH.sub(" § ", plain) if "/" in plain or "." in plain else plain
    assert prose_of(plain) == marked


@given(TEXTS)
def test_what_a_text_names_does_not_depend_on_what_was_read_before(text: str) -> None:
    first = find_entities(text), find_paths(text), prose_of(text)
    find_entities(text + " src/other.py otherName()")
    assert (find_entities(text), find_paths(text), prose_of(text)) == first
