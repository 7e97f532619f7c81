"""The search for unjudged documents leaves out what is never ranked."""

import numpy as np
from arguments import written
from letters import LetterEncoder

from ragsweep.datasets import PageChunker, beir_dataset
from ragsweep.retrieval import (
    SparseRetriever,
)
from ragsweep.store.stage_store import NO_STORE
from ragsweep.tasks.ranking.metrics import ndcg
from ragsweep.tasks.ranking.ranking_settings import EvaluationSettings
from ragsweep.tasks.ranking.ranking_task import RankingTask
from ragsweep_audit.findings.unjudged import unlike_rankings


def task(dataset, retriever=None, k=3, **stages):
    evaluation = EvaluationSettings("after_cutoff", 1, "linear", 10, {"ndcg": ndcg})
    return RankingTask(
        dataset, PageChunker(), retriever or SparseRetriever(NO_STORE), evaluation, k, 0, NO_STORE, **stages
    )


def test_the_search_for_unjudged_documents_leaves_it_out_too(tmp_path):
    items = task(beir_dataset("a", str(written(tmp_path)))).load()
    for passages in unlike_rankings(items, LetterEncoder(), NO_STORE).values():
        assert not (passages == np.arange(3)[:, None]).any()
