"""The pages in a real browser: headless Chromium, driven by playwright."""

from __future__ import annotations

import shutil

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


@pytest.fixture(scope="module")
def browser():
    api = pytest.importorskip("playwright.sync_api")
    if CHROMIUM is None:
        pytest.skip("no chromium here; apt-get install chromium")
    with api.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.fixture
def page(browser):
    """A page that fails the test on any script error, and that loads nothing from elsewhere."""
    faults = []
    page = browser.new_page()
    page.set_default_timeout(30_000)
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("console", lambda m: faults.append(m.text) if "Security" in m.text else None)
    page.on("request", lambda r: None if "127.0.0.1" in r.url else faults.append(r.url))
    yield page
    page.close()
    assert [f for f in faults if not f.startswith("data:")] == []


def score(page, truth, completion):
    page.fill("#truth", truth)
    page.fill("#completion", completion)
    page.click("button")
    page.wait_for_selector("#verdict:not([hidden]), #fault:not(:empty)")
    return {
        row.query_selector("th").inner_text(): row.query_selector("td").inner_text()
        for row in page.query_selector_all("#verdict tr")
    }


def test_a_completion_is_scored_and_explained(page, obedient_url):
    page.goto(obedient_url)
    page.wait_for_selector("#domain option", state="attached")
    assert page.inner_text("#truth-hint") == '(string, such as "it")'
    rows = score(page, "it", "it")
    assert page.inner_text("#verdict caption") == "score 1"
    assert page.get_attribute("#verdict", "data-kind") == "right"
    assert (rows["status"], rows["extracted"], rows["reason"]) == ("scored", "it", "equal")
    assert (rows["component exact"], rows["version"]) == ("1", "1.0")


def test_wrong_and_unscored_look_different(page, obedient_url):
    page.goto(obedient_url)
    page.wait_for_selector("#domain option", state="attached")
    score(page, "it", "that")
    assert page.get_attribute("#verdict", "data-kind") == "wrong"
    rows = score(page, "it", "abstain I cannot say")
    assert page.inner_text("#verdict caption") == "not scored"
    assert page.get_attribute("#verdict", "data-kind") == "none"
    assert (rows["status"], rows["reason"]) == ("abstained", "I cannot say")


def test_what_a_completion_says_is_text_not_markup(page, obedient_url):
    page.goto(obedient_url)
    page.wait_for_selector("#domain option", state="attached")
    rows = score(page, "it", "abstain <img src=x onerror=document.title='hacked'>")
    assert rows["reason"] == "<img src=x onerror=document.title='hacked'>"
    assert page.title() == "Cascade RL: score a completion"
    assert page.query_selector("#verdict img") is None


def test_a_refusal_is_shown(page, serve, obedient):
    page.goto(serve(obedient, limits={"body_bytes": 1024}))
    page.wait_for_selector("#domain option", state="attached")
    score(page, "it", "x" * 3000)
    assert page.inner_text("#fault") == "413: the body is larger than 1024 bytes; send fewer items"


def test_with_a_token_the_browser_asks_for_it_once(browser, serve, obedient):
    token = "0123456789abcdef"
    url = serve(obedient, tokens=[token])
    context = browser.new_context(http_credentials={"username": "me", "password": token})
    page = context.new_page()
    page.goto(url)
    page.wait_for_selector("#domain option", state="attached")
    score(page, "it", "it")
    assert page.inner_text("#verdict caption") == "score 1"
    context.close()


def test_the_routes_are_shown_with_scored_examples(page, obedient_url):
    page.goto(obedient_url + "/docs")
    page.wait_for_selector("h3")
    heads = [h.inner_text() for h in page.query_selector_all("h3")]
    assert "POST /v1/rewards" in heads
    assert "POST /get_reward" in heads
    page.click("text=example obedient: answer")
    assert '"score": 1' in page.inner_text("details[open] pre")
    page.click("text=example obedient: request")
    assert f"curl -X POST {obedient_url}/v1/rewards" in page.inner_text("details[open] >> nth=0")
