"""The long lists in a browser: many chosen and changed at once, sorted, filtered, and filters that are kept."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from e2e.web.driver import settle

pytestmark = pytest.mark.e2e
expect.set_options(timeout=60_000)


@pytest.fixture
def depots(web_home, request):
    """Three memories of one test alone."""
    name = request.node.name.removeprefix("test_").replace("_", " ")[:30]
    made = [
        web_home.api(
            "/v1/memories",
            "POST",
            {"content": f"Depot {place} of {name} keeps {goods}.", "scope": "universal", "kind": "fact"},
        )["changes"][0]["memory"]
        for place, goods in (("Aarhus", "tea"), ("Brno", "paper"), ("Cork", "bicycles"))
    ]
    yield made
    for one in made:
        if stored(web_home, one["id"])["status"] == "active":
            web_home.api(f"/v1/memories/{one['id']}", "DELETE")


def stored(web_home, memory_id: str) -> dict:
    return web_home.api(f"/v1/memories/{memory_id}")["memory"]


def show(go, web_home, memories: list[dict]):
    """The page with these memories alone, all of them chosen."""
    name = re.search(r"of (.*) keeps", memories[0]["content"])[1]
    page = go(f"/ui/memories?text=Depot {name}")
    rows = page.locator(".memory-row").filter(has_text=name)
    expect(rows).to_have_count(len(memories))
    return page, rows


def choose_all(page, rows) -> None:
    rows.first.get_by_role("checkbox").check()
    rows.last.get_by_role("checkbox").click(modifiers=["Shift"])
    page.get_by_text("3 chosen").wait_for()


def undo_in_toast(page, words: str) -> None:
    page.locator(".mantine-Notification-root", has_text=words).get_by_role("button", name="Undo").click()


def test_many_are_changed_in_one_step_and_taken_back_as_one(go, web_home, depots):
    page, rows = show(go, web_home, depots)
    choose_all(page, rows)
    page.get_by_role("button", name="Pin 3").click()
    page.get_by_text("Pinned: 3 memories").wait_for()
    assert [stored(web_home, one["id"])["pinned"] for one in depots] == [True] * 3
    undo_in_toast(page, "Pinned: 3 memories")
    page.get_by_text("Taken back", exact=True).first.wait_for()
    assert [stored(web_home, one["id"])["pinned"] for one in depots] == [False] * 3

    choose_all(page, rows)
    page.get_by_role("textbox", name="Set the kind").click()
    page.get_by_role("option", name="decision").click()
    page.get_by_text("Now decision: 3 memories").wait_for()
    assert {stored(web_home, one["id"])["kind"] for one in depots} == {"decision"}

    choose_all(page, rows)
    page.get_by_role("button", name="Forget 3").click()
    page.get_by_text("Forgotten: 3 memories").wait_for()
    expect(rows).to_have_count(0)
    assert {stored(web_home, one["id"])["status"] for one in depots} == {"retired"}
    page.keyboard.press("u")
    expect(rows).to_have_count(3)
    assert {stored(web_home, one["id"])["kind"] for one in depots} == {"decision"}


def test_columns_sort_and_say_which_date_they_show(go, web_home, depots):
    web_home.api(f"/v1/memories/{depots[0]['id']}", "PATCH", {"importance": 0.97})
    page = go("/ui/memories")
    head = page.locator(".memory-head")
    rows = page.locator("button.memory")
    expect(head.get_by_role("button", name="stored")).to_have_attribute("aria-pressed", "true")
    page.get_by_role("textbox", name="Order").click()
    page.get_by_role("option", name="changed last").click()
    page.wait_for_url("**order=updated*")
    expect(rows.first).to_contain_text("Depot Aarhus")
    settle(page)
    assert rows.first.locator("time").get_attribute("title").startswith("changed ")
    head.get_by_role("button", name="given", exact=True).click()
    page.wait_for_url("**order=given*")
    settle(page)
    most = web_home.api("/v1/memories?order=given&limit=5")
    assert most["given_times"][0]["given"] > 0
    expect(rows.first).to_contain_text(most["memories"][0]["content"][:30])
    shown = [row.locator(".num").first.inner_text() for row in rows.all()[:5]]
    assert shown == [str(times["given"]) for times in most["given_times"]]
    head.get_by_role("button", name="stored").click()
    expect(rows.first).to_contain_text("Depot Cork")
    head.get_by_role("button", name="stored, newest first").click()
    page.wait_for_url("**ascending=yes*")
    head.get_by_role("button", name="stored, oldest first").wait_for()
    settle(page)
    oldest = web_home.api("/v1/memories?order=created&ascending=true&limit=8")["memories"]
    shown = [row.locator(".memory-text").inner_text() for row in rows.all()[:8]]
    assert [text.strip()[:30] for text in shown] == [one["content"][:30] for one in oldest]
    page.reload()
    expect(rows.first).to_contain_text(oldest[0]["content"][:30])
    head.get_by_role("button", name="used", exact=True).click()
    expect(page).not_to_have_url(re.compile("ascending"))


def count_of(page, value: str) -> int:
    """How many memories a filter says that it would list."""
    line = page.locator(".facets label").filter(has_text=re.compile(f"^{value}\\d"))
    return int(line.locator(".num").inner_text().replace(",", ""))


def test_filters_say_how_many_they_list_and_never_used_is_one_of_them(go, web_home, depots):
    page = go("/ui/")
    page.get_by_role("link", name="Memories", exact=True).click()
    settle(page)
    total = page.locator(".memory-head")
    never = count_of(page, "never used")
    page.get_by_role("checkbox", name="never used").click()
    expect(total).to_contain_text(f"{never} memories")
    every = web_home.api("/v1/memories?used=false&limit=500")["memories"]
    assert never == sum(one["kind"] != "digest" for one in every)
    page.get_by_role("checkbox", name="never used").click()
    for value in ("never given", "fact", "shop"):
        number = count_of(page, value)
        page.get_by_role("checkbox", name=re.compile(f"^{value}")).click()
        expect(total).to_contain_text(f"{number} memor")
        settle(page)
        page.get_by_role("checkbox", name=re.compile(f"^{value}")).click()
        settle(page)


def test_a_search_that_finds_nothing_says_so_and_nothing_near_can_be_chosen(go, web_home, depots):
    name = re.search(r"of (.*) keeps", depots[0]["content"])[1]
    page = go(f"/ui/memories?text=Depot of {name} keeps kangaroos")
    page.get_by_text("Nothing matches; near: ").wait_for()
    page.locator("button.memory", has_text="Depot Brno").wait_for()
    assert page.locator(".memory-row").get_by_role("checkbox").count() == 0
    page.keyboard.press("j")
    page.keyboard.press("x")
    expect(page.get_by_text("1 chosen")).to_have_count(0)
    page = go(f"/ui/memories?text=Depot of {name} keeps bicycles")
    page.get_by_text("1 memory matches; near: ").wait_for()
    page.get_by_text("these do not have all the words").wait_for()
    page.locator(".memory-row").get_by_role("checkbox").check()
    page.get_by_text("1 chosen").wait_for()
    assert page.get_by_role("button", name=re.compile("^Choose (all|the first)")).count() == 0
    page.get_by_role("button", name="Forget 1", exact=True).click()
    page.get_by_text("Forgotten:").first.wait_for()
    assert [stored(web_home, one["id"])["status"] for one in depots] == ["active", "active", "retired"]


def test_a_memory_stands_beside_the_list_and_keys_go_on_with_it_open(go, depots):
    page = go("/ui/memories?order=created")
    rows = page.locator("button.memory")
    beside = page.get_by_role("region", name="Memory", exact=True)
    rows.nth(1).click()
    beside.get_by_text("Depot Brno").first.wait_for()
    expect(rows.nth(1)).to_be_focused()
    page.keyboard.press("j")
    beside.get_by_text("Depot Aarhus").first.wait_for()
    expect(rows.nth(2)).to_be_focused()
    expect(rows.nth(2)).to_have_attribute("aria-current", "true")
    page.keyboard.press("k")
    page.keyboard.press("ArrowUp")
    beside.get_by_text("Depot Cork").first.wait_for()
    page.keyboard.press("x")  # the list stays in use
    page.get_by_text("1 chosen").wait_for()
    page.keyboard.press("Enter")  # once more: into what is shown
    expect(beside).to_be_focused()
    beside.get_by_role("button", name="Edit", exact=True).click()
    beside.get_by_role("textbox", name="Statement").press("Escape")  # what is being written stays
    expect(beside).to_be_visible()
    beside.get_by_role("button", name="Cancel").click()
    page.keyboard.press("Escape")
    expect(beside).to_have_count(0)
    expect(rows.nth(0)).to_be_focused()


def test_traces_of_a_time_and_of_a_memory(go, web_home):
    injected = web_home.api("/v1/traces?outcome=injected&surface=prompt&limit=1")["recalls"][0]
    memory = injected["injected"][0]
    named = web_home.api(f"/v1/traces?memory={memory}&limit=500")["recalls"]
    every = web_home.api("/v1/traces?limit=500")["recalls"]
    assert injected["id"] in {one["id"] for one in named}
    assert 0 < len(named) < len(every)
    page = go(f"/ui/memories/{memory}")
    page.get_by_role("tab", name="Injected").click()
    page.get_by_role("link", name="all recalls that looked at it").click()
    settle(page)
    expect(page.locator("a.recall")).to_have_count(min(60, len(named)))
    page.get_by_role("textbox", name="Time").click()
    page.get_by_role("option", name="last hour").click()
    page.wait_for_url("**time=last*")
    lately = [one for one in named if one["at_ms"] >= every[0]["at_ms"] - 3_000_000]
    assert len(lately) < len(named)
    expect(page.locator("a.recall")).to_have_count(len(lately))


def test_why_nothing_came_is_read_in_three_clicks_as_one_sentence_with_its_numbers(go, web_home):
    rows = web_home.api("/v1/traces?outcome=silent&surface=prompt&limit=50")["recalls"]
    silent = [one for one in rows if one["cause"] == "not_relevant" and one["best_relevance"] is not None]
    row = min(silent, key=lambda one: one["best_relevance"])  # what other tests note does not let it through
    page = go("/ui/")
    page.get_by_role("link", name="Given before prompts").click()
    page.get_by_text("Silence", exact=True).first.click()
    page.locator(f"a.recall[href$='{row['id']}']").click()
    said = page.locator(".head p")
    trace = web_home.api(f"/v1/traces/{row['id']}")["trace"]
    best = max(trace["candidates"], key=lambda candidate: candidate["relevance"])
    points = sum(part["points"] for part in best["evidence"])
    expect(said).to_contain_text(f"reached {points} points, and 100 are needed")
    projects = [one["project"] for one in web_home.api("/v1/projects")["projects"]]
    place = next(one["name"] for one in projects if one["id"] == trace["project_id"])
    page.get_by_role("link", name="Try this prompt").click()

    def is_as_it_was():
        expect(page.get_by_role("textbox", name="Prompt")).to_have_value(row["text"])
        expect(page.get_by_role("textbox", name="Preset")).to_have_value(trace["preset"])
        expect(page.get_by_role("textbox", name="Project")).to_have_value(place)

    is_as_it_was()
    page.locator(".lane").first.wait_for()  # asked at once
    told = page.get_by_role("region", name="Why it is not given")
    expect(told).to_have_count(0)
    page.get_by_role("button", name="why not?").first.click()
    expect(told).to_contain_text("It is not given before this prompt")
    is_as_it_was()


def test_what_is_never_used_is_one_click_away_from_home(go):
    page = go("/ui/")
    page.get_by_role("link", name="Used afterwards").click()
    page.wait_for_url("**order=used&ascending=yes")
    expect(page.get_by_role("textbox", name="Order")).to_have_value("used least")


def test_sessions_are_named_by_their_first_prompt_and_found_by_it(go, web_home):
    all_of_them = web_home.api("/v1/sessions?limit=500")["sessions"]
    named = next(one for one in all_of_them if len(one["title"].split()) > 4)
    view = web_home.api(f"/v1/sessions/{named['host']}/{named['session_id']}")["session"]
    first = next(one for turn in view["turns"] for one in turn["recalls"] if one["surface"] == "prompt")
    assert first["text"] == named["title"]
    page = go("/ui/sessions")
    words = named["title"].split()
    page.get_by_role("textbox", name="Search sessions").fill(f"{words[-1]} {words[0]}")
    page.wait_for_url("**text=*")
    settle(page)
    sessions = page.locator("a.session")
    expect(sessions.first).to_contain_text(named["title"])
    assert 0 < sessions.count() < len(all_of_them)
    folder = next(
        row["project"]
        for row in web_home.api("/v1/projects")["projects"]
        if row["project"]["name"] == "atlas"
    )
    page.get_by_role("textbox", name="Search sessions").fill("")
    page.get_by_role("textbox", name="Project").click()
    page.get_by_role("option", name="atlas").click()
    of_atlas = [one for one in all_of_them if one["project_root"] == folder["root"]]
    expect(sessions).to_have_count(len(of_atlas))
