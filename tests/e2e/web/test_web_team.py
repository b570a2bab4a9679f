"""Teams on the page, in the browsers of three people with homes of their own, through a real server on PostgreSQL."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from e2e.drivers.machine import wait_for
from e2e.drivers.site import Site
from e2e.web.driver import Served, served, settle, signed_in, visit
from tacit.daemon.page.files import is_built
from tacit.providers.embedding import FakeEmbedder

pytestmark = [pytest.mark.e2e, pytest.mark.postgres, pytest.mark.timeout(240)]
expect.set_options(timeout=30_000)
STATEMENT = "Commit messages begin with the ticket number."
BETTER = "Commit messages begin with the ticket number in brackets."


@dataclass(slots=True)
class Person:
    """Somebody with a home, a project and a browser that signed in at the page of the home."""

    account: str
    home: Served
    project: Path
    page: Page

    phrase: str = ""

    def log_in(self, url: str, code: str, *, phrase: str = "", name: str = "laptop") -> None:
        """Log the home in; without the phrase of another device a new one is made and kept."""
        body = {"url": url, "code": code, "phrase": phrase, "name": name}
        self.phrase = self.home.api("/v1/sync", "PUT", body)["login"]["phrase"] or phrase
        self.page.reload()

    def go(self, path: str) -> Page:
        visit(self.page, path)
        return self.page

    def remember(self, content: str, **fields: object) -> str:
        body = {"content": content, "kind": "decision", "when": "", "cwd": str(self.project), **fields}
        return str(self.home.api("/v1/memories", "POST", body)["changes"][0]["memory"]["id"])

    def ask(self, memory_id: str, team: str) -> str:
        """Ask to share, without the page."""
        made = self.home.api("/v1/shares", "PUT", {"id": memory_id, "team": team})
        return str(made["request"]["id"])

    def sync(self) -> None:
        self.home.api("/v1/sync", "POST", {})

    def memories(self) -> list[dict[str, Any]]:
        return self.home.api("/v1/memories?limit=500")["memories"]

    def has(self, content: str) -> bool:
        return content in [memory["content"] for memory in self.memories()]


@dataclass(slots=True)
class Team:
    """Ana administers the organization; Bo reviews in its team `core`, and Cy reads there."""

    site: Site
    ana: Person
    bo: Person
    cy: Person

    @property
    def core(self) -> str:
        return f"{self.site.organization}/core"

    @property
    def people(self) -> tuple[Person, Person, Person]:
        return self.ana, self.bo, self.cy


def made_person(name: str, folder: Path, browser, stack: ExitStack, tag: str) -> Person:
    home, project = folder / name, folder / f"{name}-shop"
    home.mkdir(mode=0o700)
    (home / "config.yaml").write_text("embedder: {provider: fake}\n")
    (project / ".git").mkdir(parents=True)
    (project / ".git" / "config").write_text('[remote "origin"]\n\turl = https://example.org/shop.git\n')
    place = stack.enter_context(served(home))
    page = signed_in(browser, place)
    stack.callback(page.context.close)
    return Person(f"{name}-{tag}", place, project, page)


def shown_code(page: Page) -> str:
    """The code of the login that the page shows once."""
    box = page.get_by_role("dialog").locator(".team-secret")
    found = re.search(r"tacit login (\S+) --code (\S+) --first", box.inner_text())
    assert found
    page.get_by_role("dialog").get_by_role("button", name="Close").last.click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    return found[2]


def choose(page: Page | Locator, label: str, option: str) -> None:
    """Choose an option of a select box."""
    page.get_by_role("textbox", name=label, exact=True).click()
    whole = page if isinstance(page, Page) else page.page
    whole.get_by_role("option", name=option, exact=True).click()


def add(page: Page, account: str, name: str, role: str) -> None:
    page.get_by_role("button", name="Add a person").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("textbox", name="Account").fill(account)
    dialog.get_by_role("textbox", name="Name").fill(name)
    choose(dialog, "Role", role)
    dialog.get_by_role("button", name="Add", exact=True).click()


@pytest.fixture(scope="module")
def team(tmp_path_factory, web_browser) -> Iterator[Team]:
    """Made on Ana's page: the team, its project, its members."""
    if not is_built():
        pytest.skip("the page is not built: bash scripts/build_page.sh")
    with ExitStack() as stack:
        site = Site(FakeEmbedder())
        stack.callback(site.close)
        folder = tmp_path_factory.mktemp("t")
        ana, bo, cy = (
            made_person(name, folder, web_browser, stack, site.tag) for name in ("ana", "bo", "cy")
        )
        team = Team(site, ana, bo, cy)
        now_ms = int(time.time() * 1000)
        code = site.teams.members.add_organization(
            site.organization, admin=ana.account, name="Ana Ruiz", now_ms=now_ms
        )
        ana.log_in(site.url, code)
        ana.remember("The depot opens at nine.")  # so that the home knows the project
        page = ana.go("/ui/team/members")
        page.get_by_role("button", name="New team").click()
        page.get_by_role("dialog").get_by_role("textbox", name="Name").fill("core")
        page.get_by_role("button", name="Make the team").click()
        expect(page.get_by_role("table", name=f"Members of {team.core}")).to_be_visible()
        page.get_by_role("textbox", name="Project to add").click()
        page.get_by_role("option").filter(has_text="example.org/shop").click()
        page.get_by_role("button", name="Add the project").click()
        expect(page.locator(".team-projects")).to_contain_text("example.org/shop")
        for person, name, role in ((bo, "Bo Li", "writer"), (cy, "Cy Moe", "reader")):
            add(page, person.account, name, role)
            person.log_in(site.url, shown_code(page))
        for person in (bo, cy):
            settle(person.go("/ui/team"))
        yield team


def share_on_page(person: Person, memory_id: str, team: str) -> Locator:
    """Ask in the drawer of a memory that a team shares it; the dialog."""
    page = person.go(f"/ui/memories/{memory_id}")
    page.get_by_role("button", name="Share with a team").click()
    dialog = page.get_by_role("dialog", name="Share with a team")
    choose(dialog, "Team", team)
    dialog.get_by_role("button", name="Ask to share").click()
    return dialog


def accept(team: Team, content: str) -> str:
    """Shared by Ana and accepted by Bo without their pages; the id of her memory."""
    memory_id = team.ana.remember(content)
    request = team.ana.ask(memory_id, team.core)
    team.bo.home.api("/v1/teams/requests", "PATCH", {"id": request, "decision": "accept"})
    return memory_id


def test_a_request_made_on_one_page_is_accepted_with_other_words_on_another_and_reaches_a_third(team):
    memory_id = team.ana.remember(STATEMENT)
    share_on_page(team.ana, memory_id, team.core)
    expect(team.ana.page.get_by_text(f"Asked {team.core} to share it")).to_be_visible()
    team.ana.page.get_by_role("button", name="Share with a team").click()
    expect(team.ana.page.get_by_text(f"You asked {team.core} already")).to_be_visible()
    team.ana.page.get_by_role("button", name="Cancel").click()

    team.bo.page.reload()
    settle(team.bo.page)
    badge = team.bo.page.get_by_role("navigation", name="Pages").get_by_role("link", name="Team")
    expect(badge.get_by_label("1 waiting")).to_be_visible()
    page = team.bo.go("/ui/team/requests")
    request = page.get_by_role("article", name="Request of Ana Ruiz")
    expect(request).to_contain_text(STATEMENT)
    expect(request).to_contain_text("example.org/shop")
    request.get_by_role("button", name="Edit, then accept").click()
    request.get_by_role("textbox", name="Words to share").fill(BETTER)
    expect(request.locator("ins")).to_contain_text("in brackets")
    request.get_by_role("button", name="Accept these words").click()
    expect(page.get_by_text("No request waits")).to_be_visible()

    wait_for(lambda: team.cy.has(BETTER), timeout_s=30)
    assert not team.cy.has(STATEMENT)
    found = next(each for each in team.cy.memories() if each["content"] == BETTER)
    page = team.cy.go(f"/ui/memories/{found['id']}")
    origin = f"teammate Ana Ruiz, team {team.core}, {datetime.now(UTC).date()}"
    expect(page.locator(".origin")).to_have_text(origin)
    expect(page.get_by_role("button", name="Share with a team")).to_have_count(0)
    expect(page.get_by_role("button", name="Unshare")).to_have_count(0)  # a reader of others' words
    wait_for(
        lambda: team.bo.has(BETTER), timeout_s=30
    )  # the words of a decided request are those of the memory
    page = team.bo.go("/ui/team/requests?every=true")
    decided = page.get_by_role("article", name="Request of Ana Ruiz, accepted")
    expect(decided.first).to_contain_text(BETTER)


def test_only_what_the_role_allows_is_offered(team):
    page = team.cy.go(f"/ui/team/members?team={team.core}")
    expect(page.get_by_role("table", name=f"Members of {team.core}")).to_contain_text("Bo Li")
    for name in ("Add a person", "New team", "Service account", "Add the project", "Remove Bo Li"):
        expect(page.get_by_role("button", name=name)).to_have_count(0)
    expect(page.get_by_role("textbox", name="Role of Bo Li")).to_have_count(0)
    page.get_by_role("tab", name="Audit log").click()
    expect(page.get_by_text("For administrators")).to_be_visible()


def test_an_administrator_changes_roles_removes_members_and_sees_a_token_once(team):
    site, page = team.site, team.ana.go(f"/ui/team/members?team={team.site.organization}")
    add(page, f"dee-{site.tag}", "Dee Ott", "reader")
    shown_code(page)
    choose(page, "Role of Dee Ott", "writer")
    expect(page.get_by_text(f"Dee Ott is writer in {site.organization}")).to_be_visible()
    members = team.ana.home.api(f"/v1/teams/members?team={site.organization}")["members"]
    assert {each["name"]: each["role"] for each in members}["Dee Ott"] == "writer"
    page.get_by_role("button", name="Remove Dee Ott").click()
    page.get_by_role("dialog").get_by_role("button", name="Remove").click()
    expect(page.get_by_role("row", name=re.compile("Dee Ott"))).to_have_count(0)

    page.get_by_role("button", name="Service account").click()
    page.get_by_role("dialog").get_by_role("textbox", name="Name").fill("ci")
    page.get_by_role("button", name="Make the token").click()
    secret = page.get_by_role("dialog").locator(".team-secret")
    expect(secret).to_contain_text(f"{site.organization}/ci.")
    token = secret.inner_text()
    assert (
        site.teams.members.service(token, now_ms=int(time.time() * 1000)).account == f"{site.organization}/ci"
    )
    page.get_by_role("dialog").get_by_role("button", name="Close").last.click()
    expect(page.get_by_role("row", name=re.compile("service account until"))).to_be_visible()
    assert token not in page.content()


def test_where_the_server_is_away_the_page_says_so_and_shows_what_is_known(team):
    team.site.stop()
    try:
        page = team.cy.go("/ui/team")
        page.reload()
        settle(page)
        expect(page.get_by_role("alert").first).to_contain_text("cannot be reached")
        table = page.get_by_role("table", name="Your teams, as known here")
        row = table.get_by_role("row").filter(has_text=team.core)
        expect(row).to_contain_text("reader")
        expect(row).to_contain_text("memor")
        page = team.cy.go("/ui/team/requests")
        expect(page.get_by_role("alert").first).to_contain_text("cannot be reached")
    finally:
        team.site.start()
    page.get_by_role("button", name="Try again").first.click()
    expect(page.get_by_text("No request waits")).to_be_visible()


def test_a_home_that_is_not_connected_is_told_how(team, tmp_path_factory, web_browser):
    with ExitStack() as stack:
        eve = made_person("eve", tmp_path_factory.mktemp("t"), web_browser, stack, team.site.tag)
        memory_id = eve.remember(STATEMENT)
        page = eve.go("/ui/team")
        expect(page.get_by_text("tacit login URL --first")).to_be_visible()
        expect(page.get_by_role("tab")).to_have_count(0)
        page = eve.go(f"/ui/memories/{memory_id}")
        page.get_by_role("button", name="Supersede").wait_for()
        expect(page.get_by_role("button", name="Share with a team")).to_have_count(0)
        assert page.complaints == []  # type: ignore[attr-defined]
