"""Which language a statement is about at large: "In Python, always use f-strings". In: a sentence. Out: a language, or "".

Only what names the language as the place where it holds. What a team does ("we"), and what names this project, its files or
parts, stays the project's.
"""

from __future__ import annotations

import re

from tacit.text.lazy_regex import lazy_regex

_NAMES: dict[str, str] = {
    "python": "python", "go": "go", "golang": "go", "typescript": "typescript", "ts": "typescript",
    "javascript": "javascript", "js": "javascript", "rust": "rust", "java": "java", "kotlin": "kotlin", "c#": "c#",
    "csharp": "c#", "c++": "c++", "ruby": "ruby", "php": "php", "swift": "swift", "scala": "scala", "dart": "dart",
    "elixir": "elixir", "erlang": "erlang", "haskell": "haskell", "ocaml": "ocaml", "clojure": "clojure", "lua": "lua",
    "perl": "perl", "julia": "julia", "zig": "zig", "bash": "shell", "shell": "shell", "powershell": "powershell",
    "sql": "sql", "html": "html", "css": "css", "terraform": "terraform",
}  # fmt: skip
"""Names of languages in speech, and the names that files are known by."""
_NAME = "(?:" + "|".join(re.escape(name) for name in sorted(_NAMES, key=len, reverse=True)) + r")(?![\w#+-])"
_ALL = r"(?:(?:all|any|every|each|my|new) (?:of )?(?:my )?)*"
_CODE = r"(?:code|files?|projects?|repos(?:itories)?|modules?|packages?|scripts?|programs?|functions?|classes|tests?)"
_PLACE = rf"(?:in|for|with|when(?:ever)? (?:you |i )?(?:writ(?:e|ing)|us(?:e|ing)|work(?:ing)? (?:in|with|on))) {_ALL}"
_LEAD = r"(?:(?:please|also|and|so|ok|remember(?: that)?|from now on|no)\b[,:]? *)*"
_FIRST = lazy_regex(
    rf"^{_LEAD}{_PLACE}(?P<name>{_NAME})(?: {_CODE})?(?:[,:]\s*|\s+(?=(?:always|never|i|use|prefer|do|don'?t)\b))",
    re.IGNORECASE,
)
_LAST = lazy_regex(
    rf"^{_LEAD}(?:(?:i|always|never|do not|don'?t|really|only) )*(?:use|prefer|avoid|like|hate|want|write) .+ (?:in|for) {_ALL}(?P<name>{_NAME}) {_CODE}[\s.!]*$"
    rf"|^{_LEAD}(?:(?:i|always|never|do not|don'?t|really|only) )*(?:use|prefer|avoid|like|hate) .+ in (?P<bare>{_NAME})[\s.!]*$",
    re.IGNORECASE,
)
"""What is used in a language; "write the service in Go" chooses a language and is no rule of it."""
_SUBJECT = lazy_regex(
    rf"^{_LEAD}{_ALL}(?P<name>{_NAME}) {_CODE} (?:must|should|has to|have to|always|never|needs?)\b", re.IGNORECASE
)  # fmt: skip
_HERE = lazy_regex(
    r"\b(?:we|our|us|here|this (?!kind|sort)|these|the (?:team|project|repo|repository|service|app|api|backend|frontend)s?)\b|[\w-]+/[\w./-]+",
    re.IGNORECASE,
)
"""Speaks of this project, its people or its files."""


def language_at_large(sentence: str) -> str:
    """The language that `sentence` is a rule of, wherever it is written; "" where it is about none, or about this project."""
    match = _FIRST.search(sentence) or _SUBJECT.search(sentence) or _LAST.search(sentence)
    if match is None or _HERE.search(sentence):
        return ""
    groups = match.groupdict()
    return _NAMES[(groups["name"] or groups["bare"]).lower()]
