"""The sweep that one types: which jobs it has, and what is refused."""

import re

import pytest
from application import PROJECT, in_this_process

HEADER = "# @package _global_\n"
OWN = HEADER + "hydra:\n  sweeper:\n    params:\n      {}\n"
DATA = {
    "corpus": "corpus=text corpus.path=docs questions=table questions.path=questions.csv questions.unit=document",
    "encoder": "encoder=wordllama",
    "tracking.experiment": "tracking.experiment=typed",
}
FUSIONS = sorted({file.stem for file in (PROJECT / "conf/fusion").glob("*.yaml")} - {"rrf"})


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A project with two texts, files that sweep, and a retriever of its own."""
    project = tmp_path_factory.mktemp("typed")
    for name in ("docs", "conf/experiment", "conf/retriever"):
        (project / name).mkdir(parents=True)
    for name, text in {"leave": "Thirty days of paid holiday.", "travel": "Receipts within a month."}.items():
        (project / f"docs/{name}.txt").write_text(text)
    (project / "questions.csv").write_text("query,relevant_docs\nHow much holiday?,leave.txt\nReceipts?,travel.txt\n")
    swept = {
        "first": "retriever.k1: 0.5,1.0,1.5",
        "second": "retriever.k1: 1.0,1.1,1.2,1.3",
        "globbed": "fusion: glob(*,exclude=rr*)",
        "misspelt": "retriever.k7: 1,2",
        "zipped": "retriever.b: 0.1,0.9\n      k: 1,2\n    zip: [retriever.b, k]",
    }
    settings = {
        "bare": "k: 3\n",
        "misspelt_group": f"{HEADER}retrievr:\n  k1: 0.5\n",
        "twice": f"{HEADER}k: 2\nk: 3\n",
        "again": f"{HEADER}defaults:\n  - /retriever: sparse\n",
        "without_slash": f"{HEADER}defaults:\n  - override retriever: sparse\n",
        "own_names": f"{HEADER}size: 3\nk: ${{size}}\n",
    }
    for name, text in settings.items():
        (project / f"conf/experiment/{name}.yaml").write_text(text)
    for name, params in swept.items():
        (project / f"conf/experiment/{name}.yaml").write_text(OWN.format(params))
    (project / "conf/retriever/mine.yaml").write_text("_target_: mine.Mine\nboost: 1.5\n")
    (project / "mine.py").write_text("def Mine(boost: float):\n    return None\n")
    return project


def sweep(folder, typed):
    """What `ragsweep run -m` does, on the small corpus."""
    given = [
        *typed.split(),
        *(word for name, words in DATA.items() if f"{name}=" not in typed for word in words.split()),
    ]
    return in_this_process(folder, "run", "-m", *given, "+dry_run=true")


TYPED = {
    "a setting applies where it exists": (
        "retriever=dense,hybrid retriever.alpha=0,0.5,1",
        ["retriever=dense", "retriever=hybrid alpha=0", "retriever=hybrid alpha=0.5", "retriever=hybrid alpha=1"],
    ),
    "in any order": (
        "retriever.alpha=0,1 retriever=dense,hybrid",
        ["retriever=dense", "alpha=0 retriever=hybrid", "alpha=1 retriever=hybrid"],
    ),
    "a chunker without a size": (
        "chunker=recursive,page chunker.size=300,600 retriever=sparse",
        ["chunker=recursive size=300", "chunker=recursive size=600", "chunker=page"],
    ),
    "a reranker that is none": (
        "reranker=none,mmr reranker.relevance=0.3,0.7 retriever=sparse",
        ["reranker=none", "reranker=mmr relevance=0.3", "reranker=mmr relevance=0.7"],
    ),
    "one value that the defaults do not have": (
        "retriever=dense,sparse retriever.k1=1.2",
        ["retriever=dense", "retriever=sparse"],
    ),
    "one value for the options of a strategy": (
        "strategy=bm25,dense retriever.k1=1.2",
        ["strategy=bm25", "strategy=dense"],
    ),
    "an encoder that nothing uses": (
        "retriever=sparse,dense encoder=minilm,wordllama",
        ["retriever=sparse", "retriever=dense encoder=minilm", "retriever=dense encoder=wordllama"],
    ),
    "lists that belong together": (
        "chunker.size=300,600 k=6,3 retriever.b=0.1,0.2 hydra.sweeper.zip=[chunker.size,k] retriever=sparse",
        ["size=300 k=6 b=0.1", "size=300 k=6 b=0.2", "size=600 k=3 b=0.1", "size=600 k=3 b=0.2"],
    ),
    "a group and a setting that belong together": (
        "retriever=sparse,dense k=3,4 hydra.sweeper.zip=[retriever,k]",
        ["retriever=sparse k=3", "retriever=dense k=4"],
    ),
    "a file that zips": ("experiment=zipped retriever=sparse", ["b=0.1 k=1", "b=0.9 k=2"]),
    "options by a pattern": ("retriever=glob(s*) k=1,2", ["k=1", "k=2"]),
    "a file with a pattern": ("experiment=globbed", [f"fusion={name}" for name in FUSIONS]),
    "a file with a name of its own": ("experiment=own_names retriever=sparse seed=1,2", ["seed=1", "seed=2"]),
    "a value that is listed twice": ("retriever.alpha=0.5,0.50,0.5", ["alpha=0.5"]),
    "a value that is written in two ways": ("retriever=sparse k=3,3", ["k=3"]),
    "a whole number with and without decimals": ("retriever=sparse retriever.k1=1,1.0", ["k1=1"]),
    "two files that sweep, one of whose values are the same": (
        "experiment=first,second retriever=sparse",
        [
            *(f"k1={value} experiment=first" for value in (0.5, 1, 1.5)),
            *(f"k1={value} experiment=second" for value in (1.1, 1.2, 1.3)),
        ],
    ),
}


@pytest.mark.usefixtures("long_work")
@pytest.mark.parametrize(("typed", "jobs"), TYPED.values(), ids=TYPED)
def test_a_sweep_has_the_jobs_that_were_meant(folder, typed, jobs):
    process = sweep(folder, typed)
    assert process.returncode == 0, process.stderr
    assert re.findall("(?m)^(.*): would run$", process.stdout) == jobs


@pytest.mark.usefixtures("long_work")
@pytest.mark.parametrize(
    ("typed", "expected"),
    {
        "retriever.alpha=0.5,0.50": "retriever.alpha=0.5,0.50: a value that is listed twice is measured once",
        "experiment=first,second retriever=sparse": "retriever.k1=1.0 experiment=second: measure the same",
        "retriever=sparse retriever.k1=1,1.0": "retriever.k1=1, retriever.k1=1.0: measure the same, so only",
        "experiment=first retriever.k1=2 retriever=sparse": "retriever.k1=2 replaces retriever.k1=0.5,1.0,1.5 of",
        "+note=a k=1,2 retriever=sparse": "note: no effect: nothing that is measured uses note",
    }.items(),
)
def test_what_is_not_run_is_said(folder, typed, expected):
    assert expected in sweep(folder, typed).stderr


@pytest.mark.usefixtures("long_work")
@pytest.mark.parametrize(
    ("typed", "expected"),
    {
        "retriever=sparse,mine retriever.bost=1": "retriever.bost: no such setting (did you mean retriever.boost?)",
        "retriever=sparse,mine retriever.alpha=1": "(retriever has k1, b, backend, epsilon, stop_words, ",
        "retriever=dense,hybrid retriever.alhpa=0,1": "no such setting (did you mean retriever.alpha?)",
        "k=3,5 chunker.size=1,2,3 hydra.sweeper.zip=[k,chunker.size]": "k with 2 values, chunker.size with 3 values",
        "k=3,5 hydra.sweeper.zip=[k,seed]": "k with 2 values, seed with 0 values",
        "retriever.alpha=0.1,0.5 retriever.alpha=0.2,0.6": "retriever.alpha: given 2 times, as 0.1,0.5 and as 0.2,0.6",
        "experiment=first,misspelt retriever=sparse": "retriever.k7: no such setting",
        "retriever.alpha=interval(0,1)": "retriever.alpha=interval(0,1): expected a list of values, or a range",
        "hydra.sweeper.params.k=3,5": "hydra.sweeper.params.k=3,5: is for files; write k=3,5",
        "+experiment=first": "experiment: is there already; leave out the +",
        "experiment=first,bare retriever=sparse": "experiment: a file in conf/experiment needs the first line",
        "experiment=first,misspelt_group retriever=sparse": "retrievr: no such setting (did you mean retriever?)",
        "experiment=first,twice retriever=sparse": "conf/experiment/twice.yaml, line 3: found duplicate key k",
        "experiment=first,again": "retriever: is there already; leave out the +, or write override before it in",
        "experiment=first,without_slash": "conf/experiment/without_slash.yaml: there is no group experiment/retriever",
        "++retreiver.k1=0.5,0.6 retriever=sparse": "retreiver: no such setting (did you mean retriever?)",
        "+note=a,b retriever=sparse": "note: sweeping it changes nothing",
        "reranker=null,mmr": "reranker=null,mmr: expected one of cross_encoder, ",
        "k=1,2 tracking.artifacts='~/mine'": "tracking.artifacts='~/mine': ~ is not expanded here",
        "--k=1,2": "--k=1,2: there is no such option",
        "k=3,5 hydra.sweep.subdir=same": "hydra.sweep.subdir: k=3 and k=5 would share same",
        "k=3,5 hydra.sweep.dir=${hydra:runtime.cwd}": "hydra.sweep.dir: found what is not known before a sweep starts",
    }.items(),
)
def test_a_sweep_that_cannot_be_meant_is_refused(folder, typed, expected):
    process = sweep(folder, typed)
    assert (process.returncode, process.stdout) == (2, "")
    assert expected in process.stderr.splitlines()[-1]


@pytest.mark.usefixtures("long_work")
@pytest.mark.parametrize("shown", ["searchpath", "defaults-tree"])
def test_hydra_prints_what_a_command_is_made_of(folder, shown):
    process = in_this_process(folder, "run", "--info", shown, "retriever=sparse")
    assert process.returncode == 0, process.stderr
    assert "conf" in process.stdout or "retriever: sparse" in process.stdout
