"""The report: a self-contained page, and the same content in Markdown."""

import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from outcomes import FACTS, SETTINGS, Sweep, decided, facts_of, grid, of_scores, over_alpha

from ragsweep.report import Origin, write_sweep
from ragsweep.report.report_page import write_report
from ragsweep.sweeps import decide
from ragsweep.tasks.systems.own_passages import RETURNED

pytestmark = pytest.mark.usefixtures("drawing")
ADDRESS = "http://127.0.0.1:5000/#/experiments/1/runs/id-alpha=1 k=3?a=1&b=2"
ORIGIN = Origin("ragsweep run -m k=3,5", "0123abcd", "d6694a48f4", "20261122_101500", {"id-alpha=1 k=3": ADDRESS})
HOSTILE = "<script>alert(1)</script> | what & why?\nsecond line"


def written(folder, sweep):
    """The page and the Markdown of a sweep."""
    write_sweep(folder, decide(sweep), ORIGIN)
    return (folder / "report.html").read_text(), (folder / "report.md").read_text()


def with_query(sweep, text):
    """The same sweep with another text for its first query."""
    outcomes = []
    for run in sweep.outcomes:
        table = run.per_query.copy()
        table.loc[0, "query"] = text
        outcomes.append(replace(run, per_query=table))
    return replace(sweep, outcomes=outcomes)


def markdown_of(folder, *runs):
    """The Markdown of a sweep, without charts."""
    write_report(folder, decided(*runs), ORIGIN, [])
    return (folder / "report.md").read_text()


class Balance(HTMLParser):
    """Fails where a tag of a page is not closed."""

    def __init__(self):
        super().__init__()
        self.stack = []

    def handle_starttag(self, tag, attrs):
        if tag not in ("meta", "img", "br"):
            self.stack.append(tag)

    def handle_endtag(self, tag):
        assert self.stack.pop() == tag


def test_the_page_is_self_contained_closed_and_shows_any_query_as_text(tmp_path):
    page, markdown = written(tmp_path, with_query(grid(), HOSTILE))
    loaded = re.findall(r"""(?:src|href)=["']((?!data:|#)[^"']*)""", page)
    assert loaded == [ADDRESS.replace("&", "&amp;")]  # a link, which nothing loads
    assert "@import" not in page
    assert page.count('src="data:image/svg+xml;base64,') == 4
    captions = re.findall(r'alt="([^"]*)"><figcaption>([^<]*)', page)
    assert len(captions) == 4
    assert all(len(caption) > 20 and alt.endswith(caption) for alt, caption in captions)
    parser = Balance()
    parser.feed(page)
    assert parser.stack == []
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt; \\| what &amp; why? second line" in markdown  # one table cell
    assert "<script>" not in markdown


HOSTILE_NAMES = ["cost $\\frac{", "_x", "a" * 5000, "line\nbreak\x1b[31m", "\N{GRINNING FACE}中", "\u202eevil", HOSTILE]


def test_any_name_can_be_written_to_charts_tables_and_sentences(tmp_path, recwarn):
    setting = "../../e$vil/" + "x" * 300
    runs = [
        of_scores(name, np.linspace(0, mean / 10, 9), {"configuration": name, setting: name[::-1]}, [name] * 9)
        for mean, name in enumerate(HOSTILE_NAMES, start=1)
    ]
    for text in written(tmp_path / "sweep", Sweep(runs, {HOSTILE: "FAILED"}, SETTINGS)):
        assert "<script>alert" not in text
        assert not re.search("[\x1b\u202e]", text)
    assert [str(warning.message) for warning in recwarn] == []
    assert [path.name for path in tmp_path.iterdir()] == ["sweep"]
    assert len([*(tmp_path / "sweep/charts").iterdir()]) == 5


def test_the_most_disputed_queries_and_those_that_nothing_answers_are_listed(tmp_path):
    """Query 1 is answered by none of three configurations, query 2 only by the first."""
    runs = over_alpha(np.array([[0, 1, 1, 0.5], [0, 0, 1, 0.5], [0, 0, 1, 0.6]]), [0, 0.5, 1]).outcomes
    markdown = markdown_of(tmp_path, *runs)
    assert "Queries with the worst possible F1 in every configuration: 1 of 4." in markdown
    assert "- 1: Question 1? Relevant: a.pdf#1" in markdown
    assert "ragsweep explain id-alpha=0 1" in (tmp_path / "report.html").read_text()
    disputed = [line for line in markdown.splitlines() if "Question" in line and line.startswith("| ")]
    assert disputed[0] == "| 2 | Question 2? | alpha=0 | 1.000 | alpha=0.5 | 0.000 |"  # of equals, the overall worse
    assert len(disputed) == 2  # all configurations score the same on the other queries
    runs = [
        of_scores(f"k={k} {n}", scores, {"k": k, "retriever": n}, k=str(k))
        for k, n, scores in ((3, "a", [1, 1, 0.4]), (3, "b", [1, 1, 0.2]), (9, "a", [0.1, 0.1, 0.4]))
    ]
    [line] = [line for line in markdown_of(tmp_path, *runs).splitlines() if "Question" in line]
    assert line == "| 3 | Question 3? | k=3 a | 0.400 | k=3 b | 0.200 |"  # at the k of the headline, the smaller of two


def sections_of(folder, runs, sections, names):
    """The first line of each section with one of these names, of a report on runs that say these sections."""
    runs = [
        replace(run, facts=replace(run.facts, sections=own)) for run, own in zip(runs.outcomes, sections, strict=True)
    ]
    return re.findall(rf"^## ((?:{names}).*)\n\n- (.*)", markdown_of(folder, *runs), re.MULTILINE)


def test_what_each_system_returned_is_shown_the_choice_first_and_other_sections_of_the_best_that_has_them(tmp_path):
    runs = over_alpha(np.outer(np.linspace(0.1, 0.9, 13), np.ones(9)), range(13))
    own = [{RETURNED: [f"{run.name} returned this."]} for run in runs.outcomes]
    sections = sections_of(tmp_path, runs, own, RETURNED)
    assert sections[:2] == [
        (RETURNED, "alpha=12 returned this."),
        (f"{RETURNED} (alpha=11)", "alpha=11 returned this."),
    ]
    assert len(sections) == 12
    assert sections[-1][0] == f"{RETURNED} (2 more)"
    own = ({"Routing": ["Worst."]}, {"Routing": ["Better."], "Answers": ["Theirs."]}, {"Answers": ["Own."]})
    runs = over_alpha(np.outer([0.1, 0.5, 0.9], np.ones(9)), [0, 0.5, 1])
    assert sections_of(tmp_path, runs, own, "Routing|Answers") == [
        ("Answers", "Own."),
        ("Routing (alpha=0.5)", "Better."),
    ]


@pytest.mark.browser
def test_a_printed_table_has_its_head_on_every_page(browser, tmp_path):
    import pypdfium2

    runs = [of_scores(f"run {number}", [number / 200, 0.5] * 4, {"a": number}) for number in range(150)]
    markdown_of(tmp_path, *runs)
    page = browser.new_page()
    page.goto(f"file://{tmp_path}/report.html")
    page.pdf(path=tmp_path / "report.pdf", prefer_css_page_size=True)
    page.close()
    texts = [sheet.get_textpage().get_text_bounded() for sheet in pypdfium2.PdfDocument(tmp_path / "report.pdf")]
    of_table = [text for text in texts if len(re.findall(r"run \d+\s+(?:tied|worse)", text)) > 5]
    assert len(of_table) > 2
    assert all("verdict" in text for text in of_table)


def test_the_report_has_what_was_decided_measured_and_lost(tmp_path):
    """Each run has the same numbers and verdict in the page, in Markdown, in decision.json and in the CSV file."""
    halves = np.repeat([0.1, 0.4], 20)
    sweep = over_alpha(np.array([halves, 0.5 - halves, halves / 2]), [0, 1, 2], types=["one"] * 20 + ["other"] * 20)
    facts = facts_of({**FACTS, "findings": ["1 query (q7) without a judgment."]})
    runs = [replace(run, facts=facts) for run in sweep.outcomes]
    texts = written(tmp_path, Sweep(runs, {"alpha=3": "FAILED"}))
    record = json.loads((tmp_path / "decision.json").read_text())
    summary = pd.read_csv(tmp_path / "results" / "summary_statistics.csv").set_index("name")
    for text in texts:
        assert 0 < text.index(record["headline"][0]) < text.index("alpha=2")
        assert text.count("Did not finish: alpha=3") == 1
        assert all(command in text for command in (ORIGIN.command, "reproduce 0123abcd", "compare 0123abcd"))
        assert "1 query (q7) without a judgment." in text.replace("\\", "")
    assert "| one | 20 | alpha=1 | 0.400 | 0.100 | 0.400 | 0.1" in texts[1]
    for row in record["rows"]:
        mean, start = summary.loc[row["name"], "f1"], f"| 5 | {row['name']} | {row['verdict']}"
        [line] = [line for line in texts[1].splitlines() if line.startswith(start)]
        assert f"| {mean:.4f} |" in line
        assert f"<td>{mean:.4f}</td>" in texts[0]
        assert row["difference"] == pytest.approx(summary.loc[row["name"], "f1_minus_best"])
