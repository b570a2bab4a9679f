"""Standing matters said without "always", "never" or "remember". In: one sentence, quotations hidden. Out: what it states, or None.

Each form speaks of all cases, of the project as such, or of how things are and shall stay: "all borders are to ...", "one class
per file", "leave X alone", "X runs on Y, not on Z". Who calls has refused questions, suppositions, one-off orders and loose
references before. Never calls a model.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from tacit.capture.wording import kind_of, opens_with_verb
from tacit.text.lazy_regex import lazy_regex

_NOT_NAMED = (
    r"(?!(?:this|that|these|those|it|its|it'?s|they|we|you|i|he|she|there|here|what|which|who|why|how|when|where|if|but|so|then|both|one|some|most"
    r"|none|nothing|everything|do|does|did|is|are|was|were|can|could|would|should|please|not|no|also|just|let'?s|lets|as|and|or|because|since"
    r"|(?:(?:the|my|your|a|an|only|main) )?(?:fix|problem|issue|bug|error|point|idea|question|reason|thing|answer|solution|next|trick|plan|result|output)(?= (?:is|was|are|were|in|with|here|lies|seems|of)\b))\b)"
)
_NAME = rf"{_NOT_NAMED}[^\s,;:?!]+(?: (?!(?:is|are|should|must|will|would|can|could|that|which|who|it|they|we|you|i)\b)[^\s,;:?!]+){{0,6}}?"
"""A few words that name something."""
_PATH = r"`?(?:(?:\.{1,2}|~|[\w@.-]+)?/[\w@./*-]+|https?://\S+)`?"
_FILE_NAME = r"`?[\w/-]+\.[a-z]{1,5}`?"
_SYMBOL = r"`?[\w.]+(?:\(\))?`?"
"""One name of code: where it is to be is a move, done once."""
_PLACE = r"(?:on|in|from|to|inside|under|into|for|with|about|outside|between)"
_MAKING = (
    r"(?:have|put|show|use|add|include|display|render|print|log|write|mention|call|name|mock|hard-?code|nest|expose|wrap|import|require|rely|store"
    r"|commit|mix|duplicate|allow|create|introduce|touch|rename|send|return|cache|copy|override|depend)"
)
_TROUBLE = lazy_regex(
    r"\b(?:errors?(?! (?:messages?|handling|handlers?|codes?|types?|pages?|classes|responses?|boundar\w+|reports?|formats?)\b)|fail(?:s|ed|ing|ures?)?|broken|broke|bugs?(?! ?(?:fix\w*|reports?|tracker)\b)|crash\w*|wrong(?:ly)?|missing|undefined|stuck|weird|strange|issues?(?! (?:tracker|templates?|numbers?|labels?)\b)|problems?"
    r"|does ?n'?t work|not working|did ?n'?t|was ?n'?t|were ?n'?t|exceptions?|traceback|happen(?:s|ed|ing)?|anymore|still|seems?|looks like)\b",
    re.IGNORECASE,
)
"""Words of a complaint or a report, which tell of a moment."""
_NOW = lazy_regex(
    r"\b(?:now|right away|again|next(?! (?:release|version|major|minor|year|quarter)\b)|first|today|yet|later|then|rerun|once you|currently)\b",
    re.IGNORECASE,
)
_HEDGED = lazy_regex(
    r"\b(?:maybe|perhaps|might|not sure|i (?:think|guess|wonder|assume|suppose|believe)|probably|could|would be (?:nice|good|great)|temporar\w*|what about"
    r"|should (?:i|we|it)\b|let me know|apparently|presumably|supposedly|sometimes)\b",
    re.IGNORECASE,
)
_CHOICE = lazy_regex(
    r"\b(?:option|improvement|approach|variant|number|step|phase|plan|finding|point|item|part|task|chunk|comment|suggestion|issue|question) ?#?(?:\d+|[a-d])\b"
    r"|\(\d+\)|#\d|\bmode:|\bboth\W*$|\bas (?:discussed|suggested|proposed)\b",
    re.IGNORECASE,
)
"""Names something by its place in what the agent listed."""


@dataclass(frozen=True, slots=True)
class _Form:
    """A form of statement: name of the cue, its pattern, its kind ("" = as worded).

    `troubled` = words of trouble may stand in it; `orders` = whether it opens with a verb in its base form; None = it may.
    """

    cue: str
    pattern: str
    kind: str = ""
    troubled: bool = False
    orders: bool | None = False


def _late(form: _Form) -> tuple[_Form, re.Pattern[str]]:
    return form, lazy_regex(f"^(?:please,? )?{form.pattern}", re.IGNORECASE | re.DOTALL)


_FORMS = tuple(
    _late(form)
    for form in (
        _Form(
            "all of a kind",
            rf"(?:all|every|each) (?!(?:of|one|that|this|these|those|it|them|right|good|set|done|you|we|i|other)\b){_NAME}"
            r" (?:(?:is|are) to (?!me\b)|(?:must|should|needs?|has|have) (?!been\b)|(?:comes? (?:from|with)|goe?s? (?:in|into|under|through)|lives? in|belongs? (?:in|to)"
            r"|uses?|extends?|implements?|inherits?|starts? with|ends? with|returns?|takes?|gets?)\b).+$",
            "preference",
        ),
        _Form("should not", rf"(?!{_SYMBOL} should ?n[o']?t be in {_FILE_NAME}[.!]?$){_NAME} (?:should|must|may)(?:n'?t| not| only) (?!be able\b)[a-z]{{2,}}\b.*$"),
        _Form(
            "must",
            rf"{_NAME} must (?:only )?(?!have\b|be (?:an?|the|some\w*|because|due|that|in|on|at|why|how|what|related|related to|your|my)\b)[a-z]{{2,}}\b .+$",
            "preference",
        ),
        _Form("belongs", rf"{_NAME} (?:belongs?|does ?n[o']?t belong|do ?n[o']?t belong|does not belong|do not belong) (?:in|on|to|under|into|next to)\b .+$", "fact"),
        _Form("let us not", r"(?:let'?s|lets) (?:not|never) [a-z]+ .+ (?:if|when|unless|whenever|for|in|on|with) .+$", "anti_pattern", orders=None),
        _Form("one per", r"(?:(?:only|at most|exactly|max(?:imum)?|use|keep|have) )?one [\w/ -]{2,40} per [\w -]{2,30}[\s.!]*$", "preference", orders=None),
        _Form(
            "while doing",
            r"(?:use|try|attempt|prefer|run|avoid|follow|keep|ask|stick|refer|consult) [^?]{3,80} when(?:ever)? (?!(?:you|i|we)'?(?:re)? (?:done|finished|ready)|done|finished)"
            r"(?:(?:you|we) )?[a-z]{3,}\b.+$",
            "preference", troubled=True, orders=None),
        _Form(
            "a way of building",
            r"(?:use|follow|adopt|keep to|stick (?:to|with)|go with|stay with) (?:an?|the|our) (?!(?:same|above|new|other|this|that|following|second|first|last)\b)[^?.;]{2,60}?"
            r"\b(?:layout|pattern|structure|convention|style|approach|architecture|naming|scheme|framework|guidelines?|standard)s?\b.*$",
            "decision", orders=None),
        _Form(
            "chosen",
            r"(?:let'?s|lets|we(?:'ll| will|'?re going to| are going to)|i(?:'ve| have) decided to) (?:only )?(?:go with|stick (?:with|to)|standardi[sz]e on|settle on|stay with|use|keep) "
            r"(?!(?:going|trying|looking|working)\b)\S+(?: \S+){2,}(?<! as-is)(?<! as it is)$|(?:we'?re|we are) (?:going|sticking|staying) with \S+(?: \S+){2,}$|(?:decision\s*:|the decision is)\s*\S.+$",
            "decision", orders=None),
        _Form(
            "a change of tools",
            r"we(?:'re| are) (?:(?:now|also|all) )?(?:dropping|moving (?:away )?(?:to|from|off)|switching (?:to|from)|migrating (?:to|from)|standardi[sz]ing on|adopting|deprecating|replacing|retiring"
            r"|phasing out|upgrading to|getting rid of)\b.+$",
            "decision",
        ),
        _Form(
            "another tool",
            rf"(?:we|the team)(?:'ve| have| has)? (?:(?:now|just|recently|all|finally) )?(?:(?:switched|moved|migrated|changed)(?: over)? from {_NAME} to|replaced (?!(?:the|an?|this|that|my|your|all)\b){_NAME} (?:with|by)) {_NOT_NAMED}\S+(?: \S+){{0,6}}$",
            "decision",
        ),
        _Form(
            "leave alone",
            rf"(?:leave|keep) {_NAME} (?:alone|untouched|unchanged|intact|as[- ]is|as it is|as they are)\b.*$",
            "anti_pattern", orders=None),
        _Form(
            "not wanted",
            rf"(?:(?:plus )?(?:i|we)(?: really)? )?(?:do not|don'?t|dont|never) want (?!(?:to|you|us|me|anything|something)\b|(?:the |an? )?@){_NOT_NAMED}\S+(?: \S+){{2,}}.*$"
            rf"|(?:we )?(?:do not|don'?t|dont) need (?:an?|any|the) \S+(?: \S+)*? (?!to (?!(?:the|our|an?|any)\b)){_PLACE} \S.+$",
            "correction", orders=None),
        _Form(
            "do not make",
            rf"(?:do not|don'?t|dont) {_MAKING} {_NOT_NAMED}\S+(?: \S+){{0,8}}? {_PLACE} {_NOT_NAMED}\S+.*$",
            "correction", orders=None),
        _Form(
            "what it is",
            r"this is (?:not )?(?:only )?an? (?!(?:great|nice|good|bad|huge|big|known|real|serious|cool|new|simple|small) )[^.?!]*?"
            r"\b(?:project|app|application|repo|repository|library|package|service|monorepo|plugin|extension|website|site|prototype|code ?base|cli)\b.*$",
            "fact",
        ),
        _Form(
            "as elsewhere",
            rf"{_NAME} (?:is [^,?;]{{3,40}} and )?(?:should|must|needs?|has|have|is|are) [^?;]+?,? (?:just |exactly )?(?:like|as|the way|the same way as) (?:we|the other \w+|all other \w+|every other \w+)"
            r" (?:always |already )?(?:do|does|did|have|had)\b.*$",
            "decision",
        ),
        _Form(
            "where it lives",
            rf"(?!\S*\.\w+ )(?![^.]*\b(?:logs?|outputs?|data|files?|traces?|screenshots?|results?|dumps?|sessions?|transcripts?|examples?|diffs?|images?|videos?|pages?)\b)"
            rf"{_NAME} (?:is|are|lives?|sits?|is located|are located|is found|is kept|are kept|is defined|is stored|are stored) (?:at|in|under) (?:the )?{_PATH}.*$"
            rf"|(?:you|we) have an? (?:local |full )?(?:copy|clone|checkout)(?: of [^,.?]+)? (?:at|in|under) {_PATH}.*$",
            "file_context",
        ),
        _Form(
            "what a file is for",
            r"(?:the )?`?(?:[\w.-]+/)*[\w-]+\.\w{1,5}`? (?:contains|holds|defines|handles|is where|is for|is used (?:for|to|by))\b.+$",
            "file_context",
        ),
        _Form(
            "only where",
            rf"{_NAME} (?:can |may |will )?only (?:works?|runs?|appl(?:y|ies)|compiles?|builds?|supports?|accepts?|starts?|exists?) (?:if|when|with|on|in|for|after|inside|under|through)\b.+$",
            "fact",
        ),
        _Form(
            "how it works",
            rf"{_NAME} (?:is|are) (?:(?:always|only|automatically) )?(?:(?:re)?(?:generated|created|built|compiled|stored|loaded|deployed|published|computed)|derived|cached|imported"
            r"|triggered|invoked|executed|disposed of|cleared|deleted|reset|synced|signed|versioned|managed|owned)\b[^?]*?\b(?:by|from|when(?:ever)?|on|at|after|before|during|every|via|through|per) "
            r"(?!(?:the (?:left|right|top|bottom)|twice)\b)\S.*$",
            "fact",
        ),
        _Form("taken", rf"{_NAME} (?:is|are) (?:used|taken|reserved) (?:for|by) \S.+$", "fact"),
        _Form(
            "no longer",
            rf"{_NAME} (?:is|are) (?:no longer (?:supported|maintained|used|needed|required|allowed)|deprecated|end[- ]of[- ]life|out of support)\b.*$",
            "fact",
        ),
        _Form(
            "ours",
            rf"{_NAME} (?:is|are|is ?n'?t|is not|are ?n'?t|are not) (?:our|an? (?:\w+ )?(?:goal|priority|requirement|non-goal)|the (?:\w+ )?(?:goal|priority|requirement)|out of scope)\b.*$",
            "fact",
        ),
        _Form(
            "one, not the other",
            rf"{_NAME} (?:runs?|is|are|lives?|listens?|points?|goe?s?|uses?|deploys?|comes?|starts?|expires?|connects?|reads?|writes?|belongs?) [^?;]{{2,60}}?,\s+(?:and )?not"
            r" (?:(?:on|in|at|from|to|with|by|via|through|the|an?) )*(?!(?:yet|sure|working|ready|the case|an? problem)\b)\S+.*$",
            "fact",
        ),
        _Form(
            "a general wish",
            rf"(?:i|we)(?:'d| would)? (?:want|like|need|expect) (?:(?:all|the|our) )?(?:(?:all|our) {_NAME}|(?:[\w-]+ ){{0,2}}[\w-]{{3,}}(?<![isu])s|(?:whole )?(?:program|app|application|project|code|code ?base|api|ui"
            r"|cli|docs|documentation|build|output|game|tool|library|server|client)) to (?!(?:know|see|understand|check)\b)[a-z]+\b.+$",
            "preference",
        ),
        _Form("wherever useful", r"(?:let'?s |lets )?use .+ (?:where|when|whenever|wherever) (?:needed|possible|appropriate|it makes sense|useful)\b.*$", "preference", orders=None),
        _Form(
            "ask before",
            r"(?:always )?(?:ask|check with|tell|warn|ping|consult|confirm with) (?:me|us)(?: first)? before (?:you )?(?!(?:start|begin|finish|proceed|continue|going|moving|doing (?:it|that|this))\w*\b)[a-z]+ .+$",
            "preference", orders=None),
        _Form(
            "no more",
            r"we (?:do not|don'?t|dont) (?!(?:have|know|see|need|think|understand|get|care)\b)[a-z]+ [^?]+? (?:any ?more|any longer)\b.*$|we no longer [a-z]+ \S+.*$",
            troubled=True,
        ),
        _Form("you should not", r"you (?:should|must)(?:n'?t| not) (?!have\b|need\b)[a-z]+ .+$", "anti_pattern"),
        _Form(
            "each time",
            r"(?:make sure|be sure|ensure|remember)\b.+\b(?:every|each|whenever|any ?time|always)\b.+$",
            "preference",
            orders=None,
        ),
        _Form("our gate", r"(?:our|the) (?:ci|build|pipeline|linter|pre-commit hook|release|deploy(?:ment)?) (?:fails?|breaks?|rejects?|requires?|blocks?|refuses?) (?:if|when|unless|every|all|any)\b.+$", "fact", True),
        _Form("by default", rf"(?:default to \S+ (?:for|in|when) .+|by default,? {_NAME} (?:runs?|uses?|is|are|goe?s?) .+|the default [\w -]{{2,30}}(?: here)? is \S+.*)$", "fact", orders=None),
        _Form("after each", r"(?:git )?(?!(?:look|check|see|show|tell|explain|fix)\b)[a-z]+\b.{0,80}\bafter (?:each|every) (?!(?:time|one)\b)\S+.*$", "preference", orders=True),
        _Form("our way", r"our (?:\w+ ){1,3}(?:always|never|only|must|require|prefer|expect|support|do not|don'?t|does not|doesn'?t)\b.+$|(?:it'?s|it is) our (?:convention|policy|standard|practice) (?:to|that)\b.+$|we (?:do not|don'?t|dont) (?:even |ever )?(?!(?:have|know|see|need|think|understand|want|care|get)\b)[a-z]+ [^?]{3,80}, we [a-z]+ .+$|we (?:only |also )?(?:do not|don'?t|dont|never) (?:use|allow|support|test|mock|write|commit|ship|deploy|merge|accept|add)\b \S+ ?.*$"),
    )
)  # fmt: skip
_MADE_RULE = lazy_regex(
    r"^(?:please )?(?:create|make|add|write) (?:an?|another|one more) (?:new )?(?:[\w.-]+ )?rule (?:that |which )?(?:says?|saying|specif(?:y|ies|ying)|states?|stating|requires?|requiring|to (?:say|specify|state))"
    r" (?:that |to )?(?P<rest>.{15,})$",
    re.IGNORECASE | re.DOTALL,
)
_REST = lazy_regex(
    r"^(?:please )?(?:update|change|add|edit|extend|modify|put|adjust|improve)\b.{0,60}?\b(?:rules?|instructions|guidelines?|conventions|claude\.md|agents\.md|[\w-]+\.mdc?)\b"
    r".{0,40}?\b(?:to|that|so)\s+(?P<rest>(?:always|never) [a-z]+ .+)$",
    re.IGNORECASE | re.DOTALL,
)
"""A rule that is to be written down is one: "update the rule to say to always ..."."""
_POLITE = lazy_regex(
    r"^(?:can|could|would|will) (?:we|you) (?:please )?(?:not|never) (?P<rest>[a-z]+ (?!(?:the|this|that|these|those|it|them)\b).*?\b(?:[\w-]+(?<![isu])s|any \w+)\b.*?)\??$",
    re.IGNORECASE | re.DOTALL,
)
_NOTE = lazy_regex(
    r"^(?:please )?(?:note|be aware|fyi|heads[- ]up|for context|just so you know)(?:(?: that\b|[:,]|\s+[-\u2013\u2014])\s+|\s+(?=(?:the|this|our|all|every|each)\b))"
    r"(?P<rest>(?!(?:how|the way|i|we|you|it|that)\b).+)$",
    re.IGNORECASE | re.DOTALL,
)
_STATES = lazy_regex(
    r"\b(?:is|are|uses?|must|should|never|always|cannot|needs?|requires?|lives?|runs?|expires?|supports?|comes?|goes?|has|have|contains?|returns?|accepts?|expects?|belongs?)\b",
    re.IGNORECASE,
)
_GIT = lazy_regex(r"^(?:please )?git ", re.IGNORECASE)
_Found = tuple[str, str, str]
"""Content, kind and cue."""


def rule_to_write(body: str) -> str:
    """The rule that somebody is asked to write into a file of rules, "" = none."""
    rule = _REST.match(body) or _MADE_RULE.match(body)
    return rule["rest"] if rule else ""


def standing_form(body: str) -> _Found | None:
    """Read `body` as one of the forms of a standing statement."""
    if _HEDGED.search(body):
        return None
    polite = _POLITE.match(body)
    if polite and not _NOW.search(body):
        return f"Do not {polite['rest']}", "anti_pattern", "can we not"
    note = _NOTE.match(body)
    if note and _STATES.search(note["rest"]) and not _TROUBLE.search(body):
        return note["rest"], kind_of(note["rest"]), "note"
    if _CHOICE.search(body) or _NOW.search(body):
        return None
    troubled, orders = bool(_TROUBLE.search(body)), opens_with_verb(_GIT.sub("", body))
    for form, pattern in _FORMS:
        if (form.orders in (None, orders)) and (form.troubled or not troubled) and pattern.match(body):
            kind = form.kind or kind_of(body)
            return body, "preference" if kind == "fact" and not form.kind else kind, form.cue
    return None
