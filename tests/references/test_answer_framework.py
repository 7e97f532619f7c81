"""The framework and the evaluation module for answers to multiple-choice cases: measures, files, charts, settings.

Answers that were written for it are measured by real runs: ten profiles of four cases each, whose accuracy,
calibration, reasoning, errors and confusions are known. What a run says is compared with slow loops over these rows.
"""

import itertools
import json
import re
from collections import Counter

import numpy as np
import pandas as pd
import pytest
import small
from application import succeeded
from warm import CHARTS

LETTERS = "ABCD"
PAGES = [
    "Paracetamol tablets cool feverish toddlers within several quiet hours",
    "Rapid strips detect malaria parasites beneath microscopes every season",
    "Platelets fall while dengue patients bleed from swollen gums",
    "Iron capsules restore tired pregnant mothers before winter harvest",
    "Albendazole clears hidden worms inside school pupils twice yearly",
    "Magnesium stops violent convulsions during dangerous eclampsia attacks",
    "Zinc syrup shortens watery diarrhoea among hungry weaned infants",
    "Oxytocin drips contract bleeding wombs straight after difficult births",
]
FOREIGN = "zeppelin quartz xylophone walrus lantern".split()
STEPS = "Clinical presentation, symptoms, differential diagnosis, guideline, answer"
INVENTED = "Moonlight trumpets heal glaciers overnight. Purple otters juggle magnetic bicycles."
SYMPTOMS = "A girl with fever, cough and headache."
# Names of conditions that are alike, two of each of the framework's sixteen groups.
SIMILAR = [
    tuple(pair.split(" / "))
    for pair in (
        "Pneumonia / Bronchitis; Asthma / COPD; Angina / MI; Heart Failure / Cardiogenic shock; "
        "Atrial Fibrillation / SVT; Ischemic stroke / TIA; DVT / Pulmonary Embolism; Sepsis / Bacteremia; "
        "UTI / Pyelonephritis; Upper GI bleed / Lower GI bleed; Pancreatitis / Gastritis; AKI / CKD; Type 1 DM / DKA; "
        "Cirrhosis / Hepatitis; SLE / Gout; Hypertension / Hypertensive emergency"
    ).split("; ")
]
# A profile: whether the answer is right (None: there is none), confidences, reasoning ({page} is the text of the
# relevant page), case, kind of error, completeness, coherence, pitfalls.
RIGHT, UNREAD, WRONG = True, None, False
PROFILES = [
    (RIGHT, [1.0, 0.95, 0.9, 0.85], f"{STEPS}: {{page}}.", "", "", 1, 1, []),
    (RIGHT, [0.55, 0.65, 0.35, 0.72], "", "", "", None, None, []),
    (UNREAD, [None] * 4, "", "", "no answer", None, None, []),
    (WRONG, [0.9, 0.81, 0.7, 0.6], "", "", "retrieval failure", None, None, []),
    (WRONG, [0.7, 0.75, 0.66, 0.93], INVENTED, "", "hallucination", 0, 0, ["incomplete differential"]),
    (WRONG, [0.3, 0.4, 0.2, 0.47], f"{{page}}. {INVENTED.partition('. ')[0]}.", "", "low confidence", 0, 0.5,
     ["incomplete differential"]),
    (WRONG, [0.5, 0.6, 0.85, 0.48], f"{STEPS}: {{page}}.", "", "reasoning failure", 1, 1, []),
    (WRONG, [0.8, 0.62, 0.58, 0.77], f"{STEPS}: {{page}}.", SYMPTOMS, "reasoning failure", 1, 1, ["missing symptoms"]),
    (WRONG, [0.66, 0.52, 0.91, 0.83], f"{STEPS}: {{page}}. Fever.", SYMPTOMS, "reasoning failure", 1, 1,
     ["missing symptoms", "single-symptom focus"]),
    (WRONG, [0.6, 0.57, 0.71, 0.64], f"{STEPS}: {{page}}. This is unclear.", "A woman with twins and diabetes.",
     "reasoning failure", 1, 1, ["ignored risk factors", "terminology misunderstanding"]),
]  # fmt: skip
ERRORS = ["no answer", "retrieval failure", "hallucination", "low confidence", "reasoning failure"]
PITFALLS = ["incomplete differential", "missing symptoms", "terminology misunderstanding", "ignored risk factors"]
PITFALLS += ["single-symptom focus"]


def rows_of_cases():
    """A row of each case: what is asked, what was answered, and what is expected of it."""
    confused = itertools.chain(SIMILAR, ((one[0], other[0]) for one, other in itertools.pairwise(SIMILAR)))
    rows = []
    for number, (profile, copy) in enumerate(itertools.product(PROFILES, range(4))):
        right, confidences, reasoning, case, error, completeness, coherence, pitfalls = profile
        correct, page = number % 4, number % len(PAGES)
        chosen = (correct + (0 if right else 1)) % 4
        wrong = [(page + step) % len(PAGES) for step in range(1, 6)]
        evidence = wrong if error == "retrieval failure" else [*wrong[: copy % 3], page, *wrong[copy % 3 : 4]]
        conditions = dict.fromkeys(LETTERS, "broken arm")
        if right is WRONG:
            conditions[LETTERS[correct]], conditions[LETTERS[chosen]] = next(confused)
        shared = 0 if case or error == "retrieval failure" else (5, 3, 0)[number % 3]  # words of question and page
        rows.append({
            "id": f"case-{number}",
            "clinical_case": case,
            "question": " ".join([*PAGES[page].split()[:shared], *FOREIGN[shared:]]),
            "options": {letter: f"Remedy {letter} of {number}" for letter in LETTERS},
            "correct_answer": LETTERS[correct],
            "specialty": ["obstetrics", "paediatrics", "nutrition"][number % 3],
            "difficulty": ["easy", "hard"][number % 2],
            "condition": conditions[LETTERS[correct]],
            "option_conditions": conditions,
            "relevant_guidelines": [] if right and not reasoning else [str(page + 1)],
            "answer": None if right is UNREAD else LETTERS[chosen],
            "confidence": confidences[copy],
            "reasoning": reasoning.format(page=PAGES[page]),
            "evidence": [str(unit + 1) for unit in evidence],
            "cited": [str(unit + 1) for unit in evidence[:copy]],
            "time_ms": 100.0 + number,
            "is_correct": right is True,
            "error": error,
            "completeness": completeness,
            "coherence": coherence,
            "relevance": {5: 2, 3: 1, 0: 0}[shared],
            "pitfalls": pitfalls,
        })  # fmt: skip
    return rows


CASES = rows_of_cases()
ASKED = ("id", "clinical_case", "question", "options", "correct_answer", "specialty", "difficulty", "condition")
ASKED = (*ASKED, "option_conditions", "relevant_guidelines")
ANSWERED = ("id", "answer", "confidence", "reasoning", "evidence", "cited", "time_ms")
COLUMNS = {"case": "clinical_case", "answer": "correct_answer", "relevant": "relevant_guidelines"}
COLUMNS |= {name: name for name in ("specialty", "difficulty", "condition", "option_conditions")}
SURE = [(1.0, False), (1.0, False), (0.95, True), (0.55, True)]  # confidences of the second system, and what was right


def written(path, rows, names):
    path.write_text("".join(json.dumps({name: row[name] for name in names}) + "\n" for row in rows))
    return path


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A guideline of one document, the cases by the names of the evaluation module, and the answers of two systems."""
    folder = tmp_path_factory.mktemp("answers")
    (folder / "documents").mkdir()
    small.write_pdf(folder / "documents/guideline.pdf", PAGES)
    (folder / "cases.json").write_text(json.dumps([{name: row[name] for name in ASKED} for row in CASES]))
    written(folder / "hybrid.jsonl", CASES, ANSWERED)
    sure = []
    for row, (confidence, is_correct) in zip(CASES, itertools.cycle(SURE), strict=False):
        wrong = LETTERS[(LETTERS.index(row["correct_answer"]) + 1) % 4]
        answer = row["correct_answer"] if is_correct else wrong
        sure.append({"id": row["id"], "answer": answer, "confidence": confidence})
    written(folder / "sure.jsonl", sure, ("id", "answer", "confidence"))
    return folder


@pytest.fixture(scope="module")
def settings(files):
    data = ["task=answers", "dataset=cases", "dataset.name=framework", f"dataset.cases={files}/cases.json"]
    columns = [f"dataset.columns.{name}={column}" for name, column in COLUMNS.items()]
    return [*data, f"dataset.documents={files}/documents", *columns, "answerer=recorded", "evaluation.resamples=200"]


@pytest.fixture(scope="module")
def systems(shared_application, settings, files):
    """A sweep over the recorded answers of both systems."""
    paths = f"answerer.path={files}/hybrid.jsonl,{files}/sure.jsonl"
    succeeded(shared_application.script_here("run", "-m", *settings, paths, **CHARTS))
    return shared_application


def artifacts_of(application, name):
    [run] = [run for run in application.children() if name in run.info.run_name]
    return application.artifacts(run)


@pytest.fixture(scope="module")
def folder(systems):
    """The files of the run of the first system."""
    return artifacts_of(systems, "hybrid")


@pytest.fixture(scope="module")
def report(folder):
    """The evaluation report of the run, as JSON."""
    return json.loads((folder / "results/evaluation.json").read_text())


def table(folder, name, **options):
    return pd.read_csv(folder / "results" / name, keep_default_na=False, **options)


def mean(values):
    values = [value for value in values if value is not None]
    return sum(values) / len(values)


def test_each_question_has_its_result_and_accuracy_is_that_of_all_and_by_group(report, folder):
    names = "id correct_answer answer is_correct confidence specialty difficulty time_ms".split()
    renamed = {"id": "question_id", "answer": "predicted_answer"}
    expected = [{renamed.get(name, name): row[name] for name in names} for row in CASES]
    results = [{name: result[name] for name in expected[0]} for result in report["per_question_results"]]
    assert results == expected
    overall = report["overall_metrics"]
    right = sum(row["is_correct"] for row in CASES)
    assert (overall["total_questions"], overall["correct"], overall["incorrect"]) == (40, right, 40 - right)
    assert overall["accuracy"] == right / 40
    rows = table(folder, "accuracy_by_group.csv")
    for group in ("specialty", "difficulty"):
        expected = pd.DataFrame(CASES).groupby(group)["is_correct"].mean().to_dict()
        assert {name: share["value"] for name, share in overall[f"by_{group}"].items()} == pytest.approx(expected)
        of_group = rows[rows["group"] == group].set_index("name")
        assert of_group["value"].to_dict() == pytest.approx(expected)
        assert of_group["n"].sum() == len(CASES)
    by_type = table(folder, "by_query_type.csv", index_col="query_type")["accuracy"].to_dict()
    assert by_type == pytest.approx(pd.DataFrame(CASES).groupby("specialty")["is_correct"].mean().to_dict())


def test_retrieval_is_measured_by_the_bare_pages_that_a_system_recorded_and_three_levels_of_relevance(report):
    judged = [(row["evidence"], row["relevant_guidelines"]) for row in CASES if row["relevant_guidelines"]]
    metrics = report["retrieval_metrics"]
    for k in (1, 3, 5, 10):
        hits = [len({*evidence[:k]} & {*relevant}) for evidence, relevant in judged]
        assert metrics[f"precision_at_{k}"] == pytest.approx(mean([hit / k for hit in hits]))
        assert metrics[f"recall_at_{k}"] == pytest.approx(mean([float(hit) for hit in hits]))  # one page each
    reciprocal = [1 / (evidence.index(*page) + 1) if page[0] in evidence else 0 for evidence, page in judged]
    assert metrics["mrr"] == metrics["map"] == pytest.approx(mean(reciprocal))  # the same where one page is relevant
    assert metrics["avg_documents_retrieved"] == 5
    assert metrics["judged_questions"] == len(judged) == 36  # a case without judgments is left out, not 0
    levels = Counter(row["relevance"] for row in CASES)
    assert min(levels.values()) > 5
    assert metrics["avg_context_relevance"] == pytest.approx(mean([row["relevance"] for row in CASES]))


def test_recorded_evidence_that_no_document_has_is_refused(systems, settings, files):
    written(files / "unknown.jsonl", [row | {"evidence": ["99"]} for row in CASES], ANSWERED)
    refused = systems.script_here("run", *settings, f"answerer.path={files}/unknown.jsonl")
    assert refused.returncode == 2
    assert "99" in refused.stderr


def test_reasoning_has_completeness_citations_coherence_and_length_and_safety_a_score_where_there_are_rules(report):
    metrics, safety = report["reasoning_metrics"], report["safety_metrics"]
    reasoned = [row for row in CASES if row["reasoning"]]
    assert metrics["chain_completeness"] == pytest.approx(mean([row["completeness"] for row in CASES]))
    assert metrics["reasoning_coherence"] == pytest.approx(mean([row["coherence"] for row in CASES]))
    citing = [row for row in CASES if row["reasoning"] or row["cited"]]
    assert metrics["evidence_utilization"] == pytest.approx(mean([len(row["cited"]) / 5 for row in citing]))
    assert metrics["avg_reasoning_length"] == mean([len(row["reasoning"].split()) for row in reasoned])
    checked = [row for row in CASES if row["coherence"] is not None]
    assert safety["hallucination_rate"] == sum(row["coherence"] < 0.5 for row in checked) / len(checked)
    assert safety["safety_score"] is None  # no rules are known for these cases, which is not the same as safe
    assert not safety["dangerous_errors"]


def bins_of(pairs, number=10):
    """The pairs of confidence and outcome in bins of equal width; 1.0 is in the last one."""
    bins = [[] for _ in range(number)]
    for confidence, outcome in pairs:
        bins[min(int(confidence * number + 1e-9), number - 1)].append((confidence, outcome))
    return [pairs for pairs in bins if pairs]


def gaps(pairs, number=10):
    """Of each bin that is not empty: its size, and the distance between mean confidence and accuracy."""
    return [
        (len(members), abs(mean([confidence for confidence, _ in members]) - mean([outcome for _, outcome in members])))
        for members in bins_of(pairs, number)
    ]


STATED = [(row["confidence"], float(row["is_correct"])) for row in CASES if row["confidence"] is not None]


def test_calibration_by_brier_ece_and_mce(report, systems):
    metrics = report["calibration_metrics"]
    errors = [(confidence - outcome) ** 2 for confidence, outcome in STATED]
    silent = len(CASES) - len(STATED)  # has the largest error, so that nothing is gained by saying nothing
    assert metrics["brier_score"] == pytest.approx((sum(errors) + silent) / len(CASES))
    assert metrics["brier_with_confidence"] == pytest.approx(mean(errors))
    ece = sum(size * gap for size, gap in gaps(STATED)) / len(STATED)
    assert metrics["ece_with_confidence"] == pytest.approx(ece)
    assert metrics["ece"] == pytest.approx((ece * len(STATED) + silent) / len(CASES))
    assert metrics["mce"] == pytest.approx(max(gap for _, gap in gaps(STATED)))
    by_correctness = {name: [c for c, y in STATED if y == (name == "correct")] for name in ("correct", "incorrect")}
    means = {name: mean(confidences) for name, confidences in by_correctness.items()}
    assert metrics["confidence_by_correctness"] == pytest.approx(means)
    tenths = Counter(min(int(confidence * 10 + 1e-9), 9) for confidence, _ in STATED)
    expected = {f"{tenth * 10}-{tenth * 10 + 10}%": tenths[tenth] for tenth in range(10)}
    assert metrics["confidence_distribution"] == expected
    curve = metrics["calibration_curve"]
    assert curve["count"] == [len(members) for members in bins_of(STATED)]
    assert curve["confidence"] == pytest.approx([mean([c for c, _ in members]) for members in bins_of(STATED)])
    assert curve["accuracy"] == pytest.approx([mean([y for _, y in members]) for members in bins_of(STATED)])
    # A confidence of 1 has a bin; the code of the framework and of the module drops it: .125 in place of .60.
    sure = json.loads((artifacts_of(systems, "sure") / "results/evaluation.json").read_text())
    assert sure["calibration_metrics"]["ece"] == pytest.approx(0.6)


def test_every_wrong_answer_has_one_kind_of_error_five_pitfalls_and_is_listed_if_it_was_sure(report, folder):
    analysis = report["error_analysis"]
    wrong = [row for row in CASES if not row["is_correct"]]
    expected = Counter(row["error"] for row in wrong)
    assert {name: count for name, count in analysis["by_type"].items() if count} == expected
    assert analysis["total_errors"] == len(wrong)
    assert analysis["retrieval_failures"] == expected["retrieval failure"]
    assert analysis["reasoning_failures"] == expected["reasoning failure"]
    rows = table(folder, "errors_by_specialty.csv", index_col="specialty")[ERRORS]
    crossed = pd.crosstab(*(pd.Series([row[name] for row in wrong]) for name in ("specialty", "error")))
    pd.testing.assert_frame_equal(rows, crossed[ERRORS], check_names=False)
    assert table(folder, "per_query.csv")["error"].tolist() == [row["error"] for row in CASES]
    confident = [row["id"] for row in wrong if (row["confidence"] or 0) >= 0.8]
    assert analysis["high_confidence_errors"] == len(confident)
    assert {*table(folder, "high_confidence_errors.csv")["query_id"]} == {*confident}
    expected = Counter(name for row in CASES for name in row["pitfalls"])
    assert {name: report["error_analysis"]["pitfalls"][name] for name in PITFALLS} == expected
    rows = table(folder, "errors_by_specialty.csv", index_col="specialty")
    assert report["error_analysis"]["by_specialty"] == rows.to_dict("index")
    rows = rows[PITFALLS]
    expected = Counter((row["specialty"], name) for row in CASES for name in row["pitfalls"])
    assert {key: count for key, count in rows.stack().items() if count} == expected


def test_confusions_of_letters_and_of_conditions_by_the_sixteen_groups(report, folder):
    letters = [*LETTERS, "no answer"]
    answers = pd.Categorical([row["answer"] or "no answer" for row in CASES], letters)
    expected = pd.crosstab(pd.Series([row["correct_answer"] for row in CASES]), answers, dropna=False)
    assert report["overall_metrics"]["confusion_matrix"]["counts"] == expected.to_numpy().tolist()
    matrix = table(folder, "confusion_matrix.csv", index_col="correct")
    assert matrix.to_numpy().tolist() == expected.to_numpy().tolist()
    assert len(SIMILAR) == 16
    wrong = sum(row["answer"] is not None and not row["is_correct"] for row in CASES)
    counts = report["error_analysis"]["confusions"]
    expected = {"similar condition": 16, "unrelated condition": wrong - 16}
    assert {name: count for name, count in counts.items() if count} == expected
    pairs = table(folder, "confused_conditions.csv")
    alike = pairs[pairs["kind"] == "similar condition"]
    assert {tuple(sorted(pair)) for pair in SIMILAR} == {*zip(alike["first"], alike["second"], strict=True)}


def test_the_time_of_answers_has_mean_median_95th_percentile_and_total(systems, report):
    times = [row["time_ms"] for row in CASES]
    expected = [np.mean(times), np.std(times, ddof=1), np.median(times), np.percentile(times, 95), np.sum(times)]
    names = ["mean_ms", "std_ms", "median_ms", "p95_ms", "total_ms"]
    assert [report["timing_metrics"][name] for name in names] == pytest.approx(expected)
    [run] = [run for run in systems.children() if "hybrid" in run.info.run_name]
    assert [run.data.metrics[f"latency/{name}"] for name in names] == pytest.approx(expected)


@pytest.fixture(scope="module")
def drawn(systems, settings, files, tmp_path_factory):
    """The figures of a run with other settings, and its report; what is drawn is also kept as it is."""
    from matplotlib.figure import Figure

    (files / "groups.yaml").write_text("arms: [broken arm]\nlungs: [pneumonia, asthma]\n")
    rule = {"kind": "contraindicated treatment", "reason": "It harms.", "case": ["twins"], "chosen": ["remedy"]}
    (files / "rules.yaml").write_text(json.dumps([rule]))
    out = tmp_path_factory.mktemp("settings")
    changed = ["evaluation.unsure=0.6", "evaluation.confident=0.9", "evaluation.bins=5"]
    changed += [f"evaluation.similar={files}/groups.yaml", f"+evaluation.dangerous.framework={files}/rules.yaml"]
    figures, save = {}, Figure.savefig
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            Figure, "savefig", lambda self, path, **more: (figures.update({path: self}), save(self, path, **more))
        )
        path = f"answerer.path={files}/hybrid.jsonl"
        succeeded(systems.script_here("run", *settings, path, *changed, f"hydra.run.dir={out}", **CHARTS))
    report = json.loads((out / "results/evaluation.json").read_text())
    return {path.name: figure for path, figure in figures.items()}, report, out


def test_settings_say_what_is_alike_dangerous_unsure_and_confident(drawn, report):
    _, changed, out = drawn
    low = 0.25 + 0.6 * 0.75  # of the way from a guess to 1
    unsure = [
        row for row in CASES if row["error"] in ("low confidence", "reasoning failure") and row["confidence"] < low
    ]
    assert changed["error_analysis"]["by_type"]["low confidence"] == len(unsure)
    assert len(unsure) > report["error_analysis"]["by_type"]["low confidence"]
    sure = [row for row in CASES if not row["is_correct"] and (row["confidence"] or 0) >= 0.9]
    assert len(table(out, "high_confidence_errors.csv")) == len(sure)
    expected = sum(size * gap for size, gap in gaps(STATED, 5)) / len(STATED)
    assert changed["calibration_metrics"]["ece_with_confidence"] == pytest.approx(expected)
    assert changed["error_analysis"]["confusions"]["similar condition"] == 1  # pneumonia and asthma
    safety = changed["safety_metrics"]
    assert safety["dangerous_errors"] == 4  # the cases of a woman with twins
    assert safety["safety_score"] == pytest.approx(1 - (safety["hallucination_rate"] + 4 / 40) / 2)
    assert table(out, "dangerous_errors.csv")["kind"].tolist() == 4 * ["contraindicated treatment"]


def test_the_charts_have_their_names_their_panels_and_an_outlined_diagonal(systems, folder, drawn):
    from matplotlib.colors import to_rgb
    from matplotlib.patches import Patch

    for name in "accuracy_by_query_type confusion_matrix reliability retrieval errors summary".split():
        assert (folder / "charts" / f"{name}.png").read_bytes().startswith(b"\x89PNG\r\n")
    parent, *_ = systems.parents()
    assert (systems.artifacts(parent) / "charts/1_retrieval_methods_comparison.png").exists()  # in grouped bars
    figures, report, _ = drawn
    [axes, *_] = figures["confusion_matrix.png"].axes
    outlines = [patch for patch in axes.patches if isinstance(patch, Patch) and not patch.get_fill()]
    colours = [to_rgb(patch.get_edgecolor()) for patch in outlines]
    assert len(colours) == len(LETTERS)
    assert all(green == max(red, green, blue) for red, green, blue in colours)
    assert ("answered" in axes.get_xlabel(), "correct" in axes.get_ylabel()) == (True, True)
    titles = [axes.get_title() for axes in figures["summary.png"].axes]
    [calibration] = [title for title in titles if title.startswith("calibration")]
    assert {"accuracy", "evidence", "safety"} <= {*titles}
    expected = [report["calibration_metrics"][name] for name in ("brier_score", "ece")]
    assert [*map(float, re.findall(r"\d\.\d+", calibration))] == pytest.approx(expected, abs=0.006)


def test_the_answerer_that_needs_no_model_states_a_confidence(shared_application, tmp_path):
    arguments = small.case_arguments(tmp_path / "small")
    (tmp_path / "small/cases.json").write_text(json.dumps(small.cases(copies=4)))
    columns = [f"dataset.columns.{name}={column}" for name, column in (COLUMNS | {"relevant": "relevant_docs"}).items()]
    arguments = [setting for setting in arguments if not setting.startswith("dataset.name")]
    scales = ["dataset=cases", "dataset.name=scales", "evaluation.controls=[]", "answerer.scale=0.1,0.4"]
    scales += ["encoder=wordllama", "evaluation.resamples=200"]
    succeeded(shared_application.script_here("run", "-m", *arguments, *columns, *scales, **CHARTS))
    runs = {run.data.params.get("answerer.scale"): run for run in shared_application.children()}
    rows = [table(shared_application.artifacts(runs[scale]), "per_query.csv") for scale in ("0.1", "0.4")]
    assert rows[0]["answer"].tolist() == rows[1]["answer"].tolist()
    assert (rows[0]["confidence"].astype(float) > rows[1]["confidence"].astype(float)).all()
    for run in (runs["0.1"], runs["0.4"]):
        assert {"brier", "ece", "confidence/mce"} <= {*run.data.metrics}
        assert (shared_application.artifacts(run) / "charts/reliability.png").exists()
