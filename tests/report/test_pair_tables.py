"""Tables of all pairs: letters, names, and text that cannot break a table."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from outcomes import decided, of_scores
from simulated import alike, f1_like

from ragsweep.core.errors import ConfigError
from ragsweep.report import pair_tables
from ragsweep.statistics import holm, randomisation_test


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
    assert [row.split(" | ")[column].replace("*", "").replace("|", "").strip()[6:] for row in rows[2:]] == [
        "",
        "<sup>a</sup>",
        "<sup>ab</sup>",
    ]
    assert f"**{scores[2].mean():.4f}**<sup>ab</sup>" in rows[4]


def test_costs_that_fall_are_no_metric_of_the_table():
    assert [*tables(systems("a", "b")).pairs] == ["f1", "recall"]


def test_systems_are_named_by_their_tag_or_by_their_settings_where_it_does_not_tell_them_apart():
    assert list(tables(systems("BM25", "SPLADE", "ours")).names) == ["BM25", "SPLADE", "ours"]
    assert list(tables(systems("run1", "run1", "ours")).names) == ["path 0.trec", "path 1.trec", "ours"]
    assert list(tables(systems("", "", "")).names) == ["0.trec", "1.trec", "2.trec"]


def test_a_name_of_ones_own_comes_first_and_must_be_that_of_a_run():
    decision = systems("BM25", "ours")
    [run, _] = decision.sweep.outcomes
    assert list(tables(decision, {run.run_id: "Lucene"}).names) == ["Lucene", "ours"]
    with pytest.raises(ConfigError, match="not the id of one of the runs"):
        tables(decision, {"0" * 32: "Lucene"})


def test_names_cannot_break_a_table():
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
def test_more_systems_than_letters_are_for_a_file(tmp_path):
    shown = tables(systems(*(f"s{number}" for number in range(27)), gain=0))
    with pytest.raises(ConfigError, match="at most 26"):
        assert shown.latex
    shown.write(markdown=None, latex=None, csv=tmp_path / "pairs.csv")


def test_one_configuration_has_no_pairs():
    with pytest.raises(ConfigError, match="no pairs"):
        tables(systems("alone"))
