"""Tells whether words mean another day depending on when they are read ("yesterday", "in three days"). In: a text. Out: yes or no."""

from __future__ import annotations

import re
from functools import lru_cache

from tacit.text.lazy_regex import lazy_regex

_WORDS = {
    "en": (
        r"today|tonight|tomorrow|yesterday|currently|recently|lately|nowadays|soon|shortly|upcoming|just now|right now|for now|so far"
        r"|at the moment|these days|any day|as of now|(?:not |has |have |is |are |we |will |'s |, )now|(?:we|i|is|are) still"
        r"|(?:this|next|last|past|coming|previous) (?:\w+ )?(?:morning|afternoon|evening|night|day|week|weekend|month|quarter|year|spring"
        r"|summer|autumn|fall|winter|sprint|release|time|(?:mon|tues|wednes|thurs|fri|satur|sun)day|january|february|march|april|june|july|august"
        r"|september|october|november|december)s?"
        r"|(?:on|by|until|till|since|before|after|from) (?:mon|tues|wednes|thurs|fri|satur|sun)day"
        r"|(?:in|(?:for|in|within|over|during) the (?:next|last|past|coming)) (?:\d+|an?|a few|a couple of|one|two|three|four|five|six|seven|eight|nine"
        r"|ten|twelve|some|several) (?:minute|hour|day|night|week|fortnight|month|quarter|year|sprint)s?"
        r"|(?:minute|hour|day|week|month|quarter|year|sprint)s? (?:ago|from now|later)|(?:end|beginning|start|middle) of the (?:day|week|month|quarter|year)"
    ),
    "de": (
        r"heute|morgen(?! for)|gestern|vorgestern|übermorgen|derzeit|momentan|zurzeit|bald|demnächst|kürzlich|neulich|bisher|gerade eben"
        r"|(?:diese|nächste|letzte|kommende|vorige|vergangene)[nmrs]? (?:woche|monat|quartal|jahr|sprint|mal|\w+tag|wochenende)"
        r"|(?:in|vor|seit) (?:\d+|einem|einer|zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|ein paar|einigen|wenigen)"
        r" (?:minuten?|stunden?|tag(?:en)?|wochen?|monat(?:en)?|jahr(?:en)?|sprints?)|(?:am|bis|ab|seit) (?:mon|diens|donners|frei|sams|sonn)tag"
    ),
    "fr": (
        r"aujourd['’]hui|demain|hier|après-demain|avant-hier|bientôt|actuellement|en ce moment|pour l['’]instant|récemment"
        r"|(?:semaine|mois|trimestre|année|an|sprint|lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche) (?:prochaine?|dernière?|dernier)"
        r"|cette (?:semaine|année)|ce (?:mois|trimestre|matin|soir)"
        r"|(?:dans|il y a|depuis) (?:\d+|une?|deux|trois|quatre|cinq|six|sept|huit|neuf|dix|quelques) (?:minute|heure|jour|semaine|moi|mois|an|année)s?"
    ),
    "es": (
        r"hoy|mañana|ayer|pasado mañana|anteayer|pronto|actualmente|recientemente|por ahora|ahora mismo"
        r"|(?:semana|mes|trimestre|año|sprint|lunes|martes|miércoles|jueves|viernes|sábado|domingo) (?:que viene|próxim[oa]|pasad[oa])"
        r"|(?:próxim[oa]|est[ea]) (?:semana|mes|trimestre|año|sprint)"
        r"|(?:dentro de|hace|en) (?:\d+|una?|dos|tres|cuatro|cinco|seis|siete|ocho|nueve|diez|unos|unas) (?:minuto|hora|día|semana|mese?|año)s?"
    ),
    "pt": (
        r"hoje|amanhã|ontem|anteontem|em breve|atualmente|recentemente|por enquanto|agora mesmo"
        r"|(?:semana|mês|trimestre|ano|sprint|segunda|terça|quarta|quinta|sexta)(?:-feira)? (?:que vem|passad[oa]|próxim[oa])"
        r"|(?:próxim[oa]|est[ea]) (?:semana|mês|trimestre|ano|sprint)"
        r"|(?:daqui a|há|em) (?:\d+|uma?|dois|duas|três|quatro|cinco|seis|sete|oito|nove|dez|alguns|algumas) (?:minuto|hora|dia|semana|mese?|ano)s?"
    ),
    "it": r"oggi|domani|ieri|dopodomani|attualmente|presto|di recente|(?:settimana|mese|anno|sprint) (?:prossim[oa]|scors[oa])|tra \w+ (?:giorni|settimane|mesi)|\w+ (?:giorni|settimane|mesi) fa",
    "nl": r"vandaag|morgen|gisteren|overmorgen|momenteel|binnenkort|onlangs|(?:volgende|vorige|deze) (?:week|maand|jaar|sprint)|over \w+ (?:dagen|weken|maanden)|\w+ (?:dagen|weken|maanden) geleden",
    "pl": r"dzisiaj|dziś|jutro|wczoraj|pojutrze|obecnie|wkrótce|niedawno|(?:w )?(?:przyszłym|zeszłym|tym) (?:tygodniu|miesiącu|roku)",
    "ru": r"сегодня|завтра|вчера|послезавтра|позавчера|скоро|сейчас|недавно|на (?:следующей|прошлой|этой) неделе|в (?:следующем|прошлом|этом) (?:месяце|году|спринте)|через \w+ (?:дня|дней|недели|недель|месяца|месяцев)",
    "uk": r"сьогодні|завтра|вчора|післязавтра|незабаром|зараз|нещодавно|наступного (?:тижня|місяця|року)|минулого (?:тижня|місяця|року)",
    "tr": r"bugün|yarın|dün|şu anda|yakında|(?:gelecek|geçen|bu) (?:hafta|ay|yıl|sprint)",
}
_WITHOUT_BLANKS = (
    "今天|明天|昨天|后天|前天|今晚|目前|现在|最近|即将|本周|下周|上周|这周|本月|下个?月|上个?月|今年|明年|去年|天后|天前|周后|周前"
    "|後天|現在|本週|下週|上週|今日|明日|昨日|明後日|一昨日|最近|まもなく|今週|来週|先週|今月|来月|先月|来年|日後|日前|週間後|週間前"
    "|오늘|내일|어제|모레|그저께|지금|현재|곧|최근|이번 ?주|다음 ?주|지난 ?주|이번 ?달|다음 ?달|지난 ?달|올해|내년|작년|일 ?후|일 ?전"
)
_RELATIVE = lazy_regex(rf"\b(?:{'|'.join(_WORDS.values())})\b|{_WITHOUT_BLANKS}", re.IGNORECASE)


@lru_cache(maxsize=8192)
def has_relative_time(text: str) -> bool:
    """Whether a text contains words such as "yesterday" or "in three days", whose meaning depends on the day they were said."""
    return _RELATIVE.search(text) is not None
