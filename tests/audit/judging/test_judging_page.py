"""What a judge reads: the whole unit, at the terminal, and on the page by plain HTTP and in a browser."""

import http.client
import io
import re
import sys
from contextlib import suppress
from functools import partial
from threading import Thread
from urllib.parse import urlencode, urlsplit

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragsweep.core.errors import ConfigError
from ragsweep.datasets import Chunker, Collection, Dataset, Document, Query
from ragsweep_audit.judging.deciding_by_judgments import _ask
from ragsweep_audit.judging.journal import Journal
from ragsweep_audit.judging.judges import TerminalJudge
from ragsweep_audit.judging.page_judge import PageJudge
from ragsweep_audit.judging.pool import Asked, Pair, Pool, Shown, shown_unit
from ragsweep_audit.judging.race_state import decision

TEXT = "One two three four five six. Seven eight nine. Ten eleven twelve."
SPANS = st.lists(st.tuples(st.integers(0, 60), st.integers(2, 30)), min_size=1, max_size=6, unique=True)
QUERIES = 6
UNREAD_MS = 350  # after which the page takes an answer
HOSTILE = "</div><img src=x onerror=alert(1)> The iron tablets\nare kept dry."


class Cutting(Chunker):
    """A chunker that returns these spans."""

    def __init__(self, spans):
        self.spans = spans

    def split(self, text):
        return self.spans


def dataset(spans, *texts):
    pages = [(label, f"a.pdf#{label}", text) for label, text in zip(("i", "ii"), texts, strict=False)]
    collection = Collection("made", "page", (Document.from_pages("a.pdf", pages),), (Query("q", "What?"),), ())
    return Dataset.from_collection(collection, Cutting(spans), may_lack_judgments=True)


@given(SPANS, st.data())
def test_a_unit_is_put_together_from_passages_that_overlap_or_leave_gaps(starts, data):
    spans = sorted((start, min(start + size, len(TEXT))) for start, size in starts)
    made = dataset(spans, TEXT)
    passage = data.draw(st.integers(0, len(spans) - 1))
    shown = shown_unit(made, 0, passage)
    covered = sorted({place for start, end in spans for place in range(start, end)})
    assert shown.match == made.passages[passage].text
    assert "".join("".join(shown[1:]).split()) == "".join("".join(TEXT[place] for place in covered).split())


def test_a_page_is_shown_without_the_other_pages_and_has_its_label():
    made = dataset([(0, 5), (3, 8)], "Iron tea", "Milk oil")
    assert shown_unit(made, 1, 3) == Shown("a.pdf, page ii", "Mil", "k oil", "")


@given(st.integers(1, 200), *[st.text("ab ", max_size=60)] * 3)
def test_a_cut_text_begins_with_the_passage_and_says_how_much_is_missing(most, before, match, after):
    cut = Shown("a", before, match, after).cut(most)
    if most >= len(before + match + after):
        assert cut[1:] == (before, match, after)
    else:
        assert cut.match == match[:most]
        left_out = [int(word) for part in (cut.before, cut.after) for word in part.split() if word.isdigit()]
        assert sum(left_out) == len(before + match + after) - most


def test_the_terminal_shows_what_fits_until_all_is_asked_for(monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdin", io.StringIO("a1"))
    pair = Pair("q", "What?", "d", lambda: Shown("a.pdf", "first " * 999, "the match", " last" * 999))
    assert TerminalJudge(1).answer(Asked(1, pair, again=False), "after 0") == 1
    cut, whole = capsys.readouterr().out.split("[a] show all")
    assert "| the match" in cut
    assert "more characters]" in cut
    assert whole.count("first") == whole.count("last") == 999
    assert "more characters]" not in whole


# The page


def shown(document):
    return Shown(f"manual.pdf, page {document}", "Before.\n" * 90, HOSTILE, "\nAfter.")


def pool():
    """Two configurations that rank other documents, and share none."""
    pairs = [
        Pair(f"q{query}", f"How are iron tablets {query} kept?", f"d{document}", partial(shown, document))
        for query in range(QUERIES)
        for document in range(2)
    ]
    ranks = np.tile(np.eye(2, dtype=int) - 1, QUERIES)
    return Pool(["a", "b"], pairs, ranks, np.full(len(pairs), np.nan), QUERIES, "dcg", 1)


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

    def shown(self):
        """The name of the question that the page shows; None if it shows the decision."""
        status, page = self.send("GET", "")
        assert status == 200
        asked = re.search(r'name="asked" value="(.*?)"', page.decode())
        return asked and asked[1]

    def give(self, asked, answer):
        assert self.send("POST", "", urlencode({"asked": asked, "answer": answer}))[0] == 303

    def stop(self):
        with suppress(ConnectionError):  # it has ended already
            if asked := self.shown():
                self.give(asked, "q")
                self.shown()
        self._thread.join(30)
        assert not self._thread.is_alive()


@pytest.fixture
def judging(tmp_path):
    started = Judging(tmp_path / "judged.jsonl")
    yield started
    started.stop()


def test_an_answer_counts_for_the_question_that_it_names_alone_and_of_many_at_once_one(judging):
    first = judging.shown()
    judging.give(first, "1")
    following = judging.shown()
    assert following != first
    judging.give(first, "0")
    judging.give(following, "7")
    judging.give(following, "")
    assert judging.shown() == following
    assert judging.journal.grades == {1: 1}
    judging.give(following, "u")
    assert judging.shown() == first
    assert judging.journal.grades == {}
    clicks = [Thread(target=judging.give, args=[first, "1"]) for _ in range(20)]
    for click in clicks:
        click.start()
    for click in clicks:
        click.join()
    judging.shown()
    assert judging.journal.grades == {1: 1}


FOREIGN = [  # the place, the content and the host of a request
    ("/", None, None),
    ("/", "asked=1&answer=1", None),
    ("", "asked=1&answer=1", "evil.example:80"),
    ("", None, "evil.example"),
    ("", "x" * 2000, None),
    ("other", None, None),
]


def test_nobody_answers_who_does_not_know_the_address_and_neither_what_is_sent_nor_shown_is_taken_for_more(judging):
    for place, body, host in FOREIGN:
        assert judging.send("GET" if body is None else "POST", place, body, host) == (404, b""), (place, body, host)
    for body in ("", "[]", "\x00", "asked=1", "answer=1", "asked=1&answer=", "asked=%ff&answer=%ff"):
        assert judging.send("POST", "", body)[0] == 303
        assert judging.shown() == "1"
    assert judging.journal.grades == {}
    page = judging.send("GET", "")[1].decode()
    assert "<img" not in page
    assert "&lt;img src=x onerror=alert(1)&gt;" in page
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
        page.wait_for_selector("#question")
        return page

    yield tab
    context.close()
    assert errors == []


def next_question(page, press):
    """Do something that answers, once the question can have been read, and wait for the page that follows."""
    page.wait_for_timeout(UNREAD_MS)
    with page.expect_navigation():
        press()


@pytest.mark.browser
def test_keys_and_buttons_answer_and_the_decision_is_shown(opened, judging):
    page = opened()
    assert page.locator("img").count() == 0
    assert page.inner_text("#match") == HOSTILE
    assert page.inner_text("#text").count("Before.") == 90
    assert page.locator("#match").bounding_box()["y"] < 800 > page.locator("#query").bounding_box()["y"] >= 0
    assert {word.lower() for word in page.locator("mark").all_inner_texts()} == {"iron", "tablets", "kept"}
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
    while page.locator("#question").count():
        grade = "1" if page.inner_text("#where").endswith("page 0") else "0"
        next_question(page, lambda grade=grade: page.keyboard.press(grade))
    assert page.inner_text("#end p:first-child").startswith(f"Ship a: the best on these {QUERIES} queries")


@pytest.mark.browser
def test_an_old_tab_the_back_button_and_a_double_click_answer_no_other_question(opened, judging):
    first, second = opened(), opened()
    next_question(first, lambda: first.get_by_role("button", name="1 relevant").dblclick())
    assert [*judging.journal.grades] == [1]
    next_question(second, lambda: second.keyboard.press("0"))  # it shows what was answered in the other tab
    assert judging.journal.grades == {1: 1}
    assert second.inner_text("#where") == first.inner_text("#where")
    second.goto("about:blank")
    second.go_back()
    second.wait_for_selector("#question")
    next_question(second, lambda: second.keyboard.press("0"))
    assert judging.journal.grades == {1: 1, 2: 0}
    next_question(second, lambda: second.keyboard.press("q"))
    assert "Not decided" in second.inner_text("#end")
