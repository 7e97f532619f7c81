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
    (project / "conf/retriever/mine.yaml").write_text("_target_: boosting.Mine\nboost: 1.5\n")
    (project / "boosting.py").write_text("def Mine(boost: float):\n    return None\n")
    return project


def sweep(folder, typed):
    """What `ragsweep run -m` does, on the small corpus."""
    given = [
        *typed.split(),
        *(word for name, words in DATA.items() if f"{name}=" not in typed for word in words.split()),
    ]
    return in_this_process(folder, "run", "-m", *given, "+dry_run=true")


MEANT = {  # by what is typed: the jobs, and what is said of others
    # A setting applies where it exists, in any order.
    "retriever=dense,hybrid retriever.alpha=0,0.5,1": [
        *("retriever=dense", "retriever=hybrid alpha=0", "retriever=hybrid alpha=0.5", "retriever=hybrid alpha=1")
    ],
    "retriever.alpha=0,1 retriever=dense,hybrid": [
        *("retriever=dense", "alpha=0 retriever=hybrid", "alpha=1 retriever=hybrid")
    ],
    "chunker=recursive,page chunker.size=300,600 retriever=sparse": [
        *("chunker=recursive size=300", "chunker=recursive size=600", "chunker=page")
    ],
    "reranker=none,mmr reranker.relevance=0.3,0.7 retriever=sparse": [
        *("reranker=none", "reranker=mmr relevance=0.3", "reranker=mmr relevance=0.7")
    ],
    "retriever=dense,sparse retriever.k1=1.2": ["retriever=dense", "retriever=sparse"],
    "strategy=bm25,dense retriever.k1=1.2": ["strategy=bm25", "strategy=dense"],
    "retriever=sparse,dense encoder=minilm,wordllama": [
        *("retriever=sparse", "retriever=dense encoder=minilm", "retriever=dense encoder=wordllama")
    ],
    # Lists that belong together.
    "chunker.size=300,600 k=6,3 retriever.b=0.1,0.2 hydra.sweeper.zip=[chunker.size,k] retriever=sparse": [
        *("size=300 k=6 b=0.1", "size=300 k=6 b=0.2", "size=600 k=3 b=0.1", "size=600 k=3 b=0.2")
    ],
    "retriever=sparse,dense k=3,4 hydra.sweeper.zip=[retriever,k]": ["retriever=sparse k=3", "retriever=dense k=4"],
    "experiment=zipped retriever=sparse": ["b=0.1 k=1", "b=0.9 k=2"],
    # Options by a pattern, and a file with a name of its own.
    "retriever=glob(s*) k=1,2": ["k=1", "k=2"],
    "experiment=globbed": [f"fusion={name}" for name in FUSIONS],
    "experiment=own_names retriever=sparse seed=1,2": ["seed=1", "seed=2"],
    # What measures the same is measured once.
    "retriever=sparse k=3,3": ["k=3"],
    "experiment=first,second retriever=sparse": [
        *(f"k1={value} experiment=first" for value in (0.5, 1, 1.5)),
        *(f"k1={value} experiment=second" for value in (1.1, 1.2, 1.3)),
    ],
    "retriever.alpha=0.5,0.50,0.5": ["alpha=0.5"],
    "retriever=sparse retriever.k1=1,1.0": ["k1=1"],
    "+note=a k=1,2 retriever=sparse": ["k=1", "k=2"],
    "experiment=first retriever.k1=2 retriever=sparse": ["experiment=first k1=2 retriever=sparse encoder=wordllama"],
}
SAID = {  # of commands above
    "experiment=first,second retriever=sparse": "retriever.k1=1.0 experiment=second: measure the same",
    "retriever.alpha=0.5,0.50,0.5": "retriever.alpha=0.5,0.50,0.5: a value that is listed twice is measured once",
    "retriever=sparse retriever.k1=1,1.0": "retriever.k1=1, retriever.k1=1.0: measure the same, so only",
    "+note=a k=1,2 retriever=sparse": "note: no effect: nothing that is measured uses note",
    "experiment=first retriever.k1=2 retriever=sparse": "retriever.k1=2 replaces retriever.k1=0.5,1.0,1.5 of",
}


@pytest.mark.usefixtures("long_work")
def test_a_sweep_has_the_jobs_that_were_meant_and_what_is_not_run_is_said(folder):
    done = {typed: sweep(folder, typed) for typed in MEANT}
    assert {process.stderr for process in done.values() if process.returncode} == set()
    assert {typed: re.findall("(?m)^(.*): would run$", process.stdout) for typed, process in done.items()} == MEANT
    assert {typed for typed, expected in SAID.items() if expected not in done[typed].stderr} == set()


REFUSED = {  # by what is typed: what the last line says
    "retriever=sparse,mine retriever.bost=1": "retriever.bost: no such setting (did you mean retriever.boost?)",
    "retriever=sparse,mine retriever.alpha=1": "(retriever has k1, b, backend, epsilon, stop_words, ",
    "retriever=dense,hybrid retriever.alhpa=0,1": "no such setting (did you mean retriever.alpha?)",
    "retriever=dense,sprase": "retriever=sprase: expected one of",
    "k=3,5 chunker.size=1,2,3 hydra.sweeper.zip=[k,chunker.size]": "k with 2 values, chunker.size with 3 values",
    "k=3,5 hydra.sweeper.zip=[k,seed]": "k with 2 values, seed with 0 values",
    "retriever.alpha=0.1,0.5 retriever.alpha=0.2,0.6": "retriever.alpha: given 2 times, as 0.1,0.5 and as 0.2,0.6",
    "experiment=first,misspelt retriever=sparse": "retriever.k7: no such setting",
    "retriever.alpha=interval(0,1)": "retriever.alpha=interval(0,1): expected a list of values, or a range",
    "k=range(3,1)": "k=range(3,1): lists no value, so that nothing would run",
    "seed=range(0,1000000000)": "expected at most 100,000",
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
    "reranker=mmr reranker.candidates=3 k=3,10": "reranker.candidates: found 3, expected at least k (10)",
    "chunker.size=500,40 k=1,2": "chunker.overlap: found 50",
    "k=1,2 tracking.artifacts='~/mine'": "tracking.artifacts='~/mine': ~ is not expanded here",
    "--k=1,2": "--k=1,2: there is no such option",
    "k=3,5 hydra.sweep.subdir=same": "hydra.sweep.subdir: k=3 and k=5 would share same",
    "k=3,5 hydra.sweep.dir=${hydra:runtime.cwd}": "hydra.sweep.dir: found what is not known before a sweep starts",
}


@pytest.mark.usefixtures("long_work")
def test_a_sweep_that_cannot_be_meant_is_refused_before_its_first_job(folder):
    """The bad value may be anywhere in it."""
    done = {typed: sweep(folder, typed) for typed in REFUSED}
    assert {typed for typed, process in done.items() if (process.returncode, process.stdout) != (2, "")} == set()
    lines = {typed: process.stderr.splitlines()[-1] for typed, process in done.items()}
    assert {typed: line for typed, line in lines.items() if REFUSED[typed] not in line} == {}


@pytest.mark.usefixtures("long_work")
def test_hydra_prints_what_a_command_is_made_of(folder):
    for shown, expected in {"searchpath": "conf", "defaults-tree": "retriever: sparse"}.items():
        process = in_this_process(folder, "run", "--info", shown, "retriever=sparse")
        assert process.returncode == 0, process.stderr
        assert expected in process.stdout
