"""Whether a person means a sentence of a prompt, and means it to last. In: the sentences of prompts. Out: why not, or "".

One judgment for what a prompt teaches and for what an agent quotes of it: words that are pasted, asked, doubted, another person's, taken
back, for once, mocked or about another project are no rule of the user's. What a sentence marks as lasting is for `capture.marks`. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from tacit.capture.marks import is_doubtful, is_one_off, is_question, is_reported, takes_back
from tacit.capture.prose import Sentence, spoken_sentences
from tacit.capture.voice import names_source
from tacit.text.lazy_regex import lazy_regex
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
