"""What says in so many words that it ends or replaces another statement does so; what is only near to it does not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.statements.replaces import replaces
from tacit_evals.data.made_up_pairs import make_pairs

ENDS = [
    # it is so no more
    ("We ship on Tuesdays.", "We no longer ship on Tuesdays."),
    ("Ana owns the parser.", "Ana no longer owns the parser."),
    ("Nginx is the proxy.", "Nginx is no longer the proxy."),
    ("The builds need a license key.", "The builds no longer need a license key."),
    ("I read mail on weekends.", "I don't read mail on weekends any more."),
    ("The crawler respects robots.txt.", "The crawler doesn't respect robots.txt anymore."),
    ("We mirror the repository to GitLab.", "We do not mirror the repository to GitLab any longer."),
    ("Sign every commit.", "Don't sign every commit."),
    ("Sign every commit.", "Never sign every commit, it slows us down."),
    ("The admin page is public.", "The admin page is not public."),
    ("Don't rebase shared branches.", "Rebase shared branches."),
    ("Use Vagrant.", "Stop using Vagrant."),
    ("Always pin versions in requirements.txt", "Please stop pinning versions in requirements.txt"),
    ("We use Vagrant.", "We dropped Vagrant."),
    ("We use Vagrant.", "We got rid of Vagrant because nobody maintains it."),
    ("We support Node 16.", "We dropped support for Node 16."),
    ("Use the old SDK.", "The old SDK has been removed."),
    ("We run Jenkins.", "Jenkins was retired."),
    ("We have a wiki.", "The wiki is gone."),
    # another value
    ("The log level is warn.", "The log level is now trace."),
    ("The default branch is trunk.", "The default branch is now main."),
    ("The lease is 30 minutes.", "The lease is now 2 hours."),
    ("The lead is Ana.", "The lead is now Ben."),
    ("Our registrar is Gandi.", "Our registrar is now Porkbun."),
    ("The office is in Graz.", "The office is now in Linz."),
    ("The fee is €3.", "The fee is now €4."),
    ("The fee is $3.", "The fee is now €3."),
    ("The shift is 4.", "The shift is now -4."),
    ("The port is 7000.", "The port is now 7100."),
    ("The port is 7000.", "As of now the port is 7100."),
    ("The port is 7000.", "The port is 7100 now."),
    ("The upload limit is 10 MB.", "No, the upload limit is 10 GB."),
    ("The upload limit is 10 MB.", "Actually, the upload limit is 25 MB."),
    ("Nginx is the proxy.", "Caddy is now the proxy."),
    ("The schemas live in `db/old`.", "The schemas now live in `db/new`."),
    ("The demo listens on port 4000.", "The demo now listens on port 4100."),
    ("The nightly job starts at 02:00.", "The nightly job now starts at 03:30."),
    ("Builds take 12 minutes.", "Builds now take 5 minutes."),
    ("The theme is light.", "The theme is now dark."),
    ("The on-call channel is #ops.", "The on-call channel is now #incidents."),
    # moved, switched, renamed, raised
    ("The retro is at 14:00.", "The retro moved to 15:30."),
    ("The retro is on Monday.", "We moved the retro to Thursday."),
    ("The handbook is in Confluence.", "We moved the handbook to Notion."),
    ("The queue runs on SQS.", "We switched the queue to RabbitMQ."),
    ("The repository is called kite.", "The repository was renamed to falcon."),
    ("The retry limit is 3.", "We raised the retry limit to 5."),
    ("The cache TTL is 60 s.", "The cache TTL was lowered to 30 s."),
    ("The base image is debian.", "We changed the base image to alpine."),
    ("We use Yarn.", "We switched from Yarn to Bun."),
    ("Use Yarn.", "We've migrated from Yarn to Bun."),
    ("The API uses REST.", "The API switched from REST to gRPC."),
    ("use port 4000 for staging", "actually we moved staging to port 4100, 4000 is taken"),
    ("staging listens on port 4000", "staging is now on port 4100"),
    ("The timeout is 45 s.", "The timeout went back to 30 s."),
    ("The default branch is trunk.", "The default branch is back to main."),
    # one thing in place of another
    ("Use Mocha.", "Use Vitest, not Mocha."),
    ("Use Mocha.", "Use Vitest instead of Mocha."),
    ("We format with Black.", "We format with Ruff instead of Black now."),
    ("Use Mocha for the widgets.", "Use Vitest rather than Mocha for the widgets."),
    ("Indent with tabs.", "Indent with spaces, not tabs."),
    ("The port is 7000.", "The port is 7100, not 7000."),
    ("We use Redis as the cache.", "We replaced Redis with Valkey as the cache."),
    ("Memcached is the session store.", "Memcached was replaced by Valkey as the session store."),
    ("We use Yarn.", "We replaced Yarn with Bun."),
    ("Deploy with Ansible.", "Deploy with Terraform in place of Ansible."),
    ("Use Mocha.", "Don't use Mocha, use Vitest instead."),
    ("Use Mocha instead of Jest for the widgets.", "Use Jest, not Mocha, for the widgets."),
    ("We switched from Yarn to Bun.", "We're back on Yarn, not Bun."),
    ("The lease is 60 s.", "The lease is 30 s again."),
    ("The kiosk in hall 4 is at 10.0.0.7", "hall 4's kiosk has moved to 10.0.0.9"),
    ("The preview flag is on.", "The preview flag is off."),
    ("Backlog grooming is on Tuesday.", "Backlog grooming is now on Friday."),
    ("The module is called heron.", "The module heron was renamed to egret."),
    ("Badge readers need the bridge.", "The bridge is no longer needed for badge readers."),
    ("We support Opera.", "Opera is no longer supported."),
    ("Use Vagrant.", "No more Vagrant, please."),
    ("The fee is $30.", "The fee went down to $25."),
    ("The lease is 30 minutes.", "We raised the lease from 30 to 45 minutes."),
    ("Deploy with Ansible.", "Instead of Ansible, deploy with Terraform."),
    ("Our CI is Jenkins.", "Our CI is now Drone."),
    ("The wiki is hosted on Pikapods.", "The wiki is now hosted on Fly."),
    ("The VPN is required.", "The vpn is not required any more."),
    # to be forgotten
    ("Use port 4100 for staging.", "Forget the port thing."),
    ("actually we moved staging to port 4100, 4000 is taken", "forget the port thing, back to 4000"),
    ("Name the branches after the ticket.", "Never mind the branches rule."),
    # German, French
    ("Wir deployen auf Heroku.", "Wir deployen nicht mehr auf Heroku."),
    ("Der Port ist 7000.", "Der Port ist jetzt 7100."),
    ("Nutze npm.", "Nutze pnpm statt npm."),
    ("Nous déployons sur Heroku.", "Nous ne déployons plus sur Heroku."),
    ("Le port est 7000.", "Le port est maintenant 7100."),
    ("Utilise npm.", "Utilise pnpm au lieu de npm."),
]

BOTH_HOLD = [
    # another subject, place, time or purpose
    ("We deploy to Heroku.", "We no longer deploy the docs to Heroku."),
    ("We use Redis.", "We no longer use Redis for sessions."),
    ("We use Redis.", "In tests, we no longer use Redis."),
    ("We use npm in the web app.", "We no longer use npm in the docs."),
    ("Run lint before every commit.", "Don't run lint before a release."),
    ("The port is 8080.", "The admin port is now 9090."),
    ("The staging port is 8080.", "The production port is now 9090."),
    ("The timeout of uploads is 30 s.", "The timeout is now 60 s."),
    ("The orders service is on port 8080.", "The billing service is now on port 9090."),
    ("The maintainer is Alice.", "The maintainer of the docs is now Bob."),
    ("The maintainer of the parser is Alice.", "The maintainer of the lexer is now Bob."),
    ("The release day is Monday.", "The freeze day is now Thursday."),
    ("Use npm.", "Use pnpm, not npm, in CI."),
    ("Use npm.", "Use pnpm in CI instead of npm."),
    ("Use npm when there is a lock file.", "Use pnpm, not npm."),
    ("npm is slow on Windows.", "Use pnpm, not npm."),
    ("Use Redis for locks.", "Use Memcached instead of Redis for sessions."),
    ("The docs are in Confluence.", "We moved the roadmap to Notion."),
    ("Alice works on search.", "Alice moved to the billing team."),
    ("Alice is Polish.", "Alice moved to Berlin."),
    ("Alice is the CTO.", "Alice is now in Berlin."),
    ("We use Heroku for the demo.", "We moved the API from Heroku to Fly."),
    ("The cleanup job runs at 02:00.", "The backup job now runs at 03:00."),
    ("The retry limit is 3.", "We raised the upload limit to 5."),
    # several values at once
    ("The API supports JSON.", "The API now supports CSV."),
    ("Python 3.11 is supported.", "Python 3.12 is now supported."),
    ("We use Postgres.", "We now use Redis."),
    ("We use Postgres 15.", "We also use Postgres 16 now."),
    ("The tests run on Linux.", "The tests now run on Windows too."),
    ("The tests run on Linux.", "The tests now run on Windows."),
    ("The app runs on iOS.", "The app now runs on Android."),
    ("Ana reviews backend changes.", "Ben now reviews backend changes."),
    ("We accept PNG uploads.", "We now accept WebP uploads."),
    ("The build is slow.", "The build is now green."),
    ("The cache is Redis.", "The cache is now warm."),
    ("The maintainer is Alice.", "The maintainer is now on vacation."),
    ("The port is 8080.", "The port is now open."),
    ("The server is in Frankfurt.", "The server is now faster."),
    ("The client is written in Go.", "The client is now stable."),
    ("Issue 12 is about retries.", "Issue 13 is now about retries."),
    ("Room 3 is painted.", "Room 4 is now painted."),
    ("Step 2 takes 10 minutes.", "Step 3 now takes 10 minutes."),
    ("The job has 3 retries.", "The job now has 5 workers."),
    ("The job runs with 3 threads.", "We raised the job to 5 retries."),
    ("The languages are Go and Rust.", "The languages are now Go, Rust and Zig."),
    ("The importer reads CSV.", "The importer now reads XLSX."),
    ("The team has a Slack channel.", "The team now has a wiki."),
    # questions, hedges, proposals, reports, the future
    ("Use npm.", "Should we use pnpm instead of npm?"),
    ("Use npm.", "Why don't we use pnpm instead of npm"),
    ("Use npm.", "Maybe use pnpm instead of npm."),
    ("Use npm.", "Consider using pnpm instead of npm."),
    ("Use npm.", "I think we should use pnpm instead of npm."),
    ("Use npm.", "Use pnpm, not npm, unless you are offline."),
    ("Use npm.", "Use pnpm, not npm, except in CI."),
    ("Use npm.", "Bob says to use pnpm instead of npm."),
    ("The port is 8080.", "The port might be 9090 now."),
    ("The port is 8080.", "For now the port is 9090."),
    ("The port is 8080.", "The port will be 9090."),
    ("The port is 8080.", "We want to move the port to 9090."),
    ("The port is 8080.", "We plan to change the port to 9090."),
    ("The port is 8080.", "If the firewall changes, the port is now 9090."),
    ("The port is 8080.", "Is the port now 9090?"),
    ("We use Docker.", "We may have dropped Docker."),
    ("We use Docker.", "We are going to drop Docker soon."),
    ("We deploy on Fridays.", "We no longer deploy on Fridays, but hotfixes still go out."),
    ("We deploy on Fridays.", "This week we no longer deploy on Fridays."),
    ("Run the tests.", "Don't run the tests yet."),
    ("Log every request.", "Don't always log every request."),
    ("Deploy from main.", "Deploy only from main."),
    # the past
    ("The port is 8080.", "The port used to be 9090."),
    ("The port is 8080.", "Until 2024 the port was 9090."),
    ("The port is 8080.", "The port was 9090 back then."),
    ("The port is 8080.", "Originally the port was 9090, not 8080."),
    ("We use Fly.", "We used to use Heroku instead of Fly."),
    ("We use Fly.", "In 2021 we moved from Fly to Heroku."),
    ("We use Docker.", "We dropped Docker years ago."),
    ("We use Docker.", "We had dropped Docker before that."),
    ("Sessions are in Postgres.", "Sessions were formerly in Redis, replaced by Postgres."),
    ("The preview flag is on.", "The beta flag is off."),
    ("The lamp is on the desk.", "The lamp is off the desk."),
    ("We have a build cache.", "We moved the build cache to Redis."),
    ("The feature is in Chrome.", "The feature is now in Firefox."),
    # it agrees, or says something of its own
    ("Never use npm.", "Use pnpm, not npm."),
    ("Use yarn, not npm.", "Use pnpm, not npm."),
    ("We don't use npm.", "We no longer use npm."),
    ("The port is 8080.", "The port is 8080 now."),
    ("The port is 8080.", "The port is 9090."),
    ("Some tests need Docker.", "Some tests no longer need Docker."),
    ("A test is flaky.", "A test is not flaky."),
    ("The lexer depends on the parser.", "The parser no longer depends on the lexer."),
    ("Copy the files from A to B.", "Don't copy the files from B to A."),
    ("Run the tests before pushing.", "Run the linter before pushing."),
    ("Use tabs in Go.", "Use spaces, not tabs, in Python."),
    ("The limit is 10 per user.", "The limit is now 20 per team."),
    ("We love the old office.", "The office is now in Linz."),
    ("The port of staging is 80.", "Forget the branch thing."),
    ("The wiki explains the port.", "The wiki moved to Notion."),
    ("Use the staging database.", "Drop the staging database."),
    ("The table users has an email column.", "We dropped the table users_old."),
    # languages
    ("Wir deployen auf Heroku.", "Wir deployen die Doku nicht mehr auf Heroku."),
    ("Der Port ist 8080.", "Der Port war früher 9090."),
    ("Der Port ist 8080.", "Ist der Port jetzt 9090?"),
    ("Nous déployons sur Heroku.", "Nous ne déployons plus la doc sur Heroku."),
    ("Le port est 8080.", "Avant, le port était 9090."),
    ("ポートは8080です。", "ポートは今9090です。"),
    ("El puerto es 8080.", "El puerto ahora es 9090."),
]


NEAR = (
    ("We use Vagrant for the {thing}.", "We no longer use Vagrant for the {other}."),
    ("The {thing} runs on Heroku.", "The {other} no longer runs on Heroku."),
    ("The {thing} listens on port 4000.", "The {other} now listens on port 4100."),
    ("The timeout of the {thing} is 30 s.", "The timeout of the {other} is now 45 s."),
    ("The {thing} needs the VPN.", "The VPN is no longer needed for the {other}."),
    ("Use Mocha for the {thing}.", "Use Vitest, not Mocha, for the {other}."),
    ("We moved the {thing} to Fly.", "We moved the {other} from Fly to Hetzner."),
    ("Ana owns the {thing}.", "Ana no longer owns the {other}."),
    ("The {thing} is written in Go.", "The {thing} is now tested in CI."),
    ("The {thing} listens on port 4000.", "Should the {thing} listen on port 4100 instead of 4000?"),
    ("The {thing} listens on port 4000.", "Maybe the {thing} should listen on port 4100, not 4000."),
    ("The {thing} listens on port 4000.", "Until 2023 the {thing} listened on port 3900."),
    ("The {thing} runs on Heroku.", "Next week the {thing} moves from Heroku to Fly."),
    ("The {thing} runs on Heroku.", "If Heroku is down, the {thing} is now on Fly."),
    ("The {thing} runs on Heroku.", "Somebody said the {thing} no longer runs on Heroku."),
    ("The {thing} reads CSV.", "The {thing} now reads XLSX too."),
)
"""Frames of near pairs: another thing, another relation, a question, a guess, the past, the future, a condition, a report, an addition."""
THINGS = (
    "importer",
    "kiosk",
    "billing service",
    "map tiles server",
    "mail worker",
    "report job",
    "search index",
)
BOTH_HOLD += [
    (old.format(thing=thing), new.format(thing=thing, other=other))
    for old, new in NEAR
    for thing, other in zip(THINGS, (*THINGS[1:], THINGS[0]), strict=True)
]


def test_there_are_enough_forms() -> None:
    assert len(ENDS) >= 60
    assert len(BOTH_HOLD) >= 200


@pytest.mark.parametrize(("old", "new"), ENDS)
def test_what_is_said_to_end_ends(old: str, new: str) -> None:
    assert replaces(new, old) is not None


@pytest.mark.parametrize(("old", "new"), BOTH_HOLD)
def test_what_may_both_hold_ends_nothing(old: str, new: str) -> None:
    assert replaces(new, old) is None


def test_a_correction_needs_no_word_for_the_change() -> None:
    assert replaces("The port is 9090.", "The port is 8080.", correction=True) == "gives_other_value"
    assert replaces("The port is 9090.", "The admin port is 8080.", correction=True) is None


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_unrelated_statements_of_one_form_end_nothing(seed: int) -> None:
    pairs = make_pairs(1500, seed=seed)
    assert not [
        pair for pair in pairs if replaces(pair.second, pair.first, correction=pair.kind == "correction")
    ]


@given(st.text(max_size=80), st.text(max_size=80))
def test_any_text_is_read(new: str, old: str) -> None:
    replaces(new, old)
    assert replaces(old, old) is None
