"""Paths, identifiers and informative words of a text.

In: text. Out: the paths, code spans and lower-case words that say what it is about. Never reads a file; a word that
every prompt could hold is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from tacit.text.lazy_regex import lazy_regex

_EXT = (
    r"(?:py|pyi|ipynb|ts|tsx|mts|cts|js|jsx|mjs|cjs|go|rs|java|kt|kts|cs|csproj|sln|c|h|cc|cpp|hpp|rb|php|swift|scala|dart|exs?|erl|hs|lua"
    r"|pl|r|jl|zig|sh|bash|zsh|fish|ps1|bat|sql|html?|css|scss|sass|less|vue|svelte|graphql|proto|tf|nix|mdx?|mdc|rst|txt|ya?ml|jsonl?|jsonc"
    r"|toml|xml|ini|cfg|conf|env|lock|csv|svg|png|gradle|sum|mod|log|db|sqlite|snap|tmpl|j2|plist)"
)
PATH = lazy_regex(
    r"(?<![\w/.@:-])(?:(?=[\w@+-]*+[./\\~:])(?:"  # a plain word is none
    r"(?:~|\.{1,2}|[A-Za-z]:)?[/\\]?(?:[\w.@+-]++[/\\])+[\w.@+*-]*[\w*]/?"  # with a folder
    rf"|[\w@+-]++(?=\.)[\w.@+-]*\.{_EXT}"  # a file name with a known ending
    r"|\.(?:env|gitignore|dockerignore|npmrc|nvmrc|editorconfig|eslintrc|prettierrc|bashrc|zshrc)[\w.-]*"
    r")|(?:Dockerfile|Makefile|Justfile|justfile|Gemfile|Rakefile|Jenkinsfile|CHANGELOG|LICENSE|README)"
    r")(?![\w/\\])"
)
_MAYBE_PATH = lazy_regex(r"[/\\]|\.\w|file|CHANGELOG|LICENSE|README")
"""Without one of these there is no PATH: far cheaper to look for."""
_URL = lazy_regex(r"\b[a-z][a-z0-9+.-]*://[^\s<>\"')\]]+", re.IGNORECASE)
_FENCE = lazy_regex(r"(?:```|~~~).*?(?:```|~~~|\Z)", re.DOTALL)
_SPAN = lazy_regex(r"`([^`\n]{1,120})`")
_SLASHED = lazy_regex(
    r"^(?:and|or|his|her|he|she|either|input|output|read|yes|no|on|off|true|false|w|n|i|a|\d+)[/\\]",
    re.IGNORECASE,
)
IDENTIFIER = lazy_regex(
    r"(?<![\w.@-])(?:[a-z][a-z0-9]*+(?:(?:_[a-z0-9]++)++|(?:[A-Z][a-z0-9]*+)++)(?!\w)"
    r"|[A-Z](?:[A-Z0-9]*+(?:_[A-Z0-9]++)++|[a-z0-9]++(?:[A-Z][a-z0-9]++)++)(?!\w)|[A-Za-z_]\w*+\(\)(?!\w)|--[a-z][\w-]++)"
)
_MAYBE_IDENTIFIER = lazy_regex(r"[A-Z](?<=[a-z0-9][A-Z])|_|\(\)|--")
"""Without one of these there is no IDENTIFIER."""
KEPT = 16
"""Texts whose reading is kept: what reads one prompt asks for the same things several times."""
_WORD = lazy_regex(r"[a-z][a-z0-9+#]*(?:[-_.][a-z0-9]+)*|#\d+")

_STOPWORDS_TEXT = """
a about above across actually add added adding after again against ago agree all almost along already
also although always am among an and another any anymore anyone anything anyway appear are around as ask
asked asking at away back bad based basically be became because become been before behind being below
best better between big bit both bring but by call called came can can't cannot case cases change changed
changes changing check class clear clearly come comes common complete completely consider contain
contains continue correct could couldn't create created current currently cut decide did didn't different
directly do does doesn't doing don't done down due during each easier easy edit either else end enough
ensure especially etc even ever every everything exactly example existing expect expected extra fact far
few file files final finally find fine first fix fixed folder follow following for found from full
further gave general get gets getting give given go goes going good got great had half handle happen
happened happening happens hard has have haven't having he hello help her here hi him his hold how
however i i'd i'll i'm i've idea if implement implemented important in include included including indeed
inside instead into is isn't issue it it's its itself just keep kept kind know known last later latest
least leave left less let let's like likely line lines list little ll long longer look looked looking
looks lot made main make makes making many matter may maybe me mean means might mind missing more most
move much multiple must my myself name need needed needs neither never new next nice no non nor not note
nothing now of off often ok okay old on once one ones only onto or other others otherwise our out over
own part particular pass past per perhaps place please point possible pretty previous probably problem
proceed proper properly provide put question quite rather re read ready real really reason regarding
related remain remains remove removed rest result return right run running said same saw say says second
see seem seems seen set several shall she should shouldn't show shows side similar simple simply since
single small so some someone something sometimes soon sorry sort spec specific start started state stay
step steps still stop stuff such suggest sure take taken takes taking talk task tell than thank thanks
that that's the their them then there there's these they they're thing things think this those though
thought three through thus time times to today together told too took top toward towards tried try trying
turn two type under understand unless until up update updated upon us use used useful user uses using
usual usually ve version very via want wanted wants was wasn't way ways we we'd we'll we're we've well
went were weren't what what's whatever when where whether which while who whole whose why will wish with
within without won't work worked working works would wouldn't write wrong yeah yes yet you you'd you'll
you're you've your yourself yup hey eg ie vs able actual according agent assistant code
"""
STOPWORDS = frozenset(_STOPWORDS_TEXT.split())


@lru_cache(maxsize=KEPT)
def find_paths(text: str) -> tuple[str, ...]:
    """Paths and file names that `text` names, as written, forward slashes, in order, without repeats."""
    found: dict[str, None] = {}
    for path in _paths(text):
        found.setdefault(path)
        if len(found) >= 64:
            break
    return tuple(found)


def names_path(text: str) -> bool:
    """Whether `text` names a path or a file: `bool(find_paths(text))`, but stops at the first."""
    return next(_paths(text), None) is not None


def _paths(text: str) -> Iterator[str]:
    if (
        "/" not in text
        and "." not in text
        and "\\" not in text
        and "file" not in text
        and "README" not in text
    ):
        return
    cleaned = _URL.sub(" ", text) if "://" in text else text
    for start, end in _places(cleaned):
        path = cleaned[start:end].rstrip(".,:;").replace("\\", "/")
        if path.startswith("@") and "." not in path.rsplit("/", 1)[-1]:
            continue  # a scoped package
        if len(path) > 2 and not _SLASHED.match(path) and any(map(str.isalpha, path)):
            yield path.removeprefix("./").removeprefix("@")


@lru_cache(maxsize=KEPT)
def _places(text: str) -> tuple[tuple[int, int], ...]:
    """Where PATH matches in `text`."""
    return tuple(match.span() for match in PATH.finditer(text)) if _MAYBE_PATH.search(text) else ()


@lru_cache(maxsize=KEPT)
def identifiers(text: str) -> tuple[str, ...]:
    """What looks like a name of code in `text`, in order, with repeats."""
    return tuple(IDENTIFIER.findall(text)) if _MAYBE_IDENTIFIER.search(text) else ()


def code_spans(text: str) -> tuple[str, ...]:
    """What stands between backticks, in order, without repeats."""
    return (
        tuple(dict.fromkeys(span.strip() for span in _SPAN.findall(text) if span.strip()))
        if "`" in text
        else ()
    )


@lru_cache(maxsize=KEPT)
def prose_of(text: str) -> str:
    """`text` with code fences, code spans, addresses and paths replaced by a neutral mark, for reading its verbs."""
    if "```" in text or "~~~" in text:
        text = _FENCE.sub(" § ", text)
    if "`" in text:
        text = _SPAN.sub(" § ", text)
    if "://" in text:
        text = _URL.sub(" § ", text)
    if "/" in text or "." in text:
        places = _places(text)
        if places:
            ends = (0, *(end for _, end in places))
            starts = (*(start for start, _ in places), len(text))
            text = " § ".join([text[end:start] for end, start in zip(ends, starts, strict=True)])
    return text


def informative_words(text: str, *, limit: int = 48) -> tuple[str, ...]:
    """Lower-case words of `text` that say what it is about, in order, without repeats, at most `limit`."""
    found: dict[str, None] = {}
    for word in _WORD.findall(text.lower()):
        plain = word.rstrip(".-_")
        if len(plain) > 2 and plain not in STOPWORDS:
            found.setdefault(plain)
            if len(found) >= limit:
                break
    return tuple(found)


def objects_of(text: str, *, paths: tuple[str, ...] = (), limit: int = 64) -> tuple[str, ...]:
    """What `text` is about: paths and their file names, code spans, identifiers, then informative words.

    All lower case, in that order, without repeats, at most `limit`.
    """
    found: dict[str, None] = {}
    for path in (*find_paths(text), *paths):
        lower = path.lower()
        found.setdefault(lower)
        if "/" in lower.rstrip("/"):
            found.setdefault(lower.rstrip("/").rsplit("/", 1)[-1])
    for span in code_spans(text):
        if len(span) <= 60:
            found.setdefault(span.lower())
    for identifier in identifiers(text):
        found.setdefault(identifier.lower().removesuffix("()"))
    for word in informative_words(_URL.sub(" ", text) if "://" in text else text, limit=limit):
        found.setdefault(word)
    return tuple(found)[:limit]
