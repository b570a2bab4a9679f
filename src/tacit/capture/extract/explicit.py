"""Explicit statements in a user's prompt, found in real time. In: prompt text and where it was said. Out: drafts.

"remember that ...", "from now on ...", "always ... / never ...", "we use X, not Y", "I prefer ...", corrections.
Precise rather than complete: questions, suppositions, quotations, pasted matter, one-off orders and statements that
point at something outside themselves stay out. Never reads files, never calls a model.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from tacit.capture.extract.habit_lists import HabitList, ends_row, find_lists, has_enough_peers, inherit
from tacit.capture.extract.language_scope import names_all, place_end
from tacit.capture.extract.other_languages import language_for, statements_in
from tacit.capture.extract.standing import rule_to_write, standing_form
from tacit.capture.prose import (
    Sentence,
    hide_quotes,
    in_own_voice,
    pasted_document,
    show_quotes,
    spoken_sentences,
)
from tacit.capture.wording import (
    IMPERATIVES,
    has_leading_reference,
    has_loose_reference,
    has_path,
    kind_of,
    opens_with_verb,
    word_count,
)
from tacit.text.lazy_regex import lazy_regex

MIN_WORDS, MAX_WORDS = 3, 60
_LEAST_WORDS = 5
_LEAST_FORM = 3
_TOUCHES = frozenset(
    {
        "touch",
        "reformat",
        "break",
        "introduce",
        "rename",
        "guess",
        "assume",
        "invent",
        "reorder",
        "hardcode",
        "swallow",
        "catch",
        "duplicate",
    }
)
_BEFORE_NOUNS = frozenset(
    {
        "the",
        "a",
        "an",
        "this",
        "that",
        "in",
        "of",
        "to",
        "for",
        "on",
        "with",
        "our",
        "my",
        "your",
        "new",
        "each",
        "every",
        "any",
    }
)
_PAST = lazy_regex(
    r"got|had|went|was|were|did|saw|made|ran|kept|lost|found|came|broke|tried|\w+ed|have|need|want|should|can|could|will|would|may|might"
)
_LEAD = lazy_regex(
    r"^(?:(?:ok(?:ay)?|so|and|also|but|well|hey|hi|btw|by the way|fyi|please|pls|plz|just|now|then|plus|again|sorry|thanks"
    r"|great|good|cool|perfect|nice|yes|yeah|yep|yup|sure|right|important|note(?=\s*[:,])|one more thing|another thing"
    r"|oh|hmm+|uh+|ah|m+k+|k+|dude|man|unfortunately|however|if so|assuming so|in that case)\b[\s,.:;!\u2013\u2014-]*)+",
    re.IGNORECASE,
)
_SUPPOSED = lazy_regex(
    r"\b(?:what if|suppose|imagine|let'?s say|hypothetical|would it|could it|should (?:i|we|it)\b|maybe|perhaps"
    r"|i wonder|not sure|i guess|i think you|might|for example|e\.g\.)",
    re.IGNORECASE,
)
_ONE_OFF = lazy_regex(
    r"\b(?:for now|right now|this time|just this once|today|tonight|at the moment|temporar(?:y|ily)|in this (?:pr|commit"
    r"|branch|session|case|chat|conversation|turn|task)|for this (?:pr|commit|branch|session|case|task|one|change)"
    r"|until (?:i|we|you)|before you (?:start|finish|begin)|first,|when you'?re done|again)\b",
    re.IGNORECASE,
)
_LASTING = lazy_regex(
    r"\b(?:always|never|every|each|whenever|from now on|going forward|in (?:the )?future|any ?time|all)\b",
    re.IGNORECASE,
)
_PROJECTS = r"(?:projects?|repos?|repositor(?:y|ies)|code ?bases?)"
_EVERYWHERE = lazy_regex(
    rf",?\s*\b(?:(?:in|for|across) (?:all|every|any|each)(?: of)?(?: my| our)? {_PROJECTS}(?: of mine)?|across (?:my |our )?(?:projects|repos)"
    rf"|everywhere|globally|(?:regardless of|no matter|independent(?:ly)? of) (?:the |in |for )?(?:which |what )?{_PROJECTS}|wherever (?:you|i) work(?: for me)?)\b[,:]?\s*",
    re.IGNORECASE,
)
_REPLIES = lazy_regex(r"(?:answer|reply|respond|explain|talk|speak)\b", re.IGNORECASE)
_NO_VERB = frozenset(
    {"mind", "again", "ever", "once", "that", "been", "had", "was", "were", "did", "got", "said", "seen"}
)
_STATES = lazy_regex(
    r"\b(?:is|are|uses?|must|should|never|always|can'?t|cannot|don'?t|doesn'?t|needs?|lives?|runs?|expires?)\b",
    re.IGNORECASE,
)
_BASE_FORM = lazy_regex(r"[a-z-]{2,}(?<!ed)(?<!ing)(?<![^s]s)")
_OF_US = lazy_regex(r"(?:we|our|use|stop|always|never|no,|please use)\b", re.IGNORECASE)
_TRAILING_HERE = lazy_regex(r",?\s+(?:around |in )?here(?=\s*[.!]*$|,\s+(?:not|never)\b)", re.IGNORECASE)
_REPORTED = lazy_regex(
    r"^(?:the|a|an|this|that|their|its|it|he|she|they|someone|somebody|@\w+|according to|readme|docs)\b(?:\W+[\w'./@-]+){0,8}?"
    r"\W+(?:says?|said|claims?|claimed|reads|writes|wrote|states?|suggests?|recommends?|told (?:me|us))\b",
    re.IGNORECASE,
)
"""Somebody else's words in one sentence: "the README says that you must always ..."."""
_REMEMBER = lazy_regex(
    r"^(?:please\s+|you (?:should|must|need to)\s+|i (?:want|need) you to\s+)*"
    r"(?:remember(?:\s+(?:that|this))?(?P<gap>\s*[:,\u2013\u2014-]\s*|\s+(?=\S))"
    r"|(?:keep|bear) in mind(?: that)?\s*[:,]?\s+|do(?:n'?t| not) (?:ever )?forget(?: that|\s*:|(?= to\b))\s*"
    r"|(?:make a )?note (?:to self|for (?:the )?(?:future|next time|later))\s*[:,\u2013\u2014-]\s*"
    r"|for (?:future reference|the record|next time|(?:the )?future)(?=\W)\s*[:,\u2013\u2014-]?\s+"
    r"|(?:memori[sz]e|learn)(?:\s+(?:that|this))?\s*[:,]?\s+"
    r"|add (?:this |the following )?to (?:your )?memory\s*[:,\u2013\u2014-]\s*)(?P<rest>.+)$",
    re.IGNORECASE | re.DOTALL,
)
_ASKED_FORM = lazy_regex(
    r"^(?:can|could|would|will) you (?:please )?(?P<rest>(?:always|never)\b.+?)\??$",
    re.IGNORECASE | re.DOTALL,
)
_FROM_NOW = lazy_regex(
    r"^(?:from (?:now|here) on(?:wards?)?|going forward|in (?:the )?future|henceforth|as a (?:general )?rule)\b\s*[,:]?\s*(?P<rest>.+)$"
    r"|^(?P<front>.+?)\s*,?\s+(?:from (?:now|here) on(?:wards?)?|going forward)[.!]*$",
    re.IGNORECASE | re.DOTALL,
)
_SETS_A_DAY = lazy_regex(r"from|forward|future|henceforth|rule", re.IGNORECASE)
"""Without one of these `_FROM_NOW` finds nothing: far cheaper to look for."""
_CONDITION = r"(?:(?:in|for|on|when|whenever|if|before|after|with|during|once|at)\b[^,.]{2,80},\s*)?"
_ALWAYS = lazy_regex(
    rf"^(?P<when>{_CONDITION})(?:(?P<bare>you|we|i|one)\s+(?:should|must|need to|have to|want (?:you )?to)?\s*"
    r"|(?:please\s+)?(?:make sure|be sure|ensure)(?: that)?(?: you| we| to)*\s+)?"
    r"(?P<rest>(?:always|never|do not ever|don'?t ever)\s+(?P<verb>[a-z'-]+\b|`[^`]+`).*)$",
    re.IGNORECASE | re.DOTALL,
)
_ALWAYS_LAST = lazy_regex(
    r"^(?:please )?(?P<rest>[a-z]+ [^?]{8,120}?),? (?:always|every time|each time|every single time)[\s.!]*$",
    re.IGNORECASE | re.DOTALL,
)
_SUBJECT_ALWAYS = lazy_regex(
    r"^(?P<rest>(?:the |our |all |every |each )?[\w`./-]+(?: [\w`./-]+){0,5}? (?:must|should) (?:always|never) .+)$",
    re.IGNORECASE | re.DOTALL,
)
_OURS = lazy_regex(
    r"^(?:(?:in|for|on) (?:[^,]{2,60},|(?:this|our|the) [\w-]+|[\w-]+(?: [\w-]+)?(?= we\b))\s*)?(?:here\s+)?(?:we|our \w+) (?:always |only |now )?(?:uses?|go with|stick (?:to|with)|run|deploy|write|target|ship|build"
    r"|test|log|name|prefer)\b.+?(?:,\s*(?:and )?(?:not|never)\b|\binstead of\b|\brather than\b|\bnot with\b).+$",
    re.IGNORECASE | re.DOTALL,
)
_USE_INSTEAD = lazy_regex(
    r"^(?:please\s+)?(?:only )?use\s+(?P<new>.+?)(?:,?\s+(?:instead of|rather than|in place of|over)\s+|,\s*(?:and )?(?:not|never)\s+)(?P<old>.+)$",
    re.IGNORECASE | re.DOTALL,
)
_ASKED_USE = lazy_regex(
    r"^(?:can|could|would|will) you (?:please )?(?P<rest>(?:always |only )?use .+?)\??$",
    re.IGNORECASE | re.DOTALL,
)
"""An order in the form of a question; "can we use X instead of Y" is a question."""
_PLURAL = r"(?!(?:the|this|that|these|those|it|its|them|my|your|his|her|their|our|a|an|all|me|us|him|any|more|too|so|such|one|two|three|four|five|\d+)\b)(?:[\w-]+ ){0,2}[\w-]{2,}(?<![su])s\b"
"""A plural without an article, which means such things in general: "wildcard imports"."""
_PREFER = lazy_regex(
    r"^(?:(?:in|for|on|when) [^,]{2,60},\s*)?(?:i|we)(?:'d| would)?(?: strongly| really| generally| usually| always| much)* prefer\b.+$"
    r"|^my preference is\b.+$|^prefer\b[^.?!]{2,80}? (?:to|over|instead of|rather than) .+$"
    r"|^i(?: really)? (?:hate|dislike|can'?t stand|don'?t like|do not like) (?:when|it when|seeing|having|using)\b.+$"
    rf"|^(?:i(?: really)? (?:hate|dislike|can'?t stand|don'?t like|do not like)|(?:i'?m |i am )?not a (?:big )?fan of) (?=[\w-]+ [\w-]){_PLURAL}.*$",
    re.IGNORECASE | re.DOTALL,
)
_OWN_PLACE = (
    r"(?:this|our|the) (?:whole |entire )?(?:project|repo|repository|code ?base|monorepo|package|team|app)"
)
_WANT = lazy_regex(
    r"^(?:i|we)(?:'d| would)?(?: really| generally| also)* (?:always want\b|want (?:every|each|all|any|no)\b|want (?:you|us) to (?:always|never)\b"
    r"|(?:do not|don'?t|dont|never) want (?!(?:an? )?@|to\b|me\b|the\b|this\b|that\b|these\b|those\b|it\b|you to (?!ever\b|use\b))|rather (?=.+\bthan\b)).+$",
    re.IGNORECASE | re.DOTALL,
)
_MUST = lazy_regex(
    r"^(?:(?:every|all|each|any|no)\b(?! (?:one|of (?:them|these|those))\b) [^.?!,;]{2,70}? (?:must|may not|has to|have to|needs? to|should|shall|can only|ought to)\b"
    r"|(?!(?:the|this|that|these|those|it|its|they|we|you|i|he|she|there|some|most|your|my|his|her|as|is|does|was)\b)(?:[\w-]+ ){0,3}[\w-]+s"
    r" (?:must|have to|may never|may only|should always|should never|must only)\b"
    r"|(?:nobody|no[- ]one|everyone|everybody|anyone)\b [^.?!,;]{0,60}?\b(?:may|must|has to|is (?:not )?(?:allowed|permitted|required|expected) to)\b"
    r"|(?!(?:the|this|that|these|those|it|they|we|you|i|some|most|your|my|his|her|tests)\b)(?:[\w-]+ ){0,3}[\w-]+s"
    r" are (?:not )?(?:allowed|permitted|required|expected|forbidden) (?:to|in|on|outside)\b) .+$",
    re.IGNORECASE | re.DOTALL,
)
_RULE_IS = lazy_regex(
    rf"^(?:(?:our|the|my|one|another)\s+)?(?:(?:team|house|project|code|coding|naming|commit|branch|review|style|import|test|testing|logging|error)\s+)?(?:convention|rule|policy|guideline)s?"
    rf"(?:\s+(?:here|in {_OWN_PLACE}|for [^:,.]{{2,40}}))?(?:\s*:|\s+(?:is|are)(?:\s+(?:that|to))?(?!\s+(?:not|too|very|so|wrong|broken|missing|old|failing|unclear|set|on|off|in|being|\w+ed)\b))\s+\S.+$",
    re.IGNORECASE | re.DOTALL,
)
"""What the speaker calls a convention: "our convention is one component per file"."""
_MATTER = r"(?:team|house|project|code|coding|naming|commit|branch|review|import|test|testing|logging|error|formatting|docs?|api|indentation)"
_NO_REPORT = (
    r"(?!(?:not|too|very|so|quite|rather|really|a bit|a mess|much|still|already|now|currently|just|almost|what|why|how|because|due|like|as|the same"
    r"|wrong|broken|missing|old|failing|unclear|clear|set|on|off|in|from|up|out|here|there|being|gone|lost|hard|easy|fine|good|bad|nice|better|worse|best|worst"
    r"|ok|okay|ugly|weird|odd|strange|different|inconsistent|similar|empty|undefined|null|great|terrible|awful|important|new|next|my|your|his|her|their|its"
    r"|breaking|causing|looking|using|getting|hiding|overriding|inherited|applied|loaded|defined|overridden|written|hidden|ignored|changed|no longer|no good|no more)\b)"
)
_STYLE_IS = lazy_regex(
    rf"^(?:(?:our(?:\s+{_MATTER})?|(?:the|my)\s+{_MATTER})\s+(?:style|standard)s?(?:\s+(?:here|in {_OWN_PLACE}|for [^:,.]{{2,40}}))?(?:\s*:|\s+(?:is|are)(?:\s+(?:that|to))?)\s+{_NO_REPORT}\S.+$"
    rf"|the\s+(?:style|standard)(?:\s+(?:here|in {_OWN_PLACE}|for [^:,.]{{2,40}}))?\s+is\s+{_NO_REPORT}"
    rf"(?:to (?!be\b|blame\b)\S|one (?!of\b|that\b|which\b|thing\b)|no \S|(?:single|double) [\w-]+s\b|\d+ (?:spaces?|columns?|characters?)\b|`[^`]+`|[\w-]+_\w+|\w+[ -]case\b|tabs\b"
    rf"|(?!(?:[\w-]+ )?(?:on|of|at|by|with|sometimes|always|that|this|is|are|was)\b){_PLURAL}|[^.;]{{2,60}}?,? (?:not|never|instead of|rather than|over) \S).*$)",
    re.IGNORECASE | re.DOTALL,
)
"""What the speaker calls a style or a standard; the bare words may as well report on a style sheet, so more must tell of a rule."""
_NO_SUCH = lazy_regex(
    r"^no (?!more\b|need|problem|idea|worr|one\b|way\b|thanks?|longer|changes?\b|errors?\b|warnings?\b|luck|rush|hurry|such\b|results?\b|matter|doubt|reason|clue)"
    r"(?P<rest>\S.+)$",
    re.IGNORECASE | re.DOTALL,
)
_FOR_GOOD = lazy_regex(r"\bever\b|\bplease\W*$|\bin (?:new|generated|public) \w+|\banywhere\b", re.IGNORECASE)
_NEED_YOU = lazy_regex(
    r"^i need you to\b.+\b(?:before|after|when(?:ever)?|each time|every time)\b.+\b(?:any\w*|every\w*|each|all)\b.*$",
    re.IGNORECASE | re.DOTALL,
)
_MOVED = lazy_regex(
    r"^we(?:'ve| have)? (?:just |recently |now )?(?:moved|switched|migrated|dropped|replaced|retired) [^,]{3,80},\s*(?:so |and )?"
    r"(?:all|new|every\w*|nothing|only|please|use)\b.+$",
    re.IGNORECASE | re.DOTALL,
)
"""A change of tools and the rule that results from it: "we moved from A to B, new code uses B only"."""
_REASON = lazy_regex(
    r"^(?:(?:since|because|as) [^,.?!]{4,90},\s+(?:so\s+)?|[^,.?!]{8,90},\s+so\s+(?:please\s+)?)(?P<rest>.+)$",
    re.IGNORECASE | re.DOTALL,
)
_EACH_TIME = lazy_regex(
    r"^(?:please\s+)?(?:whenever|every time|each time|any ?time|(?:before|after|on|with|for|in) (?:every|each|any))\b\s+(?P<when>[^.?!]{3,80}?)(?P<comma>,\s*|\s+)"
    r"(?:(?:please|also|always|then|you|we|must|should|have to|need to)\s+)*(?P<verb>[a-z]+)\b.+$",
    re.IGNORECASE | re.DOTALL,
)
_DO_NOT = lazy_regex(
    r"^(?:please\s+)?(?:do not|don'?t|dont)(?P<ever> ever)? (?P<verb>[a-z]+) (?P<rest>.+)$",
    re.IGNORECASE | re.DOTALL,
)
_WITHOUT_END = lazy_regex(
    rf"\bwithout (?:asking|my|first|telling|a|\w+ing)\b|\bunless\b|\bin {_OWN_PLACE}\b|\banywhere\b|\bdirectly\b|\bby hand\b|\bin (?:tests|docs|comments|commit messages"
    r"|production|prod|public|library|new|generated) ?\w*|\bever\b",
    re.IGNORECASE,
)
_BARE_PLURAL = lazy_regex(_PLURAL, re.IGNORECASE)
_HERE = lazy_regex(
    rf"^(?:in|for) {_OWN_PLACE},? (?:we|always|never|use|only)\b.+$"
    rf"|^(?:we|our \w+) (?:always |only |all |now |never )*(?P<verb>[a-z]+)\b.+ in {_OWN_PLACE}\b.*$|^we (?:always|never) (?P<habit>[a-z]+)\b.+$",
    re.IGNORECASE | re.DOTALL,
)
_DECIDED = lazy_regex(
    r"^(?:(?:in|for|on) (?!\d)[^,]{2,60},\s*)?(?:(?:as|like) (?:i said|mentioned),?\s+)?(?:(?:the )?team(?: has)?|we(?:'ve| have)?|[\w-]+ and i(?: have)?)(?: just| now| all| also| finally)?\s+"
    r"(?:decided|agreed|settled|chosen|chose|voted|standardi[sz]ed|committed)\s+(?:that|to|on|upon|against|not to)\s+.+$",
    re.IGNORECASE | re.DOTALL,
)
_STOP_DOING = lazy_regex(
    r"^(?:please\s+)?(?:(?:stop|quit|no more)\s+(?P<verb>[a-z-]{2,}ing)\b.+"
    r"|(?:do not|do ?n['\u2019]?t)\s+(?!(?:worry|bother|wait|mind|care|need|think|know|see|have)\b)[a-z]{2,}\s+\S.*?\s(?:any ?more|any longer)"
    r"(?=\s*(?:[.,;:!]|$|[-\u2013\u2014]\s|(?:because|since)\b)).*)$",
    re.IGNORECASE | re.DOTALL,
)
_SAID_BEFORE = lazy_regex(
    r"^(?:(?:like|as) i(?:'ve)? (?:said|told you|mentioned)(?: before| already)?[,:]?|i(?:'ve| have)?(?: already)? (?:told you|said)(?: before| already)?"
    r"(?: to\b| that\b)?[,:]?)\s+(?P<rest>.+)$",
    re.IGNORECASE | re.DOTALL,
)
"""A correction of an agent that was told before: "I told you: use spaces"."""
_WRONG = lazy_regex(
    r"^(?:no+|nope|wrong|incorrect|(?:that'?s|that is|this is|you'?re) (?:wrong|incorrect|not (?:right|correct|true))"
    r"|not quite|actually)\b[\s,.:;!\u2013\u2014-]+(?P<rest>.+)$",
    re.IGNORECASE | re.DOTALL,
)
_IS_VALUE = lazy_regex(
    r"^(?!\S+\.[a-z]{1,5}`? should be \S+\.[a-z]{1,5}\b)(?!(?i:i|you|he|she|they|what|why|how|let|(?:the |my |your )?(?:fix|problem|issue|bug|error|point|idea|question|reason|answer|solution))\b)(?:(?i:the|our) )?[\w`./ -]{2,50}? (?:is|are|should be|must be|lives? in|runs? (?:on|with)"
    r"|listens? (?:on|at)|go(?:es)? through|uses?|deploys? to|points? (?:to|at)|expires? (?:in|after)|starts? (?:on|at))\s+"
    r"(?:called |named |in |at |on )?(?:(?:port|version|branch|host|region|queue|table|folder) )?(?:`[^`]+`|\S*[\d/._-]\S*|[A-Z]\w+)",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """A statement found in speech.

    Attributes:
        content: self-contained words, 3 to 60 of them, beginning with a capital and without a final full stop.
        span: the verbatim sentence.
        kind: suggested kind.
        confidence: 0-1, how sure we are that it is meant to last.
        cue: which pattern found it, for the trace.
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


def find_explicit(text: str) -> tuple[Statement, ...]:
    """Explicit statements in a user prompt, in order, without repeats."""
    pasted = pasted_document(text)
    language = language_for(text)
    if language:
        return () if pasted else _in_language(text, language)
    statements: list[Statement] = []
    sentences = spoken_sentences(text)
    wrong_before = False
    for position, sentence in enumerate(sentences):
        cues = _REMEMBER_ONLY if pasted else _CUES
        statement = _first(sentence, cues)
        if statement is None and wrong_before and not pasted:
            statement = _after_denial(sentence)
        if statement is None and position and not pasted:
            statement = _with_previous(sentences[position - 1], sentence)
            if statement and statements and statements[-1].span == sentences[position - 1].text:
                statements.pop()  # the half of it that stood alone
        if statement is not None and not sentence.own:
            statement = replace(statement, doubtful=True)
        wrong_before = position < 4 and bool(_DENIAL.fullmatch(sentence.text))
        if statement and all(statement.content != earlier.content for earlier in statements):
            statements.append(statement)
    return tuple(statements) if pasted else _with_listed(statements, text)


def _in_language(text: str, language: str) -> tuple[Statement, ...]:
    """Return the statements of a prompt in a language other than English."""
    sentences = [sentence for sentence in spoken_sentences(text) if not sentence.doubted]
    statements: dict[str, Statement] = {}
    for place, found in statements_in([sentence.text for sentence in sentences], language):
        content, kind, confidence, cue = found
        statement = Statement(
            content=content,
            span=sentences[place].text,
            kind=kind,
            confidence=confidence,
            cue=cue,
            doubtful=not sentences[place].own,
        )
        statements.setdefault(content, statement)
    return tuple(statements.values())


def _with_listed(statements: list[Statement], text: str) -> tuple[Statement, ...]:
    """The statements found, and those of listed habits, in the order of the text."""
    pairs = [_plain(statement.span) for statement in statements if statement.cue == _TWO_SENTENCES]
    listed = [
        statement
        for habits in find_lists(text)
        for statement in _listed(habits, text)
        if not any(_plain(statement.span) in pair for pair in pairs)
    ]
    if not listed:
        return tuple(statements)
    spans = [_plain(statement.span) for statement in listed]
    # A sentence of several items is replaced by them.
    whole = [
        statement for statement in statements if not any(span in _plain(statement.span) for span in spans)
    ]
    plain = _plain(text)
    merged = {
        statement.content: statement
        for statement in sorted([*whole, *listed], key=lambda statement: plain.find(_plain(statement.span)))
    }
    return tuple(merged.values())


def _plain(text: str) -> str:
    return " ".join(text.split())


def _listed(habits: HabitList, text: str) -> list[Statement]:
    """Return the statements of a list's items: from their own words, else from the lead-in."""
    items = [(item, _first(Sentence(text=item, item=True), _CUES)) for item in habits.items]
    own = sum(statement is not None for _, statement in items)
    if habits.lead is None and not has_enough_peers(own, len(items)):
        return []
    stated: list[Statement] = []
    for item, statement in items:
        if not in_own_voice(item, text):
            continue
        heir = statement or _inherited(item, habits)
        if heir is not None:
            everywhere = heir.everywhere or (habits.lead is not None and habits.lead.everywhere)
            stated.append(replace(heir, everywhere=everywhere))
        elif not habits.marked and habits.lead is not None and ends_row(item):
            break
    return stated


def _inherited(item: str, habits: HabitList) -> Statement | None:
    words, quotes = hide_quotes(item)
    everywhere = bool(_EVERYWHERE.search(words))
    body = _EVERYWHERE.sub(" ", words) if everywhere else words
    heir = inherit(body, habits)
    if (
        heir is None
        or _question(body)
        or has_loose_reference(body)
        or _for_once(body)
        or _SUPPOSED.search(body)
    ):
        return None
    content = show_quotes(normalize_statement(heir[0]), quotes)
    if not MIN_WORDS <= word_count(content) <= MAX_WORDS:
        return None
    return Statement(
        content=content, span=item, kind=heir[1], confidence=0.85, cue="listed", everywhere=everywhere
    )


_DENIAL = lazy_regex(
    r"(?:no+|nope|wrong|incorrect|(?:that'?s|that is|this is) (?:wrong|incorrect|out ?dated|out of date|no longer (?:true|right|correct)|not (?:right|correct|true)))[\s.!,]*",
    re.IGNORECASE,
)


_OUTDATED = lazy_regex(
    r",\s+(?:so |but |and )?[^,;]{2,60} (?:(?:is|are) (?:now |just |still )?(?:out[- ]of[- ]date|outdated|stale|obsolete|wrong|old|behind)"
    r"|still (?:says?|has|have|mentions?|names?|lists?|tells?|claims?)\b[^,;]{0,60}|needs? (?:an )?updat\w+|(?:has not|hasn'?t|was not|wasn'?t) (?:been )?updated(?: yet)?)[\s.!]*$",
    re.IGNORECASE,
)
"""Says besides that something written has not followed the change."""
_NOTE_THAT = lazy_regex(r"^(?:please )?note that,?\s+", re.IGNORECASE)


def _first(sentence: Sentence, cues: tuple[_Cue, ...]) -> Statement | None:
    words, quotes = hide_quotes(sentence.text)
    body = _LEAD.sub("", words, count=1)
    body = _OUTDATED.sub("", body)
    noted = _NOTE_THAT.sub("", body)
    bodies = (body,) if noted == body else (noted, body)
    return next((statement for body in bodies if (statement := _stated(body, sentence, quotes, cues))), None)


def _stated(
    body: str, sentence: Sentence, quotes: tuple[str, ...], cues: tuple[_Cue, ...]
) -> Statement | None:
    if _OF_US.match(body):
        body = _TRAILING_HERE.sub("", body)  # "we use X here": here is this project
    if sentence.doubted or _REPORTED.match(body):
        return None
    everywhere = bool(_EVERYWHERE.search(body))
    for cue in cues:
        candidate = cue(body)
        if candidate is None:
            continue
        content, kind, confidence, name = candidate
        content = show_quotes(
            normalize_statement(_EVERYWHERE.sub(" ", content) if everywhere else content), quotes
        )
        if _UNFINISHED.search(body):
            return None
        if not MIN_WORDS <= word_count(content) <= MAX_WORDS:
            return None
        return Statement(
            content=content,
            span=sentence.text,
            kind=kind,
            confidence=confidence,
            cue=name,
            everywhere=everywhere,
        )
    return None


_UNFINISHED = lazy_regex(
    r"\b(?:are|is|be|to|the|an?|of|with|for|by|as|and|or|in|on|following|includ\w+|says?|like|use|via|follows):\W*$",
    re.IGNORECASE,
)
"""Its rest stands in what follows it."""


def normalize_statement(content: str) -> str:
    """Make the text one line with a capital first letter (unless it opens with code or a name of a file) and no final full stop."""
    text = " ".join(content.split()).strip(" ,;:-\u2013\u2014")
    text = re.sub(r"(?<![.])[.!]+$", "", text).strip()
    first = text.split(" ", 1)[0]
    return text if not text[:1].isalpha() or re.search(r"[/_]|\.\w", first) else text[:1].upper() + text[1:]


_Found = tuple[str, str, float, str]
_Cue = Callable[[str], "_Found | None"]


def _for_once(body: str) -> bool:
    """Whether it is an order for the task at hand; "before you start" is no such mark beside "always"."""
    match = _ONE_OFF.search(body)
    if match is None:
        return False
    return not (match[0].lower().startswith("before you") and _LASTING.search(body))


def _question(body: str) -> bool:
    return body.rstrip(" )").endswith("?")


def _remember(body: str) -> _Found | None:
    match = _REMEMBER.match(body)
    if match is None or _question(body):
        return None
    statement = match["rest"].strip()
    order = re.match(r"to\s+(?P<verb>[a-z]+)\b", statement, re.IGNORECASE)
    if order:
        if not _LASTING.search(statement) or _for_once(statement) or has_loose_reference(statement):
            return None
        statement = statement[3:]
    if (
        re.match(r"(?:when|how|what|where|who|why|the time)\b", statement, re.IGNORECASE)
        and not (match["gap"] or "").strip()
    ):
        return None
    bare = body[: match.start("rest")].lower().rstrip().endswith("remember")
    if bare and not _STATES.search(statement):
        return None  # "remember the last folder": what a program is to do, not what is to be remembered
    statement = re.sub(r"^that\s+", "", statement, flags=re.IGNORECASE)
    introduction = re.match(
        r"(?:this|here) is (?P<what>the [^:]{3,60}:\s.+)", statement, re.IGNORECASE | re.DOTALL
    )
    if introduction:
        return introduction["what"], "fact", 0.95, "remember"
    if has_leading_reference(statement):
        return None
    return statement, kind_of(statement), 0.95, "remember"


def _from_now_on(body: str) -> _Found | None:
    match = _FROM_NOW.match(body) if _SETS_A_DAY.search(body) else None
    if match is None or _question(body):
        return None
    statement = match["rest"] or match["front"]
    if statement.rstrip().endswith(":") or has_loose_reference(statement) or _SUPPOSED.search(statement):
        return None
    kind = kind_of(statement)
    return statement, "preference" if kind == "fact" else kind, 0.9, "from now on"


def _always(body: str) -> _Found | None:
    request = _ASKED_FORM.match(body)
    if request:
        body = request["rest"]
    elif _question(body):
        return None
    match = _ALWAYS.match(body)
    if match:
        verb = match["verb"].lower()
        # "we never got", "it always crashed": a report, not a rule. A rule takes the base form.
        if verb in _NO_VERB or (
            verb not in IMPERATIVES
            and not verb.startswith("`")
            and not (match["bare"] is None and _BASE_FORM.fullmatch(verb))
        ):
            return None
        content = f"{match['when']}{match['rest']}"
    elif _ALWAYS_LAST.match(body) and opens_with_verb(body):
        content = body
    else:
        subject = _SUBJECT_ALWAYS.match(body)
        if subject is None:
            return None
        content = re.sub(
            r"^(?:mention|say|note|state|add|write) that ", "", subject["rest"], flags=re.IGNORECASE
        )
    if has_loose_reference(content) or _for_once(content) or _SUPPOSED.search(content):
        return None
    kind = "preference" if re.search(r"\balways\b", content, re.IGNORECASE) else "anti_pattern"
    return content, kind, 0.9, "always or never"


def _ours(body: str) -> _Found | None:
    if _question(body) or not _OURS.match(body) or has_loose_reference(body) or _SUPPOSED.search(body):
        return None
    return body, "decision", 0.85, "we use X, not Y"


def _instead(body: str) -> _Found | None:
    request = _ASKED_USE.match(body)
    if request:
        body = request["rest"]
    match = _USE_INSTEAD.match(body)
    if (
        match is None
        or _question(body)
        or has_loose_reference(body)
        or _for_once(body)
        or _SUPPOSED.search(body)
    ):
        return None
    if word_count(match["new"]) > 8 or word_count(match["old"]) > 12:
        return None
    return body, "preference", 0.8, "use X instead of Y"


def _prefer(body: str) -> _Found | None:
    if _question(body) or not _PREFER.match(body) or has_loose_reference(body) or _for_once(body):
        return None
    return body, "preference", 0.85, "prefer"


def _decided(body: str) -> _Found | None:
    if _question(body) or not _DECIDED.match(body) or has_loose_reference(body) or _SUPPOSED.search(body):
        return None
    return None if _for_once(body) else (body, "decision", 0.85, "we decided")


def _standing(body: str) -> _Found | None:
    """Read a statement that always holds: a wish, a duty of all of a kind, an order for every occasion, a ban, our way."""
    if (
        _question(body)
        or has_loose_reference(body)
        or _SUPPOSED.search(body)
        or _for_once(body)
        or word_count(body) < _LEAST_WORDS
    ):
        return None
    if (_WANT.match(body) and word_count(body) > _LEAST_WORDS) or _NEED_YOU.match(body):
        return body, "preference", 0.85, "I want"
    if _RULE_IS.match(body) or _STYLE_IS.match(body):
        return body, "preference", 0.85, "our rule"
    if _MOVED.match(body):
        return body, "decision", 0.8, "we moved"
    none = _NO_SUCH.match(body)
    if none is not None and _FOR_GOOD.search(none["rest"]):
        return body, "anti_pattern", 0.8, "no such thing"
    if _MUST.match(body):
        return body, "preference", 0.8, "must"
    occasion = _EACH_TIME.match(body)
    if occasion is not None and _orders(body, occasion):
        return body, "preference", 0.85, "each time"
    match = _DO_NOT.match(body)
    if match is not None and match["verb"].lower() in IMPERATIVES | _TOUCHES:
        general = match["ever"] or _WITHOUT_END.search(match["rest"]) or _BARE_PLURAL.match(match["rest"])
        return (body, "anti_pattern", 0.8, "do not") if general else None
    practice = _HERE.match(body)
    if practice is not None and not _PAST.fullmatch((practice["verb"] or practice["habit"] or "").lower()):
        return body, "decision", 0.8, "our way here"
    return None


def _with_reason(body: str) -> _Found | None:
    """A standing statement behind its reason, which stays with it: "X has one worker, so jobs must be queued"."""
    match = _REASON.match(body)
    if (
        match is None
        or _question(body)
        or has_loose_reference(body)
        or _SUPPOSED.search(body)
        or _for_once(body)
    ):
        return None
    for cue in (_from_now_on, _always, _ours, _instead, _prefer, _stop_doing, _standing):
        statement = cue(match["rest"])
        if statement:
            return body, statement[1], statement[2], statement[3]
    return None


def _orders(body: str, occasion: re.Match[str]) -> bool:
    """Whether an order follows the occasion: at once behind the comma, or somewhere behind it without one."""
    if occasion["verb"].lower() in IMPERATIVES and occasion["comma"].strip():
        return True
    words = body[occasion.start("when") :].split()
    return any(
        word.lower() in IMPERATIVES and words[at].lower() not in _BEFORE_NOUNS
        for at, word in enumerate(words[1:])
        if at >= 1 and not word.endswith(",")
    )


def _in_all_places(body: str) -> _Found | None:
    """A statement behind its place: "in all my projects, answer briefly" is one; of a language it must be one by itself."""
    if _question(body) or has_loose_reference(body) or _SUPPOSED.search(body):
        return None
    everywhere = _EVERYWHERE.match(body)
    end = everywhere.end() if everywhere else place_end(body)
    remainder = body[end:]
    for cue in (_always, _instead, _prefer, _stop_doing) if end else ():
        statement = cue(remainder)
        if statement:
            return body, *statement[1:]
    if end and names_all(body[:end]) and (opens_with_verb(remainder) or _REPLIES.match(remainder)):
        negative = re.match(r"(?:never|do not|don'?t|no)\b", remainder, re.IGNORECASE)
        return body, "anti_pattern" if negative else "preference", 0.85, "in all places"
    return None


def _stop_doing(body: str) -> _Found | None:
    if _question(body) or not _STOP_DOING.match(body) or has_loose_reference(body) or _for_once(body):
        return None
    return body, "anti_pattern", 0.8, "stop doing"


def _correction(body: str) -> _Found | None:
    match = _WRONG.match(body) or _SAID_BEFORE.match(body)
    if match is None or _question(body):
        return None
    remainder = _LEAD.sub("", match["rest"], count=1)
    for cue in (_remember, _from_now_on, _always, _ours, _instead, _prefer, _stop_doing, _in_all_places):
        statement = cue(remainder)
        if statement:
            return statement[0], "correction", max(statement[2], 0.85), f"correction: {statement[3]}"
    return _stated_value(remainder)


def _stated_value(body: str) -> _Found | None:
    if _question(body) or has_loose_reference(body) or _SUPPOSED.search(body) or word_count(body) > 25:
        return None
    if _IS_VALUE.match(body) or (re.match(r"we use [\w`]", body, re.IGNORECASE) and word_count(body) <= 12):
        return body, "correction", 0.8, "correction: stated value"
    if re.match(r"use [\w`./-]+(?: [\w`./-]+){0,4} (?:for|in|when) ", body, re.IGNORECASE) and not has_path(
        body
    ):
        return body, "correction", 0.75, "correction: use"
    return None


def _after_denial(sentence: Sentence) -> Statement | None:
    """The sentence after a bare "that's wrong."."""
    if sentence.doubted:
        return None
    words, quotes = hide_quotes(sentence.text)
    statement = _correction(f"no, {_LEAD.sub('', words, count=1)}")
    if statement is None:
        return None
    content = show_quotes(normalize_statement(statement[0]), quotes)
    if not MIN_WORDS <= word_count(content) <= MAX_WORDS:
        return None
    return Statement(
        content=content, span=sentence.text, kind=statement[1], confidence=statement[2], cue=statement[3]
    )


_LOOSE_END = lazy_regex(
    r"(?:,\s+(?=(?:it|it'?s|that|that'?s|this|they|they'?re|which|would|you|can|could)\b)|\s*(?:\.{2,}|\u2026)(?=\s|$)|\s+[-\u2013\u2014]+\s+|;\s+|,\s+(?:and|but|so)\s+).*$",
    re.IGNORECASE | re.DOTALL,
)
_REASON_BEHIND = lazy_regex(
    r"^\s*(?:\.{2,}|\u2026|[-\u2013\u2014]|;|,)\s*(?:since|because|as)?\s*(?:the|this|these|our|we) (?!(?:is|was|are|were|one)\b)[\w-]+ (?:\w+ )?(?:is|are|has|have|will|uses?|needs?|owns?|depends?|does|do|breaks?|comes?)\b",
    re.IGNORECASE,
)
"""Says why, of a thing that it names: it stays with the rule."""
_OTHER_CLAUSE = lazy_regex(
    r"^[^,;]*(?:,\s+(?:and |but |so )?|;\s+)(?P<rest>[^,;]+)$", re.IGNORECASE | re.DOTALL
)
_CONDITION_FIRST = lazy_regex(
    r"^(?:if|when\w*|unless|while|once|after|before|until|although|though|for|in|on|with|as|since|because)\b",
    re.IGNORECASE,
)
_PRONOUN = lazy_regex(r"\b(?:it|its|it'?s|they|them|their|then|too|also|instead)\b", re.IGNORECASE)
_THIS_PROJECT = lazy_regex(
    r"^(?:(?:please )?note(?: that)?,? )?this is (?=(?:not )?(?:only )?an? )", re.IGNORECASE
)


def _form(body: str) -> _Found | None:
    """A standing form: of the whole sentence, else of a clause of it that stands by itself."""
    rule = rule_to_write(body)
    if rule and not _question(body) and not has_loose_reference(rule):
        return rule, kind_of(rule), 0.8, "a rule to write down"
    clauses = [body]
    if not _CONDITION_FIRST.match(body):
        clauses.append(_LOOSE_END.sub("", body))
        second_clause = _OTHER_CLAUSE.match(body)
        # What a pronoun of the second clause stands for may be in the first one.
        clauses += (
            [second_clause["rest"]] if second_clause and not _PRONOUN.search(second_clause["rest"]) else []
        )
    if _SUPPOSED.search(body) or _for_once(body):
        return None
    for clause in clauses:
        if word_count(clause) < _LEAST_FORM or has_loose_reference(_THIS_PROJECT.sub("", clause)):
            continue
        form = standing_form(clause)
        if form and _REASON_BEHIND.match(body[len(clause) :]) and body.startswith(clause):
            form = (body, *form[1:])
        if form and (form[2] == "can we not" or not _question(body)):
            return form[0], form[1], 0.8, form[2]
    return None


_TWO_SENTENCES = "two sentences"
_REPLACED_BY = lazy_regex(
    r"^(?:(?:so|please|just|then)\s+)*use \S.* instead\b(?! of\b).*$", re.IGNORECASE | re.DOTALL
)
_RULED_OUT = lazy_regex(
    r"\b(?:is|are|was) (?:\w+ )?(?:insecure|unsafe|deprecated|obsolete|outdated|discouraged|not (?:allowed|supported|recommended|thread[- ]safe|secure|safe)"
    r"|unmaintained|abandoned|banned|forbidden)\b",
    re.IGNORECASE,
)
_SET_RIGHT = lazy_regex(
    r"^(?:this|that|which) is (?:wrong|incorrect|not (?:right|correct|true)),?\s+(?:and |because |since )?(?:it|they)(?:'s| is| are| should be| must be)\s+\S.+$",
    re.IGNORECASE | re.DOTALL,
)
_IS_OUR_WAY = lazy_regex(
    r"^(?:it|that)(?:'s| is) (?:our|the) (?:[\w-]+ ){0,3}(?:pattern|convention|standard|way|rule|policy)\b.+$",
    re.IGNORECASE | re.DOTALL,
)
_WHY_NOT = lazy_regex(r"^why (?:are ?n'?t|do ?n'?t|is ?n'?t|not)\b.+\?$", re.IGNORECASE | re.DOTALL)


def _with_previous(before: Sentence, sentence: Sentence) -> Statement | None:
    """A statement in two sentences: what is wrong with something, then what holds instead."""
    if before.doubted or sentence.doubted or before.own is not sentence.own:
        return None
    first, second = before.text, sentence.text
    instead = _REPLACED_BY.match(second) and _RULED_OUT.search(first)
    if not (instead or _SET_RIGHT.match(second) or (_IS_OUR_WAY.match(second) and _WHY_NOT.match(first))):
        return None
    if has_loose_reference(_LEAD.sub("", first, count=1)) or _for_once(second):
        return None
    content = normalize_statement(f"{first} {second}")
    if not MIN_WORDS <= word_count(content) <= MAX_WORDS:
        return None
    kind = "preference" if instead or _IS_OUR_WAY.match(second) else "correction"
    return Statement(content=content, span=f"{first} {second}", kind=kind, confidence=0.8, cue=_TWO_SENTENCES)


_REMEMBER_ONLY: tuple[_Cue, ...] = (_remember,)
_CUES: tuple[_Cue, ...] = (
    _remember,
    _correction,
    _from_now_on,
    _always,
    _ours,
    _instead,
    _prefer,
    _decided,
    _stop_doing,
    _standing,
    _with_reason,
    _in_all_places,
    _form,
)
