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
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

from tacit.capture.marks import speaks_marked_language
from tacit.model.ids import normalize_text
from tacit.reading.sentences import split_sentences
from tacit.text.lazy_regex import lazy_regex
from tacit.text.natural_language import ENGLISH, is_plainly_english, natural_language_of
from tacit.text.tokens import TEXT_WORD

Reach = Literal["", "below", "all"]

_ANY_FENCE = lazy_regex(r"^[ \t]*(```+|~~~+).*?(?:^[ \t]*\1[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)
_CLOSED = lazy_regex(
    r"<!--.*?(?:-->|\Z)|<([a-zA-Z][\w.-]*)\b[^>\n]*>.*?</\1\s*>|\[(quote|code|doc|text)\b[^\]\n]*\].*?\[/\2\]",
    re.DOTALL | re.IGNORECASE,
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
    r"^\s*(?:[-=*_~#+>.<]{3,}|(?:[-=*_~#><]{2,})\s*[^-=*_~#><]{1,60}?\s*(?:[-=*_~#><]{2,}))\s*$"
)
_FIELD = lazy_regex(r"^\s*[\w\u00c0-\u024f][\w\u00c0-\u024f -]{1,14}:\s+\S")
_MAIL_FIELD = lazy_regex(
    r"^\s*(?:from|to|cc|bcc|subject|date|sent|reply-to|message-id|author|commit|merge|von|an|betreff|gesendet|datum|de|para|"
    r"asunto|fecha|objet|envoy[e\u00e9]|da|oggetto|data|assunto|onderwerp|\u4e3b\u9898|\u53d1\u4ef6\u4eba|\u4ef6\u540d"
    r"|\u0442\u0435\u043c\u0430|\u043e\u0442)\s*[:\uff1a]\s*\S",
    re.IGNORECASE,
)
_ADDRESS = lazy_regex(r"[\w.+-]+@[\w-]+\.\w+")
_GREETING = lazy_regex(
    r"^\s*(?:hi|hello|hey|dear|good (?:morning|afternoon|evening)|hallo|liebe[rs]?|bonjour|hola|ciao|ol[a\u00e1])\b[^.?!:;]{0,40}[,!\u2014-]?\s*$",
    re.IGNORECASE,
)
_SIGNED = lazy_regex(
    r"^\s*(?:(?:best|kind|warm|many)?\s*(?:regards|wishes|thanks)|cheers|sincerely|yours\b.*|best|thanks|thank you|br|mfg"
    r"|viele gr\u00fc\u00dfe|cordialement|saludos|- ?[A-Z]\w+)\s*[,!.]?\s*$",
    re.IGNORECASE,
)
_TITLE = lazy_regex(
    r"^\s*(?:(?:[-*+\u2022]|\d{1,3}[.)])\s+)?(?:\[[ xX]\]\s+)?(?:(?:issue|pr|mr|pull request|merge request|ticket|bug|task|story|epic|todo"
    r"|open|closed|merged|commit)\s*)?(?:[#!]\d+|[A-Z][A-Z0-9]{1,9}-\d+|(?:issue|pr|mr|ticket|bug) \d+|[0-9a-f]{7,40}(?=\s))",
    re.IGNORECASE,
)
_CHAT = lazy_regex(
    r"^\s*(?:[-*>\u2022]\s+)?(?:[\[(]?\d{1,2}:\d{2}(?::\d{2})?(?: ?[ap]m)?[\])]?\s*)?(?:<@?[\w .-]{1,30}>\s*\S"
    r"|(?:\*\*)?@?(?P<name>[^\W\d_][\w.'-]*(?: [A-Z][\w.'-]*){0,2})(?: \([^)]{1,30}\))?(?:\*\*)?\s*[:\uff1a](?:\*\*)?\s+\S)"
)
_SPEAKS = lazy_regex(
    r"^\s*(?:[-*>\u2022]\s+)?(?:\*\*)?(?!(?:[Ii]|[Ww]e|[Yy]ou|[Aa]s)\b)@?[^\W\d_][\w.'-]*(?: [A-Z][\w.'-]*){0,2}(?:\*\*)? (?:commented|wrote|said|replied|posted|asked|reviewed|left a comment|left a review"
    r"|opened|answered|suggested)(?:\s*$|\b[^.!?]{0,30}\d[^.!?]{0,30}$)"
)
"""`Mei commented on 2026-09-19`: the head of a comment."""
_OWN_LABELS_WORDS = (
    "also and ps wrong nope note notes reminder remember rule rules important convention conventions preference "
    "preferences decision decisions decided agreed settled policy requirement requirements ok okay so please btw fyi correction "
    "update no yes actually next then first second third finally todo question general generally always never "
    "style testing tests commits git q typo edit hint tldr python typescript javascript rust go java docs memory memo for going what"
)
_OWN_LABELS_ELSEWHERE = (
    "wichtig wichtige achtung hinweis regel fürs für merke merk beschlossen entschieden vereinbart important attention règle note pour "
    "décidé décision importante atenção atención ojo regla regra para pra decisión decisão recuerda lembre nota важно внимание правило "
    "решено запомни к на для 重要 注意 记住 规则 约定 決定 ルール メモ 중요 주의 규칙 결정 참고"
)
_OWN_LABELS = frozenset((*_OWN_LABELS_WORDS.split(), *_OWN_LABELS_ELSEWHERE.split()))
_OWN_LEAD = lazy_regex(
    r"\b(?:remember|memory|memori[sz]e|from now on|going forward|in (?:the )?future|(?:keep|bear) in mind|note(?:s)? (?:to self|for)"
    r"|reminders?|please note|^\W*note|^\W*for (?:this|our|my) (?:project|repo\w*|team|code ?base)|(?:my|our|some|project|team|house|ground|coding|the|these|following|new|standing) rules?|(?<!# )rules for (?:this|our|my)|conventions?|guidelines|habits"
    r"|(?:before|after|on|with|for) (?:every|each|any) (?:commit|push|pull request|pr|merge|release|deploy(?:ment)?|bug ?fix|migration|session)\b|(?:whenever|every time|each time|any ?time) (?:you|we)\b"
    r"|preferences?|requirements?|we (?:decided|agreed|use|prefer|always|never)|i (?:prefer|want|like|always)|always|never)\b",
    re.IGNORECASE,
)
OWN_LIST = lazy_regex(
    r"^\W*(?:(?:ok(?:ay)?|so|also|btw|and|hi|hey|now|just|please|well)\W+)*(?:(?:(?:one|two|three|four|five|some|several|many|a|an|few|couple|of|\d+|more|another|other|last|quick|small|little|important|general|first|my|our|final)\s+)*"
    r"(?:things?|points?|notes?|reminders?|remarks?|wishes|basics|reminder|heads[- ]up)|listen(?: up)?|before i forget|for (?:later|next time|you)|fyi|btw|ps|p\.s\.?|in (?:this|our|the) (?:repo\w*|project))\b[^:.?!\w]*(?:(?:first|to|from|for|before|about|in|i|we|you|me|us|this|our|the|my|repo\w*|project|code ?base|start|begin|remember|note|keep|mind|want|know|be|clear|today|here|that|matter|and)\W*)*[:\uff1a]\W*$",
    re.IGNORECASE,
)
"""Opens the user's own list: "two things:", "before I forget:"."""
OUR_NEEDS = lazy_regex(
    r"\bwhat (?:i|we) (?:need|want|decided|agreed|settled|have in mind)\b[^:.?!]{0,30}[:\uff1a]\s*$",
    re.IGNORECASE,
)
"""The end of a line behind which the user lists requirements, such as "this is what we need:"."""
_WORK_LEAD = lazy_regex(
    r"^\W*(?:(?:please|can you|could you|now|ok(?:ay)?|next|then|let'?s|i need you to|we need to|you need to)[\s,]+)*"
    r"(?:fix|do|add|implement|change|make|build|create|update|write|refactor|rename|remove|delete|move|test|tasks?|todos?|steps?"
    r"|plan|changes?|goals?|needed)\b[^:]*[:\uff1a]\s*$",
    re.IGNORECASE,
)
_COLON = lazy_regex(r"[:\uff1a]\s*$")
_PLAIN_WORD = lazy_regex(
    r"[(\"'\u201c\u201e]*[^\W\d_]+(?:['\u2019-][^\W\d_]+)*[)\"'\u201d\u201c.,;:!?\u2026]*|[-\u2013\u2014]"
)
_SPEAKS_OF_SELF = lazy_regex(
    r"\b(?:i|i['\u2019](?:m|d|ve|ll)|my|me|ich|mein\w*|mir|mich|je|j['\u2019]\w+|mon|ma|mes|moi)\b",
    re.IGNORECASE,
)
"""The first person singular. Programs say "we recommend", but not "on my machine"."""
_OUTPUT = lazy_regex(
    r"\b(?:outputs?|logs?|crash(?:es)?|errors?|exceptions?|panics?|traces?|tracebacks?|tests?|builds?|runs?|ci|pipeline|console|terminal|i got|we got"
    r"|ausgabe|fehler(?:meldung)?|absturz|sortie|erreur|plantage)\b",
    re.IGNORECASE,
)
"""Names what a program prints."""
BULLET = lazy_regex(r"^\s*(?:[-*+\u2022]|\d{1,2}[.)])\s+")

_ORDER = lazy_regex(
    r"^\W*(?:please\W+)?(?:from now on|going forward|in future|always|never|remember|we (?:decided|agreed))\b"
    r"|^\W*(?:before|after|on|with|for) (?:every|each|any) (?:\w+ )?(?:commit|pull request|pr|bug ?fix|release|session):?\s*$",
    re.IGNORECASE,
)
_DEICTIC = r"(?:this|that|these|those|the following|following|the below|the above|the attached|the pasted|the quoted|the next)"
_TEXT = (
    r"(?:texts?|messages?|e?mails?|paragraphs?|quotes?|notes?|excerpts?|passages?|sentences?|phrases?|wording|prompts?|instructions?"
    r"|posts?|articles?|pages?|documents?|descriptions?|summar(?:y|ies)|letters?|repl(?:y|ies)|threads?|chats?|conversations?"
    r"|transcripts?|lists?|titles?|headlines?|announcements?|feedback|drafts?|copy|translations?|answers?|statements?|advice|tips?"
    r"|suggestions?|tweets?|memos?|commands?|scripts?|one-?liners?|snippets?|lines?|rules?|polic(?:y|ies)|quotation|wiki|newsletter"
    r"|blurb|entry|entries|content|contents|words|string|strings|speech|response|review)"
)
_WORK = (
    r"(?:issues?|tickets?|bugs?|reports?|stor(?:y|ies)|prs?|pull requests?|commits?|commit messages?|comments?|logs?|outputs?|errors?"
    r"|traces?|specs?|specifications?|rfcs?|proposals?|readme|docs?|changelogs?|diffs?|patch(?:es)?|feature requests?|requests?)"
)
_ABOUT_TEXT = lazy_regex(
    rf"\b{_DEICTIC}\s+(?:(?!(?:from|in|of|to|for|with|on|by)\s)[\w'/-]+\s+){{0,2}}?{_TEXT}\b", re.IGNORECASE
)
_ABOUT_WORK = lazy_regex(rf"\b{_DEICTIC}\s+(?:[\w'/-]+\s+){{0,2}}?{_WORK}\b", re.IGNORECASE)
_FOLLOWING = lazy_regex(
    r"\b(?:the )?following\b(?! (?:the|our|an?)\b)|\bas follows\b|\bquoted?\b", re.IGNORECASE
)
_BELOW = lazy_regex(r"\b(?:below|pasted|attached)\b", re.IGNORECASE)
_REWORDS = lazy_regex(
    r"\b(?:translat\w*|summari[sz]e\w*|summary of|proof-?read\w*|paraphras\w*|rephras\w*|reword\w*|tl;?dr|spell-?check\w*|transcrib\w*"
    r"|(?:correct|check|fix|improve|polish)\s+(?:the |my |its )?(?:grammar|spelling|wording|style|tone|english|punctuation)"
    r"|turn\s+(?:this|that|it|the following)\s+into|put\s+(?:this|that|it|the following)\s+into)"
    r"(?!\s+(?:all|our|my|your|every|each|the (?!following|text|above|below))\b)",
    re.IGNORECASE,
)
_READS = (
    r"(?:review|check|explain|look at|look over|read|analy[sz]e|evaluate|assess|grade|judge|rate|comment on|respond to|reply to|answer"
    r"|interpret|understand|classify|categori[sz]e|extract|convert|format|rewrite|shorten|expand|improve|polish|edit|correct|verify"
    r"|quote|describe|discuss|compare|simplify|criti(?:que|ci[sz]e)|triage|sanity[- ]check)"
)
_DOES = (
    r"(?:use|apply|implement|follow|process|handle|investigate|debug|fix|address|resolve|see|copy|paste|add|put|insert|include|append|post"
    r"|send|commit|save|store|print|take|got|received|found|saw|have)"
)
_BARE = r"(?:this|that|these|those|the following|below|the above)(?=\s*(?:$|[.?!:,;\u2014-]|and\b|please\b|for me\b|carefully\b|to\b|in\b|as\b|then\b|out\b))"
_READS_BARE = lazy_regex(rf"\b{_READS}(?:\s+(?:me\s+)?{_BARE}|\s*[:\uff1a])", re.IGNORECASE)
_CODE = (
    r"(?:functions?|class(?:es)?|methods?|modules?|components?|files?|code|tests?|handlers?|endpoints?|quer(?:y|ies)|types?|hooks?|forms?|branch(?:es)?"
    r"|repo(?:sitory)?|projects?|loops?|logic|helpers?|services?|apis?|schemas?|tables?|regex(?:es)?|configs?|migrations?|routes?|views?|models?|packages?)"
)
_POINTS_AT = lazy_regex(
    rf"\b{_READS}\s+(?:to |on |about )?(?:this|that|these|those|the following|the attached)\s+(?!(?:\w+ )?{_CODE}\b)\w+",
    re.IGNORECASE,
)
_DOES_BARE = lazy_regex(rf"\b{_DOES}(?:\s+{_BARE}|\s*[:\uff1a])", re.IGNORECASE)
_ASKS = lazy_regex(
    r"\bwhat(?:'s| is| are| does| do| did| would)\b[^?]{0,40}\b(?:this|that|these|those|the above|the following)\b(?:[^?]{0,20})\?"
    r"|\bwhat (?:does|do|did|is) (?:it|they)\b[^?]{0,12}\b(?:mean|say|saying|about)\b"
    r"|^\W*(?:(?:so|and|but|ok|hmm+|well|wait)\b[\s,]*)*(?:is|are|was|were|isn'?t|aren'?t|does|do|did|doesn'?t|would|should|could|can|sounds?|looks?|seems?)\s+"
    r"(?:this|that|these|those|the above)\b"
    r"|^\W*(?:is|are|was|does|would|sounds?|looks?)\s+(?:it|they)\b[^?]{0,12}\b(?:mean|say|safe|legit\w*|sane|correct|true|ok(?:ay)?|right|sense|good|wise|harmless"
    r"|dangerous|malicious|risky|spam|phishing|real|allowed)\b"
    r"|\bwhat do you (?:think|make of)\b(?!\s+(?:of|about)\s+(?!this|that|it\b|these|those))|\bwhat'?s your (?:take|opinion|view)\b|\b(?:any|your) (?:thoughts|opinions?)\b"
    r"|^\W*(?:thoughts|opinions?|agree|right|correct|safe|legit|ok(?:ay)?|true|really|sane|makes? sense|good idea|sounds? (?:good|right|ok(?:ay)?))\s*\?"
    r"|\bshould (?:i|we|you) (?:run|do|follow|trust|believe|merge|apply|accept|use|worry about|obey|comply|ignore|care about|take)\s+(?:this|that|it|these|those|them)\b"
    r"|\bwho (?:wrote|said|sent|posted)\b|\bwhy (?:does|do|would|did|is|are) (?:this|that|it|he|she|they|someone|somebody|anyone)\b"
    r"|\bhow (?:would|should|do|can) (?:you|i|we) (?:answer|phrase|reply|respond|translate|react|word)\b"
    r"|\bis (?:it|this|that) (?:a )?(?:safe|good|bad|wise|ok|okay|sane|fine)\b",
    re.IGNORECASE,
)
_HAVE_TEXT = lazy_regex(
    r"\b(?:here(?:'s| is| are| come(?:s)?)|this is|that'?s|these are)\s+(?:what\b|the\b|an?\b|my\b|our\b|his\b|her\b|their\b|some\b|one\b)"
    r"|\b(?:got|received|found|saw|copied|pasted|read|came across|sent me|wrote(?: me)?|told me|asked me|posted|emailed me|forwarded)\s+"
    r"(?:this|that|the following|me this|these)\b",
    re.IGNORECASE,
)
_OTHER_SCRIPT = lazy_regex(
    r"[\u0370-\u03ff\u0400-\u052f\u0530-\u058f\u0590-\u05ff\u0600-\u06ff\u0900-\u0dff\u0e00-\u0eff\u10a0-\u10ff\u1100-\u11ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]"
)
_ACCENTED = lazy_regex(r"[\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f\u1e00-\u1eff\u00bf\u00a1]")
_TRANSLATES = lazy_regex(
    r"(?<![a-z])(?:traduc|tradu[iz]|traduis|tradurr|\u00fcbersetz|uebersetz|vertal|\u00f6vers\u00e4tt|overs\u00e6t|oversett|przet\u0142|\u00e7evir|terjemah"
    r"|d\u1ecbch|p\u0159elo\u017e|prelo\u017e|k\u00e4\u00e4nn|ford\u00edts|prevedi)",
    re.IGNORECASE,
)
_HANDED_OVER = lazy_regex(
    r"\bперевед|\bперевести\b|翻译|翻譯|訳して|訳す|翻訳|번역|要約|要约|总结|總結|摘要|요약|резюмир|zusammenfass|résume[rz]?\b|résumer\b",
    re.IGNORECASE,
)
"""Asks in another script, or with other words, to do something with a text."""
_OTHER_SCRIPTS = frozenset({"ru", "zh", "ja", "ko"})
_LATIN_WORD = lazy_regex(r"[A-Za-z]{2,}")
_LEAST_PROSE = 4
_ELSEWHERE_WORDS = (
    "der das und ist nicht bitte ein eine einen einem diesen diese dieses dieser ins zu mit für auf den dem "
    "von wie kannst ich wir folgende folgenden folgendes hier bedeutet prüfe erkläre korrigiere schreibe mir "
    "meinen sicher le la les des une est et ce cette ces cela que pour dans avec sur vous moi du au il elle "
    "suivant suivante texte merci s'il el los las una esto este esta por para favor del al con lo siguiente "
    "texto qué significa revisa corrige seguro hola os uma isto isso não ao seguinte revise gli questo questa "
    "che per di seguente testo cosa controlla het een dit dat naar voor van graag alsjeblieft deze betekent "
    "tekst bericht wat proszę na ten jest co to znaczy bunu lütfen ve bir bu ne demek och det att på till "
    "denna detta og til denne ini ke dalam tolong teks apa này hãy acest și prosím toto tämä suomeksi ezt "
    "kérlek"
)
_ELSEWHERE = frozenset(_ELSEWHERE_WORDS.split())
_ENGLISH_WORDS = (
    "the a an of to and in is are it this that for with on you your my our we i be please can could would "
    "should do does not don't from by at as or if when what how which use make add fix run write test check "
    "now so have has was will need want all any into its but then also there here after before only never "
    "always update remove change file code"
)
_ENGLISH = frozenset(_ENGLISH_WORDS.split())


def printed_lines(text: str) -> frozenset[int]:
    """The numbers of the lines of `text` that a program printed, such as a log or a stack trace.

    A paragraph counts if at least half of its lines are indented or hold at least a third of words with digits or symbols in them.
    A paragraph behind it counts as well, unless it speaks in the first person singular.
    """
    printed: set[int] = set()
    goes_on = False
    for first, last in _paragraphs_of(lines := text.split("\n")):
        paragraph = lines[first:last]
        by_program = 2 * sum(map(_looks_printed, paragraph)) >= len(paragraph)
        goes_on = by_program or (goes_on and not any(map(_SPEAKS_OF_SELF.search, paragraph)))
        if goes_on:
            printed.update(range(first, last))
    return frozenset(printed)


def introduces_printed(sentence: str, text: str) -> bool:
    """Whether a sentence of `text` announces what a program printed, and that stands behind it."""
    lines, printed = text.split("\n"), printed_lines(text)
    return _announces_output(sentence) and any(
        bool(line.strip())
        and (sentence.endswith(line.strip()) or line.rstrip().endswith(sentence))
        and _next_line(lines, number) in printed
        for number, line in enumerate(lines)
    )


def _announces_output(line: str) -> bool:
    """Whether a line that ends in a colon names what a program printed, not what somebody says or a text to work on."""
    return bool(_COLON.search(line) and _OUTPUT.search(line)) and not (
        reports_others(line) or _REWORDS.search(line) or _ABOUT_TEXT.search(line) or _POINTS_AT.search(line)
    )


def _paragraphs_of(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Where each run of lines that are not blank begins, and where it ends."""
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
    """Whether a sentence is a request or question about a text in its prompt, and how far that text may reach.

    Returns:
        `all` = any other sentence of the prompt may be of that text; `below` = what stands on the lines after it; "" = no request.
    """
    if _ORDER.match(sentence) or OUR_NEEDS.search(sentence):
        return ""
    if (
        _REWORDS.search(sentence)
        or _ABOUT_TEXT.search(sentence)
        or _READS_BARE.search(sentence)
        or _ASKS.search(sentence)
    ):
        return "all"
    if _FOLLOWING.search(sentence):
        return "all"
    if (
        _BELOW.search(sentence)
        or _POINTS_AT.search(sentence)
        or _ABOUT_WORK.search(sentence)
        or _DOES_BARE.search(sentence)
        or _HAVE_TEXT.search(sentence)
    ):
        return "below"
    return ""


def other_language(text: str) -> bool:
    """Whether `text` is in another language than English, by its script, its marks and its short words."""
    if len(_OTHER_SCRIPT.findall(text)) >= 2 or _TRANSLATES.search(text):
        return True
    spoken = re.sub(r"`[^`]*`", " ", text)
    words = [word.lower().replace("\u2019", "'") for word in TEXT_WORD.findall(spoken)]
    if not words:
        return False
    foreign = sum(word in _ELSEWHERE for word in words) + sum(bool(_ACCENTED.search(word)) for word in words)
    english = sum(word in _ENGLISH for word in words)
    return foreign >= 1 and foreign > english


def speaks_one_language(text: str) -> bool:
    """Whether all of `text` is in one known language other than English and asks for no translation. Then the user wrote all of it."""
    code = natural_language_of(text)
    if (
        (code == ENGLISH and not speaks_marked_language(text))
        or _TRANSLATES.search(text)
        or _HANDED_OVER.search(text)
    ):
        return False
    if code in _OTHER_SCRIPTS and any(_is_english_prose(line) for line in text.split("\n")):
        return False
    return not any(is_plainly_english(line) for line in text.split("\n"))


def _is_english_prose(line: str) -> bool:
    """Whether a line of a prompt in another script has so many Latin words that it may be a pasted text."""
    return len(_LATIN_WORD.findall(line)) >= _LEAST_PROSE and natural_language_of(line) == ENGLISH


def own_text(prompt: str) -> str:
    """The lines of `prompt` that may be the user's own voice; what is pasted by its form is left out, and an announced line reads `>`."""
    text = _QUOTATION.sub(_without_quotation, _CLOSED.sub("\n\n", _ANY_FENCE.sub("\n\n", prompt)))
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
    """Nothing for a quotation of several lines, or without an end; a short one belongs to the sentence around it."""
    closed = len(match[0]) > 1 and match[0][-1] in "\"'\u201c\u201d\u00bb\u300d\u300f"
    return match[0] if closed and "\n" not in match[0] else "\n\n"


def _end_of_own(lines: list[str]) -> int:
    """The first line of what is foreign to the end: headers of a mail, or what stands behind a separator."""
    for number, line in enumerate(lines):
        if _SEPARATOR.match(line):
            return number
        fields = _MAIL_FIELD.match(line)
        beside = number + 1 < len(lines) and _FIELD.match(lines[number + 1])
        if fields and (_ADDRESS.search(line) or beside or line.lstrip()[:8].lower().startswith("subject")):
            return number
    return len(lines)


def _letter(lines: list[str]) -> set[int]:
    """The lines of a letter, from its greeting to its signature."""
    greeting = next((number for number, line in enumerate(lines) if _GREETING.match(line)), None)
    if greeting is None:
        return set()
    signed = next((n for n, line in enumerate(lines) if n > greeting + 1 and _SIGNED.match(line)), None)
    return set() if signed is None else set(range(greeting, len(lines)))


def _announced(lines: list[str]) -> set[int]:
    """Lines that a line before them announces as a text, titles, and lines of a chat."""
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
            and not _OWN_LEAD.search(before)
            and not _COLON.search(before)
        ):
            announced.add(number)  # a list below a title
            until = "list"
            continue
        chat = _CHAT.match(line)
        label = (chat["name"] or "").split()[0].lower() if chat and chat["name"] else ""
        if _TITLE.match(line):
            announced.add(number)
        elif _SPEAKS.match(line) or (
            chat is not None and label not in _OWN_LABELS and not _WORK_LEAD.match(line)
        ):
            announced.add(number)
            until = "block"
        elif _COLON.search(line):
            own = (
                OWN_LIST.match(line)
                or OUR_NEEDS.search(line)
                or (_OWN_LEAD.search(line) and asks_about_text(line) != "all")
            )
            if not own:
                following = _next_line(lines, number)
                if _WORK_LEAD.match(line) and BULLET.match(lines[following]):
                    until = "list"
                else:
                    until = "printed" if following in printed and _announces_output(line) else "end"
    return announced


def _next_line(lines: list[str], number: int) -> int:
    """The number of the next line that is not blank; `number` = there is none."""
    return next((n for n in range(number + 1, len(lines)) if lines[n].strip()), number)


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
_GIVES_REASON = lazy_regex(r"\b(?:because|since|so that|as otherwise)\b", re.IGNORECASE)
_BY_SPEAKER = lazy_regex(
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
    claim = _GIVES_REASON.split(text, maxsplit=1)[0]
    leads = (claim[: match.start()] for match in pattern.finditer(claim))
    return any(not _BY_SPEAKER.match(lead) and not _UNTIL.search(lead) for lead in leads)


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
