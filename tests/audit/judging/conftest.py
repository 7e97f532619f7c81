"""A corpus of text files and questions about them; and how many races the tests of this folder simulate."""

import json

import pytest

THINGS = "iron tea milk salt rice oil soap rope lamp clay".split()


@pytest.fixture
def races(pytestconfig):
    """So many that a level that is several times too high is seen; with --soak, that one twice too high is."""
    return 2000 if pytestconfig.getoption("--soak") else 40


@pytest.fixture(scope="session")
def corpus(tmp_path_factory):
    """Text files, and `judgments.qrels`: what a judge would say."""
    folder = tmp_path_factory.mktemp("corpus")
    (folder / "texts").mkdir()
    for number, thing in enumerate(THINGS):
        other, third = (THINGS[(number + step) % len(THINGS)] for step in (3, 4))
        parts = f"{other} is kept. " * (number % 4), f"{third} how dry " * (number % 3), "is " * number
        (folder / "texts" / f"{thing}.txt").write_text(" ".join([f"About {thing}.", *parts]))
    lines = [f"{number} 0 {thing}.txt 1" for number, thing in enumerate(THINGS, start=1)]
    (folder / "judgments.qrels").write_text("\n".join(lines) + "\n")
    return folder


@pytest.fixture(scope="session")
def settings(corpus):
    """The settings of this corpus, with questions of which so many are judged."""

    def with_judgments(number):
        judged = {thing: [f"{thing}.txt"] for thing in THINGS[:number]}
        rows = [{"query": f"How is {thing} kept?", "relevant_docs": judged.get(thing, [])} for thing in THINGS]
        questions = corpus / f"questions_{number}.json"
        questions.write_text(json.dumps(rows))
        of_data = ["corpus=text", f"corpus.path={corpus}/texts", "questions=table", f"questions.path={questions}"]
        return [*of_data, "questions.unit=document", "retriever=sparse", "retriever.k1=0,1.5", "k=4"]

    return with_judgments
