"""One decision over several datasets: what takes part, what is chosen, and what keeps them apart."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from outcomes import QUERY_GROUP, SETTINGS, as_guesses, of_scores

from ragsweep.report.across import across_as_record, across_in_words, across_table, claims_across
from ragsweep.sweeps import AcrossDatasets, Sweep, decide
from ragsweep.sweeps.across_datasets import in_one, least_regret
from ragsweep.tasks.facts import DatasetFact
from ragsweep.tracking.decisions import _verdicts
from ragsweep.tracking.finishing import folder_names

NOISE = np.random.default_rng(1).normal(0, 0.1, (3, 100))
NOISE -= NOISE.mean(axis=1, keepdims=True)
REGRET = arrays(float, st.tuples(st.integers(3, 6), st.integers(2, 5)), elements=st.integers(0, 5).map(float))
TIED, APART = [0.5, 0.5, 0.5], [0.3, 0.6, 0.5]


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
    return replace(made, per_query=texts, facts=replace(made.facts, dataset=DatasetFact(name=dataset, digest=dataset)))


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
    return AcrossDatasets([decide(each) for each in Sweep(runs, lost, settings).by_dataset], lost)


def numbers_of(found):
    """The numbers of all claims."""
    return {name: value for claim in claims_across(found) for name, value in claim.numbers.items()}


def test_the_configuration_is_the_same_whatever_the_dataset_is_called():
    found = on({"a": APART, "b": APART})
    assert (found.names, found.labels) == (["a", "b"], ["alpha 0", "alpha 0.5", "alpha 1"])
    assert found.named == "alpha 0.5"
    assert found.means == pytest.approx(np.array([[run.value("f1") for run in runs] for runs in found.runs.values()]).T)


def test_a_number_never_makes_the_name_of_another_dataset():
    runs = []
    for digest, name in {"1": "a", "2": "a", "3": "a 2"}.items():
        for alpha in (0, 0.5):
            made = run(digest, alpha, 0.5, swept={"retriever.alpha": alpha})
            about = replace(made.facts.dataset, name=name)
            runs.append(replace(made, facts=replace(made.facts, dataset=about)))
    assert across(runs).names == ["a 1", "a 3", "a 2"]


@pytest.mark.parametrize(("sizes", "veto"), [((200, 200, 800), True), ((800, 800, 200), False)])
def test_what_the_mean_alone_tells_apart_is_not_shipped_for_more_text(sizes, veto):
    """Six datasets of 8 questions, on each of which nothing can be told apart."""
    sample = np.random.default_rng(3).normal(0, 0.1, (6, 3, 8))
    runs = []
    for place, name in enumerate("abcdef"):
        for alpha, size, mean, noise in zip((0, 0.5, 1), sizes, (0.4, 0.4, 0.48), sample[place], strict=True):
            one = run(name, alpha, mean, queries=8, returned=[size, f"{size}"])
            runs.append(replace(one, per_query=one.per_query.assign(f1=np.clip(mean + noise, 0, 1))))
    found = across(runs)
    assert found.tied.all()
    assert found.told_apart
    assert found.named == "alpha 1"
    assert [claim.numbers["why"] for claim in claims_across(found) if claim.name == "across_veto"] == [
        "unequal text"
    ] * veto


def test_nothing_is_shipped_for_all_where_a_model_does_not_read_the_queries_of_one():
    unread = {"model": "minilm", "texts": "queries", "cut": 9, "out_of": 100, "read": 254, "unit": "tokens"}
    runs = [run("a", alpha, mean) for alpha, mean in ((0, 0.3), (0.5, 0.6))]
    runs += [run("b", alpha, mean, unread_texts=[unread]) for alpha, mean in ((0, 0.3), (0.5, 0.6))]
    found = across(runs)
    assert "9 of 100 queries" in " ".join(across_in_words(found))
    assert "ship alpha 0.5" not in " ".join(across_in_words(found))
    tags = [tags["decision"] for each in found.decisions for _, tags in _verdicts(each, found)]
    assert "chosen" not in tags
    assert tags.count("not shipped: unread texts") == 2


def test_a_dataset_with_few_queries_does_not_outvote_one_with_many():
    runs = [run("large", alpha, mean) for alpha, mean in ((0, 0.45), (0.5, 0.6))]
    runs += [run("small", alpha, mean, queries=4) for alpha, mean in ((0, 0.8), (0.5, 0.4))]
    found = across(runs)
    assert found.regrets[1, 1] > found.regrets[0, 0]  # the smallest largest regret is of alpha 0
    assert found.named == "alpha 0.5"
    assert found.standings == ["best", "tied"]
    assert numbers_of(found)["few"] == ["small"]


def test_what_was_not_measured_or_is_not_allowed_on_all_takes_no_part():
    runs = [run("a", alpha, 0.5) for alpha in (0, 0.5, 1)] + [run("b", 0.5, 0.5), run("b", 1, 0.6, control="cheats")]
    found = across(runs)
    assert found.labels == ["alpha 0.5"]
    assert found.left_out == {"alpha 0": "no finished run on b", "alpha 1": "a control, never shipped: cheats"}
    settings = replace(SETTINGS, require={"latency/mean_ms": 30})
    slow = across([run("a", 0, 0.5), run("a", 1, 0.5), run("b", 0, 0.5, latency=90), run("b", 1, 0.5)], settings)
    assert slow.labels == ["alpha 1"]
    assert slow.left_out == {"alpha 0": "latency/mean_ms 90, required at most 30 on b"}


def test_the_cutoff_is_one_that_all_datasets_have():
    runs = [run(name, alpha, 0.5, k=k) for name, k in (("a", 3), ("a", 5), ("b", 5), ("b", 10)) for alpha in (0, 1)]
    assert across(runs).cutoff == 5


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        ({"k": 10}, "no k was measured on all of them"),
        ({"settings": {"evaluation.gain": "exp"}}, "evaluation.gain is null and exp on a and b"),
        ({"decided_by": "recall"}, "a is decided by f1, b by recall"),
    ],
)
def test_numbers_that_mean_other_things_are_not_put_together(other, expected):
    runs = [run("a", alpha, 0.5) for alpha in (0, 1)] + [run("b", alpha, 0.5, **other) for alpha in (0, 1)]
    settings = replace(SETTINGS, metric="") if "decided_by" in other else SETTINGS
    found = across(runs, settings)
    assert found.problem == expected
    assert across_as_record(found, "")["across_datasets"] == {"problem": expected}
    assert across_table(found) == []


def test_a_dataset_is_named_by_what_chooses_it_if_its_name_is_not_its_own():
    runs = [
        replace(run("x", alpha, 0.5, swept={"dataset.split": split, "retriever.alpha": alpha}), name=f"{split} {alpha}")
        for split in ("train", "test")
        for alpha in (0, 1)
    ]
    runs = [
        replace(each, facts=replace(each.facts, dataset=replace(each.facts.dataset, digest=each.name.split()[0])))
        for each in runs
    ]
    found = across(runs)
    assert found.names == ["x (split train)", "x (split test)"]
    assert found.labels == ["alpha 0", "alpha 1"]


def test_one_configuration_on_several_datasets_has_a_mean():
    found = across([run(name, 1, mean, swept={"dataset": name}) for name, mean in (("a", 0.4), ("b", 0.6))])
    assert found.problem == ""
    block = json.loads(json.dumps(across_as_record(found, "")))["across_datasets"]
    assert [each["mean"] for each in block["configurations"]] == pytest.approx([0.5])
    assert claims_across(found)[0].name == "across_one"


def test_a_failed_run_is_missing_on_its_own_dataset():
    found = on({"a": APART, "b": APART}, unfinished={"dataset=b alpha=7": "FAILED"})
    assert [dict(each.sweep.unfinished) for each in found.decisions] == [{}, {"dataset=b alpha=7": "FAILED"}]
    assert numbers_of(found)["unfinished"] == ["dataset=b alpha=7"]


def test_a_dataset_of_which_nothing_finished_is_not_forgotten():
    found = on({"a": APART, "b": APART}, unfinished={"dataset=c alpha=0": "FAILED"})
    assert [dict(each.sweep.unfinished) for each in found.decisions] == [{}, {}]
    assert any("dataset=c alpha=0" in line for line in across_in_words(found))


@pytest.mark.usefixtures("long_work")
def test_the_record_has_every_value_and_regret():
    found = on({"a": APART, "b": APART, "c": [0.5, 0.4, 0.45]})
    record = json.loads(json.dumps(across_as_record(found, "s1"), allow_nan=False))
    block = record["across_datasets"]
    assert list(record["datasets"]) == ["a", "b", "c"]
    assert record["datasets"]["a"]["choice"]["label"] == "alpha 0.5"
    [chosen] = [each for each in block["configurations"] if each["label"] == block["choice"]["label"]]
    assert block["choice"]["largest_regret"] == max(chosen["regrets"].values())
    best = max(each["values"]["c"] for each in block["configurations"])
    assert chosen["regrets"]["c"] == pytest.approx(best - chosen["values"]["c"])
    assert chosen["verdict"] == "chosen"


def test_a_lower_value_can_be_the_better_one():
    wrong = {"metrics": {"f1": {"name": "f1", "title": "Error", "higher_is_better": False, "low": 0.0, "high": 1.0}}}
    found = on({"a": APART, "b": APART}, replace(SETTINGS, gains=[]), **wrong)
    assert found.named == "alpha 0"
    assert found.regrets[0, 1] == pytest.approx(found.means[0, 1] - found.means[0, 0])


def test_datasets_that_share_questions_are_named():
    runs = [run(name, alpha, 0.5) for name in ("a", "b") for alpha in (0, 1)]
    same = [replace(each, per_query=runs[0].per_query.assign(f1=each.per_query["f1"])) for each in runs]
    assert across(runs).in_common == {}
    assert across(same).in_common == {("a", "b"): 100}


def test_chosen_is_what_all_datasets_share():
    found = on({"a": [0.3, 0.6, 0.55], "b": [0.6, 0.3, 0.5]})
    assert found.named == "alpha 1"
    tags = [{run.name: tags["decision"] for run, tags in _verdicts(each, found)} for each in found.decisions]
    assert tags[0]["dataset=a alpha=1"] == tags[1]["dataset=b alpha=1"] == "chosen"
    assert tags[0]["dataset=a alpha=0.5"] == "chosen for this dataset alone"


def test_what_guesses_on_one_dataset_is_chosen_on_none():
    decisions = on({"a": APART, "b": APART}).decisions
    found = AcrossDatasets(
        [as_guesses(each, 0.2, p) for each, p in zip(decisions, ([0.001] * 3, [0.9] * 3), strict=True)]
    )
    tags = [{run.name[-9:]: tags["decision"] for run, tags in _verdicts(each, found)} for each in found.decisions]
    assert [each["alpha=0.5"] for each in tags] == ["not shipped: guessing"] * 2
    assert claims_across(found)[0].vetoes


def test_every_configuration_has_a_verdict():
    runs = [run(name, alpha, mean) for name in ("a", "b") for alpha, mean in ((0, 0.3), (0.5, 0.6))]
    runs += [run("a", 1, 0.6), *(run(name, 1, 0.9, swept=cheat(name), control="cheats") for name in ("a", "b"))]
    found = across(runs)
    assert found.verdicts == {"alpha 0": "worse", "alpha 0.5": "chosen", "alpha 1": "left out", "alpha 2": "control"}
    assert {row[0] for row in across_table(found)[1:]} == set(found.verdicts)
    assert across_table(found)[1][0] == "alpha 0.5"


def cheat(dataset):
    return {"dataset": dataset, "retriever.alpha": 2, "k": 5}


def test_any_name_of_a_dataset_gives_a_folder_of_its_own():
    names = ["a/b", "a b", "x" * 600, "..", "mine"]
    folders = folder_names(names)
    assert len(set(folders)) == len(names)
    assert all(0 < len(each) <= 100 and "/" not in each and each != ".." for each in folders)
    assert folders[-1] == "mine"


def test_copies_of_queries_in_groups_tell_what_each_tells_once():
    def copied(made):
        table = made.per_query.loc[made.per_query.index.repeat(3)].reset_index(drop=True)
        return replace(made, per_query=table.assign(**{QUERY_GROUP: table["query_id"]}))

    places = [
        (name, alpha, mean)
        for name, own in (("a", APART), ("b", TIED))
        for alpha, mean in zip((0, 0.5, 1), own, strict=True)
    ]
    plain = [run(*place) for place in places]
    once, grouped = across(plain), across([copied(each) for each in plain])
    assert np.allclose(grouped.means, once.means)
    assert np.allclose(grouped.regrets, once.regrets)


def test_equal_means_are_not_the_same_measurements():
    swapped = run("a", 0, 0.5), run("a", 0.5, 0.5), run("b", 0, 0.5), run("b", 0.5, 0.5)
    assert claims_across(across(swapped))[0].name == "across_tied"
    alike = [replace(each, per_query=each.per_query.assign(f1=0.5, recall=0.5)) for each in swapped]
    assert claims_across(across(alike))[0].name == "across_same"


def test_nothing_is_shipped_where_every_configuration_fails_for_most_queries():
    runs = [run(name, alpha, 0.5) for name in ("a", "b") for alpha in (0, 0.5)]
    lost = [
        replace(each, per_query=each.per_query.assign(f1=[0.0] * 70 + [0.5 + each.swept["retriever.alpha"] / 5] * 30))
        for each in runs
    ]
    first = claims_across(across(lost))[0]
    assert first.vetoes
    assert "Look at the data first" in first.sentence


def test_what_is_left_out_tells_nothing_apart():
    runs = [run(name, alpha, 0.5) for name in ("a", "b") for alpha in (0, 0.5)] + [run("a", 1, 0.9)]
    found = across(runs)
    assert found.verdicts["alpha 1"] == "left out"
    assert not found.told_apart
    assert {found.verdicts[label] for label in found.labels} == {"tied"}


def test_the_headline_is_short_and_ships_nothing_that_is_vetoed_or_not_told_apart():
    vetoed = AcrossDatasets([as_guesses(each, 0.2, [0.9] * 3) for each in on({"a": APART, "b": APART}).decisions])
    both_k = [run(name, alpha, mean, k=k) for name in "ab" for k in (3, 5) for alpha, mean in ((0, 0.3), (1, 0.6))]
    first = [run("a", alpha, mean) for alpha, mean in ((0, 0.3), (0.5, 0.6))]
    again = [replace(each, facts=replace(each.facts, dataset=DatasetFact(name="b", digest="b"))) for each in first]
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
    for found in situations:
        first, *rest = said = across_in_words(found)
        names = [*found.verdicts, *found.names, *found.unfinished, "F1"]
        text = " ".join(said)
        for name in sorted(names, key=len, reverse=True):
            text = re.sub(rf"\b{re.escape(name)}\b", "", text)
        assert len(rest) <= 2
        assert len(re.findall(r"\d+(?:[.,]\d+)*", text)) <= 4
        assert first.startswith("Ship ") == (
            found.told_apart and found is not vetoed and "worse" not in found.standings
        )


@given(REGRET)
def test_the_least_regret_is_found_by_trying_all(regret):
    _, _, expected = min((max(column), np.mean(column), place) for place, column in enumerate(regret.T))
    assert least_regret(regret) == expected


def test_what_a_dataset_cannot_tell_apart_does_not_outvote_another():
    regret = np.array([[0.0, 0.05], [0.2, 0.0]])
    assert least_regret(regret) == 1
    assert least_regret(regret, np.array([True, False])) == 0
    assert least_regret(regret, np.array([False, False])) == 1  # none may be the best on both


def test_side_by_side_the_mean_over_queries_is_that_over_datasets():
    rng = np.random.default_rng(5)
    scores = [rng.random((2, queries)) for queries in (8, 133, 40)]
    assert in_one(scores).mean(axis=1) == pytest.approx(np.mean([own.mean(axis=1) for own in scores], axis=0))
