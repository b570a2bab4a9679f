"""Whether the user said what an agent states. In: a statement, the words quoted for it, recent prompts. Out: yes or no.

A quotation alone proves nothing: an agent led astray can quote any words beside any rule. So the sentence in which the quoted
words stand must itself state it: the same words that carry meaning, in the same order, none left out between them, and
nothing before or behind them in the sentence that limits or turns them. Politeness, forms of address, and the name of the
project may differ. A question, a report, a doubt or a text that the user handed over states nothing. On doubt the answer is
no, and the statement waits for the user.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from tacit.capture.prose import Sentence, spoken_sentences
from tacit.capture.wording import IMPERATIVES
from tacit.model.ids import normalize_text
from tacit.model.session import SessionKey
from tacit.ports.store import ProjectRecord, Store
from tacit.reading.prompts.reports import names_source, reports_others
from tacit.reading.prompts.voice import asks_about_text
from tacit.reading.sentences import split_sentences
from tacit.session.transitions import PROMPT_CHARS
from tacit.text.lazy_regex import lazy_regex
from tacit.text.stemming import quote_stem
from tacit.text.stop_words import QUOTE_STOP_WORDS

MIN_QUOTED_WORDS = 3
MIN_WORDS = 2
"""Fewest words with a meaning of a statement: one word is said by any sentence that holds it."""
RECENT_SESSIONS = 10
QUOTED_WITHIN_MS = 6 * 3_600_000
"""How old the newest signal of a session may be for its prompts to vouch for what an agent states."""

_NOT = "not"
_CHOOSE = "use"
_CONTRACTED = lazy_regex(
    r"\b(?P<verb>do|does|did|is|are|was|were|should|must|would|could|have|has|had|need|ca|wo)n['\u2019]?t\b",
    re.IGNORECASE,
)
_REWRITES: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (lazy_regex(pattern, re.IGNORECASE), to)
    for pattern, to in (
        (r"[\u2018\u2019]", "'"),
        (r"\b(?:can'?t|cannot|can not)\b", "must not"),
        (r"\bwon'?t\b", "will not"),
        (r"\bain'?t\b", "is not"),
        (r"\bi'?d\b(?=\s+(?:like|prefer|rather|love|want|appreciate))", "i would"),
        (r"\b(?:i|we|you|they|he|she)'(?:ve|re|m)\b", " "),
        (r"\b(?:i|we)'ll\b", "i will"),
        (r"\blet'?s\b", " "),
        (r"\bby the way\b", " "),
        (r",?\s*\b(?:by|as (?:a|our|the)(?: general)?) (?:convention|rule|policy)\s*$", " "),
        # Who wants it, in either mouth.
        (
            (
                r"\b(?:as |per )?(?:requested|instructed|asked|stated|confirmed|decided|said) by the user\b[,:]?|\bper (?:the )?user'?s?(?: (?:request|instructions?|preference))?\b[,:]?"
                r"|\((?:the )?user(?:'s)? (?:preference|rule|decision|request|instruction)\)|^(?:the )?user(?:'s)? (?:preference|rule|decision|request|instruction)s?(?: is(?: to| that)?)?\s*[:,-]?"
            ),
            " ",
        ),
        (
            r"\b(?:the )?user\s+(?:explicitly |strongly |generally |always )?(?:said|stated|asked|told me|told us|instructed|requested|requires?|insists?|decided|expects?|specified|noted|confirmed|mandates?)\b(?:\s+(?:me|us|you|the agent|agents|claude))?(?:\s+(?:to|that|on))?",
            " ",
        ),
        (
            r"\b(?:(?:the )?team|we|user|the user)\s+(?:has |have |had )?(?:just |now |all |also |finally )?(?:decided|agreed|settled|standardi[sz]ed)\s+(?:that|to|on|upon)\b",
            " ",
        ),
        (
            r"\b(?:(?:the|our|my|project|team)\s+)*(?:decision|rule|convention|policy|preference)(?:\s+(?:here|in \w+))?\s*(?:is(?:\s+(?:to|that))?|:)",
            " ",
        ),
        (
            r"\b(?:please )?(?:remember|note|(?:keep|bear) (?:(?:that|this|it) )?in mind|do not forget|memori[sz]e|make a note|for (?:future reference|the record|the future|next time))\b(?:\s+(?:that|this|to))?\s*[:,]?",
            " ",
        ),
        (
            r"\b(?:from (?:now|here|this point|today) on(?:wards?)?|going forward|in (?:the )?future|henceforth|as (?:a )?(?:general )?rule|by default)\b\s*[,:]?",
            " always ",
        ),
        # Wishes: what is wanted counts, not that it is wanted.
        (
            r"\b(?:i|we|(?:the )?user|(?:the )?team)\s+(?:really |always |strongly |generally |would |do )*(?:does not|do not|did not)\s+(?:want|like|wish)\s+(?:you|us|me|agents|the agent|claude|anyone|anybody|it)?\s*to\s+",
            " not ",
        ),
        (
            r"\b(?:i|we|(?:the )?user|(?:the )?team)\s+(?:really |always |strongly |generally |would |do )*(?:does not|do not|did not)\s+(?:want|like|use|prefer|wish for)\s+(?:to use |using )?",
            " not use ",
        ),
        (
            r"\b(?:i|we|(?:the )?user|(?:the )?team)\s+(?:really |always |strongly |generally |would |just |do )*(?:wants?|likes?|prefers?|needs?|wish(?:es)?|loves?|expects?|appreciates?|rather)\s+(?:(?:you|us|me|agents|the agent|claude|it)\s+)?(?:(?:if|that)\s+(?:you|we)\s+)?(?:to\s+(?:always\s+)*|(?=always|never|not ))",
            " ",
        ),
        (
            r"\b(?:i|we|(?:the )?user|(?:the )?team)\s+(?:really |always |strongly |generally |would |just |do )*(?:wants?|likes?|prefers?|loves?|rather)\s+(?:using\s+|that\s+|it when\s+)?(?:you\s+|we\s+)?(?=(?P<gerund>\w+ing)\b)",
            " ",
        ),
        (
            r"\b(?:i|we|(?:the )?user|(?:the )?team)\s+(?:really |always |strongly |generally |would |just |do )*(?:wants?|likes?|prefers?|loves?|needs?|rather)\b",
            " use ",
        ),
        (r"\b(?:i|(?:the )?user)\s+(?=(?:always|never|usually)\b)", " "),
        (
            r"\b(?:make (?:sure|certain)|be sure|ensure|see to it|take care)\b(?:\s+(?:that|to|you|we|agents))*",
            " ",
        ),
        (r"\b(?:it is|it's) (?:important|essential|required|mandatory) (?:that|to)\b", " "),
        (
            r"\b(?:preference|prefer)s?\s+(?:for|using)\b|\bprefers?\b|\b(?:go|stick|going|sticking) with\b|\bchoose\b|\bopt for\b|\buses\b|\busing\b",
            " use ",
        ),
        (r"^\W*(?:this|the|our)\s+(?:project|repo|repository|code ?base|team|app)\s+(?=use)", " "),
        # "Not always" is not "never".
        (
            r"\b(?:(?:do|does|did|should|must|shall|will|would|is|are|was|were|may|have to|has to|need)\s+)?not\s+(?:always|every|each|all|only|necessarily|just|yet|entirely|everywhere|fully)\b",
            " notall ",
        ),
        # No, in every form.
        (r"^\W*no\s+(?=\w+)", " not "),
        (
            r"\b(?:do|does|did|should|must|shall|will|would|is|are|was|were|may|have to|has to)\s+(?:always\s+)?(?:not|never)(?:\s+ever)?\b",
            " not ",
        ),
        (
            r"\b(?:never ever|never|refrain from|avoid|stop|quit|no longer|not ever|nothing but no|cease|forbid|forbidden to|must no longer)\b",
            " not ",
        ),
        (r"\b(?:hates?|dislikes?)\b", " not use "),
        (
            r",?\s*\b(?:instead of|rather than|in place of|as opposed to|in preference to|and not|but not|and never|not|never)\b\s*(?:using\s+)?",
            " not ",
        ),
        (r"(?<=use )(?P<new>\S+(?: \S+){0,3}?)\s+over\s+", r" \g<new> not "),
        (r"\b(?:before|prior to)\b", " before "),
    )
)
_IN_PROJECT = (
    r"(?:,\s*)?\b(?:in|for|on|within|across|inside|throughout|of)\s+(?:(?:this|the|our|my)\s+)?(?:(?:whole|entire|current|{name})\s+)*"
    r"(?:(?:{name})(?:\s+(?:repo|repository|project|code ?base|app|workspace|monorepo|package))?|(?<=this )(?:repo|repository|project|code ?base|workspace|monorepo)"
    r"|(?<=the )(?:repo|repository|project|code ?base|workspace|monorepo)|(?<=our )(?:repo|repository|project|code ?base|workspace|monorepo)"
    r"|(?<=my )(?:repo|repository|project|code ?base|workspace|monorepo))(?![\w/-])"
)
_TOKEN = lazy_regex(r"[^\s,;:!?()\"\u201c\u201d\u2014\u2013]+|[,;:\u2014\u2013()]")
_BREAKS = frozenset(",;:\u2014\u2013()")
_ADVERBIAL = lazy_regex(
    r"^\s*(?:(?:and|also|so|ok|okay|please|yes)[\s,]+)*(?P<when>(?:for|in|on|when|whenever|if|before|after|while|during|at|with|once|unless|until|as soon as|every time|inside|within|under|instead of|rather than)\b[^,.;:!?]{2,90}),\s*(?P<main>\S.+)$",
    re.IGNORECASE | re.DOTALL,
)
_LIMIT_WORDS = (
    "not unless except only if when whenever until till while but however though although otherwise without instead nor neither no nobody"
    " none nothing hardly barely maybe perhaps once excluding besides apart sometimes mostly usually yet for in on at with during after before by under"
)
_LIMITS = frozenset(_LIMIT_WORDS.split())
_REASONS = frozenset({"because", "since", "so", "otherwise", "thanks"})
_DOUBTS = lazy_regex(
    r"\b(?:maybe|perhaps|possibly|probably|might|not sure|unsure|i (?:guess|wonder|suppose|think|believe|assume|doubt)|i (?:heard|read|saw)(?! (?:diffs?|logs?|code|patches|reviews?|messages|everything|all|it all)\b)|(?:we|you|one|they) (?:could|might|may)\b"
    r"|could (?:be|we|i)|should (?:i|we|it)\b|what if|suppos(?:e|ing)|imagine|hypothetical\w*|let'?s say|for example|for instance|e\.g\.|someday|some day|one day|at some point|eventually"
    r"|in theory|theoretically|considering|thinking (?:of|about)|wonder\w*|just kidding|kidding|joking|jk\b|as if|pretend|if i (?:said|told|asked|say)|would it|is it|are we|do we|don'?t we"
    r"|someone|somebody|some people|people (?:say|think)|apparently|allegedly|supposedly|rumou?r|seems?|tempted|was going to|used to(?![^.]*\bnow\b)|previously|formerly|in the past|back then|last (?:year|month|week|time)"
    r"|for now|right now|this time|just (?:this )?once|today|tonight|temporar(?:y|ily)|no idea|tbd|whether)\b",
    re.IGNORECASE,
)
_POLITE_REQUEST = lazy_regex(
    r"^\W*(?:(?:hey|ok|okay|and|also|so|hi)\W+)*(?:can|could|would|will) you (?:please |kindly |just )?(?=(?:always|never|make sure|remember|from now on|stop|not)\b"
    r"|(?:keep|use|put|place|write|name|leave|stick|avoid|prefer)\b[^?]*\b(?:all|every|each|any)\b)",
    re.IGNORECASE,
)
_QUESTION = lazy_regex(
    r"^\W*(?:(?:and|so|but|ok|hmm+|well|or)\W+)*(?:what|why|how|who|when|where|which|whose|is|are|was|were|am|does|do (?:i|we|you|they|people)|did|can|could|should|would|will|shall|may|must|has|have (?:i|we|you|they)|isn'?t|aren'?t|don'?t (?:i|we|you|they)|shouldn'?t|wouldn'?t|couldn'?t)\b(?!\s*,)",
    re.IGNORECASE,
)
_WHEN = lazy_regex(r"^\W*(?:and |so |but |ok )*(?:when|where)\b[^?]*$", re.IGNORECASE)
_RETRACTS = lazy_regex(
    r"^\W*(?:(?:oh|hm+|ah|but|and|well|ok)\W+)*(?:actually|no\b|nope|wait|scratch|never ?mind|nvm|forget (?:that|it|what)|just kidding|kidding|jk\b|on second thoughts?|cancel|ignore (?:that|this|it|what)|strike that|not really|i take|i was (?:joking|kidding|wrong)"
    r"|(?:that|this|which|it) (?:is|was|would be|sounds?|seems?|looks?)\b|disregard|or not\b|unless\b|except\b|but\b|however\b|only if\b|maybe\b|at least\b|said (?:no|every)|\W*(?:sarcasm|/s)\b)",
    re.IGNORECASE,
)
_ASKS_BACK = lazy_regex(
    r"\b(?:this|that|it|these|those|so|right|correct|true|ok|okay|sane|safe|agree|thoughts?|opinion|think|sense|wise|idea|sound|sounds|mean|really|serious|possible|rule|advice|policy)\b",
    re.IGNORECASE,
)
_REQUEST = lazy_regex(
    r"^\W*(?:(?:and|so|ok|now|then|also|first)\W+)*(?:can|could|would|will) you\b", re.IGNORECASE
)


def prompts_of(
    store: Store, project: ProjectRecord | None, session: SessionKey | None, *, now_ms: int
) -> tuple[str, ...]:
    """Recent prompts of `project`, of `session` alone where it is known; none without a project."""
    if project is None:
        return ()
    return tuple(
        prompt
        for state in store.list_sessions(limit=RECENT_SESSIONS)
        if state.project_id == project.id and state.last_signal_at_ms >= now_ms - QUOTED_WITHIN_MS
        if session is None or state.key == session
        for prompt in state.recent_prompts
    )


def said_by_user(statement: str, quoted: str, prompts: Iterable[str], *, project: str = "") -> bool:
    """Whether one of `prompts` holds the words `quoted`, and the sentences they stand in say `statement`.

    Args:
        statement: what the agent wants to store.
        quoted: the user's words, verbatim.
        prompts: what the user said lately.
        project: name of the project, which the statement may add.
    """
    words = normalize_text(quoted).strip(" .,;:!?\"'")
    if len(words.split()) < MIN_QUOTED_WORDS:
        return False
    claims = [claim for claim in split_sentences(statement) if claim.strip()]
    return bool(claims) and any(
        all(any(_says(sentence, claim, project) for sentence in sentences) for claim in claims)
        for prompt in prompts
        if (sentences := _stated_around(words, prompt))
    )


def _stated_around(words: str, prompt: str) -> list[str]:
    """The sentences of `prompt` that hold `words`, where the user states them in their own voice."""
    sentences = spoken_sentences(prompt)
    if len(prompt) >= PROMPT_CHARS:
        sentences = sentences[:-1]  # cut off: nobody knows how it goes on
    texts = [normalize_text(sentence.text) for sentence in sentences]
    whole = " ".join(texts)
    place = re.search(rf"(?<!\w){re.escape(words)}(?!\w)", whole)
    if place is None:
        return []
    stated: list[str] = []
    start = 0
    for number, text in enumerate(texts):
        end = start + len(text)
        if start < place.end() and end > place.start():
            if not _stated(sentences, number):
                return []
            stated.append(sentences[number].text)
        start = end + 1
    return stated


def _stated(sentences: Sequence[Sentence], number: int) -> bool:
    """Whether a sentence states something as the user's own word, and the one after it does not take that back."""
    sentence = sentences[number]
    text = sentence.text
    if not sentence.own or sentence.doubted or _DOUBTS.search(text) or asks_about_text(text) == "all":
        return False
    asks = text.rstrip(" )\"'").endswith("?") or (_QUESTION.match(text) and not _WHEN.match(text))
    if asks and not _POLITE_REQUEST.match(text):
        return False
    if reports_others(text) or names_source(text):
        return False
    if number + 1 < len(sentences):
        after = sentences[number + 1].text
        question = after.rstrip(" )\"'").endswith("?")
        if _RETRACTS.match(after) or (
            question and not _REQUEST.match(after) and (_ASKS_BACK.search(after) or len(after.split()) <= 4)
        ):
            return False
    return True


def _says(sentence: str, statement: str, project: str) -> bool:
    """Whether `sentence` states `statement`: its words stand in it one after another, and nothing around them turns them."""
    statement_words, spoken = _words(statement, project), _words(sentence, project)
    mine = [word for word in statement_words if word not in _BREAKS]
    if len(mine) < MIN_WORDS:
        return False
    if "always" in _lower(statement) and not _lasting(sentence):
        return False
    places = [at for at, word in enumerate(spoken) if word not in _BREAKS]
    theirs = [spoken[at] for at in places]
    for first in range(len(theirs) - len(mine) + 1):
        if theirs[first : first + len(mine)] != mine:
            continue
        before = spoken[: places[first]]
        after = spoken[places[first + len(mine) - 1] + 1 :]
        if _harmless_before(before, mine[0]) and _harmless_after(after):
            return True
    return False


def _lower(text: str) -> list[str]:
    return re.findall(r"[\w'-]+", text.lower())


def _lasting(sentence: str) -> bool:
    """Whether the sentence is a standing matter, not an order for once: else no `always` may be added to it."""
    return (
        re.search(
            r"\b(?:always|never|every|each|whenever|from (?:now|here|today) on|going forward|in (?:the )?future|rule|remember|note|convention|policy|we|our|prefer\w*|want|like|all|any|must|should"
            r"|instead of|rather than|not|don'?t|this (?:repo|project|code)|when|before|after)\b",
            sentence,
            re.IGNORECASE,
        )
        is not None
    )


def _words(text: str, project: str) -> list[str]:
    """The words that carry meaning, in order, with every form of no, of choosing and of place made one."""
    text = _POLITE_REQUEST.sub("", " ".join(text.split())).rstrip(" .!?")
    text = _CONTRACTED.sub(
        lambda match: (
            f"{match['verb']} not" if match["verb"].lower() not in ("ca", "wo") else f"{match['verb']}n't"
        ),
        text,
    )
    name = re.escape(project) if project else r"(?!)"
    text = re.sub(rf"^(?:{name})(?:\s+(?:repo|project))?\s*:\s*", "", text, flags=re.IGNORECASE)
    text = re.sub(_IN_PROJECT.format(name=name), " ", text, flags=re.IGNORECASE)
    text = re.sub(r"^[\s,]+", "", text)
    moved = _ADVERBIAL.match(text)
    if moved is not None:
        text = f"{moved['main'].rstrip(' .!')} {moved['when']}"
    for pattern, to in _REWRITES:
        text = pattern.sub(to, text)
    moved = _ADVERBIAL.match(text)
    if moved is not None:
        text = f"{moved['main'].rstrip(' .!')} {moved['when']}"
    words: list[str] = []
    for match in _TOKEN.finditer(text):
        raw = match[0]
        if raw in _BREAKS:
            words.append(raw)
            continue
        word = _word(raw)
        again = words[-1:] == [_NOT] and word in (_NOT, _CHOOSE)  # "avoid mocks" and "do not use mocks"
        if word and word not in QUOTE_STOP_WORDS and not again:
            words.append(word)
    while words and words[0] in _BREAKS:
        words.pop(0)
    while words and words[-1] in _BREAKS:
        words.pop()
    return words


def _word(raw: str) -> str:
    """Normalize a word for comparison: technical words as they are, others without case and ending."""
    bare = (
        raw.strip(".'\u2019`*_")
        if not raw.startswith(("--", "-", "./", "~/", "_", "."))
        else raw.rstrip(".'\u2019`*_")
    )
    if re.search(r"[/\\_@#$%^&=+<>|~\d]|\w\.\w|^--?\w|^\.", bare):
        return bare
    word = bare.lower().replace("\u2019", "'").removesuffix("'s")
    if word in QUOTE_STOP_WORDS or word in _LIMITS or word in _REASONS:
        return word
    return _CHOOSE if word == f"{_CHOOSE}s" else quote_stem(word)


def _harmless_before(before: Sequence[str], first: str) -> bool:
    """Whether what stands before the statement in its sentence is another clause, which neither limits nor denies it."""
    if not before:
        return True
    # "I had a look at the parser: ..." is the user's own finding.
    if before[-1] == ":" and before[0] == "i" and not _TURNS & set(before):
        return True
    if _LIMITS & set(before):
        return False
    if before[-1] == ":":
        return set(before) <= _LABELS
    opens = first in (_NOT, _CHOOSE) or first in _STEMS_OF_ORDERS
    return opens and (before[-1] in _BREAKS or before[-1] in ("and", "then", "plus"))


def _harmless_after(after: Sequence[str]) -> bool:
    """Whether what stands behind the statement is a reason or another clause, and takes nothing of it back."""
    rest = list(after)
    broke = False
    while rest and rest[0] in _BREAKS:
        broke = True
        rest.pop(0)
    if not rest:
        return True
    if rest[0] in _REASONS or (rest[0] == "as" and broke):
        return not ({"unless", "except", "but", "until"} & set(rest))
    if _LIMITS & set(rest):
        return False
    follows = rest[1] if rest[0] in ("and", "then", "plus") and len(rest) > 1 else ""
    if rest[0] in ("and", "then", "plus"):
        return follows in _STEMS_OF_ORDERS or follows in (_NOT, _CHOOSE, "then")
    return broke and (rest[0] in _STEMS_OF_ORDERS or rest[0] == _CHOOSE)


_TURNS = frozenset(
    [
        "not",
        "no",
        "nobody",
        "none",
        "nothing",
        "never",
        "if",
        "unless",
        "except",
        "only",
        "until",
        "but",
        "however",
        "although",
        "though",
        "without",
        "instead",
    ]
)
_LABEL_WORDS = "note rule reminder convention decision important preference correction update ps policy"
_LABELS = frozenset((":", *map(_word, _LABEL_WORDS.split())))
_STEMS_OF_ORDERS = frozenset(_word(verb) for verb in IMPERATIVES)
