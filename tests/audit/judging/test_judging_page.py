"""The page on which one judges: by plain HTTP, and in a browser."""

import http.client
import json
from contextlib import suppress
from functools import partial
from threading import Thread
from urllib.parse import urlsplit

import numpy as np
import pytest

from ragsweep.core.errors import ConfigError
from ragsweep_audit.judging.deciding_by_judgments import _ask
from ragsweep_audit.judging.journal import Journal
from ragsweep_audit.judging.page_judge import PageJudge
from ragsweep_audit.judging.pool import Pair, Pool
from ragsweep_audit.judging.shown_text import Shown
from ragsweep_audit.judging.state import decision

QUERIES = 12
UNREAD_MS = 350  # after which the page takes an answer
HOSTILE = "</div><img src=x onerror=alert(1)> The iron tablets\nare kept dry."


def shown(document):
    return Shown(f"manual.pdf, page {document}", "Before.\n" * 90, HOSTILE, "\nAfter.")


def pool():
    """Two configurations that rank other documents, and share none."""
    pairs = [
        Pair(f"q{query}", f"How are iron tablets {query} kept?", f"d{document}", partial(shown, document))
        for query in range(QUERIES)
        for document in range(2)
    ]
    weights = np.tile(np.eye(2), QUERIES) / QUERIES
    return Pool(["a", "b"], pairs, weights, np.full(len(pairs), np.nan), QUERIES, "dcg", 1)


class Judging:
    """Judging by a page, in a thread of its own."""

    def __init__(self, path, highest=1):
        self.journal = Journal(path, pool(), 0.0, 0.05, 1, highest, "jo")
        self.page = PageJudge(highest, 0)
        self.address = urlsplit(self.page.address)
        self._thread = Thread(target=self._judge, daemon=True)
        self._thread.start()

    def _judge(self):
        _ask(self.journal, self.page, None)
        self.page.end([*decision(self.journal)])

    def send(self, method, place, body=None, host=None):
        """Status and content of the answer to a request below the page's folder, or of a whole path."""
        connection = http.client.HTTPConnection(self.address.hostname, self.address.port, timeout=30)
        path = place if place.startswith("/") else f"{self.address.path}{place}"
        connection.request(method, path, body, {"Host": host} if host else {})
        reply = connection.getresponse()
        return reply.status, reply.read()

    def state(self, seen=""):
        return json.loads(self.send("GET", f"state?{seen}")[1])

    def give(self, question, answer):
        body = json.dumps({"number": question["number"], "again": question["again"], "answer": answer})
        return self.send("POST", "answer", body)[0]

    def stop(self):
        with suppress(ConnectionError):  # it has ended already
            state = self.state("0")
            if "end" not in state:
                self.give(state["question"], "q")
                self.state(state["version"])
        self._thread.join(30)
        assert not self._thread.is_alive()


@pytest.fixture
def judging(tmp_path):
    started = Judging(tmp_path / "judged.jsonl")
    yield started
    started.stop()


def test_an_answer_counts_for_the_question_that_it_names_alone(judging):
    state = judging.state("0")
    assert judging.give(state["question"], "1") == 200
    following = judging.state(state["version"])
    assert judging.give(state["question"], "0") == 409
    assert judging.give(following["question"], "7") == judging.give(following["question"], None) == 409
    assert judging.journal.grades == {1: 1}
    assert judging.give(following["question"], "u") == 200
    assert judging.state(following["version"])["question"] == state["question"]
    assert judging.journal.grades == {}


def test_of_many_answers_at_once_one_counts(judging):
    state = judging.state("0")
    statuses = []
    clicks = [Thread(target=lambda: statuses.append(judging.give(state["question"], "1"))) for _ in range(20)]
    for click in clicks:
        click.start()
    for click in clicks:
        click.join()
    assert sorted(statuses) == [200] + [409] * 19
    judging.state(state["version"])
    assert judging.journal.grades == {1: 1}


@pytest.mark.parametrize(
    ("place", "body", "host"),
    [
        ("/", None, None),
        ("/state", None, None),
        ("/answer", "{}", None),
        ("answer", "{}", "evil.example:80"),
        ("", None, "evil.example"),
        ("answer", "x" * 2000, None),
        ("other", None, None),
    ],
)
def test_nobody_answers_who_does_not_know_the_address(judging, place, body, host):
    assert judging.send("GET" if body is None else "POST", place, body, host) == (404, b"")


@pytest.mark.parametrize("body", ["", "[]", "{", "\x00", '{"number": 1}', '{"number": [], "answer": {}}'])
def test_what_is_no_answer_is_not_taken(judging, body):
    assert judging.send("POST", "answer", body)[0] == 409
    assert judging.journal.grades == {}


def test_a_port_that_is_taken_is_named(judging):
    with pytest.raises(ConfigError, match=f"--port: {judging.address.port} cannot be used"):
        PageJudge(1, judging.address.port)


@pytest.fixture
def opened(browser, judging):
    """The page in a browser, in which nothing goes wrong."""
    context = browser.new_context(viewport={"width": 390, "height": 800})
    errors = []

    def tab():
        page = context.new_page()
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("request", lambda request: request.url.startswith(judging.page.address) or errors.append(request.url))
        page.goto(judging.page.address)
        page.wait_for_selector("#question:not([hidden])")
        return page

    yield tab
    context.close()
    assert errors == []


def next_question(page, press):
    """Do something that answers, once the question can have been read, and wait for what is shown then."""
    page.wait_for_timeout(UNREAD_MS)
    before = page.evaluate("version")
    press()
    page.wait_for_function("before => version !== before", arg=before)


@pytest.mark.browser
def test_keys_and_buttons_answer_and_the_decision_is_shown(opened, judging):
    page = opened()
    assert page.locator("img").count() == 0
    assert page.inner_text("#match") == HOSTILE
    assert page.inner_text("#text").count("Before.") == 90
    assert page.locator("#match").bounding_box()["y"] < 800 > page.locator("#query").bounding_box()["y"] >= 0
    assert {each.lower() for each in page.locator("mark").all_inner_texts()} == {"iron", "tablets", "kept"}
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    next_question(page, lambda: page.keyboard.press("1"))
    next_question(page, lambda: page.get_by_role("button", name="0 not relevant").click())
    next_question(page, lambda: page.keyboard.press("?"))
    assert [*judging.journal.grades.values()] == [1, 0, None]
    assert page.inner_text("#state").startswith("after 3: ")
    next_question(page, lambda: page.keyboard.press("u"))
    assert len(judging.journal.grades) == 2
    page.keyboard.press("x")
    page.keyboard.press("Control+1")
    while page.locator("#question").is_visible():
        grade = "1" if page.inner_text("#where").endswith("page 0") else "0"
        next_question(page, lambda grade=grade: page.keyboard.press(grade))
    assert page.inner_text("#end p:first-child").startswith("Ship a: the best on these 12 queries")
    assert not page.locator("footer").is_visible()


@pytest.mark.browser
def test_two_tabs_a_reload_the_back_button_and_a_double_click_answer_once(opened, judging):
    first, second = opened(), opened()
    next_question(second, lambda: first.get_by_role("button", name="1 relevant").dblclick())
    first.wait_for_function(
        "query => document.getElementById('query').textContent === query", arg=second.inner_text("#query")
    )
    assert [*judging.journal.grades] == [1]
    shown = second.inner_text("#query"), second.inner_text("#where")
    second.reload()
    second.goto("about:blank")
    second.go_back()
    second.wait_for_selector("#question:not([hidden])")
    assert (second.inner_text("#query"), second.inner_text("#where")) == shown
    second.wait_for_timeout(UNREAD_MS)
    next_question(first, lambda: second.keyboard.press("0"))
    assert judging.journal.grades == {1: 1, 2: 0}


@pytest.mark.browser
def test_stopping_says_where_the_judgments_are(opened, judging):
    page = opened()
    next_question(page, lambda: page.keyboard.press("q"))
    assert "Not decided" in page.inner_text("#end")
