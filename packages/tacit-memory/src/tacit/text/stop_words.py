"""Stop words: words that say nothing about a topic. One list for each purpose; none of them is a copy of another.

The lists differ because results depend on them: what an index is asked for, which objects stored triggers have, which statements are
taken for the same, which signature an error has. Changing a list changes what existing homes hold or find.
"""

from __future__ import annotations

from tacit.text.lazy_regex import wording

_WORDS = wording("stop_words")

FUNCTION_WORDS = _WORDS.words("function")
"""Articles, pronouns, auxiliaries: a lexical query made only of them finds nothing. The text indexes hold them all the same."""
CONTRACTION_ENDS = frozenset({"s", "t", "re", "d", "ll", "m"})
"""What a tokenizer leaves of "it's" and "we'll". A query of the text index keeps them, because `t` may be a name there."""

UNINFORMATIVE_WORDS = _WORDS.words("uninformative")
"""Words that any prompt to an agent could hold; they are no objects of a situation or trigger. Stored triggers were made with them."""

GENERIC_TOPICS = _WORDS.words("generic_topics")
"""Words that are no topic of a trigger, although they may be an object of a prompt."""

STATEMENT_STOP_WORDS = _WORDS.words("statement")
"""Left out where two statements are compared. Denials, numbers and verbs stay, because they make the difference."""

DIGEST_STOP_WORDS = frozenset(
    {"the", "and", "for", "with", "that", "this", "from", "into", "still", "fails", "then", "also"}
)
"""Left out where a line of a digest is looked for in a report; `fails` and `still` open such a line and never close it."""

ERROR_STOP_WORDS = _WORDS.words("error")
"""Words of any error message; they are no part of a signature. Stored signatures were made with them."""
