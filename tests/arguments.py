"""Arguments and their counterarguments, as in ArguAna: each query is a document of the corpus."""

import json

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
