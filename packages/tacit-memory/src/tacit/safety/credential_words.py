"""Words of nine languages in whose sentence a secret may stand. Data only; `credentials` looks there.

In: nothing. Out: a pattern per sort of word. Languages with blanks between words come first in a pattern; their words are bounded, as
`_spaced` says. A row per language: English, German, French, Spanish, Portuguese, Russian; then Chinese, Japanese, Korean.

Words that announce a secret in languages other than English. Data only, a row per language; `value_shapes` makes shapes of them.

In: nothing. Out: `WORDS`. A value is looked for in five places: after a name and a mark (`Passwort: x`), after a name and a verb
(`das Passwort ist x`), directly after a name (`mit dem Passwort x`), after an identifier that contains a name (`DB_PASSWORT=x`), and as the
digits after the name of a one-time code.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from tacit.text.lazy_regex import lazy_regex

Form = tuple[str, str]
"""Words and a pattern: one of the words (separated by blanks) is in every lower-case text in which the pattern can match."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """The words with which a language announces a secret.

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


LETTER = r"A-Za-z0-9\u00c0-\u024f\u0400-\u04ff"
"""The letters of languages with blanks between words, for a character class of a pattern."""


def _pattern(spaced: str, unspaced: str) -> re.Pattern[str]:
    """Compile words into one pattern: those of `spaced` languages match only as whole words, those of `unspaced` ones anywhere."""
    return lazy_regex(
        rf"(?:(?<![{LETTER}])(?:{_joined(spaced)})(?![{LETTER}])|{_joined(unspaced)})", re.IGNORECASE
    )


def _joined(rows: str) -> str:
    return "|".join(part for row in rows.split("\n") for part in row.strip().split(" ¦ ") if part)


PASSWORD = _pattern(
    r"""pass(?:word|wd|phrase|code|key)s? ¦ (?:wi-?fi|wlan|vpn|root|admin|sudo|db|login|mail) pass ¦ pass?words? ¦ pgpass ¦ (?<=_)pass ¦ (?:pre-)?shared keys? ¦ wpa keys? ¦ pwd ¦ pws? ¦ psk ¦ creds? ¦ credentials? ¦ secret (?:word|answer|question)s? ¦ security question
    [\w-]{0,24}pass(?:wort|wörter)\w{0,4} ¦ [\w-]{0,24}kennw(?:ort|örter)\w{0,4} ¦ (?:wlan|netzwerk)-?schlüssel ¦ geheimwort\w{0,2} ¦ codewort ¦ losung ¦ zugangsdaten ¦ anmeldedaten ¦ passphrase
    mots? de passe ¦ mdp ¦ clé (?:wifi|wi-fi|wpa\d?|réseau|partagée) ¦ phrases? (?:de passe|secrètes?) ¦ mot secret ¦ identifiants ¦ (?:le|mon|ton|son|votre|champ|du) pass
    contraseñas? ¦ contrasenas? ¦ clave ¦ (?:el|nuevo) pass ¦ la pass ¦ credencial(?:es)? ¦ palabra secreta ¦ frase (?:secreta|de paso)
    senhas? ¦ palavras?-passe ¦ chave (?:da rede|do wi-?fi|compartilhada|partilhada) ¦ palavra secreta ¦ credencia(?:l|is) ¦ frase secreta
    [\w-]{0,12}парол\w{0,4} ¦ общ\w{2,3} ключ\w? ¦ ключ\w? (?:сети|wifi|вайфая|безопасности) ¦ пасс\w? ¦ пассворд\w? ¦ кодов\w{2,3} слов\w{1,3} ¦ секретн\w{2,3} слов\w{1,3} ¦ реквизит\w{1,3} доступа""",
    r"""密码 ¦ 密碼 ¦ 口令 ¦ 凭据 ¦ 凭证 ¦ 暗号 ¦ 提取码
    パスワード ¦ パス(?=[、はがをに：:\s（「])|管理者パス ¦ 合い?言葉 ¦ あいことば ¦ パスフレーズ ¦ 認証情報
    비밀번호 ¦ 비번 ¦ 암호 ¦ 패스워드 ¦ 패스프레이즈""",
)
"""Words for a password."""
KEY = _pattern(
    r"""[A-Za-z]{0,12}(?:secret|access|api|private)[_-]?key ¦ (?:[\w-]{0,16}[ _-])?(?:api|access|secret|private|master|signing|encryption|admin|license|licence|product|registration|recovery|backup|aes|hmac|ssh|wpa|app|service)[ _-]?keys? ¦ keys? ¦ tokens? ¦ secrets? ¦ session cookies? ¦ cookies? ¦ [a-z]{2,12}secret ¦ pat ¦ serial(?: number)? ¦ webhooks? ¦ sk
    [\w-]{0,20}schlüssel[ns]? ¦ [\w-]{0,12}token[s]? ¦ [\w-]{0,12}cookies? ¦ geheimnis(?:se)? ¦ seriennummer
    jetons? ¦ clés? ¦ clefs? ¦ secrets? ¦ numéros? de série ¦ licence
    claves? ¦ llaves? ¦ secretos? ¦ número de serie ¦ numero de serie ¦ licencia
    chaves? ¦ segredos? ¦ número de série ¦ numero de serie ¦ licen[cç]a
    ключ\w{0,3} ¦ токен\w{0,3} ¦ секрет\w{0,3} ¦ кук[аиуе]? ¦ серийн\w{2,3} ¦ лицензи\w{1,2}""",
    r"""密钥 ¦ 密鑰 ¦ 秘钥 ¦ 私钥 ¦ 令牌 ¦ 序列号 ¦ 注册码 ¦ 激活码 ¦ 授权码 ¦ 许可证
    トークン ¦ キー ¦ 秘密鍵 ¦ シークレット ¦ シリアル ¦ クッキー ¦ ライセンス ¦ ウェブフック
    토큰 ¦ 키(?![가-힣]) ¦ 키[는가를은이] ¦ 시크릿 ¦ 쿠키 ¦ 세션값 ¦ 시리얼 ¦ 라이선스 ¦ 인증값 ¦ 웹훅""",
)
"""Words for a key, token, cookie or serial number, whose values are random characters. The words have other meanings as well."""
CODE = _pattern(
    r"""(?-i:PIN)s? ¦ pin (?:code|number|is|was) ¦ (?:my|your|his|her|our|their|card|bank|sim|phone|account) pin ¦ puk ¦ otp ¦ totp ¦ steam(?: guard)? ¦ wpa keys? ¦ (?:door|gate|access|entry|alarm|backup|recovery|verification|security|confirmation|login|unlock|one-time|sms|2fa|mfa|auth|lock|safe) codes? ¦ passcode ¦ combination
    (?:die|der|den|dem|(?:meine|deine)r?) pin ¦ \w{2,12}-pin ¦ (?:handy|sim|karten|konto|geräte|tür)pin ¦ (?-i:[Mm]?TAN) ¦ (?:zugangs|einmal|bestätigungs|sicherheits|freischalt|wiederherstellungs|tür|tor|alarm|entsperr|sms-|backup-)-?codes? ¦ (?:der|den|mit|dem) code ¦ zahlenkombination
    codes? (?:pin|puk|d['’]accès|de (?:la porte|l['’]alarme|sécurité|vérification|confirmation|validation|secours|récupération|déverrouillage)|secrets?|à usage unique|sms|reçu) ¦ digicode ¦ (?:le|un|mon|ton|votre|son) (?:code|pin)
    (?:el|mi|tu|su|del|clave) pin ¦ (?-i:NIP) ¦ c[oó]digos? (?:pin|de (?:acceso|verificaci[oó]n|seguridad|confirmaci[oó]n|respaldo|recuperaci[oó]n|la (?:puerta|alarma))) ¦ el c[oó]digo ¦ tu c[oó]digo ¦ su c[oó]digo ¦ clave
    (?:o|meu|seu|teu|do) pin ¦ c[oó]digos? (?:pin|de (?:acesso|verifica[cç][aã]o|seguran[cç]a|confirma[cç][aã]o|recupera[cç][aã]o|backup|desbloqueio)) ¦ (?:seu|teu|o) c[oó]digo(?: [\w-]{1,12}){0,3} ¦ senha
    пин\w{0,2} ¦ пин-код\w{0,2} ¦ пук ¦ код\w{0,2} (?:для|из|от|подтверждения|доступа|безопасности|входа|домофона|двери|восстановления) ¦ (?:смс|sms|одноразов\w{2,3})[- ]код\w{0,2} ¦ парол\w{0,4} ¦ ключ\w? сети""",
    r"""验证码 ¦ 驗證碼 ¦ 校验码 ¦ 动态码 ¦ pin ?码 ¦ puk ?码 ¦ 安全码 ¦ 恢复码 ¦ 备用码 ¦ 密码 ¦ 密碼 ¦ 口令 ¦ 提取码 ¦ 门禁码 ¦ 取件码
    暗証番号 ¦ 認証コード ¦ 確認コード ¦ 臨時コード ¦ ワンタイム(?:コード|パスワード) ¦ (?:復旧|復元|バックアップ|リカバリ[ー]?|解除|入室|開錠|セキュリティ)(?:用)?コード ¦ パスワード ¦ \d桁
    인증 ?(?:번호|코드) ¦ (?:도어락|사물함|현관) ?번호 ¦ 비밀번호 ¦ 비번 ¦ 암호 ¦ 핀 ?번호 ¦ 보안 ?코드 ¦ 복구 ?(?:키|코드) ¦ 출입 ?(?:번호|코드) ¦ 일회용 ?(?:번호|코드) ¦ \w자리
    """
    + PIN_UNSPACED,
)
"""Words for a code of digits, such as a PIN."""
NO_CODE = _pattern(
    r"""(?:error|exit|status|response|http|zip|postal|country|area|source|promo|return|currency|language|product|item|article|flight|port|issue|ticket|order|invoice|line|build|version|uid|gid|pid)\w{0,2} ¦ millis\w* ¦ milliseconds ¦ seconds ¦ bytes ¦ rows ¦ files ¦ lines ¦ characters ¦ minutes
    fehler\w{0,6} ¦ status\w{0,6} ¦ postleitzahl ¦ plz ¦ port ¦ rechnung\w{0,8} ¦ bestell\w{0,8} ¦ artikel\w{0,8} ¦ zeile
    erreurs? ¦ postal ¦ postaux ¦ retour ¦ facture ¦ commande ¦ port ¦ article ¦ ligne
    errores ¦ error ¦ postal ¦ puerto ¦ factura ¦ pedido ¦ línea
    erros? ¦ cep ¦ a porta ¦ porta (?!da|de|do) ¦ fatura ¦ nota fiscal ¦ pedido ¦ linha
    ошибк\w ¦ порт\w? ¦ индекс ¦ счет\w? ¦ заказ\w? ¦ заявк\w ¦ строк\w""",
    r"""错误 ¦ 邮编 ¦ 端口 ¦ 订单 ¦ 区号 ¦ 版本 ¦ 行
    エラー ¦ 郵便 ¦ 〒 ¦ ポート ¦ 注文 ¦ 受注 ¦ 行目
    에러 ¦ 오류 ¦ 우편 ¦ 포트 ¦ 주문 ¦ 예약 ¦ 사번""",
)
"""Words before or after numbers that are no code, such as an error or a port."""
LOGIN = _pattern(
    r"""log(?:ged|ging)?[ -]?(?:in|on) ¦ sign(?:s|ed|ing)?[ -]?(?:in|on) ¦ log(?:in|on)s? ¦ goes in with ¦ gets in ¦ got in ¦ authenticat\w{1,4} (?:with|as) ¦ unlock(?:s|ed)? ¦ opens? (?:with|on) ¦ lets (?:me|you|us|him|her) in ¦ ssh-add ¦ prompts? (?:me|you|for) ¦ decrypt(?:s|ed)? with ¦ encrypted with ¦ asked me for ¦ leaked ¦ ssh(?:ed)? (?:in|into|as) ¦ (?:test|demo|admin|service|guest) (?:user|account)s?
    einlogg\w{1,3} ¦ eingeloggt ¦ anmeld\w{1,4} ¦ angemeldet ¦ [\w-]{0,12}zugang ¦ login ¦ entsperr\w{1,3} ¦ entpack\w{1,3} ¦ entschlüssel\w{1,3} ¦ einwähl\w{1,3} ¦ authentifizier\w{1,4} ¦ authentifizierung ¦ falscheingabe\w? ¦ reinkomm\w{1,3} ¦ komme? (?:ich|man|du|wir) (?:rein|rauf|ins?|auf)
    (?:se |me |te )?connect\w{1,4} ¦ connexion ¦ (?:me |se |te )?log(?:uer|er|ue|gue|guer) ¦ login ¦ accès ¦ s['’]authentifi\w{1,3} ¦ authentifi\w{1,4} ¦ déverrouill\w{1,4} ¦ déchiffr\w{1,4} ¦ s['’]ouvre avec ¦ identifiants?
    acceso ¦ acced\w{1,5} ¦ inici\w{1,4} sesi[oó]n ¦ login ¦ logue\w{1,4} ¦ autenti\w{2,5} ¦ desbloque\w{1,4} ¦ dej\w{1,4} entrar ¦ entr(?:ar|o|a|as|as) ¦ conect\w{1,4} ¦ se abre con ¦ me reconoce ¦ desarma\w{0,2} ¦ descifr\w{1,3} ¦ se cifra con ¦ cifrado con
    acess\w{1,4} ¦ entr(?:ar|a|o|ou|e|ei) ¦ login ¦ log(?:ar|a|uei|ou) ¦ autentic\w{1,5} ¦ desbloque\w{1,4} ¦ inici\w{1,4} sess[aã]o ¦ abre com ¦ conect\w{1,4} ¦ conta ¦ descriptograf\w{1,4}
    вход\w{0,3} ¦ вой[тд]\w{1,3} ¦ зай[тд]\w{1,3} ¦ захо\w{1,5} ¦ пуска\w{1,3} ¦ пусти\w{1,3} ¦ логин\w{0,3} ¦ авториз\w{2,7} ¦ аутентифик\w{2,6} ¦ разблокир\w{2,6} ¦ доступ\w{0,2} ¦ открыва\w{2,4} ¦ расшифр\w{2,6}""",
    r"""登录 ¦ 登入 ¦ 登陆 ¦ 账号 ¦ 帐号 ¦ 解锁 ¦ 解压 ¦ 连不上 ¦ 上网 ¦ 进工程模式 ¦ 认证 ¦ 重置 ¦ 泄露 ¦ 泄漏
    ログイン ¦ サインイン ¦ 認証 ¦ 解除 ¦ 解凍 ¦ 入れ(?:た|ます|る|ちゃ) ¦ 弾かれ ¦ 接続 ¦ ログオン ¦ 流出 ¦ 初期値 ¦ アクセス(?!トークン)
    로그인 ¦ 접속 ¦ 들어가\w? ¦ 들어오 ¦ 인증 ¦ 잠금 ¦ 풀려 ¦ 먹혀 ¦ 계정 ¦ 유출""",
)
"""Words for logging in."""
SYSTEM = _pattern(
    r"""vpn ¦ wi-?fi ¦ wlan ¦ wpa\d? ¦ router\w? ¦ hotspot ¦ s?ftp ¦ ssh ¦ rdp ¦ vnc ¦ nas ¦ smtp ¦ imap ¦ ldap ¦ dvr ¦ nvr ¦ kamera ¦ admin(?:-?panel|istrator)? ¦ root ¦ psql ¦ zip ¦ sudo ¦ bios ¦ (?:next|own)cloud ¦ confluence ¦ jira ¦ keycloak ¦ pgadmin ¦ phpmyadmin ¦ kibana ¦ nexus ¦ rabbitmq ¦ mqtt ¦ mongodb ¦ samba ¦ fritz!?box ¦ synology ¦ plex ¦ luks ¦ keystore ¦ ansible-vault ¦ filezilla ¦ proxmox ¦ grafana ¦ zabbix ¦ jenkins ¦ gitlab ¦ moodle ¦ odoo ¦ redmine ¦ wordpress ¦ phpmyadmin ¦ minio ¦ rcon ¦ steam ¦ steam guard ¦ (?:svc|service|demo|guest) account
    benutzer\w{0,4} ¦ nutzer\w{0,3} ¦ konto\w? ¦ admin-panel
    utilisateur\w? ¦ compte ¦ box ¦ boîte
    usuario\w? ¦ cuenta ¦ la wifi ¦ enrutador ¦ alarma
    usuário\w? ¦ utilizador\w? ¦ conta ¦ roteador ¦ câmeras?
    роутер\w{0,2} ¦ рут\w? ¦ вайфай\w? ¦ юзер\w? ¦ учётк\w ¦ учетк\w ¦ аккаунт\w? ¦ камер\w ¦ рутов\w{2,3} ¦ админ\w{0,4} ¦ гите\w ¦ сервер\w{0,3}""",
    r"""无线 ¦ 校园网 ¦ 用户名 ¦ 用户 ¦ 管理员 ¦ 摄像头 ¦ 路由器 ¦ 服务器 ¦ 网盘 ¦ 共享
    ルーター ¦ ユーザー ¦ アカウント ¦ 管理者 ¦ サーバー? ¦ 無線 ¦ 鯖
    공유기 ¦ 와이파이 ¦ 관리자 ¦ 서버 ¦ 계정 ¦ 나스""",
)
"""Words for the systems that one logs in to, and for the users of them."""
LOCK = _pattern(
    r"""doors? ¦ (?:front|garden|main|side|back) gate ¦ (?:the|our|my|a) safe ¦ burglar alarm ¦ (?:the|house|office) alarm ¦ lockers? ¦ padlock ¦ intercom ¦ garage ¦ key ?pad ¦ lock ?box ¦ texted ¦ sms ¦ admin mode ¦ parental controls?
    tür\w{0,10} ¦ haustür ¦ tor ¦ tresor\w? ¦ alarmanlage ¦ alarm ¦ schließfach ¦ spind ¦ garage ¦ schloss ¦ kindersicherung ¦ safe
    porte ¦ portail ¦ coffre(?:-fort)? ¦ alarme ¦ casier ¦ cadenas ¦ digicode ¦ garage ¦ interphone ¦ contrôle parental
    puerta ¦ portón ¦ caja fuerte ¦ alarma ¦ taquilla ¦ candado ¦ garaje ¦ portero ¦ cerradura ¦ control parental
    porta (?:da|de|do) (?!banco)\w+ ¦ portão ¦ cofre ¦ alarme ¦ cacifo ¦ armário ¦ cadeado ¦ garagem ¦ fechadura ¦ interfone
    двер\w{1,3} ¦ домофон\w{0,2} ¦ сейф\w{0,2} ¦ сигнализаци\w ¦ шкафчик\w? ¦ замо?к\w{0,2} ¦ ворот\w{0,2} ¦ гараж\w{0,2} ¦ подъезд\w{0,2} ¦ калитк\w""",
    r"""门禁 ¦ 大门 ¦ 开门 ¦ 门锁 ¦ 房门 ¦ 密码锁 ¦ 保险柜 ¦ 保险箱 ¦ 柜子 ¦ 储物柜 ¦ 工程模式 ¦ 车库
    ドア ¦ 玄関 ¦ 金庫 ¦ ロッカー ¦ スマートロック ¦ オートロック ¦ 南京錠 ¦ 桁
    현관 ¦ 금고 ¦ 사물함 ¦ 도어락 ¦ 자물쇠 ¦ 현관문 ¦ 대문 ¦ 방문 ¦ 출입 ¦ 월패드 ¦ 관리자 모드 ¦ 경비""",
)
"""Words for what is opened with a code of digits, such as a door."""
TYPE = _pattern(
    r"""type (?:in|that) ¦ typed ¦ typing in ¦ entered ¦ dial\w{0,3} ¦ press\w{0,3} ¦ punch in ¦ opens (?:on|with) ¦ answer(?:s|ed)? ¦ wants ¦ i put
    eingeb\w{1,3} ¦ eingibt ¦ eingebe ¦ gibst? ¦ gib ¦ getippt ¦ tipp\w{1,3} ¦ drück\w{1,3} ¦ gilt ¦ lautet ¦ ist ¦ öffnet ¦ antwort\w{1,3} ¦ wähl\w{1,3} ¦ gesetzt ¦ vergeben ¦ geht ¦ ging ¦ funktioniert
    tap(?:e|er|ez|es|é) ¦ saisi\w{1,3} ¦ compos\w{1,3} ¦ est ¦ c['’]est ¦ s['’]ouvre ¦ entr(?:e|er|ez) ¦ fais ¦ mis ¦ à l['’]aide de
    marc\w{1,5} ¦ tecle\w{1,4} ¦ escrib\w{1,3} ¦ es ¦ introduc\w{1,4} ¦ pon(?:er|go|es|ga|iendo)? ¦ abre ¦ desarma ¦ met\w{1,4} ¦ pulsa\w{0,4} ¦ puse ¦ puso ¦ defin\w{1,3}
    marc\w{1,5} ¦ digit\w{1,5} ¦ tecl\w{1,5} ¦ é ¦ insir\w{1,3} ¦ coloc\w{1,4} ¦ abre ¦ escrev\w{1,3} ¦ aperta\w{0,3} ¦ defini\w{0,3} ¦ coloquei ¦ continua com
    набер\w{1,4} ¦ набира\w{1,4} ¦ введ\w{1,4} ¦ ввод\w{1,4} ¦ нажм\w{1,4} ¦ жм\w{1,3} ¦ открыва\w{2,4} ¦ \u2014 ¦ это ¦ задал\w? ¦ поставил\w? ¦ символ\w{0,4}""",
    r"""输入 ¦ 按 ¦ 填 ¦ 是 ¦ 打 ¦ 开
    入力 ¦ 入れ ¦ 押 ¦ 打 ¦ です ¦ で開 ¦ は
    입력 ¦ 눌러 ¦ 누르 ¦ 치고 ¦ 돌리 ¦ 넣 ¦ 열려 ¦ 써 ¦ 쓰""",
)
"""Words for typing something in."""
HASH = _pattern(
    r"""commits? ¦ sha-?\d* ¦ hash(?:es|ed)? ¦ checksums? ¦ digests? ¦ md5 ¦ revision ¦ rev ¦ merge ¦ uuid ¦ guid ¦ fingerprints? ¦ etag ¦ blob ¦ trace[ -]?id ¦ [\w-]{0,20}[ _-]?ids? ¦ branch ¦ tag ¦ image ¦ layer
    prüfsumme\w? ¦ fingerabdruck ¦ kennung ¦ bestellung\w{0,8} ¦ empreinte ¦ somme de contrôle ¦ huella ¦ resumen ¦ коммит\w? ¦ хеш\w? ¦ хэш\w? ¦ отпечаток ¦ заявк\w""",
    "提交 ¦ 哈希 ¦ 校验和 ¦ 指纹 ¦ コミット ¦ ハッシュ ¦ チェックサム ¦ 커밋 ¦ 해시 ¦ 체크섬",
)
"""Words for random characters that are no secret, such as a commit or a checksum."""
PERSON = _pattern(
    r"""user(?:name)?s? ¦ user (?:id|is) ¦ as ¦ (?:svc|service) account ¦ host(?:name)? ¦ server ¦ database ¦ db ¦ schema ¦ account ¦ tenant ¦ machine ¦ named ¦ called ¦ version ¦ login
    benutzer\w{0,6} ¦ nutzer ¦ konto ¦ als ¦ rechner ¦ utilisateur ¦ compte ¦ usuario ¦ cuenta ¦ usuário ¦ utilizador ¦ conta ¦ юзер\w? ¦ пользовател\w{1,2} ¦ логин\w? ¦ учётк\w ¦ учетк\w ¦ сервер\w? ¦ хост\w?""",
    "账号 ¦ 帐号 ¦ 用户名 ¦ 用户 ¦ 学号 ¦ ユーザー名?[はが：:]? ¦ アカウント名?[はが]? ¦ 아이디 ¦ 계정 ¦ 사번",
)
"""Words directly before the name of a person, an account or a machine."""
NAMELY = _pattern(
    r"""is (?:literally|simply|just|still|actually) ¦ (?:was|been|got|is) (?:changed|reset|switched|updated) to ¦ namely ¦ (?:changed|reset|switched|updated|set) (?:it|the \w+) to ¦ replaced (?:it|the \w+) (?:with|by)
    laute[tn]?(?: (?:jetzt|nun|übrigens|weiterhin|einfach))? ¦ lautete ¦ heißt(?: (?:jetzt|nun|übrigens))? ¦ heisst ¦ nämlich ¦ ist (?:nämlich|übrigens|einfach|schlicht) ¦ auf(?= [\w-]+ (?:geändert|gesetzt|umgestellt)) ¦ (?:geändert|gesetzt) (?:auf|in)
    à savoir ¦ c['\u2019]est(?: (?:toujours|maintenant|juste))? ¦ est (?:tout simplement|simplement|toujours|resté|restée|devenu|juste) ¦ (?:changé|remplacé|modifié)e? (?:en|par|pour)
    es (?:literalmente|simplemente|ahora|todavía|nada menos que) ¦ sigue siendo ¦ qued[oó] (?:en|como) ¦ (?:cambiad|actualizad|restablecid)[oa] (?:a|por) ¦ o sea ¦ le puse
    é (?:literalmente|simplesmente|só) ¦ ficou(?: como)? ¦ continua(?: a ser| sendo)? ¦ eh ¦ ou seja ¦ (?:redefinid|trocad|alterad|mudad|atualizad)[oa] para
    то есть ¦ остал(?:ся|ась|ось)(?: прежним)? ¦ (?:сменил\w{0,2}|помен\w{2,4}|изменил\w{0,2}|измен[её]н\w?) на ¦ такой:? ¦ простой: ¦ \u2014 это ¦ стоит ¦ у меня ¦ придумал\w?:?""",
    r"""改成了? ¦ 改为 ¦ 设为 ¦ 设成 ¦ 设置为 ¦ 就是 ¦ 还是 ¦ 叫做? ¦ 换成了?
    は ¦ が ¦ を ¦ ですが、 ¦ って ¦ 、
    는 ¦ 은 ¦ 가 ¦ 이 ¦ 를 ¦ 을 ¦ 걸려 있어요,""",
)
"""Words between a word for a password and the password that it names."""
AS = _pattern(
    r"""as ¦ for
    als
    comme ¦ en tant que ¦ pour
    como ¦ de
    como ¦ de
    в качестве ¦ как""",
    "作为 ¦ 当作 ¦ として ¦ (?:으)?로",
)
"""Words between a password and the word for it, such as "x as password"."""
SET = _pattern(
    r"""use ¦ used ¦ using ¦ put ¦ keep ¦ set ¦ chose ¦ choose ¦ enter ¦ try
    nimm ¦ nehmt? ¦ nutz\w{1,2} ¦ verwend\w{1,3} ¦ gib ¦ setz\w? ¦ behalt\w?
    garde[rz]? ¦ mets? ¦ mis ¦ mettre ¦ utilise[rz]? ¦ choisi\w{0,3} ¦ prends? ¦ essaye?
    us[aeo] ¦ usar ¦ puse ¦ pon ¦ poner ¦ deja ¦ elegí ¦ prueba
    us[aeo] ¦ usar ¦ coloc\w{1,3} ¦ mantém ¦ deixa ¦ põe ¦ bota ¦ tenta
    используй\w{0,2} ¦ поставь\w{0,2} ¦ поставил\w? ¦ оставь\w{0,2} ¦ введи\w{0,2} ¦ возьми\w{0,2}""",
    "用 ¦ 使用 ¦ 使 ¦ 사용",
)
"""Words for choosing a password."""
OPEN = _pattern(
    r"""enter ¦ type ¦ use ¦ is ¦ opens? ¦ punch ¦ it['\u2019]s ¦ now""",
    "開け ¦ 열",
)
"""Words for opening a lock with a code."""
COPULA = _pattern(
    r"""is ¦ ist ¦ est ¦ es ¦ é ¦ \u2014 ¦ это""",
    "(?!)",
)
"""Words such as "is" between a word for a password and the password, or a statement about it."""
PHRASE = _pattern(
    r"""(?:seed|recovery|backup|wallet|secret|pass)[ -]?phrases? ¦ seed words ¦ master passwords?
    passphrase ¦ merksatz ¦ passsatz ¦ wiederherstellungssatz ¦ wiederherstellungswörter
    phrases? (?:de passe|secrètes?|de récupération|du \w+) ¦ la phrase
    frases? (?:secreta|de paso|de recuperación|semilla|de contraseña) ¦ la frase
    frases? (?:secreta|de recuperação|semente|de senha) ¦ frase-passe ¦ a frase
    (?:парольн|секретн|кодов|резервн|сид|мнемоническ)\w{0,3}[ -]фраз\w ¦ сид-?фраз\w ¦ фраз\w (?:кошелька|восстановления)""",
    "助记词 ¦ 密码短语 ¦ パスフレーズ ¦ リカバリーフレーズ ¦ 合言葉 ¦ 복구 ?문구 ¦ 암호문",
)
"""Words for a secret of several words."""
QUESTION = _pattern(
    r"""security (?:question|answer)s? ¦ secret (?:word|question|answer)s? ¦ code ?word
    geheimwort ¦ codewort ¦ sicherheitsfrage ¦ geheime frage ¦ losungswort ¦ kundenkennwort
    mot secret ¦ question secrète ¦ question de sécurité ¦ mot de code ¦ mot de passe vocal
    palabra (?:secreta|clave) ¦ pregunta (?:secreta|de seguridad)
    palavra (?:secreta|-?chave de segurança) ¦ pergunta (?:secreta|de segurança)
    кодов\w{2,3} слов\w{1,3} ¦ контрольн\w{2,3} (?:слов\w{1,3}|вопрос\w{0,3}) ¦ секретн\w{2,3} (?:слов\w{1,3}|вопрос\w{0,3})""",
    "密保 ¦ 安全问题 ¦ 暗号 ¦ 秘密の質問 ¦ あいことば ¦ 合い?言葉 ¦ 보안 ?질문 ¦ 비밀 ?질문",
)
"""Words for a secret answer or code word, which most often is a plain word."""
ANSWER = _pattern(
    r"""(?:is|was) ¦ it['\u2019]s ¦ answer(?:s|ed)?(?: they have on file)? is ¦ answered ¦ answer
    (?:ist|lautet|heißt)(?: übrigens| einfach)? ¦ antworte[tn]? ¦ antwort ist
    est ¦ c['\u2019]est ¦ réponse est ¦ répond\w{0,3} ¦ répéter mon mot de passe vocal
    es ¦ respuesta es ¦ respond\w{1,3} ¦ contesté
    é ¦ resposta é ¦ respond\w{1,3}
    это ¦ ответил\w? ¦ ответ ¦ \u2014""",
    "是 ¦ 答案是 ¦ は ¦ 、 ¦ 은 ¦ 는",
)
"""Words before the answer to a security question."""
_NAMES_HELD = """
pas ¦ pwd ¦ pw ¦ security answer ¦ psk ¦ cred ¦ secret ¦ shared key ¦ wpa ¦ question ¦ kennw ¦ geheim ¦ codewort ¦ losung ¦ zugangsdaten ¦ anmeldedaten ¦ schlüssel ¦ mdp ¦ phrase ¦ mots de ¦ mot de ¦ mots secret ¦ clé ¦ identifi
codewort ¦ code word ¦ codeword ¦ sicherheitsfrage ¦ losungswort ¦ mot secret ¦ pregunta ¦ pergunta ¦ фраз ¦ контрольн ¦ seed ¦ satz ¦ wiederherstellungsw ¦ 助记 ¦ 短语 ¦ フレーズ ¦ 문구 ¦ 密保 ¦ 安全问题 ¦ 質問 ¦ 질문
contrase ¦ contrasena ¦ clave ¦ palabra ¦ frase ¦ senha ¦ palavra ¦ chave ¦ парол ¦ пасс ¦ ключ ¦ кодов ¦ секрет ¦ реквизит
密码 ¦ 密碼 ¦ 口令 ¦ 凭 ¦ 暗号 ¦ 提取码 ¦ パス ¦ 合い言葉 ¦ 合言葉 ¦ あいことば ¦ 認証 ¦ 비밀번호 ¦ 비번 ¦ 암호 ¦ 패스
"""
_HELD = """
zugang ¦ mot secret
key ¦ token ¦ cookie ¦ pat ¦ serial ¦ seriennummer ¦ de serie ¦ de série ¦ webhook ¦ sk ¦ jeton ¦ clef ¦ licen ¦ llave ¦ segredo ¦ токен ¦ кук ¦ серийн ¦ лицензи
密钥 ¦ 密鑰 ¦ 秘钥 ¦ 私钥 ¦ 令牌 ¦ 序列号 ¦ 注册码 ¦ 激活码 ¦ 授权码 ¦ 许可证 ¦ トークン ¦ キー ¦ 秘密鍵 ¦ シークレット ¦ シリアル ¦ クッキー ¦ ライセンス ¦ ウェブフック
토큰 ¦ 키 ¦ 시크릿 ¦ 쿠키 ¦ 세션 ¦ 시리얼 ¦ 라이선스 ¦ 웹훅 ¦ pin ¦ puk ¦ otp ¦ tan ¦ code ¦ nip ¦ digo ¦ combination ¦ kombination ¦ код ¦ пин ¦ пук ¦ steam
码 ¦ 碼 ¦ 番号 ¦ コード ¦ 桁 ¦ 번호 ¦ 자리 ¦ 코드 ¦ log ¦ sign ¦ authent ¦ unlock ¦ open ¦ lets ¦ gets in ¦ got in ¦ goes in ¦ prompt ¦ decrypt ¦ asked me ¦ leaked
einwähl ¦ sperr ¦ entpack ¦ falscheingabe ¦ reinkomm ¦ komm ¦ test user ¦ demo user ¦ guest user ¦ service user ¦ ssh ¦ meld ¦ connect ¦ connexion ¦ accès ¦ ouvr ¦ verrouill ¦ chiffr ¦ acce ¦ inici ¦ entr ¦ conect ¦ abre ¦ reconoce ¦ desarma
descifr ¦ cifra ¦ encrypted ¦ desbloque ¦ autent ¦ acess ¦ conta ¦ descript ¦ вход ¦ вой ¦ зай ¦ захо ¦ пуск ¦ пуст ¦ логин ¦ авториз ¦ аутент ¦ разблок ¦ доступ ¦ откры ¦ расшифр
登 ¦ 账号 ¦ 帐号 ¦ 解 ¦ 连不上 ¦ 上网 ¦ 工程模式 ¦ 认证 ¦ 重置 ¦ 泄 ¦ ログイン ¦ ログオン ¦ サインイン ¦ 入れ ¦ 弾かれ ¦ 接続 ¦ アクセス ¦ 流出 ¦ 初期値
로그인 ¦ 접속 ¦ 들어 ¦ 인증 ¦ 잠금 ¦ 풀려 ¦ 먹혀 ¦ 계정 ¦ 유출 ¦ vpn ¦ wifi ¦ wi-fi ¦ wlan ¦ router ¦ hotspot ¦ ftp ¦ ssh ¦ rdp ¦ vnc ¦ nas ¦ smtp ¦ imap ¦ ldap ¦ dvr ¦ nvr
kamera ¦ admin ¦ root ¦ psql ¦ zip ¦ sudo ¦ bios ¦ cloud ¦ confluence ¦ jira ¦ keycloak ¦ pgadmin ¦ phpmyadmin ¦ kibana ¦ nexus ¦ rabbitmq ¦ mqtt ¦ mongodb ¦ samba ¦ fritz ¦ synology ¦ plex ¦ luks ¦ vault ¦ filezilla ¦ proxmox ¦ grafana ¦ zabbix ¦ jenkins ¦ gitlab ¦ moodle ¦ odoo ¦ redmine ¦ wordpress ¦ minio ¦ rcon ¦ account
nutzer ¦ konto ¦ utilisateur ¦ compte ¦ box ¦ boîte ¦ usuario ¦ cuenta ¦ enrutador ¦ alarm ¦ usuário ¦ utilizador ¦ roteador ¦ câmera ¦ роутер ¦ рут ¦ вайфай ¦ юзер ¦ учётк ¦ учетк
аккаунт ¦ камер ¦ рутов ¦ админ ¦ гите ¦ сервер ¦ 无线 ¦ 校园网 ¦ 用户 ¦ 管理 ¦ 摄像头 ¦ 路由器 ¦ 服务器 ¦ 网盘 ¦ 共享 ¦ ルーター ¦ ユーザー ¦ アカウント ¦ サーバ ¦ 無線 ¦ 鯖
공유기 ¦ 와이파이 ¦ 관리자 ¦ 서버 ¦ 나스 ¦ door ¦ gate ¦ safe ¦ lock ¦ intercom ¦ garage ¦ texted ¦ sms ¦ parental ¦ tür ¦ tor ¦ tresor ¦ schließfach ¦ spind ¦ schloss
kindersicherung ¦ porte ¦ portail ¦ coffre ¦ casier ¦ cadenas ¦ interphone ¦ puerta ¦ portón ¦ caja ¦ taquilla ¦ candado ¦ garaje ¦ cerradura ¦ porta ¦ portão ¦ cofre ¦ cacifo
armário ¦ cadeado ¦ garagem ¦ fechadura ¦ interfone ¦ двер ¦ домофон ¦ сейф ¦ сигнализаци ¦ шкаф ¦ зам ¦ ворот ¦ гараж ¦ подъезд ¦ калитк ¦ 门 ¦ 保险 ¦ 锁 ¦ 柜 ¦ 车库
ドア ¦ 玄関 ¦ 金庫 ¦ ロッカー ¦ 鍵 ¦ ロック ¦ 南京錠 ¦ 현관 ¦ 금고 ¦ 사물함 ¦ 도어락 ¦ 자물쇠 ¦ 문 ¦ 출입 ¦ 월패드 ¦ 경비
"""


def _parts(rows: str) -> tuple[str, ...]:
    return tuple(part for row in rows.split("\n") for part in row.strip().split(" ¦ ") if part)


NAME_KEYWORDS = _parts(_NAMES_HELD)
"""Words in lower case; one of them is on every line in which `find_complements` finds something."""
KEYWORDS = (*NAME_KEYWORDS, *_parts(_HELD))
"""Words in lower case; one of them is on every line in which `find_credentials` finds something."""
