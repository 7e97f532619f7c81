"""Reading answers and confidences from text. The expected letters were written by hand."""

from itertools import product

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ragsweep.datasets.model.cases import LETTERS, Option
from ragsweep_answers.answering.answer_parsing import read_confidence, read_letter

DISEASES = (
    Option("A", "Malaria"),
    Option("B", "Iron-deficiency anaemia"),
    Option("C", "Clostridioides difficile colitis"),
    Option("D", "Malaria with iron-deficiency anaemia"),
)


def options(*texts):
    return tuple(Option(letter, text) for letter, text in zip(LETTERS, texts, strict=False))


STATED = [
    # said all the more
    ("I can't help noticing that the answer is B.", "B"),
    ("I cannot help thinking the answer is B.", "B"),
    ("I can't deny that the answer is B.", "B"),
    ("The answer is **B**. I can't provide medical advice, so please consult a doctor.", "B"),
    ("The answer is B. I cannot give personalised medical advice.", "B"),
    ("The answer is B. I can't replace a doctor, so please see one.", "B"),
    ("The answer is B. I cannot find support for the other options.", "B"),
    ("The answer is B. I can't find fault with this reasoning.", "B"),
    ("I cannot stress enough that the answer is B.", "B"),
    ("The answer is B. I can't think of a better option.", "B"),
    ("The answer is B. I cannot emphasize iron enough.", "B"),
    # a bare letter
    ("B", "B"),
    (" b\n", "B"),
    ("(b)", "B"),
    ("B.", "B"),
    ("B)", "B"),
    ("**B**", "B"),
    ("`B`", "B"),
    ("'B'", "B"),
    ("[B]", "B"),
    ("Option B", "B"),
    ("\uff22", "B"),  # full width
    # the text of an option
    ("Malaria", "A"),
    ("malaria.", "A"),
    ("iron deficiency  ANAEMIA", "B"),
    ("Malaria with iron-deficiency anaemia", "D"),
    # a letter with its text
    ("B) Iron-deficiency anaemia", "B"),
    ("B. Iron deficiency anaemia", "B"),
    ("(B) Iron-deficiency anaemia.", "B"),
    ("**B: Iron-deficiency anaemia**", "B"),
    ("B Iron-deficiency anaemia", "B"),
    ("B - Iron-deficiency anaemia", "B"),
    ("B. Iron-deficiency anaemia. The patient is pale.", "B"),
    ("B. Iron-deficiency anaemia. Confidence: 90%", "B"),
    ("**B** - Iron-deficiency anaemia. Explanation: the patient is pale.", "B"),
    ("B) Iron-deficiency anaemia\n\nExplanation: the patient is pale, and malaria is unlikely.", "B"),
    ("The patient is pale.\nThe blood film is normal.\n\nB) Iron-deficiency anaemia", "B"),
    ("The patient is pale and tired.\n\nB", "B"),
    # statements
    ("Answer: B", "B"),
    ("ANSWER: B", "B"),
    ("answer: b", "B"),
    ("Answer B", "B"),
    ("Answer (B)", "B"),
    ("Answer - B", "B"),
    ("Answer: (B) Iron-deficiency anaemia", "B"),
    ("Answer: iron-deficiency anaemia", "B"),
    ("Answer (A-D): C", "C"),
    ("**Answer:** B", "B"),
    ("### Answer\n\nB", "B"),
    ("Answer:\n\n**B**", "B"),
    ("The answer is B.", "B"),
    ("The answer is (B).", "B"),
    ("The answer is **(B)**.", "B"),
    ("The answer is: B", "B"),
    ("The answer is B because the patient is pale.", "B"),
    ("The answer is B, a disease of the blood.", "B"),
    ("The answer is B, i.e. a disease of the blood.", "B"),
    ("The answer is B. The patient is pale.", "B"),
    ("The answer is A because of the fever.", "A"),
    ("The answer is malaria.", "A"),
    ("The answer is malaria (A).", "A"),
    ("The answer is Malaria with iron-deficiency anaemia.", "D"),
    ("The answer to this question is therefore B.", "B"),
    ("The best answer choice is most likely option (B).", "B"),
    ("The correct option is B", "B"),
    ("The answer must be D", "D"),
    ("final answer: B) Iron-deficiency anaemia", "B"),
    ("Final Answer: **B**<|im_end|>", "B"),
    ("My answer is B, not A.", "B"),
    ("I would choose B over C.", "B"),
    ("I'll go with (D).", "D"),
    ("Option B is correct.", "B"),
    ("Fever is absent. B is the best answer.", "B"),
    ("A is incorrect. Option B is correct. C is wrong.", "B"),
    (r"\boxed{B}", "B"),
    (r"So we get $\boxed{\text{(B)}}$.", "B"),
    (r"The answer is \(\boxed{\textbf{B}}\)", "B"),
    ("<answer>B</answer>", "B"),
    ("<answer>B</answer>\nThat is all.", "B"),
    ('{"reasoning": "It is not A.", "answer": "B", "confidence": 0.9}', "B"),
    ('{"final_answer": "B"}', "B"),
    ("#### B", "B"),
    ("The most likely diagnosis is B) Iron-deficiency anaemia.", "B"),
    ("The most likely diagnosis is iron-deficiency anaemia (option B).", "B"),
    ("Malaria (A)", "A"),
    ("The answer is malaria, not typhoid fever.", "A"),
    # the last statement wins
    ("The answer is A. Wait, there is no fever. The answer is B.", "B"),
    ("Answer: A\n\nOn reflection, the correct answer is (C).", "C"),
    ("A or B? The final answer is B.", "B"),
    ("A) Malaria\nB) Iron-deficiency anaemia\nC) Clostridioides difficile colitis\nAnswer: C", "C"),
    ("<think>The answer is A. No.</think>The answer is B.", "B"),
    ("I don't think the answer is A. The answer is B.", "B"),
    ("The answer is B. The answer is not A.", "B"),
    ("If the answer is A, there is fever. So the answer is B.", "B"),
    ("Answer: B\n\nA. Incorrect: no pallor.\nB. Correct.\nC. Incorrect.", "B"),
    ("So the answer is B. Not A.", "B"),
    ("The answer is B. A is incorrect because the patient is pale, and C is wrong too.", "B"),
    ("Answer: B. Iron deficiency", "B"),
    ("Answer: B (confidence: 80%)", "B"),
    ("I believe that the correct answer is B", "B"),
    ("The passages suggest that the answer is B.", "B"),
    ("Since malaria does not cause pallor, the answer is B.", "B"),
    ("No doubt the answer is B", "B"),
    # fields of JSON
    ('{"answer": "B", "note": "the answer is A in other cases"}', "B"),
    ('```json\n{"final_answer": "B) Iron-deficiency anaemia", "note": "the answer is A"}\n```', "B"),
    ('Here it is: {"answer": "B"}\nThat is all.', "B"),
    ('"answer": "B", "reasoning": "The patient', "B"),  # cut off
    # corrected later
    ("Answer: A\n\nActually, B.", "B"),
    ("Answer: A\nCorrection: B", "B"),
    ("Answer: A\nWait, I mean B.", "B"),
    # compared
    ("B rather than C is right", "B"),
    ("Unlike A, B is correct.", "B"),
    ("I prefer B over C.", "B"),
    # fields of JSON, in an object or repeated
    ('{"answer": {"letter": "B", "confidence": 0.3}}', "B"),
    ('{"answer": "B", "answer_choice": "B"}', "B"),
    # a model that goes on with a question of its own
    ("Answer: B\n\nQuestion: What causes chills?\nA) Cold\nB) Malaria\nAnswer: D", "B"),
    # a small letter behind the word for "answer", in many languages
    ("**Antwort: b) Eisenmangel** \u2014 das Ferritin ist niedrig.", "B"),
    ("\u2705 **R\u00e9ponse : b)**\n\nLe patient est p\u00e2le.", "B"),
    ("**Respuesta: b.** Al paciente le falta hierro desde hace meses.", "B"),
    ("\u041e\u0442\u0432\u0435\u0442: b) \u0430\u043d\u0435\u043c\u0438\u044f", "B"),
    ("**Do\u011fru cevap: B**\\\n**A\u00e7\u0131klama:** Demir eksik.", "B"),
    ("Jawaban yang tepat adalah B.", "B"),
    ("\u0110\u00e1p \u00e1n \u0111\u00fang: B", "B"),
    ("Het juiste antwoord is B.", "B"),
    ("Prawid\u0142owa odpowied\u017a: B", "B"),
    ("\u0627\u0644\u0625\u062c\u0627\u0628\u0629 \u0627\u0644\u0635\u062d\u064a\u062d\u0629 \u0647\u064a B.", "B"),
    # words between the noun and the answer
    (
        'The most likely cause behind the nurse\'s remark "he is always so pale" in this ward is:\n(B) Iron-deficiency',
        "B",
    ),
    ("Therefore, the cause of his fatigue in this case is:\n\n**B. Iron-deficiency anaemia**", "B"),
    ("**Answer: (B) Iron-deficiency anaemia** - [likely dietary or another loss]", "B"),
    # letters of other scripts
    ("\u0627\u0644\u0625\u062c\u0627\u0628\u0629 \u0627\u0644\u0646\u0647\u0627\u0626\u064a\u0629: \u0628", "B"),
    (
        "\u0627\u0644\u0625\u062c\u0627\u0628\u0629 \u0647\u064a [\u0628]",
        "B",
    ),
    ("\u041f\u0440\u0430\u0432\u0438\u043b\u044c\u043d\u044b\u0439 \u043e\u0442\u0432\u0435\u0442 \u2014 \u0410", "A"),
    ("\u041e\u0442\u0432\u0435\u0442: \u0412) Iron-deficiency anaemia", "B"),
    ("\u0989\u09a4\u09cd\u09a4\u09b0: B", "B"),
    # verdicts in passing
    ("Option (B) accurately describes these findings.", "B"),
    ("(B) best encapsulates the picture. (A) does not.", "B"),
    ("It is clear that option (B) is the only one that truly explains the ferritin.", "B"),
    ("a: \u8aa4\u308a\u3002b: \u6b63\u3057\u3044\u3002c: \u8aa4\u308a\u3002", "B"),
    ("Option (B), though, that fits.\nAnd finally, (D), both at once. No.\nOption (B) is the clear winner.", "B"),
    ("\\boxed{Malaria}\n\nAnswer: A", "A"),
    ("A alternativa correta \u00e9:\n\n**2. Iron-deficiency anaemia**", "B"),
    ("La respuesta correcta es b: Iron-deficiency anaemia.", "B"),
]

NOT_STATED = [
    "",
    "   \n",
    ".",
    "I don't know.",
    "None of the above",
    "[invalid]",
    # compared, or one after the other
    "B is better than C.",
    "First A, then B.",
    "The best known disease is malaria.",
    '{"letter": "B", "answer": "C"}',
    # several
    "A or B",
    "A and C",
    "A, C",
    "AB",
    "A\nB",
    "Answer: A or B",
    "Answer: A and C",
    "Answer: A, B, and C",
    "Answer: B/C",
    "Answer: (A) or (B)",
    "The answer is either A or B.",
    "The answer is B, or possibly C.",
    "The answer is malaria or dengue.",
    "Option A is correct. Option B is correct.",
    "Option A is correct. Option B is correct. Option C is correct.",
    "The answer is B. No, the answer is A or C.",
    "The answer is B. No, the answer is either A or C.",
    "A) Malaria\nB) Iron-deficiency anaemia\nC) Clostridioides difficile colitis",
    "A) Malaria\nUnlikely without fever.\nB) Iron-deficiency anaemia\nLikely, since",
    "Let us look at the options.\nB) Iron-deficiency anaemia\nThe patient is not pale, so",
    # a letter with the text of another option
    "A) Iron-deficiency anaemia",
    "Answer: A) Iron-deficiency anaemia",
    "The answer is malaria (B).",
    "The most likely diagnosis is B) Malaria",
    # negations
    "not B",
    "B is wrong",
    "Option B is not correct.",
    "The answer is not B.",
    "The answer isn't B.",
    "The answer cannot be B.",
    "The answer B is wrong.",
    "Wrong answer: B",
    "I don't think the answer is B.",
    "B is the wrong answer.",
    "The answer is B. Actually, the answer is not B.",
    "A) Malaria. Unlikely without fever.",
    # questions and conditions
    "Is the answer B?",
    "If the answer is B, the patient is pale.",
    "The answer could be B.",
    # articles, pronouns and names
    "A patient with fever",
    "I think so",
    "The answer is a patient with fever.",
    "The answer is A patient with fever.",
    "The answer is I am not sure.",
    "Vitamin A is the best answer to scurvy",
    "Hepatitis B is the correct answer",
    "The most common hepatitis is B.",
    "The most dangerous parasite is A) seen in blood",
    "The answer is hepatitis B.",
    "The answer is B12 deficiency.",
    "The answer is B cells.",
    "The answer is D-dimer.",
    "Answer: C. difficile colitis",
    "The answer is E. coli.",
    "It boils at 100 °C",
    # letters that are not options
    "E",
    "Answer: E",
    "The answer is (X).",
    "The answer is A. On reflection, the answer is E.",
    # cut off, or never said
    "<think>The answer is B. But wait",
    "The answer is",
    "Answer:",
    "Answer: The patient is pale",
    "Answer: B. Hmm. Final answer: cannot be determined",
    "The patient is pale. A blood film shows B. malayi.",
]


INFECTIONS = options("Malaria", "Hepatitis B", "Typhoid fever", "A viral infection")
NOT_ONE_LETTER = [
    # denied after the letter
    "Answer: A (wrong)",
    "Answer: A is the wrong option",
    "Answer: A is not",
    "Answer: A, which is wrong",
    "The answer is A is incorrect",
    "Answer: A \u2717",
    "Answer: A?",
    "A is partly correct.",
    "A. Malaria? No.",
    # denied or left open by the words around the statement
    "It is false that the answer is A",
    "I doubt the answer is A",
    "The answer is hardly A",
    "Perhaps the answer is A",
    "You might say the answer is A",
    "Some people think the answer is A, but they are mistaken.",
    "Many would say that the answer is A",
    "Student says the answer is A. This is wrong.",
    # several
    "The answer is A; B",
    "Answer: A as well as B",
    "Answer: A but also B",
    "Answer: A, maybe B",
    "Answer: A [or B]",
    "Answer: A\nor B",
    "Answer: A (30%), B (70%)",
    "Answer: A: 50%, B: 50%",
    "Answer: A. B. C.",
    "Answer: A..D",
    "Answer: A \u2192 B",
    "Answer: c, a",
    "Option A is correct, but so is B.",
    r"\boxed{A} \boxed{B}",
    r"\boxed{A} or \boxed{B}",
    # taken back
    "Answer: A\nB",
    "The answer is A\nI am not sure",
    "The answer is B. I can't help you with this.",
    "The answer is B. I can't find support for this.",
    "The answer is B. I can't ignore the evidence for C.",
    "The answer is B. I can't give a definite answer.",
    "I can't provide medical advice.",
    "The answer is B. I can't help but wonder whether it is C.",
    "The answer is B. I cannot help thinking it might be A.",
    "The answer is B. I can't help thinking that A is right.",
    "The answer is B. I can't find any support for it.",
    "The answer is B. I cannot say.",
    "I can't say that the answer is B.",
    "I can't deny or confirm that the answer is B.",
    "The answer is B. I can't help suspecting that it is C.",
    "The answer is B. I can't help questioning this.",
    "I can't help disagreeing that the answer is B.",
    "I cannot conclude that the answer is B.",
    # no answer
    "A) Malaria\nI can't pick.",
    "The first letter of the answer is A",
    "Answer: A. Baumannii",
    "Resposta: A, C e D",
    "A) Malaria\n\n\u041e\u0442\u0432\u0435\u0442: \u0412",  # B, or the third in Russian
    "The points are mapped so: (0, 3) \u2192 (malaria)",
    "Finally, (D), a viral infection: that is rare here.",
    "\u89e3\u7b54\na\nb \u6b63\u89e3\nc\nd",
    "Answer: A\nThis is incorrect because the fever is high.",
    "Answer: A\n\nThat is wrong, since the smear is normal.\nAnswer:",
    "Answer: A+",
    '{"answer": null, "note": "the answer is A"}',
    '{"answer": "A", "final_answer": "B"}',
    # characters
    "\u00aa",
    "Answer: \u00aa",
    "Answer: \u216d",
    "Answer: C:\\path",
]


@pytest.mark.parametrize("text", NOT_ONE_LETTER)
def test_a_letter_that_is_denied_shared_or_taken_back_is_no_answer(text):
    assert read_letter(text, INFECTIONS) is None


@pytest.mark.parametrize(("text", "letter"), STATED)
def test_a_stated_answer_is_read(text, letter):
    assert read_letter(text, DISEASES) == letter


@pytest.mark.parametrize("text", NOT_STATED)
def test_text_without_a_single_answer_gives_none(text):
    assert read_letter(text, DISEASES) is None


@pytest.mark.parametrize(
    ("text", "choices", "letter"),
    [
        ("Yes", options("yes", "no", "maybe"), "A"),
        ("Answer: maybe, because few patients took part", options("yes", "no", "maybe"), "C"),
        ("No answer can be given", options("yes", "no", "maybe"), None),
        ("-5", options("5", "-5"), "B"),
        ("5", options("-5", "15"), None),
        ("The answer is > 5.", options("< 5", "> 5"), "B"),
        ("1.5 mg", options("15 mg", "1.5 mg"), "B"),
        ("same", options("Same", "same."), None),  # which of the two?
        ("Both A and B", options("x", "y", "both A and B"), "C"),
        ("Answer: both A and B", options("x", "y", "both A and B"), "C"),
        ("None of the above", options("x", "none of the above"), "B"),
        # blood groups: the letter B, or the text of option C?
        ("B", options("O", "A", "B"), None),
        ("Answer: B", options("O", "A", "B"), None),
        ("Option B is correct.", options("O", "A", "B"), None),
        ("B) A", options("O", "A", "B"), "B"),
        ("Answer: B) A", options("O", "A", "B"), "B"),
        ("C", options("O", "A", "B"), "C"),
        ("Answer: O", options("O", "A", "B"), "A"),
        ("A", options("A", "C", "B"), "A"),  # letter and text agree
        # numbers, signs and characters that look like others
        (".5 mg", options("5 mg", "0.5 mg"), "B"),
        ("-.5", options("0.5", "-0.5"), "B"),
        ("Answer: A. .5 mg", options("5 mg", "0.5 mg"), None),
        ("Ca2-", options("Ca2+", "Ca"), None),
        ("10\u2075", options("105", "10^5"), None),
        ("5\u00b2", options("52", "25"), None),
        # the exact text of an option
        ("Malaria", options("malaria", "Malaria"), "B"),
        ("Aa", options("AA", "Aa", "aa"), "B"),
        ("Na-", options("Na+", "Na-"), "B"),
        ("Answer: Na-", options("Na+", "Na-"), "B"),
        ("\U0001f600", options("\U0001f622", "\U0001f600"), "B"),
        ("Answer: AB", options("A", "B", "AB"), "C"),
        ("Answer: C. difficile", options("E. coli", "C. difficile"), "B"),
        ("The answer is E. coli", options("E. coli", "C. difficile"), "A"),
        # a shorter or a paraphrased text behind the letter
        ("Answer: b) Dynamic forwarding!", options("ssh -L 80", "ssh -D 1080 (dynamic forward)"), "B"),
        ("The answer is B) something else.", options("ssh -L 80", "ssh -D 1080 (dynamic forward)"), None),
        (
            'The final answer is:\n\n**Option B**: "It will not slide, but may tip."',
            options("It slides.", "It tips."),
            "B",
        ),
        # texts that differ in punctuation only
        ("La risposta corretta è **B) `word[::-1]`** \u2705", options("`word[-1]`", "`word[::-1]`"), "B"),
        # numbers of options
        ("\uc815\ub2f5: 2\ubc88", options("Malaria", "Typhoid"), "B"),
        ("\ub2f5: \u2460 Malaria", options("Malaria", "Typhoid"), "A"),
        ("\uc815\ub2f5: 3\ubc88", options("Malaria", "Typhoid"), None),
        ("\u7b54\u6848: \u2461", options("\u2461", "\u2460"), "A"),
        ("The answer is I", options(*"qrstuvwxyz"), "I"),
        ("The answer is I think B", options(*"qrstuvwxyz"), "B"),
    ],
)
def test_the_texts_of_the_options_decide(text, choices, letter):
    assert read_letter(text, choices) == letter


@pytest.mark.usefixtures("long_work")
@pytest.mark.parametrize(
    "statement", ["Answer: B", "The best answer is B.", "B is correct.", "I pick B.", r"\boxed{B}"]
)
def test_a_statement_is_found_anywhere_in_a_long_text(statement):
    for before, after in product([0, 16, 17, 1000], [0, 21, 22, 1000]):
        text = f"{'Pale ' * before}.\n{statement}\n{'Fever. ' * after}"
        assert read_letter(text, DISEASES) == "B", f"{before} words before it and {after} after it"


WORDS = (
    "A a I B C D E patient with hepatitis B vitamin C the of fever and is was cells virus type T E. coli "
    "C. difficile, pale: group grade (stage) D-dimer 12 A. shows"
).split()


@given(st.text(), st.integers(2, 26))
@example("\ue002", 2)
def test_the_result_is_none_or_the_letter_of_an_option(text, count):
    assert read_letter(text, options(*map(str, range(count)))) in {None, *LETTERS[:count]}


@given(
    st.lists(st.lists(st.sampled_from(WORDS), min_size=3, max_size=12).map(" ".join), min_size=1, max_size=4).map(
        "\n".join
    )
)
@example("A A. B")
def test_prose_without_a_marker_never_yields_a_letter(text):
    assert read_letter(text, DISEASES) is None


@given(st.integers(2, 26), st.data())
def test_the_answer_is_x_yields_x(count, data):
    letter = data.draw(st.sampled_from(LETTERS[:count]))
    before = data.draw(st.text(alphabet="bcdefghijkl .,\n"))
    assert read_letter(f"{before}.\nThe answer is {letter}.", options(*map(str, range(count)))) == letter


@pytest.mark.parametrize(
    "frame", ["The answer is {}.", "Final answer: {}", "I would choose {}", "Option {} is correct."]
)
@pytest.mark.parametrize("change", [str.lower, str.upper, str.title])
def test_the_case_of_the_words_around_a_letter_is_irrelevant(frame, change):
    before, after = frame.split("{}")
    assert read_letter(f"{change(before)}B{change(after)}", DISEASES) == "B"


@pytest.mark.usefixtures("long_work")
def test_the_end_of_a_very_long_text_is_read():
    assert read_letter("A\n" + "Pale. " * 20_000 + "The answer is B.", DISEASES) == "B"
    assert read_letter("The answer is B.\n" + "Pale. " * 20_000, DISEASES) is None
    assert read_letter("<think>" + "The answer is B. " * 20_000, DISEASES) is None


@pytest.mark.parametrize(
    ("text", "confidence"),
    [
        ("Confidence: 85%", 0.85),
        ("confidence 0.85", 0.85),
        ("(85% confident)", 0.85),
        ("I am 85 percent sure.", 0.85),
        ("**Confidence:** 85 %", 0.85),
        ('{"answer": "B", "confidence": 0.85}', 0.85),
        ("Confidence (0-1): .85", 0.85),
        ("My confidence in this answer is 0,85.", 0.85),
        ("Confidence level: 0.85", 0.85),
        ("Confidence: 1", 1.0),
        ("Confidence: 1%", 0.01),
        ("Confidence: 0", 0.0),
        ("Confidence: 100%", 1.0),
        ("Confidence: 50%. On reflection, confidence: 90%.", 0.9),
        ("The 95% confidence interval is 1 to 2. Confidence: 60%", 0.6),
        ("", None),
        ("Confidence: high", None),
        ("Confidence: 85", 0.85),
        ("Confidence: 120%", None),
        ("Confidence: -0.5", None),
        ("Confidence: 1.5", None),
        ("Confidence: 8/10", 0.8),
        ("Confidence: 1 out of 5", None),
        ("Confidence: 1%-2%", None),
        ("Confidence: 0.5-0.9", None),
        ("Confidence: 1,000", None),
        ("95% confidence interval", None),
        ("risk ratio 0.5 (95% confidence interval 0.1 to 0.9)", None),
        ("I'm not 100% sure.", None),
        ("The probability is 85%", None),
        ("Confidence: 85% (high)", 0.85),
        ("I am 90% confident that the answer is B, not A.", 0.9),
        ("Confidence (0-100): 1", 0.01),
        ("Confidence (%): 85", 0.85),
        ("confidence 1 in 5", None),
        ("<confidence>85</confidence>", 0.85),
        ("| Answer | Confidence |\n|---|---|\n| Confidence | 85% |", 0.85),
        ("Confidence: 85\\%", 0.85),
        ("Confidence: about 85%", 0.85),
        ("Confidence: high (0.9)", 0.9),
        ("Confidence: 0.85 (high)", 0.85),
        ("Konfidenz: 85,5 %", 0.855),
        ("Confidence: 80\u201490%", None),
        ("confidence (scale 1-10): 1", None),
        ("Confidence (1-5): 1", None),
        ("Confidence: 1 (low)", None),
        ("confidence of 95% CI 0.2", None),
        ("confidence 0 patients", None),
        ("100% sure it is not A", None),
        ("less than 50% sure", None),
        ("Confidence: \u0669\u0660%", None),  # Arabic digits
    ],
)
def test_a_stated_confidence_is_a_probability(text, confidence):
    assert read_confidence(text) == confidence
