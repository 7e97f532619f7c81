"""The five common pitfalls of a reasoning, by the words that it uses or does not use."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from ragsweep.datasets.model.cases import Case
from ragsweep.statistics.intervals import Array
from ragsweep.text.phrases import Phrases, contains, phrases, stems
from ragsweep_answers.answering.question import Answer

PROXY = (
    "Pitfalls are read from single words: the counts show which wording wrong answers share, not what went wrong in "
    "them. 'No fever' counts as a mention of fever."
)
PITFALLS = (
    "incomplete differential",
    "missing symptoms",
    "terminology misunderstanding",
    "ignored risk factors",
    "single-symptom focus",
)
CASES_KEPT = 1 << 15  # whose symptoms are kept: the runs of a sweep ask the same ones
ENOUGH_MENTIONED = 0.5  # share of the symptoms or risk factors of the case that the reasoning should mention

# Words that weigh one possibility against another.
DIFFERENTIAL = phrases(
    "differential; rule out; ruled out; ruling out; exclude; alternative; alternatively; versus; rather than; "
    "less likely; more likely; unlikely; other possibilities; other causes; could also; distinguish; "
    "as opposed to; instead of; not consistent with; argues against; does not fit; does not explain".split(";")
)
# Words of someone who does not understand a term. The reference looks for the first three.
UNSURE = phrases(
    "unclear; uncertain; not sure; unsure; not familiar; unfamiliar; do not know; don't know; do not understand; "
    "don't understand; cannot interpret; not certain; hard to say; unknown term; ambiguous; confusing".split(";")
)
# A line per symptom or sign, with the phrases that name it, in any grammatical form. The reference has five of them.
SYMPTOMS = """
    chest pain, chest tightness
    dyspnoea, breathless, shortness of breath, difficulty breathing, difficulty in breathing, gasping
    fever, febrile, hot to touch, high temperature
    nausea, queasy
    headache
    vomiting, throws up
    cough
    wheeze
    fast breathing, rapid breathing, tachypnoea, breaths per minute, breaths a minute
    indrawing, chest in drawing, retractions
    grunting
    cyanosis, blue lips, bluish
    fast pulse, rapid pulse, tachycardia, palpitations, racing heart
    low blood pressure, hypotension, shock, collapse
    high blood pressure, hypertension, raised blood pressure
    convulsion, seizure, had a fit, had fits, has fits, jerking
    unconscious, coma, unresponsive
    lethargic, drowsy, listless, floppy, limp
    confusion, disoriented
    dizziness, giddy, lightheaded
    fainting, syncope
    blurred vision, dim vision, flashes
    weakness, fatigue, tired, tiredness
    abdominal pain, belly pain, stomach pain, epigastric pain
    diarrhoea, loose stools, loose motions, watery stools
    blood in the stool, bloody stool, dysentery, melaena
    constipation
    bleeding, haemorrhage, blood loss
    pallor, pale
    jaundice, yellow eyes, yellow skin
    swelling, oedema, swollen
    rash
    itching, pruritus
    weight loss, losing weight, not gaining weight
    poor feeding, not feeding, will not suck, stopped sucking, refuses the breast, loss of appetite, poor appetite
    dehydration, sunken eyes, thirst
    little urine, oliguria, scanty urine, passing little urine
    burning urine, dysuria, burning on passing urine
    proteinuria, protein in the urine, urine protein
    vaginal discharge, ear discharge, foul discharge, smelly discharge, pus
    back pain, loin pain, flank pain
    joint pain
    stiff neck, neck stiffness
    sore throat
    leg pain, calf pain
    contractions, labour pains
    reduced movements, fewer movements, baby moves less
    low mood, sadness, hopeless
    sleepless, cannot sleep, insomnia
"""
# A line per risk factor.
RISK_FACTORS = """
    smoking, smoker, tobacco
    alcohol
    diabetes
    hypertension, high blood pressure
    obesity, overweight
    family history, runs in the family
    heart disease
    kidney disease
    asthma
    epilepsy
    HIV
    sickle cell, thalassaemia
    anaemia, anaemic, low haemoglobin
    malnutrition, malnourished, underweight, undernourished, wasted
    first pregnancy, primigravida
    fifth pregnancy, sixth pregnancy, seventh pregnancy, grand multipara
    teenager, adolescent
    twins, twin pregnancy
    previous caesarean, earlier caesarean, caesarean scar
    previous stillbirth, earlier stillbirth, stillbirth
    miscarriage, previous abortion
    preterm, premature, born early
    low birth weight, small baby
    born at home, home birth, home delivery
    waters broke, waters broken, ruptured membranes, leaking membranes
    short birth interval, births close together
    unvaccinated, not vaccinated, never vaccinated, missed vaccines
    contact with tuberculosis, tuberculosis contact
    immunosuppression, steroids
    recent surgery, bed rest, immobile
    penicillin allergy, allergic, allergy
    cousins
"""


def _table(lines: str) -> list[tuple[str, ...]]:
    return [phrases(line.split(",")) for line in lines.strip().splitlines()]


SYMPTOM_PHRASES, RISK_PHRASES = _table(SYMPTOMS), _table(RISK_FACTORS)


def pitfalls(cases: Sequence[Case], answers: Sequence[Answer]) -> Array:
    """Which of the `PITFALLS` each reasoning shows. Rough proxies; see `PROXY`.

    - incomplete differential: no word weighs one possibility against another.
    - missing symptoms: the reasoning mentions fewer than half of the symptoms of the case.
    - terminology misunderstanding: the reasoning says that something is unclear or not known.
    - ignored risk factors: the reasoning mentions fewer than half of the risk factors of the case.
    - single-symptom focus: the case has several symptoms, and the reasoning mentions exactly one of them.

    The reference names all five, and implements the first three in a way that finds two of them in every answer.

    Args:
        cases: The cases, usually those with a wrong answer.
        answers: Their answers.

    Returns:
        0.0 or 1.0, shape [cases, 5]; nan without a reasoning.
    """
    rows = [_pitfalls(*row) for row in zip(cases, answers, strict=True)]
    return np.array(rows, np.float64).reshape(-1, len(PITFALLS))


def _pitfalls(case: Case, answer: Answer) -> list[float]:
    if not answer.reasoning.strip():
        return [np.nan] * len(PITFALLS)
    reasoning = stems(answer.reasoning)
    symptoms, risks = _named(case.text)
    mentioned, considered = (sum(contains(reasoning, line) for line in lines) for lines in (symptoms, risks))
    return [
        not contains(reasoning, DIFFERENTIAL),
        mentioned < ENOUGH_MENTIONED * len(symptoms),
        contains(reasoning, UNSURE),
        considered < ENOUGH_MENTIONED * len(risks),
        len(symptoms) > 1 and mentioned == 1,
    ]


@lru_cache(CASES_KEPT)
def _named(case: str) -> tuple[list[Phrases], list[Phrases]]:
    """The lines of symptoms and of risk factors that a case names."""
    asked = stems(case)
    symptoms, risks = ([line for line in table if contains(asked, line)] for table in (SYMPTOM_PHRASES, RISK_PHRASES))
    return symptoms, risks
