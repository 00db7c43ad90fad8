"""The panel in a real browser, on the spans of real agents: every view, two widths, two languages, keys, hostile content."""

import os
import re
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
from langchain_core.tools import tool

from agent_reach import Evaluation, Reach, Routes, Topology
from tests.integration.agents import ask, graph, user
from tests.integration.browser import browsing
from tests.integration.evaluated import LINES, agent
from tests.integration.serving import serving, until

SHOTS = Path(__file__).parents[2] / "docs" / "images"
VIEWS = {
    "/": "Agents, the worst first",
    "/sessions": "Sessions",
    "/session/observing-11": "Where it broke",
    "/intents": "Needed tool by intent",
    "/intents?against=1": "compare with route version",
    "/knowledge": "Recall, semantic hit and context utilisation over time",
    "/compensation": "The ladder",
    "/evaluations": "Nodes reached",
}
WIDTHS = {"desktop": {"width": 1200, "height": 900}, "phone": {"width": 360, "height": 740}}
EVIL = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"


def hostile_agent(endpoint):
    """A session in which a tool's name, its result and the ids are HTML."""
    reach = Reach(Routes(tools={"shout": {"read_only": True}}), otlp=endpoint, capture_payloads=True)

    @tool
    def shout(text: str) -> dict:
        """Shout."""
        return {"error": EVIL, "text": text}

    app = graph(reach.tool_node([shout]), [ask(("shout", {"text": EVIL})), EVIL], [shout])
    app.invoke(user(EVIL), {"callbacks": [reach.tracker], "configurable": {"thread_id": f"evil/{EVIL}?#%"}})
    assert reach.shutdown()


def hostile_evaluation(endpoint):
    """Runs of two agents over a task whose names are HTML; the second one misses a node."""
    task = Topology(name=EVIL, messages=["Go."], nodes=[{"id": "find", "tools": ["find"]}, {"id": EVIL, "tools": ["refund"]}])
    for name, lines in (("careful", LINES), (EVIL, [LINES[0], "Done."])):
        Evaluation(task, agent(lines), 5, agent=name, otlp=endpoint, compensation=False).run()


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A server that holds the demo and a hostile session."""
    with serving(tmp_path_factory.mktemp("panel") / "data") as served:
        hostile_agent(served.http)
        hostile_evaluation(served.http)
        command = [str(Path(sys.executable).parent / "agent-reach"), "demo", "--otlp", served.http]
        subprocess.run(command, check=True, capture_output=True, timeout=120)
        # Twelve customers twice, ten runs and the hostile session: only then do the snapshots hold all of them.
        assert until(lambda: '<b class="big">35</b>' in httpx.get(f"{served.panel}/").text, 90)
        yield served


@pytest.fixture(scope="module")
def browser():
    with browsing() as opened:
        yield opened


@pytest.fixture
def page(browser, server):
    """A page that fails the test when the browser complained."""
    context = browser.new_context(base_url=server.panel, viewport=WIDTHS["desktop"], locale="en-GB")
    opened = context.new_page()
    complaints = []
    opened.on("console", lambda message: complaints.append(message.text) if message.type in ("error", "warning") else None)
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    yield opened
    context.close()
    assert complaints == []


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("path", VIEWS)
def test_every_view_shows_its_content_and_fits(page, path, width):
    page.set_viewport_size(WIDTHS[width])
    page.goto(path)
    assert VIEWS[path] in page.inner_text("main")
    assert page.evaluate("document.documentElement.scrollWidth") <= WIDTHS[width]["width"]
    if os.environ.get("SCREENSHOTS"):
        SHOTS.mkdir(parents=True, exist_ok=True)
        name = path.strip("/").split("/")[0] or "now"
        if width == "desktop" and name in ("now", "session", "compensation"):
            page.screenshot(path=SHOTS / f"{name}.png")


def test_now_says_who_is_broken_on_which_link_and_what_was_done(page):
    page.goto("/")
    ranking = page.locator("tbody").first.inner_text()
    assert ranking.index("orders") < ranking.index("policy")
    assert "■ broken" in page.inner_text("main")
    failures = page.locator("table").nth(1).inner_text()
    assert "missing: order_id" in failures
    assert "reroute → orders_replica ✓" in failures
    page.locator("table").nth(1).get_by_text("observing-11").click()
    assert "missing: order_id" in page.inner_text("#event")


def test_a_click_on_a_bar_opens_the_event_in_full(page):
    page.goto("/session/observing-2")
    page.locator("svg.timeline a").first.click()
    detail = page.inner_text("#event")
    assert "not captured" in detail
    page.locator("#event summary").click()
    assert "agent_reach.event" in page.inner_text("#event")


def test_filters_stay_in_the_url_and_reach_every_view(page):
    page.goto("/?range=24h")
    page.select_option("select[name=agent]", "orders")
    page.wait_for_url(re.compile("agent=orders"))
    assert page.locator("table").first.locator("tbody tr").count() == 1
    page.get_by_role("link", name="Compensation").click()
    assert "agent=orders" in page.url
    assert page.input_value("select[name=range]") == "24h"


def test_keys_search_walk_open_and_go_back(page):
    page.goto("/sessions")
    page.keyboard.press("j")
    page.keyboard.press("j")
    chosen = page.locator("tr.at a").inner_text()
    page.keyboard.press("k")
    assert page.locator("tr.at a").inner_text() != chosen
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("/session/"))
    assert chosen in page.inner_text("h1")
    page.keyboard.press("Escape")
    page.wait_for_url(re.compile("/sessions"))
    page.keyboard.press("/")
    page.keyboard.type("compensating-1")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("search=compensating-1"))
    shown = page.locator("tbody tr").all_inner_texts()
    assert shown
    assert all("compensating-1" in row for row in shown)


def test_what_a_tool_wrote_is_shown_as_text_and_never_runs(page):
    page.goto("/sessions?search=evil")
    page.locator("tbody a").first.click()
    assert EVIL in page.inner_text("h1")
    page.locator("tbody tr", has_text="tool_call").locator("a").first.click()
    assert "onerror" in page.inner_text("#event")
    assert page.locator("main script, main img").count() == 0
    page.goto("/?agent=" + EVIL + "&search=" + EVIL)
    page.wait_for_timeout(300)
    assert "owned" not in page.title()


def test_the_policy_forbids_what_the_page_does_not_need(server):
    headers = httpx.get(server.panel).headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert "server" not in headers


def test_chinese_is_kept_once_chosen(page):
    page.goto("/")
    page.get_by_text("中文").click()
    assert "智能体排名" in page.inner_text("main")
    page.goto("/compensation")
    assert "补偿阶梯" in page.inner_text("main")
    page.get_by_text("English").click()
    assert "The ladder" in page.inner_text("main")


def test_new_data_arrives_without_a_jump(page, server):
    page.clock.install()
    page.goto("/sessions")
    before = page.locator("tbody tr").count()
    page.evaluate("scrollTo(0, 200)")
    reach = Reach(otlp=server.http)

    @tool
    def ping() -> str:
        """Ping."""
        return "pong"

    app = graph(reach.tool_node([ping]), [ask(("ping", {})), "Done."], [ping])
    app.invoke(user("ping"), {"callbacks": [reach.tracker], "configurable": {"thread_id": "fresh-1"}})
    assert reach.shutdown()
    server.settle()
    page.clock.run_for(11_000)
    page.get_by_text("fresh-1").wait_for()
    assert page.locator("tbody tr").count() == before + 1
    assert page.evaluate("scrollY") == 200


def test_an_empty_range_says_what_to_run(page):
    page.goto("/?until=1000000000")
    assert "agent-reach demo --otlp" in page.inner_text("main")


def test_a_session_that_is_not_there_says_so(server):
    answer = httpx.get(f"{server.panel}/session/nosuch")
    assert answer.status_code == 404
    assert "No such session" in answer.text


def test_the_pages_read_without_a_script(browser, server):
    context = browser.new_context(base_url=server.panel, java_script_enabled=False)
    page = context.new_page()
    page.goto("/")
    page.select_option("select[name=range]", "24h")
    page.get_by_role("button", name="show").click()
    assert "range=24h" in page.url
    assert "triage" in page.inner_text("main")
    context.close()


def test_dark_mode_keeps_text_readable(browser, server):
    context = browser.new_context(base_url=server.panel, color_scheme="dark")
    page = context.new_page()
    page.goto("/")
    colours = page.evaluate("[getComputedStyle(document.body).color, getComputedStyle(document.body).backgroundColor]")
    ink, paper = (sum(map(int, re.findall(r"\d+", colour)[:3])) for colour in colours)
    assert ink - paper > 500
    context.close()
