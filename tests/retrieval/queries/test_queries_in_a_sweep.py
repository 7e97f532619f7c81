"""The rewriters in a sweep: what is recorded and explained, and that none knows how its queries are judged."""

import csv

import pytest
import small
from application import succeeded

MISSPELLED = [("How much paracetmol does a hot child need?", ["fever.pdf#1"], "factual"), *small.QUERIES[1:]]

REWRITERS = ["spellcheck", "table"]


def swept(application, folder, queries, rewriters):
    """The recorded files of each rewriter, by its name."""
    dataset = small.arguments(folder)
    small.write_queries(folder / "questions.json", queries)
    (folder / "table.csv").write_text("abbreviation,expansion\ntest,blood film\n")
    (folder / "conf" / "query").mkdir(parents=True)
    (folder / "conf/query/table.yaml").write_text(f"defaults: [abbreviations]\ntable: {folder / 'table.csv'}\n")
    given = ["--config-dir", str(folder / "conf"), *dataset, "-m", "retriever=sparse", "k=3"]
    succeeded(application.run(*given, f"query={','.join(rewriters)}"))
    runs = application.children()
    assert len(runs) == len(rewriters)
    return {run.data.params.get("query", "plain"): (run, application.artifacts(run) / "results") for run in runs}


@pytest.fixture(scope="module")
def runs(shared_application, tmp_path_factory):
    return swept(shared_application, tmp_path_factory.mktemp("asked") / "data", MISSPELLED, ["plain", *REWRITERS])


def per_query(results):
    return list(csv.DictReader((results / "per_query.csv").read_text().splitlines()))


def test_what_was_changed_is_in_the_table_of_queries(runs):
    first, second = per_query(runs["SpellCheck"][1])[:2]
    assert first["query_change"] == "paracetmol -> paracetamol, need -> needs"  # the small corpus has no "need"
    assert first["searched"] == "How much paracetamol does a hot child needs?"
    assert (second["query_change"], second["searched"]) == ("", second["query"])
    assert per_query(runs["Abbreviations"][1])[1]["searched"] == "Which test (blood film) finds malaria?"
    assert "searched" not in per_query(runs["plain"][1])[0]


def test_settings_and_the_content_of_the_table_are_recorded(runs):
    params = runs["Abbreviations"][0].data.params
    assert (params["query.mode"], params["query.case_sensitive"]) == ("append", "True")
    assert "query.fingerprint" in params or "query.fingerprint" in runs["Abbreviations"][0].data.tags


def test_an_explanation_says_what_was_changed(runs, shared_application, tmp_path):
    *_, documents, queries = small.arguments(tmp_path / "data")
    small.write_queries(tmp_path / "data" / "questions.json", MISSPELLED)
    given = [runs["SpellCheck"][0].info.run_id, "1", documents, queries]
    assert "paracetmol -> paracetamol" in succeeded(shared_application.script_here("explain", *given)).stdout


@pytest.mark.soak
def test_no_rewriter_knows_how_its_queries_are_judged(runs, application, tmp_path):
    """The relevant pages of each query go to the next query: no ranking changes."""
    judged = [MISSPELLED[(row + 1) % len(MISSPELLED)][1] for row in range(len(MISSPELLED))]
    moved = [(query, pages, kind) for (query, _, kind), pages in zip(MISSPELLED, judged, strict=True)]
    for query, (run, results) in swept(application, tmp_path / "data", moved, REWRITERS).items():
        assert (results / "ranking.trec").read_text() == (runs[query][1] / "ranking.trec").read_text(), query
        assert run.data.metrics != runs[query][0].data.metrics, query
