"""What a query costs: tokens at every cutoff, latency, bytes of the index; and that strategies differ."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
import small
from application import PROJECT, succeeded
from composed_here import composed
from hypothesis import given
from hypothesis import strategies as st
from letters import LetterEncoder, numbered
from rankings import SPARSE

from ragsweep.core.arrays import NOTHING
from ragsweep.core.errors import EncoderError
from ragsweep.core.hardware import machine
from ragsweep.core.timing import timing_order
from ragsweep.datasets.model.dataset import Coverage
from ragsweep.experiment import Experiment
from ragsweep.models.encoders import token_counts as module
from ragsweep.models.encoders.model_files import MINILM, model_folder
from ragsweep.models.encoders.token_counts import token_counts
from ragsweep.retrieval import DenseRetriever, FaissIndex, Ranking, Search
from ragsweep.retrieval.ranking import in_stage
from ragsweep.store.stage_store import NO_STORE, Store
from ragsweep.tasks.ranking.judging import judge
from ragsweep.tasks.ranking.ranking_costs import about_timed, context_tokens, measures, times_of

TEXTS = ["Wash your hands.", "", "Référez la patiente à l'hôpital.", "1 2 3"]
ITEMS = SimpleNamespace(coverage=lambda _: Coverage(4, 2), unit="page")


@given(st.integers(0, 2**32 - 1), st.sampled_from(["after_cutoff", "before_cutoff"]))
def test_the_tokens_of_a_context_are_those_of_its_passages(seed, collapse):
    """A slow loop over queries, cutoffs and passages."""
    rng = np.random.default_rng(seed)
    counts = rng.integers(1, 50, 12)
    units_of = rng.integers(0, 5, 12)  # several passages of a unit
    passages = np.array([rng.permutation(12)[:8] for _ in range(4)])
    passages[1, 5:] = NOTHING
    units = np.where(passages == NOTHING, NOTHING, units_of[passages])
    judged = judge(units, np.arange(4), rng.integers(0, 5, 4), np.ones(4, dtype=int), collapse=collapse)
    tokens = context_tokens(judged, passages, counts, 10)
    assert tokens.shape == (10, 4)
    for query in range(4):
        kept, seen = [], set()
        for passage in passages[query][passages[query] != NOTHING]:
            if collapse == "after_cutoff" or units_of[passage] not in seen:
                kept.append(counts[passage])
            seen.add(units_of[passage])
        for cutoff in range(1, 11):
            assert tokens[cutoff - 1, query] == sum(kept[:cutoff])


@pytest.mark.usefixtures("models")
def test_tokens_are_those_of_the_encoders_library_and_a_model_that_cannot_be_read_is_named(capsys, tmp_path):
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(model_folder(MINILM))
    expected = [len(tokenizer(text, add_special_tokens=False)["input_ids"]) for text in TEXTS]
    assert token_counts(TEXTS, MINILM, NO_STORE).tolist() == expected
    assert token_counts(TEXTS, str(tmp_path), NO_STORE) is None
    assert "decision.tokenizer=words" in capsys.readouterr().err
    (tmp_path / "tokenizer.json").write_text('{"version": 1')
    with pytest.raises(EncoderError, match=r"^decision\.tokenizer: .*tokenizer\.json: "):
        token_counts(TEXTS, str(tmp_path), NO_STORE)


def test_counts_are_kept_and_of_a_large_corpus_only_what_is_needed_is_counted(tmp_path, monkeypatch):
    store, needed = Store(str(tmp_path)), np.array([[2, 0], [2, NOTHING]])
    counts = token_counts(TEXTS, MINILM, store).tolist()
    assert any(entry.stage == "tokens" for entry in store.entries())
    assert token_counts(TEXTS, MINILM, store).tolist() == counts
    assert token_counts(TEXTS[:1], MINILM, store).tolist() == counts[:1]
    assert token_counts(TEXTS, MINILM, NO_STORE, needed).tolist() == counts
    monkeypatch.setattr(module, "MOST_COUNTED", 3)
    for at_once in (1, 3):
        monkeypatch.setattr(module, "TOKENIZED_AT_ONCE", at_once)
        assert token_counts(TEXTS, MINILM, NO_STORE, needed).tolist() == [counts[0], 0, counts[2], 0]


def measured(ranking, queries, tokens=None):
    return {measure.metric.name: measure for measure in measures(ranking, queries, tokens, ITEMS, 1)}


def test_costs_are_measured_from_the_ranking_and_latency_of_some_queries_has_no_total():
    passages, queries = np.zeros((3, 1), dtype=np.int64), np.array([0, 2])
    ranking = Ranking(passages, np.zeros((3, 1)), np.array([1.0, np.nan, 3.0]), index_bytes=np.array([4096]))
    by_name = measured(ranking, queries, np.array([10.0, 30.0]))
    latencies = {"mean": 2, "std": 2**0.5, "median": 2, "p95": 2.9, "total": 4, "search": 2}
    assert {name: measure.value for name, measure in by_name.items()} == pytest.approx(
        {"context/tokens": 20, "context/tokens_p95": 29, "index/bytes": 4096}
        | {f"latency/{name}_ms": value for name, value in latencies.items()}
        | {"coverage/units": 0.5, "coverage/expected": 4, "coverage/present": 2, "coverage/missing": 2}
    )
    # Whichever queries were timed, the times of the first ones in the order of timing are compared.
    queries, times = np.arange(40), np.full(40, np.nan)
    times[timing_order(40)[:20]] = np.arange(20.0)
    ranking = Ranking(np.zeros((40, 1), dtype=np.int64), np.zeros((40, 1)))
    ranking = ranking.costing(in_stage("encode", times), in_stage("search", np.ones(40)))
    by_name = measured(ranking, queries)
    assert by_name["latency/mean_ms"].sample.tolist() == [*range(1, 21)]
    assert (by_name["latency/encode_ms"].value, by_name["latency/search_ms"].value) == (9.5, 1)
    assert not {"latency/total_ms", "latency/fuse_ms"} & by_name.keys()
    assert "20 of 40 queries" in about_timed(times_of(ranking, queries)).notices[0]
    assert not [*about_timed(np.ones(40)).notices, *about_timed(np.full(40, np.nan)).notices]


def test_an_index_grows_with_the_corpus_and_a_dense_one_holds_the_embeddings(store):
    texts = tuple(f"passage {number} about topic {number % 7}" for number in range(200))
    sizes = [SPARSE.rank(Search(texts[:count], ("topic",)), 5).index_bytes[0] for count in (50, 200)]
    assert 2 * sizes[0] < sizes[1]
    search = Search(tuple(numbered(300)), ("ab",))
    exact, graph = (
        DenseRetriever(LetterEncoder(), store, *index).rank(search, 5).index_bytes[0]
        for index in ((), (FaissIndex("HNSW32"),))
    )
    assert exact == LetterEncoder().encode(search.passages, "passage").nbytes
    assert graph > 1.5 * exact


MS = "latency/mean_ms"
QUICK = ["retriever=sparse", "decision.tokenizer=words"]


def latency_in(application, run) -> dict:
    return json.loads((application.artifacts(run) / "results/evaluation.json").read_text())["measures"].get(MS, {})


def test_a_latency_that_is_kept_is_that_of_the_first_run_with_its_machine(application, dataset):
    own_store = [f"store.path={application.home / 'store'}"]
    succeeded(application.script_here("run", "-m", *application.arguments(*dataset, *own_store, *QUICK, "k=1,3")))
    runs = application.children()
    assert len({run.data.metrics[MS] for run in runs}) == 1
    assert [latency_in(application, run)["machines"] for run in runs] == 2 * [[machine()]]
    [slowed_by] = {latency_in(application, run)["slowed_by"] for run in runs}
    assert slowed_by >= 1
    [parent] = application.parents()
    assert machine() in (application.artifacts(parent) / "report.md").read_text()


OPTIONS = sorted(path.stem for path in (PROJECT / "conf" / "strategy").glob("*.yaml"))


@pytest.mark.usefixtures("models")
def test_every_strategy_is_measured_and_is_another_configuration(dataset, cache):
    given = [*dataset, "k=3", f"store.path={cache}", "evaluation.resamples=100"]
    experiments = [Experiment.of(composed(*given, f"strategy={name}")) for name in OPTIONS]
    assert len({experiment.digest for experiment in experiments}) == len(OPTIONS) == 6
    for experiment in experiments:
        assert experiment.measure().values["recall"] > 0, experiment.settings


@pytest.mark.soak
def test_no_strategy_knows_how_its_queries_are_judged(dataset, shared_application, application, tmp_path):
    """The relevant pages of each query go to the next query: no ranking changes."""
    next_queries = [*small.QUERIES[1:], small.QUERIES[0]]
    moved = [(query, pages, kind) for (query, _, kind), (_, pages, _) in zip(small.QUERIES, next_queries, strict=True)]
    arguments = small.arguments(tmp_path / "moved")
    small.write_queries(tmp_path / "moved" / "questions.json", moved)
    runs = []
    for where, asked in ((shared_application, dataset), (application, arguments)):
        succeeded(where.run(*asked, "-m", f"strategy={','.join(OPTIONS)}", "k=3"))
        runs.append({run.info.run_name: (where.artifacts(run), run.data.metrics) for run in where.children()})
    before, after = runs
    assert len(before) == len(OPTIONS)
    for name, (folder, metrics) in before.items():
        texts = [(path / "results/ranking.trec").read_text() for path in (folder, after[name][0])]
        assert texts[0] == texts[1], name
        assert metrics != after[name][1], name
