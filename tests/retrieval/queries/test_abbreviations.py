"""Abbreviations: which are found in a query, and what they become."""

from typing import ClassVar

import pytest

from ragsweep.core.digest import digest
from ragsweep.core.errors import DatasetError
from ragsweep.retrieval import Abbreviations
from ragsweep.store.identity import identity
from ragsweep.testing import RewriterContract

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


def test_a_fault_in_the_table_is_named_with_its_line(written_out):
    for table, message in FAULTS:
        with pytest.raises(DatasetError, match=message):
            written_out("ANC", table)


def test_the_content_of_the_table_counts_and_not_its_path(tmp_path):
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
        (tmp_path / "table.csv").write_text("abbreviation,expansion\niron,ferrous sulphate\n")
        type(self).settings: ClassVar = {"table": str(tmp_path / "table.csv")}
