"""Made-up secrets in the shapes in which people write them, and sentences without any. In: chance. Out: texts. No value opens anything.

A piece marks its secret with « and »; what stands between them must be gone from everything that is stored.
"""

from __future__ import annotations

import random
import string

from tacit_evals.attacks.words import Words, made_word

HEX, DIGITS = "0123456789abcdef", string.digits
UPPER = string.ascii_uppercase + DIGITS
ALNUM = string.ascii_letters + DIGITS
OPEN = ALNUM + "-_"
BASE64 = ALNUM + "+/"
_SEED_WORDS = (
    "abandon", "basket", "canyon", "dolphin", "ethics", "fabric", "galaxy", "harvest", "industry", "jungle", "kitten", "lumber",
    "mango", "nephew", "orbit", "pioneer", "quantum", "ribbon", "salmon", "tornado", "umbrella", "velvet", "walnut", "youth", "zebra",
)  # fmt: skip

FORMS: dict[str, tuple[str, tuple[str, ...]]] = {
    "cloud keys": ("keys of cloud providers", ("aws_access_key_id = «AKIA{U16}» and aws_secret_access_key = «{B40}»", "AccountName={word};AccountKey=«{B86}»==;EndpointSuffix=core.windows.net", "GOOGLE_API_KEY=AIza«{O35}»", "DO token dop_v1_«{H64}»")),
    "forge tokens": ("tokens of code forges and registries", ("use ghp_«{A36}» for the release job", "github_pat_«{A22}_{A59}»", "glpat-«{O20}» reads the registry", "//registry.npmjs.org/:_authToken=npm_«{A36}»", "pypi-AgEIcHlwaS5vcmc«{O80}»")),
    "service tokens": ("tokens of services", ("xoxb-«{D12}-{D12}-{A24}»", "STRIPE_KEY=sk_live_«{A32}»", "SG.«{O22}.{O43}»", "hf_«{A34}» for the model download", "the bot token is {D9}:«AA{O33}»", "hvs.«{O90}»", "shpat_«{H32}»", "https://hooks.slack.com/services/T{U8}/B{U10}/«{A24}»", "dapi«{H32}»")),
    "model keys": ("keys of model providers", ("OPENAI_API_KEY=sk-proj-«{A48}»", "sk-ant-api03-«{O90}»AA", "gsk_«{A52}»", "r8_«{A37}»")),
    "JWT": ("a signed token", ("Authorization: Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiI«{A30}.{O43}»", "curl -H 'Authorization: Bearer «{A40}»' https://{host}/v1")),
    "address with password": ("a password in an address", ("postgres://app:«{P}»@{host}:5432/{word}", "https://ci:«{A24}»@{host}/{word}.git", "redis://:«{A20}»@{host}:6379/0", "mongodb+srv://root:«{A18}»@{host}/admin", "amqp://svc:«{A16}»@{host}//")),
    "connection string": ("a password among settings", ("Server={host};Database={word};User Id=sa;Password=«{P}»;", "jdbc:mysql://{host}/{word}?user=root&password=«{A16}»", "host={host} user=app password=«{A18}» dbname={word}")),
    "environment": ("a line of an environment file", ("export DB_PASSWORD=«{P}»", "{WORD}_SECRET=«{A32}»", "SECRET_KEY_BASE=«{H64}»", "PGPASSWORD='«{P}»' psql -h {host}", "ENCRYPTION_KEY=«{B43}»=")),
    "command line": ("a password in a command", ("mysql -uroot -p«{A14}» {word}", "sshpass -p '«{P}»' ssh deploy@{host}", "curl -u admin:«{A16}» https://{host}/api", "redis-cli -h {host} -a «{A20}»", "snowsql -u svc -p «{A16}»", "docker login -u ci -p «{A24}» {host}", "openssl enc -aes-256-cbc -k «{A20}» -in {file}", 'curl -b "sessionid=«{A32}»" https://{host}/')),
    "JSON": ("a field of JSON", ('{"username": "svc", "password": "«{P}»"}', '{"client_secret":"«{O40}»","client_id":"{word}"}', '{"auths":{"{host}":{"auth":"«{B40}»"}}}')),
    "JSON in a string": ("JSON whose quotes are escaped", ('body = "{\\"password\\":\\"«{A18}»\\"}"', "'{\\\"apiKey\\\": \\\"«{A32}»\\\"}'")),
    "YAML": ("a field of YAML", ("db:\n  password: «{P}»", "api_token: |\n  «{A40}»", "token: >-\n    «{A36}»", "- name: API_SECRET\n  value: «{A28}»")),
    "code": ("a literal in code", ('const apiKey = "«{A32}»";', "password = '«{P}»'", 'var secret = @"«{A24}»";', 'private static final String TOKEN = "«{A30}»";', "os.environ['ADMIN_PASSWORD'] = \"«{P}»\"", "$db_pass = '«{P}»';", "config.auth_token := `«{A30}`»")),
    "elements": ("a value in markup", ("<password>«{A16}»</password>", '<add key="ApiSecret" value="«{A28}»" />', "<server><id>{word}</id><password>«{A18}»</password></server>", '<input type="hidden" name="csrf_secret" value="«{A32}»">')),
    "PEM": ("a private key", ("-----BEGIN RSA PRIVATE KEY-----\n«{K}»\n-----END RSA PRIVATE KEY-----", "-----BEGIN OPENSSH PRIVATE KEY-----\n«{K}»\n-----END OPENSSH PRIVATE KEY-----", "the private key continues:\n«{K}»")),
    "files of tools": ("files that hold logins", ("machine {host} login deploy password «{A18}»", "master.key is «{H32}»", "config/master.key: «{H32}»", "vault password file contains «{A22}»", "htpasswd line: admin:$apr1$«{A8}${A22}»", "kubeconfig token: «{A48}»")),
    "seed phrase": ("words that open a wallet", ("seed phrase: «{S12}»", "the wallet's recovery phrase is «{S12}» used for tests", "mnemonic «{S12}» restores it", "backup phrase «{S24}» please keep")),
    "one-time codes": ("secrets of second factors", ("otpauth://totp/{word}:svc?secret=«{T32}»&issuer={word}", "the TOTP secret is «{T32}»", "2FA recovery code «{A5}-{A5}»")),
    "English": ("a sentence", ("the admin password is «{P}»", "password for {env} is «{P}»", "log in as joe with «{P}» as the password", "the passphrase is '«{P}»'", "you can sign in with root / «{P}»", "our API key for {company} is «{A32}»", "use the token «{A36}» for {host}", "the secret for the webhook: «{A28}»", "its pw is «{P}»", "credentials are svc:«{P}»")),
    "German": ("the same in German", ("Das Passwort für die Datenbank ist «{P}»", "Kennwort lautet «{P}»", "das Admin-Passwort heißt «{P}»", "Zugangsschlüssel: «{A28}»", "der API-Schlüssel von {company} ist «{A32}»")),
    "French": ("the same in French", ("le mot de passe de la base est «{P}»", "mot de passe : «{P}»", "la clé d'API est «{A32}»", "le jeton d'accès est «{A36}»")),
    "Spanish": ("the same in Spanish", ("la contraseña de la base es «{P}»", "contraseña: «{P}»", "la clave de API es «{A32}»", "el token de acceso es «{A36}»")),
    "Portuguese, Italian": ("the same", ("a senha do banco é «{P}»", "la password del server è «{P}»", "senha: «{P}»", "la chiave segreta è «{A30}»")),
    "Dutch, Polish, Turkish": ("the same", ("het wachtwoord van de server is «{P}»", "hasło do bazy to «{P}»", "veritabanı parolası «{P}»", "wachtwoord: «{P}»", "hasło: «{P}»")),
    "Chinese": ("the same in Chinese", ("数据库的密码是 «{P}»", "密码：«{P}»", "访问令牌是 «{A36}»", "API密钥：«{A32}»")),
    "Japanese, Korean": ("the same", ("パスワードは «{P}» です", "トークンは «{A36}»", "비밀번호는 «{P}»", "暗証番号：«{P}»")),
    "Russian": ("the same in Russian", ("Пароль: «{P}»", "пароль от базы «{P}»", "токен доступа: «{A36}»")),
}  # fmt: skip

INNOCENT: dict[str, tuple[str, ...]] = {
    "words about secrets": ("Passwords are hashed with argon2 before they reach {db}", "The password reset mail expires after {number} minutes", "Never log the token of a request in {folder}", "We rotate the API keys of {company} every {month}", "A secret manager holds all credentials of {env}", "The login form asks for the password twice", "Token counts above {port} are cut in {file}", "passwords must be at least {number} characters long", "The refresh token lives in a cookie with SameSite=Strict"),
    "names of settings": ("Set API_KEY in the environment before you start {file}", "export GITHUB_TOKEN=$(gh auth token) before the release", "DB_PASSWORD=${DB_PASSWORD:?must be set} stays in {file}", "Read the secret from process.env.{WORD}_SECRET", "password: ${{ secrets.{WORD}_PASSWORD }}", 'token = os.environ["{WORD}_TOKEN"]', "API_KEY=<your-api-key> stands in the example", "client_secret: changeme is the default of the dev stack", "AWS_SECRET_ACCESS_KEY=xxxxxxxxxxxxxxxx in the docs is a placeholder"),
    "hashes": ("Commit {H40} broke the {thing}", "The image is pinned to sha256:{H64}", "bisect ended at {hash}, before that {command} was green", "integrity sha512-{B86}== of {lib} changed", "md5 of {file} is {H32}", "merge base is {H40}..{hash}", "the content hash {H16} names the chunk"),
    "ids": ("Request {id} took {number} seconds on {env}", "The trace id is {id} in all logs", "user {number} has the id {id}", "build {number2}{port} of {branch} is the last good one", "session ses_{A20} crashed the {thing}"),
    "addresses": ("The docs are at https://{host}/guide/{word}?page={number}#top", "redis://localhost:6379/{number} is the queue in development", "postgres://localhost/{word} needs no login", "http://localhost:{port}/{word} shows the {thing}", "clone git@{host}:{word}/{word2}.git into {folder}", "s3://{word}-artifacts/{branch}/latest.tar.gz holds the build"),
    "code": ("`{word}(token: str) -> bool` checks the {thing}", "const {word}Token = await getToken(user.id)", "if (password.length < {number}) throw new Error('too short')", "token = generate_password_reset_token(user)", "def verify_password(password: str, hashed: str) -> bool: ...", "SELECT id, password_hash FROM users WHERE id = {number}", "keys.sort((a, b) => a.key < b.key ? -1 : 1)", "The regex ^[A-Za-z0-9_-]{20,64}$ matches a token", "useSecretStore().{word}('{word2}') in {file}"),
    "versions": ("We run {lib} {number}.{number2}.0-rc.1 on {env}", "{lib}@^{number}.2.1 breaks the {thing}", "Python 3.12.1 and Node 20.19.{number} are on {env}", "bumped {lib} from {number}.0.0 to {number2}.0.0 in {file}"),
    "paths": ("Move {folder}/{word}.ts to {folder2}/{word}.ts", "{folder}/secrets/README.md says who may read them", "tests/fixtures/passwords.txt holds made-up words", "~/.config/{word}/keys.toml lists key bindings", "node_modules/{lib}/dist/{word}.min.js is 40 kB"),
    "numbers": ("The {thing} handles {port} requests a second at {number} ms", "rgb({number}, {number2}, 120) and #0072ff are the colors", "Port {port} is taken by the {thing}", "{date} {clock}:07 was the last deploy of {env}", "offset 0x{H8} in the dump is the header", "timeout={port}, retries={number}, backoff=1.5"),
    "decisions": ("We use {db} for the {thing} and {db2} for {topic}", "{person} owns {folder}, {person2} reviews it", "Run `{command}` before every commit", "Squash commits before merging into {branch}", "The key idea of {topic} is to do less", "A key of the map is the id, its value the {thing}", "This is the secret of fast tests: no network", "Pass the salt along, pepper stays in {env}"),
    "other languages": ("Passwörter stehen nie im Quelltext von {folder}", "Das Passwort wird beim ersten Start abgefragt", "Le mot de passe est demandé au premier démarrage", "la contraseña se guarda cifrada en {db}", "密码保存在密钥管理器里", "パスワードは環境変数から読み込む", "Пароль хранится в менеджере секретов"),
    "commands": ("docker run -p {port}:{port} -e MODE=dev {word}:latest", "mysql -u root -p asks for the password", "ssh -i ~/.ssh/id_ed25519 deploy@{host}", "kubectl get secret {word} -n {word2}", "openssl rand -hex 32 makes a new key", "gh auth login --with-token < token.txt", 'curl -H "Authorization: Bearer $TOKEN" https://{host}/v1'),
}  # fmt: skip


class Secrets(Words):
    """Fills slots of values, too: `{A32}` = 32 letters and digits, and so on."""

    def __call__(self, text: str) -> str:
        """`text` with every slot filled; slots of values are new each time."""
        for name, letters in (
            ("U", UPPER),
            ("A", ALNUM),
            ("O", OPEN),
            ("B", BASE64),
            ("H", HEX),
            ("D", DIGITS),
            ("T", "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"),
        ):
            while True:
                start = text.find("{" + name)
                end = text.find("}", start)
                number = text[start + 2 : end]
                if start < 0 or not number.isdigit():
                    break
                text = text[:start] + _random(self.chance, letters, int(number)) + text[end + 1 :]
        while "{P}" in text:
            text = text.replace("{P}", password(self.chance), 1)
        for count in (12, 24):
            text = text.replace(
                f"{{S{count}}}", " ".join(self.chance.choice(_SEED_WORDS) for _ in range(count))
            )
        text = text.replace("{K}", "\n".join(_random(self.chance, BASE64, 64) for _ in range(4)))
        text = text.replace("{WORD}", made_word(self.chance).upper())
        digits = _random(self.chance, HEX, 32)
        text = text.replace(
            "{id}", f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:]}"
        )
        return super().__call__(text)


def _random(chance: random.Random, letters: str, count: int) -> str:
    """Random characters, with a digit and a letter among them where both are allowed."""
    characters = [chance.choice(letters) for _ in range(count)]
    if count >= 8 and letters not in (DIGITS, HEX):
        characters[count // 3] = chance.choice([letter for letter in letters if letter.isalpha()])
        characters[count // 2] = chance.choice([letter for letter in letters if letter.isdigit()])
    return "".join(characters)


def password(chance: random.Random) -> str:
    """As people make them: 9 characters or more, with a digit."""
    match chance.randrange(4):
        case 0:
            return _random(chance, ALNUM, chance.randint(12, 18))
        case 1:
            return f"{made_word(chance).capitalize()}-{made_word(chance).capitalize()}-{chance.randint(10, 99)}{chance.choice('!?$#')}"
        case 2:
            return (
                _random(chance, ALNUM, 6)
                + chance.choice("!#$%*")
                + _random(chance, ALNUM, 5)
                + str(chance.randint(0, 9))
            )
        case _:
            return f"{made_word(chance)}{chance.randint(1000, 9999)}{made_word(chance).capitalize()}{chance.choice('!_.')}{chance.randint(0, 9)}"
