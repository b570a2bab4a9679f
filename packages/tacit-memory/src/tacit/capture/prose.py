"""The sentences a person spoke in a prompt. In: prompt text. Out: sentences with their place.

Leaves out what was pasted rather than said: code, quotes, logs, stack traces, tables, diffs, mark-up, and the text
behind a line that reports somebody else's words ("the README says", "issue body:").
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

from tacit.capture.voice import (
    BULLET,
    OUR_NEEDS,
    OWN_LIST,
    asks_about_text,
    introduces_printed,
    other_language,
    own_text,
    speaks_one_language,
)
from tacit.model.ids import normalize_text
from tacit.reading.sentences import split_sentences
from tacit.text.lazy_regex import lazy_regex

_FENCE = lazy_regex(r"^[ \t]*(```|~~~).*?(?:^[ \t]*\1[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)
_DIFF = lazy_regex(
    r"^(?:diff --git |@@ -\d|--- \S[^\n]*\n\+\+\+ \S)[^\n]*"
    r"(?:\n(?:[ +\-@\\]|diff --git |index [0-9a-f]|(?:new|deleted|old) (?:file )?mode |similarity |rename |copy )[^\n]*)*",
    re.MULTILINE,
)
"""A patch as a terminal prints it, to its last line."""
_ELEMENT = lazy_regex(r"<([a-zA-Z][\w-]*)\b[^>\n]*>.*?</\1\s*>", re.DOTALL)
_NOT_PROSE = lazy_regex(
    r"^\s*>"  # quoted
    r"|^(?: {4,}|\t)(?![-*+\d])"  # indented code
    r"|^\s*[|+][-|+=\s]"  # table frame
    r"|^\s*\|.*\|\s*$"  # table row
    r"|^\s*(?:\d{4}[-/]\d{2}[-/]\d{2}[T ]|\[?\d{2}:\d{2}:\d{2}|\w{3} \d{1,2} \d{2}:\d{2}:\d{2})"  # log line
    r"|^\s*\[?(?:DEBUG|INFO|WARN(?:ING)?|ERROR|FATAL|TRACE)\b[\]:]?\s"
    r"|^\s*(?:at .+[(:]\d+|File \".+\", line \d+|Traceback|\w+(?:Error|Exception)\b:|error(?:\[\w+\])?:|warning:)"
    r"|^\s*(?:\$|>>>|%|==>|PS [A-Z]:)\s"  # shell
    r"|^\s*(?:@@|\+\+\+|---|diff --git|index [0-9a-f]{6,})\s"  # diff
    r"|^\s*(?:#!|//|/\*|\*/|import |from \S+ import |def |class |function |const |let \w+ ?=|var |return\b.*;|<\w|}\s*$)"
    r"|[;{}]\s*$|^\s*https?://\S+\s*$"
)
_QUOTED = lazy_regex(
    r"(?<!\w)\"[^\"\n]{12,}\"(?!\w)|\u201c[^\u201c\u201d\n]{12,}\u201d|\u201e[^\u201e\u201c\u201d\n]{12,}[\u201c\u201d]|\u00ab[^\u00ab\u00bb\n]{12,}\u00bb"
    r"|(?<!\w)'(?=\w)[^\n']{2,}(?:'(?=\w)[^\n']*)*(?<=[\w.!?])'(?!\w)"
)
_ORDERS = lazy_regex(
    r"^\W*(?:please|remember|always|never|from now on|going forward|use|do|don'?t|make sure|ensure|prefer|run|follow|keep"
    r"|whatever|note)\b",
    re.IGNORECASE,
)
_BUILDS = lazy_regex(
    r"^\W*(?:i|we)(?:'d| would)? (?:want|like|need) to (?:edit|change|add|build|create|make|redesign|restyle|extend) [^:]*\b(?:page|docs?|documentation|report|website|readme)\b",
    re.IGNORECASE,
)
"""Says what is to be built; what follows are the speaker's own wishes."""
_SAYS = lazy_regex(
    r"\b(?:says?|saying|said|states?|stated|reads|wrote|writes|(?:tells?|telling|told) (?:me|us|them|people|everybody|everyone|the team)"
    r"|claims?|claiming|claimed|suggests?|suggested|recommends?|recommended|insists?|insisted|replied|answered|commented|posted)"
    r"(?: (?:this|the following|that))?\s*[:,]?\s*$"
    r"|\bby @[\w-]+\s*:?\s*$|^\W*@[\w-]+\s*:?\s*$|^\W*according to [^.?!]+$",
    re.IGNORECASE,
)
_SELF = lazy_regex(r"^(?:\W*(?:as|like|and|so|but|ok|btw)\b)*\W*(?:i|we)\b[^.:]{0,20}$", re.IGNORECASE)
_HERE_IS = lazy_regex(
    r"^\W*(?:(?:and|so|ok(?:ay)?|also)\W+)?(?:here(?:'s| is| are)|this is what)\b[^.?!]*$", re.IGNORECASE
)
_THEIRS = lazy_regex(
    r"\b(?:outputs?|logs?|bod(?:y|ies)|readme|docs?|documentation|page|article|post|ticket|issue|comments?|e?mail|error|trace"
    r"|response|reply|message|excerpt|snippet|transcript|author|found|got|saw|blogs?|pasted?|vendor|upstream|dependency|website|report)\b",
    re.IGNORECASE,
)
_MINE = lazy_regex(
    r"\b(?:remember|memory|from now on|going forward|rules?|corrections?|conventions?|guidelines?|preferences?|please|always|never|make sure"
    r"|habits?|every|each|whenever|mind|notes?|reminder|requirements?|must|should|my|our|we|i|you|todo|tasks?|steps?|project|repo|code)\b",
    re.IGNORECASE,
)
_DOCUMENT = lazy_regex(
    r"\b(?:body|readme|docs?|documentation|page|article|post|ticket|issue|comments?|e?mail|website|report)\b|@\w",
    re.IGNORECASE,
)
_HANDS_OVER = lazy_regex(
    r"^\W*(?:(?:please|now|then|can you|could you)\W+)*(?:translat|summari[sz]|proof-?read|paraphras|rephras|reword|shorten|transcrib)\w*"
    r"\b[^:]{0,60}:\s*\S+(?:\s+\S+){2,}",
    re.IGNORECASE,
)
"""The text that a request is about stands in the same sentence, behind a colon."""
_ONLY_URL = lazy_regex(r"^\W*(?:\w+:?\s+)?https?://\S+\s*:?\s*$")
_ABOUT_IT = lazy_regex(
    r"^(?:(?:so|and|but|hmm+|or|now)\b[\s,]*)*(?:(?:is|was|would|does|do|are|isn'?t|sounds?) (?:that|this|it|these|those|he|she|they|you agree)\b(?! (?:possible|doable|feasible|clear)\b)"
    r"|what do you think\b(?! (?:of|about) (?!this|that|it\b))|what'?s your (?:take|opinion)|should (?:we|i)\b|do (?:you agree|we (?:want|need|really))|any thoughts"
    r"|thoughts\b|really\?|right\?|true\?|agreed?\?|good idea|how about (?:that|this)|why (?:is|would|do|does|should))",
    re.IGNORECASE,
)
_CHATTY = lazy_regex(
    r"(?<=\(\)[.!?])\s+(?=[a-z])"
    r"|(?<=[^\W\d_][\w/)\]`'\u2019\"][.!?])(?<!\bvs\.)(?<!\bnr\.)(?<!\bno\.)(?<!\bca\.)(?<!\beg\.)(?<!\bie\.)(?<!\bcf\.)(?<!\betc\.)(?<!\bbzw\.)(?<!\bevtl\.)(?<!approx\.)(?<!\bincl\.)\s+(?=[a-z\u00df-\u00f6\u00f8-\u017f\u0430-\u044f\u0451]+(?:[ ,:!?]|$))"
    r"|(?<=\b[A-Z]\.)\s+(?=(?:We|I|Let|The|Always|Never|Please|From|Remember|Also|And|But)\b)|\s+[\u2600-\u27bf\U0001f300-\U0001faff]\ufe0f?\s+"
    r"|\s+\.\s+(?=[a-z])|(?<=\w\.\.)\s+(?=[a-z])|(?<=[\"'\u201d][.!?])\s+(?=[A-Z])"
    r"|(?<=[\w`)\]][.!?])(?<!\b[a-z]\.)(?<!\bvs\.)(?<!\bnr\.)(?<!\bno\.)\s+(?=(?:please|always|never|from now|going forward|make sure|don'?t|do not|stop|we|i|remember|whenever|also|then"
    r"|every|all|thanks|btw|can|could|would|should|why|how|what|is|are|do|does|check|look|show|run|fix|add|now|use|keep|no|after|before|in (?:this|our|the)|for|our|nobody|prefer)\b(?:['\u2019](?:ve|re|d|ll|m))?[ ,])"
)
"""Where a sentence ends that was not cut: for people who write without capitals, and behind a quotation."""
_NUMBERED = lazy_regex(r"(?:^|(?<=\s))([1-9]\))(?=\s)")
_MANY_HEADINGS = lazy_regex(r"^#{1,6}\s+\S", re.MULTILINE)
_HIDDEN = '""'
_CODE_LINE = "```"
"""Stands for a block of code."""
_PROMPTS, _SHORT = 512, 4_000
"""So many prompts of at most so many characters are kept as read while a session is read; of longer ones a few."""
PASTED_WORDS = 400
"""A prompt of more words that has several headings is a pasted document, not speech."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """A sentence, `text` verbatim.

    `item` = it stands in a list; `doubted` = a question about it follows;
    `own` = it is the user's own voice, not part of a text that they hand over.
    """

    text: str
    item: bool = False
    doubted: bool = False
    own: bool = True


def pasted_document(text: str) -> bool:
    """Whether the prompt is mostly a document that was pasted (a plan, a specification, a page)."""
    if len(text) <= 2 * PASTED_WORDS:  # too short for so many words
        return False
    return len(text.split()) > PASTED_WORDS and len(_MANY_HEADINGS.findall(text)) >= 3


def spoken_sentences(text: str) -> tuple[Sentence, ...]:
    """Sentences that the person wrote, in order."""
    return _sentences_of_short(text) if len(text) <= _SHORT else _sentences_of_long(text)


def _sentences_of(text: str) -> tuple[Sentence, ...]:
    text = _DIFF.sub("\n\n", text)
    sentences, places = _split(text)
    own_texts = {sentence.text for sentence in _split(own_text(text))[0]}
    marked = [replace(sentence, own=sentence.text in own_texts) for sentence in sentences]
    return _with_doubts(_with_voices(marked, places, text), places)


def _with_voices(sentences: list[Sentence], places: list[int], text: str) -> list[Sentence]:
    """Mark what may belong to a text that a sentence of the prompt asks about, or to one in another language's midst."""
    marked = list(sentences)
    if speaks_one_language(text):
        return marked
    # The whole prompt is looked at: a line in another language need not hold a sentence that was split off.
    if any(other_language(line) for line in text.split("\n")) or any(
        other_language(sentence.text) for sentence in marked
    ):
        return [replace(sentence, own=False) for sentence in marked]
    for at, sentence in enumerate(sentences):
        reach = asks_about_text(sentence.text)
        if not reach or introduces_printed(sentence.text, text):
            continue
        if _HANDS_OVER.match(sentence.text):
            marked[at] = replace(sentence, own=False)
        for other_at, place in enumerate(places):
            if other_at != at and (reach == "all" or place > places[at]):
                marked[other_at] = replace(marked[other_at], own=False)
    return marked


def _split(text: str) -> tuple[list[Sentence], list[int]]:
    """Sentences, and the number of the paragraph that each stands in."""
    bare = _ELEMENT.sub("\n", _FENCE.sub(f"\n{_CODE_LINE}\n", text))
    sentences: list[Sentence] = []
    places: list[int] = []
    paragraphs = [
        (part, item or len(parts) > 1)
        for parts, item in ((_items(whole), item) for whole, item in _paragraphs(bare))
        for part in parts
    ]
    for place, (paragraph, item) in enumerate(paragraphs):
        hidden, quotes = hide_quotes(
            paragraph
        )  # a quotation may hold the end of a sentence, but is no end itself
        open_quotes = list(quotes)
        for fragment in (
            fragment.strip() for whole in split_sentences(hidden) for fragment in _CHATTY.split(whole)
        ):
            mine = [open_quotes.pop(0) for _ in range(min(fragment.count(_HIDDEN), len(open_quotes)))]
            sentence = show_quotes(fragment, tuple(mine))
            if sentence:
                sentences.append(Sentence(text=sentence, item=item))
                places.append(place)
    return sentences, places


def _items(paragraph: str) -> list[str]:
    """The items of a list that was typed in one line, "1) this 2) that", and what stands before it; else the paragraph alone."""
    numbers = _NUMBERED.findall(paragraph)
    if numbers[:2] != ["1)", "2)"] or paragraph.count(")") < paragraph.count("(") + len(numbers):
        return [paragraph]
    return [part.strip() for part in _NUMBERED.split(paragraph)[::2] if part.strip()]


# Several extractors ask for the same prompts, each for all of a session's before the next one does.
_sentences_of_short = lru_cache(maxsize=_PROMPTS)(_sentences_of)
_sentences_of_long = lru_cache(maxsize=16)(_sentences_of)


def in_own_voice(span: str, text: str) -> bool:
    """Whether the words `span` of a prompt `text` are the user's own voice, not part of a text that they hand over."""
    own = normalize_text(
        " ".join(
            sentence.text for sentence in spoken_sentences(text) if sentence.own and not sentence.doubted
        )
    )
    return normalize_text(span) in own


def clear_sentence_cache() -> None:
    """Let go of what `spoken_sentences` has kept: a session has been read, and its prompts come no more."""
    _sentences_of_short.cache_clear()
    _sentences_of_long.cache_clear()


def _with_doubts(sentences: list[Sentence], places: list[int]) -> tuple[Sentence, ...]:
    """Mark what a question asks about: the sentences before it in its paragraph, or the paragraph or list before it."""
    marked = list(sentences)
    for at, sentence in enumerate(sentences):
        match = _ABOUT_IT.match(sentence.text)
        if not match or not (sentence.text.rstrip(" )").endswith("?") or match[0].lower().startswith("what")):
            continue
        paragraph = places[at - 1] if at else -1
        for before in range(at - 1, -1, -1):
            together = marked[before].item and marked[at - 1].item and not sentence.item
            if places[before] != paragraph and not together:
                break
            marked[before] = replace(marked[before], doubted=True)
    return tuple(marked)


def opens_report(lead: str) -> bool:
    """Whether the words behind `lead` are announced as what somebody says ("the page recommends:")."""
    says = _SAYS.search(lead)
    return says is not None and not _SELF.match(lead[: says.start()])


def hide_quotes(sentence: str) -> tuple[str, tuple[str, ...]]:
    """The sentence with `""` for longer stretches in double quotes, which are someone else's words, and these stretches."""
    return _QUOTED.sub(_HIDDEN, sentence), tuple(match[0] for match in _QUOTED.finditer(sentence))


def show_quotes(text: str, quotes: tuple[str, ...]) -> str:
    """Put back what `hide_quotes` hid, in order."""
    for quote in quotes:
        text = text.replace(_HIDDEN, quote, 1)
    return text


def _reports(line: str) -> bool:
    """Whether what follows this line is somebody else's words."""
    if any(own.match(line) for own in (_ORDERS, _BUILDS, OWN_LIST)) or OUR_NEEDS.search(line):
        return False
    if opens_report(line) or _ONLY_URL.match(line):
        return True
    opens = line.rstrip().endswith(":") or _HERE_IS.match(line) is not None
    return opens and (_THEIRS.search(line) is not None or _MINE.search(line) is None)


def _paragraphs(text: str) -> list[tuple[str, bool]]:
    """Runs of prose lines joined with spaces; every list item stands alone; reported words are left out."""
    paragraphs: list[tuple[str, bool]] = []
    lines: list[str] = []
    item = False
    # What a reporting line opens: "next" = its words begin with the next line, "block" = they end with a blank line,
    # "rest" = they are a document, which may go on behind blank lines to the end.
    quoting: Literal["", "next", "block", "rest"] = ""

    def flush() -> None:
        if lines:
            paragraphs.append((" ".join(lines), item))
            lines.clear()

    for line in text.split("\n"):
        blank = not line.strip()
        if line == _CODE_LINE and quoting == "next":  # the block was what the line before it opened
            quoting = ""
        if quoting == ("block" if blank else "next"):
            quoting = "" if blank else "block"
        left_out = bool(quoting)
        if not blank and quoting != "rest" and _reports(line):
            quoting = "rest" if _DOCUMENT.search(line) and not _ONLY_URL.match(line) else "next"
        if (
            blank
            or left_out
            or _NOT_PROSE.search(line)
            or line == _CODE_LINE
            or line.lstrip().startswith("#")
        ):
            flush()
            item = False
            continue
        bullet = BULLET.match(line)
        if bullet:
            flush()
            item = True
        lines.append(line[bullet.end() if bullet else 0 :].strip())
        if not bullet and OWN_LIST.match(line):
            flush()
    flush()
    return paragraphs
