"""The sentences a person spoke in a prompt. In: prompt text. Out: sentences with their place.

Leaves out what was pasted rather than said: code, quotes, logs, stack traces, tables, diffs, mark-up, and the text
behind a line that reports somebody else's words ("the README says", "issue body:").

The part of a prompt that is the user's own voice. In: a prompt. Out: its text without what was pasted, and marks of sentences.

People hand texts to an agent: to translate, to review, to answer, to fix what it describes. What stands in such a text is
not said by them, whatever it orders. A text is known by its form (fences, quotations, elements, headers of mails, lines of a
chat, titles of issues), by the line that announces it, by a request or a question about it, and by another language around
it. On doubt the text is not the user's: they can say it again. Pure; never reads what a text means.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Literal

from tacit.frozen import frozen
from tacit.model.ids import normalize_text
from tacit.reading.marks import speaks_marked_language
from tacit.reading.sentences import split_sentences
from tacit.text.lazy_regex import lazy_regex, wording
from tacit.text.natural_language import ENGLISH, is_plainly_english, natural_language_of
from tacit.text.tokens import TEXT_WORD

_SPEECH = wording("speech")

Reach = Literal["", "below", "all"]

_ANY_FENCE = lazy_regex(r"^[ \t]*(```+|~~~+).*?(?:^[ \t]*\1[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)
COMMENT = lazy_regex(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_TAG = lazy_regex(
    r"<(?P<end>/?)(?P<name>[a-zA-Z][\w.-]{0,100})\b[^<>\n]*>|\[(?P<close>/?)(?P<word>quote|code|doc|text)\b[^\[\]\n]*\]",
    re.IGNORECASE,
)
_OPENED = lazy_regex(
    r"^[ \t]*(?:<(?!https?:)[a-zA-Z][\w.-]*\b[^>\n]*>|\[(?:quote|code|doc|text|file|mail|email)\b[^\]\n]*\])",
    re.MULTILINE | re.IGNORECASE,
)
_INLINE_OPENED = lazy_regex(
    r"(?<!\S)<(?!/)(?:doc|document|documents|text|file|mail|email|message|quote|article|page|content|context|data|input|note|notes"
    r"|issue|ticket|comment|paste|excerpt|user|system|assistant|human|instructions?|prompt|source|snippet|log|output"
    r"|result|body|transcript|untrusted\w*|[a-z]+[-_][\w.-]+)\b[^>\n]*>",
    re.IGNORECASE,
)
_QUOTATION = lazy_regex(
    r"(?<![\w\"])\"\"\".*?(?:\"\"\"|\Z)|(?<![\w'])'''.*?(?:'''|\Z)"
    r"|(?<![\w\"])\"(?=\S)[^\"]{12,}?(?:\"(?!\w)|\Z)|\u201c[^\u201d]{12,}?(?:\u201d|\Z)|\u201e[^\u201c\u201d]{12,}?(?:[\u201c\u201d]|\Z)"
    r"|\u00ab[^\u00bb]{12,}?(?:\u00bb|\Z)|\u300c[^\u300d]{4,}?(?:\u300d|\Z)|\u300e[^\u300f]{4,}?(?:\u300f|\Z)",
    re.DOTALL,
)
_SEPARATOR = lazy_regex(
    r"^\s*(?:[-=*_~#+>.<]{3,}|(?:[-=*_~#><]{2,})\s{0,20}[^-=*_~#><]{1,60}?\s{0,20}(?:[-=*_~#><]{2,}))\s*$"
)
_FIELD = lazy_regex(r"^\s*[\w\u00c0-\u024f][\w\u00c0-\u024f -]{1,14}:\s+\S")
_ADDRESS = lazy_regex(r"[\w.+-]{1,64}@[\w-]{1,63}\.\w")
_CHAT = lazy_regex(
    r"^\s*(?:[-*>\u2022]\s+)?(?:[\[(]?\d{1,2}:\d{2}(?::\d{2})?(?: ?[ap]m)?[\])]?\s*)?(?:<@?[\w .-]{1,30}>\s*\S"
    r"|(?:\*\*)?@?(?P<name>[^\W\d_][\w.'-]*(?: [A-Z][\w.'-]*){0,2})(?: \([^)]{1,30}\))?(?:\*\*)?\s*[:\uff1a](?:\*\*)?\s+\S)"
)
_PLAIN_WORD = lazy_regex(
    r"[(\"'\u201c\u201e]*[^\W\d_]+(?:['\u2019-][^\W\d_]+)*[)\"'\u201d\u201c.,;:!?\u2026]*|[-\u2013\u2014]"
)
BULLET = lazy_regex(r"^\s*(?:[-*+\u2022]|\d{1,2}[.)])\s+")

_OTHER_SCRIPT = lazy_regex(
    r"[\u0370-\u03ff\u0400-\u052f\u0530-\u058f\u0590-\u05ff\u0600-\u06ff\u0900-\u0dff\u0e00-\u0eff\u10a0-\u10ff\u1100-\u11ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]"
)
_ACCENTED = lazy_regex(r"[\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f\u1e00-\u1eff\u00bf\u00a1]")
_OTHER_SCRIPTS = frozenset({"ru", "zh", "ja", "ko"})
_LATIN_WORD = lazy_regex(r"[A-Za-z]{2,}")
_LEAST_PROSE = 4


def printed_lines(text: str) -> frozenset[int]:
    """Return the numbers of the lines that a program printed, such as a log or a stack trace.

    A paragraph counts if at least half of its lines are indented or hold at least a third of words with digits or symbols in them.
    A paragraph behind it counts as well, unless it speaks in the first person singular.
    """
    printed: set[int] = set()
    goes_on = False
    for first, last in _paragraphs_of(lines := text.split("\n")):
        paragraph = lines[first:last]
        by_program = 2 * sum(map(_looks_printed, paragraph)) >= len(paragraph)
        goes_on = by_program or (goes_on and not any(map(_SPEECH.speaks_of_self.search, paragraph)))
        if goes_on:
            printed.update(range(first, last))
    return frozenset(printed)


def introduces_printed(sentence: str, text: str) -> bool:
    """Whether a sentence of `text` announces program output that follows it."""
    lines, printed = text.split("\n"), printed_lines(text)
    return _announces_output(sentence) and any(
        bool(line.strip())
        and (sentence.endswith(line.strip()) or line.rstrip().endswith(sentence))
        and _next_line(lines, number) in printed
        for number, line in enumerate(lines)
    )


def _announces_output(line: str) -> bool:
    """Whether a line ending in a colon announces program output, not somebody's words."""
    return bool(_ends_in_colon(line) and _SPEECH.output.search(line)) and not (
        reports_others(line)
        or _SPEECH.rewords.search(line)
        or _SPEECH.about_text.search(line)
        or _SPEECH.points_at.search(line)
    )


def _paragraphs_of(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield (number of the first line, number behind the last) of each paragraph."""
    first = None
    for number, line in enumerate((*lines, "")):
        if line.strip():
            first = number if first is None else first
        elif first is not None:
            yield first, number
            first = None


def _looks_printed(line: str) -> bool:
    words = line.split()
    odd = sum(_PLAIN_WORD.fullmatch(word) is None for word in words)
    indented = line[:2].isspace() and BULLET.match(line) is None
    return indented or (len(words) > 1 and 3 * odd >= len(words))


def asks_about_text(sentence: str) -> Reach:
    """Return how far the text reaches that a sentence of the prompt asks about, or orders work on.

    Returns:
        `all` = any other sentence of the prompt may be of that text; `below` = what stands on the lines after it; "" = no request.
    """
    if _SPEECH.order.match(sentence) or _SPEECH.our_needs.search(sentence):
        return ""
    if (
        _SPEECH.rewords.search(sentence)
        or _SPEECH.about_text.search(sentence)
        or _SPEECH.reads_bare.search(sentence)
        or _SPEECH.asks.search(sentence)
    ):
        return "all"
    if _SPEECH.following.search(sentence):
        return "all"
    if (
        _SPEECH.below.search(sentence)
        or _SPEECH.points_at.search(sentence)
        or _SPEECH.about_work.search(sentence)
        or _SPEECH.does_bare.search(sentence)
        or _SPEECH.have_text.search(sentence)
    ):
        return "below"
    return ""


def other_language(text: str) -> bool:
    """Whether `text` is in another language than English, by its script, accents and short words."""
    if len(_OTHER_SCRIPT.findall(text)) >= 2 or _SPEECH.translates.search(text):
        return True
    spoken = re.sub(r"`[^`]*`", " ", text)
    words = [word.lower().replace("\u2019", "'") for word in TEXT_WORD.findall(spoken)]
    if not words:
        return False
    elsewhere, english_words = _SPEECH.words("elsewhere"), _SPEECH.words("english")
    foreign = sum(word in elsewhere for word in words) + sum(bool(_ACCENTED.search(word)) for word in words)
    english = sum(word in english_words for word in words)
    return foreign >= 1 and foreign > english


def speaks_one_language(text: str) -> bool:
    """Whether all of the prompt is in one known language other than English, so that the user wrote all of it.

    False if it asks for a translation, hands over a text, or has a line in plain English.
    """
    code = natural_language_of(text)
    if (
        (code == ENGLISH and not speaks_marked_language(text))
        or _SPEECH.translates.search(text)
        or _SPEECH.handed_over.search(text)
    ):
        return False
    if code in _OTHER_SCRIPTS and any(_is_english_prose(line) for line in text.split("\n")):
        return False
    return not any(is_plainly_english(line) for line in text.split("\n"))


def _is_english_prose(line: str) -> bool:
    """Whether a line of a prompt in another script has enough English words to be a pasted text."""
    return len(_LATIN_WORD.findall(line)) >= _LEAST_PROSE and natural_language_of(line) == ENGLISH


def _ends_in_colon(line: str) -> bool:
    return line.rstrip().endswith((":", "\uff1a"))


def _without_elements(text: str, between: str) -> str:
    """Replace each element, from its opening tag to the first closing one of that name (`</name>`, `[/quote]`), by `between`; what is never closed stays."""
    tags = [(tag, (tag["name"] or tag["word"]).casefold()) for tag in _TAG.finditer(text)]
    closing: dict[str, list[re.Match[str]]] = {}
    for tag, name in reversed(tags):
        if tag["end"] or tag["close"]:
            closing.setdefault(name, []).append(tag)
    pieces: list[str] = []
    at = 0
    for tag, name in tags:
        left = closing.get(name, [])
        while left and left[-1].start() < tag.end():
            left.pop()
        if left and tag.start() >= at:
            pieces += [text[at : tag.start()], between]
            at = left[-1].end()
    return "".join((*pieces, text[at:]))


def own_text(prompt: str) -> str:
    """Return the lines of `prompt` that may be the user's own words.

    What is pasted by its form is removed; each line of an announced text becomes `>`.
    """
    text = COMMENT.sub("\n\n", _ANY_FENCE.sub("\n\n", prompt))
    text = _QUOTATION.sub(_without_quotation, _without_elements(text, "\n\n"))
    for opened in (_OPENED.search(text), _INLINE_OPENED.search(text)):
        if opened is not None:
            text = text[: min(len(text), opened.start())]
    lines = text.split("\n")
    lines = lines[: _end_of_own(lines)]
    left_out = _letter(lines) | _announced(lines)
    return "\n".join(
        ">" if number in left_out and line.strip() else line for number, line in enumerate(lines)
    )


def _without_quotation(match: re.Match[str]) -> str:
    """Return the quotation if it is closed and on one line (it belongs to its sentence), else a paragraph break."""
    closed = len(match[0]) > 1 and match[0][-1] in "\"'\u201c\u201d\u00bb\u300d\u300f"
    return match[0] if closed and "\n" not in match[0] else "\n\n"


def _end_of_own(lines: list[str]) -> int:
    """Return the number of the first line from which all is foreign: a mail header or a separator."""
    for number, line in enumerate(lines):
        if _SEPARATOR.match(line):
            return number
        fields = _SPEECH.mail_field.match(line)
        beside = number + 1 < len(lines) and _FIELD.match(lines[number + 1])
        if fields and (_ADDRESS.search(line) or beside or line.lstrip()[:8].lower().startswith("subject")):
            return number
    return len(lines)


def _letter(lines: list[str]) -> set[int]:
    """Return the numbers of a letter's lines, from its greeting on; empty = there is no signed letter."""
    greeting = next((number for number, line in enumerate(lines) if _SPEECH.greeting.match(line)), None)
    if greeting is None:
        return set()
    signed = next(
        (n for n, line in enumerate(lines) if n > greeting + 1 and _SPEECH.signed.match(line)), None
    )
    return set() if signed is None else set(range(greeting, len(lines)))


def _announced(lines: list[str]) -> set[int]:
    """Return the numbers of lines that are an announced text, a title, or part of a chat."""
    announced: set[int] = set()
    printed = printed_lines("\n".join(lines))
    until: Literal["", "list", "block", "printed", "end"] = ""
    words = ""
    for number, line in enumerate(lines):
        blank, bullet = not line.strip(), BULLET.match(line) is not None
        if (
            (until == "block" and blank)
            or (until == "list" and not blank and not bullet)
            or (until == "printed" and not blank and number not in printed)
        ):
            until = ""
        if until:
            announced.add(number)
            continue
        if blank:
            continue
        goes_on = BULLET.match(words) is not None and line[:2].isspace() and not bullet
        before, words = words, words if goes_on else line
        if (
            bullet
            and before
            and not BULLET.match(before)
            and not _SPEECH.own_lead.search(before)
            and not _ends_in_colon(before)
        ):
            announced.add(number)  # a list below a title
            until = "list"
            continue
        chat = _CHAT.match(line)
        label = (chat["name"] or "").split()[0].lower() if chat and chat["name"] else ""
        if _SPEECH.title.match(line):
            announced.add(number)
        elif _SPEECH.speaks.match(line) or (
            chat is not None
            and label not in _SPEECH.words("own_labels")
            and not _SPEECH.work_lead.match(line)
        ):
            announced.add(number)
            until = "block"
        elif _ends_in_colon(line):
            own = (
                _SPEECH.own_list.match(line)
                or _SPEECH.our_needs.search(line)
                or (_SPEECH.own_lead.search(line) and asks_about_text(line) != "all")
            )
            if not own:
                following = _next_line(lines, number)
                if _SPEECH.work_lead.match(line) and BULLET.match(lines[following]):
                    until = "list"
                else:
                    until = "printed" if following in printed and _announces_output(line) else "end"
    return announced


def _next_line(lines: list[str], number: int) -> int:
    """Return the number of the next non-blank line; `number` itself = there is none."""
    return next((n for n in range(number + 1, len(lines)) if lines[n].strip()), number)


def reports_others(text: str) -> bool:
    """Whether a sentence reports what somebody other than its speaker says or wants."""
    return _by_others(text, _SPEECH.reports)


def names_source(text: str) -> bool:
    """Whether a sentence cites a document."""
    return _by_others(text, _SPEECH.sources)


def _by_others(text: str, pattern: re.Pattern[str]) -> bool:
    claim = _SPEECH.gives_reason.split(text, maxsplit=1)[0]
    leads = (claim[: match.start()] for match in pattern.finditer(claim))
    return any(not _SPEECH.by_speaker.match(lead) and not _SPEECH.until.search(lead) for lead in leads)


FENCE = lazy_regex(r"^[ \t]*(```|~~~).*?(?:^[ \t]*\1[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)
_DIFF = lazy_regex(
    r"^(?:diff --git |@@ -\d|--- \S[^\n]*\n\+\+\+ \S)[^\n]*"
    r"(?:\n(?:[ +\-@\\]|diff --git |index [0-9a-f]|(?:new|deleted|old) (?:file )?mode |similarity |rename |copy )[^\n]*)*",
    re.MULTILINE,
)
"""A patch as a terminal prints it, to its last line."""
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
_ONLY_URL = lazy_regex(r"^\W*(?:\w+:?\s+)?https?://\S+(?:\s*:)?\s*$")
_NUMBERED = lazy_regex(r"(?:^|(?<=\s))([1-9]\))(?=\s)")
_MANY_HEADINGS = lazy_regex(r"^#{1,6}\s+\S", re.MULTILINE)
_HIDDEN = '""'
_CODE_LINE = "```"
"""Replaces a block of code."""
_PROMPTS, _SHORT = 512, 4_000
"""Number of prompts, and their greatest length, whose sentences are cached; of longer ones 16 are."""
PASTED_WORDS = 400
"""A prompt with more words and several headings is a pasted document, not speech."""


@frozen
class Sentence:
    """A sentence of a prompt; `text` is verbatim.

    `item` = it stands in a list; `doubted` = a question about it follows;
    `own` = it is the user's own voice, not part of a text that they hand over.
    """

    text: str
    item: bool = False
    doubted: bool = False
    own: bool = True


def pasted_document(text: str) -> bool:
    """Whether the prompt is mostly a pasted document (a plan, a specification, a page)."""
    if len(text) <= 2 * PASTED_WORDS:  # too short for so many words
        return False
    return len(text.split()) > PASTED_WORDS and len(_MANY_HEADINGS.findall(text)) >= 3


def spoken_sentences(text: str) -> tuple[Sentence, ...]:
    """Return the sentences that the person wrote, in order, without pasted matter; cached."""
    return _sentences_of_short(text) if len(text) <= _SHORT else _sentences_of_long(text)


def _sentences_of(text: str) -> tuple[Sentence, ...]:
    text = _DIFF.sub("\n\n", text)
    sentences, places = _split(text)
    own_texts = {sentence.text for sentence in _split(own_text(text))[0]}
    marked = [replace(sentence, own=sentence.text in own_texts) for sentence in sentences]
    return _with_doubts(_with_voices(marked, places, text), places)


def _with_voices(sentences: list[Sentence], places: list[int], text: str) -> list[Sentence]:
    """Return the sentences, with `own=False` for those that may belong to a text that the user hands over."""
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
        if _SPEECH.hands_over.match(sentence.text):
            marked[at] = replace(sentence, own=False)
        for other_at, place in enumerate(places):
            if other_at != at and (reach == "all" or place > places[at]):
                marked[other_at] = replace(marked[other_at], own=False)
    return marked


def _split(text: str) -> tuple[list[Sentence], list[int]]:
    """Return (sentences, the paragraph number of each)."""
    bare = _without_elements(FENCE.sub(f"\n{_CODE_LINE}\n", text), "\n")
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
            fragment.strip() for whole in split_sentences(hidden) for fragment in _SPEECH.chatty.split(whole)
        ):
            mine = [open_quotes.pop(0) for _ in range(min(fragment.count(_HIDDEN), len(open_quotes)))]
            sentence = show_quotes(fragment, tuple(mine))
            if sentence:
                sentences.append(Sentence(text=sentence, item=item))
                places.append(place)
    return sentences, places


def _items(paragraph: str) -> list[str]:
    """Return the items of a list typed in one line ("1) this 2) that"), else the paragraph alone."""
    numbers = _NUMBERED.findall(paragraph)
    if numbers[:2] != ["1)", "2)"] or paragraph.count(")") < paragraph.count("(") + len(numbers):
        return [paragraph]
    return [part.strip() for part in _NUMBERED.split(paragraph)[::2] if part.strip()]


# Several extractors ask for the same prompts, each for all of a session's before the next one does.
_sentences_of_short = lru_cache(maxsize=_PROMPTS)(_sentences_of)
_sentences_of_long = lru_cache(maxsize=16)(_sentences_of)


def in_own_voice(span: str, text: str) -> bool:
    """Whether the words `span` of the prompt `text` are the user's own, not part of a text that they hand over."""
    own = normalize_text(
        " ".join(
            sentence.text for sentence in spoken_sentences(text) if sentence.own and not sentence.doubted
        )
    )
    return normalize_text(span) in own


def clear_sentence_cache() -> None:
    """Empty the cache of `spoken_sentences`, after a session has been read."""
    _sentences_of_short.cache_clear()
    _sentences_of_long.cache_clear()


def _with_doubts(sentences: list[Sentence], places: list[int]) -> tuple[Sentence, ...]:
    """Return the sentences, with `doubted` set for those that a later question is about."""
    marked = list(sentences)
    for at, sentence in enumerate(sentences):
        match = _SPEECH.about_it.match(sentence.text)
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
    """Whether `lead` announces somebody's words ("the page recommends:")."""
    says = _SPEECH.says.search(lead)
    return says is not None and not _SPEECH.self.match(lead[: says.start()])


def hide_quotes(sentence: str) -> tuple[str, tuple[str, ...]]:
    """Return the sentence with `""` in place of longer quotations, and these quotations."""
    return _QUOTED.sub(_HIDDEN, sentence), tuple(match[0] for match in _QUOTED.finditer(sentence))


def show_quotes(text: str, quotes: tuple[str, ...]) -> str:
    """Return `text` with the quotations put back in order; the reverse of `hide_quotes`."""
    for quote in quotes:
        text = text.replace(_HIDDEN, quote, 1)
    return text


def _reports(line: str) -> bool:
    """Whether a line announces that the lines after it are somebody else's words ("the README says:")."""
    if any(
        own.match(line) for own in (_SPEECH.orders, _SPEECH.builds, _SPEECH.own_list)
    ) or _SPEECH.our_needs.search(line):
        return False
    if opens_report(line) or _ONLY_URL.match(line):
        return True
    opens = line.rstrip().endswith(":") or _SPEECH.here_is.match(line) is not None
    return opens and (_SPEECH.theirs.search(line) is not None or _SPEECH.mine.search(line) is None)


def _paragraphs(text: str) -> list[tuple[str, bool]]:
    """Return (text, whether it is a list item) of each paragraph and list item, on one line.

    Headings, what is no prose (code, tables, logs) and words that somebody else said are left out.
    """
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
            quoting = "rest" if _SPEECH.document.search(line) and not _ONLY_URL.match(line) else "next"
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
        if not bullet and _SPEECH.own_list.match(line):
            flush()
    flush()
    return paragraphs
