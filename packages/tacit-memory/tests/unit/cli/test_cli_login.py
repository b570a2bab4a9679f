"""`tacit login`: what it refuses before it shows, asks or sends anything."""

from __future__ import annotations

from dataclasses import replace

import pytest

URL = "http://127.0.0.1:9"


@pytest.mark.parametrize("url", ["http://example.org", "example.org", "https://[::1"])
def test_a_wrong_address_is_refused_first(tacit, url):
    place = replace(tacit.place, interactive=True)
    said = tacit("login", url, "--first", place=place)
    assert (said.code, said.out, url in said.err) == (3, "", True)
    assert tacit.daemon.starts == 0


def test_without_a_terminal_the_code_must_be_given(tacit):
    said = tacit("login", URL, "--first", "--yes")
    assert (said.code, said.out, "--code" in said.err) == (3, "", True)


def test_without_a_terminal_the_phrase_must_be_given(tacit):
    said = tacit("login", URL, "--code", "ana-x", "--yes")
    assert (said.code, said.out, "--phrase-file" in said.err) == (3, "", True)


@pytest.mark.parametrize("content", [b"", b" \n", b"\xff\xfe"])
def test_a_phrase_file_without_a_phrase_is_named(tacit, content):
    file = tacit.project / "phrase"
    file.write_bytes(content)
    said = tacit("login", URL, "--code", "ana-x", "--phrase-file", file, "--yes")
    assert (said.code, said.out, str(file) in said.err) == (3, "", True)


def test_with_all_of_it_the_server_is_asked_and_a_failure_leaves_no_server_in_the_status(tacit):
    said = tacit("login", URL, "--code", "ana-x", "--first", "--yes")
    assert ("would be encrypted" in said.out, "cannot be reached" in said.err) == (True, True)
    status = tacit("status")
    assert (status.code, "embedder" in status.out, "not synced yet" in status.out) == (0, True, False)
