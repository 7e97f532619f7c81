"""Spelling: which words of a query are changed, and to which word of the corpus."""

from rapidfuzz.distance import OSA

from ragsweep.core.digest import digest
from ragsweep.retrieval import Search, SparseRetriever, SpellCheck
from ragsweep.store.identity import identity
from ragsweep.store.stage_store import NO_STORE

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


def test_equally_near_words_are_taken_by_frequency_and_then_by_alphabet():
    assert expanded("band", ("bend bond bond",))[0] == "bond"
    assert expanded("band", ("bond bend",))[0] == "bend"


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


def test_every_setting_changes_what_is_corrected():
    usual = digest(identity(SpellCheck()))
    for settings, query, corrected in SETTINGS:
        assert expanded(query, **settings)[0] == corrected
        assert digest(identity(SpellCheck(**settings))) != usual


def test_a_correction_is_at_most_one_edit_away(scifact):
    """On real queries; the distance by the definition, over the whole vocabulary."""
    search = Search(scifact.texts, tuple(query.text for query in scifact.queries))
    _, _, changes, _ = SpellCheck().expand(search, SparseRetriever(NO_STORE))
    pairs = [change.split(" -> ") for text in changes if text for change in text.split(", ")]
    vocabulary = set(" ".join(scifact.texts).lower().replace("-", " ").split())
    assert len(pairs) > 10
    assert all(OSA.distance(word.lower(), other.lower()) == 1 for word, other in pairs)
    assert not {word.lower() for word, _ in pairs} & vocabulary
