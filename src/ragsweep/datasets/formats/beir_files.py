"""Finds the files of a benchmark in BEIR's layout, or in that of its copies on the Hugging Face hub."""

from __future__ import annotations

from pathlib import Path

from ragsweep.core.errors import DatasetError
from ragsweep.datasets.readers.fields import listed
from ragsweep.datasets.readers.files import SHARD, what_is

ENDINGS = (".jsonl", ".jsonl.gz", ".parquet")
QRELS_ENDINGS = (".tsv", ".tsv.gz", *ENDINGS, ".json", ".csv", ".csv.gz", ".txt", ".txt.gz")
QRELS_FOLDERS = ("qrels", "default", "data")  # the configuration of the judgments is called default on the hub


def files_of(root: Path, part: str, split: str) -> list[Path]:
    """The files with the documents (`corpus`) or the queries (`queries`).

    These are `PART.jsonl`, also gzipped or as Parquet, or the files of a folder `PART`: those of the split if there are
    any, or else all, which must be parts of one table.

    Raises:
        DatasetError: There are none, files of several tables, or only some of a table's.
    """
    for ending in ENDINGS:
        if what_is(root / f"{part}{ending}"):
            return [root / f"{part}{ending}"]
    folder = part_of(root, part)
    found = _files_in(folder, ENDINGS)
    tables = _by_table(found, ENDINGS)
    chosen = tables.get(split) or (found if len(tables) == 1 else [])
    if not chosen and tables:
        raise DatasetError(f"{folder}: has the tables {listed(tables)}; expected one, or one called {split!r}")
    if not chosen:
        plain = root / f"{part}.jsonl"
        others = [each.name.removesuffix(f"-{part}") for each in sorted(root.glob(f"*-{part}"))]
        others = others or [each.parent.name for each in sorted(root.glob(f"*/{plain.name}"))]  # as archives have it
        subsets = (
            f"; there are the subsets {listed(others)}, and {root / others[0]} is the path of one" if others else ""
        )
        missing = f"{plain} does not exist, nor does {plain.name}.gz, nor a folder {part} of Parquet files"
        raise DatasetError(f"{missing}{subsets}")
    return _whole(chosen)


def qrels_files(root: Path, split: str) -> list[Path]:
    """The files with the judgments of a split; none if the folder has no judgments of any.

    Raises:
        DatasetError: There are those of other splits, or only some of the files of this one.
    """
    splits: dict[str, None] = {}
    for name in QRELS_FOLDERS:
        folder = part_of(root, name)
        for ending in QRELS_ENDINGS:
            if what_is(folder / f"{split}{ending}"):
                return [folder / f"{split}{ending}"]
        tables = _by_table(_files_in(folder, QRELS_ENDINGS), QRELS_ENDINGS)
        if split in tables:
            return _whole(tables[split])
        splits |= dict.fromkeys(tables)
    if not splits:
        return []
    raise DatasetError(f"{without_qrels(root, split)}; there are judgments of {listed(splits)}")


def without_qrels(root: Path, split: str) -> str:
    """Says that a split has no judgments."""
    plain = root / "qrels" / f"{split}.tsv"
    return f"{plain} does not exist, nor does {plain.name}.gz, nor one as JSON lines or Parquet"


def part_of(root: Path, part: str) -> Path:
    """The folder of a part. Of several languages, `ROOT/de` is the path of `ROOT/de-corpus` and the like."""
    return root / part if what_is(root) else root.with_name(f"{root.name}-{part}")


def _files_in(folder: Path, endings: tuple[str, ...]) -> list[Path]:
    if what_is(folder) != "a folder":
        return []
    return sorted(path for path in folder.iterdir() if path.name.endswith(endings) and not path.name.startswith("."))


def _by_table(files: list[Path], endings: tuple[str, ...]) -> dict[str, list[Path]]:
    """The files by the name of the table that they are parts of."""
    tables: dict[str, list[Path]] = {}
    for path in files:
        ending = max((each for each in endings if path.name.endswith(each)), key=len)
        tables.setdefault(SHARD.sub("", path.name.removesuffix(ending)), []).append(path)
    return tables


def _whole(files: list[Path]) -> list[Path]:
    """The files of a table, none of which is missing; a download that was interrupted leaves some of them."""
    number = max((int(found[1]) for path in files if (found := SHARD.search(path.name))), default=0)
    if len(files) < number:
        names = listed(path.name for path in files)
        raise DatasetError(f"{files[0].parent}: has {len(files)} of {number} files of a table ({names})")
    return files
