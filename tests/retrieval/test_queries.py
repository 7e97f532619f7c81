"""Queries that are rewritten: misspelled words, abbreviations, and what a language model writes; also in a sweep."""

import csv
from dataclasses import replace
from typing import ClassVar

import pytest
import small
from application import PROJECT, succeeded
from endpoint_server import EndpointServer, completion, defaults_of
from omegaconf import OmegaConf
from rankings import SPARSE
from rapidfuzz.distance import OSA

from ragsweep.core.digest import digest
from ragsweep.core.errors import DatasetError
from ragsweep.retrieval import (
    Abbreviations,
    OpenAIEncoder,
    OpenAIModel,
    PipelineRetriever,
    Search,
    SmolLM2Model,
    SparseRetriever,
    SpellCheck,
    TransformersModel,
    WeightedSum,
    WrittenQuery,
    rank,
)
from ragsweep.store.identity import identity
from ragsweep.store.stage_store import NO_STORE, Store
from ragsweep.testing import ExpanderContract, RewriterContract
from ragsweep.testing.component import SEARCH

CORPUS = (
    "Haemoglobin is low in anaemia. Iron tablets raise haemoglobin.",
    "Hypertension causes most cases; cases of hypotension are rare.",
    "The tablet contains BRCA1, Tregs and iron.",
    "हृदय रोग, ménorragie",
)


def expanded(query, corpus=CORPUS, **settings):
    [search], _, [change], _ = SpellCheck(**settings).expand(Search(corpus, (query,)), SparseRetriever(NO_STORE))
    return search.queries[0], change


CORRECTED = [
    ("low haemoglobn?", "low haemoglobin?", "haemoglobn -> haemoglobin"),
    ("low haemogglobin?", "low haemoglobin?", "haemogglobin -> haemoglobin"),
    ("low haemogiobin?", "low haemoglobin?", "haemogiobin -> haemoglobin"),
    ("low haemoglobni?", "low haemoglobin?", "haemoglobni -> haemoglobin"),
    ("Irno, tabletz", "Iron, tablets", "Irno -> Iron, tabletz -> tablets"),  # "tablet" is as near, but rarer
    ("what casues it", "what causes it", "casues -> causes"),  # "cases" is more frequent, but has other letters
]
UNCHANGED = [
    "hypotension tablet",  # words of the corpus, though others are more frequent
    "HAEMOGLOBIN Tablet bRCA1",  # words of the corpus in another case
    "irn",  # short
    "haemglobn",  # two edits
    "taemoglobin",  # another first letter
    "BRCA2 tablet5",  # digits
    "iTregs tregS TABLETZ",  # capitals
    "zzzzzzzz",  # like nothing
    "tablet_s",
    "हृदयि",  # parts of a word, between vowel signs
    "me\u0301norragi",
    "",
    "?",
]


def test_a_misspelled_word_becomes_the_nearest_word_of_the_corpus_and_others_stay():
    corpus = (*CORPUS, "tablets")
    assert [(query, *expanded(query, corpus)) for query, *_ in CORRECTED] == CORRECTED
    assert [query for query in UNCHANGED if expanded(query) != (query, "")] == []


def test_every_setting_changes_what_is_corrected_and_equally_near_words_go_by_frequency_and_alphabet():
    assert [(settings, query, expanded(query, **settings)[0]) for settings, query, _ in SETTINGS] == SETTINGS
    made = [SpellCheck(), *(SpellCheck(**settings) for settings, *_ in SETTINGS)]
    assert len({digest(identity(checker)) for checker in made}) == 1 + len({str(settings) for settings, *_ in SETTINGS})
    assert [expanded("band", (words,))[0] for words in ("bend bond bond", "bond bend")] == ["bond", "bend"]


SETTINGS = [
    ({"distance": 2}, "haemglobn", "haemoglobin"),
    ({"distance": 2}, "tabltes", "tablets"),  # one edit wins over two
    ({"distance": 2}, "talbest", "talbest"),  # two edits, in a word of seven letters
    ({"distance": 2, "shortest": 3}, "talbest", "tablets"),
    ({"shortest": 3}, "irn", "iron"),
    ({"shortest": 5}, "iorn", "iorn"),
    ({"prefix": 0}, "taemoglobin", "haemoglobin"),
    ({"prefix": 3}, "hamoglobin", "hamoglobin"),
]


def test_a_correction_is_at_most_one_edit_away(scifact):
    """On real queries; the distance by the definition, over the whole vocabulary."""
    search = Search(scifact.texts, tuple(query.text for query in scifact.queries))
    _, _, changes, _ = SpellCheck().expand(search, SparseRetriever(NO_STORE))
    pairs = [change.split(" -> ") for text in changes if text for change in text.split(", ")]
    vocabulary = set(" ".join(scifact.texts).lower().replace("-", " ").split())
    assert len(pairs) > 10
    assert all(OSA.distance(word.lower(), other.lower()) == 1 for word, other in pairs)
    assert not {word.lower() for word, _ in pairs} & vocabulary


TABLE = """abbreviation,expansion
ANC,antenatal care
Hb,haemoglobin
Hb A1c,glycated haemoglobin
WHO,World Health Organization
p.o.,by mouth
C/S,caesarean section
ÖPNV,"öffentlicher Nahverkehr"
PPH,postpartum haemorrhage
PPH,primary pulmonary hypertension
"""


@pytest.fixture
def written_out(tmp_path):
    def written_out(query, table=TABLE, **settings):
        (tmp_path / "table.csv").write_text(table, encoding="utf-8")
        [text] = Abbreviations(str(tmp_path / "table.csv"), **settings).rewrite([query])
        return text

    return written_out


WRITTEN_OUT = [
    ("When is ANC due?", "When is ANC (antenatal care) due?"),
    ("ANC-related (ANC)", "ANC (antenatal care)-related (ANC (antenatal care))"),
    ("CANCER, ANCs and ANC_1", "CANCER, ANCs and ANC_1"),
    ("Hb A1c or Hb", "Hb A1c (glycated haemoglobin) or Hb (haemoglobin)"),
    ("Hb  A1c", "Hb  A1c (glycated haemoglobin)"),
    ("iron p.o.?", "iron p.o. (by mouth)?"),
    ("after C/S", "after C/S (caesarean section)"),
    ("who needs anc?", "who needs anc?"),
    ("PPH", "PPH (postpartum haemorrhage, primary pulmonary hypertension)"),
    ("antenatal\ncare (ANC)", "antenatal\ncare (ANC)"),
    ("Antenatal care is ANC", "Antenatal care is ANC"),
    ("antenatal careers and ANC", "antenatal careers and ANC (antenatal care)"),
    ("O\u0308PNV", "ÖPNV (öffentlicher Nahverkehr)"),
    ("cafe\u0301", "cafe\u0301"),  # as it was, as nothing is found
    ("", ""),
]
REPLACED = [
    ("Hb at the first ANC", "haemoglobin at the first antenatal care"),
    ("PPH", "postpartum haemorrhage, primary pulmonary hypertension"),
]
ANY_CASE = [
    ("anc and öpnv", "anc (antenatal care) and öpnv (öffentlicher Nahverkehr)"),
    ("hB a1C", "hB a1C (glycated haemoglobin)"),
    ("Who?", "Who (World Health Organization)?"),
]


def test_whole_words_are_written_out(written_out):
    for table, settings in ((WRITTEN_OUT, {}), (REPLACED, {"mode": "replace"}), (ANY_CASE, {"case_sensitive": False})):
        assert [(query, written_out(query, **settings)) for query, _ in table] == table


FAULTS = [
    ("abbreviation,expansion\n", r"table\.csv: contains no abbreviations; expected at least one"),
    ("abbreviation,expansion\nANC,\n", r"table\.csv, line 2: the field 'expansion' is empty"),
    ("abbreviation,expansion\n ,care\n", r"table\.csv, line 2: the field 'abbreviation' is empty"),
    ("short,long\nANC,care\n", r"table\.csv, line 2: the field 'abbreviation' is missing; found 'short', 'long'"),
    ("abbreviation,expansion\nANC,ante,natal\n", r"table\.csv, line 2: found 3 cells, expected 2"),
]


def test_a_fault_in_the_table_is_named_with_its_line_and_its_content_counts_but_not_its_path(written_out, tmp_path):
    for table, message in FAULTS:
        with pytest.raises(DatasetError, match=message):
            written_out("ANC", table)
    for name, text in (("a", TABLE), ("b", TABLE), ("c", TABLE.replace("care", "clinic"))):
        (tmp_path / f"{name}.csv").write_text(text, encoding="utf-8")
    made = [Abbreviations(str(tmp_path / f"{name}.csv")) for name in "abc"]
    made += [Abbreviations(made[0].table, mode="replace"), Abbreviations(made[0].table, case_sensitive=False)]
    first, again, *changed = [digest(identity(rewriter)) for rewriter in made]
    assert first == again
    assert len({first, *changed}) == 4


class TestAbbreviations(RewriterContract):
    component = Abbreviations

    @pytest.fixture(autouse=True)
    def table(self, tmp_path):
        (tmp_path / "table.csv").write_text(f"{TABLE}iron,ferrous sulphate\n")  # two queries have it
        type(self).settings: ClassVar = {"table": str(tmp_path / "table.csv")}


TABLETS = Search(SEARCH.passages, ("What stops pallor?",))
HYDE, MULTI = (OmegaConf.load(PROJECT / f"conf/query/{file}.yaml").prompt for file in ("hyde", "multi"))


def hyde(model, **settings):
    return WrittenQuery(language_model=model, prompt=HYDE, **settings)


def multi(model, **settings):
    given = {"lines": 3, "place": "beside", "fusion": WeightedSum(), **settings}
    return WrittenQuery(language_model=model, prompt=MULTI, **given)


def write(prompt, times):
    """What a good model writes."""
    question = next(line for line in prompt.splitlines() if line.startswith("Question: "))[10:]
    if prompt.endswith("Passage:"):
        return completion(f"Iron and folic acid\ntablets. {question.upper()}")
    listed = f"1. Iron against {question}\n2) “Folic acid, {question}”\n- {question}\n\n4. Zinc"
    return completion(f"Here are some:\n{listed}")


@pytest.fixture(scope="module")
def started():
    with EndpointServer(write) as server:
        yield server


@pytest.fixture
def server(started):
    started.requests.clear()
    started.reply = write
    return started


@pytest.fixture
def model(server, tmp_path, secret_key):
    return OpenAIModel(model="model", base_url=server.url, timeout_s=5, retries=2, store=Store(str(tmp_path / "s")))


@pytest.mark.extra("openai")
class TestHyDE(ExpanderContract):
    component = WrittenQuery
    written = staticmethod(hyde)

    @pytest.fixture(autouse=True)
    def endpoint(self, started, secret_key):
        type(self).url = started.url

    def make(self, store):
        return self.written(OpenAIModel(model="model", base_url=self.url, store=store))


class TestMulti(TestHyDE):
    written = staticmethod(multi)


@pytest.mark.extra("openai")
def test_what_is_written_finds_what_the_query_does_not_and_is_paid_for_once(model, server):
    """A pipeline expands queries for the ranking, for the table of queries and to explain, also without a store."""
    assert (rank(SPARSE, TABLETS, 3).passages == -1).all()
    pipeline = PipelineRetriever(SPARSE, hyde(replace(model, store=NO_STORE)))
    ranking = rank(pipeline, TABLETS, 3)
    assert ranking.passages[0, 0] == 1
    assert ranking.latency_ms[0] >= 1  # a request takes its time
    assert "Iron" in pipeline.details(TABLETS)["searched"][0]
    assert len(server.requests) == 1


@pytest.mark.extra("openai")
def test_phrasings_are_the_lines_without_marks_and_the_query_stands_for_those_that_are_missing(model, server):
    texts = ["Iron against What stops pallor?", "Folic acid, What stops pallor?", "Zinc"]
    for place, expected in (("beside", ["What stops pallor?", *texts]), ("instead", texts)):
        searches, _, changes, _ = multi(model, place=place, max_tokens=9).expand(TABLETS, SPARSE)
        assert [search.queries[0] for search in searches] == expected
        assert changes == ("11 words by the model",)
    assert {request["max_completion_tokens"] for request in server.requests} == {9}
    server.reply = lambda prompt, times: completion("Only one" if "pallor" in prompt else "")
    search = replace(TABLETS, queries=("pallor", "zinc"))
    searches, _, changes, _ = multi(model, lines=2).expand(search, SPARSE)
    assert [searched.queries for searched in searches] == [("pallor", "zinc"), ("Only one", "zinc"), ("pallor", "zinc")]
    assert changes == ("2 words by the model", "")


CHANGES = {"model": "other", "base_url": "http://127.0.0.1:1/v1", "temperature": 1.0, "seed": 1}


@pytest.mark.extra("openai")
def test_what_changes_a_text_changes_the_identity(model):
    made = hyde(model)
    variants = [
        *(made, replace(made, place="instead"), replace(made, max_tokens=9)),
        *(replace(made, language_model=replace(model, **{name: value})) for name, value in CHANGES.items()),
        *(multi(model), multi(model, fusion=WeightedSum([1, 1, 1, 1])), multi(model, lines=2)),
    ]
    assert len({digest(identity(variant)) for variant in variants}) == len(variants)
    asked_otherwise = replace(made, language_model=replace(model, concurrency=1, timeout_s=1))
    assert digest(identity(asked_otherwise)) == digest(identity(made))


SHIPPED = {
    "query/hyde": WrittenQuery,
    "encoder/openai": OpenAIEncoder,
    "language_model/openai": OpenAIModel,
    "language_model/smollm2": SmolLM2Model,
    "language_model/transformers": TransformersModel,
}


@pytest.mark.extra("openai")
def test_the_shipped_configuration_has_every_setting_and_its_default():
    for file, component in SHIPPED.items():
        node = OmegaConf.to_container(OmegaConf.load(PROJECT / f"conf/{file}.yaml"), resolve=False)
        assert node.pop("_target_") == f"ragsweep.retrieval.{component.__name__}"
        defaults = defaults_of(component)
        assert {*node} == {*defaults}
        plain = {name: value for name, value in node.items() if value != "???" and "$" not in str(value)}
        plain.pop("prompt", None)  # it has no default
        assert {*plain.pop("prompts", {"": None}).values()} == {None}
        assert plain.items() <= defaults.items()


MISSPELLED = [("How much paracetmol does a hot child need?", ["fever.pdf#1"], "factual"), *small.QUERIES[1:]]


def test_what_was_changed_is_in_the_table_of_queries_the_params_and_an_explanation(application, tmp_path):
    dataset = small.arguments(tmp_path / "data")
    small.write_queries(tmp_path / "data" / "questions.json", MISSPELLED)
    (tmp_path / "table.csv").write_text("abbreviation,expansion\ntest,blood film\n")
    (tmp_path / "conf" / "query").mkdir(parents=True)
    (tmp_path / "conf/query/table.yaml").write_text(f"defaults: [abbreviations]\ntable: {tmp_path / 'table.csv'}\n")
    swept = ["--config-dir", str(tmp_path / "conf"), *dataset, "-m", "retriever=sparse", "k=3"]
    succeeded(application.run(*swept, "query=plain,spellcheck,table"))
    runs = {run.data.params.get("query", "plain"): run for run in application.children()}
    files = {name: application.artifacts(run) / "results/per_query.csv" for name, run in runs.items()}
    of = {name: list(csv.DictReader(file.read_text().splitlines())) for name, file in files.items()}

    first, second = of["SpellCheck"][:2]
    assert first["query_change"] == "paracetmol -> paracetamol, need -> needs"  # the small corpus has no "need"
    assert first["searched"] == "How much paracetamol does a hot child needs?"
    assert (second["query_change"], second["searched"]) == ("", second["query"])
    assert of["Abbreviations"][1]["searched"] == "Which test (blood film) finds malaria?"
    assert "searched" not in of["plain"][0]

    recorded = runs["Abbreviations"].data
    assert (recorded.params["query.mode"], recorded.params["query.case_sensitive"]) == ("append", "True")
    assert "query.fingerprint" in {*recorded.params, *recorded.tags}

    given = [runs["SpellCheck"].info.run_id, "1", *dataset[2:]]
    assert "paracetmol -> paracetamol" in succeeded(application.script_here("explain", *given)).stdout
