"""Secrets that the words of another language than English announce. Data only, a row per language; `value_shapes` judges the values.

In: nothing. Out: `Words`, one for each language, and the parts of patterns that all of them share. A value is looked for in five places: behind a
name and a mark (`Passwort: x`), behind a name and a verb (`das Passwort ist x`), right behind a name (`mit dem Passwort x`), behind an
identifier that holds the name (`DB_PASSWORT=x`), and as digits behind the name of a code that is used once.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """How a language names secrets.

    Attributes:
        keywords: lower-case texts, one of which is in every text that holds a name.
        name: pattern of a password, key or token, in all its forms.
        verb: pattern of what stands between the name and the value.
        spaced: whether its words have blanks between them.
        identifiers: pattern of names within identifiers, written in ASCII.
        identifier_keywords: as `keywords`, of `identifiers`.
        codes: pattern of the names of short codes of digits.
        code_keywords: as `keywords`, of `codes`.
        phrases: pattern of the names of secrets of several words.
        phrase_keywords: as `keywords`, of `phrases`.
    """

    keywords: str
    name: str
    verb: str
    spaced: bool = True
    identifiers: str = ""
    identifier_keywords: str = ""
    codes: str = ""
    code_keywords: str = ""
    phrases: str = ""
    phrase_keywords: str = ""


GERMAN = Words(
    keywords="passwort passwört kennwort kennwört zugangscode geheim passphrase schlüssel losung pw token secret",
    name=r"(?:[\w-]{0,20}(?:passwort(?:e?s)?|passwörter|kennwort(?:e?s)?|kennwörter|zugangscode|geheimnis(?:se)?|passphrase|schlüssels?|losung|zugangstoken)|pw|das token|client-secret(?:-\w+)?)",
    verb=r"(?:ist(?: jetzt| nun)?|lautet(?: jetzt)?|war|heißt(?: jetzt| nun)?|heisst|auf|gib|gebe|nimm|mit)",
    identifiers=r"(?:passwort|kennwort|schluessel|geheimnis)",
    identifier_keywords="passwort kennwort schluessel geheimnis",
    codes=r"(?:pin|tan|einmalpasswort|einmalcode|sicherheitscode|bestätigungscode|zugangscode|freischaltcode)",
    code_keywords="pin tan einmal code",
    phrases=r"(?:passphrase|merksatz|passsatz|kennsatz)", phrase_keywords="phrase merksatz passsatz kennsatz",
)  # fmt: skip
FRENCH = Words(
    keywords="mot mdp jeton clé cle clef secret token",
    name=r"(?:mots? de passe|mdp|jetons?|clefs?|clés?|secret|le token)",
    verb=r"(?:est(?: maintenant| désormais)?|c['\u2019]est(?: maintenant| désormais)?|était|sera|en|tape[rz]?|saisi[rst]{0,2}|par|avec)",
    identifiers=r"(?:mdp|mot_?de_?passe|jeton|cle_?(?:api|secrete))",
    identifier_keywords="mdp mot jeton cle",
    codes=r"(?:code pin|code (?:à usage unique|de (?:vérification|sécurité|confirmation|validation))|pin)",
    code_keywords="code pin",
    phrases=r"(?:phrases? (?:de passe|secrète))", phrase_keywords="phrase",
)  # fmt: skip
SPANISH = Words(
    keywords="contraseña contrasena clave secreto pass token secret",
    name=r"(?:contraseñas?|contrasenas?|claves?|secretos?|la pass|el token|client secret)",
    verb=r"(?:es|era|será|(?:que )?ahora es|a|por|vale|con|escribe|escribir|pon|introduce|mete)",
    identifiers=r"(?:contrasena|contraseña|clave|secreto)",
    identifier_keywords="contrase clave secreto",
    codes=r"(?:pin|c[oó]digo (?:pin|de (?:un solo uso|verificaci[oó]n|seguridad|confirmaci[oó]n)))",
    code_keywords="pin digo",
    phrases=r"(?:frases? (?:de (?:contraseña|paso|acceso)|secreta))", phrase_keywords="frase",
)  # fmt: skip
PORTUGUESE = Words(
    keywords="senha chave palavra segredo token secret",
    name=r"(?:senhas?|chaves?|palavras?-(?:passe|chave)|segredos?|o token|client secret)",
    verb=r"(?:é(?: agora)?|era|foi|será|agora é|para|pra|por|com|digit[ae]|us[ae]|coloc[ae]|insir[ae])",
    identifiers=r"(?:senha|chave|segredo)",
    identifier_keywords="senha chave segredo",
    codes=r"(?:pin|c[oó]digo (?:pin|de (?:uso [uú]nico|verifica[cç][aã]o|seguran[cç]a|confirma[cç][aã]o)))",
    code_keywords="pin digo",
    phrases=r"(?:frases? (?:secreta|de (?:senha|acesso))|frase-passe)", phrase_keywords="frase",
)  # fmt: skip
RUSSIAN = Words(
    keywords="парол токен секрет ключ пасс кодов доступ",
    name=r"(?:[\w-]{0,12}пароль?\w{0,3}|токен\w{0,3}|[\w-]{0,10}секрет\w{0,5}|[\w-]{0,6}ключ\w{0,3}|пасс|кодов\w{2} слов\w)",
    verb=r"(?:\u2014|\u2013|это|такой|на|теперь(?: он)?|был|введи(?:те)?|вводи|с|в)",
    identifiers=r"(?:парол\w*|parol\w?|sekret|klyuch)",
    identifier_keywords="парол parol sekret klyuch",
    codes=r"(?:пин(?:-?код\w?)?|pin|одноразов\w+ (?:код|пароль)|код (?:подтверждения|доступа|безопасности)|смс-код)",
    code_keywords="пин pin одноразов код",
    phrases=r"(?:парольн\w+ фраз\w|кодов\w+ фраз\w|секретн\w+ фраз\w)", phrase_keywords="фраз",
)  # fmt: skip
CHINESE = Words(
    keywords="密码 密碼 口令 密钥 密鑰 令牌 暗号 秘钥 私钥 凭证 token",
    name=r"(?:密码|密碼|口令|密钥|密鑰|令牌|暗号|秘钥|私钥|凭证|token(?=[ \t]?[\u3400-\u9fff\uff1a]))",
    verb=r"(?:是|为|為|改成了?|改为|設為|设为|设成|用|输入|填|填写|叫)",
    spaced=False,
    identifiers=r"(?:mima|kouling|miyao)", identifier_keywords="mima kouling miyao",
    codes=r"(?:验证码|驗證碼|校验码|动态码|pin ?码|pin|一次性(?:密码|口令)|安全码)", code_keywords="验证 驗證 校验 动态 pin 一次性 安全码",
    phrases=r"(?:助记词|口令短语|密码短语|(?:ssh ?)?(?:密钥|私钥)的?口令)", phrase_keywords="助记 口令 短语",
)  # fmt: skip
JAPANESE = Words(
    keywords="パスワード 暗証番号 トークン 秘密鍵 シークレット キー パスフレーズ 合言葉 合い言葉 認証情報 鍵",
    name=r"(?:パスワード|暗証番号|トークン|秘密鍵|シークレット(?:キー)?|キー|パスフレーズ|合い?言葉|認証情報|鍵)",
    verb=r"(?:は|が|を|今は|に|として|で)",
    spaced=False,
    identifiers=r"(?:pasuwado|pasuwa-do|himitsu|angou)", identifier_keywords="pasuwa himitsu angou",
    codes=r"(?:暗証番号|ワンタイム(?:コード|パスワード)|認証コード|確認コード|pin(?: ?コード)?)", code_keywords="暗証 ワンタイム 認証 確認 pin",
    phrases=r"(?:パスフレーズ|合い?言葉|復元フレーズ)", phrase_keywords="フレーズ 言葉",
)  # fmt: skip
KOREAN = Words(
    keywords="비밀번호 비번 암호 토큰 비밀키 패스워드 시크릿 키 비밀",
    name=r"(?:비밀번호|비번|암호(?:화 ?키)?|토큰|비밀 ?키|패스워드|시크릿(?: ?키)?|(?:api|액세스|접근|운영|라이브|서명|stripe|개인) ?키)",
    verb=r"(?:는|은|가|이|를|을|로|지금은|에는|에)",
    spaced=False,
    identifiers=r"(?:bimil|amho)", identifier_keywords="bimil amho",
    codes=r"(?:인증 ?(?:번호|코드)|일회용 ?(?:비밀번호|번호|코드)|핀 ?번호|pin(?: ?번호)?|보안 ?코드)", code_keywords="인증 일회용 핀 pin 보안",
    phrases=r"(?:암호문|패스프레이즈|비밀 ?문구|복구 ?문구)", phrase_keywords="암호문 패스프레이즈 문구",
)  # fmt: skip
ITALIAN = Words(
    keywords="password parola chiave",
    name=r"(?:password|parola d['\u2019]ordine|chiave)",
    verb=r"(?:è|era|sarà)",
)
DUTCH = Words(
    keywords="wachtwoord sleutel toegangscode",
    name=r"(?:wachtwoord|sleutel|toegangscode)",
    verb=r"(?:is|was|luidt)",
)
POLISH = Words(keywords="hasł klucz", name=r"(?:hasło|hasłem|klucz(?:em)?)", verb=r"(?:to|jest|brzmi)")
NORDIC = Words(
    keywords="lösenord adgangskode passord salasana", name=r"(?:lösenord(?:et)?|adgangskoden?|passord(?:et)?|salasana)", verb=r"(?:är|er|on)"
)  # fmt: skip
OTHERS = Words(
    keywords="şifre parol heslo jelszó", name=r"(?:şifre(?:si)?|parola(?:sı)?|heslo|jelszó|parolă)", verb=r"(?:je|este|is|olarak)"
)  # fmt: skip

WORDS = (
    GERMAN, FRENCH, SPANISH, PORTUGUESE, RUSSIAN, CHINESE, JAPANESE, KOREAN, ITALIAN, DUTCH, POLISH, NORDIC, OTHERS,
)  # fmt: skip
"""One row per language; the last ones have names and verbs alone."""
