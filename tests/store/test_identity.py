"""What names a stored result: the code that computed it, and the identity of the components that it was made with."""

import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from typing import ClassVar

import pytest
from application import PROJECT
from omegaconf import OmegaConf

from ragsweep.config.configuration_walk import Walk
from ragsweep.core import digest as digests
from ragsweep.core.digest import DigestedTexts, digest_texts
from ragsweep.retrieval import SparseRetriever
from ragsweep.store import code
from ragsweep.store.component import Component, declared
from ragsweep.store.identity import identity, own_settings

PACKAGE = {
    "theirs/__init__.py": "",
    "theirs/ranker.py": "from . import words\nfrom .deep.stems import stem\ndef rank():\n    import aside\n",
    "theirs/words.py": "FACTOR = 1\n",
    "theirs/deep/__init__.py": "",
    "theirs/deep/stems.py": "from ..words import FACTOR\ndef stem(): ...\n",
    "theirs/unrelated.py": "",
    "theirs/words.txt": "A prompt.",
    "theirs/words_again.txt": "Another prompt.",
    "aside.py": "",
}


def digest(module):
    for function in (code._digest_of_folder, code._digest_of_rooms):
        function.cache_clear()
    return code.digest_of_module.__wrapped__(module)


def test_a_change_in_the_package_of_a_module_or_beside_a_single_file_is_another_code(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    for name, text in PACKAGE.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    digests = [digest("theirs.ranker")]
    assert digest("theirs.ranker") == digests[0]
    alone = digest("aside")
    for file in [file for file in PACKAGE if file.startswith("theirs/")]:
        (tmp_path / file).write_text(f"{PACKAGE[file]}# changed\n")
        digests.append(digest("theirs.ranker"))
    assert len({*digests}) == len(PACKAGE)
    (tmp_path / "log.txt").write_text("Asked.")
    assert digest("aside") == alone
    (tmp_path / "aside_prompt.txt").write_text("Say so.")
    assert digest("aside") != alone


@pytest.mark.usefixtures("long_work")
def test_the_room_of_a_module_and_those_below_it_are_its_code(tmp_path, monkeypatch):
    rooms = tmp_path / "ragsweep"
    shutil.copytree(PROJECT / "src/ragsweep", rooms, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(code, "our_folders", lambda: (rooms,))
    for file, module, is_other in (
        ("retrieval/bm25.py", "ragsweep.retrieval.sparse", True),
        ("retrieval/bm25_prompt.txt", "ragsweep.retrieval.sparse", True),
        ("models/encoders/encoder.py", "ragsweep.retrieval.sparse", True),
        ("text/words.txt", "ragsweep.models.encoders.embeddings", True),
        ("retrieval/bm25.py", "ragsweep.models.encoders.embeddings", False),  # nothing has to be encoded again
        ("tasks/metric.py", "ragsweep.retrieval.sparse", False),
        ("report/report_page.py", "ragsweep.tasks.metric", False),
    ):
        before = digest(module)
        with (rooms / file).open("a") as changed:
            changed.write(f"# changed for {module}")
        assert (digest(module) != before) == is_other, (file, module)

    def code_of_run():
        digest("ragsweep.tasks.metric")
        return code.digest_of_code.__wrapped__()

    for room, is_other in {"tasks": True, "retrieval": True, "report": False, "app": False}.items():
        before = code_of_run()
        (rooms / room / "new.py").write_text("NEW = True")
        assert (code_of_run() != before) == is_other, room


def test_every_room_that_computes_counts():
    """The rooms that a computing room imports decide its numbers, too, but for the store and the form of settings."""
    lines = "".join(file.read_text() for room in code.ROOMS for file in (PROJECT / "src/ragsweep" / room).rglob("*.py"))
    assert {*re.findall(r"(?m)^ *from ragsweep\.(\w+)", lines)} - {*code.ROOMS} == {"store", "config"}


def test_an_installed_package_is_known_by_its_version(monkeypatch):
    monkeypatch.setattr(metadata, "packages_distributions", cache(metadata.packages_distributions))
    assert digest("yaml.loader") == digest("yaml.dumper") != digest("numpy")
    assert digest("a_notebook") != digest("a_notebook")  # code that is in no file is found by nobody


def test_another_version_of_a_package_that_computes_is_another_code_and_these_are_required(monkeypatch):
    digests, version = [digest("ragsweep.retrieval.sparse")], code.version
    for package in ("pypdfium2", "PyStemmer", "faiss-cpu", "numpy", "torch"):
        monkeypatch.setattr(code, "version", lambda name, package=package: "0" if name == package else version(name))
        digests.append(digest("ragsweep.retrieval.sparse"))
    assert len({*digests}) == 6
    required = [requirement for requirement in metadata.requires("ragsweep") if "extra ==" not in requirement]
    names = {re.split(r"[^\w.-]", requirement, maxsplit=1)[0].lower() for requirement in required}
    assert {name.lower() for name in code.LIBRARIES} <= names


def test_the_digest_of_texts_is_the_same_when_it_is_remembered():
    texts = ("ab", "c")
    assert digest_texts(DigestedTexts(texts)) == digest_texts(texts) != digest_texts(("a", "bc"))


RANK = """
import sys
from ragsweep.retrieval import SparseRetriever, Search, rank
from ragsweep.datasets import Collection, Dataset, Document, Judgment, Query, RecursiveChunker
from ragsweep.store.stage_store import Store

document = Document.from_pages("a", [("1", "a#1", "iron iron zinc. " * 40), ("2", "a#2", "zinc tea")])
collection = Collection("small", "page", (document,), (Query("1", "iron"),), (Judgment("1", "a#1", 1),))
for store in map(Store, sys.argv[1:]):
    print(len(Dataset.from_collection(collection, RecursiveChunker(100, 10), store).passages))
    print(rank(SparseRetriever(store), Search(("iron iron zinc", "iron zinc tea and more"), ("iron",)), 2).scores)
    print("--")
"""

EDITS = {
    "retrieval/bm25.py": ("tf * (k1 + 1)", "tf * (k1 + 4)"),
    "datasets/chunkers/pieces.py": ("ruler.length(parts[first][0], parts[last + 1][1]) <= size:", "False:"),
}


@pytest.mark.usefixtures("processes")
def test_a_result_of_code_that_was_edited_is_computed_anew(tmp_path):
    shutil.copytree(PROJECT / "src" / "ragsweep", tmp_path / "ragsweep")

    def printed(*stores):
        """What an interpreter finds, by each of these stores: texts that are equal where the results are."""
        command = [sys.executable, "-c", RANK, *(str(tmp_path / store) for store in stores)]
        environment = {"PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
        return done.stdout.split("--\n")[: len(stores)]

    [before] = printed("store")
    for name, (was, becomes) in EDITS.items():
        edited = tmp_path / "ragsweep" / name
        assert was in edited.read_text()
        edited.write_text(edited.read_text().replace(was, becomes))
        edited_result, anew = printed("store", f"empty of {edited.stem}")
        assert edited_result == anew != before
        before = edited_result


class Named:
    """An encoder that is no dataclass."""

    def __init__(self, model):
        self.model = model

    @property
    def fingerprint(self):
        return self.model


class WithPrefix(Named):
    def __init__(self, model, prefix):
        super().__init__(model)
        self._prefix = prefix


class Forgetful(Named):
    def __init__(self, model, secret):
        super().__init__(model)


class Flipped(SparseRetriever):
    def __init__(self, store, flip):
        super().__init__(store)
        object.__setattr__(self, "flip", flip)


@dataclass(frozen=True, slots=True)
class Cut(SparseRetriever):
    letters: int = 99


def test_settings_that_a_subclass_adds_count_and_what_it_does_not_keep_is_never_found(store):
    assert identity(WithPrefix("a", "x")) == identity(WithPrefix("a", "x"))
    assert identity(WithPrefix("a", "x")) != identity(WithPrefix("a", "y"))
    assert identity(Named("a")) == identity(Named("a")) != identity(Named("b"))
    for odd in (Forgetful("a", "x"), Flipped(store, flip=object())):  # or what is no plain setting
        assert identity(odd) != identity(odd)
    assert own_settings(Cut(store, letters=1), SparseRetriever) == {"letters": 1}
    assert own_settings(SparseRetriever(store), SparseRetriever) == {}


class Apart:
    libraries: ClassVar = ("numpy",)

    @property
    def fingerprint(self):
        return self.absent


def test_a_class_without_the_base_has_its_defaults_but_not_where_its_own_property_fails():
    assert declared(Apart(), "libraries") == ("numpy",)
    assert declared(Apart(), "without_effect") == Component().without_effect == ()
    with pytest.raises(AttributeError, match="absent"):
        declared(Apart(), "fingerprint")


MAKERS = """
class Cutoff:
    def __init__(self, most=3):
        self.most = most

class Lazy:
    def __init__(self, most=3):
        self._wanted, self.most = most, None

def strict(): return Cutoff(1)
def lax(): return Cutoff(9)
def first(): return lambda: 1
def second(): return lambda: 2
def same(of, times=1): return of
"""
INNER = {"_target_": "makers.Cutoff", "most": 2}
MADE = [  # a function or class, and its settings: each gives something else, though many objects of the same class
    *(("strict", {}), ("lax", {}), ("first", {}), ("second", {}), ("Lazy", {"most": 1}), ("Lazy", {"most": 2})),
    *(("same", {"of": INNER}), ("same", {"of": INNER, "times": 2}), ("same", {"of": {**INNER, "most": 4}})),
]


def test_what_makes_a_component_and_all_that_it_is_given_counts(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "makers.py").write_text(MAKERS)

    def walked(name, settings):
        walk = Walk(OmegaConf.create({"task": {"_target_": f"makers.{name}", **settings}}))
        walk.build("task")
        return walk

    made, again = ([digests.digest(walked(*row).identity()) for row in MADE] for _ in range(2))
    assert made == again
    assert [row for row, one in zip(MADE, made, strict=True) if made.count(one) > 1] == []
    assert walked("Lazy", {"most": 2}).settings == {"task.most": 2}
