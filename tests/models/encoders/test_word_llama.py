"""The static encoder, held against the package that it takes the embeddings from."""

import subprocess
import sys
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from ragsweep.core.errors import EncoderError
from ragsweep.models.encoders import model_files
from ragsweep.retrieval import WordLlamaEncoder

TEXTS = [
    "Which test finds malaria?",
    "—",
    " ",
    "À 38,5 °C, on donne du paracétamol.",
    "Iron and folic acid. " * 300,
    "日本",
]

pytestmark = pytest.mark.skipif(find_spec("wordllama") is None, reason="the extra wordllama is not installed")


def test_embeddings_are_those_of_the_package():
    """Of its own inference, on its own files."""
    import wordllama
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer

    folder = Path(wordllama.__file__).parent
    tokenizer = Tokenizer.from_file(str(folder / "tokenizers" / "l2_supercat_tokenizer_config.json"))
    vectors = load_file(folder / "weights" / "l2_supercat_256.safetensors")["embedding.weight"]
    expected = wordllama.WordLlamaInference(vectors, tokenizer).embed(TEXTS, norm=True)
    for role in ("query", "passage"):
        np.testing.assert_allclose(WordLlamaEncoder().encode(TEXTS, role), expected, atol=1e-6)


@pytest.mark.usefixtures("processes")
def test_nothing_is_imported_but_the_files_are_read():
    """The package sets up logging for the whole process, and its loader downloads."""
    code = (
        "import sys; from ragsweep.retrieval import WordLlamaEncoder; WordLlamaEncoder().encode(['iron'], 'query');"
        "assert not {'wordllama', 'requests', 'torch'} & set(sys.modules), set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_other_files_have_another_fingerprint(tmp_path, monkeypatch):
    installed = Path(metadata.distribution("wordllama").locate_file("wordllama"))
    fingerprints = {WordLlamaEncoder().fingerprint}
    for changed in ("weights", "tokenizers"):
        folder = tmp_path / changed / "wordllama"
        for part in ("weights", "tokenizers"):
            [file] = (installed / part).glob("l2*")
            (folder / part).mkdir(parents=True)
            (folder / part / file.name).write_bytes(b"{}" if part == changed else file.read_bytes())
        (folder / "__init__.py").touch()
        with monkeypatch.context() as patch:
            patch.syspath_prepend(str(folder.parent))
            patch.delitem(sys.modules, "wordllama", raising=False)
            fingerprints.add(WordLlamaEncoder().fingerprint)
    assert len(fingerprints) == 3


def test_a_missing_package_is_named_before_anything_runs(monkeypatch):
    monkeypatch.setattr(model_files, "WORDLLAMA", "no_such_package")
    with pytest.raises(
        EncoderError, match=r"^encoder=wordllama: there is no .*; run pip install wordllama==0\.4\.0\.post1$"
    ):
        WordLlamaEncoder()
