"""Passwords of plain words: where the words around leave only the password itself to stand.

In: a text. Out: where they are. A plain word is taken only where a construction names a password and then states it: "das Passwort
lautet x", "la contraseña es literalmente x", "garde x comme mot de passe", the rest of a sentence behind the name of a passphrase,
the answer to a security question. What follows must end a clause there, and ordinary words of the trade stay.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tacit.safety.assignments import reads_as_code
from tacit.safety.credential_words import (
    ANSWER,
    AS,
    COPULA,
    LETTER,
    NAME_KEYWORDS,
    NAMELY,
    PASSWORD,
    PHRASE,
    QUESTION,
    SET,
)
from tacit.safety.secret_shapes import ORDINARY, REFERENCE, Finder, is_ordinary, is_placeholder
from tacit.text.lazy_regex import lazy_regex
from tacit.text.stop_words import FUNCTION_WORDS

_QUOTE = "[\"'`\u2018\u2019\u201c\u201d\u201e\u00ab\u00bb\u300c\u300d\u300e\u300f]"
_WORD = rf"[{LETTER}][{LETTER}_.@!#$%&*+~-]{{2,40}}"
_CLAUSE_END = rf"(?=[ \u00a0]?{_QUOTE}|[.,;:!?\u2026)]*(?:\s*$|[\n])|[.,;!?)](?:\s|$)|\s(?:geändert|gesetzt|umgestellt)\b|[^{LETTER}_\x00-\x7f])"
_HARMLESS_TEXT = (
    "nicht kein keine falsch richtig korrekt leer abgelaufen sicher unsicher schwach stark lang kurz gesetzt geändert vergessen bekannt unbekannt gleich optional pas plus jamais"
    " faux correct vide expiré faible fort long court obligatoire requis perdu connu trop bon mauvaise bonne incorrect incorrecte invalide valide même identique"
    " incorrecta correcta vacía débil fuerte larga corta obligatoria válida inválida igual misma mismo otro otra necesaria incorreta correta vazia fraca forte longa curta"
    " obrigatória inválido válido mesma mesmo outra outro branco branca nova novo nueva nuevo neues neue new old wrong right empty missing weak strong long short needed unknown known"
    " null none valid invalid expired same different secret hidden visible plain plaintext clear safe compromised public something anything nothing always never"
    " pflicht zwingend geheim ungültig gültig unzulässig seguro segura insegura secure insecure unique única único unico temporal temporária temporaire provisoire temporär generic simple complex compleja complexa complexe sensible sensível sensitive personal pessoal privada private pública publique default padrão predeterminada numérica alphanumeric numeric important importante wichtig notwendig nötig erforderlich nécessaire necessária imposible impossible encriptada cifrada hasheada chiffré criptografada verschlüsselt gehasht rotado compartida partagé alone enough ours yours mine theirs set"
    " администратора пользователя правильно обязателен обязательный нужный известен одинаков временный уникальный сложный легкий лёгкий неверен верен пуст слаб стар важен секретный"
    " неверный верный пустой слабый старый новый неправильный правильный прежним другой такой простой одинаковый тот этот нужен"
    " the and but that this what how who der die das den dem ein eine einen le la les un une des el los las una uno o a os as um uma que qui quoi mon ton son mi tu su meu seu"
    " here there now again today broken stored saved read zu trop muy demasiado muito слишком sent logged used easy trivial email mail phone login username name user admin root vault keychain env"
)
_HARMLESS = frozenset(_HARMLESS_TEXT.split())
"""Plain words behind a name of a password that say something about it."""
_STATED = lazy_regex(
    rf"[^\n.!?\u3002]{{0,60}}?(?:[\s,(]{{0,3}}(?:{NAMELY.pattern}))\s{{0,3}}{_QUOTE}?(?P<secret>{_WORD}){_CLAUSE_END}",
    re.IGNORECASE,
)
"""Behind the name of a password: `der Datenbank lautet x`."""
_GENITIVE = ("worts", "wortes", "words")
"""What follows is said of something else: `the reset of the passwords is done`."""
_OF = r"(?: (?:for|of|to|on|de|del|do|da|du|de la|des|vom|von|der|für|zum|от|для|к|на) [^\n.,:;!?]{1,30}?)?"
_EQUALS = lazy_regex(rf"{_OF} (?:{COPULA.pattern}) {_QUOTE}?(?P<secret>{_WORD}){_CLAUSE_END}", re.IGNORECASE)
"""Behind it, with a word such as `is`: `a senha do banco é x`."""
_BESIDE = lazy_regex(
    rf"[^\S\n]{{0,2}}[:\uff0c\u3001]?[^\S\n]{{0,2}}(?:(?:a|auf|to|en|à|por|pra|на) )?{_QUOTE}?(?P<secret>[\u0410-\u042f][\u0430-\u044f\u0451]{{3,20}}|[{LETTER}]{{2,20}}(?:[_-][{LETTER}]{{1,20}}){{1,5}}){_QUOTE}?(?![{LETTER}_(\[=-])"
)
"""Directly behind it, joined words: `la clave Tamales_de_rajas`."""
_QUOTED = lazy_regex(
    rf"[^\S\n]{{0,2}}(?:{NAMELY.pattern}|ist|is|est|es|é|是|为)?[^\S\n]{{0,2}}:?[^\S\n]{{0,2}}[\u201c\u201e\u00ab\u300c\u300e]\s?"
    r"(?P<secret>[^\n\"\u201c\u201d\u00ab\u00bb\u300c\u300d\u300e\u300f]{4,80}?)\s?[\u201d\u201c\u00bb\u300d\u300f]",
    re.IGNORECASE,
)
"""Behind it, between typographic quotes."""
_CHOSEN = lazy_regex(
    rf"(?:{SET.pattern})\s{{1,3}}{_QUOTE}?(?P<secret>{_WORD}){_QUOTE}?\s{{0,3}}(?:{AS.pattern})\s{{0,3}}(?:[{LETTER}'\u2019]{{1,8}}\s){{0,2}}$",
    re.IGNORECASE,
)
"""Before it: `garde toto comme mot de passe`."""
_PHRASE = lazy_regex(
    rf"[^\n.!?\u3002]{{0,60}}?(?:[\s,](?:is|ist|lautet|est|es|é|это)\s|\s?[:\u2014\uff1a]\s?|は|은 |는 |是)\s{{0,2}}{_QUOTE}?"
    rf"(?P<secret>[{LETTER}'\u2019-]{{2,24}}(?:[ ,]{{1,2}}[{LETTER}'\u2019-]{{1,24}}){{2,23}}){_CLAUSE_END}",
    re.IGNORECASE,
)
"""What follows the name of a passphrase, up to the end of the sentence."""
_ANSWERED = lazy_regex(
    rf"[^\n!?\u3002]{{0,60}}?(?:[\s,;]{{0,2}}(?:{ANSWER.pattern}))\s{{0,2}}{_QUOTE}?"
    rf"(?P<secret>[{LETTER}\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af][{LETTER}\u3040-\u3067\u3069-\u30ff\u3400-\u9fff\uac00-\ud7af-]{{2,24}}"
    rf"(?: [A-Z][{LETTER}]{{2,20}})?){_CLAUSE_END}",
    re.IGNORECASE,
)
"""What follows the name of a code word, such as the answer to a security question."""
_BEFORE = 90
"""How many characters before the name of a password are searched."""


def _is_plain_secret(value: str) -> bool:
    """Whether a word behind such a construction is a password rather than a word about it."""
    bare = value.strip("\"'`.,:;!?*()")
    lower = bare.lower()
    return not (
        len(bare) < 4
        or lower in _HARMLESS
        or lower in ORDINARY
        or (bare.islower() and is_ordinary(bare))
        or is_placeholder(bare)
        or REFERENCE.match(bare)
        or PASSWORD.fullmatch(lower)
    )


def _are_plain(phrase: str) -> bool:
    """Whether several words say nothing about the passphrase, as `required, at most 64 characters` does."""
    words = [word.strip(",").lower() for word in phrase.split()]
    english = sum(word in FUNCTION_WORDS for word in words)
    return english == 0 and not (len(words[0]) > 2 and (words[0] in _HARMLESS or is_ordinary(words[0])))


def find_complements(text: str) -> Iterator[tuple[int, int]]:
    """Yield where passwords of plain words are stated."""
    for names, places in ((PASSWORD, (_STATED, _EQUALS, _BESIDE)), (QUESTION, (_ANSWERED,))):
        for name in names.finditer(text):
            for place in places:
                match = place.match(text, name.end())
                if match is None or (place is _EQUALS and name[0].lower().endswith(_GENITIVE)):
                    continue
                value = match["secret"].rstrip(".,;:!?-")
                title = value.isalpha() and place is _BESIDE and not name[0].islower()
                if _is_plain_secret(value) and not reads_as_code(value) and not title:
                    yield match.start("secret"), match.start("secret") + len(value)
    for name in PASSWORD.finditer(text):
        start = max(0, name.start() - _BEFORE)
        chosen = _CHOSEN.search(text[start : name.start()])
        if chosen and _is_plain_secret(chosen["secret"]):
            yield start + chosen.start("secret"), start + chosen.end("secret")
    for names, places in ((PHRASE, (_PHRASE, _QUOTED)), (PASSWORD, (_QUOTED,))):
        for name in names.finditer(text):
            for match in filter(None, (place.match(text, name.end()) for place in places)):
                several = len(match["secret"].split()) > 2
                stands = _are_plain(match["secret"]) if several else _is_plain_secret(match["secret"])
                if stands and not PASSWORD.search(match["secret"]):
                    yield match.span("secret")


COMPLEMENTS = Finder(kind="spoken_secret", keywords=NAME_KEYWORDS, find=find_complements)
