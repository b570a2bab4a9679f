"""Whether a sentence reports what somebody else says or wants. In: a sentence. Out: yes or no. Pure."""

from __future__ import annotations

import re

from tacit.text.lazy_regex import lazy_regex

_REPORTS = lazy_regex(
    # Who says it: these words have a subject that is not the user. Behind `always`, `please`, `not` or a comma they are an order.
    r"(?<!always )(?<!never )(?<!please )(?<!not )(?<!n't )(?<!to )(?<!, )(?<!^)\b(?:ask|state|want|tell|order|quote|propose|recommend|suggest|demand|expect)\b"
    r"|\b(?:says?|said|claims?|claimed|states|stated|writes|wrote|suggests|suggested|recommends|recommended|told|tells|insists?|insisted|argues?|argued|thinks?|thought"
    r"|wants|wanted|asks|asked|demands|demanded|proposes|proposed|advises?|advised|mentions?|mentioned|complains?|complained|believes?|ordered|tweeted|posted|replied|answered|(?<!double )(?<!single )(?<!the )quotes|quoted)\b"
    # What things do as well: a report only where words follow.
    r"|\b(?:reads|requires|expects|orders)\b(?=\s*(?:[:\"'\u201c]|that\b|us\b|you\b|we\b|always\b|never\b|like\b))"
    r"|\baccording to\b",
    re.IGNORECASE,
)
_UNTIL = lazy_regex(
    r"\b(?:before|after|until|unless|when|whenever|if|once|every time) (?:you|i|we) $", re.IGNORECASE
)
"""What the agent or the user says, as the time of an order: "run the tests before you say that you are done"."""
_SOURCES = lazy_regex(
    r"\bin (?:the|their|its|his|her) (?:readme|docs?|documentation|article|blog|post|issue|ticket|comment|mail|email|spec)\b",
    re.IGNORECASE,
)
_REASON = lazy_regex(r"\b(?:because|since|so that|as otherwise)\b", re.IGNORECASE)
_SELF = lazy_regex(
    r"^(?:\W*(?:please|ok|okay|so|and|also|yes|well|like|as)\W+)*(?:i|we|as i|like i|i've|we've)\b[^.]{0,20}$",
    re.IGNORECASE,
)


def reports_others(text: str) -> bool:
    """Whether a sentence says what somebody other than its speaker says or wants."""
    return _by_others(text, _REPORTS)


def names_source(text: str) -> bool:
    """Whether a sentence speaks of what stands in a document."""
    return _by_others(text, _SOURCES)


def _by_others(text: str, pattern: re.Pattern[str]) -> bool:
    claim = _REASON.split(text, maxsplit=1)[0]
    leads = (claim[: match.start()] for match in pattern.finditer(claim))
    return any(not _SELF.match(lead) and not _UNTIL.search(lead) for lead in leads)
