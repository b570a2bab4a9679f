"""A moment, what a call or a prompt must be for it, and the acts that people name by a word (`before every commit`) with their commands."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from tacit.text.lazy_regex import lazy_regex

Command = tuple[str, ...]
"""A simple command as words, without wrappers, program first: `("git", "push", "origin", "main")`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallConditions:
    """The conditions that a tool call must meet to be the moment of a rule.

    Of commands, acts, options, paths, hosts and tools the first given counts; the rest narrows it.

    Attributes:
        commands: beginnings of commands; an option may stand anywhere in the call.
        acts: names of `ACTS`.
        options: options of any command (`--no-verify`).
        paths: patterns (`path_pattern`) of the changed files; with commands, acts or tools they only narrow.
        removes: only removing these files counts, not editing them.
        reads: looking at these files counts too.
        creates: only making such a file counts, not editing one that is there.
        hosts: names of servers that are contacted; with commands or acts they only narrow.
        tools: tools of the host (`websearch`).
        words: branches, environments or other places; a call that names any must name one of these.
        topics: words; the task of a subagent, or the text written into a file, must contain one.
        runners: patterns; the command of a test run must begin with or contain one.
        satisfied: options with which a call already follows the rule, so that it does not count.
    """

    commands: tuple[Command, ...] = ()
    acts: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    removes: bool = False
    reads: bool = False
    creates: bool = False
    hosts: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    runners: tuple[str, ...] = ()
    satisfied: tuple[str, ...] = ()

    @property
    def empty(self) -> bool:
        """Whether the target names no call at all."""
        return not (self.commands or self.acts or self.options or self.paths or self.hosts or self.tools)


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """When a rule applies, as its own words say.

    Attributes:
        target: the call at which the rule applies.
        forbids: the rule speaks against the call, so it must be shown before it.
        way: the rule says how the call is made; that is an order only if the statement is a rule.
        subject: the rule is about the files, so it is already shown when they are read.
        instead: the rule only names a better way, so it need not be shown before the call.
    """

    target: CallConditions
    forbids: bool = False
    way: bool = False
    subject: bool = False
    instead: bool = False


_RUNNERS = (
    r"(?:make|just|task|rake|invoke|poe|fab|cap|ansible-playbook|rails|mix|composer|nx|turbo|gradle|gradlew|mvn"
    r"|(?:npm|pnpm|yarn|bun)(?: run)?|hatch run|deno task)"
)
_SHELLS = r"(?:(?:bash|sh|zsh|node|python[\d.]*|ruby|deno|perl) )?"


def _script(name: str) -> str:
    """Return the pattern of a script or task whose name contains `name`."""
    return rf"{_SHELLS}(?:\S*/)?[\w.-]*{name}[\w.-]*(?: |$)|{_RUNNERS} (?:\S+ )*?\S*{name}"


_DATABASE = r"psql|mysql|mariadb|sqlite3|mongosh?|redis-cli|sqlcmd|clickhouse(?:-client)?"
RUNNERS: dict[str, str] = {
    "go": r"go test|gotestsum", "rust": r"cargo (?:test|nextest)", "python": r"pytest|tox|nox|unittest|python manage\.py test", "ruby": r"rspec|rails test|rake",
    "php": r"phpunit|pest|php artisan test", "javascript": r"jest|vitest|mocha|ava|(?:npm|pnpm|yarn|bun)", "typescript": r"jest|vitest|mocha|(?:npm|pnpm|yarn|bun)",
    "elixir": "mix test", "swift": r"swift test|xcodebuild", "kotlin": r"gradlew?|\./gradlew", "java": r"mvn|gradlew?|\./gradlew", "flutter": "flutter test", "dart": r"(?:dart|flutter) test",
    "dotnet": "dotnet test", "c#": "dotnet test",
}  # fmt: skip
"""Test programs by programming language, as patterns."""
_TESTS = (
    r"pytest|unittest|tox|nox|jest|vitest|mocha|ava|playwright test|cypress run|rspec|phpunit|ctest|go test|gotestsum|cargo (?:test|nextest)"
    rf"|(?:dotnet|mvn|swift|dart|flutter|zig|deno|bun|rails|bazel|sbt|buck2?) test|(?:bin/)?rails test|php artisan test|pest|xcodebuild (?:\S+ )*test|mvn (?:\S+ )*verify|(?:\./)?gradlew? (?:\S+ )*\S*(?:[tT]est|check)\S*|mix test|cypress (?:run|open)|behave|python manage\.py test|{_RUNNERS} (?:\S+ )*?[\w:-]*(?:test|spec|e2e)s?\b"
)
_INSTALLS = (
    r"(?:npm|pnpm|yarn|bun) (?:install|i|add|ci)|pip3? install|uv (?:add|pip install)|(?:poetry|pdm|pipenv|cargo|bundle|dotnet) (?:add|install)"
    r"|go (?:get|install)|(?:gem|brew|apt|apt-get|apk|dnf|yum|conda|mamba|choco|snap|pipx) install|apk add|pacman -S|composer require"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """An act that people name by a word (`commit`), with the commands and tools that do it.

    Attributes:
        name: its key.
        said: pattern of the words that people use for it.
        asked: pattern of the words that order it in a prompt; "" = the same words.
        command: pattern of the commands that do it.
        tool: pattern of the tools of MCP servers that do it; "" = none.
        leads: pattern of the commands that mostly come right before it.
    """

    name: str
    said: str
    command: str
    asked: str = ""
    tool: str = ""
    leads: str = ""


_THE = r"(?:an? |the |any |every |each |your |my |our |all |new |these |those |another |this )*"
_DEPENDENCY = r"(?:[\w-]+ )?(?:dependenc(?:y|ies)|packages?|librar(?:y|ies)|libs?|gems?|crates?|(?:go|npm|python|node|elixir) modules?|plugins?)"

ACTS: tuple[Act, ...] = (
    Act(name="force_push", said=r"force[- ]?push\w*|push\w* (?:with )?(?:-f\b|--force\S*)|(?:rewrit\w+|overwrit\w+) (?:\w+ ){0,3}(?:history|remote)", command=r"git push\b.*(?: -f\b| --force| \+\S)",
        asked=r"force|(?:get|bring) (?:the )?(?:remote|server|origin)", leads=r"git (?:rebase|commit\b.*--amend|reset --(?:hard|keep))"),
    Act(name="amend", said=r"amend\w*", asked=r"amend|fix (?:up )?the last commit", command=r"git commit\b.* --amend", leads=r"git (?:commit|log -1|show)"),
    Act(name="cherry_pick", said=r"cherry[- ]?pick\w*", command=r"git cherry-pick"),
    Act(name="rebase", said=r"rebas(?:e|es|ed|ing)", command=r"git (?:rebase|pull\b.* --rebase)", leads=r"git fetch"),
    Act(name="reset", said=r"reset(?:s|ting)? --hard|hard[- ]reset\w*|(?:discard|throw(?:ing)? away|wip)\w* (?:\w+ ){0,2}(?:changes|work)", command=r"git (?:reset\b.* --hard|checkout (?:-- )?\.|restore (?!--staged)|clean -)",
        asked=r"(?:start|begin) (?:over|again|from scratch)|throw (?:it|this|that|everything|all)|(?:discard|drop|undo) (?:it|this|everything|all|my|the)|go back to|reset"),
    Act(name="stash", said=r"stash\w*", asked=r"stash|(?:put|set|lay) \S+(?: \S+){0,4} aside|shelve|park", command=r"git stash(?! (?:list|show|pop|apply))"),
    Act(name="merge", said=r"merg(?:e|es|ed|ing)(?! (?:requests?|conflicts?|commits?|queue|base|driver|order|sort)\b)(?=\s*$|\s*[,.;:?]| (?:it|this|that|them|anything|(?:an?|the|any|your|every|each|my|feature|own|pull) (?:[\w/-]+ )?(?:branch|branches|PRs?|MRs?|work|changes?|code|commits?|requests?)|branches|branch|PRs?|pull requests?)\b| (?:in)?to\b| back| \ue000)", asked=r"merge (?:it|this|that|the|your|my|into|to|back|PR|#?\d)|get (?:it|this) in\b|bring (?:it|this) (?:over|in)", command=r"git merge(?! --abort)|gh pr merge|glab mr merge", leads=r"git (?:checkout|switch)"),
    Act(name="review", said=r"review\w* (?:an? |the |any |my )*(?:[\w-]+ )?(?:pull[- ]requests?|PRs?|MRs?)", asked=r"review", command=r"gh pr (?:review|diff)|glab mr (?:approve|diff)"),
    Act(name="pull_request", said=r"(?:pull|merge)[- ]requests?|PRs?|MRs?", asked=r"(?:open|create|make|file) (?:an? |the )?(?:draft )?(?:PR|MR|pull request|merge request)|hand (?:it|this) in|put (?:it|this) up", command=r"gh pr (?:create|new)|glab mr (?:create|new)|hub pull-request",
        tool=r"create_(?:pull|merge)_request", leads=r"git push"),
    Act(name="branch", said=r"(?:creat|start|open|mak|cut)\w* (?:an? |the |any |new |your |feature |topic |release )*branch(?:es)?|new (?:[\w-]+ )?branch(?:es)?|branch names?|nam\w* (?:an? |the |your |new )*branch(?:es)?|^(?:feature |topic |git |all |new )*branch(?:es)?(?=\s*$| (?:are|is|have|get|must|should|need|start|carry|follow)\b)|branching off", asked=r"(?:create|start|cut|open) (?:an? |the )?(?:new )?branch|branch off", command=r"git (?:checkout (?:\S+ )*-[bB]|switch (?:\S+ )*(?:-[cC]|--create)|branch (?!-)\S|worktree add)|gh issue develop"),
    Act(name="tag", said=r"tag(?:s|ged|ging)? (?:an? |the |every |any |new )*(?:releases?|versions?|commits?)|tag names?|(?:git|new|release|version|signed) tags?|(?:creat|push)\w* (?:an? |the )?tags?|tagging(?=\s*$|[,?])|^(?:all |git )*tags?(?=\s*$)", asked=r"tag|mark (?:this|it)\b.* as", command=r"git tag (?:-[asfm]+ )*(?!-|v?\d+\S* --)\S+"),
    Act(name="commit", said=r"(?:check(?:s|ed|ing)? (?:it |them )?in(?=\s*$|[,.?])|commit(?:s|ted|ting)?(?! (?:hash|hashes|sha|ids?|history|log|graph|to (?:an?|the) (?:approach|plan))))", asked=r"commit|save (?:it|this|that)", command=r"(?:git|jj|hg) commit", leads=r"git add"),
    Act(name="push", said=r"push(?:es|ed|ing)?(?! (?:notifications?|buttons?|items?|events?|messages?|back|the limit|data|state|values?|(?:an? |the )?(?:docker |container )?images?))", asked=r"push|ship it|(?:send|get) (?:it|this|that|them)(?: up)\b|get \S+(?: \S+){0,4} up there|publish (?:the|my|this) branch", command=r"git push", leads=r"git (?:commit|merge|rebase|cherry-pick)"),
    Act(name="push_image", said=r"push\w* (?:an? |the |any )?(?:[\w-]+ )?images?", command=r"(?:docker|podman) (?:push|buildx build .*--push)|skopeo copy", leads=r"(?:docker|podman) (?:build|tag)"),
    Act(name="image", said=rf"build\w* {_THE}(?:[\w-]+ )?(?:images?|containers?)|(?:(?:docker|container|production|release|base) )?images? (?=(?:are|is|must|should|get|gets|need|needs|have|has)\b)|(?:docker |container |^)images?(?=\s*$)", asked=r"(?:re)?build (?:an? |the )?(?:[\w-]+ )?(?:image|container)", command=r"(?:docker|podman|nerdctl) (?:buildx )?build\b|docker compose build|buildah|kaniko|pack build|ko build"),
    Act(name="release", said=r"(?:releas(?:e|es|ed|ing)(?! (?:branch|branches|notes?|tags?|candidates?))|publish\w*)", command=rf"gh release create|(?:npm|pnpm|yarn|cargo|poetry|uv|hatch|flit|pdm|bun|lerna|vsce|ovsx|dart pub|flutter pub|mix hex\.) ?publish|yarn npm publish|gem push|twine upload|goreleaser|semantic-release|changeset publish|pod trunk push|dotnet nuget push|nuget push|eas submit|(?:bundle exec )?fastlane (?!lanes)\S+|mvn (?:\S+ )*(?:deploy|release:\S+)|(?:\./)?gradlew? (?:\S+ )*\S*publish\S*|helm push|{_script('release')}|{_script('publish')}",
        asked=r"(?:make|cut|do) (?:a|the) (?:new )?release|release|publish|ship \S*\d|ship (?:\S+ ){1,3}to (?:pypi|npm|rubygems|crates)|get (?:the )?(?:testers|customers)", tool=r"create_release", leads=r"(?:gem|npm|cargo|poetry|uv|python) (?:build|pack|package)"),
    Act(name="infrastructure", said=r"(?:apply|provision|chang)\w* (?:the |any )?(?:infrastructure|terraform|infra)(?=\s*$|[,.?]| changes?\b)", asked=r"(?:apply|provision) ", command=r"(?:terraform|tofu|terragrunt|pulumi|cdk)\b.* ?(?:apply|up|destroy|deploy|import)\b", leads=r"(?:terraform|tofu|terragrunt)\b.* ?plan|pulumi preview|cdk diff"),
    Act(name="deploy", said=r"deploy(?:s|ed|ing|ments?)?(?! (?:keys?|targets?|target version))|roll(?:s|ed|ing)? out|rollouts?|go(?:es|ing)? live", asked=r"deploy|roll (?:\S+ ){0,4}out|(?:get|bring|put) (?:\S+ ){1,3}(?:live|on(?:to)? (?:staging|prod\w*))|go live|ship (?:\S+ ){0,3}to (?:prod\w*|staging)", command=rf"{_script('deploy')}|(?:kubectl|oc) (?:apply|rollout (?!status|history)|set image)|helm (?:upgrade|install)|(?:vercel|netlify|fly|flyctl|heroku|railway|firebase|wrangler|sam|serverless|sls|cdk|kamal|gcloud|eb|cap|az|dokku|nomad)\b.* ?(?:deploy|--prod|publish|releases:rollback)\b|git push (?:heroku|dokku|production)|ansible-playbook|argocd app sync|docker stack deploy|pulumi up",
        leads=r"kubectl (?:diff|get)|helm (?:diff|list|lint)"),
    Act(name="issue", said=r"(?:github|gitlab|jira|linear) (?:issues?|tickets?)|(?:open|fil|creat|submit|writ)\w* (?:an? |the |new |github |gitlab )*(?:issues?|tickets?|bug reports?)", asked=r"(?:open|file|create|write) (?:an?|the) (?:\w+ )?(?:issue|ticket)", command=r"(?:gh|glab) issue (?:create|new)", tool=r"create_issue"),
    Act(name="drop_table", said=r"drop(?:s|ped|ping)? (?:(?!and\b)\w+ ){0,2}(?:tables?|databases?|columns?|schemas?|db)", asked=r"(?:drop|get rid of)", command=r"(?:sql:.*\bdrop (?:table|database|schema|column).*|sql:.*alter table.* drop .*|dropdb\b|.*\bdb:(?:drop|reset)\b.*)", leads=_DATABASE),
    Act(name="delete_rows", said=r"delet\w+ (?:\w+ ){0,2}(?:rows?|records?)", command=r"sql:.*\bdelete from\b.*", leads=_DATABASE),
    Act(name="truncate", said=r"truncat\w+ (?:the |any |an? )?(?:\w+ )?tables?", command=r"sql:.*\btruncate\b.*", leads=_DATABASE),
    Act(name="restore", said=r"restor(?:e|es|ed|ing)(?: \w+){0,2} (?:dumps?|backups?|databases?|snapshots?)", command=rf"pg_restore|mongorestore|{_script('restore')}"),
    Act(name="backup", said=r"(?:(?:mak(?:e|ing)|tak(?:e|ing)) (?:an? )?(?:backups?|dumps?)|dump(?:s|ing)? the (?:database|db))", command=rf"pg_dump|mysqldump|mongodump|{_script('backup')}"),
    Act(name="seed", said=r"(?:run|load)\w* (?:the )?(?:\w+ )?seeds?|seed(?:s|ed|ing)? (?:the )?(?:\w+ )?(?:database|db|data)", asked=r"seed", command=_script("seed")),
    Act(name="new_migration", said=r"(?:creat|writ|add|mak|generat|scaffold)\w* (?:an? |the |new )*(?:[\w-]+ )?migrations?|new (?:[\w-]+ )?migrations?", command=r"python manage\.py makemigrations|django-admin makemigrations|alembic revision|(?:prisma|knex|sequelize|typeorm|diesel|goose|dbmate|sqlx)\b.*(?:migrat\w*|new|create)|(?:bin/)?rails (?:g|generate) migration|dotnet ef migrations add|mix ecto\.gen\.migration|php artisan make:migration|supabase migration new|flask db (?:migrate|revision)"),
    Act(name="migrate", said=r"migrat\w+ (?:the |a )?(?:\w+ )?(?:database|db|schema)|(?:run|apply|execut)\w* (?:the |a |any )?(?:[\w-]+ )?migrations?|migrating(?=\s*$)|^migrations?(?= (?:are|is) (?:only |always |never |first )*(?:run|applied))", asked=r"(?:run|apply) (?:the )?migrations?|migrate|bring (?:\S+ ){0,3}(?:schema|database|db)", command=rf"python manage\.py migrate|alembic (?:upgrade|downgrade)|(?:prisma|knex|diesel|goose|dbmate|flyway|sqlx|sequelize|typeorm|atlas|liquibase)\b.* ?(?:migrate|deploy|up|update|run|migration:run)|(?:bin/)?(?:rails|rake) db:migrate|dotnet ef database update|mix ecto\.migrate|php artisan migrate(?!:)|supabase db push|flask db upgrade|{_RUNNERS} (?:\S+ )*?\S*migrate(?!:)", leads=r"(?:python manage\.py (?:showmigrations|makemigrations)|alembic (?:current|history|revision)|php artisan migrate:status|(?:bin/)?rails (?:db:migrate:status|g migration)|dotnet ef migrations|flyway info)"),
    Act(name="database", said=r"(?:production|prod|live|staging|customer) (?:database|db|data|replica|tables?)|(?:connect|log in|query|talk)\w* (?:\w+ ){0,3}(?:database|db)|(?:psql|mysql|database|db) sessions?|sessions? against", asked=r"(?:how many|which|what|count|look up|check|show) .{0,60}\b(?:customers?|users?|orders?|rows?|records?|accounts?|database|db|prod|production|live)\b|query", command=rf"(?:{_DATABASE})"),
    Act(name="web_search", said=r"web ?search(?:es|ing)?|search(?:es|ing)? (?:the )?(?:web|internet|online)|google|googling|look\w* (?:\w+ ){0,2}up online", command=r"(?!)", tool=r"websearch|web_search"),
    Act(name="download", said=r"(?:download|fetch)\w* (?:anything |things |files |data |pages |scripts )?(?:from|off)\b|pip\w* .* (?:in)?to (?:a )?(?:shell|bash)", asked=r"(?:summari[sz]e|read|fetch|download|look at|check out) .*|.*\b(?:link|article|write-up|blog post|url)\b", command=r"curl|wget|http |xh ", tool=r"webfetch|web_fetch"),
    Act(name="test", said=r"(?:run|start|execut|launch|call|invok)\w* (?:the |all |any |your |our )*(?:[\w-]+ ){0,2}?(?:tests?|specs?)|(?:the )?(?:[\w-]+ )?(?:test suite|suite)(?! (?:name|file))|(?:[A-Z][\w-]+|e2e|integration|end-to-end|smoke|browser|unit|ui) (?:tests?|specs?)(?= (?:runs?|(?:is|are|has|have|needs?|must|should|gets?|only|always) (?:\w+ )?(?:run|started|executed|called|launched|be|to|with|in|under|through)))|testing(?=\s*$)", asked=r"run (?:the |all )?(?:[\w-]+ )?tests?|(?:check|see) (?:that|whether|if) (?:\S+ )+(?:works?|passe?s?)|does (?:it|everything) (?:still )?(?:pass|work)", command=_TESTS),
    Act(name="update_dependency", said=rf"(?:upgrad|updat|bump)\w* {_THE}{_DEPENDENCY}|(?:dependency|package|version) (?:updates?|upgrades?|bumps?)", asked=r"(?:upgrade|update|bump|freshen) ", command=r"(?:npm|pnpm|yarn|bun|bundle|composer|cargo|poetry|pdm|conda|mamba|mix deps\.|flutter pub|dart pub|swift package|pod|brew|gem|helm dependency) ?(?:update|upgrade|up)\b|mix deps\.update|ncu\b|npx npm-check-updates|pip install (?:\S+ )*(?:-U|--upgrade)|go get (?:\S+ )*-u|uv (?:lock|sync) (?:\S+ )*(?:-U|--upgrade\S*)|dotnet outdated|(?:npm|pnpm|yarn|pip|cargo|poetry|composer|bundle|go) (?:install|add|require|get|i) \S+[@=:]"),
    Act(name="install", said=rf"install(?:s|ed|ing)?(?! (?:scripts?|guides?|instructions?|steps?|path|folder|dir\w*))|(?:add|introduc|bring|pull)\w* (?:in )?{_THE}{_DEPENDENCY}|new {_DEPENDENCY}|{_DEPENDENCY} (?:is|are|get|gets) (?:\w+ )?(?:added|installed)", asked=r"install|(?:add|bring in|pull in|use) (?:an? |the |some )?.{0,40}\b(?:dependency|lib|library|package|gem|crate|module|helper lib)\b|(?:swap|replace) \S+ (?:for|with|by) \S+|switch (?:\S+ )?to|let's use", command=rf"{_INSTALLS}|dotnet add (?:\S+ )*package|(?:flutter|dart) pub add|mix deps\.get|npx expo install|pod install|nuget install|cpanm|luarocks install|opam install|stack install|cabal install", leads=r"(?:npm|pnpm|yarn|pip|poetry|cargo|composer) (?:view|info|search|show|list|outdated|freeze)"),
    Act(name="upload", said=r"upload\w*(?= (?:the |any |an? )?(?:[\w-]+ )?(?:artifacts?|packages?|builds?|bundles?|files?|assets?|binar(?:y|ies)|wheels?|releases?|to|anything|it)\b|\s*$| \ue000)", asked=r"upload|put .* (?:where|on (?:s3|the cdn|the server))", command=rf"aws s3 (?:cp|sync|mv)|gsutil (?:-m )?(?:cp|rsync)|gcloud storage (?:cp|rsync)|az storage blob upload|scp|rsync|rclone|twine upload|sentry-cli .*upload|{_script('upload')}"),
    Act(name="delete_resource", said=r"delet\w+ (?:an? |any |the )?(?:pods?|deployments?|namespaces?|buckets?|volumes?|instances?|clusters?)", asked=r"(?:kick|kill|delete|remove|restart) ", command=r"(?:kubectl|oc) delete|aws .*(?:delete|terminate|rb)|gcloud .* delete|az .* delete|docker (?:volume|system|image|container) (?:rm|prune)"),
    Act(name="clean_up", said=r"(?:clean|prun)\w* (?:up )?(?:docker|images|volumes|the (?:disk|cache))", asked=r"free (?:up )?(?:some )?(?:space|disk)|(?:clean|tidy|sweep|clear)\b", command=r"docker (?:system|image|volume|builder|container) prune|git clean|(?:npm|yarn|pip|brew|go) (?:cache )?clean\w*|rm -r"),
    Act(name="remote_shell", said=r"(?:log|shell|ssh)\w* (?:in )?(?:on)?(?:in)?to (?:the |any |a )?(?:[\w-]+ )?(?:servers?|hosts?|machines?|box(?:es)?|boxes|vms?|pods?|containers?)", command=r"ssh|mosh|kubectl exec|docker exec|fly ssh|heroku run|gcloud compute ssh"),
    Act(name="kill", said=r"kill\w* (?:an? |any |the )?(?:[\w-]+ )?process\w*", asked=r"kill|stop the", command=r"kill|killall|pkill"),
    Act(name="server", said=r"(?:start|run|launch)\w* (?:up )?(?:the |a |your )?(?:dev(?:elopment)? |local |web )?servers?", asked=r"start (?:up )?(?:the )?(?:\w+ )?(?:server|app)", command=rf"(?:npm|pnpm|yarn|bun) (?:run )?(?:dev|start|serve)|(?:bin/)?rails s(?:erver)?|python manage\.py runserver|flask run|uvicorn|gunicorn|hugo server|mix phx\.server|php artisan serve|bin/dev|vite(?: dev)?$|next dev|{_RUNNERS} (?:serve|dev|start|bootRun)"),
    Act(name="format", said=r"(?:format|reformat)\w* (?:the |any |all |your )?(?:code|files?|sources?)", asked=r"format", command=rf"prettier|black|ruff format|gofmt|goimports|cargo fmt|rustfmt|mix format|dotnet format|dart format|terraform fmt|{_RUNNERS} (?:\S+ )*?(?:format|fmt)"),
    Act(name="build", said=r"(?:build|compil|packag)(?:s|ing|e|es|ed|ile|iles|iling)? (?:an? |the |any |our )+(?:[\w-]+ )?(?:app|application|project|bundle|frontend|backend|service|site|apk|binar(?:y|ies)|release build|firmware|wheel)|(?:release|production|debug|ios|android|firmware) builds?(?=\s*$| (?:are|is|get|gets|need|needs|must|should|run|runs|use|uses|go|goes)\b)", asked=r"(?:re)?build|compile|does (?:\S+ )+compile", command=r"(?:npm|pnpm|yarn|bun) (?:run )?build|(?:make|just|task|rake)(?: build| all)?$|cargo build|go build|(?:\./)?gradlew? (?:\S+ )*\S*(?:build|assemble)\S*|mvn (?:\S+ )*(?:package|install|compile)|dotnet (?:build|publish)|xcodebuild|swift build|flutter build|cmake --build|ninja|hugo$|mix (?:compile|release)|sbt compile|bazel build|next build|vite build|pio run|idf\.py build"),
    Act(name="agent", said=r"(?:start|spawn|launch|us|hand|giv|fire|send)\w* (?:[\w-]+ ){0,5}?sub-?agents?|sub-?agents?|delegat\w+|(?:the )?Task tool", asked=r"(?:review|investigate|explore|research|audit|find out)\b|have a (?:\w+ )?look", command=r"(?!)", tool=r"task|agent"),
)  # fmt: skip
"""All acts; of two that match at one place the first counts: `force-push` before `push`."""

_SAID = tuple(
    (lazy_regex(rf"(?<![\w/.\ue001-])(?:{act.said})(?![\w/])", re.IGNORECASE), act.name) for act in ACTS
)
_ASKED = tuple(
    (lazy_regex(rf"(?:{act.asked or act.said})(?![\w/-])", re.IGNORECASE), act.name) for act in ACTS
)
_DONE = tuple((lazy_regex(rf"(?:{act.command})(?:\b|(?<=\W)|$)", re.IGNORECASE), act.name) for act in ACTS)
_TOOLS = tuple((lazy_regex(rf"(?:^|_)(?:{act.tool})$", re.IGNORECASE), act.name) for act in ACTS if act.tool)
_LEADS = tuple((lazy_regex(rf"(?:{act.leads})\b", re.IGNORECASE), act.name) for act in ACTS if act.leads)
_CASED = frozenset({"PR", "PRs", "MR", "MRs"})


def acts_said(text: str) -> tuple[tuple[int, int, str], ...]:
    """Return (start, end, act) for each act that `text` names, by position, without overlaps."""
    acts: list[tuple[int, int, str]] = []
    for pattern, name in _SAID:
        for match in pattern.finditer(text):
            start, end = match.span()
            if match[0].upper() in ("PR", "PRS", "MR", "MRS") and match[0] not in _CASED:
                continue
            if not any(start < other_end and other_start < end for other_start, other_end, _ in acts):
                acts.append((start, end, name))
    return tuple(sorted(acts))


def act_ordered(text: str) -> str:
    """Return the act (a name in `ACTS`, such as `commit`) that a part of a prompt orders with its first words; "" = none."""
    return next((name for pattern, name in _ASKED if pattern.match(text)), "")


@lru_cache(maxsize=256)
def acts_done(command: Command) -> frozenset[str]:
    """Return the acts that a simple command does; SQL comes as a command of its own: `("sql:", ...)`."""
    line = " ".join(command)
    return frozenset(name for pattern, name in _DONE if pattern.match(line))


@lru_cache(maxsize=256)
def acts_ahead(command: Command) -> frozenset[str]:
    """Return the acts that usually follow a simple command."""
    line = " ".join(command)
    return frozenset(name for pattern, name in _LEADS if pattern.match(line))


def acts_of_tool(tool: str) -> frozenset[str]:
    """Return the acts that an MCP tool does, by its name (`mcp__github__create_pull_request`)."""
    return frozenset(name for pattern, name in _TOOLS if pattern.search(tool))
