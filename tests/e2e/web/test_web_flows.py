"""The main flows as a person goes through them, each checked where it ends: in the store."""

from __future__ import annotations

import json

import pytest
from playwright.sync_api import expect

from e2e.web.driver import Looked, findings, load_axe, settle, signed_in
from writer_server import Reply, openai_answer, writer_server

pytestmark = pytest.mark.e2e
expect.set_options(timeout=60_000)


def memory_of(served, words: str) -> dict:
    """The newest memory that holds these words in this order, whatever its state."""
    found = served.api(f"/v1/memories?status=all&limit=50&text={words.replace(' ', '%20')}")["memories"]
    fitting = [one for one in found if words in one["content"]]
    return max(fitting, key=lambda one: one["created_at_ms"])


def test_search_edit_conflict_and_undo(go, web_home):
    page = go("/ui/memories")
    page.keyboard.press("/")
    page.keyboard.type("staging only")
    row = page.locator("button.memory")
    expect(row).to_have_count(1)  # a click while the list still moves may open nothing
    row.filter(has_text="Load tests run against staging only").click()
    page.get_by_role("button", name="Edit", exact=True).click()
    field = page.get_by_role("textbox", name="Statement")
    field.fill("Load tests run against staging only, with `make load`, after 19:00.")
    page.get_by_role("textbox", name="Headline").fill("when load tests run: staging, after 19:00")
    page.get_by_role("button", name="Save", exact=True).click()
    page.get_by_text("Saved").first.wait_for()
    memory = memory_of(web_home, "Load tests run")
    assert memory["headline"] == "when load tests run: staging, after 19:00"
    assert memory["content"].endswith("after 19:00.")

    page.get_by_role("button", name="Edit", exact=True).click()
    web_home.api(f"/v1/memories/{memory['id']}", "PATCH", {"content": "Load tests run on Sundays only."})
    field.fill("Load tests run at night only.")
    page.get_by_role("button", name="Save", exact=True).click()
    page.get_by_text("It was changed since you opened it.").wait_for()
    assert memory_of(web_home, "Load tests run")["content"] == "Load tests run on Sundays only."
    page.get_by_role("button", name="Save mine over it").click()
    page.get_by_role("button", name="Edit", exact=True).wait_for()
    assert memory_of(web_home, "Load tests run")["content"] == "Load tests run at night only."

    page.get_by_role("tab", name="Versions").click()
    page.locator("ol.versions li").nth(2).wait_for()
    page.get_by_role("region", name="Memory", exact=True).get_by_role(
        "button", name="Undo", exact=True
    ).click()
    page.get_by_text("Taken back", exact=True).first.wait_for()
    assert memory_of(web_home, "Load tests run")["content"] == "Load tests run on Sundays only."


def test_forget_merge_and_remember(go, web_home):
    page = go("/ui/memories")
    page.get_by_role("button", name="Remember", exact=True).click()
    page.get_by_role("textbox", name="Statement").fill("Invoices are numbered per year, starting at 1000.")
    page.get_by_role("dialog").get_by_role("button", name="Remember").click()
    page.get_by_text("Remembered").first.wait_for()
    made = memory_of(web_home, "Invoices are numbered")
    page.goto(f"{web_home.base}/ui/memories/{made['id']}")
    settle(page)
    page.get_by_role("button", name="Forget").click()
    page.get_by_text("Never recalled again").wait_for()
    assert memory_of(web_home, "Invoices are numbered")["status"] == "retired"


def test_the_review_queue_is_worked_through_with_keys(go, web_home):
    waiting = web_home.api("/v1/review")["review"]

    def shown(gone: int) -> None:
        number = len(waiting) - gone
        expect(page.locator(".review-count")).to_have_text(f"{number} statement{'' if number == 1 else 's'}")

    page = go("/ui/review")
    first = page.locator(".statement p").first.inner_text()
    page.keyboard.press("j")
    expect(page.locator(".statement p").first).not_to_have_text(first)
    second = page.locator(".statement p").first.inner_text()
    page.keyboard.press("a")
    page.get_by_text("Accepted").first.wait_for()
    shown(1)
    assert memory_of(web_home, second.rstrip("."))["status"] == "active"
    page.keyboard.press("e")
    page.get_by_role("textbox", name="Better words").fill("Shipping labels are kept for two hours.")
    page.keyboard.press("Control+Enter")
    shown(2)  # the first word in the corner may be gone by then
    assert memory_of(web_home, "kept for two hours")["status"] == "active"
    left = web_home.api("/v1/review")["review"]
    assert len(left) == len(waiting) - 2
    page.keyboard.press("r")
    page.get_by_text("Rejected").wait_for()
    shown(3)
    page.keyboard.press("u")
    page.get_by_text("Taken back", exact=True).first.wait_for()
    shown(2)
    assert len(web_home.api("/v1/review")["review"]) == len(left)
    page.keyboard.press("g")
    page.keyboard.press("r")  # goes to this page; it does not reject
    page.wait_for_timeout(300)
    assert len(web_home.api("/v1/review")["review"]) == len(left)


def test_a_trace_is_replayed_at_another_threshold_and_judged(go, web_home):
    rows = web_home.api("/v1/traces?outcome=injected&surface=prompt&limit=50")["recalls"]
    trace = next(row for row in rows if row["text"] == "commit this please" or row["injected"])
    page = go(f"/ui/traces/{trace['id']}")
    kept = page.locator('.lane[data-fate="injected"]')
    expect(kept).to_have_count(len(trace["injected"]))
    assert page.locator(".block pre").inner_text().count("- [") == len(trace["injected"])
    slider = page.get_by_role("slider", name="Level that is needed")
    slider.focus()
    for _ in range(3):
        page.keyboard.press("End")
    page.get_by_text("fewer").wait_for()
    # A rule that names its moment is certain: it stays at any threshold.
    certain = kept.locator(".relevance-number").all_inner_texts().count("1.00")
    assert certain < len(trace["injected"])
    expect(page.locator('.lane[data-now="gone"]')).to_have_count(len(trace["injected"]) - certain)
    page.keyboard.press("Home")
    page.get_by_text("more", exact=False).first.wait_for()
    page.get_by_role("button", name="Back to").click()
    row = kept.first
    row.get_by_role("button", name="Should not have been given").click()
    page.get_by_text("it should not have come").wait_for()
    verdicts = web_home.api(f"/v1/traces/{trace['id']}")["verdicts"]
    assert [one["useful"] for one in verdicts if one["memory_id"] == trace["injected"][0]] == [False]
    row.get_by_role("button", name="Was useful").click()
    page.get_by_text("Noted as useful").wait_for()
    page.locator("table.evidence").wait_for()  # the first is open


def test_an_override_makes_one_agent_differ_and_revert_makes_it_follow(go, web_home):
    def budget(agent: str) -> int:
        rows = web_home.api(f"/v1/settings?agent={agent}")["settings"]["settings"]
        return next(row["value"] for row in rows if row["key"] == "recall.budgets.prompt")

    page = go("/ui/settings?find=recall.budgets.prompt")
    setting = page.locator("li.setting", has_text="before a prompt")
    number = setting.get_by_role("textbox")
    number.fill("700")
    number.press("Enter")
    setting.get_by_text("yours").wait_for()
    assert (budget("plan"), budget("build")) == (700, 700)

    page.goto(f"{web_home.base}/ui/settings?find=recall.budgets.prompt&of=agents&name=plan")
    settle(page)
    setting.get_by_text("using default").wait_for()
    number.fill("300")
    number.press("Enter")
    setting.get_by_text("override").wait_for()
    assert (budget("plan"), budget("build")) == (300, 700)
    setting.get_by_role("button", name="Why").click()
    page.get_by_text("this agent won").wait_for()
    number.fill("99999999")
    number.press("Enter")
    setting.get_by_role("alert").wait_for()
    assert budget("plan") == 300
    setting.get_by_role("button", name="Revert").click()
    setting.get_by_text("using default").wait_for()
    assert budget("plan") == 700

    page.goto(f"{web_home.base}/ui/settings?find=recall.budgets.prompt")
    settle(page)
    setting.get_by_role("button", name="Revert").click()
    setting.get_by_role("button", name="Revert").wait_for(state="detached")
    assert (budget("plan"), budget("build")) == (800, 800)


def test_settings_are_six_groups_of_questions_and_the_model_is_tested_with_a_click(go, web_home):
    key = "sk-live-0123456789abcdef"
    page = go("/ui/settings")
    expect(page.locator(".settings-title")).to_have_count(6)
    shown = page.locator("main").inner_text()
    assert "recall." not in shown
    page.get_by_role("button", name="All settings").click()
    page.get_by_role("heading", name="Recall: reranker").wait_for()
    page.get_by_role("textbox", name="Search all settings").fill("leaves this machine")
    expect(page.locator("li.setting")).to_have_count(3)
    page.get_by_role("textbox", name="Search all settings").fill("")
    model = page.get_by_role("region", name="A language model that writes up sessions")
    expect(model.get_by_role("button", name="Test it")).to_have_count(0)  # nothing to test while it is off
    with writer_server() as server:
        server.replies = [
            Reply(body=json.dumps(openai_answer("ready"))),
            Reply(status=401, body=json.dumps({"error": f"Incorrect API key provided: {key}"})),
        ]
        values = {"provider": "openai", "endpoint": server.address, "model": "small", "api_key_env": "PATH"}
        web_home.api("/v1/settings", "PATCH", {"values": {"capture.extractor": values}})
        page.reload()
        settle(page)
        assert "Restart needed" not in page.locator("main").inner_text()
        model.get_by_role("button", name="Test it").click()
        model.get_by_text("openai:small answers.").wait_for()
        told = model.inner_text()
        assert all(
            part in told
            for part in ("Came: “ready”", "seconds, 100 tokens in and 20 out", "Answer with the one word")
        )
        model.get_by_role("button", name="Test it").click()
        model.get_by_text("refused the key: status 401").wait_for()
        assert "capture.extractor.api_key_env" in model.inner_text()
    name = model.locator("li.setting", has_text="What is the model called?").get_by_role("textbox")
    name.fill("smaller")
    name.press("Enter")
    model.get_by_text("Restart needed").wait_for()
    level = page.get_by_role("region", name="What comes by itself")
    level.get_by_role("switch").last.click(force=True)  # only watch: holds at once
    settle(page)
    assert "Restart needed" not in level.inner_text()
    log = "".join(path.read_text() for path in (web_home.home / "log").glob("*") if path.is_file())
    assert key not in page.content() + log
    for name in ("capture.extractor", "recall.shadow"):
        web_home.api("/v1/settings", "PATCH", {"reset": [name]})


def test_a_prompt_that_is_tried_says_what_each_stage_keeps_and_stores_nothing(go, web_home):
    before = web_home.api("/v1/status")["store"]["traces"]
    page = go("/ui/try")
    page.get_by_role("textbox", name="Prompt").fill("commit this please")
    page.keyboard.press("Control+Enter")
    page.locator(".lane").first.wait_for()
    page.get_by_text("How it was decided").click()
    page.locator(".stage-list").get_by_text("Checks whether it may come").wait_for()
    page.get_by_role("slider", name="Level that is needed").focus()
    page.keyboard.press("Home")
    page.locator(".gate b").wait_for()
    page.get_by_role("textbox", name="Prompt").fill("thanks, looks good")
    page.keyboard.press("Control+Enter")
    page.locator(".told").get_by_text(
        "Silent: the prompt asks for no work, such as thanks or a greeting."
    ).wait_for()
    assert web_home.api("/v1/status")["store"]["traces"] == before


def test_a_memory_says_why_a_prompt_does_not_give_it_and_one_click_lets_it_through_and_takes_it_back(
    go, web_home
):
    memory = memory_of(web_home, "Load tests run")
    words = "put the service under load"
    page = go(f"/ui/memories/{memory['id']}")
    page.get_by_role("link", name="Why not given?").click()
    page.get_by_role("textbox", name="Prompt").fill(words)
    page.get_by_role("button", name="Ask", exact=False).click()
    told = page.get_by_role("region", name="Why it is not given")
    told.get_by_text("It is not given before this prompt: it reached").wait_for()
    roots = [row["project"]["root"] for row in web_home.api("/v1/projects")["projects"]]
    asked = {"memory": memory["id"], "text": words, "surface": "prompt"}
    said = [web_home.api("/v1/why-not", "POST", {**asked, "cwd": root}) for root in roots]
    shown = told.inner_text()
    (same,) = [reply for reply in said if reply["sentences"][0] in shown]
    assert len(same["evidence"]) == told.locator(".evidence tbody tr").count() == 6
    assert f"{sum(part['points'] for part in same['evidence'])} of 100" in shown
    assert not any(sign in shown for sign in ("+0.", "+1.", "logit", "space semantic"))
    remedy = same["remedies"][0]
    assert remedy["text"] in shown
    assert remedy["measured"] in shown
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.set_viewport_size({"width": 1440, "height": 900})
    told.get_by_role("button", name="Do it").first.click()
    told.get_by_text("It is given before this prompt").wait_for()
    page.get_by_role("button", name="Undo").click()
    told.get_by_text("It is not given before this prompt: it reached").wait_for()
    after = web_home.api(f"/v1/memories/{memory['id']}")["memory"]
    assert after["trigger"] == memory["trigger"]


def test_what_happens_elsewhere_appears_by_itself(go, web_home):
    page = go("/ui/traces")
    page.locator(".live[data-on]").first.wait_for(state="attached")
    shop = web_home.home.parent / "work" / "shop"
    event = {
        "event": "prompt",
        "session": "live-one",
        "cwd": str(shop),
        "text": "Write a test for gift vouchers",
    }
    web_home.hook(json.dumps(event))
    page.locator("a.recall", has_text="gift vouchers").first.wait_for()


def test_a_daemon_that_is_gone_is_said_and_found_again_by_itself(web_browser, tmp_path, axe_source):
    from e2e.web.driver import served

    home = tmp_path / "home"
    with served(home) as place:
        page = signed_in(web_browser, place)
        page.get_by_role("heading", name="Nothing is remembered yet").wait_for()
        data = "performance.getEntriesByType('resource').some(({ name }) => /DataPage.*js/.test(name))"
        while not page.evaluate(data):
            page.wait_for_timeout(100)
        looked = Looked()
        load_axe(page, axe_source)
        looked.look(page, "first steps")
        place.run("stop")
        notice = page.get_by_role("alert").filter(has_text="The daemon does not answer")
        notice.get_by_text("tacit ui").wait_for()  # nothing was clicked
        page.get_by_role("link", name="Sessions", exact=True).click()
        page.get_by_text("Run `tacit ui` again.").first.wait_for()
        looked.look(page, "away")
        assert looked == Looked()

        # `tacit ui` opens another tab of the same browser; this one goes on without a click.
        looks = f"{place.base}/ui/"
        page.route(looks, lambda route: route.abort())  # so that the sign-in page comes first
        started = json.loads(place.run("ui", "--json", "--port", str(place.port)).stdout)
        page.get_by_role("heading", name="Sign in from your terminal").wait_for()
        page.unroute(looks)
        other = page.context.new_page()
        other.goto(started["url"])
        other.get_by_role("heading", name="Nothing is remembered yet").wait_for()
        page.get_by_text("No session yet").wait_for()
        page.locator(".live[data-on]").first.wait_for(state="attached")
        expect(notice).to_have_count(0)
        page.context.close()


@pytest.mark.timeout(120)
def test_long_work_shows_how_far_it_is_and_is_found_again(web_browser, tmp_path, axe_source):
    from contextlib import closing
    from sqlite3 import connect

    from e2e.web.driver import served
    from e2e.web.seed import fill_many

    home = tmp_path / "home"
    fill_many(home, 300)  # without vectors
    with closing(connect(home / "tacit.db")) as raw:
        raw.execute("UPDATE scopes SET active = active + 1")
        raw.commit()
    with served(home) as place:
        page = signed_in(web_browser, place)
        page.goto(f"{place.base}/ui/")
        page.get_by_text("How it runs").click()
        page.get_by_role("button", name="Renew vectors").click()
        work = page.get_by_role("region", name="Renewing vectors")
        work.locator("progress[max='300']").wait_for()
        assert page.get_by_role("button", name="Renew vectors").get_attribute("aria-disabled") == "true"
        load_axe(page, axe_source)
        assert findings(page) == []
        page.reload()
        work.get_by_text("300 vectors").wait_for(timeout=60_000)
        work.get_by_text("Renewed 300 vectors").wait_for(timeout=60_000)
        assert place.api("/v1/status")["store"]["vectors_missing"] == 0

        page.get_by_text("How it runs").click()
        page.get_by_role("button", name="Check the store").focus()
        page.keyboard.press("Enter")
        check = page.get_by_role("region", name="Check of the store")
        check.get_by_text("1 problem, found just now.").wait_for()
        check.get_by_text("1 scopes count other memories than they hold.").wait_for()
        page.goto(f"{place.base}/ui/memories?text=service")  # all of them; a search ends before
        page.get_by_text("200 memories, the best matches; add words to find others").wait_for()
        page.context.close()
