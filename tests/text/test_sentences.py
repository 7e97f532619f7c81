"""Where sentences end."""

# ruff: noqa: RUF001

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


def test_sentences_are_cut_at_full_stops_headings_and_list_items():
    prose = "Most babies need nothing more than\nwarmth. Is it crying?"
    text = f"Care of the baby\n{prose}\n1 Dry the body.\n• Keep warm 2.5 kg."
    assert [text[start:end] for start, end in sentences_and_items(text)] == [
        "Care of the baby",
        "Most babies need nothing more than\nwarmth.",
        "Is it crying?",
        "Dry the body.",
        "Keep warm 2.5 kg.",
    ]


def test_a_line_end_an_abbreviation_and_a_number_do_not_end_a_sentence():
    text = "Dr. Rao, e.g., gives a child of ten kilograms\n150 mg of paracetamol.\n- Give zinc\n- Give water"
    assert [text[start:end] for start, end in sentences_and_items(text)] == [
        text.split("\n-", maxsplit=1)[0],
        "Give zinc",
        "Give water",
    ]


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
