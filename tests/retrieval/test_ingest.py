"""What is indexed for passages: heading paths, and what a language model writes; also killed, explained, exported."""

import re
import signal
import threading
from dataclasses import replace

import numpy as np
import pytest
from application import succeeded
from composed_here import composed
from endpoint_server import EndpointServer, completion
from omegaconf import OmegaConf
from question_server import KEY
from rankings import SPARSE, are_same, collection_of, paged, ranking_task

import ragsweep
from ragsweep.core.errors import ConfigError
from ragsweep.datasets import Dataset, PdfDocuments, RecursiveChunker
from ragsweep.retrieval import ContextualIngest, OpenAIModel, PipelineRetriever, Reranker, Search, WrittenIngest, rank
from ragsweep.retrieval.ingest.contextual import heading_paths
from ragsweep.retrieval.ingest.ingest import dataset_of
from ragsweep.store.stage_store import NO_STORE, Store
from ragsweep.tasks.search import search_of
from ragsweep.testing import IngestContract
from ragsweep.testing.datasets import Loaded
from ragsweep.text.tokens import plain_words

CUT = RecursiveChunker(60, 0)
GUIDE = """\
# Care of mothers
Written for officers.

## Anaemia
Pale and tired women are tested at the first visit of all.

### Treatment
One tablet a day is taken with water after a meal, not with tea.
A second line of the same section that has no word of its heading.

## Malaria
A rapid test finds it within some minutes, and the cure starts at once.
"""
PLAIN = "A vial that was frozen is shaken and thrown away.\nNobody writes headings here, and none is read."
FILES = {"care_guide.md": GUIDE, "cold-chain.txt": PLAIN, "4711": "One tablet of something else is taken in Rome."}


QUERIES = {"0": "anaemia treatment tablet", "1": "cold chain vial", "2": "malaria cure"}
JUDGMENTS = {(query, f"{name}#1"): 1 for query, name in zip(QUERIES, FILES, strict=True)}
COLLECTION = collection_of([paged(name, text) for name, text in FILES.items()], QUERIES, JUDGMENTS)


def cut(document, size):
    """The passages of a document."""
    made = Dataset.from_collection(collection_of([document], {}), RecursiveChunker(size, 0), may_lack_judgments=True)
    return made.passages


def paths(text, source="a.md", size=60):
    """The path above each passage, by its text."""
    document = paged(source, text)
    passages = cut(document, size)
    return {passage.text: path for passage, path in zip(passages, heading_paths([document], passages), strict=True)}


LONG = "Nothing but a sentence of some length, which is longer."
TITLES = [
    ("cold-chain_2.txt", "Nothing but a sentence.", "cold chain 2"),
    ("folder/note.md.gz", "Nothing but a sentence.", "note"),
    ("4711", "Nothing but a sentence.", ""),  # an id says nothing
    ("4711", "# Heading?\nNothing but a sentence.", ""),
    ("a.md", f"# One\n\n# Two\n\n{LONG}", "a > Two"),
    ("a.md", f"# One\n\n{LONG}", "One"),
    ("a.md", f"Title\n=====\n\n{LONG}", "Title"),
    ("a.md", f"```\n# code\n```\n\n{LONG}", "a"),
]


def test_the_headings_above_a_passage_are_its_path_after_the_title_or_the_name_of_the_file():
    expected = {"meal": "Care of mothers > Anaemia > Treatment", "starts at once": "Care of mothers > Malaria"}
    expected["### Treatment"] = "Care of mothers > Anaemia"
    for part, path in expected.items():
        assert [above for text, above in paths(GUIDE).items() if part in text][-1] == path
    assert [*paths(GUIDE, size=1000).values()] == [""]  # none within it
    titles = [(source, text, [*paths(text, source, 52).values()][-1]) for source, text, _ in TITLES]
    assert titles == TITLES


def test_the_ranking_is_that_of_texts_with_their_headings_written_by_hand():
    """A slow, obvious loop: split lines, remember headings, put them before each passage."""
    items = dataset_of(Loaded(COLLECTION), CUT, ContextualIngest(), NO_STORE)
    titles = {"care_guide.md": [], "cold-chain.txt": ["cold chain"], "4711": []}
    by_hand = []
    for passage in items.passages:
        above = {}
        for line in FILES[passage.source][: passage.start].splitlines():
            if line.startswith("#"):
                level = line.index(" ")
                above = {depth: text for depth, text in above.items() if depth < level} | {level: line[level + 1 :]}
        text = FILES[passage.source][passage.start : passage.end]
        if text.startswith("#"):  # its own heading ends those of its level and below
            above = {depth: words for depth, words in above.items() if depth < text.index(" ")}
        path = " > ".join([*titles[passage.source], *above.values()])
        by_hand.append(f"{path}\n{text}" if path else text)
    assert list(items.indexed_texts) == by_hand
    ranking = rank(SPARSE, search_of(items), len(by_hand))
    assert are_same(ranking, rank(SPARSE, Search(tuple(by_hand), (*QUERIES.values(),)), len(by_hand)))
    [later] = [row for row, text in enumerate(items.texts) if text.startswith("meal")]
    assert later in ranking.passages[0]
    assert later not in rank(SPARSE, search_of(items, as_indexed=False), len(by_hand)).passages[0]


def task(ingest=None, retriever=SPARSE, **settings):
    return ranking_task(retriever, k=1, collection=COLLECTION, chunker=CUT, ingest=ingest, **settings)


@pytest.mark.usefixtures("long_work")
def test_what_is_measured_counted_and_reranked_is_the_passage_itself():
    for within in (False, True):
        seen = Seen()
        stages = {"retriever": PipelineRetriever(SPARSE, reranker=seen)} if within else {"reranker": seen}
        made = task(ContextualIngest(), **stages)
        items = made.load()
        measured = {measure.metric.name: measure.value for measure in made.measure(items).measures}
        words, indexed = ([len(plain_words(text)) for text in texts] for texts in (items.texts, items.indexed_texts))
        assert measured["context/tokens"] == np.mean([words[passage] for passage in made.rank(items).passages[:, 0]])
        assert measured["index/tokens"] == sum(indexed) > sum(words)
        assert seen.texts == items.texts


class Seen(Reranker):
    """A reranker that notes what it is given."""

    def rerank(self, search, ranking, depth):
        assert search.own is None
        self.texts = search.passages
        return replace(ranking, passages=ranking.passages[:, :depth], scores=ranking.scores[:, :depth])


def write_book(path, title, chapters):
    """A PDF with a page for each chapter, which its outline has at this level."""
    from reportlab.pdfgen.canvas import Canvas

    canvas = Canvas(str(path), invariant=1)
    canvas.setTitle(title)
    for number, (chapter, level) in enumerate(chapters):
        canvas.bookmarkPage(f"p{number}")
        canvas.addOutlineEntry(chapter, f"p{number}", level)
        canvas.drawString(72, 700, f"This page is number {number}.")
        canvas.drawString(72, 600, chapter)
        canvas.showPage()
    canvas.save()


def test_a_pdf_has_its_title_and_its_outline(tmp_path):
    write_book(tmp_path / "a.pdf", "The Book", [("First Chapter", 0), ("A Section", 1), ("Second Chapter", 0)])
    corpus = PdfDocuments(str(tmp_path), store=Store(str(tmp_path / "s")))
    [document] = corpus.with_headings(corpus.read())
    outline = [(0, "The Book"), (1, "First Chapter"), (2, "A Section"), (1, "Second Chapter")]
    assert [(heading.level, heading.text) for heading in document.headings] == outline
    book, first = "The Book", "The Book > First Chapter"  # a page's own heading is not above its first passage
    section, second = f"{first} > A Section", f"{book} > Second Chapter"
    assert heading_paths([document], cut(document, 30)) == [book, first, first, section, book, second]


def test_a_run_with_other_headings_is_another_one_where_something_is_indexed(tmp_path):
    def digests(title):
        write_book(tmp_path / "a.pdf", title, [("One tablet a day.", 0)])
        corpus = PdfDocuments(str(tmp_path / "a.pdf"))
        of_pdf = type("OfPdf", (Loaded,), {"documents_alone": lambda _: corpus})
        dataset = of_pdf(collection_of(corpus.read(), {"1": "q"}, {("1", "a.pdf#1"): 1}))
        ingests = (None, ContextualIngest(title=True))
        return [replace(task(ingest), dataset=dataset).load().digest_of_all for ingest in ingests]

    (plain, below), again, (still_plain, other) = map(digests, ("First", "First", "Second"))
    assert again == [plain, below]
    assert still_plain == plain
    assert len({plain, below, other}) == 3


def of_a_model(prompt, times):
    """What a good model writes."""
    passage = prompt.partition("<passage>\n")[2].partition("\n</passage>")[0] or prompt.partition("Passage: ")[2]
    words = passage.split()[:3]
    if prompt.startswith("Write"):
        return completion(f"Here are some:\n1. Why {' '.join(words)}?\n- Who {words[0]}?\n- And how?\n- Too many?")
    return completion(f"About {' '.join(words)}\nand more.")


@pytest.fixture(scope="module")
def started():
    with EndpointServer(of_a_model) as server:
        yield server


@pytest.fixture
def server(started):
    started.requests.clear()
    return started


@pytest.fixture
def model(server, tmp_path, secret_key):
    return OpenAIModel(model="model", base_url=server.url, timeout_s=5, retries=0, store=Store(str(tmp_path / "s")))


def preset(name, model, **settings):
    """A shipped configuration with other settings."""
    node = OmegaConf.to_container(composed(f"ingest={name}").ingest, resolve=False)
    assert node.pop("_target_") == "ragsweep.retrieval.WrittenIngest"
    plain = {key: value for key, value in node.items() if "$" not in str(value)}
    return WrittenIngest(**{**plain, "language_model": model, **settings})


@pytest.mark.extra("openai")
class TestWritten(IngestContract):
    component = WrittenIngest

    @pytest.fixture(autouse=True)
    def endpoint(self, started, secret_key):
        type(self).url = started.url

    def make(self, store, **settings):
        model = OpenAIModel(model="model", base_url=self.url, store=store)
        return WrittenIngest(**{"language_model": model, "prompt": "Passage: {passage}", "store": store, **settings})


def texts_of(ingest):
    items = dataset_of(Loaded(COLLECTION), CUT, ingest, NO_STORE)
    return dict(zip(items.texts, items.indexed_texts, strict=True))


LINE = PLAIN.splitlines()[0]
INDEXED = [
    ("questions", {}, f"{LINE}\nWhy A vial that?\nWho A?\nAnd how?"),
    ("questions", {"lines": 1}, f"{LINE}\nWhy A vial that?"),
    ("summary", {}, f"{LINE}\nAbout A vial that and more."),
    ("summary", {"place": "instead"}, "About A vial that and more."),
    ("context", {}, f"About A vial that and more.\n{LINE}"),
]


@pytest.mark.extra("openai")
def test_what_the_model_writes_is_indexed(model, server):
    for name, settings, expected in INDEXED:
        server.requests.clear()
        texts = texts_of(preset(name, replace(model, store=NO_STORE), **settings))
        assert (texts[LINE], len(server.requests)) == (expected, len(texts)), (name, settings)


@pytest.mark.extra("openai")
def test_the_model_is_shown_the_document_around_the_passage(model, server):
    texts_of(preset("context", model, around=40))
    prompts = [request["messages"][0]["content"] for request in server.requests]
    [treatment] = [prompt for prompt in prompts if "<passage>\nmeal" in prompt]
    shown = treatment.partition("<document>\n")[2].partition("\n</document>")[0]
    assert shown.startswith("Care of mothers > Anaemia > Treatment\n")
    assert len(shown.partition("\n")[2]) == 40
    server.requests.clear()
    texts_of(preset("context", model, around=None))
    assert any(GUIDE in request["messages"][0]["content"] for request in server.requests)


@pytest.mark.extra("openai")
def test_a_prompt_needs_its_text_and_what_a_passage_says_in_braces_is_no_name(model, server):
    with pytest.raises(ConfigError, match=r'^ingest\.prompt: found "Write", expected a text with {passage}'):
        WrittenIngest(language_model=model, prompt="Write")
    WrittenIngest(language_model=model, prompt="{no} {passage}").replies([{"passage": "{document}", "document": "D"}])
    assert server.requests[-1]["messages"][0]["content"] == "{no} {document}"


CONCURRENCY = 2
PASSAGES = 6


@pytest.mark.extra("openai")
def test_a_killed_run_pays_for_nothing_twice_and_leaves_with_what_was_written(application, dataset, tmp_path):
    in_the_middle, hurry = threading.Event(), threading.Event()

    def question(prompt, times):
        """One question; the fourth waits until it may hurry."""
        if len(server.requests) > PASSAGES // 2:
            in_the_middle.set()
            hurry.wait(20)
        return completion(f"Quokka or {prompt.split()[-1]}?")

    with EndpointServer(question) as server:
        of_model = ["language_model.model=model", f"language_model.base_url={server.url}"]
        places = [f"store.path={tmp_path / 'store'}", *of_model]
        asked = ["ingest=questions", "ingest.lines=1", "language_model=openai"]
        asked += [f"language_model.concurrency={CONCURRENCY}", "retriever=sparse", "k=1"]

        process = application.start(*dataset, *places, *asked, OPENAI_API_KEY=KEY)
        assert in_the_middle.wait(120), process.communicate()
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=60)
        hurry.set()
        assert {*server.asked.copy().values()} == {1}
        done = succeeded(application.run(*dataset, *places, *asked, OPENAI_API_KEY=KEY))
        assert re.search(r"model: [2-5] requests to .*tokens in and \d+ out", done.stderr)  # not for all six
        twice = [times for times in server.asked.values() if times > 1]
        assert len(server.asked) == PASSAGES
        assert len(twice) <= CONCURRENCY
        assert {*twice} <= {2}

        number = len(server.requests)
        [run] = [run for run in application.runs() if run.info.status == "FINISHED"]
        names = ("ingest", "ingest.lines", "language_model.model")
        assert [run.data.params[name] for name in names] == ["WrittenIngest", "1", "model"]
        assert run.data.metrics["index/tokens"] > 0
        places += dataset[2:]
        explained = application.script_here("explain", run.info.run_id, "malaria", *places, OPENAI_API_KEY=KEY)
        assert re.search(r"indexed as: … Quokka or \S+\?", explained.stdout), explained.stdout + explained.stderr

        given = [run.info.run_id, "--out", str(tmp_path / "out"), *places]
        refused = application.script_here("export", *given, OPENAI_API_KEY=KEY)
        assert refused.returncode == 2
        assert "--with-index" in refused.stderr
        succeeded(application.script_here("export", *given, "--with-index", OPENAI_API_KEY=KEY))
        overrides = {f"ingest.{name}": value for name, value in (setting.split("=", 1) for setting in of_model)}
        loaded = ragsweep.load(tmp_path / "out", corpus=dataset[2].partition("=")[2], overrides=overrides)
        [hit] = loaded.search("quokka", k=1)  # a word of the questions alone
        assert "Quokka" not in hit.text
        assert len(server.requests) == number


def test_heading_paths_are_a_param_and_leave_with_the_retriever(application, dataset, tmp_path):
    succeeded(application.run("-m", *dataset, "retriever=sparse", "k=1", "ingest=plain,contextual"))
    runs = {run.info.run_name: run for run in application.children()}
    assert "ingest" not in runs["ingest=plain"].data.params
    contextual = runs["ingest=contextual"]
    params = {name: value for name, value in contextual.data.params.items() if name.startswith("ingest")}
    assert params == {"ingest": "ContextualIngest", "ingest.title": "None"}
    out, corpus = tmp_path / "out", dataset[2].partition("=")[2]
    succeeded(application.script_here("export", contextual.info.run_id, "--out", str(out), *dataset[2:]))
    loaded = [ragsweep.load(out, corpus=corpus, overrides=other) for other in ({}, {"ingest.title": False})]
    [[hit], [bare]] = [retriever.search("dengue", k=1) for retriever in loaded]
    assert hit.text == bare.text
    assert hit.score != bare.score  # every passage is longer by the name of its file
