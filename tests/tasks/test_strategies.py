"""The strategies that are shipped: each runs, its stages are recorded, and none knows how its queries are judged."""

import pytest
import small
from application import PROJECT

OPTIONS = {path.stem for path in (PROJECT / "conf" / "strategy").glob("*.yaml")}
SWEEP = ["-m", f"strategy={','.join(sorted(OPTIONS))}", "k=3"]


def swept(application, dataset):
    """The runs of all strategies, by their names."""
    process = application.run(*dataset, *SWEEP)
    assert process.returncode == 0, process.stderr
    return {run.info.run_name: run for run in application.children()}


@pytest.fixture(scope="module")
def strategies(shared_application, dataset):
    return swept(shared_application, dataset)


def test_every_strategy_is_another_configuration(strategies):
    assert len(strategies) == len(OPTIONS) == 6
    assert len({run.data.tags["config.digest"] for run in strategies.values()}) == len(OPTIONS)


@pytest.mark.soak
def test_no_strategy_knows_how_its_queries_are_judged(strategies, shared_application, application, tmp_path):
    """The relevant pages of each query go to the next query: no ranking changes."""
    others = [small.QUERIES[(row + 1) % len(small.QUERIES)] for row in range(len(small.QUERIES))]
    moved = [(query, pages, kind) for (query, _, kind), (_, pages, _) in zip(small.QUERIES, others, strict=True)]
    arguments = small.arguments(tmp_path / "moved")
    small.write_queries(tmp_path / "moved" / "questions.json", moved)
    again = swept(application, arguments)
    for name, run in strategies.items():
        before, after = (
            (where.artifacts(one) / "results" / "ranking.trec").read_text()
            for where, one in ((shared_application, run), (application, again[name]))
        )
        assert before == after, name
        assert run.data.metrics != again[name].data.metrics, name
