"""Configurations are compared at the same cutoff and by groups, requirements are kept, costs decide among equals."""

import json
from dataclasses import replace

import numpy as np
import pytest
from outcomes import FACTS, SETTINGS, alpha_k, claims, decided, of_scores, over_alpha, with_measure
from simulated import alike, f1_like

from ragsweep.app.commands import composed
from ragsweep.core.errors import ConfigError
from ragsweep.experiment import Experiment
from ragsweep.replay.gating import Gate, Verdict
from ragsweep.report.claims import veto_of
from ragsweep.report.decision_record import as_record
from ragsweep.report.decision_rows import summary_of
from ragsweep.statistics import against_baseline, compare_with_best, shown_to_beat
from ragsweep.statistics.repeats import components
from ragsweep.sweeps import CostFront, DecisionSettings, Sweep, check_decision, decide
from ragsweep.sweeps.choice import about_the_same
from ragsweep.tasks.evaluation_record import MetricFact
from ragsweep.tasks.metric import Metric

TOKENS = "context/tokens"
SHARE = MetricFact("f1", "F1", low=0, high=1, binary=True)


def run(alpha, k, scores, **more):
    settings = {"retriever.alpha": str(alpha), "k": str(k)}
    return of_scores(f"alpha={alpha} k={k}", scores, {"retriever.alpha": alpha, "k": k}, **settings, **more)


def noisy(seed, mean, queries=60):
    return np.clip(np.random.default_rng(seed).normal(mean, 0.05, queries), 0, 1)


@pytest.fixture(scope="module")
def decision():
    """Three values of alpha at three cutoffs; F1 falls with k, as precision does."""
    runs = [
        run(alpha, k, np.clip(noisy(7, 0.6 - k / 50) + gain + np.random.default_rng(k).normal(0, 0.02, 60), 0, 1))
        for alpha, gain in ((0, -0.2), (0.5, 0.1), (1, -0.1))
        for k in (3, 5, 10)
    ]
    return decided(*runs)


def test_a_test_compares_configurations_at_one_cutoff_only_whatever_else_was_measured(decision):
    """The smallest k has the highest F1 by construction, but it is no competitor."""
    for cutoff, choice in decision.choices.items():
        scores = [outcome.per_query["f1"] for outcome in decision.sweep.outcomes if outcome.cutoff == cutoff]
        alone = compare_with_best(np.array(scores), resamples=1000)
        assert choice.allowed.standings.with_best.p.tolist() == alone.p.tolist()
        assert choice.allowed.best == alone.best
        of_cutoff = decide(decision.sweep.at(cutoff)).choices[cutoff].allowed.standings
        assert of_cutoff.with_best.p.tolist() == alone.p.tolist()
    assert [choice.named.name for choice in decision.choices.values()] == [f"alpha=0.5 k={k}" for k in (3, 5, 10)]


def test_the_headline_is_about_the_middle_cutoff_the_one_asked_for_or_one_that_meets_the_requirements(decision):
    assert decision.headline.cutoff == 5
    assert decide(replace(decision.sweep, settings=replace(SETTINGS, at=10))).headline.cutoff == 10
    settings = replace(SETTINGS, require={"context/tokens": 400})
    few = decide(replace(decision.sweep, settings=settings))
    assert few.headline.cutoff == 3
    assert [choice.meets for choice in few.choices.values()] == [True, False, False]
    assert few.choices[10].excluded["alpha=1 k=10"] == "context/tokens 1000, required at most 400"
    assert veto_of(few) != "requirements"
    assert veto_of(decide(replace(few.sweep, settings=replace(settings, at=10)))) == "requirements"
    runs = [replace(one, facts=replace(one.facts, cutoff="")) for one in (alpha_k(0, 3, 0.4), alpha_k(1, 5, 0.5))]
    without = decided(*runs)
    assert (list(without.choices), without.sweep.cutoff) == ([None], "")


def test_what_does_not_meet_a_requirement_or_was_not_measured_is_not_tested():
    required = replace(SETTINGS, require={"latency/mean_ms": 50})
    runs = [run(0.5, 5, noisy(1, 0.6)), run(1, 5, noisy(2, 0.3)), run(0.7, 5, noisy(3, 0.9), latency=90.0)]
    decision = decided(*runs, settings=required)
    assert decision.named.name == "alpha=0.5 k=5"
    assert [outcome.name for outcome in decision.headline.allowed.outcomes] == ["alpha=0.5 k=5", "alpha=1 k=5"]
    left_out = summary_of(decision).set_index("name").loc["alpha=0.7 k=5"]
    assert np.isnan(left_out["p_vs_best"])
    assert not left_out["tied_with_best"]
    old = replace(runs[0], facts=replace(runs[0].facts, measures={}))
    excluded = decided(runs[1], old, settings=required).headline.excluded
    assert excluded == {"alpha=0.5 k=5": "latency/mean_ms was not measured"}


def test_the_same_measurements_count_once_and_a_lower_value_can_be_the_better_one():
    scores = noisy(1, 0.6)
    choice = decided(run(0.5, 5, scores), run(0.6, 5, scores), run(1, 5, scores - 0.2)).headline
    assert (choice.distinct, choice.worse) == (2, 1)
    wrong = {"f1": {"name": "f1", "title": "Error", "higher_is_better": False, "low": 0, "high": 1}}
    means = ((0, 1, 0.2), (1, 2, 0.5))
    runs = [run(alpha, 5, noisy(seed, mean, 200), facts={"metrics": wrong}) for alpha, seed, mean in means]
    decision = decided(*runs, settings=replace(SETTINGS, gains=[], margin=0.4, prefer="latency/mean_ms"))
    assert decision.named.name == "alpha=0 k=5"
    assert [outcome.name for outcome in decision.headline.not_worse] == ["alpha=0 k=5", "alpha=1 k=5"]


def test_a_front_compares_all_cutoffs_by_the_bounds_of_its_metric_and_beats_what_it_is_shown_to(decision):
    tokens, latency = decision.fronts
    assert (tokens.quality, tokens.cost, len(tokens.sweep.outcomes)) == ("recall", "context/tokens", 9)
    assert (latency.quality, latency.cost, len(latency.sweep.outcomes)) == ("f1", "latency/mean_ms", 3)
    quality = tokens.sweep.scores("recall")
    beaten = shown_to_beat(quality, tokens.sweep.scores("context/tokens"), tolerance=0.02, resamples=1000)
    assert tokens.on_front.tolist() == (~beaten.any(axis=1)).tolist()
    assert "alpha=0.5 k=3" in [member.name for member in tokens.members]
    # 20 queries cannot show a margin of .05 of a range of 1, and signs can.
    scores = noisy(1, 0.5, 20)
    cheap, dear = run(0, 5, scores, latency=10.0), run(1, 5, scores + 0.01, latency=20.0)
    settings = replace(SETTINGS, gains=[], costs=["latency/mean_ms"], margin=0.05)
    [front] = decided(cheap, dear, settings=settings).fronts
    assert front.on_front.tolist() == [True, True]
    sweep = over_alpha(np.array([[0.5] * 8, [0.5] * 8, [0.5] * 7 + [1.0]]), (0, 0.5, 1))
    costs = [500.0, 300.0, 480.0]
    runs = [with_measure(one, TOKENS, value=cost) for one, cost in zip(sweep.outcomes, costs, strict=True)]
    sweep = replace(sweep, outcomes=runs)
    front = CostFront(sweep, "f1", "context/tokens", shown_to_beat(sweep.scores("f1"), np.array(costs)))
    assert front.beats(runs[0]) is runs[1]  # the last is ahead on a single query, which shows nothing
    assert front.beats(runs[1]) is None


def test_the_record_is_plain_json_and_says_what_the_sentences_say(decision):
    record = json.loads(json.dumps(as_record(decision, "s1"), allow_nan=False))
    assert (record["version"], record["sweep"]) == (1, "s1")
    assert record["claims"][0]["name"] == "choice"
    assert record["at"] == 5
    assert record["choice"]["settings"] == {"retriever.alpha": 0.5, "k": 5}
    assert record["choice"]["measured"]["context/tokens"] == 500
    assert [choice["cutoff"] for choice in record["choices"]] == [3, 5, 10]
    assert record["fronts"][0]["members"][0]["name"].endswith("k=3")


def test_pairs_are_tested_only_if_the_metric_is_a_share():
    right = (np.random.default_rng(0).random((3, 60)) < np.array([[0.5], [0.8], [0.2]])).astype(float)
    runs = [run(alpha, 5, values) for alpha, values in zip((0, 0.5, 1), right, strict=True)]
    assert decided(*runs).pairs is None
    shares = [replace(one, facts=replace(one.facts, metrics={"f1": SHARE})) for one in runs]
    pairs = decided(*shares).pairs
    names = [outcome.name for outcome in runs]
    assert pairs["first"].tolist() == [names[1], names[1], names[0]]  # the best ones first
    for pair in pairs.itertuples():
        first, second = (right[names.index(name)] for name in (pair.first, pair.second))
        assert (pair.only_first, pair.only_second) == ((first > second).sum(), (first < second).sum())


COST_ALONE = replace(SETTINGS, gains=[], costs=["latency/mean_ms"])
SAMPLES = [  # the times of a slower and a faster one, and whether these show it
    ([16.0] * 8, [7.0] * 8, False),  # eight answers at a time took 128 and 56 ms: one time each, which varies
    ([15.0, 17.0] * 4, [6.0, 8.0] * 4, True),
    ([15.0, 9.0] * 4, [8.0, 12.0] * 4, False),
    ([15.0, 17.0] * 4, [7.0] * 8, False),
    ([15.0, 17.0] * 4, [6.0, 8.0] * 3, False),  # of other queries
    ([], [], False),
]
TIMES = [  # in ms, how much load slowed them, and whether another measurement may give the same
    ((1.39, 9.95), (1.1, 7.2), True),  # one BM25 twice, the second time under load
    ((9.95, 1.39), (7.2, 1.1), True),
    ((1.39, 9.95), (7.2, 1.1), False),  # load on what is cheaper explains nothing
    ((1.39, 14.0), (1.3, 2.5), False),
    ((10.0, 14.0), (1.0, 1.0), True),  # processors are not always as fast
    ((10.0, 16.0), (None, None), True),
    ((10.0, 21.0), (None, None), False),
]


def timed(alpha, ms, **about):
    """A run that took so long; its scores are those of every other one."""
    return with_measure(run(alpha, 5, np.full(8, 0.5)), "latency/mean_ms", value=ms, **about)


def front_of(*runs):
    """The front of latency, with the names of those on it."""
    [front] = decided(*runs, settings=COST_ALONE).fronts
    return front, front.on_front.tolist()


def test_times_differ_only_beyond_what_another_measurement_may_give_and_by_single_queries_alone():
    for slow, fast, is_shown in SAMPLES:
        means = [float(np.mean(sample or [16.0 - 9 * alpha])) for alpha, sample in enumerate((slow, fast))]
        samples = zip((0, 1), means, (slow, fast), strict=True)
        runs = [timed(alpha, ms, sample=tuple(sample), machines=("this",)) for alpha, ms, sample in samples]
        assert front_of(*runs)[1] == [not is_shown, True], (slow, fast)
    for times, slowed_by, is_same in TIMES:
        measured = zip((0, 1), times, slowed_by, strict=True)
        spread = np.linspace(0.9, 1.1, 16)
        runs = [timed(alpha, ms, sample=tuple(ms * spread), slowed_by=load) for alpha, ms, load in measured]
        front, on_front = front_of(*runs)
        assert about_the_same(front.sweep, "latency/mean_ms", *runs, share=0.02) == is_same, times
        assert all(on_front) == is_same
    for tokens, is_same in ((500, True), (490, True), (489, False)):  # of what is no time, a share counts as nothing
        costs = ((0, 500.0), (1, tokens))
        runs = [with_measure(run(at, 5, np.full(8, 0.5)), TOKENS, value=value) for at, value in costs]
        assert about_the_same(Sweep(runs, {}, SETTINGS), TOKENS, *runs, share=0.02) == is_same
    better, worse = run(0, 5, np.full(40, 0.8), latency=12.0), run(1, 5, np.full(40, 0.5), latency=10.0)
    assert front_of(better, worse)[1] == [True, False]  # a better one that takes about the same time beats


def repeated(name, values):
    """A run with these values, of shape [repeats, questions]; of one repeat, one that says that it varies."""
    facts = {"varies": True, "metrics": {name: {"name": name, "title": name} for name in ("f1", "recall")}}
    if len(values) > 1:
        parts = components(values)
        fact = {name: getattr(parts, name) for name in ("question", "repeat", "residual", "asked_once")}
        facts |= {"repeats": len(values), "repeated": {"f1": {"means": values.mean(axis=1).tolist(), **fact}}}
    return of_scores(name, values.mean(axis=0), {"model": name}, facts={**FACTS, **facts})


def test_a_decision_says_where_whole_repeats_differ_and_what_was_asked_once():
    """Tests work on the mean of each question, which whole repeats that cancel out do not move."""
    rng = np.random.default_rng(1)
    questions = rng.normal(0, 1, (1, 50))
    steady = [0.4 * place + questions + rng.normal(0, 0.3, (4, 50)) for place in range(2)]
    moody = [values + np.array([[-0.9], [-0.3], [0.3], [0.9]]) for values in steady]
    level, shifted = (decided(*map(repeated, "ab", values)) for values in (steady, moody))
    for one, other in zip(level.sweep.outcomes, shifted.sweep.outcomes, strict=True):
        assert other.interval("f1") == pytest.approx(one.interval("f1"))
    assert shifted.headline.tied == [shifted.named]
    shifts = [claims(decision)["repeats"]["shift"] for decision in (level, shifted)]
    assert [bool(shift) for shift in shifts] == [False, True]
    assert [len(fact["means"]) for fact in as_record(level, "")["repeats"].values()] == [4, 4]
    mixed = decided(level.sweep.outcomes[0], repeated("once", np.ones((1, 50))))
    assert claims(mixed)["asked_once"]["names"] == ["once"]
    assert "asked_once" not in claims(level)


METRICS = [Metric("recall", "Recall", low=0, high=1), Metric("hit_rate", "Hit rate", low=0, high=1, binary=True)]
METRICS_OF_COST = [Metric("latency/p95_ms", "Latency", "ms", higher_is_better=False, low=0)]
NAMES = {"prefer": "latency/p95_ms", "target": {"hit_rate": 0.9}, "gains": ["hit_rate"], "costs": ["latency/p95_ms"]}
WRONG = [  # settings, and how the refusal begins
    ({"metric": "recal"}, "metric: found 'recal', expected a metric that is measured: recall or hit_rate"),
    ({"metric": "latency/p95_ms"}, "metric: found 'latency/p95_ms'"),
    ({"require": {"latency/p95": 50}}, "require: found 'latency/p95', expected something that is measured (did you"),
    ({"require": {"recall": 80}}, "require.recall: found 80, expected a number from 0 to 1"),
    ({"require": {"latency/p95_ms": -1}}, "require.latency/p95_ms: found -1"),
    ({"prefer": "speed"}, "prefer: found 'speed'"),
    ({"gains": ["f1"]}, "gains: found 'f1'"),
    ({"target": {"recall": 0.9}}, "target: found 'recall', expected a metric that is 0 or 1: hit_rate"),
    ({"target": {"hit_rate": 1}}, "target.hit_rate: found 1, expected a share between 0 and 1, such as 0.9"),
    *(({"margin": margin}, f"margin: found {margin}") for margin in (1, 1e300)),  # that everything keeps
    ({"margin": float("inf")}, "margin: found "),
    ({"metric": "depth", "margin": 0.1}, "margin: depth has no bounds"),
]
BAD = {  # an override, and the setting that the refusal names
    "decision.margin=0": "decision.margin: found 0",
    "decision.require=[recall]": "decision.require: found ['recall']",
    "decision.require={recall: high}": "decision.require.recall: found 'high'",
    "decision.metrik=f1": "decision.metrik: no such setting (did you mean decision.metric?)",
    "decision.metric=f2": "decision.metric: found 'f2'",
}


@pytest.mark.usefixtures("long_work")
def test_what_is_not_measured_or_impossible_is_refused_before_data_are_loaded():
    def check(**changed):
        depth = Metric("depth", "Depth", low=0)
        check_decision(replace(DecisionSettings("recall"), **changed), [*METRICS, depth], METRICS_OF_COST)

    check(margin=0.99)
    check(require={"recall": 0.8, "latency/p95_ms": 50}, **NAMES)
    for changed, message in WRONG:
        with pytest.raises(ConfigError) as error:
            check(**changed)
        assert str(error.value).startswith(f"decision.{message}")
    for override, message in BAD.items():
        with pytest.raises(ConfigError) as error:
            Experiment.of(composed(["dataset=pdf", "dataset.documents=absent", "dataset.queries=absent", override]))
        assert message in str(error.value)


def test_a_bad_decision_is_refused_before_the_sweep(application):
    process = application.script_here("run", "-m", *application.arguments("k=3,5", "decision.at=10"))
    assert process.returncode == 2
    assert "decision.at: found 10, expected a measured cutoff: 3, 5" in process.stderr
    assert not application.runs()


COPIES = 4


def sweep(scores, groups=None, facts=(), **changed):
    """A sweep over alpha with these scores, shape [configurations, queries]."""
    runs = [
        of_scores(
            f"alpha={row}", values, {"alpha": row}, facts=facts, groups=groups, alpha=str(row), latency=20.0 + row
        )
        for row, values in enumerate(scores)
    ]
    return Sweep(runs, {}, DecisionSettings(**{**vars(SETTINGS), **changed}))


def numbers(decision):
    """What is decided, without what names queries."""
    record, choice = as_record(decision, ""), decision.headline
    level = choice.allowed.standings
    return {
        "not_shipped": record["not_shipped"],
        "fronts": [[member["name"] for member in front["members"]] for front in record["fronts"]],
        "choice": [choice.named.name, [outcome.name for outcome in choice.tied], choice.worse],
        "margin": choice.not_worse and [outcome.name for outcome in choice.not_worse],
        "p": level.with_best.p.tolist(),
        "expected": choice.expected,
        "power": round(level.power.detectable, 9),
        "showable": choice.showable and choice.showable[0],
    }


@pytest.fixture(scope="module")
def scores():
    return f1_like(np.random.default_rng(5), alike(4), 60, shift=np.array([0.6, 0.55, 0.2, -0.5]))


@pytest.mark.usefixtures("long_work")
@pytest.mark.parametrize("margin", [None, 0.15])
def test_copies_in_groups_decide_as_the_queries_that_they_copy_and_single_ones_as_without(scores, margin):
    copied, groups = np.repeat(scores, COPIES, axis=1), np.repeat(np.arange(60), COPIES).astype(str)
    single, grouped, naive = (
        numbers(decide(sweep(*given, margin=margin))) for given in ((scores,), (copied, groups), (copied,))
    )
    for name, value in single.items():
        assert grouped[name] == (pytest.approx(value) if isinstance(value, float) or name == "p" else value), name
    assert naive["power"] < single["power"], "which copies would do without groups"
    assert naive["choice"] != single["choice"]
    # To the last bit; only the names of the groups are new.
    alone = sweep(scores, [f"q{row}" for row in range(60)], margin=0.1)
    assert as_record(decide(alone), "") == as_record(decide(sweep(scores, margin=0.1)), "")


def test_sentences_records_and_gates_count_the_groups(scores):
    groups = [f"page {row // 2}" for row in range(60)]
    decision = decide(sweep(scores, groups))
    by_name = claims(decision)
    assert (by_name["few"]["groups"], by_name["few"]["few"], by_name["power"]["grouped"]) == (30, False, True)
    assert as_record(decision, "")["dataset"]["groups"] == 30
    few = claims(decide(sweep(scores, [f"{row // 10}" for row in range(60)])))["few"]
    assert (few["groups"], few["few"]) == (6, True)
    groups = [f"page {row // 4}" for row in range(60)]
    runs = sweep(scores[:2], groups)
    one, other = runs.scores("f1")

    def gate(**given):
        return Gate("f1", 0.1, runs, against_baseline(one - other, 0.1, 1, **given))

    grouped = gate(groups=runs.groups)
    assert any("60 queries in 15 groups" in line for line in grouped.sentences())
    assert grouped.tests.least == 29 * 4, "29 groups of 4, where 29 queries would be enough"
    assert grouped.verdict is Verdict.UNCERTAIN
    assert grouped.tests.p_not_worse > gate().tests.p_not_worse


def shares(groups, **more):
    """A sweep of one configuration that has a hit for 14 of 20 pages, with ten questions about each."""
    metrics = {**FACTS["metrics"], "f1": {**FACTS["metrics"]["f1"], "binary": True, "wilson": True}}
    hits = np.repeat([1.0] * 14 + [0.0] * 6, 10)
    return sweep([hits], groups, {"metrics": metrics, "at_k": {"f1": [0.3, 0.5, 0.6, 0.7, 0.7]}, "at_k_ci": {}}, **more)


PAGES = np.repeat(np.arange(20), 10).astype(str)


def test_a_promise_and_wilsons_interval_are_those_of_what_the_groups_tell():
    """The questions of a page all agree: 20 draws, not 200."""
    for groups, certified in ((None, 4), (PAGES, None)):
        [promise] = decide(shares(groups, target={"f1": 0.6})).promises
        assert promise.cutoff == certified
        assert promise.queries == 200
    assert promise.queries_needed > 1000, "in questions, not in draws"
    alone, grouped = (shares(groups).outcomes[0].interval("f1") for groups in (None, PAGES))
    assert alone == pytest.approx((0.633, 0.759), abs=0.001)
    assert grouped == pytest.approx((0.46, 0.86), abs=0.03)
