"""Where sentences end, and which questions can be understood without their text."""

# ruff: noqa: RUF001

import csv
import json

import pytest
from application import PROJECT

from ragsweep.text.dependent_questions import flaw_of_context
from ragsweep.text.sentences import CLAUSE_OR_LINE_END, SENTENCE_OR_LINE_END, sentences_and_items, sentences_of

SENTENCES = [
    ["Dr. Rao came. ", "She left!  ", "Why?"],
    ["A line\nthat goes on. ", "Next"],
    ["A title\n \n", "A text."],
    ["これは文。", "次の文。"],
    ["\n\n One. \n"],
    ["قال: «هل أنت بخير؟» ", "ثم خرج."],
    ['سأل: "ما اسمك؟" ', "ثم مضى."],
    ["سأل: ”ما هذا؟“ ", "فقال لا."],
    ["(هل هذا صحيح؟) ", "نعم."],
    ["هل نام؟ ", "«نعم.»"],
    ["他来了。", '"你好'],
    ["他来了。", "她走了。"],
    ["ខ្ញុំមក។ ", "គាត់ទៅ។"],
    ["သူလာသည်။ ", "သူမသွားသည်။"],
    ["価格は３．５円。", "終わり．", "次"],
    # an abbreviation of another language ends no sentence
    ["Man gibt z. B. 5 mg bzw. 10 mg. ", "Vgl. Kap. 3, d. h. Abb. 4 auf S. 12. ", "Er kam um 8 Uhr. ", "Dann usw. "],
    ["Er sah sie am 3. Mai 2021. ", "Am 1. Januar im 19. Jahrhundert. ", "Er ist 65. ", "Das EKG (engl. ECG) war gut."],
    ["Voir fig. 3, chap. 2, éd. 2010. ", "La dose max. est de 5 mg. ", "L’an 3 av. J.-C. était long."],
    ["La Sra. López, véase la pág. 12. ", "Toma aprox. 5 mg, p. ej. por la mañana. ", "Ud. firma. ", "Gracias."],
    ["Lek, np. aspirynę, tzn. ok. 5 mg. ", "Szpital przy ul. Długiej itd. robi to. ", "Zob. rys. 3 na str. 12."],
    ["Il dott. Rossi, cfr. pag. 12. ", "Ad es. al mattino (es. presto), ecc. prima. ", "Poi ecc. ", "Basta."],
    ["Geef bijv. 5 mg, d.w.z. één tablet. ", "Zie blz. 12, o.a. voor dhr. Jansen. ", "Dat is enz. ", "3 uur."],
    ["Доза 5 мг, т. е. одна. ", "См. рис. 3 на стр. 12 и табл. 4. ", "Он жил на ул. Ленина."],
    ["Είναι π.χ. 5 mg, δηλ. ένα. ", "Βλ. σελ. 12."],
    ["Take max. ", "The min. dose is low. ", "It has no tab. ", "He is called Max. ", "See you in art. ", "The end."],
    ["Run dpkg-sig. ", "It signs.\n\n", "Siehe z. B.\n\n", "Das Ende."],
]


def test_where_a_sentence_ends():
    texts = ["".join(sentences) for sentences in SENTENCES]
    assert [[text[start:end] for start, end in sentences_of(text)] for text in texts] == SENTENCES


def test_items_are_headings_sentences_and_entries_of_a_list():
    """Neither a line end, nor an abbreviation, nor a number ends a sentence."""
    prose = "Most babies need nothing more than\nwarmth. Is it crying?"
    abbreviated = "Dr. Rao, e.g., gives a child of ten kilograms\n150 mg of paracetamol."
    for text, items in {
        f"Care of the baby\n{prose}\n1 Dry the body.\n• Keep warm 2.5 kg.": [
            "Care of the baby",
            "Most babies need nothing more than\nwarmth.",
            "Is it crying?",
            "Dry the body.",
            "Keep warm 2.5 kg.",
        ],
        f"{abbreviated}\n- Give zinc\n- Give water": [abbreviated, "Give zinc", "Give water"],
    }.items():
        assert [text[start:end] for start, end in sentences_and_items(text)] == items


def test_where_texts_of_models_are_cut():
    """A sentence ends with a mark and space, or with the line."""
    for text, sentences in {
        "One. Two! Three? Four": ["One.", "Two!", "Three?", "Four"],
        "- One\n- Two\n\nThree": ["- One", "- Two", "Three"],
        "Give 0.5 ml of it.": ["Give 0.5 ml of it."],
        "": [""],
        "Is it? (Not B; nor C.) Yes: D\nE": ["Is it?", "(Not B; nor C.) Yes: D", "E"],
    }.items():
        assert SENTENCE_OR_LINE_END.split(text) == sentences
    clauses = ["Is it? (Not B;", "nor C.) Yes:", "D", "E"]
    assert CLAUSE_OR_LINE_END.split("Is it? (Not B; nor C.) Yes: D\nE") == clauses


POINTING = [
    "What does the passage say about iron?",
    "What does the above section say about it?",
    "According to the article, what is the dose of iron?",
    "According to the table, which dose does a child need?",
    "Which drug is mentioned below?",
    "Which of the drugs listed above lowers fever?",
    "What does the author recommend for fever?",
]
ALONE = [
    "How much paracetamol does a child of 10 kg need?",
    "How is anaemia treated, and is it dangerous?",
    "Which test finds malaria, as described in the text?",
    "A tired, pale woman: what should the officer give her?",
    "Her feet are swollen by evening and her head aches: what is wrong?",
    "What is the text message service of the health centre for?",
    "Is iron that was opened last year still safe?",
    "Can zinc be given below the age of two months?",
    "What slows the passage of urine?",
]


def pointing(questions):
    return [question for question in questions if flaw_of_context(question)]


def test_a_question_that_points_to_its_text_cannot_stand_alone():
    assert pointing([*POINTING, *ALONE]) == POINTING


def test_every_question_of_the_manual_stands_alone():
    questions = json.loads((PROJECT / "data/cho_manual/test_queries.json").read_text())
    assert len(questions) == 133
    assert pointing(question["query"] for question in questions) == []


@pytest.mark.real_data
def test_every_question_of_published_datasets_stands_alone(real_data):
    questions = [row["query"] for row in json.loads((real_data / "financebench/test_queries.json").read_text())]
    with (real_data / "scifact/queries.jsonl").open() as file:
        questions += [json.loads(line)["text"] for line in file]
    with (real_data / "chunking_evaluation/questions_df.csv").open(newline="") as file:
        questions += [row["question"] for row in csv.DictReader(file)]
    assert len(questions) > 1300
    assert pointing(questions) == []
