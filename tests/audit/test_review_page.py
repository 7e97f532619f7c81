"""The page on which people judge: its buttons and keys, and the table that it saves."""

import time

import pytest

from ragsweep.core.csv_files import as_it_was
from ragsweep.datasets.readers.entry_files import read_entries
from ragsweep_audit.review_page import write_page
from ragsweep_audit.review_table import Row

pytestmark = pytest.mark.browser

ROWS = [
    Row("-1", "What?", "a.pdf#1", '=1+1 "quoted"\n</script><img src=x onerror=alert(1)>', "words 1, letters 2"),
    Row("2", "Who?", "b;ä,c", "Second", "words 2, letters 2"),
    Row("3", "When?", "d", "Third", "words 3, letters 1"),
]


@pytest.fixture
def opened(browser, tmp_path):
    """The page in a browser, and what went wrong in it."""
    write_page(tmp_path / "review.html", "made", ROWS)
    page = browser.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("dialog", lambda dialog: dialog.accept("2"))
    page.goto((tmp_path / "review.html").as_uri())
    yield page
    page.close()
    assert errors == []


def test_what_was_judged_is_saved_as_the_table_that_is_read_back(opened, tmp_path):
    articles = opened.locator("article")
    articles.nth(0).focus()
    opened.keyboard.press("y")
    opened.keyboard.press("n")  # of the next one, which has the focus now
    articles.nth(2).get_by_text("Grade").click()
    assert opened.inner_text("#count") == "3 of 3 judged"
    assert opened.locator("img").count() == 0
    with opened.expect_download() as download:
        opened.click("#save")
    download.value.save_as(tmp_path / "review.csv")
    rows = [row for _, row in read_entries(tmp_path / "review.csv", "judgments")]
    assert [Row(**{name: as_it_was(cell) for name, cell in row.items()}) for row in rows] == [
        row._replace(relevant=relevant) for row, relevant in zip(ROWS, ("yes", "no", "2"), strict=True)
    ]
    assert rows[0]["text"].startswith("'=")


def test_a_judgment_can_be_taken_back_and_is_remembered(opened):
    first = opened.locator("article").nth(0)
    for count in ("1 of 3 judged", "0 of 3 judged"):
        first.get_by_text("Relevant", exact=True).click()
        assert opened.inner_text("#count") == count
        until = time.monotonic() + 10
        opened.reload()
        while opened.inner_text("#count") != count and time.monotonic() < until:  # another process writes it down
            opened.reload()
        assert opened.inner_text("#count") == count
