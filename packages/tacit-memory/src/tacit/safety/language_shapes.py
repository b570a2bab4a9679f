"""Words that announce a secret in languages other than English. Data only, a row per language; `value_shapes` makes shapes of them.

In: nothing. Out: `WORDS`. A value is looked for in five places: after a name and a mark (`Passwort: x`), after a name and a verb
(`das Passwort ist x`), directly after a name (`mit dem Passwort x`), after an identifier that contains a name (`DB_PASSWORT=x`), and as the
digits after the name of a one-time code.
"""

from __future__ import annotations

from dataclasses import dataclass

Form = tuple[str, str]
"""Words of which one must be in the lower-case text, separated by blanks, and the pattern."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """The words of a language that announce a secret.

    Attributes:
        names: a password, key or token, in all inflected forms.
        verb: pattern of the word between the name and the value, such as "is".
        spaced: whether the language puts blanks between words.
        identifiers: names inside identifiers.
        codes: names of one-time codes, which consist of digits.
        phrases: names of secrets that consist of several words.
    """

    names: Form
    verb: str
    spaced: bool = True
    identifiers: Form | None = None
    codes: Form | None = None
    phrases: Form | None = None


_UNSPACED = r"(?-i:[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af])"  # letters without case; to ignore it would only make the pattern slow to compile
PIN_UNSPACED = rf"(?-i:PIN)|pin(?=[ \d]{{0,10}}{_UNSPACED})|(?<={_UNSPACED})pin|(?<={_UNSPACED} )pin"
"""A PIN in a language that writes no spaces between words (Chinese, Japanese, Korean).

Lowercase `pin` counts only beside a character of such a language, because "pin 8443" and "mapping" are English.
"""

WORDS: tuple[Words, ...] = (
    Words(  # German
        names=("passwort passwört kennwort kennwört zugangscode geheim passphrase schlüssel losung pw token secret", r"(?:[\w-]{0,20}(?:passwort(?:e?s)?|passwörter|kennwort(?:e?s)?|kennwörter|zugangscode|geheimnis(?:se)?|passphrase|schlüssels?|losung|zugangstoken)|pw|das token|client-secret(?:-\w+)?)"),
        verb=r"(?:ist(?: jetzt| nun)?|lautet(?: jetzt)?|war|heißt(?: jetzt| nun)?|heisst|auf|gib|gebe|nimm|mit)",
        identifiers=("passwort kennwort schluessel geheimnis", r"(?:passwort|kennwort|schluessel|geheimnis)"),
        codes=("pin tan einmal code", r"(?:(?-i:PIN|m?TAN)|(?:die|der|den|dem|(?:mein|dein|unser|ihr)(?:er?)?|neue|alte|\w{2,12}-)[ -]?(?:pin|tan)|(?:pin|tan)(?= (?:\d{4,8} )?(?:ist|lautet|war|vom|von|für|zum|zur)\b)|einmalpasswort|einmalcode|sicherheitscode|bestätigungscode|zugangscode|freischaltcode)"),
        phrases=("phrase merksatz passsatz kennsatz", r"(?:passphrase|merksatz|passsatz|kennsatz)"),
    ),
    Words(  # French
        names=("mot mdp jeton clé cle clef secret token", r"(?:mots? de passe|mdp|jetons?|clefs?|clés?|secret|le token)"),
        verb=r"(?:est(?: maintenant| désormais)?|c['\u2019]est(?: maintenant| désormais)?|était|sera|en|tape[rz]?|saisi[rst]{0,2}|par|avec)",
        identifiers=("mdp mot jeton cle", r"(?:mdp|mot_?de_?passe|jeton|cle_?(?:api|secrete))"),
        codes=("code pin", r"(?:code pin|code (?:à usage unique|de (?:vérification|sécurité|confirmation|validation))|(?-i:PIN)|(?:le|mon|ton|son|votre|notre) pin|pin(?= (?:est|de|du)\b))"),
        phrases=("phrase", r"(?:phrases? (?:de passe|secrète))"),
    ),
    Words(  # Spanish
        names=("contraseña contrasena clave secreto pass token secret", r"(?:contraseñas?|contrasenas?|claves?|secretos?|la pass|el token|client secret)"),
        verb=r"(?:es|era|será|(?:que )?ahora es|a|por|vale|con|escribe|escribir|pon|introduce|mete)",
        identifiers=("contrase clave secreto", r"(?:contrasena|contraseña|clave|secreto)"),
        codes=("pin digo", r"(?:(?-i:PIN)|(?:el|mi|tu|su|nuevo) pin|pin(?= (?:es|del?)\b)|c[oó]digo (?:pin|de (?:un solo uso|verificaci[oó]n|seguridad|confirmaci[oó]n)))"),
        phrases=("frase", r"(?:frases? (?:de (?:contraseña|paso|acceso)|secreta))"),
    ),
    Words(  # Portuguese
        names=("senha chave palavra segredo token secret", r"(?:senhas?|chaves?|palavras?-(?:passe|chave)|segredos?|o token|client secret)"),
        verb=r"(?:é(?: agora)?|era|foi|será|agora é|para|pra|por|com|digit[ae]|us[ae]|coloc[ae]|insir[ae])",
        identifiers=("senha chave segredo", r"(?:senha|chave|segredo)"),
        codes=("pin digo", r"(?:(?-i:PIN)|(?:o|meu|seu|teu|novo) pin|pin(?= (?:é|d[aeo])\b)|c[oó]digo (?:pin|de (?:uso [uú]nico|verifica[cç][aã]o|seguran[cç]a|confirma[cç][aã]o)))"),
        phrases=("frase", r"(?:frases? (?:secreta|de (?:senha|acesso))|frase-passe)"),
    ),
    Words(  # Russian
        names=("парол токен секрет ключ пасс кодов доступ", r"(?:[\w-]{0,12}пароль?\w{0,3}|токен\w{0,3}|[\w-]{0,10}секрет\w{0,5}|[\w-]{0,6}ключ\w{0,3}|пасс|кодов\w{2} слов\w)"),
        verb=r"(?:\u2014|\u2013|это|такой|на|теперь(?: он)?|был|введи(?:те)?|вводи|с|в)",
        identifiers=("парол parol sekret klyuch", r"(?:парол\w*|parol\w?|sekret|klyuch)"),
        codes=("пин pin одноразов код", r"(?:пин(?:-?код\w?)?|(?-i:PIN)|pin(?=[ -][а-яё])|(?<=[а-яё] )pin|одноразов\w+ (?:код|пароль)|код (?:подтверждения|доступа|безопасности)|смс-код)"),
        phrases=("фраз", r"(?:парольн\w+ фраз\w|кодов\w+ фраз\w|секретн\w+ фраз\w)"),
    ),
    Words(  # Chinese
        names=("密码 密碼 口令 密钥 密鑰 令牌 暗号 秘钥 私钥 凭证 token", r"(?:密码|密碼|口令|密钥|密鑰|令牌|暗号|秘钥|私钥|凭证|token(?=[ \t]?[\u3400-\u9fff\uff1a]))"),
        verb=r"(?:是|为|為|改成了?|改为|設為|设为|设成|用|输入|填|填写|叫)",
        spaced=False,
        identifiers=("mima kouling miyao", r"(?:mima|kouling|miyao)"),
        codes=("验证 驗證 校验 动态 pin 一次性 安全码", rf"(?:验证码|驗證碼|校验码|动态码|pin ?码|{PIN_UNSPACED}|一次性(?:密码|口令)|安全码)"),
        phrases=("助记 口令 短语", r"(?:助记词|口令短语|密码短语|(?:ssh ?)?(?:密钥|私钥)的?口令)"),
    ),
    Words(  # Japanese
        names=("パスワード 暗証番号 トークン 秘密鍵 シークレット キー パスフレーズ 合言葉 合い言葉 認証情報 鍵", r"(?:パスワード|暗証番号|トークン|秘密鍵|シークレット(?:キー)?|キー|パスフレーズ|合い?言葉|認証情報|鍵)"),
        verb=r"(?:は|が|を|今は|に|として|で)",
        spaced=False,
        identifiers=("pasuwa himitsu angou", r"(?:pasuwado|pasuwa-do|himitsu|angou)"),
        codes=("暗証 ワンタイム 認証 確認 pin", rf"(?:暗証番号|ワンタイム(?:コード|パスワード)|認証コード|確認コード|pin ?コード|{PIN_UNSPACED})"),
        phrases=("フレーズ 言葉", r"(?:パスフレーズ|合い?言葉|復元フレーズ)"),
    ),
    Words(  # Korean
        names=("비밀번호 비번 암호 토큰 비밀키 패스워드 시크릿 키 비밀", r"(?:비밀번호|비번|암호(?:화 ?키)?|토큰|비밀 ?키|패스워드|시크릿(?: ?키)?|(?:api|액세스|접근|운영|라이브|서명|stripe|개인) ?키)"),
        verb=r"(?:는|은|가|이|를|을|로|지금은|에는|에)",
        spaced=False,
        identifiers=("bimil amho", r"(?:bimil|amho)"),
        codes=("인증 일회용 핀 pin 보안", rf"(?:인증 ?(?:번호|코드)|일회용 ?(?:비밀번호|번호|코드)|핀 ?번호|pin ?번호|{PIN_UNSPACED}|보안 ?코드)"),
        phrases=("암호문 패스프레이즈 문구", r"(?:암호문|패스프레이즈|비밀 ?문구|복구 ?문구)"),
    ),
    Words(  # Italian
        names=("password parola chiave", r"(?:password|parola d['\u2019]ordine|chiave)"),
        verb=r"(?:è|era|sarà)",
    ),
    Words(  # Dutch
        names=("wachtwoord sleutel toegangscode", r"(?:wachtwoord|sleutel|toegangscode)"),
        verb=r"(?:is|was|luidt)",
    ),
    Words(  # Polish
        names=("hasł klucz", r"(?:hasło|hasłem|klucz(?:em)?)"),
        verb=r"(?:to|jest|brzmi)",
    ),
    Words(  # Swedish, Danish, Norwegian, Finnish
        names=("lösenord adgangskode passord salasana", r"(?:lösenord(?:et)?|adgangskoden?|passord(?:et)?|salasana)"),
        verb=r"(?:är|er|on)",
    ),
    Words(  # Turkish, Czech, Hungarian, Romanian
        names=("şifre parol heslo jelszó", r"(?:şifre(?:si)?|parola(?:sı)?|heslo|jelszó|parolă)"),
        verb=r"(?:je|este|is|olarak)",
    ),
)  # fmt: skip
