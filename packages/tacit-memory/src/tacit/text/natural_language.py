"""The natural language that a text is written in, by its script and its function words. In: a text. Out: a language code. Pure.

In case of doubt the answer is English. Code, paths and addresses do not count.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import cache, lru_cache

from tacit.text.lazy_regex import lazy_regex
from tacit.text.stop_words import FUNCTION_WORDS

ENGLISH = "en"
NAMES = {
    ENGLISH: "English", "de": "German", "fr": "French", "es": "Spanish", "pt": "Portuguese", "ru": "Russian",
    "zh": "Chinese", "ja": "Japanese", "ko": "Korean",
}  # fmt: skip
"""English names of the languages that are recognized, by their ISO 639-1 codes."""
WITHOUT_BLANKS = frozenset({"zh", "ja"})
"""Codes of the languages that are written without blanks between words."""
READ_CHARS = 2000
"""Characters at the beginning of a text that are read to recognize its language."""

_NOT_PROSE = lazy_regex(r"`[^`\n]*`|[!-~]*(?:[/\\_@=<>{}\[\]0-9]|\w\.\w|\w:\w)[!-~]*")
_OTHER_SCRIPTS = re.compile("[\u0400-\u052f\u1100-\u11ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_LATIN_WORD = re.compile(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)?")
_HANGUL = re.compile("[\u1100-\u11ff\uac00-\ud7af]")
_KANA = re.compile("[\u3040-\u30ff]")
_HAN = re.compile("[\u3400-\u9fff]")
_CYRILLIC_WORD = re.compile("[\u0400-\u052f]+")
_CHARS_PER_WORD = 2
"""Mean length of a word in Chinese, Japanese and Korean."""
_LEAST_SHARE = 3
"""A text counts as of another script if that has at least one word per this many Latin words: names of programs are Latin in every language."""

_WORDS_TEXT = {
    "de": """
        aber alle allem allen aller alles als am auch auf aus bei beim bin bis bist bitte da dabei damit dann das dass dein
        deine dem den denn der des dich die dies diese diesem diesen dieser dieses dir doch dort du durch ein eine einem einen
        einer eines er es etwas für gibt hab habe haben hat hast hier ich ihm ihn ihr ihre im ins ist ja jede jeder jetzt kann
        kannst kein keine keinen können könnte könntest mal man mein meine mich mir mit mach nach nicht nichts noch nur ob oder
        ohne schon sei sein seine sich sie sind so soll sollen sollte sollten um und uns unser unsere unter vom von vor wann war
        waren warum was weil welche welchen welcher wenn wer werden wie wieder will wir wird wo wurde würde würden zeig zu zum zur
        zwischen über immer nie niemals stets statt verwende verwenden verwendet benutze benutzen benutzt nutze nutzen nutzt""",
    "fr": """
        alors au aucun aucune aussi autre aux avant avec avoir car ce ceci cela ces cet cette chez comme comment dans de
        des donc dont du elle elles en encore est et être eux fait fais faire faut il ils ici j'ai je jamais juste la le les leur leurs
        lui là ma mais me mes moi mon même ne nos notre nous on ont ou où par parce pas pendant peux peut plus plutôt pour pourquoi
        pourrais qu qu'on que quel quelle quand qui quoi sa sans se ses si son sont suis sur ta te tes toi ton toujours tous tout
        toute toutes trop très tu un une vers voici vos votre vous y à ça c'est d'abord n'est s'il était jamais utilise utiliser utilisez utilisons""",
    "es": """
        al algo algún aquí así aún bien cada como con cual cuando cuándo cuál cuáles cuánto de del desde donde dónde el él ella
        ellos en entre era es esa ese eso esta estas este esto estos está están fue ha hace hacer han has hasta hay haz he la las le les
        lo los mal mi mis mucho muy más nada ni no nos nosotros nuestra nuestro nunca o otra otro para pero pon por porque puede
        puedes podrías que quién qué se sea ser si sin sobre solo son soy su sus sí también tan te tener tengo tiene todo todos todas
        tu tus un una unas uno unos usted va vez y ya yo siempre nunca jamás usar usamos utiliza""",
    "pt": """
        agora ainda ao aos aqui até bem cada com como da das de dele dessa desse desta deste do dos e ela ele eles em entre era
        essa esse esta este está estão eu faz fazer foi há isso isto já la lá mais mas me mesmo meu minha muito na nada nas nem nesta
        neste no nos nossa nosso nova novo nunca não né o onde os ou para pela pelo pode podemos por porque pra quais qual quando
        quanto que quem se sem sempre ser seu si são sobre sua também te tem ter tinha tudo um uma umas uns você vocês à às é jamais usar usamos utiliza""",
    "ru": """
        а без бы был была были было быть в вам вас весь во вот все всё всего вы где да даже для до его ее её ей если есть еще ещё
        же за здесь и из или им их к как какая какие какой когда кто ли либо лишь меня мне может можешь мой моя мы на над надо нам нас
        наш наша не него нее неё нет ни них но ну о об однако он она они оно от по под при про с сам себя со так также такой там
        те тебе тем то того тоже той только том ты тут у уже что чтобы чем эта эти это этой этом этот я всегда никогда использовать используй используем используйте нужно""",
}  # fmt: skip
_WORDS = {code: frozenset(text.split()) for code, text in _WORDS_TEXT.items()}
_TYPICAL_TEXT = {
    "de": "benutze benutzen danke datei dateien fehler füge immer lösch lösche nein nie niemals nutze nutzen schreib schreibe starte statt verwende verwenden weiter änder ändere",
    "fr": "ajoute corrige crée dépôt enregistre erreur fichier fichiers lance merci mets montre oui projet supprime utilise utiliser voir écris",
    "es": "arregla archivo archivos añade borra cambia ejecuta escribe funciona gracias mejor nueva nuevo prueba proyecto quita siempre usa usar vale",
    "pt": "adiciona apaga arquivo arquivos arruma coloca conecta erro escreva escreve funciona gente manda muda não obrigado projeto remova roda senha teste testes todo usa usar",
}  # fmt: skip
_TYPICAL = {code: frozenset(text.split()) for code, text in _TYPICAL_TEXT.items()}
"""Frequent words of prompts, by which the language of a short one is recognized."""
_TELLING = {
    "de": frozenset(["merk", "merke", "bevorzuge", "benutze", "verwende", "niemals"]),
    "fr": frozenset(["souviens", "rappelle", "retiens", "préfère", "préfèrerais", "désormais"]),
    "es": frozenset(["recuerda", "prefiero", "apunta", "nunca", "siempre"]),
    "pt": frozenset(["lembra", "lembre", "prefiro", "anota"]),
}
"""Words that open a statement. One of them is enough to recognize the language."""
_MARKS = {
    "de": re.compile("[äöüß]"),
    "fr": re.compile("[èêëîïûùœæ]|\\b[cdjlnmst]['\u2019]"),
    "es": re.compile("[ñ¿¡]"),
    "pt": re.compile("[ãõ]"),
}
_LATIN_CODES = tuple(_MARKS)
_LEAST_VOTES = 3
"""Least votes for a language other than English: those of two words, or of one word and a letter that only this language has."""
_LEAST_ENGLISH = 2
_ENGLISH_TEXT = """
    add adds and any build but can change check code could create delete describe do does done every file files find fix for from have how
    if is it make move need new not of or please remove rename run should that the then there these this to update use used using what when
    where which why will with would write you your"""
_ENGLISH_ALONE = frozenset(_ENGLISH_TEXT.split())
"""Words that vote for English; the function words of English vote too."""


@lru_cache(maxsize=4096)
def natural_language_of(text: str) -> str:
    """Return the code of the language that `text` is written in (`NAMES`); English in case of doubt."""
    text = text[:READ_CHARS]
    if text.isascii() and not _may_be_latin(text):
        return ENGLISH
    prose = _NOT_PROSE.sub(" ", text).lower()
    words = set(_LATIN_WORD.findall(prose))
    if _OTHER_SCRIPTS.search(prose):
        code = _by_script(prose, words)
        if code:
            return code
    return _by_words(prose, words)


def is_plainly_english(text: str) -> bool:
    """Whether `text` is in English and contains several words that only English has."""
    words = set(_LATIN_WORD.findall(_NOT_PROSE.sub(" ", text[:READ_CHARS]).lower()))
    return len(words & _english()) >= _LEAST_ENGLISH and natural_language_of(text) == ENGLISH


def function_words_of(text: str) -> frozenset[str]:
    """Return the function words of the language of `text`, which a search leaves out; none are listed for English, Chinese, Japanese and Korean."""
    return _WORDS.get(natural_language_of(text), frozenset())


@cache
def _latin() -> dict[str, frozenset[str]]:
    """Return language code -> the words that vote for this language, for the languages in Latin script other than English."""
    return {code: _WORDS[code] | _TYPICAL[code] | _TELLING[code] for code in _LATIN_CODES}


@cache
def _english() -> frozenset[str]:
    """Return the words that vote for English: those that no other language in Latin script has."""
    return (FUNCTION_WORDS | _ENGLISH_ALONE) - frozenset().union(*_latin().values())


def _may_be_latin(text: str) -> bool:
    """Whether an ASCII text contains a word that votes for a language other than English."""
    words = frozenset(_LATIN_WORD.findall(text.lower()))
    return any(not words.isdisjoint(own) for own in _latin().values())


def _by_script(prose: str, words: set[str]) -> str:
    hangul, kana, han = (len(pattern.findall(prose)) for pattern in (_HANGUL, _KANA, _HAN))
    cyrillic = len(_CYRILLIC_WORD.findall(prose))
    asian = (hangul + kana + han) / _CHARS_PER_WORD
    latin = sum(word.isascii() for word in words)
    if max(asian, cyrillic) * _LEAST_SHARE < latin:
        return ""
    if cyrillic > asian:
        return "ru"
    if hangul >= kana + han:
        return "ko"
    # A label in Chinese may hold a kana, and a Japanese sentence has one for every few characters.
    return "ja" if kana * 8 >= han else "zh"


def _by_words(prose: str, words: set[str]) -> str:
    english = 2 * sum(word in _english() for word in words)
    votes: Counter[str] = Counter()
    for code, own in _latin().items():
        # A word that English has too counts half.
        votes[code] = sum((1 if word in FUNCTION_WORDS else 2) for word in words if word in own)
        votes[code] += 3 * len(words & _TELLING[code])
        votes[code] += 3 * len(_MARKS[code].findall(prose))
    code, most = max(votes.items(), key=lambda pair: pair[1])
    return code if most > english and most >= _LEAST_VOTES else ENGLISH
