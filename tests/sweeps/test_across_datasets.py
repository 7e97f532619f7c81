"""One decision over several datasets: what takes part, what is chosen, and what keeps them apart."""

import json
import re
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from outcomes import QUERY_GROUP, SETTINGS, as_guesses, of_scores

from ragsweep.report.across_datasets import across_as_record, across_in_words, across_table, claims_across
from ragsweep.sweeps import AcrossDatasets, Sweep, decide
from ragsweep.sweeps.across_datasets import in_one, least_regret
from ragsweep.tasks.evaluation_record import DatasetFact
from ragsweep.tracking.decision_tags import _verdicts
from ragsweep.tracking.sweep_end import folder_names

NOISE = np.random.default_rng(1).normal(0, 0.1, (3, 100))
NOISE -= NOISE.mean(axis=1, keepdims=True)
REGRET = arrays(float, st.tuples(st.integers(3, 6), st.integers(2, 5)), elements=st.integers(0, 5).map(float))
TIED, APART = [0.5, 0.5, 0.5], [0.3, 0.6, 0.5]


def with_dataset(made, **about):
    return replace(made, facts=replace(made.facts, dataset=DatasetFact(**about)))


def run(dataset, alpha, mean, *, queries=100, k=5, latency=20.0, swept=None, settings=None, **facts):
    """A run on a dataset with F1 values around a mean, and its own noise."""
    noise = NOISE[[0, 0.5, 1].index(alpha), :queries]
    made = of_scores(
        f"dataset={dataset} alpha={alpha}",
        np.clip(mean + noise, 0, 1),
        {"dataset": dataset, "retriever.alpha": alpha, "k": k} if swept is None else swept,
        facts=facts,
        latency=latency,
        k=str(k),
        **{"retriever.alpha": str(alpha), **(settings or {})},
    )
    texts = made.per_query.assign(query=dataset + made.per_query["query"])
    return with_dataset(replace(made, per_query=texts), name=dataset, digest=dataset)


def on(means, settings=SETTINGS, unfinished=(), **more):
    """The runs of three values of alpha on each dataset, by its name."""
    runs = [
        run(name, alpha, mean, **more)
        for name, own in means.items()
        for alpha, mean in zip((0, 0.5, 1), own, strict=True)
    ]
    return across(runs, settings, unfinished)


def across(runs, settings=SETTINGS, unfinished=()):
    lost = dict(unfinished)
    return AcrossDatasets([decide(part) for part in Sweep(runs, lost, settings).by_dataset], lost)


def numbers_of(joint):
    """The numbers of all claims."""
    return {name: value for claim in claims_across(joint) for name, value in claim.numbers.items()}


def test_the_configuration_is_the_same_whatever_the_dataset_is_called_and_each_dataset_has_a_name_of_its_own():
    joint = on({"a": APART, "b": APART})
    assert (joint.names, joint.labels) == (["a", "b"], ["alpha 0", "alpha 0.5", "alpha 1"])
    assert joint.named == "alpha 0.5"
    assert joint.means == pytest.approx(np.array([[run.value("f1") for run in runs] for runs in joint.runs.values()]).T)
    runs = []
    for digest, name in {"1": "a", "2": "a", "3": "a 2"}.items():
        for alpha in (0, 0.5):
            made = run(digest, alpha, 0.5, swept={"retriever.alpha": alpha})
            runs.append(with_dataset(made, name=name, digest=digest))
    assert across(runs).names == ["a 1", "a 3", "a 2"]  # a number never makes the name of another one
    runs = []
    for split, alpha in product(("train", "test"), (0, 1)):
        one = run("x", alpha, 0.5, swept={"dataset.split": split, "retriever.alpha": alpha})
        runs.append(replace(with_dataset(one, name="x", digest=split), name=f"{split} {alpha}"))
    joint = across(runs)
    assert joint.names == ["x (split train)", "x (split test)"]  # by what chooses it
    assert joint.labels == ["alpha 0", "alpha 1"]
    names = ["a/b", "a b", "x" * 600, "..", "mine"]
    folders = folder_names(names)
    assert len(set(folders)) == len(names)
    assert all(0 < len(folder) <= 100 and "/" not in folder and folder != ".." for folder in folders)
    assert folders[-1] == "mine"


def test_what_the_mean_alone_tells_apart_is_not_shipped_for_more_text():
    """Six datasets of 8 questions, on each of which nothing can be told apart."""
    sample = np.random.default_rng(3).normal(0, 0.1, (6, 3, 8))
    for sizes, vetoed in (((200, 200, 800), True), ((800, 800, 200), False)):
        runs = []
        for name, own in zip("abcdef", sample, strict=True):
            for alpha, size, mean, noise in zip((0, 0.5, 1), sizes, (0.4, 0.4, 0.48), own, strict=True):
                one = run(name, alpha, mean, queries=8, returned=[size, f"{size}"])
                runs.append(replace(one, per_query=one.per_query.assign(f1=np.clip(mean + noise, 0, 1))))
        joint = across(runs)
        assert joint.tied.all()
        assert (joint.told_apart, joint.named) == (True, "alpha 1")
        vetoes = [claim.numbers["why"] for claim in claims_across(joint) if claim.name == "across_veto"]
        assert vetoes == ["unequal text"] * vetoed


def verdict_tags(joint):
    """The tag of each run that says what was decided of it, by the run's name, for each dataset."""
    return [{run.name: tags["decision"] for run, tags in _verdicts(own, joint)} for own in joint.decisions]


def test_nothing_is_shipped_for_all_that_is_vetoed_for_one():
    """Where a model does not read the queries of one, what guesses on one, and where most queries fail."""
    unread = {"model": "minilm", "texts": "queries", "cut": 9, "out_of": 100, "read": 254, "unit": "tokens"}
    runs = [run("a", alpha, mean) for alpha, mean in ((0, 0.3), (0.5, 0.6))]
    runs += [run("b", alpha, mean, unread_texts=[unread]) for alpha, mean in ((0, 0.3), (0.5, 0.6))]
    joint = across(runs)
    assert "9 of 100 queries" in " ".join(across_in_words(joint))
    assert claims_across(joint)[0].vetoes
    tags = [tag for own in verdict_tags(joint) for tag in own.values()]
    assert "chosen" not in tags
    assert tags.count("not shipped: unread texts") == 2
    chances = zip(on({"a": APART, "b": APART}).decisions, ([0.001] * 3, [0.9] * 3), strict=True)
    joint = AcrossDatasets([as_guesses(decision, 0.2, p) for decision, p in chances])
    tags = verdict_tags(joint)
    assert tags[0]["dataset=a alpha=0.5"] == tags[1]["dataset=b alpha=0.5"] == "not shipped: guessing"
    assert claims_across(joint)[0].vetoes
    runs = [run(name, alpha, 0.5) for name in ("a", "b") for alpha in (0, 0.5)]
    scores = {alpha: [0.0] * 70 + [0.5 + alpha / 5] * 30 for alpha in (0, 0.5)}
    lost = [replace(one, per_query=one.per_query.assign(f1=scores[one.swept["retriever.alpha"]])) for one in runs]
    first = claims_across(across(lost))[0]
    assert first.vetoes
    assert "Look at the data first" in first.sentence


def test_a_dataset_with_few_queries_does_not_outvote_one_with_many_and_copies_tell_what_each_tells_once():
    runs = [run("large", alpha, mean) for alpha, mean in ((0, 0.45), (0.5, 0.6))]
    runs += [run("small", alpha, mean, queries=4) for alpha, mean in ((0, 0.8), (0.5, 0.4))]
    joint = across(runs)
    assert joint.regrets[1, 1] > joint.regrets[0, 0]  # the smallest largest regret is of alpha 0
    assert joint.named == "alpha 0.5"
    assert joint.standings == ["best", "tied"]
    assert numbers_of(joint)["few"] == ["small"]

    def copied(one):
        table = one.per_query.loc[one.per_query.index.repeat(3)].reset_index(drop=True)
        return replace(one, per_query=table.assign(**{QUERY_GROUP: table["query_id"]}))

    once = on({"a": APART, "b": TIED})
    grouped = across([copied(one) for runs in once.runs.values() for one in runs])
    assert np.allclose(grouped.means, once.means)
    assert np.allclose(grouped.regrets, once.regrets)


def test_what_was_not_measured_or_is_not_allowed_on_all_takes_no_part_and_tells_nothing_apart():
    runs = [run("a", alpha, 0.5) for alpha in (0, 0.5, 1)] + [run("b", 0.5, 0.5), run("b", 1, 0.6, control="cheats")]
    joint = across(runs)
    assert joint.labels == ["alpha 0.5"]
    assert joint.left_out == {"alpha 0": "no finished run on b", "alpha 1": "a control, never shipped: cheats"}
    settings = replace(SETTINGS, require={"latency/mean_ms": 30})
    slow = across([run("a", 0, 0.5), run("a", 1, 0.5), run("b", 0, 0.5, latency=90), run("b", 1, 0.5)], settings)
    assert slow.labels == ["alpha 1"]
    assert slow.left_out == {"alpha 0": "latency/mean_ms 90, required at most 30 on b"}
    joint = across([run(name, alpha, 0.5) for name in ("a", "b") for alpha in (0, 0.5)] + [run("a", 1, 0.9)])
    assert joint.verdicts == {"alpha 0": "tied", "alpha 0.5": "tied", "alpha 1": "left out"}
    assert not joint.told_apart


PROBLEMS = [  # what is otherwise on the second dataset, and what is said of it
    ({"k": 10}, "no k was measured on all of them"),
    ({"settings": {"evaluation.gain": "exp"}}, "evaluation.gain is null and exp on a and b"),
    ({"decided_by": "recall"}, "a is decided by f1, b by recall"),
]


def test_numbers_that_mean_other_things_are_not_put_together():
    for more, problem in PROBLEMS:
        runs = [run("a", alpha, 0.5) for alpha in (0, 1)] + [run("b", alpha, 0.5, **more) for alpha in (0, 1)]
        joint = across(runs, replace(SETTINGS, metric="") if "decided_by" in more else SETTINGS)
        assert joint.problem == problem
        assert across_as_record(joint, "")["across_datasets"] == {"problem": problem}
        assert across_table(joint) == []
    runs = [run(name, alpha, 0.5, k=k) for name, k in (("a", 3), ("a", 5), ("b", 5), ("b", 10)) for alpha in (0, 1)]
    assert across(runs).cutoff == 5  # one that all datasets have


def test_one_configuration_has_a_mean_and_equal_means_are_not_the_same_measurements():
    joint = across([run(name, 1, mean, swept={"dataset": name}) for name, mean in (("a", 0.4), ("b", 0.6))])
    assert joint.problem == ""
    block = json.loads(json.dumps(across_as_record(joint, "")))["across_datasets"]
    assert [row["mean"] for row in block["configurations"]] == pytest.approx([0.5])
    assert claims_across(joint)[0].name == "across_one"
    swapped = [run(name, alpha, 0.5) for name in ("a", "b") for alpha in (0, 0.5)]
    assert claims_across(across(swapped))[0].name == "across_tied"
    alike = [replace(one, per_query=one.per_query.assign(f1=0.5, recall=0.5)) for one in swapped]
    assert claims_across(across(alike))[0].name == "across_same"
    asked_twice = [replace(one, per_query=swapped[0].per_query.assign(f1=one.per_query["f1"])) for one in swapped]
    assert across(swapped).in_common == {}
    assert across(asked_twice).in_common == {("a", "b"): 100}  # datasets that share questions


def test_a_failed_run_is_missing_on_its_own_dataset_also_where_nothing_finished_on_it():
    for name, own in (("dataset=b alpha=7", {"dataset=b alpha=7": "FAILED"}), ("dataset=c alpha=0", {})):
        joint = on({"a": APART, "b": APART}, unfinished={name: "FAILED"})
        assert [dict(decision.sweep.unfinished) for decision in joint.decisions] == [{}, own]
        assert numbers_of(joint)["unfinished"] == [name]


@pytest.mark.usefixtures("long_work")
def test_the_record_has_every_value_and_regret_also_where_lower_is_better():
    joint = on({"a": APART, "b": APART, "c": [0.5, 0.4, 0.45]})
    record = json.loads(json.dumps(across_as_record(joint, "s1"), allow_nan=False))
    block = record["across_datasets"]
    assert list(record["datasets"]) == ["a", "b", "c"]
    assert record["datasets"]["a"]["choice"]["label"] == "alpha 0.5"
    [chosen] = [row for row in block["configurations"] if row["label"] == block["choice"]["label"]]
    assert block["choice"]["largest_regret"] == max(chosen["regrets"].values())
    best = max(row["values"]["c"] for row in block["configurations"])
    assert chosen["regrets"]["c"] == pytest.approx(best - chosen["values"]["c"])
    assert chosen["verdict"] == "chosen"
    wrong = {"metrics": {"f1": {"name": "f1", "title": "Error", "higher_is_better": False, "low": 0.0, "high": 1.0}}}
    joint = on({"a": APART, "b": APART}, replace(SETTINGS, gains=[]), **wrong)
    assert joint.named == "alpha 0"
    assert joint.regrets[0, 1] == pytest.approx(joint.means[0, 1] - joint.means[0, 0])


def test_every_configuration_has_a_verdict_and_chosen_is_what_all_datasets_share():
    runs = [run(name, alpha, mean) for name in ("a", "b") for alpha, mean in ((0, 0.3), (0.5, 0.6))]
    cheats = ({"dataset": name, "retriever.alpha": 2, "k": 5} for name in "ab")
    runs += [run("a", 1, 0.6), *(run(swept["dataset"], 1, 0.9, swept=swept, control="cheats") for swept in cheats)]
    joint = across(runs)
    assert joint.verdicts == {"alpha 0": "worse", "alpha 0.5": "chosen", "alpha 1": "left out", "alpha 2": "control"}
    assert {row[0] for row in across_table(joint)[1:]} == set(joint.verdicts)
    assert across_table(joint)[1][0] == "alpha 0.5"
    joint = on({"a": [0.3, 0.6, 0.55], "b": [0.6, 0.3, 0.5]})
    assert joint.named == "alpha 1"
    tags = verdict_tags(joint)
    assert tags[0]["dataset=a alpha=1"] == tags[1]["dataset=b alpha=1"] == "chosen"
    assert tags[0]["dataset=a alpha=0.5"] == "chosen for this dataset alone"


def test_the_headline_is_short_and_ships_nothing_that_is_vetoed_or_not_told_apart():
    vetoed = AcrossDatasets([as_guesses(own, 0.2, [0.9] * 3) for own in on({"a": APART, "b": APART}).decisions])
    both_k = [run(name, alpha, mean, k=k) for name in "ab" for k in (3, 5) for alpha, mean in ((0, 0.3), (1, 0.6))]
    first = [run("a", alpha, mean) for alpha, mean in ((0, 0.3), (0.5, 0.6))]
    again = [with_dataset(one, name="b", digest="b") for one in first]
    small = [run("c", alpha, mean, queries=8) for alpha, mean in ((0, 0.5), (0.5, 0.45), (1, 0.5))]
    situations = [
        vetoed,
        on({"a": APART, "b": APART}, unfinished={"dataset=c alpha=0": "FAILED"}),
        on({"a": APART, "b": [0.6, 0.3, 0.5]}),
        on({"a": TIED, "b": TIED}, queries=8),
        on(dict.fromkeys("abcdefgh", APART)),
        across(both_k),
        across([*first, *again, *small], unfinished={"dataset=a alpha=1": "FAILED", "dataset=b alpha=1": "KILLED"}),
    ]
    for joint in situations:
        first, *rest = lines = across_in_words(joint)
        names = [*joint.verdicts, *joint.names, *joint.unfinished, "F1"]
        text = " ".join(lines)
        for name in sorted(names, key=len, reverse=True):
            text = re.sub(rf"\b{re.escape(name)}\b", "", text)
        assert len(rest) <= 2
        assert len(re.findall(r"\d+(?:[.,]\d+)*", text)) <= 4
        assert first.startswith("Ship ") == (
            joint.told_apart and joint is not vetoed and "worse" not in joint.standings
        )


@given(REGRET)
def test_the_least_regret_is_found_by_trying_all(regret):
    _, _, expected = min((max(column), np.mean(column), place) for place, column in enumerate(regret.T))
    assert least_regret(regret) == expected
    side_by_side = np.array([[0.0, 0.05], [0.2, 0.0]])
    assert least_regret(side_by_side) == 1
    assert least_regret(side_by_side, np.array([True, False])) == 0  # what cannot be told apart does not outvote
    assert least_regret(side_by_side, np.array([False, False])) == 1  # none may be the best on both


def test_side_by_side_the_mean_over_queries_is_that_over_datasets():
    rng = np.random.default_rng(5)
    scores = [rng.random((2, queries)) for queries in (8, 133, 40)]
    assert in_one(scores).mean(axis=1) == pytest.approx(np.mean([own.mean(axis=1) for own in scores], axis=0))
