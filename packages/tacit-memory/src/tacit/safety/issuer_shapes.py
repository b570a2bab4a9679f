"""Tokens by who issues them, and opaque values beside a vendor's name. Data only; `redact` applies it before `SHAPES`.

In: nothing. Out: `ISSUER_SHAPES`. The prefixes, lengths and alphabets are those that the issuers publish; where a form has no
mark of its own (hexadecimal digits, a UUID), the vendor's name must stand before it.
"""

from __future__ import annotations

import re

from tacit.safety.secret_shapes import Shape, entropy, is_placeholder, shape
from tacit.text.lazy_regex import lazy_regex

_HEX_UUID = r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}"

# (words of which one must be in the lower-case text, the form)
_FORMS: tuple[tuple[str, str], ...] = (
    ("a3-", r"A3-[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3}"),
    ("ops_", r"ops_[A-Za-z0-9+/]{40,}={0,3}"),
    ("p8e-", r"p8e-[A-Za-z0-9]{32}"),
    ("ltai", r"LTAI[A-Za-z0-9]{12,24}"),
    ("akcp cmvmd", r"(?:AKCp[A-Za-z0-9]{60,}|cmVmd[A-Za-z0-9]{50,})"),
    ("absk", r"ABSK[A-Za-z0-9+/]{60,}={0,2}"),
    ("clojars_", r"CLOJARS_[A-Za-z0-9]{40,}"),
    ("v1.0-", r"v1\.0-[a-f0-9]{24}-[a-f0-9]{100,}"),
    ("duffel_", r"duffel_(?:test|live)_[\w=-]{30,}"),
    ("dt0", r"dt0[a-z]\d{2}\.[A-Z0-9]{8,24}\.[A-Z0-9]{64}"),
    ("ezak eztk", r"EZ[AT]K[A-Za-z0-9]{40,}"),
    ("eaa", r"EAA[A-Za-z0-9][A-Za-z0-9_-]{50,}"),
    ("flwseck flwpubk", r"FLW(?:SECK|PUBK)(?:_TEST)?-[a-f0-9]{12,}(?:-X)?"),
    ("fm1r_ fm1a_ fm2_", r"fm(?:1[ra]|2)_[A-Za-z0-9+/=_-]{40,}"),
    ("fio-u-", r"fio-u-[\w=-]{40,}"),
    ("glc_ eyjrijoi", r"(?:glc_[A-Za-z0-9+/=]{30,}|eyJrIjoi[A-Za-z0-9+/=_-]{40,})"),
    ("pat. sat.", r"[ps]at\.[A-Za-z0-9_-]{22}\.[a-f0-9A-Z]{24}\.[A-Za-z0-9]{20}"),
    (".atlasv1.", r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{40,}"),
    ("hrku-", r"HRKU-[A-Za-z0-9_-]{20,}"),
    ("ico-", r"ico-[A-Za-z0-9]{32}"),
    ("k.eyj", r"[sp]k\.eyJ[A-Za-z0-9_-]{30,}\.[A-Za-z0-9_-]{20,}"),
    ("_mmk", r"[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk"),
    ("webhook.office.com", r"webhook\.office\.com/webhookb2/(?P<a>[\w@./-]{60,})"),
    ("nrak- nraa- nrra- nrii- nriq- nrbr- nrjs- nrsp-", r"NR(?:AK|AA|RA|II|IQ|BR|JS|SP)-[A-Za-z0-9_-]{20,}"),
    ("sha256~", r"sha256~[\w-]{43}"),
    ("pmak-", r"PMAK-[a-f0-9]{24}-[a-f0-9]{34}"),
    ("pnu_ rdme_ sgp_ tfp_", r"(?:pnu_[A-Za-z0-9]{36}|rdme_[a-z0-9]{60,}|sgp_(?:[a-f0-9]{16}_|local_)?[a-f0-9]{40}|tfp_[\w.=-]{50,})"),
    ("tk-us-", r"tk-us-[\w-]{40,}"),
    ("sm_", r"sm_(?:aat|pat|sat)_[A-Za-z0-9]{16,}"),
    ("shippo_", r"shippo_(?:live|test)_[a-f0-9]{40}"),
    ("sq0", r"sq0[a-z]{3}-[\w-]{20,}"),
    ("aqvn t1.", r"(?:AQVN[A-Za-z0-9_-]{30,}|t1\.[A-Z0-9a-z_-]+[=]{0,2}\.[A-Z0-9a-z_-]{86}={0,2})"),
    ("lsv2_ -lf-", rf"(?:lsv2_(?:pt|sk)_[a-f0-9]{{32}}_[a-f0-9]{{10}}|[sp]k-lf-{_HEX_UUID})"),
    ("pcsk_ jina_ tgp_v1_ napi_", r"(?:pcsk_[A-Za-z0-9_]{40,}|jina_[A-Za-z0-9]{40,}|tgp_v1_[\w-]{40,}|napi_[a-z0-9]{40,})"),
    ("pa- fc- al-", r"(?:pa-[A-Za-z0-9_-]{40,48}|fc-[a-f0-9]{32}|al-[A-Za-z0-9_-]{40,48})"),
    ("re_", r"re_[A-Za-z0-9]{6,12}_[A-Za-z0-9]{20,}"),
    ("ccipat_ bkua_", r"(?:CCIPAT_[A-Za-z0-9]{16,}_[a-f0-9]{40}|bkua_[a-f0-9]{40})"),
    ("sqp_ squ_ sqa_", r"sq[pua]_[a-f0-9]{40}"),
    ("cfpat- cfpat_", r"CFPAT[-_][\w-]{40,}"),
    ("pat", r"pat[A-Za-z0-9]{14}\.[a-f0-9]{64}"),
    ("pat-", rf"pat-[a-z]{{2}}\d-{_HEX_UUID}"),
    ("access-sandbox- access-production- access-development-", rf"access-(?:sandbox|development|production)-{_HEX_UUID}"),
    ("access_token$", r"access_token\$(?:production|sandbox)\$[a-z0-9]{16}\$[a-f0-9]{32}"),
    ("rzp_", r"rzp_(?:live|test)_[A-Za-z0-9]{14,}"),
    ("tskey-", r"tskey-[a-z]+-[A-Za-z0-9]{8,}(?:-[A-Za-z0-9]{16,})?"),
    ("sdk- mob- api-", rf"(?:sdk|mob|api)-{_HEX_UUID}"),
    ("hcaik_ hcxik_ hcamk_", r"hc[ax][a-z]k_[a-z0-9]{40,}"),
    ("aaaaaaaa", r"A{16,}[A-Za-z0-9%]{40,}"),
    (":apa91b", r"AAAA[A-Za-z0-9_-]{7}:APA91b[A-Za-z0-9_-]{100,}"),
    ("atbb atctt3", r"(?:ATBB[A-Za-z0-9]{32}|ATCTT3[A-Za-z0-9_=-]{40,})"),
    ("vercel_blob_rw_ vcp_ vca_", r"(?:vercel_blob_rw_[A-Za-z0-9_]{30,}|vc[pa]_[A-Za-z0-9]{20,})"),
    ("oauth:", r"oauth:[a-z0-9]{30}"),
    ("xprv tprv", r"[xt]prv[1-9A-HJ-NP-Za-km-z]{100,}"),
    ("gr1348941 glffct- glimt-", r"(?:GR1348941[\w-]{20,}|gl(?:ffct|imt)-[\w-]{20,})"),
    ("azdo", r"[A-Za-z0-9]{70,80}AZDO[A-Za-z0-9]{4}"),
    ("$2", r"\$2[abxy]\$\d{2}\$[./A-Za-z0-9]{53}"),
    ("$1$ $5$ $6$ $apr1$ $y$", r"\$(?:1|5|6|apr1|y)\$(?:rounds=\d+\$)?[./A-Za-z0-9$]{1,40}\$[./A-Za-z0-9]{20,}"),
    ("$argon2 $scrypt$ $pbkdf2", r"\$(?:argon2(?:id|[id])|scrypt|pbkdf2[\w-]*)\$[\w=,.$+/-]{30,}"),
    ("xoxe-", r"xoxe-\d-[A-Za-z0-9]{100,}"),
    ("mfa.", r"mfa\.[\w-]{80,}"),
    ("amzn", r"amzn\.mws\." + _HEX_UUID),
    ("sl.", r"sl\.(?:u\.)?[A-Za-z0-9_-]{100,}"),
    ("shpua_ shpit_", r"shp(?:ua|it)_[a-fA-F0-9]{32}"),
    ("sk_ secret-", r"(?:sk_[a-f0-9]{40,}|secret-[A-Za-z0-9]{40,})"),
)  # fmt: skip

_VENDOR_WORDS = (
    "adafruit airtable algolia alibaba amplitude asana assemblyai atlassian auth0 backblaze bamboo bitbucket bitly bittrex braintree brave"
    " buildkite bugsnag cloudflare codecov cohere coinbase confluence confluent contentful coveralls datadog deepgram deepseek"
    " digicert digitalocean docusign dropbox dynatrace elastic elevenlabs etsy fastly finnhub freshdesk giphy gitea gitter gocardless"
    " grafana groq hashicorp heroku honeycomb hubspot intercom jfrog jira jumpcloud kraken kucoin launchdarkly linkedin lob looker"
    " mailchimp mailgun mapbox mattermost messagebird mistral mixpanel netlify new_relic newrelic nylas okta openai opsgenie pagerduty"
    " paypal pendo pinecone plaid postmark pusher rapidapi replicate rollbar segment sendbird sendgrid sentry serper shodan snyk sonar"
    " sonarqube splunk spotify squarespace stability stytch sumologic telnyx tenable travis trello twilio twitch twitter typesense"
    " unsplash upstash vonage wandb weatherapi workos yandex zapier zendesk zoom"
)  # fmt: skip
_VENDORS = tuple(_VENDOR_WORDS.split())

_SHOWN = lazy_regex(
    r"example|x{6,}|\*{3,}|\.{3,}|your[_-]?|1234567890abcdef|0123456789abcdef|abcdefghijklmnop", re.IGNORECASE
)
_LINK = r"(?:[\"'`]?\s{0,3}(?:=>|:=|[:=>,])\s{0,3}|[\"'`]?\s{1,40}(?:is|was|to|login)\s{1,40}|\s{1,40})"
_NAMED = r"(?:key|token|secret|auth|login|password|credential|pat|dsn|server|api)s?"

# What stands between a host and the host's path: `vendor.com/...` is an address, not a name of a value.
_VENDOR = rf"(?<![\w./@-])(?:[\w-]{{0,30}}[_-])?(?:{'|'.join(_VENDORS)})(?!\.\w)"


def _for_show(value: str) -> bool:
    """A token of documentation: it says so, or repeats a few characters."""
    return bool(_SHOWN.search(value)) or len(set(value)) < 8


def _no_token(value: str) -> bool:
    """Words, names, paths, digests of one character class with little variety."""
    value = value.strip("\"'`.,;")
    digits = sum(ch.isdigit() for ch in value)
    words = [segment for segment in re.split(r"[_/.+=\-]", value) if len(segment) >= 3 and segment.isalpha()]
    return is_placeholder(value) or digits < 2 or len(words) >= 3 or entropy(value) < 3.0


def _no_pair(value: str) -> bool:
    """The second half of `either/or` or of a path: a file, a version, a word of the trade."""
    value = value.strip("\"'`.,;")
    return is_placeholder(value) or bool(
        re.match(r"^v?\d+(?:[.\d]*\d)?[a-z]?$|.*\.[a-z]{1,5}\d?$|^[a-z]{1,6}\d{1,3}$", value, re.IGNORECASE)
    )


ISSUER_SHAPES: tuple[Shape, ...] = (
    *(
        shape("issued_token", keywords, rf"(?<![A-Za-z0-9_-]){form}(?![A-Za-z0-9])", innocent=_for_show)
        for keywords, form in _FORMS
    ),
    # A vendor's name, then a word that says key or token and an opaque value behind it; or the name set to such a value.
    # What ends in `id`, `url` or the like is no key.
    shape(
        "vendor_key", " ".join(_VENDORS),
        rf"(?i:{_VENDOR}(?:(?:[ _.-]+\w+){{0,3}}?[ _.-]{{0,2}}{_NAMED}\b(?:[ \t]+(?!is\b|was\b|to\b)[A-Za-z]+){{0,2}}{_LINK}"
        rf"|[\w-]{{0,24}}(?<!id)(?<!url)(?<!name)(?<!org)(?<!project)(?<!team)(?<!version)(?<!hash)(?<!sha)[\"'`]?\s{{0,2}}(?:=>|:=|[:=])\s{{0,2}}))"
        rf"[\"'`]?(?P<secret>(?:{_HEX_UUID}|[A-Za-z0-9_=+/.-]{{16,}}))(?![\w])",
        innocent=_no_token,
        reach=(0, 2),
    ),
    # Names that say secret and are set to bare digits of base 16 or 64, which other rules take for hashes.
    shape(
        "secret_assignment", "key_base master_key hmac",
        r"(?i:(?:secret[_-]key[_-]base|master[_-]key|hmac[ _-]?(?:key|secret))[\"'`]?\s{0,3}(?:=>|:=|[:=])?\s{0,3})[\"'`]?(?P<secret>[A-Za-z0-9+/=]{20,})",
        innocent=_no_token,
    ),
    shape("sql_password", "identified password", r"(?i:\b(?:identified\s{1,40}(?:with\s{1,40}\w+\s{1,40})?by|(?:with\s{1,40}|encrypted\s{1,40})?password)\s{1,40})'(?P<secret>[^'\n]{4,})'"),
    shape("pgpass", ":5432: :5433: :6432: :3306: :*:", r"(?m:^|(?<=\s))[\w.*-]+:(?:\d{2,5}|\*):[\w*-]+:[\w.@-]+:(?P<secret>[^\s:]{6,})(?=\s|$)"),
    shape("cli_password", "sudo", r"\becho\s{1,40}[\"']?(?P<secret>[^\s\"'$|]{4,})[\"']?\s{0,40}\|\s{0,40}sudo\s{1,40}-\w*S"),
    shape("cli_password", "htpasswd", r"\bhtpasswd\s{1,40}-\w*b\w*\s{1,40}(?:-\w+\s{1,40})*\S+\s{1,40}\S+\s{1,40}[\"']?(?P<secret>[^\s\"'$]{4,})"),
    shape("cli_password", "net use", r"(?i:\bnet\s{1,40}use\s{1,40}\S+\s{1,40}\\\\\S+\s{1,40}(?:/user:\S+\s{1,40})?)(?P<secret>[^\s/*]{4,})(?=\s|$)"),
    shape("secret_assignment", "psk", r"(?i:\bpsk[\"']?\s{0,40}[:=]\s{0,40})[\"']?(?P<secret>[^\s\"']{8,63})"),
    shape("url_credentials", "jdbc:oracle", r"jdbc:oracle:\w+:[^\s/@]+/(?P<secret>[^\s@]{3,})@"),
    shape("otp_seed", "otpauth://", r"otpauth://[^\s\"'<>]*?[?&]secret=(?P<secret>[A-Za-z2-7]{12,}=*)"),
    shape("wallet_key", "private wallet wif", r"(?i:\b(?:private|wallet|wif)\b[^\n]{0,30}?)\b(?P<secret>(?:0x)?[0-9a-fA-F]{64}|[5KL][1-9A-HJ-NP-Za-km-z]{50,51})\b"),
    shape("social_security", "ssn social", r"(?i:\b(?:ssn|social security)\b[^\n]{0,24}?)(?<!\d)(?P<secret>(?!000|666|9\d\d)\d{3}-(?!00)\d{2}-(?!0000)\d{4})(?!\d)"),
    shape("markup_password", "</", r"(?i:<(?P<name>(?:[\w.:-]{0,60}(?:password|passwd|passphrase|passcode|pwd|secret|api-?key|key|token|credential|pin)))>\s{0,40})(?P<secret>[^<\s$][^<\n]{3,}?)\s{0,40}</(?P=name)>"),
    shape("spoken_secret", "pw passwort pwd", r"(?i:\b(?:pw|pwd|passwort|kennwort|contraseña|mot de passe)\b\s{0,40}(?:is|ist|:|=|es|est)?\s{0,40})[\"'`]?(?P<secret>(?=\S*\d)(?=\S*[A-Za-z])[^\s\"'`<>,;]{6,})", innocent=_no_token),
    shape("spoken_secret", "pass", r"(?i:\b(?:password|passphrase)\b(?: (?:on|for|of|in|to|at) (?:the )?[\w.@-]+){1,3}\s{0,40}[:=]\s{0,40})[\"'`]?(?P<secret>(?=\S*[\d!@#$%^&*])[^\s\"'`<>,;]{6,})", reach=(0, 2)),
    shape("spoken_secret", "passphrase", r"(?i:\bpassphrase\b[^\n:=\"'`]{0,40}[:=]\s{0,40})[\"'`]?(?P<secret>[A-Za-z0-9]{3,}(?:[ -][A-Za-z0-9]{3,}){3,7})(?=[\"'`.\n]|$)"),
    shape("pin_code", "pin", r"(?i:\bpin(?: code| number)?\b(?: (?:for|of|to) (?:the |my |our )?[\w-]+){0,2}\s{0,40}(?:is|:|=)\s{0,40})(?P<secret>\d{4,8})(?![\d.])"),
    # `login: joe / Secret9` and the like: the word must stand before the pair.
    shape("spoken_secret", "login log sign cred account user", r"(?i:\b(?:login|log ?in|sign ?in|creds?|credentials?|accounts?|user(?:name)?)\b[^\n/]{0,40}?)(?:(?<=[\s\"'`(:])|^)[\w.@+-]{2,}\s?/\s?(?P<secret>(?=[^\s/]*[A-Za-z])(?=[^\s/]*\d)[^\s\"'`/<>,;)]{6,})(?=[\s\"'`,;)]|[.]?$|[.]\s)", innocent=_no_pair, reach=(0, 2)),
    # `joe / Secret!9`: where the slash stands alone, the value's four classes of characters are enough.
    shape("spoken_secret", "/", r"(?<=[\w.@+-] / )[\"'`]?(?P<secret>(?=[^\s]*\d)(?=[^\s]*[a-z])(?=[^\s]*[A-Z])(?=[^\s]*[!@#$%^&*?+~])[^\s\"'`/<>(){}\[\]]{8,40}?)(?=[\s\"'`,;)]|[.]?$|[.]\s)"),
    # `admin:Secret9!` and the like: a user's name, a colon, and a value of four classes of characters.
    shape("spoken_secret", ":", r"(?:(?<=[\s\"'`(])|^)(?!sha\d|md5|https?:)[a-z][\w.@-]{2,30}:(?P<secret>(?=[^\s:]*\d)(?=[^\s:]*[a-z])(?=[^\s:]*[A-Z])(?=[^\s:]*[!@#$%^&*?+~])[^\s\"'`/<>:(){}\[\],;=]{8,40})(?=[\s\"'`,;)]|[.]?$|[.]\s)"),
)  # fmt: skip
