from ragsweep.tasks.ranking.ranking_explanation import Line, Place, ranking_text

PARTS = {"dense": Place(3, 0.25, 0.5), "sparse": None}


def text(top, missed=(), width=80):
    return list(ranking_text(top, missed, 5, "page", width))


def line(unit="7", text="", rank=1, parts=None, remarks=()):
    return Line(unit, "-", rank, 0.5, parts or {}, remarks, text)


def test_a_passage_has_a_row_its_remarks_and_its_text():
    assert text([line(parts=PARTS, remarks=["words: iron 1.0"], text="Iron\n and   tea")]) == [
        "rank   score  page  judged  dense   score    norm  sparse  score  norm",
        "   1  0.5000  7     -          #3  0.2500  0.5000       -            0",
        "      words: iron 1.0",
        "      Iron and tea",
        "--- cutoff k=5 " + 65 * "-",
        "no relevant page was missed",
    ]


def test_a_long_name_is_shortened_and_keeps_its_page():
    row = text(
        [line("a_manual_with_a_long_name.pdf#128", parts=dict.fromkeys(("dense", "sparse"), Place(1, 1.0, 1.0)))]
    )[1]
    assert "#128  -" in row
    assert len(row) == 80


def test_control_characters_of_a_passage_are_left_out():
    assert "      red[31m ink" in text([line(text="red\x1b[31m ink\x07")])
