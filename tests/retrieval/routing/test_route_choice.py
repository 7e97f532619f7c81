"""Folds of queries, and routes that are chosen from the other folds' judgments."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from letters import LetterEncoder
from sklearn.model_selection import StratifiedKFold

from ragsweep.retrieval import LogisticClassifier
from ragsweep.retrieval.folds import folds_of
from ragsweep.retrieval.routing.query_words import interval_of_gain
from ragsweep.retrieval.routing.route_choice import choose, predict

TYPED = st.lists(st.tuples(st.sampled_from("abcdefgh"), st.integers(-1, 3)), min_size=2, max_size=40)


def by_fold(fold, types, folds):
    """How many queries of each type are in each fold."""
    return [[int(((fold == each) & (types == of)).sum()) for of in range(types.max() + 1)] for each in range(folds)]


@pytest.mark.parametrize("folds", [2, 5, 7])
def test_folds_have_as_many_queries_of_each_type_as_those_of_scikit_learn(folds):
    types = np.repeat([0, 1, 2, 3], [35, 28, 9, 61])  # in the order in which scikit-learn meets them
    queries = [f"query {number}" for number in range(len(types))]
    theirs = np.empty_like(types)
    for each, (_, held) in enumerate(StratifiedKFold(folds).split(np.zeros(len(types)), types)):
        theirs[held] = each
    assert by_fold(folds_of(queries, types, folds, seed=3), types, folds) == by_fold(theirs, types, folds)


@given(TYPED, st.integers(2, 6), st.integers(0, 5))
def test_queries_of_the_same_text_share_a_fold(typed, folds, seed):
    texts = [f"  {text}? " if number % 2 else f"{text.upper()}?" for number, (text, _) in enumerate(typed)]
    fold = folds_of(texts, np.array([of for _, of in typed]), folds, seed)
    for text in "abcdefgh":
        assert len({*fold[[each == text for each, _ in typed]].tolist()}) <= 1


def test_a_querys_fold_does_not_depend_on_the_order_of_the_queries():
    queries, types = [f"query {number}" for number in range(30)], np.arange(30) % 3
    fold = folds_of(queries, types, 5, seed=0)
    assert folds_of(queries[::-1], types[::-1], 5, seed=0).tolist() == fold[::-1].tolist()


def test_another_seed_makes_other_folds():
    queries, types = [f"query {number}" for number in range(30)], np.arange(30) % 3
    assert folds_of(queries, types, 5, seed=0).tolist() != folds_of(queries, types, 5, seed=1).tolist()


def chosen(values, types, fold, least):
    """The routes of each fold, chosen without the values and types of its queries: of types, and the single one."""
    choices = []
    for each in range(int(fold.max()) + 1):
        held = fold == each
        masked = np.where(held, np.nan, values), np.where(held, -1, types)
        choices.append(choose(*masked, int(types.max()) + 1, least))
    return np.array([choice.of_type for choice in choices]), np.array([choice.single for choice in choices])


def small_judged(seed=0, queries=40, types=3, routes=3):
    """Values of routes with ties and unjudged queries, types with untyped queries, and folds."""
    rng = np.random.default_rng(seed)
    values = rng.choice([0.0, 0.25, 0.5, 1.0], size=(routes, queries))
    values[:, rng.random(queries) < 0.1] = np.nan
    return values, rng.integers(-1, types, queries), np.arange(queries) % 4


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("least", [1, 7])
def test_the_choice_is_that_of_a_loop(seed, least):
    values, types, fold = small_judged(seed)
    of_type, single = chosen(values, types, fold, least)
    for each in range(4):
        learn = [query for query in range(len(types)) if fold[query] != each and not np.isnan(values[0, query])]
        means = [np.mean([row[query] for query in learn]) for row in values]
        best = next(route for route, mean in enumerate(means) if mean > max(means) - 1e-9)
        assert single[each] == best
        for of in range(types.max() + 1):
            mine = [query for query in learn if types[query] == of]
            expected = best
            if len(mine) >= least:
                means = [np.mean([row[query] for query in mine]) for row in values]
                expected = next(route for route, mean in enumerate(means) if mean > max(means) - 1e-9)
            assert of_type[each, of] == expected


def test_a_query_without_a_type_takes_the_single_route():
    values, types, _ = small_judged()
    choice = choose(values, types, 3, 1)
    assert {*choice.routes(np.full(len(types), -1))} == {choice.single}


def test_a_fold_without_judgments_in_the_others_takes_the_first_route():
    values = np.array([[np.nan, 0.0, np.nan], [np.nan, 1.0, np.nan]])
    _, single = chosen(values, np.zeros(3, dtype=np.int64), np.array([0, 1, 2]), 1)
    assert single.tolist() == [1, 0, 1]


def test_a_query_is_classified_by_what_was_learnt_from_other_folds():
    """Each query is of a type of its own making, so a classifier that had seen it would be right."""
    letters = "abcdefghijklmnop"
    embeddings = LetterEncoder().encode([letter * 3 for letter in letters], "query")
    held = np.arange(4)
    types = np.where(np.isin(np.arange(16), held), -1, np.arange(16))
    predicted = predict(LogisticClassifier(LetterEncoder()), embeddings, types, held)
    assert not {*predicted.types.tolist()} & {*held.tolist()}


def test_the_usual_type_is_the_most_frequent_one_of_the_other_folds():
    types, embeddings = np.array([-1, 0, 1, 1, -1, -1]), LetterEncoder().encode(list("abcdef"), "query")
    assert predict(LogisticClassifier(LetterEncoder()), embeddings, types, np.array([0, 4])).usual == 1


# Simulated: routes whose values are clipped normal variables, correlated over queries; types that are predicted with
# an accuracy of 70 % and better.


def simulated(rng, queries=133, folds=5, routes=3, effect=0.0):
    types = rng.integers(0, 4, queries)
    shared = rng.normal(size=queries)
    values = (0.6 + 0.25 * (shared + rng.normal(size=(routes, queries)))).clip(0, 1)
    values += effect * (types == np.arange(routes)[:, np.newaxis])
    predicted = np.where(rng.random(queries) < 0.7, types, rng.integers(0, 4, queries))
    fold = folds_of([str(number) for number in range(queries)], types, folds, int(rng.integers(1000)))
    of_type, single = chosen(values, types, fold, 5)
    rows = np.arange(queries)
    return values, types, values[of_type[fold, predicted], rows] - values[single[fold], rows]


def in_sample(values, types):
    """The gain of routes that are chosen for the queries by which they are measured."""
    best = np.stack([values[:, types == each].mean(axis=1) for each in range(4)]).argmax(axis=1)
    return values[best[types], np.arange(len(types))].mean() - values.mean(axis=1).max()


@pytest.fixture(scope="module")
def without_signal():
    rng = np.random.default_rng(0)
    return [simulated(rng) for _ in range(400)]


@pytest.mark.usefixtures("long_work")
def test_without_signal_there_is_no_gain_on_average(without_signal):
    gains = np.array([gain.mean() for *_, gain in without_signal])
    assert abs(gains.mean()) < 3 * gains.std() / np.sqrt(len(gains))


@pytest.mark.usefixtures("long_work")
def test_without_signal_choosing_and_measuring_on_the_same_queries_would_show_a_gain(without_signal):
    gains = np.array([in_sample(values, types) for values, types, _ in without_signal])
    assert gains.mean() > 10 * gains.std() / np.sqrt(len(gains))


def test_the_interval_covers_no_gain_about_as_often_as_it_says(without_signal):
    intervals = [interval_of_gain(gain, 5) for *_, gain in without_signal]
    assert 0.93 <= np.mean([low <= 0 <= high for low, high in intervals]) <= 0.995


def test_an_interval_of_independent_queries_would_cover_no_gain_too_seldom(without_signal):
    covers = [abs(gain.mean()) <= 1.96 * gain.std(ddof=1) / np.sqrt(len(gain)) for *_, gain in without_signal]
    assert np.mean(covers) < 0.9


@pytest.mark.usefixtures("long_work")
def test_the_interval_covers_the_expected_gain_where_there_is_one():
    rng = np.random.default_rng(1)
    gains = [simulated(rng, effect=0.1)[2] for _ in range(400)]
    expected = np.mean([gain.mean() for gain in gains])
    assert expected > 0.01
    intervals = [interval_of_gain(gain, 5) for gain in gains]
    assert 0.93 <= np.mean([low <= expected <= high for low, high in intervals]) <= 0.995


def test_a_single_judged_query_has_no_interval():
    assert interval_of_gain(np.array([0.5]), 5) == (-np.inf, np.inf)
