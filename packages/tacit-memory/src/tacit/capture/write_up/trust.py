"""The trust in a writer's statement. In: a statement, its session. Out: a draft, or the reason why it is dropped.

It is the user's where they stated the quoted words: in the writer's wording where that says no more and no less, else in their own sentence, while the
writer's wording only says when it applies. It is theirs, too, where the user said yes to what the agent proposed in these
words; else the agent's. What stands in a text that somebody handed over, or in the output of a program, becomes active only where
the user says it, too. A statement's quote has to stand in the message that it names, word by word. What the statement names (files,
symbols, flags, versions, numbers) has to stand in the session.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace

from tacit.capture.usage import EchoDetector
from tacit.capture.write_up.messages import Numbered
from tacit.capture.write_up.request import AnswerStatement
from tacit.errors import InvalidInput
from tacit.frozen import frozen
from tacit.model.change_reason import ChangeCause
from tacit.model.changes import Draft
from tacit.model.ids import normalize_text
from tacit.model.memory import Provenance, TrustTier
from tacit.model.trigger import Trigger
from tacit.reading.digest_lines import stems
from tacit.reading.explicit import normalize_statement
from tacit.reading.marks import length_in_words, word_count
from tacit.reading.prompts import is_objection, read_reply
from tacit.reading.prose import (
    asks_about_text,
    hide_quotes,
    in_own_voice,
    opens_report,
    reports_others,
    spoken_sentences,
)
from tacit.reading.situation import read_situation
from tacit.reading.trigger import make_trigger
from tacit.reading.when import parse_when
from tacit.safety.danger import danger_of
from tacit.state.captured import Message, PendingSession
from tacit.text.tokens import CODE_SPAN, WORD

MIN_GROUNDED_SHARE = 0.5
"""Least share of a statement's word stems that must occur in the session."""
LEAST_WORDS, MOST_WORDS = 3, 60
"""Allowed words of a statement. The request asks for 8 to 45; a user's short sentence must not be lost."""
MIN_QUOTED_WORDS = 3
_WORD = re.compile(r"[^\s,;!?()\[\]{}\"\u201c\u201d\u2018\u2019`]+")
_NAME = re.compile(
    r".*\d"  # a number, a version, a port
    r"|--?\w"  # a flag
    r"|[\w.~-]*/[\w./*~-]+"  # a path
    r"|\w+(?:_\w+)+|_\w+"  # snake_case
    r"|[A-Za-z]*[a-z][A-Z]\w*"  # camelCase
    r"|\w[\w-]*\.\w{1,8}(?:\.\w+)*$"  # a file, an attribute
    r"|[@$%]\w"
)
_PROSE = re.compile(r"(?:e\.g|i\.e|etc|vs|and/or|either/or|w/o|n/a)\.?$", re.IGNORECASE)
_OMITTED = re.compile(r"\[?(?:\.\.\.|\u2026)\]?")
_END = re.compile(r"(?:['\u2019]s|\+)$")
_EDGES = "\"'`\u201c\u201d\u2018\u2019 .,;:!"


def find_quote(quote: str, text: str) -> str:
    """Return the exact words of `text` that `quote` repeats, punctuation and line breaks ignored; "" = none.

    Of a quote with an omission its longest part counts.
    """
    longest = max(_OMITTED.split(quote), key=len)
    words = WORD.findall(longest)
    if len(words) < MIN_QUOTED_WORDS:
        return ""
    sequence = r"[\W_]+".join(map(re.escape, words))
    match = re.search(rf"(?<!\w){sequence}(?!\w)", text, re.IGNORECASE)
    return match[0] if match else ""


def names_in(content: str) -> tuple[str, ...]:
    """Return the names in a statement (code, paths, symbols, flags, numbers), without repeats."""
    words = [word for code in CODE_SPAN.findall(content) for word in _WORD.findall(code)]
    words += [
        word
        for word in _WORD.findall(CODE_SPAN.sub(" ", content))
        if _NAME.match(word) and not _PROSE.match(word)
    ]
    names = (_END.sub("", word.strip(_EDGES)) for word in words)
    return tuple(dict.fromkeys(name for name in names if re.search(r"\w", name)))


def find_ungrounded_reason(
    content: str, sent_texts: Sequence[str], *, other_names: Sequence[str] = ()
) -> ChangeCause | None:
    """Return why a statement is not grounded in the session (length, unnamed names, words); None = it is.

    Args:
        content: the statement.
        sent_texts: all that was sent of the session.
        other_names: names that it may use without the session saying them, such as the project's.
    """
    if word_count(content) < LEAST_WORDS or length_in_words(content) > MOST_WORDS:
        return ChangeCause.WRONG_LENGTH
    whole = "\n".join((*sent_texts, *other_names)).casefold()
    for name in names_in(content):
        if not _holds(whole, name.casefold()):
            return ChangeCause.NAMES_UNNAMED
    own = stems(content)
    if not own or len(own & stems(whole)) / len(own) < MIN_GROUNDED_SHARE:
        return ChangeCause.SAYS_UNSAID
    return None


def quote_coverage(span: str, content: str) -> float:
    """Return the share (0-1) of the quote's word stems that the statement holds."""
    quoted = stems(span)
    return len(quoted & stems(content)) / len(quoted) if quoted else 0.0


def _holds(whole: str, name: str) -> bool:
    """Whether `name`, or every segment of a path, occurs in `whole` as a whole word."""
    segments = [segment for segment in name.split("/") if segment]
    return _stands(whole, name) or (
        len(segments) > 1 and all(_stands(whole, segment) for segment in segments)
    )


def _stands(whole: str, name: str) -> bool:
    start = r"(?<![\w])" if name[0].isalnum() else ""
    end = r"(?![\w])" if name[-1].isdigit() else ""
    return re.search(f"{start}{re.escape(name)}{end}", whole) is not None


MAX_CONFIDENCE = 0.9
MAX_QUESTION_CONFIDENCE = 0.4
"""Most confidence in a statement whose words are a question."""
MIN_QUOTE_COVERAGE = 0.4
"""Least share of the quoted words that a statement must hold to count as being about them."""
_HANDED_ON = re.compile(
    r"^[ \t]*(```|~~~).*?(?:^[ \t]*\1[ \t]*$|\Z)|^[ \t]*>[^\n]*$", re.DOTALL | re.MULTILINE
)
"""Parts of an agent's message that show or quote something."""
_NOTICE = re.compile(
    r"\s*(?:[=-]{1,3}>|\*{2,3} |!{2,} )|\W*[A-Z]{4,}(?: [A-Z]+)+:|[^\w\n]*+[\w.-]*[Bb]ot\b\W*:"
)
"""How a line begins that was not written by the user: an arrow, a heading in capitals, or a bot's name."""
_LABEL = re.compile(r"^[ \t]*([A-Za-z][\w.-]*(?: [\w.-]+)?):[ \t]+\S", re.MULTILINE)
QuoteCheck = Callable[[str, str, Sequence[str]], str]
"""(statement, quoted words, prompts) -> the user's part: the statement, else their sentence, else "".

"" = the words are no lasting statement of the user's. The statement itself is returned where the words say as
much.
"""


@frozen
class AnswerContext:
    """The data of a session against which the statements of one answer are checked.

    Attributes:
        waiting: the session.
        sent: the messages as they were sent.
        echoes: what was put into the session's context.
        project: name of the project, or "".
        vouches: see `QuoteCheck`.
        extractor: provider and model.
    """

    waiting: PendingSession
    sent: Sequence[Numbered]
    echoes: EchoDetector
    project: str
    vouches: QuoteCheck
    extractor: str


def make_draft(statement: AnswerStatement, reading: AnswerContext) -> Draft | ChangeCause:
    """Return the statement as a draft, or the cause why it is dropped."""
    sent = next((message for message in reading.sent if message.number == statement.number), None)
    if sent is None:
        return ChangeCause.NO_SUCH_MESSAGE
    span = find_quote(statement.quote, sent.text)
    if not span:
        return ChangeCause.NOT_QUOTED
    if why := find_ungrounded_reason(
        statement.content, [message.text for message in reading.sent], other_names=(reading.project,)
    ):
        return why
    content = normalize_statement(statement.content)
    settled = _attribute(statement, span, sent, reading)
    if settled is None:
        return ChangeCause.REPEATS_GIVEN
    evidence = [span]
    for place, words in _further(statement, reading):
        evidence.append(words)
        also = _attribute(statement, words, place, reading)
        if also is None:
            continue  # a correction rests on what was refused, too
        if also.tier is TrustTier.USER and settled.tier is not TrustTier.USER:
            settled, sent, span = also, place, words
        elif sent.message.role == "assistant" == place.message.role:
            settled = _said_plainly(settled, also, quote_coverage(content, words))
    waiting, message = reading.waiting, sent.message
    question = next(
        (message.text for message in waiting.messages[sent.number - 1 :: -1] if message.role == "user"), ""
    )
    stored = settled.statement or content
    confidence = min(statement.confidence, MAX_QUESTION_CONFIDENCE if "?" in span else MAX_CONFIDENCE)
    return Draft(
        content=stored,
        kind=statement.kind,
        scope=waiting.scope,
        provenance=Provenance(
            tier=settled.tier,
            source="session",
            host=waiting.key.host,
            session_id=waiting.key.session_id,
            turn=message.prompt,
            span=span,
            extractor=reading.extractor,
        ),
        at_ms=message.at_ms,
        confidence=round(confidence, 2),
        explicit=settled.confirmed,
        doubtful=settled.doubtful or bool(danger_of(stored)),
        evidence=tuple(dict.fromkeys(words for words in evidence if words != span)),
        trigger=_trigger(content, statement, question),
    )


def _said_plainly(settled: _Attribution, also: _Attribution, coverage: float) -> _Attribution:
    """Return `settled` without doubt if the agent says the same in its own words in a further place.

    `coverage` = share of the statement's word stems in the words of that place.
    """
    if (
        settled.doubtful
        and not also.doubtful
        and also.tier is settled.tier
        and coverage >= MIN_QUOTE_COVERAGE
    ):
        return replace(settled, doubtful=False)
    return settled


def _further(statement: AnswerStatement, reading: AnswerContext) -> list[tuple[Numbered, str]]:
    """Return (message, words) of the further quotes of a statement that really occur."""
    sent = {message.number: message for message in reading.sent}
    return [
        (sent[number], words)
        for number, quote in statement.further
        if number in sent and (words := find_quote(quote, sent[number].text))
    ]


@frozen
class _Attribution:
    tier: TrustTier
    confirmed: bool = False
    doubtful: bool = False
    statement: str = ""


def _attribute(
    statement: AnswerStatement, span: str, sent: Numbered, reading: AnswerContext
) -> _Attribution | None:
    """Return whose statement it is, and whether that is doubtful; None = it is an echo, or the user objected."""
    message, content = sent.message, statement.content
    agents = _Attribution(tier=TrustTier.ASSISTANT)
    users = _Attribution(tier=TrustTier.USER)
    doubtful = _Attribution(tier=TrustTier.ASSISTANT, doubtful=True)
    if message.role == "tool":
        return doubtful
    if message.role == "user":
        if reading.echoes.repeated_by_user(span):
            return None
        if not in_own_voice(span, message.text) or _handed_on(span, message.text):
            return doubtful
        own = reading.vouches(content, span, [message.text])
        if own and (own == content or quote_coverage(span, content) >= MIN_QUOTE_COVERAGE):
            return _Attribution(tier=TrustTier.USER, statement=own)
        return agents
    reply, answered = _reply_to(sent.number, reading.waiting.messages)
    if reply is not None and is_objection(reply.text):
        return None
    if reading.echoes.repeated_by_agent(content, span):
        return None
    if not find_quote(span, _own_words_of(message.text)) or opens_report(_before(span, message.text)):
        return doubtful
    if reply is None or not read_reply(reply.text).accepts:
        return agents
    if answered and reading.vouches(content, span, [message.text]) in (content, span):
        return users
    return _Attribution(tier=TrustTier.ASSISTANT, confirmed=True)


def _handed_on(span: str, text: str) -> bool:
    """Whether the user only quotes or reports the words, or asks about them."""
    words = normalize_text(span)
    around = [
        sentence.text for sentence in spoken_sentences(text) if _overlap(words, normalize_text(sentence.text))
    ]
    quoted = any(
        hide_quotes(sentence)[1] and words not in normalize_text(hide_quotes(sentence)[0])
        for sentence in around
    )
    reported = any(asks_about_text(sentence) == "all" or reports_others(sentence) for sentence in around)
    lead = _before(span, text)
    return quoted or reported or opens_report(lead) or bool(_NOTICE.match(lead)) or _is_dialog(text)


def _overlap(first: str, second: str) -> bool:
    return bool(first and second) and (first in second or second in first)


def _before(span: str, text: str) -> str:
    """Return the text before the words, on their line."""
    return text[: max(0, text.find(span))].rpartition("\n")[2]


def _is_dialog(text: str) -> bool:
    """Whether the text is a conversation of others: three lines with a speaker, one of them twice."""
    speakers = _LABEL.findall(text)
    return len(speakers) >= 3 and len(set(speakers)) < len(speakers)


def _own_words_of(text: str) -> str:
    """Return what the agent says itself, without code blocks and quotations."""
    return hide_quotes(_HANDED_ON.sub("\n", text))[0]


def _reply_to(number: int, messages: Sequence[Message]) -> tuple[Message | None, bool]:
    """Return the user's next message (None = none), and whether nothing of the agent's came before it."""
    between = False
    for message in messages[number:]:
        if message.role == "user":
            return message, not between
        between = between or message.role == "assistant"
    return None, False


def _trigger(content: str, statement: AnswerStatement, question: str) -> Trigger:
    """Return the trigger from the writer's `when`, else one made from the words."""
    items: list[str] = []
    for item in statement.when:
        with suppress(InvalidInput):
            parse_when(item, maker="model")
            items.append(item)
    if items:
        with suppress(InvalidInput):
            return parse_when("\n".join(items), maker="model")
    return make_trigger(content, kind=statement.kind, situation=read_situation(question[:300]))
