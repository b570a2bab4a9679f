"""Forty rules in other words than those that the parser was developed on: the call that each governs, and one beside it."""

from __future__ import annotations

import pytest

from tacit.model.signal import ToolCall
from tacit.reading.moment_calls import fit_of, read_call_facts
from tacit.reading.moments import read_moments
from unit.reading.test_reading_moments import fit


def call_of(text: str) -> ToolCall:
    """`edit PATH`, `read PATH`, `fetch URL`, `search QUERY`, `task WORDS`; anything else is a command line."""
    kind, _, rest = text.partition(" ")
    match kind:
        case "edit" | "read" | "write":
            return ToolCall(tool=kind, paths=(rest,))
        case "fetch":
            return ToolCall(tool="webfetch", text=rest)
        case "search":
            return ToolCall(tool="websearch", text=rest)
        case "task":
            return ToolCall(tool="task", text=rest, agent="general-purpose")
        case _:
            return ToolCall(tool="bash", command=text)


FORBIDDEN = [
    ("Hands off `config/credentials.yml.enc`, I rotate those keys on my own.", "edit config/credentials.yml.enc", "edit config/database.yml"),
    ("poetry.lock must never be touched manually; poetry lock does that.", "edit poetry.lock", "edit pyproject.toml"),
    ("Stay out of third_party/, those sources are mirrored from Chromium.", "edit third_party/zlib/inflate.c", "edit src/zlib.c"),
    ("Nobody runs `cargo publish` locally.", "cargo publish -p core", "cargo build"),
    ("We never rebase shared branches.", "git rebase origin/main", "git log --oneline"),
    ("yarn is forbidden in this monorepo; bun is our package manager.", "yarn add react", "bun add react"),
    ("npm audit fix --force is not an option here.", "npm audit fix --force", "npm audit"),
    ("Dropping a table requires a written go-ahead from the data team.", 'psql -c "DROP TABLE orders"', "psql -c 'select 1'"),
    ("Do not ssh into the production hosts.", "ssh deploy@web1.prod.acme.io", "ssh build@ci.acme.io"),
    ("--skip-tests must not be used with mvn.", "mvn package --skip-tests", "mvn package"),
    ("The folder generated/ is written by the code generator. Never change files there.", "edit generated/api/client.ts", "edit src/client.ts"),
    ("Keep your fingers off *.pb.go, protoc owns them.", "edit api/v1/user.pb.go", "edit api/v1/user.go"),
    ("I don't want you to amend anything that was pushed.", "git commit --amend --no-edit", "git commit -m x"),
    ("docker compose down -v is prohibited: it wipes the seed data.", "docker compose down -v", "docker compose ps"),
    ("Refrain from reading anything below ~/.aws.", "cat ~/.aws/credentials", "cat ~/.bashrc"),
    ("`terraform destroy` may only be run by Ilse.", "terraform destroy -auto-approve", "terraform fmt"),
    ("Avoid stackoverflow.com as a source.", "fetch https://stackoverflow.com/questions/1", "fetch https://docs.python.org/3/"),
    ("Ask first before you drop the test database.", "dropdb app_test", "createdb app_test"),
]  # fmt: skip
PRESCRIBED = [
    ("Pushing? Then rebase onto origin/main first.", "git push origin feat/x", "git status"),
    ("cargo test is always called with --all-features.", "cargo test", "cargo test --all-features"),
    ("Prefer ripgrep (rg) over grep.", "grep -rn foo src", "rg foo src"),
    ("Every new file below cmd/ starts with the license header.", "write cmd/serve/main.go", "write pkg/serve/main.go"),
    ("As soon as Gemfile changes, bundle install and commit both files.", "edit Gemfile", "edit Rakefile"),
    ("Traffic to billing.acme.test goes via bin/with-vpn.", "curl https://billing.acme.test/v1", "curl https://acme.test/v1"),
    ("Commits are signed off with -s.", "git commit -m x", "git commit -s -m x"),
    ("Branches are called type/ticket, for example fix/ACME-9.", "git checkout -b quick-fix", "git checkout main"),
    ("Docker images are tagged with the git sha.", "docker build -t app:latest .", "docker ps"),
    ("Cypress specs run headless with --browser chrome.", "npx cypress run", "npx jest"),
    ("Anybody changing db/schema.rb has to regenerate the ERD.", "edit db/schema.rb", "edit db/seeds.rb"),
    ("Upgrading a dependency? Read its changelog and quote the breaking changes.", "npm update lodash", "npm run lint"),
    ("While working in apps/mobile, stick to yarn workspaces.", "edit apps/mobile/App.tsx", "edit apps/web/App.tsx"),
    ("`flutter build` is preceded by flutter clean.", "flutter build apk", "flutter clean"),
    ("kubectl apply always goes with --server-side.", "kubectl apply -f k8s/", "kubectl get pods"),
    ("Use `just db-reset` in place of `rails db:drop`.", "bin/rails db:drop", "just db-reset"),
    ("Terraform files are formatted (terraform fmt) before being committed.", "git commit infra/main.tf -m x", "git commit docs/a.md -m x"),
    ("Markdown pages in content/blog carry a date in the front matter.", "write content/blog/hello.md", "write content/about.md"),
    ("Opening a merge request, assign it to Priya.", "glab mr create --fill", "glab mr list"),
    ("For web searches, add the year to the query.", "search rust async traits", "fetch https://rust-lang.org"),
    ("Subagents get the path of the style guide in their prompt.", "task Find the callers of parse", "grep -rn parse src"),
    ("Once `swift package update` has run, build the app for both platforms.", "swift package update", "swift build"),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "governed", "_other"), FORBIDDEN)
def test_what_is_forbidden(rule: str, governed: str, _other: str) -> None:
    assert fit(rule, call_of(governed)) == "now"
    facts = read_call_facts(call_of(governed))
    assert any(one.forbids for one in read_moments(rule) if fit_of(one, facts) == "now")


@pytest.mark.parametrize(("rule", "governed", "_other"), PRESCRIBED)
def test_what_is_done_in_a_certain_way(rule: str, governed: str, _other: str) -> None:
    assert fit(rule, call_of(governed)) == "now"


@pytest.mark.parametrize(("rule", "_governed", "other"), FORBIDDEN + PRESCRIBED)
def test_a_call_beside_it(rule: str, _governed: str, other: str) -> None:
    assert fit(rule, call_of(other)) != "now"
