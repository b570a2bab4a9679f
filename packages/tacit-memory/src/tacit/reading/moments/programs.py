"""Programs that a statement names in plain words (`git reset --hard is banned`), with the subcommands they are known by. Data and one lookup.

In: text. Out: where a command stands in it, and how sure that is: a program alone may be an adjective (`an npm package`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tacit.reading.commands import PROGRAMS
from tacit.text.lazy_regex import lazy_regex

_KNOWN_TEXT = """
alembic: upgrade downgrade revision current history stamp merge
ansible-galaxy: install
ansible-playbook ansible-vault ansible-lint
apt apt-get: install remove purge update upgrade autoremove
aws: s3 ec2 ecs eks lambda iam rds cloudformation dynamodb cp sync rm mv ls delete-object delete-stack deploy terminate-instances
az gcloud: deploy delete create login run app functions compute
bazel: build test run clean query
brew: install upgrade uninstall update cleanup tap
buf: lint generate breaking push format
bun: add install remove run test update publish
bundle: install update exec add
cargo: add audit bench build check clean clippy deny doc fix fmt install login nextest publish remove run test tree update yank
cdk: deploy destroy synth diff
choco conda dnf mamba pacman snap yum: install remove update upgrade create
composer: install require update remove audit dump-autoload
dart: format analyze fix test run pub
deno: task test fmt lint run install publish add
django-admin: migrate makemigrations startapp
docker podman: build buildx compose container cp create exec image images kill login network prune ps pull push rm rmi run save start stop system tag up down volume
docker-compose: up down build exec run restart rm stop
dotnet: add build clean ef format migrations new nuget pack package publish push restore run test tool database update
eas: build submit update
fastlane: beta release deliver match pilot test
firebase netlify railway vercel wrangler: deploy publish rollback
flutter: build clean pub run test analyze add get upgrade
fly flyctl: deploy launch scale secrets destroy ssh
flyway: migrate clean repair
gem: build install push yank update
gh: api auth issue pr release repo run workflow create merge close edit delete comment review ready
git: add am amend apply bisect blame branch checkout cherry-pick clean clone commit config diff fetch filter-branch filter-repo gc init log lfs merge mv notes pull push rebase reflog remote reset restore revert rm show stash status submodule subtree switch tag worktree drop pop list apply prune
glab: mr issue release create merge
go: build clean fmt generate get install mod run test tidy tool vet work
gradle gradlew: build clean test assemble check publish bootRun
hatch flit pdm poetry: add build install lock publish remove run update version
helm: dependency diff install lint list package push repo rollback template uninstall upgrade
heroku: run releases config
hg jj svn: commit push update
kubectl oc: annotate apply create delete describe diff drain edit exec get label logs patch port-forward replace rollout restart undo scale
lerna nx turbo: build publish run test version affected
make: lint test build release deploy clean fmt generate proto check docs install
maturin meson tsc vite webpack: build publish develop
minikube: start delete stop
mix: compile credo deps.get deps.update ecto.migrate ecto.gen.migration ecto.reset ecto.rollback format hex.publish phx.server test
mvn mvnw: clean compile deploy install package test verify release
npm pnpm: add audit ci exec fix i init install link outdated publish remove run test uninstall unpublish update up version dedupe
nuget: push install
php: artisan
pip pip3: download freeze install uninstall wheel
pipenv pipx: install run uninstall upgrade
pod: install update trunk push
pre-commit: run install autoupdate
prisma: db generate migrate push reset deploy dev format
pulumi: up destroy preview refresh
rails: console db generate g routes runner server
rustup: update default toolchain
sam serverless sls: deploy build remove
sqlx diesel knex sequelize typeorm: migrate migration run revert
supabase: db migration functions deploy push reset
swift: build package test run update
systemctl: restart start stop enable disable reload
terraform tofu terragrunt: apply destroy fmt force-unlock import init output plan refresh state taint validate workspace rm
twine: upload
uv: add lock pip publish remove run sync tool install
vagrant: up destroy halt
yarn: add install remove upgrade run dlx publish up test
xcodebuild: test build archive clean
"""
_ALONE_TEXT = """
ab bat black clang-format createdb curl dropdb eslint fd flake8 flyway ghci gofmt golangci-lint goreleaser grep gsutil http httpie isort jest jq killall
kubectl mocha mongodump mongorestore mongosh mypy mysql mysqldump nodemon npx perl phpunit pkill playwright prettier psql pg_dump pg_restore pylint pyright
pytest python python3 rclone redis-cli rg rspec rsync rubocop ruff sbt scp sed sftp shellcheck sqlite3 ssh stylelint sudo swiftlint tail tar tflint tox unzip
vitest wget xargs ktlint cypress find cat rm chmod chown dd crontab ripgrep awk
"""
_WORDS = frozenset(
    [
        "go",
        "make",
        "just",
        "task",
        "mix",
        "find",
        "cat",
        "fly",
        "swift",
        "dart",
        "flow",
        "http",
        "bat",
        "cap",
        "sam",
        "pod",
        "gem",
        "bundle",
        "act",
        "black",
        "tail",
        "deno",
        "stripe",
        "helm",
        "buf",
        "bun",
        "nx",
        "turbo",
        "rails",
        "pods",
        "eas",
        "hatch",
        "flit",
        "minikube",
        "railway",
    ]
)
"""English words too: they are commands only before a subcommand or an option, or where a program is to be called."""


def _read_known() -> dict[str, frozenset[str]]:
    subcommands_of: dict[str, frozenset[str]] = dict.fromkeys((*_ALONE_TEXT.split(), *PROGRAMS), frozenset())
    for line in _KNOWN_TEXT.strip().splitlines():
        names, _, subcommands = line.partition(":")
        for name in names.split():
            subcommands_of[name] = frozenset(subcommands.split())
    return subcommands_of


KNOWN: dict[str, frozenset[str]] = _read_known()
_NAMES = "|".join(sorted((re.escape(name) for name in KNOWN), key=len, reverse=True))
_COMMAND = lazy_regex(rf"(?<![\w/.@\ue001-])({_NAMES})(?![\w/-])(?=((?: (?!\ue000)[\w@:./=-]+){{0,6}}))")
_OPTION = lazy_regex(r"--?[A-Za-z][\w-]*(?:=[\w./:-]+)?$")
_TARGET = lazy_regex(r"[a-z]+(?:[:.][a-z-]+)+$")
_SCRIPTED = frozenset({"npm", "pnpm", "yarn", "bun", "mix", "rails", "php", "composer", "rake", "artisan"})
_FREE = frozenset({"run", "exec", "artisan", "fastlane"})
_NOT_A_TARGET = frozenset(
    [
        "the",
        "a",
        "an",
        "it",
        "my",
        "your",
        "our",
        "this",
        "that",
        "them",
        "sure",
        "any",
        "all",
        "in",
        "on",
        "is",
        "are",
        "on",
        "for",
        "to",
        "with",
        "before",
        "after",
        "and",
        "or",
        "only",
        "from",
        "at",
        "by",
        "needs",
        "need",
        "must",
        "gets",
        "goes",
        "takes",
    ]
)


def commands_in(text: str) -> Iterator[tuple[int, int, str, bool]]:
    """(start, end, words, certain) for each command that `text` names in plain words."""
    for match in _COMMAND.finditer(text):
        program, words = match[1], match[2].split()
        command_words = [program]
        subcommands = KNOWN[program]
        for number, word in enumerate(words):
            plain = word.rstrip(".,:")
            option = bool(_OPTION.match(plain))
            free = command_words[-1] in _FREE and plain not in _NOT_A_TARGET and number < 2
            target = program in _SCRIPTED and bool(_TARGET.match(plain))
            if not (option or free or target or (plain in subcommands and len(command_words) < 5)):
                break
            command_words.append(plain)
            if plain != word:
                break
        if (
            program in _WORDS
            and len(command_words) == 2
            and words[1:2]
            and words[1] in ("the", "a", "an", "it", "my", "your", "sure", "them")
        ):
            continue
        command = " ".join(command_words)
        yield match.start(), match.start() + len(command), command, len(command_words) > 1


def is_word(program: str) -> bool:
    """Whether the name of a program is an English word too."""
    return program in _WORDS
