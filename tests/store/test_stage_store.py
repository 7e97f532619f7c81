"""The store of intermediate results."""

import errno
import io
import json
import os
import subprocess
import sys
from functools import partial
from hashlib import sha256
from pathlib import Path
from select import select

import building
import numpy as np
import pytest
from application import in_this_process
from hypothesis import given
from hypothesis import strategies as st

from ragsweep.core.digest import digest
from ragsweep.store.code import code_of_call
from ragsweep.store.stage_store import CHECKSUMS, CompleteStore, ServingStore, Store, packed, unpacked
from ragsweep.store.stage_store import _verified as verified


def refuse():
    raise AssertionError("built again")


def ones():
    return {"array": np.ones(1)}


def place(store, inputs, build=refuse):
    """Where the store keeps what a function of this module, or another one, has built of these inputs."""
    return Path(store.path) / "stage" / digest([inputs, code_of_call(build)])


def test_what_was_kept_comes_back_unchangeable_and_what_was_not_is_neither_built_nor_written(store):
    assert store.find("stage", 1, refuse) is None
    assert not Path(store.path).exists()
    whole, fortran = np.arange(6).reshape(2, 3), np.asfortranarray(np.ones((2, 3)))
    arrays = {"whole": whole, "empty": np.empty((0, 4)), "float32": np.float32([[1.5]]), "fortran": fortran}
    store.get("stage", 1, lambda: arrays)
    for kept in (store.get("stage", 1, refuse), store.find("stage", 1, refuse)):
        assert [*kept] == sorted(arrays)
        for name, array in arrays.items():
            np.testing.assert_array_equal(kept[name], array, strict=True)
    with pytest.raises(ValueError, match="read-only"):
        kept["whole"][0] = 1


def test_no_entry_is_what_a_failed_build_or_a_killed_process_has_left_or_a_plain_file_in_its_place(store):
    with pytest.raises(ZeroDivisionError):
        store.get("stage", 1, lambda: {"array": 1 / 0})
    assert [path for path in Path(store.path).glob("stage/*") if path.is_dir()] == []
    partial = place(store, 1).with_suffix(".partial")
    partial.mkdir()
    (partial / "old.npy").write_bytes(b"half an arr")
    place(store, 2).write_text("x")
    for number in (1, 2):
        store.get("stage", number, ones)
        assert {name: array.tolist() for name, array in store.get("stage", number, refuse).items()} == {"array": [1]}


def pickled():
    file = io.BytesIO()
    np.save(file, np.array([{}], dtype=object), allow_pickle=True)
    return file.getvalue()


DAMAGE = [{"array.npy": content} for content in (None, b"", b"no array", b"\x93NUMPY\x01")]
DAMAGE += [{CHECKSUMS: text} for text in (None, b"{}", b"[" * 200_000, b"[]", b'{"array.npy": 1}', b" " * 2_000_000)]
PICKLED = {"array.npy": pickled(), CHECKSUMS: json.dumps({"array.npy": sha256(pickled()).hexdigest()}).encode()}


@pytest.mark.filterwarnings("ignore:the store's")
def test_a_damaged_entry_is_built_anew_also_for_a_single_wrong_bit_and_nothing_is_ever_unpickled(store):
    built_anew = []
    for row, damage in enumerate([*DAMAGE, PICKLED]):
        store.get("stage", row, lambda: {"array": np.zeros(1)})
        for name, content in damage.items():
            file = place(store, row) / name
            file.unlink() if content is None else file.write_bytes(content)
        built_anew += [store.get("stage", row, build)["array"].tolist() == [1] for build in (ones, refuse)]
    assert built_anew == [True] * 2 * (len(DAMAGE) + 1)
    store.get("stage", "bit", lambda: {"array": np.zeros(1000)})
    file = place(store, "bit") / "array.npy"
    content = bytearray(file.read_bytes())
    content[5000] ^= 1
    file.write_bytes(content)
    verified.clear()  # as in another process
    with pytest.warns(UserWarning, match=r"array.npy is not what was written.*building it anew"):
        assert store.get("stage", "bit", ones)["array"].tolist() == [1]


def fill(store, number, *, used):
    """An entry of a little over 0.1 MB, last used so many seconds after the epoch."""
    store.get("stage", number, lambda: {"array": np.full(12_500, number)})
    checksums = place(store, number) / CHECKSUMS
    os.utime(checksums, (used, used))


def kept(store):
    return sorted(int(np.load(entry.path / "array.npy")[0]) for entry in store.entries())


def test_what_was_not_used_longest_makes_room_and_the_newest_stays(tmp_path):
    roomy = Store(str(tmp_path))
    for number, used in [(1, 300), (2, 100), (3, 200)]:
        fill(roomy, number, used=used)
    fill(Store(str(tmp_path), max_gb=0.00035), 4, used=400)
    assert kept(roomy) == [1, 3, 4]
    roomy.get("stage", 3, refuse)  # used now
    fill(Store(str(tmp_path), max_gb=0.00025), 6, used=600)
    assert kept(roomy) == [3, 6]
    fill(Store(str(tmp_path), max_gb=0.00001), 5, used=500)
    assert kept(roomy) == [5]


def test_clearing_leaves_its_reader_what_is_read_and_what_is_not_the_stores(store):
    fill(store, 1, used=100)
    reading = store.get("stage", 1, refuse)["array"]
    place(store, 2).with_suffix(".partial").mkdir()  # of a process that was killed
    theirs = [Path(store.path) / "photos" / name for name in ("2025", "2024.partial", "2023.evicted")]
    for folder in theirs:
        folder.mkdir(parents=True)
        (folder / "one.jpg").touch()
    store.clear()
    assert {path.suffix for path in Path(store.path).glob("stage/*")} == {".lock"}
    assert (reading == 1).all()
    assert all((folder / "one.jpg").exists() for folder in theirs)


def test_a_disabled_store_builds_writes_and_deletes_nothing_that_is_kept(store):
    disabled = Store(store.path, enabled=False)
    disabled.get("stage", 1, ones)
    assert not Path(store.path).exists()
    fill(store, 1, used=100)
    place(store, 2).with_suffix(".partial").mkdir()  # of another process
    before = sorted(Path(store.path).rglob("*"))
    assert disabled.get("stage", 1, lambda: {"array": np.zeros(1)})["array"].tolist() == [0]
    disabled.clear()
    assert sorted(Path(store.path).rglob("*")) == before


@pytest.mark.usefixtures("long_work")
def test_the_command_shows_and_clears(store, tmp_path):
    fill(store, 1, used=0)
    command = partial(in_this_process, tmp_path, "store", "--path", store.path)
    shown = command()
    assert (shown.returncode, shown.stdout.splitlines()[2].split()[:4]) == (0, ["stage", "1", "0.1", "MB"])
    refused = command("--clear", "stag")
    assert (refused.returncode, "the store holds stage" in refused.stderr) == (2, True)
    assert command("--clear", "stage").stdout == "deleted: 1, 0.1 MB\n"
    assert kept(store) == []


def test_a_store_that_cannot_write_says_so_once_or_raises_where_it_must_be_complete(tmp_path, store):
    (tmp_path / "file").touch()
    with pytest.warns(UserWarning, match=r"the store cannot write to .*file"):
        Store(str(tmp_path / "file")).get("stage", 1, ones)
    with pytest.raises(OSError, match="file"):
        CompleteStore(str(tmp_path / "file")).get("stage", 1, ones)
    as_numpy_says_it = [OSError(f"{size} requested and 4096 written") for size in (131072, 34048)]  # without an errno
    with pytest.warns(UserWarning, match="No space left on device") as warned:  # however it shows
        [*map(store._warn, [*as_numpy_says_it, OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))])]
    assert len(warned) == 1


@given(st.lists(st.text()))
def test_packed_texts_come_back(texts):
    assert unpacked(packed(texts)) == texts


def start_building(store):
    return subprocess.Popen([sys.executable, building.__file__, store.path], stdout=subprocess.PIPE, text=True)


@pytest.mark.usefixtures("processes")
def test_processes_that_want_the_same_build_it_once_also_if_the_store_is_cleared_meanwhile(store):
    processes = [start_building(store) for _ in range(3)]
    select([process.stdout for process in processes], [], [])  # until one of them builds
    store.clear()
    assert "".join(process.communicate()[0] for process in processes) == "built\n"
    assert np.load(place(store, 1, building.build) / "array.npy").tolist() == [1, 1, 1]


@pytest.mark.usefixtures("processes")
def test_a_process_killed_while_building_holds_nobody_up(store, monkeypatch):
    process = start_building(store)
    process.stdout.readline()
    process.kill()
    process.wait()
    monkeypatch.setattr(building, "SECONDS", 0)
    assert store.get("stage", 1, building.build)["array"].tolist() == [1, 1, 1]


def numbers(value):
    return lambda: {"value": np.array([value])}


@pytest.fixture
def source(tmp_path):
    store = Store(str(tmp_path / "source"))
    store.get("terms", ["corpus"], numbers(1))
    return store


def test_a_stage_of_the_source_is_read_and_one_that_it_lacks_is_computed_once_and_kept_in_memory(source, tmp_path):
    serving = ServingStore(source=source)
    files = set(tmp_path.rglob("*"))
    assert serving.get("terms", ["corpus"], numbers(2))["value"] == 1
    assert serving.built == set()
    made = []

    def build():
        made.append(1)
        return {"value": np.array([3])}

    assert [serving.get("ranking", ["query"], build)["value"].item() for _ in range(3)] == [3, 3, 3]
    assert (made, serving.built) == ([1], {"ranking"})
    another = ServingStore(source=source)
    another.get("terms", ["another"], numbers(5))
    assert sorted(arrays["value"].item() for arrays in another.arrays("terms")) == [1, 5]
    assert [*another.entries()] == another.clear() == []
    assert len([*source.entries()]) == 1
    assert set(tmp_path.rglob("*")) == files


def test_what_every_question_uses_stays_while_earlier_questions_go():
    serving, question, made = ServingStore(most_kept=3), numbers(2), []

    def corpus():
        made.append(1)
        return numbers(1)()

    for number in range(10):
        serving.get("terms", ["corpus"], corpus)
        serving.get("ranking", [number], question)
    assert made == [1]
    assert [number for number in range(10) if serving.find("ranking", [number], question)] == [8, 9]
