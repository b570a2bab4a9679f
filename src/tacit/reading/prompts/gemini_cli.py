"""Texts that Gemini CLI itself writes into a conversation (measured on 0.61.0). In: a prompt's text. Out: the person's part of it."""

from __future__ import annotations

import re

from tacit.text.lazy_regex import lazy_regex

SUMMARY_TAKEN = "Got it. Thanks for the additional context!"
"""The client writes these words as an answer of the model after the summary of a compressed conversation."""
_ADDED_FILES = lazy_regex(r"--- Content from referenced files ---.*?(?:--- End of content ---|\Z)", re.DOTALL)


def without_added_files(text: str) -> str:
    """Return the prompt without the contents of the files that it includes with `@path`."""
    return _ADDED_FILES.sub("", text).rstrip() if "--- Content" in text else text
