"""What Gemini CLI itself writes into a conversation (measured on 0.61.0). In: a prompt's text. Out: the person's part of it."""

from __future__ import annotations

import re

from tacit.text.lazy_regex import lazy_regex

SUMMARY_TAKEN = "Got it. Thanks for the additional context!"
"""With these words of the model, which the client writes, a compressed conversation goes on behind its summary."""
_ADDED_FILES = lazy_regex(
    r"\s*--- Content from referenced files ---.*?(?:--- End of content ---|\Z)", re.DOTALL
)


def without_added_files(text: str) -> str:
    """The prompt without the contents of the files that it names by `@path`."""
    return _ADDED_FILES.sub("", text) if "--- Content" in text else text
