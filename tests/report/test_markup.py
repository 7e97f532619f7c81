"""Text in Markdown and in tables of all pairs: it shows literally and breaks nothing; letters mark what is worse."""

import re
from dataclasses import replace
from html import escape, unescape

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from outcomes import decided, of_scores
from simulated import alike, f1_like

from ragsweep.core.errors import ConfigError
from ragsweep.core.terminal import one_line
from ragsweep.report import pair_tables
from ragsweep.report.markup import code, markdown, plain
from ragsweep.statistics import holm, randomisation_test

RENDERER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
PIECES = [
    *"a _ * ` [x] (http://x.org) ![i](y) <b> <!-- # - + = 1. 12) ~~ | $ \\ & &amp; @me www.x.org : \n { ^ >".split(" "),
    "\u202e",
    " ",
]
TEXT = st.lists(st.sampled_from(PIECES) | st.text(max_size=3), max_size=12).map("".join)


def text_of(html):
    """The text that a reader sees. Fails if there are other tags than our own."""
    ours = r"</?(?:p|ul|li|table|thead|tbody|tr|th|td|code|h1)(?: style=\"[a-z:-]+\")?>"
    assert "<" not in re.sub(ours, "", html)
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", html)).split())


PLACES = {  # where a text stands, and what a reader sees there
    "{}": "{}",
    "# {}": "{}",
    "- {}": "{}",
    "- {} ({})": "{} ({})",
    "| a | b |\n| --- | --- |\n| {} | {} |": "a b {} {}",
}


@given(TEXT)
@example("<script>alert(1)</script> | ![x](http://x.org/y.png) `a` _b_ **c**")
@example("- # 1. > x")
@example("___")
@example("a #")
def test_a_value_is_text_in_every_place(text):
    for template, seen in PLACES.items():
        html = RENDERER.render(template.replace("{}", markdown(text)))
        assert text_of(html) == " ".join(seen.replace("{}", one_line(text)).split())


@given(TEXT)
def test_code_is_code(text):
    if one_line(text):
        html = RENDERER.render(f"- Run: {code(text)}")
        assert re.fullmatch(r"<ul>\n<li>Run: <code>[^<]*</code></li>\n</ul>\n", html)


def test_plain_text_is_no_markup():
    links = ("[a](https://a.example)", "![a](b)", "<img src=a>", "<a href='b'>", "<https://a.example>")
    for text in (*links, "p <= 0.05 [0, 1]"):
        html = RENDERER.render(plain(text))
        assert html == f"<p>{escape(plain(text), quote=False)}</p>\n"
        assert plain(text).replace(" ", "") == text.replace(" ", "")


def systems(*tags, seed=1, gain=0.1):
    """Systems whose F1 rises from the first to the last, each with its run tag."""
    scores = f1_like(np.random.default_rng(seed), alike(len(tags)))
    runs = [
        of_scores(f"path={place}.trec", row + gain * place, {"retriever.path": f"{place}.trec"}, recall=row)
        for place, row in enumerate(scores)
    ]
    return decided(
        *[
            replace(run, facts=replace(run.facts, method=replace(run.facts.method, name=f"{place}.trec", tag=tag)))
            for place, (run, tag) in enumerate(zip(runs, tags, strict=True))
        ]
    )


def tables(decision, names=None, test="randomisation", correction="holm"):
    return pair_tables(decision, names or {}, test, correction)


def test_a_letter_marks_a_system_that_is_shown_to_be_worse():
    decision = systems("BM25", "SPLADE", "ours")
    scores = np.array([run.per_query["f1"] for run in decision.sweep.outcomes])
    p = holm(randomisation_test(np.array([scores[0] - scores[1], scores[0] - scores[2], scores[1] - scores[2]])))
    assert (p <= 0.05).all()
    rows = [line for line in tables(decision).markdown.splitlines() if line.startswith("| ")]
    column = rows[0].split(" | ").index("F1")
    cells = [row.split(" | ")[column].replace("*", "").replace("|", "").strip() for row in rows[2:]]
    assert [cell[6:] for cell in cells] == ["", "<sup>a</sup>", "<sup>ab</sup>"]
    assert f"**{scores[2].mean():.4f}**<sup>ab</sup>" in rows[4]
    assert [*tables(decision).pairs] == ["f1", "recall"]  # costs, which fall, are no metrics


def test_systems_have_ones_own_name_their_tag_or_their_settings_and_none_breaks_a_table():
    for tags, names in (
        (("BM25", "SPLADE", "ours"), ["BM25", "SPLADE", "ours"]),
        (("run1", "run1", "ours"), ["path 0.trec", "path 1.trec", "ours"]),
        (("", "", ""), ["0.trec", "1.trec", "2.trec"]),
    ):
        assert list(tables(systems(*tags)).names) == names
    decision = systems("BM25", "ours")
    [run, _] = decision.sweep.outcomes
    assert list(tables(decision, {run.run_id: "Lucene"}).names) == ["Lucene", "ours"]
    shown = tables(systems("50 % & more_or\\less", "a|b*c*"))
    assert r"50 \% \& more\_or\textbackslash{}less" in shown.latex
    assert r"a\|b\*c\*" in shown.markdown


def test_a_file_has_every_pair_of_every_metric(tmp_path):
    shown = tables(systems("a", "b", "c", "d"), correction="benjamini_hochberg")
    shown.write(markdown=None, latex=None, csv=tmp_path / "pairs.csv")
    assert (tmp_path / "pairs.csv").read_text().count("\n") == 1 + 2 * 6
    numbers = pd.read_csv(tmp_path / "pairs.csv")
    assert (numbers["p_corrected"] >= numbers["p"] - 1e-3).all()
    assert (numbers["wins"] + numbers["ties"] + numbers["losses"] == 133).all()


@pytest.mark.usefixtures("long_work")
def test_more_systems_than_letters_are_for_a_file_and_what_cannot_be_compared_is_refused(tmp_path):
    shown = tables(systems(*(f"s{number}" for number in range(27)), gain=0))
    with pytest.raises(ConfigError, match="at most 26"):
        assert shown.latex
    shown.write(markdown=None, latex=None, csv=tmp_path / "pairs.csv")
    with pytest.raises(ConfigError, match="no pairs"):
        tables(systems("alone"))
    with pytest.raises(ConfigError, match="not the id of one of the runs"):
        tables(systems("BM25", "ours"), {"0" * 32: "Lucene"})
