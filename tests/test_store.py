"""The store of intermediate results."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ragsweep.digest import digest
from ragsweep.store import Store


def refuse():
    raise AssertionError("built again")


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


def test_several_arrays_keep_their_names(store):
    store.get("stage", 1, lambda: {"a": np.ones(1), "b": np.zeros(2)})
    assert {name: len(array) for name, array in store.get("stage", 1, refuse).items()} == {"a": 1, "b": 2}


@pytest.mark.parametrize(("stage", "inputs"), [("other", 1), ("stage", 2)])
def test_another_stage_or_other_inputs_are_built(store, stage, inputs):
    store.get("stage", 1, lambda: {"array": np.zeros(1)})
    assert store.get(stage, inputs, lambda: {"array": np.ones(1)})["array"].tolist() == [1]


def test_inputs_count_the_same_in_any_order_of_their_keys(store):
    store.get("stage", {"a": 1, "b": 2}, lambda: {"array": np.zeros(1)})
    assert store.get("stage", {"b": 2, "a": 1}, refuse)["array"].tolist() == [0]


def test_a_kept_array_cannot_be_changed(store):
    store.get("stage", 1, lambda: {"array": np.zeros(1)})
    with pytest.raises(ValueError, match="read-only"):
        store.get("stage", 1, refuse)["array"][0] = 1


def test_a_disabled_store_writes_nothing(tmp_path):
    Store(str(tmp_path / "store"), enabled=False).get("stage", 1, lambda: {"array": np.zeros(1)})
    assert not (tmp_path / "store").exists()


def test_a_disabled_store_builds_what_is_kept(store):
    store.get("stage", 1, lambda: {"array": np.zeros(1)})
    again = Store(store.path, enabled=False).get("stage", 1, lambda: {"array": np.ones(1)})
    assert again["array"].tolist() == [1]


def test_a_failed_build_leaves_no_entry(store):
    with pytest.raises(ZeroDivisionError):
        store.get("stage", 1, lambda: {"array": 1 / 0})
    assert entries(store) == []


def test_what_a_killed_process_left_behind_is_not_taken_for_an_entry(store):
    partial = Path(store.path) / "stage" / f"{digest(1)}.partial"
    partial.mkdir(parents=True)
    (partial / "old.npy").write_bytes(b"half an arr")
    store.get("stage", 1, lambda: {"array": np.ones(1)})
    assert {name: array.tolist() for name, array in store.get("stage", 1, refuse).items()} == {"array": [1]}


@pytest.mark.filterwarnings("ignore:the store's")
@pytest.mark.parametrize("damage", [b"", b"no array", b"\x93NUMPY\x01"])
def test_a_damaged_entry_is_built_anew(store, damage):
    store.get("stage", 1, lambda: {"array": np.zeros(1)})
    (entries(store)[0] / "array.npy").write_bytes(damage)
    assert store.get("stage", 1, lambda: {"array": np.ones(1)})["array"].tolist() == [1]
    assert store.get("stage", 1, refuse)["array"].tolist() == [1]


@pytest.mark.filterwarnings("ignore:the store's")
def test_nothing_is_ever_unpickled(store):
    store.get("stage", 1, lambda: {"array": np.zeros(1)})
    np.save(entries(store)[0] / "array.npy", np.array([{}], dtype=object), allow_pickle=True)
    assert store.get("stage", 1, lambda: {"array": np.ones(1)})["array"].tolist() == [1]


@pytest.mark.filterwarnings("ignore:the store cannot write")
def test_a_store_that_cannot_write_goes_on_without_it(tmp_path):
    (tmp_path / "file").touch()
    assert Store(str(tmp_path / "file")).get("stage", 1, lambda: {"array": np.ones(1)})["array"].tolist() == [1]


def test_a_store_that_cannot_write_says_so(tmp_path):
    (tmp_path / "file").touch()
    with pytest.warns(UserWarning, match=r"the store cannot write to .*file"):
        Store(str(tmp_path / "file")).get("stage", 1, lambda: {"array": np.ones(1)})


BUILD = """
import sys, time
import numpy as np
from ragsweep.store import Store

def build():
    print("built", flush=True)
    time.sleep(1)
    return {"array": np.ones(3)}

Store(sys.argv[1]).get("stage", 1, build)
"""


def test_processes_that_want_the_same_build_it_once(store):
    processes = [
        subprocess.Popen([sys.executable, "-c", BUILD, store.path], stdout=subprocess.PIPE, text=True) for _ in range(3)
    ]
    assert "".join(process.communicate()[0] for process in processes) == "built\n"


def test_a_process_killed_while_building_holds_nobody_up(store):
    process = subprocess.Popen([sys.executable, "-c", BUILD, store.path], stdout=subprocess.PIPE, text=True)
    process.stdout.readline()
    process.kill()
    process.wait()
    assert store.get("stage", 1, lambda: {"array": np.zeros(1)})["array"].tolist() == [0]
