"""Whether a person means a sentence of a prompt, and means it to last. In: the sentences of prompts. Out: why not, or "".

One judgment for what a prompt teaches and for what an agent quotes of it: words that are pasted, asked, doubted, another person's, taken
back, for once, mocked or about another project are no rule of the user's. What a sentence marks as lasting is for `capture.marks`. Pure.

What the user marks as lasting in a prompt, found in real time. In: prompt text. Out: statements.

Reads the sentences that the user speaks in their own voice with `capture.marks`. Questions, one-off orders, quotations and pasted
matter stay out. Never reads files, never calls a model.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from tacit.capture.marks import (
    Marked,
    goes_on,
    is_doubtful,
    is_one_off,
    is_question,
    is_reported,
    is_requirement,
    lead_free,
    only_marks,
    read_marked,
    takes_back,
)
from tacit.capture.prose import (
    Sentence,
    hide_quotes,
    names_source,
    pasted_document,
    show_quotes,
    spoken_sentences,
)
from tacit.text.lazy_regex import lazy_regex
from tacit.text.natural_language import natural_language_of
from tacit.text.stemming import stems

NotMeant = Literal[
    "", "pasted", "asks", "doubts", "reports", "taken_back", "for_once", "mocked", "elsewhere", "points_back"
]

NEAR_SENTENCES = 4
"""Sentences of a later prompt that are looked at for what it takes back."""
_REMARK_WORDS = 4
"""Most words of a remark that mocks the sentence before it."""
_QUOTED = lazy_regex(
    r"^[\"\u201c\u201e\u00ab].*[\"\u201d\u201c\u00bb]\W*$|^\W*(?:[\w-]+-bot|speaker \d+|notice(?: to [\w ]+)?):\s",
    re.DOTALL | re.IGNORECASE,
)
"""Words in quotation marks, and those behind the name of whoever says them."""
_HANDED = lazy_regex(
    r"\bthe user['\u2019]s last messages? may hold\b|\bfor later sessions with memory_add\b"
    r"|^\W*(?:(?:please|can you|could you) )*(?:fix|correct|check|proofread|translate|rephrase|reword|rewrite|shorten|summari[sz]e|classify|label|korrigier\w*|\u00fcbersetz\w*|corrige\w*|tradui\w*)\b"
    r"[^:]{0,80}\b(?:grammar|spelling|wording|sentence|text|meaning|paragraph|translation|grammatik|rechtschreibung|satz|grammaire|orthographe|phrase)\b[^:]{0,60}:\s"
    r"|^\W*(?:which|what|welche\w*|quelle?)\b[^:]{0,60}\b(?:label|category|sentence|text|kategorie|satz|cat\u00e9gorie|phrase)\b[^:]{0,60}:\s",
    re.IGNORECASE,
)
"""The words of our own reminder, and an order or question about a text that follows behind a colon."""
_MOCKED = lazy_regex(
    r"(?:^|\s)/s\b|\b(?:lo+l|lmao+|rofl|ha(?:ha)+|jk|just kidding|chef['\u2019]s kiss)\W*$|\bwhat could (?:possibly )?go wrong|\b(?:yeah|yea|sure|oh)[, ]+(?:right|sure|great|yeah)\b|\bgreat idea\b|\bbrilliant\b|\bgenius\b"
    r"|\bbecause that (?:worked|went) (?:so )?well|\b(?:ja|na) klar\b|\btolle idee\b|\bganz toll\b|\bben voyons\b|\bbien s\u00fbr\b|\bmais oui\b|\bquelle (?:bonne|super|brillante) id\u00e9e|\bwho needs\b|\bthanks for nothing\b|\bjust what (?:we|i) need|\bwer braucht (?:schon|denn)|\b(?:super|geniale|klasse) idee\b|\b(?:l\u00e4uft|klappt|funktioniert) ja (?:super|bestens|toll|prima)|\bqui a besoin (?:de|d['\u2019])|\btant qu['\u2019]on y est\b|\btellement (?:plus )?(?:dr\u00f4le|malin|pratique)\b|[\U0001f644\U0001f602\U0001f923\U0001f921]",
    re.IGNORECASE,
)
_MOCKING_START = lazy_regex(
    r"^\W*(?:(?:lol|ok|oh|ah|na|mh+)\W+)*(?:wow|fantastic|great|super|klasse|toll|bravo|g\u00e9nial|ben oui|wonderful|lovely|brilliant|awesome|magnifique|parfait|prima|herrlich|of course|nat\u00fcrlich|lo+l|lmao+|rofl|ha(?:ha)+|sure,? let['\u2019]?s (?:never|always|just))"
    r"[,\s]+(?![\s,]|(?:thanks?|thank you|thx|that|this|it|danke|merci|das|\u00e7a|works?|job|work|now|so|next|and|let|from|always|never|please|remember|we|i|use|keep|bitte|ab|immer|nie|wir|ich|on|je|toujours|d\u00e9sormais|retiens|no|nope|nein|non)\b)\w",
    re.IGNORECASE,
)
"""Praise that goes on at once, or laughter: what follows is rarely meant. "Great, thanks." and "Super." are."""
_ELSEWHERE = lazy_regex(
    r"\b(?:in|at|on|for) (?:the |my |our |an?|their |his |her )?(?:old|other|previous|last|former|another|different|friend'?s) (?:\w+ )?(?:repo(?:s|sitor\w+)?\b|projects?|job|company|team|client|codebase|gig|place)\b"
    r"|\b(?:im|in der|in unserem|in meinem|bei(?:m| der)?) (?:alten|anderen|vorigen|letzten|fr\u00fcheren) (?:repo(?:s|sitor\w+)?\b|projekt|firma|job|team|kunden)\b"
    r"|\b(?:dans|sur|chez) (?:l['\u2019]|le |la |mon |ma |notre |un |une )?(?:ancien(?:ne)?|autre|pr\u00e9c\u00e9dente?|dernier|derni\u00e8re) (?:d\u00e9p\u00f4t|repo|projet|bo\u00eete|\u00e9quipe|client|poste)\b",
    re.IGNORECASE,
)
_BACK = lazy_regex(
    r"\b(?:never ?mind|nvm|(?:ignore|scratch|strike|disregard) (?:that|it|what i)|forget (?:that|it|what i)\b|take (?:that|it) back|told me:? no|on second thoughts?|changed my mind"
    r"|vergiss (?:das|es)\b(?! nicht)|streich das|nehme? (?:das|es) zur\u00fcck|kommando zur\u00fcck|oublie[sz]? (?:\u00e7a|cela|ce que)|laisse[sz]? tomber)\b",
    re.IGNORECASE,
)
"""Words that take back what was said before, anywhere in a sentence."""
_ASKS_OR_SOLVED = lazy_regex(
    r"\?\s*$|\b(?:works?|working|fixed|found|solved|figured|got it|later|geht|l\u00e4uft|klappt|gefunden|gel\u00f6st|sp\u00e4ter|marche|trouv\u00e9|r\u00e9gl\u00e9|plus tard)\b",
    re.IGNORECASE,
)
"""A question, or a word that says that a task is over or put off: "never mind, it works now" takes no rule back."""
_OPENS_BACK = lazy_regex(
    r"^\W*(?:(?:oh|hm+|m?h+|nah|ah|ach|nee?|nein|euh|non?|nope|but|aber|mais|ok|well|sorry|quatsch)\b[\s,.!\u2026]*)*"
    r"(?:actually,? no\b(?! (?:need|one|more)\b)|no,? wait\b|wait,? no\b|or no\b|(?:so |we )?stay (?:on|with|at)\b|doch (?:nicht|lieber)\b|halt,? nein|lass (?:das|mal)\b|(?:wir )?bleib(?:en|t) (?:bei|wir)"
    r"|finalement,? (?:non|pas|on)\b|en fait,? non|attends,? non|on reste\b|tout compte fait|oublions|annule|rev(?:iens|enons) \u00e0|on garde\b|rectification|au temps pour moi|let['\u2019]?s not\b|rather not\b|lieber (?:doch )?nicht|doch (?:kein|ohne|wieder|bei)|lassen wir)"
    r"|\b(?:my (?:bad|mistake)|(?:i|that) was wrong|(?:undo|revert|cancel) that|(?:leave|keep) (?:it|that|them|the \w+) (?:as (?:it|they) (?:is|was|are|were)|unchanged)|back to (?:the )?(?:old|previous|before|how)"
    r"|mich (?:geirrt|vertan|verlesen)|war (?:falsch|quatsch|ein (?:fehler|irrtum|missverst\u00e4ndnis))|stimmt (?:doch )?nicht|r\u00fcckg\u00e4ngig|bleibt (?:alles )?(?:wie|beim)|zur\u00fcck (?:auf|zu)|suis tromp\w+|comme avant)\b|^\W*(?:m?h+|nah|no|nope|oh|ah|hm+)\b[^.]*\binstead\b|\bno,? (?:dont|don['\u2019]t|do not)\b",
    re.IGNORECASE,
)
"""Begins a sentence that takes back the one before it."""
_PUTS_BACK = lazy_regex(
    r"\b(?:put|bring|add|turn|switch)\s+(?P<what>[^.;!?]{2,60}?)\s+back\b|\b(?:nimm|bau|schalt\w*|mach)\s+(?P<was>[^.;!?]{2,60}?)\s+wieder (?:rein|ein|an)\b|\b(?:remets?|remettez|r\u00e9tablis\w*)\s+(?P<quoi>[^.;!?]{2,60})",
    re.IGNORECASE,
)
_CORRECTS_ITSELF = lazy_regex(
    r"^\W*[\w'\u2019./-]+\W+[\w'\u2019./-]+.*?\W(?:euh |\u00e4h |uh )?(?:attends,? non|halt,? nein|wait,? no|no,? wait)\b",
    re.IGNORECASE | re.DOTALL,
)
"""Behind two words or more: a sentence that begins so corrects the one before it, and stands."""
_FOR_ONCE = lazy_regex(
    r"^\W*(?:for |just )?today\b|\b(?:real quick|quickly once|just (?:this )?once|this one time|heute mal|mal (?:eben|schnell)|schnell mal|diesmal|vite fait|(?:pour )?cette fois|aujourd['\u2019]hui"
    r"|(?:for|until|till) (?:the|our|my|today['\u2019]?s|tomorrow['\u2019]?s) (?:demo|call|meeting|presentation|deadline|workshop|talk)|(?:until|till) (?:\w+day|tomorrow|tonight|noon|next \w+|further notice)|(?:just|only) (?:for )?(?:today|now|tonight)|one[- ]off|quick (?:hack|fix)|in the meantime|this (?:sprint|month)"
    r"|bis (?:montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonntag|morgen|n\u00e4chste\w*|zum|zur)|f\u00fcr die (?:demo|pr\u00e4sentation|vorf\u00fchrung)|vor\u00fcbergehend|ausnahmsweise|auf die schnelle|diese woche"
    r"|jusqu['\u2019](?:\u00e0|au) (?:lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche|demain|la|ce)|pour la (?:d\u00e9mo|pr\u00e9sentation|r\u00e9union)|le temps (?:de|que)|en attendant|exceptionnellement|cette semaine)\b",
    re.IGNORECASE,
)
_POINTS_BACK = lazy_regex(
    r"^\W*(?:(?:please|and|just|yes|yeah|ok|bitte|und|ja|s['\u2019]il te pla[i\u00ee]t|et|oui)\W+)*"
    r"(?:(?:do|keep|make|repeat|have) (?:doing )?(?:that|this|it|so)(?: (?:like (?:that|this)|(?:this|that|the same) way|so))?(?=\W*$|,? (?:always|every|each|everywhere|again|too|in (?:all|every|each)|from now|for all|all the time|more often))"
    r"|(?:mach|macht|machen sie) (?:das|es|dies)(?=\W*$| (?:ruhig|immer|\u00fcberall|jede\w*|so|bitte|ab|k\u00fcnftig|weiter|auch|wieder|in (?:allen|jede\w+))\b)"
    r"|(?:re)?fai(?:s|tes)[- ](?:\u00e7a|cela|le|comme \u00e7a)(?=\W*$| (?:toujours|partout|\u00e0 chaque|d\u00e9sormais|tous|toutes|aussi|encore|dans (?:tous|chaque))\b))",
    re.IGNORECASE,
)
"""An order whose matter stands in another sentence: without that sentence it says nothing."""
_SPEAKER = lazy_regex(
    r"^\W*(?!(?:always|never|please|we|i|immer|nie|bitte|wir|ich|toujours|jamais|on|je)\b)(?:[\w@.'\u2019-]+[,\s]+){0,5}?(?:(?:kept|keeps) saying|h\u00e4tten? gerne?|empfiehlt|recommends?|recommande\w*|suggests?|pr\u00e9conise\w*|swears? by|(?<!\bi )(?<!\bwe )would like|the other team|demands?|insists?|tells|(?<!i )told|laut (?:\w+|meine[mr]|unsere[mr]) \w+|m[\u0027\u2019]a dit|nous a dit|d[\u0027\u2019]apr\u00e8s|selon|according to|have ?n[\u0027\u2019]?t decided)\b|^\W*[\w.@-]+(?: \w+)? (?:on|in|from|via|auf|sur) (?:slack|teams|discord|mail|e-?mail|jira|github|linear|chat|twitter|irc)\b[^:]{0,30}:"
    r"|^\W*(?:my |our |the )?(?:boss|manager|lead|cto|ceo|colleague|coworker|client|customer|vendor|chef|kollege|kunde|coll\u00e8gue|patron)\b[^:.]{0,40}(?::|\b(?:says?|said|wants?|thinks?|told|meint|sagt|will|dit|veut)\b)",
    re.IGNORECASE,
)


def why_not_meant(sentences: Sequence[Sentence], at: int, *, clause: str) -> NotMeant:
    """Why a sentence of a prompt is no statement of the user's that lasts; "" = it is.

    Args:
        sentences: of the prompt.
        at: number of the sentence.
        clause: of the sentence, the one that the words begin in that count.
    """
    sentence, text = sentences[at], sentences[at].text
    if not sentence.own:
        return "pasted"
    if is_question(text) and (text.rstrip().endswith("?") or is_question(clause)):
        return "asks"
    if sentence.doubted or is_doubtful(text):
        return "doubts"
    if is_reported(text) or names_source(text):
        return "reports"
    not_meant = why_not_earnest(sentences, at) or why_not_own(sentences, at)
    if not_meant:
        return not_meant
    return "for_once" if is_one_off(text) or _FOR_ONCE.search(text) else ""


def why_not_earnest(sentences: Sequence[Sentence], at: int) -> NotMeant:
    """Why a sentence does not count, however it is marked: it is quoted, mocked, or taken back at once."""
    text, behind = sentences[at].text, sentences[at + 1 : at + 3]
    if _QUOTED.search(text) or _HANDED.search(text):
        return "pasted"
    remark = behind[0].text if behind else ""
    if (
        any(_MOCKING_START.search(near.text) for near in sentences[max(0, at - 1) : at + 1])
        or _MOCKED.search(text)
        or (_MOCKED.search(remark) and len(remark.split()) <= _REMARK_WORDS)
    ):
        return "mocked"
    return "taken_back" if _CORRECTS_ITSELF.search(text) or any(map(_takes_back, behind)) else ""


def why_not_own(sentences: Sequence[Sentence], at: int) -> NotMeant:
    """Why a sentence marked in passing is no rule of the user's for this project.

    Another person says it, it is about another project, or its matter stands in another sentence.
    """
    text = sentences[at].text
    if _SPEAKER.search(text):
        return "reports"
    if _POINTS_BACK.search(text):
        return "points_back"
    before = sentences[at - 1].text if at else ""
    return "elsewhere" if _ELSEWHERE.search(text) or _ELSEWHERE.search(before) else ""


def taken_back_later(statement: str, later: Sequence[str], *, alone: bool) -> bool:
    """Whether a later prompt seems to take a statement back: it names what it takes back, or it is the next one and there was nothing else.

    Args:
        statement: as it was said.
        later: the prompts behind it, oldest first.
        alone: its prompt said nothing else.
    """
    about = stems(statement)
    return any(
        (_takes_back(sentence) and (named or (alone and number == at == 0))) or _puts_back(sentence, about)
        for number, prompt in enumerate(later)
        for named, near in [_near(about, prompt)]
        for at, sentence in enumerate(near)
    )


def is_taken_back_by(statement: str, prompt: str, *, said_in: str) -> bool:
    """Whether the prompt right behind the one that said a statement takes it back in so many words, so that it may end."""
    named, near = _near(stems(statement), prompt)
    alone = len(spoken_sentences(said_in)) == 1
    return any(
        (named or (alone and at == 0))
        and sentence.own
        and not _ASKS_OR_SOLVED.search(sentence.text)
        and (takes_back(sentence.text) or _BACK.search(sentence.text))
        for at, sentence in enumerate(near)
    )


def _near(about: frozenset[str], prompt: str) -> tuple[bool, Sequence[Sentence]]:
    """Whether the first sentences of a prompt have a word of `about`, and these sentences."""
    near = spoken_sentences(prompt)[:NEAR_SENTENCES]
    return not about.isdisjoint(stems(" ".join(sentence.text for sentence in near))), near


def _puts_back(sentence: Sentence, about: frozenset[str]) -> bool:
    """Whether a sentence asks for something of `about` to be put back where it was."""
    back = _PUTS_BACK.search(sentence.text)
    return (
        sentence.own
        and back is not None
        and not about.isdisjoint(stems(back["what"] or back["was"] or back["quoi"]))
    )


def _takes_back(sentence: Sentence) -> bool:
    text = sentence.text
    told = takes_back(text) or _BACK.search(text) or _OPENS_BACK.search(text)
    return sentence.own and not text.endswith("?") and bool(told)


_OUTRIGHT = frozenset({"remember", "remember_last", "label", "marked beside it"})
_CONFIDENCE = {True: 0.95, False: 0.85}
_INVISIBLE = re.compile("[\ufeff\u200b\u2060]")
_BUILDS = re.compile(
    r"\W*(?:(?:please|now|can you|could you|let['\u2019]?s|i want you to) )*(?:add|build|implement|create|make|design|develop)\s",
    re.IGNORECASE,
)
"""Orders something to be built: what a later sentence says that things must be is how it is to be built."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """A statement found in speech.

    Attributes:
        content: the sentence, beginning with a capital and without a final full stop.
        span: the verbatim sentence.
        kind: its kind.
        confidence: 0-1, how sure we are that it is meant to last.
        cue: which mark it has, for the trace.
        everywhere: it was said to hold in all projects.
        doubtful: it may belong to a text that the user handed over, so that it waits for them.
    """

    content: str
    span: str
    kind: str
    confidence: float
    cue: str
    everywhere: bool = False
    doubtful: bool = False


@lru_cache(4)  # a prompt is read for what it states, and then for whether all that it asks to keep was kept
def find_explicit(text: str) -> tuple[Statement, ...]:
    """What a prompt marks as lasting, in order, without repeats."""
    text = _INVISIBLE.sub("", text)
    sentences = [sentence for sentence in spoken_sentences(text) if not sentence.doubted]
    pasted = pasted_document(text)
    language = natural_language_of(text)
    found: dict[str, Statement] = {}
    heads = _heads(sentences)
    for at in range(len(sentences)):
        statement = None if why_not_earnest(sentences, at) else _statement(sentences, at, heads[at], language)
        if statement is None:
            continue
        if statement.cue not in _OUTRIGHT and (pasted or why_not_own(sentences, at)):
            continue
        if (
            statement.cue in ("always", "never", "dont")
            and is_requirement(statement.span)
            and any(_BUILDS.match(sentence.text) for sentence in sentences[:at])
        ):
            continue
        for other in [key for key, earlier in found.items() if earlier.span in statement.span]:
            del found[other]  # it goes on with that one
        found.setdefault(statement.content, statement)
    return tuple(found.values())


def asks_to_keep(text: str) -> bool:
    """Tell whether a prompt marks something as lasting, even if only by "remember this", whatever became of it."""
    language = natural_language_of(text)
    return bool(find_explicit(text)) or any(
        sentence.own and not sentence.doubted and only_marks(sentence.text, language) is not None
        for sentence in spoken_sentences(_INVISIBLE.sub("", text))
    )


def _heads(sentences: Sequence[Sentence]) -> list[str]:
    """For each sentence the line with a colon at its end that it is an item below of, or "" for none."""
    heads: list[str] = []
    head = ""
    for sentence in sentences:
        ends = sentence.text.rstrip("* ").endswith((":", "\uff1a"))
        if not sentence.item or ends:
            heads.append("")
            head = sentence.text if ends else ""
        else:
            heads.append(head)
    return heads


def _statement(sentences: Sequence[Sentence], at: int, head: str, language: str) -> Statement | None:
    sentence = sentences[at]
    if only_marks(sentence.text, language):
        return None
    words, quotes = hide_quotes(sentence.text)
    span = sentence.text
    before = sentences[at - 1] if at else None
    marked = _marked_beside(sentences, at, head, language)
    read = read_marked(words, language=language)
    if read is None and marked:
        read = read_marked(words, marked=True, language=language)
    if read is None and head:
        lead = head.rstrip(" *:\uff1a")
        read = read_marked(f"{lead} {lead_free(words, language)}", language=language)
    if (
        read is None
        and before is not None
        and not before.item
        and goes_on(words)
        and not is_one_off(before.text)
    ):
        hidden, more = hide_quotes(before.text)
        if not is_question(hidden):
            span, quotes = f"{before.text} {span}", (*more, *quotes)
            read = read_marked(f"{hidden} {words}", marked=True, language=language)
    if read is None:
        return None
    return _made(read, span, quotes, doubtful=not sentence.own)


def _marked_beside(sentences: Sequence[Sentence], at: int, head: str, language: str) -> bool:
    """Whether a sentence beside it says that this one is to be remembered."""
    if head and only_marks(head, language):
        return True
    before = only_marks(sentences[at - 1].text, language) if at else None
    after = only_marks(sentences[at + 1].text, language) if at + 1 < len(sentences) else None
    last = at + 2 == len(sentences) and not sentences[-1].text.endswith((":", "\uff1a"))
    return (before is not None and (not before.before or at == 1)) or (
        after is not None and (after.before or last)
    )


def _made(read: Marked, span: str, quotes: tuple[str, ...], *, doubtful: bool) -> Statement:
    return Statement(
        content=show_quotes(read.text, quotes),
        span=span,
        kind=read.kind,
        confidence=_CONFIDENCE[read.mark in _OUTRIGHT],
        cue=read.mark,
        everywhere=read.everywhere,
        doubtful=doubtful,
    )


def normalize_statement(content: str) -> str:
    """Make the text one line with a capital first letter (unless it opens with code or a name of a file) and no final full stop."""
    text = " ".join(content.split()).strip(" ,;:-\u2013\u2014")
    text = re.sub(r"(?<![.])[.!]+$", "", text).strip()
    first = text.split(" ", 1)[0]
    return text if not text[:1].isalpha() or re.search(r"[/_]|\.\w", first) else text[:1].upper() + text[1:]
