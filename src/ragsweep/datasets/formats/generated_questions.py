"""How generated questions are recognised, and what must be said of every choice that they decide."""

from __future__ import annotations

from collections.abc import Sequence

from ragsweep.datasets.model.collection import Query

EASY, BM25_RANK, COPIED = "easy", "bm25_rank", "copied"  # columns that `ragsweep generate` writes, a rank not always
EASY_SHARE = 0.9  # of easy questions, from which on the set says nothing about sparse against dense retrieval


def caution_of_generated(queries: Sequence[Query]) -> str:
    """The warning for comparisons by generated questions; empty if people asked them.

    Queries are generated if they have the columns of `ragsweep generate`, whatever file they were copied to.
    """
    fields = [dict(query.fields) for query in queries]
    generated = [row for row in fields if row.keys() >= {EASY, COPIED}]
    if not generated:
        return ""
    easy = sum(row[EASY].lower() == "true" for row in generated)
    subject = "The questions" if len(generated) == len(queries) else f"{len(generated)} of {len(queries)} questions"
    caution = (
        f"{subject} were generated from the documents: their order of configurations can be another one than that of "
        "real questions (on the bundled manual, the two even disagreed: Kendall -.12 to -.28). Check the choice on "
        "real questions."
    )
    if easy >= EASY_SHARE * len(generated):
        caution += (
            f" BM25 finds the passage of {easy / len(generated):.0%} of them first: do not choose between sparse and "
            "dense retrieval with them."
        )
    return caution
