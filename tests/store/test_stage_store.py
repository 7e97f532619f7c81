"""The store of intermediate results."""

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import building
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragsweep.app.commands import stores
from ragsweep.core.digest import digest, digest_file
from ragsweep.store.code import code_of_call
from ragsweep.store.stage_store import CHECKSUMS, CompleteStore, ServingStore, Store, packed, unpacked
from ragsweep.store.stage_store import _verified as verified


def refuse():
    raise AssertionError("built again")


def place(store, inputs, build=refuse):
    """Where the store keeps what a function of this module, or another one, has built of these inputs."""
    return Path(store.path) / "stage" / digest([inputs, code_of_call(build)])


def entries(store, stage="stage"):
    return sorted(path for path in (Path(store.path) / stage).iterdir() if path.is_dir())


@pytest.mark.parametrize(
    "array",
    [np.arange(6).reshape(2, 3), np.empty((0, 4)), np.float32([[1.5]]), np.asfortranarray(np.ones((2, 3)))],
    ids=["whole", "empty", "float32", "fortran"],
)
def test_what_was_kept_comes_back(store, array):
    store.get("stage", 1, lambda: {"array": array})
    kept = store.get("stage", 1, refuse)["array"]
    assert kept.dtype == array.dtype
    np.testing.assert_array_equal(kept, array)


def test_what_is_kept_is_found_and_nothing_is_built_or_written_for_what_is_not(store):
    assert store.find("stage", 1, refuse) is None
    assert not Path(store.path).exists()
    store.get("stage", 1, lambda: {"array": np.arange(3)})
    np.testing.assert_array_equal(store.find("stage", 1, refuse)["array"], np.arange(3))


def test_a_kept_array_cannot_be_changed(store):
    store.get("stage", 1, lambda: {"array": np.zeros(1)})
    with pytest.raises(ValueError, match="read-only"):
        store.get("stage", 1, refuse)["array"][0] = 1


def test_a_disabled_store_builds_writes_and_deletes_nothing_that_is_kept(tmp_path, store):
    Store(str(tmp_path / "store"), enabled=False).get("stage", 1, lambda: {"array": np.zeros(1)})
    assert not (tmp_path / "store").exists()
    store.get("stage", 1, lambda: {"array": np.zeros(1)})
    again = Store(store.path, enabled=False).get("stage", 1, lambda: {"array": np.ones(1)})
    assert again["array"].tolist() == [1]


def test_a_failed_build_leaves_no_entry(store):
    with pytest.raises(ZeroDivisionError):
        store.get("stage", 1, lambda: {"array": 1 / 0})
    assert entries(store) == []


def test_what_a_killed_process_left_behind_is_not_taken_for_an_entry(store):
    partial = place(store, 1).with_suffix(".partial")
    partial.mkdir(parents=True)
    (partial / "old.npy").write_bytes(b"half an arr")
    store.get("stage", 1, lambda: {"array": np.ones(1)})
    assert {name: array.tolist() for name, array in store.get("stage", 1, refuse).items()} == {"array": [1]}


DAMAGE = [("array.npy", content) for content in (None, b"", b"no array", b"\x93NUMPY\x01")]
DAMAGE += [(CHECKSUMS, text) for text in (None, b"{}", b"[" * 200_000, b"[]", b'{"array.npy": 1}', b" " * 2_000_000)]


@pytest.mark.filterwarnings("ignore:the store's")
@pytest.mark.parametrize(("name", "content"), DAMAGE)
def test_a_damaged_entry_is_built_anew(store, name, content):
    store.get("stage", 1, lambda: {"array": np.zeros(1)})
    file = entries(store)[0] / name
    file.unlink() if content is None else file.write_bytes(content)
    assert store.get("stage", 1, lambda: {"array": np.ones(1)})["array"].tolist() == [1]
    assert store.get("stage", 1, refuse)["array"].tolist() == [1]


@pytest.mark.filterwarnings("ignore:the store's")
def test_nothing_is_ever_unpickled(store):
    store.get("stage", 1, lambda: {"array": np.zeros(1)})
    [entry] = entries(store)
    np.save(entry / "array.npy", np.array([{}], dtype=object), allow_pickle=True)
    (entry / CHECKSUMS).write_text(json.dumps({"array.npy": digest_file(entry / "array.npy")}))
    assert store.get("stage", 1, lambda: {"array": np.ones(1)})["array"].tolist() == [1]


def test_a_single_wrong_bit_is_found_and_said(tmp_path):
    Store(str(tmp_path)).get("stage", 1, lambda: {"array": np.zeros(1000)})
    [file] = tmp_path.glob("stage/*/array.npy")
    content = bytearray(file.read_bytes())
    content[5000] ^= 1
    file.write_bytes(content)
    verified.clear()  # as in another process
    with pytest.warns(UserWarning, match=r"array.npy is not what was written.*building it anew"):
        assert Store(str(tmp_path)).get("stage", 1, lambda: {"array": np.ones(1)})["array"].tolist() == [1]


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
    fill(Store(str(tmp_path), max_gb=0.00001), 5, used=500)
    assert kept(roomy) == [5]


def test_being_used_keeps_an_entry_and_the_newest_stays(tmp_path):
    store = Store(str(tmp_path), max_gb=0.00025)
    fill(store, 1, used=100)
    fill(store, 2, used=200)
    store.get("stage", 1, refuse)
    fill(store, 3, used=300)
    assert kept(store) == [1, 3]


def test_what_is_evicted_stays_readable_for_its_reader(store):
    fill(store, 1, used=100)
    reading = store.get("stage", 1, refuse)["array"]
    store.clear()
    assert (reading == 1).all()


def test_clearing_leaves_nothing_but_what_is_not_the_stores(store):
    fill(store, 1, used=100)
    partial = place(store, 2).with_suffix(".partial")  # of a process that was killed
    partial.mkdir()
    store.clear()
    assert {path.suffix for path in Path(store.path).glob("stage/*")} == {".lock"}
    fill(store, 1, used=100)
    theirs = [Path(store.path) / "photos" / name for name in ("2025", "2024.partial", "2023.evicted")]
    for folder in theirs:
        folder.mkdir(parents=True)
        (folder / "one.jpg").touch()
    store.clear()
    assert all((folder / "one.jpg").exists() for folder in theirs)


def test_a_plain_file_in_the_place_of_an_entry_is_replaced(store):
    entry = place(store, 1)
    entry.parent.mkdir(parents=True)
    entry.write_text("x")
    fill(store, 1, used=100)
    assert kept(store) == [1]


@pytest.mark.usefixtures("processes")
def test_clearing_leaves_what_another_process_builds(store):
    process = subprocess.Popen([sys.executable, building.__file__, store.path], stdout=subprocess.PIPE, text=True)
    process.stdout.readline()
    store.clear()
    process.wait()
    assert np.load(place(store, 1, building.build) / "array.npy").tolist() == [1, 1, 1]


@given(st.lists(st.text()))
def test_packed_texts_come_back(texts):
    assert unpacked(packed(texts)) == texts


def test_a_disabled_store_deletes_nothing(store):
    fill(store, 1, used=100)
    place(store, 2).with_suffix(".partial").mkdir()  # of another process
    before = sorted(Path(store.path).rglob("*"))
    Store(store.path, enabled=False).clear()
    assert sorted(Path(store.path).rglob("*")) == before


def test_the_command_shows_and_clears(store, monkeypatch, capsys):
    fill(store, 1, used=0)

    def command(*arguments):
        monkeypatch.setattr(sys, "argv", ["ragsweep", "--path", store.path, *arguments])
        try:
            status = stores.store()
        except SystemExit as end:
            status = end.code
        return status, "".join(capsys.readouterr())

    status, shown = command()
    assert status == 0
    assert shown.splitlines()[2].split()[:4] == ["stage", "1", "0.1", "MB"]
    status, refused = command("--clear", "stag")
    assert (status, "the store holds stage" in refused) == (2, True)
    assert command("--clear", "stage") == (0, "deleted: 1, 0.1 MB\n")
    assert kept(store) == []


def test_a_store_that_cannot_write_says_so_or_raises_where_it_must_be_complete(tmp_path):
    (tmp_path / "file").touch()
    with pytest.warns(UserWarning, match=r"the store cannot write to .*file"):
        Store(str(tmp_path / "file")).get("stage", 1, lambda: {"array": np.ones(1)})
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match="file"):
        CompleteStore(str(tmp_path / "file")).get("stage", 1, lambda: {"array": np.ones(1)})


def test_a_full_disk_is_said_once_however_it_shows(tmp_path):
    store = Store(str(tmp_path))
    as_numpy_says_it = [OSError(f"{size} requested and 4096 written") for size in (131072, 34048)]  # without an errno
    with pytest.warns(UserWarning, match="No space left on device") as warned:
        [*map(store._warn, [*as_numpy_says_it, OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))])]
    assert len(warned) == 1


@pytest.mark.usefixtures("processes")
def test_processes_that_want_the_same_build_it_once(store):
    processes = [
        subprocess.Popen([sys.executable, building.__file__, store.path], stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    assert "".join(process.communicate()[0] for process in processes) == "built\n"


@pytest.mark.usefixtures("processes")
def test_a_process_killed_while_building_holds_nobody_up(store):
    process = subprocess.Popen([sys.executable, building.__file__, store.path], stdout=subprocess.PIPE, text=True)
    process.stdout.readline()
    process.kill()
    process.wait()
    assert store.get("stage", 1, building.build)["array"].tolist() == [1, 1, 1]


@pytest.fixture
def source(tmp_path):
    store = Store(str(tmp_path / "source"))
    store.get("terms", ["corpus"], numbers(1))
    return store


def numbers(value):
    def build():
        return {"value": np.array([value])}

    return build


def test_a_stage_of_the_source_is_read_and_one_that_it_lacks_is_computed_once(source, tmp_path):
    serving = ServingStore(source=source)
    kept = set(tmp_path.rglob("*"))
    assert serving.get("terms", ["corpus"], numbers(2))["value"] == 1
    assert serving.built == set()
    made = []

    def build():
        made.append(1)
        return {"value": np.array([3])}

    assert [serving.get("ranking", ["query"], build)["value"].item() for _ in range(3)] == [3, 3, 3]
    assert (made, serving.built) == ([1], {"ranking"})
    assert set(tmp_path.rglob("*")) == kept


def test_what_every_question_uses_stays_while_earlier_questions_go():
    serving = ServingStore(most_kept=3)
    corpus, question = numbers(1), numbers(2)
    for number in range(10):
        serving.get("terms", ["corpus"], corpus)
        serving.get("ranking", [number], question)
    assert serving.find("terms", ["corpus"], corpus) is not None
    assert [number for number in range(10) if serving.find("ranking", [number], question)] == [8, 9]


def test_the_entries_of_a_stage_are_those_of_the_source_and_those_in_memory(source):
    serving = ServingStore(source=source)
    serving.get("terms", ["another"], numbers(5))
    assert sorted(arrays["value"].item() for arrays in serving.arrays("terms")) == [1, 5]
    assert [*serving.entries()] == serving.clear() == []
    assert len([*source.entries()]) == 1
