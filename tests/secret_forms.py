"""Secrets in many forms and languages, with values made at random, and innocent sentences. Nothing here is a real secret.

A form is a text with `{v}` where the value goes and the sort of value that stands there. Values are made from a seed at run time,
so that none of them stands in a file.
"""

from __future__ import annotations

import base64
import random
import string
from dataclasses import dataclass
from urllib.parse import quote

SYLLABLES = "zor bek tal mir vun dap kel quo fen rax lub wim gos nid pex jor hul cav tib yom".split()
BIP = (
    "abandon ability able absent absorb abstract absurd abuse access accident acid acoustic acquire across action actor actress adapt"
    " adjust admit advance advice aerobic affair afford afraid agent agree ahead airport alarm album alert alien"
).split()


def word(rng: random.Random) -> str:
    """A made-up word, as people choose for passwords: only letters, in no dictionary."""
    return "".join(rng.choice(SYLLABLES) for _ in range(rng.randint(3, 4)))


def mixed(rng: random.Random) -> str:
    """Letters and digits."""
    return word(rng).title() + str(rng.randint(10, 9999)) + word(rng)[:3]


def signed(rng: random.Random) -> str:
    """Letters, digits and a sign."""
    return word(rng).title() + rng.choice("!#%*+~?") + str(rng.randint(10, 999)) + word(rng)[:4]


def opaque(rng: random.Random) -> str:
    return "".join(rng.choice(string.ascii_letters + string.digits) for _ in range(rng.randint(28, 44)))


def hexed(rng: random.Random) -> str:
    return "".join(rng.choice("0123456789abcdef") for _ in range(rng.choice((32, 40, 64))))


def seed_words(rng: random.Random) -> str:
    return " ".join(rng.sample(BIP, rng.choice((12, 24))))


def pem_body(rng: random.Random) -> str:
    alphabet = string.ascii_letters + string.digits + "+/"
    lines = ["".join(rng.choice(alphabet) for _ in range(64)) for _ in range(rng.randint(4, 9))]
    return "MIIEv" + lines[0][5:] + "\n" + "\n".join(lines[1:]) + "\n" + lines[-1][:30] + "=="


# (kind of value, form)
FORMS: tuple[tuple[str, str], ...] = tuple(
    (kind, form)
    for kind, forms in {
        "word": (
            "password = {v}", "password: {v}", "secret: {v}", "secret = {v}", "db password: {v}", "PASSWORD={v}", "password='{v}'", 'password = "{v}"', "DB_PASSWORD={v}",
            "spring.datasource.password={v}", "export PGPASSWORD={v}", "set PASSWORD={v}", "ENV ADMIN_PASSWORD {e}={v}".replace("{e}", ""), "pwd: {v}", "passphrase: {v}",
            "Uid=sa;Pwd={v};Database=x", "$password = '{v}';", "const password = '{v}';", "password => '{v}'", '"password": "{v}",', "'secret': '{v}'", 'password := "{v}"',
            "The staging password: {v}", "user: joe, password: {v}", "- password: {v}", "admin_password={v} # for now", "bearer {v}", '{{\\"password\\":\\"{v}\\"}}', "Passwort: {v}",
            "Kennwort: {v}", "Mot de passe : {v}", "Contraseña: {v}", "Senha: {v}", "Wachtwoord: {v}", "Hasło: {v}", "密码：{v}", "密码是{v}", "パスワードは{v}", "비밀번호는 {v}", "Пароль: {v}",
        ),
        "mixed": (
            "my password is {v}", "the password for staging is {v}", "the db password is now {v}", "password for joe: {v}", "log in as joe with {v} as the password",
            "use {v} as the password", "sign in with {v} as its passphrase", "{v} is the password", "{v} is our staging password", "the root password on the new box is {v}",
            "we set the password to {v}", "change the admin password to {v}", "password -> {v}", "password — {v}", "pw: {v}", "pw is {v}", "creds: joe/{v}", "joe / {v} is the login",
            "snowsql -a acme -u joe -p {v}", "mysql -u root -p{v} app", "sqlcmd -S h -U sa -P {v}", "mongosh -u joe -p {v} h", "ldapsearch -x -D cn=a -w {v}", "sshpass -p {v} ssh h",
            "redis-cli -a {v} ping", "curl -u joe:{v} https://h/x", "xfreerdp /u:joe /p:{v}", "keytool -list -storepass {v}", "echo {v} | sudo -S ls", "net use z: \\\\h\\s {v} /user:joe",
            "postgres://joe:{v}@db/x", "redis://:{v}@h:6379", "amqp://joe:{v}@mq/", "https://joe:{v}@git.h/x.git", "Das Passwort für die Datenbank ist {v}", "Das Kennwort lautet {v}",
            "Unser Passwort auf dem Server lautet: {v}", "Le mot de passe de la base est {v}", "mot de passe : {v}", "Le jeton pour le serveur est {v}", "La contraseña de la base es {v}", "la clave del servidor es {v}",
            "A senha do banco é {v}", "La password del server è {v}", "La chiave per il server è {v}", "Het wachtwoord van de server is {v}", "Hasło do bazy to {v}", "Lösenordet till servern är {v}",
            "şifre: {v}", "Heslo k serveru je {v}", "数据库的密码是{v}", "服务器密码为 {v}", "令牌是 {v}", "口令：{v}", "データベースのパスワードは{v}です", "パスワード：{v}", "トークンは {v} です", "서버 비밀번호는 {v} 입니다",
            "Пароль от базы данных: {v}", "пароль — {v}", "Мой пароль {v}", "токен для сервера это {v}", "пароль для сервера prod: {v}", "machine h login joe password {v}", "<password>{v}</password>",
            "<server><password>{v}</password></server>", "password:\n  {v}\n", "api_token: |\n  {v}\n", 'string password = @"{v}";', "password = b'{v}'", "password = f'{v}'", 'let password: &str = "{v}";',
            "password%3D{v}", "%22password%22%3A%22{v}%22", "name=PASSWORD value={v}", '{{"name": "DB_PASSWORD", "value": "{v}"}}', "- name: DB_PASSWORD\n  value: {v}", "IDENTIFIED BY '{v}'", "htpasswd -b f joe {v}",
            "the wifi password is '{v}'", "wpa psk={v}", "basic auth: joe:{v}", "password reset to {v}", "I set `{v}` as the token", "enter {v} for the pin",
        ),
        "signed": ("admin:{v}", "login is joe / {v}", "password={v}", "Passwort ist {v}", "my pass: {v}", "PGPASSWORD='{v}' psql", 'vault password is "{v}"', "Login: joe, Passwort: {v}"),
        "opaque": (
            "token={v}", "api_key: {v}", '"apiKey": "{v}"', "X-Api-Key: {v}", "Authorization: Bearer {v}", "authorization: token {v}", '{{"auths":{{"r.io":{{"auth":"{v}"}}}}}}', 'curl -b "sessionid={v}" https://h',
            "curl --cookie 'sid={v}' https://h", "Cookie: session={v}", "--api-key {v}", "--token={v}", "api_token: |\n  {v}", "client_secret:\n    {v}\n", "the signing key is {v}", "our token for the bot is {v}",
            "SECRET_KEY = '{v}'", 'secret_key_base: "{v}"', "config/app.secret is {v}", "https://h/x?access_token={v}", "access_token%3D{v}", "_authToken={v}", 'TOKEN = @"{v}"',
        ),
        "hexed": ("config/master.key is {v}", "master.key: {v}", "RAILS_MASTER_KEY={v}", "encryption key: {v}", "api secret = {v}", "private.key contains {v}", "hmac secret {v}", "the wallet's private key: {v}"),
        "seed": ("seed phrase: {v}", "seed phrase: {v} used", "my seed phrase is {v} do not share", "recovery phrase: {v} for the wallet", 'mnemonic = "{v}"', "wallet words: {v}"),
        "pem": ("{v}", "the key:\n{v}\nend", "key = '''\n{v}\n'''"),
    }.items()
    for form in forms
)  # fmt: skip
MAKERS = {
    "word": word, "mixed": mixed, "signed": signed, "opaque": opaque, "hexed": hexed, "seed": seed_words, "pem": pem_body,
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Planted:
    """A text with a secret in it."""

    form: str
    text: str
    pieces: tuple[str, ...]
    """None of these may survive."""


def pieces_of(value: str) -> tuple[str, ...]:
    """Every eight characters of a value in a row; a shorter one whole."""
    return tuple({value[at : at + 8] for at in range(max(1, len(value) - 7))})


def planted(seed: int) -> list[Planted]:
    """Every form with a value of its own, and some that hide it: split, escaped, encoded, with unseen characters."""
    rng = random.Random(seed)
    found: list[Planted] = []
    for kind, form in FORMS:
        value = MAKERS[kind](rng)
        lead, tail = rng.choice(
            (
                ("", ""),
                ("Note. ", ""),
                ("- ", ""),
                ("We talked about lunch.\n", "\nThat is all."),
                ("ok\n", ""),
            )
        )
        pieces = pieces_of(value.replace("\n", "")) if kind != "pem" else pieces_of(value.splitlines()[1])
        found.append(Planted(form=form, text=f"{lead}{form.format(v=value)}{tail}", pieces=pieces))
    a, b = mixed(rng), mixed(rng)
    hidden = {
        "split by a backslash": (f"password={a}\\\n  {b}", (a, b)),
        "split by plus": (f'password = "{a}" + "{b}"', (a, b)),
        "zero width": (f"pass\u200bword = {a}\u200b{b}", (a, b)),
        "zero width in a value": (f"password: {a}\u2060{b}", (a, b)),
        "percent": (f"password%3D{quote(a + '!' + b)}", (a, b)),
        "base64 of a setting": (base64.b64encode(f"password={a}{b}".encode()).decode(), (base64.b64encode(f"password={a}{b}".encode()).decode(),)),
        "escaped twice": (f'{{\\\\\\"password\\\\\\":\\\\\\"{a}{b}\\\\\\"}}', (a, b)),
        "ansible vault": ("$ANSIBLE_VAULT;1.1;AES256\n" + "\n".join(hexed(rng)[:32] for _ in range(4)), ("\n" + hexed(rng),)),
    }  # fmt: skip
    for name, (text, values) in hidden.items():
        found.append(
            Planted(
                form=name, text=text, pieces=tuple(piece for value in values for piece in pieces_of(value))
            )
        )
    return found


SUBJECTS = (
    "password",
    "token",
    "secret",
    "API key",
    "passphrase",
    "credential",
    "private key",
    "session cookie",
    "seed phrase",
    "PIN",
)
SENTENCES = (
    "The {s} field is required.", "Rotate the {s} every 90 days.", "Never log the {s}.", "Store the {s} in the vault, not in the repository.", "The {s} is read from the environment.",
    "Ask the user for the {s} again when it expired.", "If the {s} is missing, the server answers 401.", "We hash the {s} with bcrypt before saving it.", "A wrong {s} must not reveal whether the user exists.",
    "Tests use a fake {s} from the fixtures.", "The {s} must be at least 12 characters long.", "Where is the {s} for staging kept?", "Add a tooltip beside the {s} input.", "The {s}: required, at most 64 characters.",
    "Document how to reset the {s}.", "The form has a username and a {s}.",
)  # fmt: skip
PLAIN = (
    "Use a token bucket for rate limiting.", "We draw names for secret santa in December.", "The tokenizer splits words into tokens.", "max_tokens: 4096", "max_tokens = 2048", "tokens: int", "password: string",
    "password: str", "password: Optional[str] = None", "secret: bool", "token = match.group(1)", "token = tokens[index]", "token = next_token()", "password = getpass.getpass()", "password = os.environ['DB_PASSWORD']",
    "password: ${DB_PASSWORD}", "password: {{ vault_password }}", "password = config.get('password')", "const token = await getToken();", "const secret = process.env.SECRET;", 'password := os.Getenv("PASSWORD")',
    "if (!token) return null;", "type: password", 'type="password"', '<input type="password" name="password">', 'placeholder="Password"', "Password: required", "Secret: optional", "Token: invalid or expired",
    "password: changeme", "password: <your password>", "api_key: YOUR_API_KEY", "API_KEY=xxxxxxxx", 'secret: ""', "password: null", "password: true", "token: the JWT of the session", "Bearer tokens expire after an hour.",
    "Send the header `Authorization: Bearer <token>`.", "Use bearer authentication.", "bearer token required", "The access token and the refresh token are separate.", "Key: value pairs are sorted.", "key: name",
    "The primary key is an integer.", "Foreign keys are checked.", "Press any key to go on.", "The keyboard shortcut is Ctrl+K.", "Public key: see docs/keys.md", "ssh-keygen makes a key pair.", "The secret of good tests is isolation.",
    "Patience is the secret: wait for the event.", "It is no secret that builds are slow.", "kubectl get secrets -n prod", "kubectl create secret generic app --from-env-file=.env", "Kubernetes secret `db-credentials` holds it.",
    "secretKeyRef: name: db", "existingSecret: app-secrets", "secretName: tls-cert", "passwordSecretRef", "import secrets", "secrets.token_hex(16)", "from passlib.hash import bcrypt", "def check_password(user, password):",
    "class TokenBucket:", "class PasswordField(CharField):", "self.password = password", "user.password = hash(password)", "this.token = token;", "return token", "token=token", "password=password", "secret=secret",
    "assert token == expected", "print(token)", "PasswordHasher().verify(hash, password)", "Commit 9f3c1a7e5b2d4860c1e2f3a4b5d6978a0c1d2e3f fixed it.", "sha256:9f3c1a7e5b2d4860c1e2f3a4b5d6978a9f3c1a7e5b2d4860c1e2f3a4b5d6978a",
    "id: 3f2504e0-4f89-11d3-9a0c-0305e82c3301", "The build number is 20261122.", "Run `pytest -q -p no:cacheprovider`.", "docker run -p 8080:80 nginx", "mkdir -p build/out", "git log -p src/", "ssh -p 2222 host", "psql -p 5433 app",
    "curl -b cookies.txt https://h/x", "curl -s https://h/health", "Das Passwort ist Pflicht.", "Das Passwort ist zu kurz.", "Bitte das Passwort nicht loggen.", "Le mot de passe est obligatoire.", "Le mot de passe est trop court.",
    "La contraseña es obligatoria.", "A senha é obrigatória.", "密码是必填项。", "密码不能为空", "パスワードは必須です。", "パスワードは8文字以上です", "비밀번호는 필수입니다.", "Пароль обязателен.", "Пароль должен быть не короче 8 символов.",
    "Schlüssel: siehe docs/keys.md", "La clave es probar antes de publicar.", "La clé est la simplicité.", "Der Schlüssel ist Geduld.", "Clave primaria: id", "The recovery plan has twelve steps in a wiki page for the team.",
    "Seed the database before the tests run.", "The seed is 42.", "random seed = 1234", "recovery time is below one minute", "Wallet connect is a protocol.", "backup words of wisdom are in the handbook",
    "pass the flag --verbose", "The tests pass: 120 of 120", "first pass: tokenize, second pass: parse", "Two-pass compiler", "pwd prints the working folder", "$(pwd)/build", 'cd "$PWD"', "The PIN input has four boxes.",
    "as the password field is empty, show an error", "Use argon2 as the password hash.", "use bcrypt as the password hasher", "use AES-256 for the key", "Use the vault as the secret store.", "X-Api-Key header is required",
    "auth: none", '"auth": "required"', "auth: basic", '"token": "string"', '"password": "string"', '"secret": "The client secret"', "password_policy: strict", "password_reset_url: /reset", "password-length: 12",
    "token_type: bearer", "token_url: https://h/oauth/token", "secret_name: app/prod/db", "secret_arn: arn:aws:secretsmanager:eu-west-1:1:secret:x", "--password-file /run/secrets/db", "--token-file=token.txt", "PASSWORD_FILE=/run/secrets/pw",
    "See `password.py` and `tokens.ts`.", "feat(auth): add password reset", "fix: token refresh race", "chore: bump jsonwebtoken to 9.0.2", "Closes #1234: secret scanning", "passwordless login is on", "secret-scanning is enabled",
    "The CSRF token is rotated at login.", "sessionid cookies are HttpOnly.", "Set-Cookie needs SameSite=Lax", "a < b and c > d", "List<String> names", "map[string]int", "SELECT token FROM sessions WHERE id = ?",
)  # fmt: skip


def innocents(seed: int) -> list[str]:
    """Three hundred sentences and lines without a secret."""
    rng = random.Random(seed)
    made = [sentence.format(s=subject) for subject in SUBJECTS for sentence in SENTENCES]
    rng.shuffle(made)
    return [*PLAIN, *made][:300]
