"""The search for unjudged documents leaves out what is never ranked."""

import json

import numpy as np
from letters import LetterEncoder

from ragsweep.datasets import BeirDataset, PageChunker
from ragsweep.retrieval import (
    SparseRetriever,
)
from ragsweep.store.store import NO_STORE
from ragsweep.tasks.ranking.metrics import ndcg
from ragsweep.tasks.ranking.settings import EvaluationSettings
from ragsweep.tasks.ranking.task import RankingTask
from ragsweep_audit.unlike_rankings import unlike_rankings

# Arguments and their counterarguments, as in ArguAna: each query is a document of the corpus.
ARGUMENTS = {
    "tax": "higher taxes help schools",
    "ban": "a ban on cars helps lungs",
    "vote": "young people should vote early",
}
COUNTERS = {"c1": "taxes harm shops", "c2": "no ban of cars in towns", "c3": "a vote needs age and people"}
QRELS = {"tax": "c1", "ban": "c2", "vote": "c3"}


def written(tmp_path, corpus=None, queries=None, qrels=None):
    folder = tmp_path / "arguana"
    (folder / "qrels").mkdir(parents=True)
    rows = [{"_id": name, "title": "", "text": text} for name, text in (corpus or ARGUMENTS | COUNTERS).items()]
    asked = queries or [{"_id": name, "text": text} for name, text in ARGUMENTS.items()]
    (folder / "corpus.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (folder / "queries.jsonl").write_text("\n".join(map(json.dumps, asked)))
    lines = [f"{query}\t{document}\t1" for query, document in (qrels or QRELS).items()]
    (folder / "qrels/test.tsv").write_text("\n".join(["query-id\tcorpus-id\tscore", *lines]) + "\n")
    return folder


def task(dataset, retriever=None, k=3, **stages):
    evaluation = EvaluationSettings("after_cutoff", 1, "linear", 10, {"ndcg": ndcg})
    return RankingTask(
        dataset, PageChunker(), retriever or SparseRetriever(NO_STORE), evaluation, k, 0, NO_STORE, **stages
    )


def test_the_search_for_unjudged_documents_leaves_it_out_too(tmp_path):
    items = task(BeirDataset("a", str(written(tmp_path)))).load()
    for passages in unlike_rankings(items, LetterEncoder(), NO_STORE).values():
        assert not (passages == np.arange(3)[:, None]).any()
